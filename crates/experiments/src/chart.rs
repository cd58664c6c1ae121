//! Pictures of lines in a grid of panels with the same axes, as SVG. Relies on plotters.

use plotters::prelude::*;
use std::io;
use std::path::Path;

/// A panel.
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A line of a panel.
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// Its points, from the left to the right.
    pub points: Vec<(u64, u64)>,
}

/// The size of a panel.
const PANEL: (u32, u32) = (420, 300);
const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(44, 160, 44), RGBColor(148, 103, 189)];

impl Chart {
    /// Draws the panels, two beside each other, and names the axes.
    ///
    /// # Errors
    /// Why the file could not be written.
    pub fn draw(charts: &[Chart], axes: [&str; 2], file: &Path) -> io::Result<()> {
        let columns = charts.len().min(2);
        let rows = charts.len().div_ceil(2);
        let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
        let area = SVGBackend::new(file, size).into_drawing_area();
        area.fill(&WHITE).map_err(io::Error::other)?;
        let points = || charts.iter().flat_map(|chart| &chart.lines).flat_map(|line| &line.points);
        let to = |of: fn(&(u64, u64)) -> u64| points().map(of).max().unwrap_or(0);
        let greatest = (to(|point| point.0), to(|point| point.1) * 13 / 10 + 1);
        for (chart, panel) in charts.iter().zip(area.split_evenly((rows, columns))) {
            chart.draw_on(&panel, axes, greatest)?;
        }
        area.present().map_err(io::Error::other)
    }

    fn draw_on(
        &self,
        panel: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        axes: [&str; 2],
        greatest: (u64, u64),
    ) -> io::Result<()> {
        let mut chart = ChartBuilder::on(panel)
            .caption(&self.title, ("sans-serif", 15))
            .margin(8)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0..greatest.0, 0..greatest.1)
            .map_err(io::Error::other)?;
        let thousands = |value: &u64| format!("{}k", value / 1000);
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(6)
            .y_labels(6)
            .x_desc(axes[0])
            .y_desc(axes[1])
            .x_label_formatter(&thousands)
            .y_label_formatter(&thousands)
            .draw()
            .map_err(io::Error::other)?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let series = LineSeries::new(line.points.iter().copied(), colour.stroke_width(2));
            let drawn = chart.draw_series(series).map_err(io::Error::other)?;
            let sample = |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour.stroke_width(2));
            drawn.label(&line.name).legend(sample);
        }
        let labels = chart.configure_series_labels();
        { labels }
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(io::Error::other)
    }
}
