//! A picture of a guarantee, as SVG: CPU time against the length of the window.
//!
//! The least and the most that a virtual processor gets in a window are stairs; between them lies what may happen.
//! Below the axis, bars say which windows matter. Relies on being given the corners of each line; what a guarantee
//! means it does not know. Never uses a float: lengths are tenths of a pixel, and the same input gives the same bytes.

use crate::format::{shorten, time_exact};
use crate::svg::{Escaped, Tenths, ticks};
use hls_units::Nanos;
use std::io::{self, Write};

/// The length of a window, and the CPU time in it, which never exceeds the window on one CPU.
pub type Point = (Nanos, Nanos);

/// What is drawn. Every line begins at the empty window and ends at the longest; its points are in rising order.
#[derive(Clone, Debug, Default)]
pub struct Supply {
    /// The guarantee, as text.
    pub guarantee: String,
    /// What is along the axis: `length of the window`, or another length of time.
    pub along: &'static str,
    /// The longest window.
    pub longest: Nanos,
    /// The least CPU time.
    pub least: Vec<Point>,
    /// The most, where there is a limit other than the whole window.
    pub most: Option<Vec<Point>>,
    /// The CPU time in the longest window at the rate of the long run, and what to call it.
    pub share: Option<(Nanos, String)>,
    /// The least that another guarantee promises, to compare with, and its text.
    pub needed: Option<(Vec<Point>, String)>,
    /// What to say of windows up to a length; without a bar where that is zero.
    pub remarks: Vec<(Nanos, String)>,
}

const STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\
.title{font-size:15px;font-weight:bold}.axis{font-size:11px;fill:#444}.middle{text-anchor:middle}\
.end{text-anchor:end}.grid{stroke:#e2e2e2;fill:none}.rule{stroke:#444;fill:none}.possible{fill:#d9eaf5}\
.least{stroke:#0072b2;stroke-width:2.6;fill:none;stroke-linejoin:round}\
.most{stroke:#e69f00;stroke-width:2.6;fill:none;stroke-linejoin:round}\
.needed{stroke:#d55e00;stroke-width:2.2;stroke-dasharray:7 4;fill:none}\
.share{stroke:#595959;stroke-width:1.3;stroke-dasharray:2 3;fill:none}\
.span{stroke:#0072b2;stroke-width:1.2;fill:none}.guide{stroke:#0072b2;stroke-dasharray:1 3;fill:none}";

/// Heights and widths in pixels.
const WIDTH: u64 = 780;
const LEFT: u64 = 76;
const PLOT_WIDTH: u64 = 676;
const TOP: u64 = 76;
const PLOT_HEIGHT: u64 = 210;
const BOTTOM: u64 = TOP + PLOT_HEIGHT;
/// From the axis to the first remark, and from one to the next.
const BELOW_AXIS: u64 = 50;
const REMARK_HEIGHT: u64 = 20;
/// What a character takes at most on the average.
const CHAR: u64 = 7;
const MAX_TITLE: usize = 76;
const MAX_LABEL: usize = 32;
/// The axes are marked no more often.
const MAX_WINDOW_TICKS: u64 = 10;
const MAX_TIME_TICKS: u64 = 6;

impl Supply {
    /// Writes the picture.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        Sheet { supply: self, highest: self.highest() }.write(out)
    }

    /// The CPU time at the top of the picture: a twentieth above all lines.
    fn highest(&self) -> Nanos {
        let lines = [Some(&self.least), self.most.as_ref(), self.needed.as_ref().map(|(line, _)| line)];
        let ends = lines.into_iter().flatten().filter_map(|line| Some(line.last()?.1));
        let share = self.share.as_ref().map(|(end, _)| *end);
        match ends.chain(share).max() {
            Some(Nanos(highest)) if highest > 0 => Nanos(highest.saturating_add(highest.div_ceil(20))),
            _ => self.longest.max(Nanos(1)),
        }
    }
}

/// A picture and its scale.
struct Sheet<'a> {
    supply: &'a Supply,
    highest: Nanos,
}

impl Sheet<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let height = BOTTOM + BELOW_AXIS + self.supply.remarks.len() as u64 * REMARK_HEIGHT;
        let title = shorten(&self.supply.guarantee, MAX_TITLE);
        let title = Escaped(&title);
        write!(out, r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" "#)?;
        writeln!(out, r#"width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">"#)?;
        writeln!(out, "<title>{title}: CPU time against the {}</title>", self.supply.along)?;
        writeln!(out, "<style>{STYLE}</style>")?;
        writeln!(out, r##"<rect width="{WIDTH}" height="{height}" fill="#fff"/>"##)?;
        writeln!(out, r#"<text class="title" x="14" y="26">{title}</text>"#)?;
        self.write_possible(out)?;
        self.write_axes(out)?;
        self.write_lines(out)?;
        self.write_legend(out)?;
        self.write_remarks(out)?;
        writeln!(out, "</svg>")
    }

    fn x(&self, window: Nanos) -> Tenths {
        Tenths(10 * LEFT + scaled(window, self.supply.longest, PLOT_WIDTH))
    }

    fn y(&self, time: Nanos) -> Tenths {
        Tenths(10 * BOTTOM - scaled(time, self.highest, PLOT_HEIGHT))
    }

    /// The points of a path, each with a command in front, which becomes a line after the first.
    fn path(&self, points: impl Iterator<Item = Point>) -> String {
        let place = |(window, time): Point| format!("{} {}", self.x(window), self.y(time));
        let places: Vec<String> = points.map(place).collect();
        format!("M{}", places.join("L"))
    }

    /// What lies between the least and the most. Where there is no limit the most is the whole window, a line that may
    /// leave the picture at its top.
    fn write_possible(&self, out: &mut impl Write) -> io::Result<()> {
        let edge = self.highest.min(self.supply.longest);
        let whole = vec![(Nanos::ZERO, Nanos::ZERO), (edge, edge), (self.supply.longest, edge)];
        let most = self.supply.most.as_ref().unwrap_or(&whole);
        let outline = self.path(self.supply.least.iter().chain(most.iter().rev()).copied());
        writeln!(out, r#"<path class="possible" d="{outline}z"/>"#)
    }

    fn write_axes(&self, out: &mut impl Write) -> io::Result<()> {
        let right = LEFT + PLOT_WIDTH;
        for window in ticks(Nanos::ZERO, self.supply.longest, MAX_WINDOW_TICKS) {
            let (x, label) = (self.x(window), time_exact(window));
            writeln!(out, r#"<path class="grid" d="M{x} {TOP}V{BOTTOM}"/>"#)?;
            writeln!(out, r#"<text class="axis middle" x="{x}" y="{}">{label}</text>"#, BOTTOM + 16)?;
        }
        for time in ticks(Nanos::ZERO, self.highest, MAX_TIME_TICKS) {
            let (y, label) = (self.y(time), time_exact(time));
            let text_y = Tenths(y.0 + 40);
            writeln!(out, r#"<path class="grid" d="M{LEFT} {y}H{right}"/>"#)?;
            writeln!(out, r#"<text class="axis end" x="{}" y="{text_y}">{label}</text>"#, LEFT - 8)?;
        }
        writeln!(out, r#"<path class="rule" d="M{LEFT} {TOP}V{BOTTOM}H{right}"/>"#)?;
        writeln!(out, r#"<text class="axis end" x="{}" y="{}">CPU time</text>"#, LEFT - 8, TOP - 10)?;
        let below = BOTTOM + 32;
        writeln!(out, r#"<text class="axis end" x="{right}" y="{below}">{}</text>"#, self.supply.along)
    }

    fn write_lines(&self, out: &mut impl Write) -> io::Result<()> {
        let Supply { longest, least, most, share, needed, .. } = self.supply;
        let mut line = |class: &str, points: &[Point]| {
            let path = self.path(points.iter().copied());
            writeln!(out, r#"<path class="{class}" d="{path}"/>"#)
        };
        if let Some((end, _)) = share {
            line("share", &[(Nanos::ZERO, Nanos::ZERO), (*longest, *end)])?;
        }
        if let Some(most) = most {
            line("most", most)?;
        }
        line("least", least)?;
        needed.as_ref().map_or(Ok(()), |(needed, _)| line("needed", needed))
    }

    fn write_legend(&self, out: &mut impl Write) -> io::Result<()> {
        let Supply { most, share, needed, .. } = self.supply;
        let line = |class: &str, x: u64| format!(r#"<path class="{class}" d="M{x} 48h26"/>"#);
        let possible = |x: u64| format!(r#"<rect class="possible" x="{x}" y="42" width="26" height="12"/>"#);
        let mut items = vec![("least", "at least".to_owned())];
        items.extend(most.iter().map(|_| ("most", "at most".to_owned())));
        items.push(("possible", "what may happen".to_owned()));
        items.extend(share.iter().map(|(_, label)| ("share", shorten(label, MAX_LABEL))));
        items.extend(needed.iter().map(|(_, label)| ("needed", shorten(label, MAX_LABEL))));
        let mut x = LEFT;
        for (class, label) in items {
            let sample = if class == "possible" { possible(x) } else { line(class, x) };
            writeln!(out, r#"{sample}<text x="{}" y="52">{}</text>"#, x + 32, Escaped(&label))?;
            x += 32 + label.chars().count() as u64 * CHAR + 20;
        }
        Ok(())
    }

    /// A bar from zero to the window's length, with a guide up to the curve, and the remark behind it.
    fn write_remarks(&self, out: &mut impl Write) -> io::Result<()> {
        for (row, (window, says)) in (0..).zip(&self.supply.remarks) {
            let y = BOTTOM + BELOW_AXIS + row * REMARK_HEIGHT;
            let end = self.x(*window);
            let text_x = if *window == Nanos::ZERO { Tenths(10 * LEFT) } else { Tenths(end.0 + 80) };
            if *window > Nanos::ZERO {
                writeln!(out, r#"<path class="guide" d="M{end} {TOP}V{BOTTOM}"/>"#)?;
                let path = format!("M{LEFT} {}v8M{end} {}v8M{LEFT} {}H{end}", y - 8, y - 8, y - 4);
                writeln!(out, r#"<path class="span" d="{path}"/>"#)?;
            }
            writeln!(out, r#"<text x="{text_x}" y="{y}">{}</text>"#, Escaped(says))?;
        }
        Ok(())
    }
}

/// How far `part` of `whole` is along `pixels`, in tenths of a pixel, cut to what is there.
fn scaled(part: Nanos, whole: Nanos, pixels: u64) -> u64 {
    let whole = u128::from(whole.0.max(1));
    (u128::from(part.0).min(whole) * u128::from(10 * pixels) / whole) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(supply: &Supply) -> String {
        let mut bytes = Vec::new();
        supply.write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_go_through_their_corners() {
        let at = |window, time| (Nanos(window), Nanos(time));
        let supply = Supply {
            guarantee: "RESBH 1 2".into(),
            longest: Nanos(1_000),
            least: vec![at(0, 0), at(500, 0), at(1_000, 500)],
            most: Some(vec![at(0, 0), at(1_000, 1_000)]),
            ..Supply::default()
        };
        // 1,000 of the 1,050 at the top is 200 of 210 pixels.
        let drawn = picture(&supply);
        for path in [r#"class="least" d="M76 286L414 286L752 186""#, r#"class="most" d="M76 286L752 86""#] {
            assert!(drawn.contains(path), "{path} in\n{drawn}");
        }
        assert_eq!(drawn, picture(&supply.clone()));
    }

    #[test]
    fn whatever_is_given_stays_in_the_picture() {
        let end = (Nanos::MAX, Nanos::MAX);
        let extreme = Supply {
            guarantee: "<&>".repeat(100),
            longest: Nanos::MAX,
            least: vec![(Nanos::ZERO, Nanos::ZERO), end],
            share: Some((Nanos::MAX, "x".repeat(100))),
            needed: Some((vec![end], "</text>".into())),
            remarks: vec![(Nanos::MAX, "<".into()), (Nanos::ZERO, String::new())],
            ..Supply::default()
        };
        for supply in [Supply::default(), extreme] {
            let drawn = picture(&supply);
            assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
            assert!(!drawn.contains("<&") && !drawn.contains("</text></text>"), "{drawn}");
        }
    }
}
