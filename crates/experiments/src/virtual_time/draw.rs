//! Draws the collected strokes, as SVG. Relies on plotters.

use super::account::nanoseconds_floor;
use super::{Borrower, Kind, Lines, Stroke, Virtual};
use hls_units::Nanos;
use plotters::prelude::*;
use std::io;
use std::ops::Range;
use std::path::Path;

const SIZE: (u32, u32) = (780, 474);

/// From the colour-blind-safe palette of Okabe and Ito.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
];

/// The kinds of strokes in the order in which they are drawn; those of VPs that sleep are dotted.
const KINDS: [Kind; 4] = [Kind::Sleeps, Kind::Jumps, Kind::Waits, Kind::Runs];

/// Real time, and virtual time that passes as fast where all VPs want the CPU; both in nanoseconds.
type Point = (i64, i64);

/// Writes the picture of lines with these names from 0 to `length`.
pub(super) fn picture(lines: &Lines, names: Vec<String>, length: Nanos, file: &Path) -> io::Result<()> {
    let shares = lines.lines.iter().map(|line| line.account.borrower().share).sum();
    let point = |(at, time): (Nanos, Virtual)| (at.0 as i64, nanoseconds_floor(time, shares) as i64);
    let ends = |stroke: &Stroke| [point(stroke.from), point(stroke.to)];
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(io::Error::other)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("Effective virtual time, from 0 to {length}"), ("sans-serif", 15))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0..length.0 as i64, heights(lines.strokes.iter().flat_map(ends)))
        .map_err(io::Error::other)?;
    let milliseconds = |ns: &i64| format!("{}ms", ns / 1_000_000);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(10)
        .y_labels(8)
        .x_desc("real time")
        .y_desc("virtual time")
        .x_label_formatter(&milliseconds)
        .y_label_formatter(&milliseconds)
        .draw()
        .map_err(io::Error::other)?;
    for kind in KINDS {
        for (number, line) in lines.lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let is_its = |stroke: &&Stroke| (stroke.line, stroke.kind) == (number, kind);
            let paths = joined(lines.strokes.iter().filter(is_its).map(ends));
            if kind == Kind::Sleeps {
                for path in paths {
                    let dots = DashedLineSeries::new(path, 2, 4, colour.into());
                    chart.draw_series(dots).map_err(io::Error::other)?;
                }
                continue;
            }
            let style = match kind {
                Kind::Runs => colour.stroke_width(3),
                Kind::Jumps => colour.mix(0.6).stroke_width(1),
                _ => colour.stroke_width(1),
            };
            let paths = paths.into_iter().map(|path| PathElement::new(path, style));
            let drawn = chart.draw_series(paths).map_err(io::Error::other)?;
            if kind == Kind::Runs {
                let sample = move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style);
                drawn.label(label(&names[number], line.account.borrower())).legend(sample);
            }
        }
    }
    let labels = chart.configure_series_labels();
    { labels }
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(io::Error::other)?;
    area.present().map_err(io::Error::other)
}

/// All virtual times, with a margin.
fn heights(points: impl Iterator<Item = Point>) -> Range<i64> {
    let (lowest, highest) =
        points.fold((i64::MAX, i64::MIN), |(low, high), (_, time)| (low.min(time), high.max(time)));
    if lowest >= highest {
        return 0..1;
    }
    let margin = (highest - lowest) / 25 + 1;
    lowest - margin..highest + margin
}

/// Strokes that follow each other become one path.
fn joined(strokes: impl Iterator<Item = [Point; 2]>) -> Vec<Vec<Point>> {
    let mut paths: Vec<Vec<Point>> = Vec::new();
    for [from, to] in strokes {
        match paths.last_mut() {
            Some(path) if path.last() == Some(&from) => path.push(to),
            _ => paths.push(vec![from, to]),
        }
    }
    paths
}

fn label(name: &str, borrower: &Borrower) -> String {
    let warp = match borrower.warp {
        Nanos::ZERO => String::new(),
        warp => format!(", warp {warp}"),
    };
    format!("{name}: share {}{warp}", borrower.share)
}
