//! Turns the collected strokes into SVG.

use super::account::nanoseconds_floor;
use super::{Kind, Line, Stroke, VirtualTime};
use crate::format::{shorten, time_exact};
use crate::svg::{Escaped, THREAD_COLOURS, Tenths, round_step, ticks};
use hls_units::Nanos;
use std::io::{self, Write};

const STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\
.title{font-size:15px;font-weight:bold}.axis{font-size:11px;fill:#444}.middle{text-anchor:middle}\
.end{text-anchor:end}.grid{stroke:#e2e2e2;fill:none}.rule{stroke:#444;fill:none}\
.runs{stroke-width:3.4;fill:none;stroke-linecap:round}.waits{stroke-width:1.3;fill:none}\
.sleeps{stroke-width:1.3;stroke-dasharray:2 4;fill:none}.jumps{stroke-width:1;fill:none;opacity:0.6}";

/// Heights and widths in pixels.
const WIDTH: u64 = 780;
const LEFT: u64 = 76;
const PLOT_WIDTH: u64 = 676;
const TOP: u64 = 96;
const PLOT_HEIGHT: u64 = 330;
const BOTTOM: u64 = TOP + PLOT_HEIGHT;
const HEIGHT: u64 = BOTTOM + 48;
/// The two rows of names.
const NAMES_AT: u64 = 48;
const NAMES_HEIGHT: u64 = 20;
/// What a character takes at most on the average.
const CHAR: u64 = 7;
const MAX_NAME: usize = 20;
/// The axes are marked no more often.
const MAX_TIME_TICKS: u64 = 10;
const MAX_VIRTUAL_TICKS: u64 = 8;

/// The kinds of strokes, in the order in which they are drawn, with their classes.
const KINDS: [(Kind, &str); 4] =
    [(Kind::Sleeps, "sleeps"), (Kind::Jumps, "jumps"), (Kind::Waits, "waits"), (Kind::Runs, "runs")];

/// Real time, and virtual time in nanoseconds of all VPs together.
type Point = (Nanos, i128);

/// A picture and its scale.
struct Sheet<'a, 't> {
    picture: &'a VirtualTime<'t>,
    /// What the VPs have together.
    shares: u64,
    /// The virtual times at the bottom and at the top.
    lowest: i128,
    highest: i128,
}

/// Writes the picture.
pub(super) fn write_svg(out: &mut impl Write, picture: &VirtualTime<'_>) -> io::Result<()> {
    let shares = picture.lines.iter().map(|line| line.account.borrower().share).sum();
    let mut sheet = Sheet { picture, shares, lowest: 0, highest: 1 };
    let ends = picture.strokes.iter().flat_map(|stroke| <[Point; 2]>::from(sheet.clip(stroke)));
    let (lowest, highest) =
        ends.fold((i128::MAX, i128::MIN), |(low, high), (_, at)| (low.min(at), high.max(at)));
    if lowest < highest {
        let margin = (highest - lowest) / 25 + 1;
        (sheet.lowest, sheet.highest) = (lowest - margin, highest + margin);
    }
    sheet.write(out)
}

impl Sheet<'_, '_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (from, to) = (time_exact(self.picture.from), time_exact(self.picture.to));
        write!(out, r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" "#)?;
        writeln!(out, r#"width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">"#)?;
        writeln!(out, "<style>{STYLE}</style>")?;
        writeln!(out, r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>"##)?;
        writeln!(
            out,
            r#"<text class="title" x="14" y="26">Effective virtual time, from {from} to {to}</text>"#
        )?;
        self.write_axes(out)?;
        for (kind, class) in KINDS {
            for line in 0..self.picture.lines.len() {
                self.write_strokes(out, line, kind, class)?;
            }
        }
        self.write_legend(out)?;
        if let Some(at) = self.picture.cut_at {
            let text = format!("from {} on the lines are too many to be drawn", time_exact(at));
            writeln!(out, r#"<text class="axis" x="{LEFT}" y="{}">{text}</text>"#, BOTTOM + 36)?;
        }
        writeln!(out, "</svg>")
    }

    /// The part of a stroke that is in the interval.
    fn clip(&self, stroke: &Stroke) -> (Point, Point) {
        let [from, to] =
            [stroke.from, stroke.to].map(|(at, time)| (at, nanoseconds_floor(time, self.shares)));
        let length = i128::from((to.0.0 - from.0.0).max(1));
        let inside = |(at, _): Point| {
            let at = at.clamp(self.picture.from, self.picture.to);
            let along = i128::from(at.0.saturating_sub(from.0.0));
            (at, from.1 + (to.1 - from.1) * along / length)
        };
        if from.0 == to.0 { (from, to) } else { (inside(from), inside(to)) }
    }

    fn x(&self, at: Nanos) -> Tenths {
        let (from, to) = (self.picture.from.0, self.picture.to.0);
        let into = u128::from(at.0.clamp(from, to) - from) * u128::from(10 * PLOT_WIDTH);
        Tenths(10 * LEFT + (into / u128::from(to - from)) as u64)
    }

    fn y(&self, time: i128) -> Tenths {
        let up = (time - self.lowest) * i128::from(10 * PLOT_HEIGHT) / (self.highest - self.lowest);
        Tenths(10 * BOTTOM - up.clamp(0, i128::from(10 * PLOT_HEIGHT)) as u64)
    }

    fn write_axes(&self, out: &mut impl Write) -> io::Result<()> {
        let right = LEFT + PLOT_WIDTH;
        for at in ticks(self.picture.from, self.picture.to, MAX_TIME_TICKS) {
            let (x, label) = (self.x(at), time_exact(at));
            writeln!(out, r#"<path class="grid" d="M{x} {TOP}V{BOTTOM}"/>"#)?;
            writeln!(out, r#"<text class="axis middle" x="{x}" y="{}">{label}</text>"#, BOTTOM + 16)?;
        }
        let height = u64::try_from(self.highest - self.lowest).unwrap_or(u64::MAX);
        let step = i128::from(round_step(height, MAX_VIRTUAL_TICKS));
        let mut time = self.lowest.div_euclid(step) * step + step;
        while time <= self.highest {
            let y = self.y(time);
            let sign = if time < 0 { "−" } else { "" };
            let label = time_exact(Nanos(u64::try_from(time.unsigned_abs()).unwrap_or(u64::MAX)));
            let text_y = Tenths(y.0 + 40);
            writeln!(out, r#"<path class="grid" d="M{LEFT} {y}H{right}"/>"#)?;
            writeln!(out, r#"<text class="axis end" x="{}" y="{text_y}">{sign}{label}</text>"#, LEFT - 8)?;
            time += step;
        }
        writeln!(out, r#"<path class="rule" d="M{LEFT} {TOP}V{BOTTOM}H{right}"/>"#)?;
        writeln!(out, r#"<text class="axis" x="14" y="{}">virtual time</text>"#, TOP - 12)?;
        writeln!(out, r#"<text class="axis end" x="{right}" y="{}">real time</text>"#, BOTTOM + 32)
    }

    /// All strokes of one line and one kind, as one shape.
    fn write_strokes(&self, out: &mut impl Write, line: usize, kind: Kind, class: &str) -> io::Result<()> {
        let mut path = String::new();
        let mut pen = None;
        let strokes = self.picture.strokes.iter();
        for stroke in strokes.filter(|stroke| (stroke.line, stroke.kind) == (line, kind)) {
            let (from, to) = self.clip(stroke);
            if pen != Some(from) {
                path += &format!("M{} {}", self.x(from.0), self.y(from.1));
            }
            path += &format!("L{} {}", self.x(to.0), self.y(to.1));
            pen = Some(to);
        }
        if path.is_empty() {
            return Ok(());
        }
        writeln!(out, r#"<path class="{class}" stroke="{}" d="{path}"/>"#, colour(line))
    }

    /// The legend: the looks of lines beside the title, and below it the VPs of the lines, as far as there is room.
    fn write_legend(&self, out: &mut impl Write) -> io::Result<()> {
        let mut x = LEFT + 430;
        for (class, what) in [("runs", "runs"), ("waits", "waits"), ("sleeps", "sleeps")] {
            writeln!(out, r##"<path class="{class}" stroke="#595959" d="M{x} 22h26"/>"##)?;
            writeln!(out, r#"<text x="{}" y="26">{what}</text>"#, x + 32)?;
            x += 32 + what.len() as u64 * CHAR + 16;
        }
        let (mut x, mut y) = (LEFT, NAMES_AT);
        for (number, line) in self.picture.lines.iter().enumerate() {
            let label = self.label(line);
            let width = 32 + label.chars().count() as u64 * CHAR + 14;
            if x + width > WIDTH {
                (x, y) = (LEFT, y + NAMES_HEIGHT);
            }
            if y > NAMES_AT + NAMES_HEIGHT {
                return writeln!(out, r#"<text x="{}" y="{}">…</text>"#, WIDTH - 22, y - NAMES_HEIGHT + 4);
            }
            let stroke = colour(number);
            writeln!(out, r#"<path class="runs" stroke="{stroke}" d="M{x} {y}h26"/>"#)?;
            writeln!(out, r#"<text x="{}" y="{}">{}</text>"#, x + 32, y + 4, Escaped(&label))?;
            x += width;
        }
        Ok(())
    }

    /// Name, share and warp of a VP.
    fn label(&self, line: &Line) -> String {
        let borrower = line.account.borrower();
        let name = shorten(self.picture.topology.child_name(borrower.vp), MAX_NAME);
        let warp = match borrower.warp {
            Nanos::ZERO => String::new(),
            warp => format!(", warp {}", time_exact(warp)),
        };
        format!("{name}: share {}{warp}", borrower.share)
    }
}

fn colour(line: usize) -> &'static str {
    THREAD_COLOURS[line % THREAD_COLOURS.len()].0
}
