//! Turns the collected lanes into SVG.

use super::Timeline;
use super::lane::{Bar, Kind, PLOT_WIDTH};
use super::node::NodeLane;
use crate::format::{shorten, time_exact};
use crate::svg::{Escaped, THREAD_COLOURS, Tenths, ticks};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::io::{self, Write};

const SCHEDULER_COLOUR: &str = "#595959";

const STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\
.title{font-size:15px;font-weight:bold}.scheduler{font-weight:bold}.small{font-size:11px;fill:#666}\
.bar{font-size:11px;text-anchor:middle}.axis{font-size:11px;text-anchor:middle;fill:#444}.end{text-anchor:end}\
.grid{stroke:#e2e2e2;fill:none}.rule{stroke:#bbb;fill:none}.release,.deadline{stroke:#111;stroke-width:1.2;fill:none}\
.miss{stroke:#d55e00;stroke-width:2.6;fill:none}.halo{stroke:#fff;stroke-width:5;fill:none}\
.stolen{fill:#a6a6a6}.mixed{fill:#d9d9d9}";

/// The look of a node that has no budget left.
const HATCH: &str = concat!(
    r#"<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">"#,
    r##"<rect width="6" height="6" fill="#f4f4f4"/><path d="M0 0V6" stroke="#888" stroke-width="3"/></pattern>"##,
);

/// The legend explains this only if it is in the picture.
const PARKED: &str = "parked, held";
/// The look of a node that is parked, or held by its process.
const HELD: &str = r##"fill="#f4f4f4" stroke="#888" stroke-dasharray="2 2""##;

/// Heights and widths in pixels.
const TOP: u64 = 66;
const CPU_HEIGHT: u64 = 32;
const NODE_HEIGHT: u64 = 28;
const SECTION_GAP: u64 = 10;
const BOTTOM: u64 = 80;
const RIGHT: u64 = 30;
const INDENT: u64 = 16;
/// What a character of a name, and of the smaller texts, takes at most on the average.
const NAME_CHAR: u64 = 8;
const SMALL_CHAR: u64 = 7;
const MAX_NAME: usize = 30;
const MAX_GUARANTEE: usize = 44;
/// The axis is marked no more often.
const MAX_TICKS: u64 = 12;
/// No name on a bar is cut to fewer characters.
const MIN_LABEL: usize = 7;

/// Where things are.
struct Sheet<'a> {
    timeline: &'a Timeline,
    /// Where the interval begins, in pixels.
    left: u64,
    /// Where the lanes end.
    bottom: u64,
}

/// Writes the picture.
pub(super) fn write_svg(out: &mut impl Write, timeline: &Timeline) -> io::Result<()> {
    let nodes_at = TOP + timeline.cpus.len() as u64 * CPU_HEIGHT + SECTION_GAP;
    let bottom = nodes_at + timeline.nodes.len() as u64 * NODE_HEIGHT;
    let sheet = Sheet { timeline, left: label_width(timeline), bottom };
    let (width, height) = (sheet.left + PLOT_WIDTH + RIGHT, bottom + BOTTOM);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
    )?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "{HATCH}")?;
    writeln!(out, r##"<rect width="{width}" height="{height}" fill="#fff"/>"##)?;
    let (from, to) = (time_exact(timeline.from), time_exact(timeline.to));
    writeln!(out, r#"<text class="title" x="14" y="26">Schedule, from {from} to {to}</text>"#)?;
    sheet.write_axis(out)?;
    for cpu in 0..timeline.cpus.len() {
        sheet.write_cpu(out, cpu, TOP + cpu as u64 * CPU_HEIGHT)?;
    }
    sheet.write_rule(out, nodes_at - SECTION_GAP / 2)?;
    for (row, node) in (0..).zip(&timeline.nodes) {
        sheet.write_node(out, node, nodes_at + row * NODE_HEIGHT)?;
    }
    sheet.write_rule(out, bottom)?;
    sheet.write_legend(out)?;
    writeln!(out, "</svg>")
}

/// The width of the names and guarantees.
fn label_width(timeline: &Timeline) -> u64 {
    let width = |node: &NodeLane| {
        let (name, guarantee) = label(node);
        let name_width = name.chars().count() as u64 * NAME_CHAR + node.depth as u64 * INDENT;
        name_width + guarantee.chars().count() as u64 * SMALL_CHAR + 48
    };
    timeline.nodes.iter().map(width).max().unwrap_or(0).max(120)
}

/// Name and guarantee of a node.
fn label(node: &NodeLane) -> (String, String) {
    (shorten(&node.name, MAX_NAME), shorten(&node.guarantee, MAX_GUARANTEE))
}

/// The colours of a thread and of text on it.
fn thread_colours(thread: usize) -> (&'static str, &'static str) {
    THREAD_COLOURS[thread % THREAD_COLOURS.len()]
}

impl Sheet<'_> {
    /// How far right an instant of the interval is.
    fn x(&self, at: Nanos) -> Tenths {
        let (from, to) = (self.timeline.from.0, self.timeline.to.0);
        let into =
            u128::from(at.0.clamp(from, to) - from) * u128::from(10 * PLOT_WIDTH) / u128::from(to - from);
        Tenths(10 * self.left + into as u64)
    }

    fn write_axis(&self, out: &mut impl Write) -> io::Result<()> {
        let (above, below) = (TOP - 6, self.bottom + 6);
        for at in ticks(self.timeline.from, self.timeline.to, MAX_TICKS) {
            let (x, label) = (self.x(at), time_exact(at));
            writeln!(out, r#"<path class="grid" d="M{x} {above}V{below}"/>"#)?;
            writeln!(out, r#"<text class="axis" x="{x}" y="{}">{label}</text>"#, above - 5)?;
            writeln!(out, r#"<text class="axis" x="{x}" y="{}">{label}</text>"#, below + 13)?;
        }
        Ok(())
    }

    /// A line between sections, over the whole width.
    fn write_rule(&self, out: &mut impl Write, y: u64) -> io::Result<()> {
        writeln!(out, r#"<path class="rule" d="M14 {y}H{}"/>"#, self.left + PLOT_WIDTH)
    }

    /// All `bars` as one shape between `top` and `top + height`.
    fn write_bars<'b>(
        &self,
        out: &mut impl Write,
        look: &str,
        bars: impl Iterator<Item = &'b Bar>,
        (top, height): (u64, u64),
    ) -> io::Result<()> {
        let mut path = String::new();
        for bar in bars {
            let (from, to) = (self.x(bar.from), self.x(bar.to));
            let width = Tenths((to.0 - from.0).max(10));
            path += &format!("M{from} {top}h{width}v{height}h-{width}z");
        }
        if path.is_empty() { Ok(()) } else { writeln!(out, r#"<path {look} d="{path}"/>"#) }
    }

    fn write_cpu(&self, out: &mut impl Write, cpu: usize, y: u64) -> io::Result<()> {
        let (band, text_y) = ((y + 4, CPU_HEIGHT - 8), y + CPU_HEIGHT / 2 + 4);
        writeln!(out, r#"<text class="scheduler" x="14" y="{text_y}">CPU {cpu}</text>"#)?;
        let mut looks: BTreeMap<String, Vec<Bar>> = BTreeMap::new();
        for bar in &self.timeline.cpus[cpu].lane.bars {
            let look = match bar.kind {
                Kind::Thread(thread) => format!(r#"fill="{}""#, thread_colours(thread).0),
                Kind::Stolen => r#"class="stolen""#.into(),
                _ => r#"class="mixed""#.into(),
            };
            looks.entry(look).or_default().push(*bar);
        }
        for (look, bars) in &looks {
            self.write_bars(out, look, bars.iter(), band)?;
        }
        for bar in &self.timeline.cpus[cpu].lane.bars {
            let Kind::Thread(thread) = bar.kind else { continue };
            let (from, to) = (self.x(bar.from).0, self.x(bar.to).0);
            let fitting = ((to - from).saturating_sub(60) / (10 * SMALL_CHAR)) as usize;
            let name = &self.timeline.threads[thread];
            if fitting >= MIN_LABEL.min(name.chars().count()) {
                let name = shorten(name, fitting.min(MAX_NAME));
                let (middle, colour) = (Tenths((from + to) / 2), thread_colours(thread).1);
                let style = format!(r#"style="fill:{colour}""#);
                writeln!(
                    out,
                    r#"<text class="bar" {style} x="{middle}" y="{text_y}">{}</text>"#,
                    Escaped(&name)
                )?;
            }
        }
        Ok(())
    }

    fn write_node(&self, out: &mut impl Write, node: &NodeLane, y: u64) -> io::Result<()> {
        let (name, guarantee) = label(node);
        let (text_y, name_x) = (y + NODE_HEIGHT / 2 + 4, 14 + node.depth as u64 * INDENT);
        let class = if node.thread.is_some() { "thread" } else { "scheduler" };
        writeln!(out, r#"<text class="{class}" x="{name_x}" y="{text_y}">{}</text>"#, Escaped(&name))?;
        let guarantee_x = self.left - 12;
        writeln!(
            out,
            r#"<text class="small end" x="{guarantee_x}" y="{text_y}">{}</text>"#,
            Escaped(&guarantee)
        )?;
        let colour = node.thread.map_or(SCHEDULER_COLOUR, |thread| thread_colours(thread).0);
        for (kind, look, band) in [
            (Kind::Ready, format!(r#"fill="{colour}" opacity="0.3""#), (y + 12, 5)),
            (Kind::Throttled, r#"fill="url(#hatch)""#.into(), (y + 9, 11)),
            (Kind::Held, HELD.into(), (y + 9, 11)),
            (Kind::Stolen, r#"class="stolen""#.into(), (y + 7, 15)),
            (Kind::Mixed, format!(r#"fill="{colour}" opacity="0.6""#), (y + 7, 15)),
            (Kind::Running, format!(r#"fill="{colour}""#), (y + 7, 15)),
        ] {
            let bars = node.lane.bars.iter().filter(|bar| bar.kind == kind);
            self.write_bars(out, &look, bars, band)?;
        }
        self.write_marks(out, "release", &node.releases, &|x| up_arrow(x, y))?;
        self.write_marks(out, "deadline", &node.deadlines, &|x| down_arrow(x, y))?;
        self.write_marks(out, "halo", &node.misses, &|x| cross(x, y))?;
        self.write_marks(out, "miss", &node.misses, &|x| cross(x, y))
    }

    /// All `marks` as one shape.
    fn write_marks(
        &self,
        out: &mut impl Write,
        class: &str,
        marks: &[Nanos],
        shape: &dyn Fn(Tenths) -> String,
    ) -> io::Result<()> {
        if marks.is_empty() {
            return Ok(());
        }
        let path: String = marks.iter().map(|&at| shape(self.x(at))).collect();
        writeln!(out, r#"<path class="{class}" d="{path}"/>"#)
    }

    fn write_legend(&self, out: &mut impl Write) -> io::Result<()> {
        let y = self.bottom + 34;
        let mut x = self.left;
        let bar = |x: u64, look: &str, top: u64, height: u64| {
            format!(r#"<rect {look} x="{x}" y="{top}" width="28" height="{height}"/>"#)
        };
        let mark = |class: &str, path: String| format!(r#"<path class="{class}" d="{path}"/>"#);
        let middle = |x: u64| Tenths(10 * (x + 14));
        let items: [(&str, &dyn Fn(u64) -> String); 9] = [
            ("runs", &|x| bar(x, r##"fill="#0072b2""##, y + 7, 15)),
            ("ready", &|x| bar(x, r##"fill="#0072b2" opacity="0.3""##, y + 12, 5)),
            ("out of budget", &|x| bar(x, r#"fill="url(#hatch)""#, y + 9, 11)),
            (PARKED, &|x| bar(x, HELD, y + 9, 11)),
            ("stolen", &|x| bar(x, r#"class="stolen""#, y + 7, 15)),
            ("quick changes", &|x| bar(x, r#"class="mixed""#, y + 7, 15)),
            ("job released", &|x| mark("release", up_arrow(middle(x), y))),
            ("deadline", &|x| mark("deadline", down_arrow(middle(x), y))),
            ("deadline missed", &|x| mark("miss", cross(middle(x), y))),
        ];
        let mut bars = self.timeline.nodes.iter().flat_map(|node| &node.lane.bars);
        let is_any_held = bars.any(|bar| bar.kind == Kind::Held);
        for (name, draw) in items.into_iter().filter(|(name, _)| is_any_held || *name != PARKED) {
            writeln!(out, "{}", draw(x))?;
            writeln!(out, r#"<text x="{}" y="{}">{name}</text>"#, x + 34, y + 18)?;
            x += 34 + name.len() as u64 * NAME_CHAR + 20;
        }
        let left_out = self.timeline.left_out;
        if left_out > 0 {
            let text = format!("… and {left_out} more schedulers and threads");
            writeln!(out, r#"<text class="small" x="14" y="{}">{text}</text>"#, self.bottom + 17)?;
        }
        Ok(())
    }
}

/// From the bottom of a lane to its top.
fn up_arrow(x: Tenths, y: u64) -> String {
    format!("M{x} {}V{}m-3 4l3 -4l3 4", y + 26, y + 3)
}

/// From the top of a lane to its bottom.
fn down_arrow(x: Tenths, y: u64) -> String {
    format!("M{x} {}V{}m-3 -4l3 4l3 -4", y + 3, y + 26)
}

fn cross(x: Tenths, y: u64) -> String {
    format!("M{x} {}m-5 -5l10 10m0 -10l-10 10", y + 14)
}
