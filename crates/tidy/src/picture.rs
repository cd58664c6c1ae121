//! A picture of the crates, as SVG: a row of boxes a rank, the layers as bands, an arrow from each crate to those that
//! it needs. What a crate needs through another one that it needs has no arrow of its own.
//!
//! Relies on the crates being as `layers` has read them. The same crates give the same bytes.

use crate::layers::{Crate, LAYERS};
use std::collections::BTreeSet;
use std::fmt::Write;

const BOX_HEIGHT: usize = 34;
const ROW_HEIGHT: usize = 84;
const GAP: usize = 22;
const MARGIN: usize = 120;
const COLUMN: usize = 9;

/// A crate in its place.
struct Placed<'a> {
    it: &'a Crate,
    row: usize,
    x: usize,
    width: usize,
}

/// The picture.
#[must_use]
pub fn draw(crates: &[Crate]) -> String {
    let rows = rows(crates);
    let height = |row: usize| 20 + (rows.len() - 1 - row) * ROW_HEIGHT;
    let placed = place(&rows);
    let right = placed.iter().map(|it| it.x + it.width).max().unwrap_or(0) + 20;
    let bottom = height(0) + BOX_HEIGHT + 20;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{right}\" height=\"{bottom}\" \
         viewBox=\"0 0 {right} {bottom}\" font-family=\"monospace\" font-size=\"14\">\n\
         <title>The crates: an arrow from each to those that it needs</title>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#678\"/></marker></defs>\n\
         <rect width=\"{right}\" height=\"{bottom}\" fill=\"#fff\"/>\n"
    );
    bands(&mut svg, &rows, right, height);
    for user in &placed {
        for used in placed.iter().filter(|used| needs_itself(user.it, used.it, crates)) {
            let (x1, y1) = (user.x + user.width / 2, height(user.row) + BOX_HEIGHT);
            let (x2, y2) = (used.x + used.width / 2, height(used.row));
            let half = (y1 + y2) / 2;
            writeln!(
                svg,
                "<path d=\"M{x1} {y1}C{x1} {half} {x2} {half} {x2} {y2}\" fill=\"none\" stroke=\"#678\" \
                 marker-end=\"url(#a)\"/>"
            )
            .expect("a string grows");
        }
    }
    for Placed { it, row, x, width } in &placed {
        let (y, middle, baseline) = (height(*row), x + width / 2, height(*row) + 22);
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"5\" fill=\"#fff\" \
             stroke=\"#234\"/><text x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{}</text>",
            it.folder
        )
        .expect("a string grows");
    }
    svg + "</svg>\n"
}

/// A band a layer, with its name at the left.
fn bands(svg: &mut String, rows: &[Vec<&Crate>], right: usize, height: impl Fn(usize) -> usize) {
    for (layer, name) in LAYERS.iter().enumerate() {
        let mut own = (0..rows.len()).filter(|&row| rows[row][0].layer == layer);
        let Some(first) = own.next() else { continue };
        let last = own.next_back().unwrap_or(first);
        let (top, bottom) = (height(last).saturating_sub(14), height(first) + BOX_HEIGHT + 14);
        let fill = if layer % 2 == 0 { "#f2f6fa" } else { "#e6eef5" };
        writeln!(
            svg,
            "<rect x=\"0\" y=\"{top}\" width=\"{right}\" height=\"{}\" fill=\"{fill}\"/>\
             <text x=\"12\" y=\"{}\" fill=\"#456\">{name}</text>",
            bottom - top,
            (top + bottom) / 2 + 5
        )
        .expect("a string grows");
    }
}

/// The crates of each row, the lowest row first: none needs another of its row, and a row is of one layer.
fn rows(crates: &[Crate]) -> Vec<Vec<&Crate>> {
    let mut rows: Vec<Vec<&Crate>> = vec![];
    let mut done = BTreeSet::new();
    while done.len() < crates.len() {
        let left = || crates.iter().filter(|it| !done.contains(&it.folder));
        let layer = left().map(|it| it.layer).min().expect("one is left");
        let free = |it: &&Crate| it.uses.iter().all(|used| done.contains(used));
        let row: Vec<&Crate> = left().filter(|it| it.layer == layer).filter(free).collect();
        assert!(
            !row.is_empty(),
            "crates of one layer need each other in a circle, or a crate that is not here"
        );
        done.extend(row.iter().map(|it| it.folder.clone()));
        rows.push(row);
    }
    rows
}

/// Whether an arrow is drawn: not if the user needs another crate that also needs the used one.
fn needs_itself(user: &Crate, used: &Crate, crates: &[Crate]) -> bool {
    let through = |between: &&Crate| {
        user.uses.contains(&between.folder)
            && between.folder != used.folder
            && needs(between, &used.folder, crates)
    };
    user.uses.contains(&used.folder) && !crates.iter().any(|between| through(&between))
}

fn needs(user: &Crate, used: &str, crates: &[Crate]) -> bool {
    let deeper =
        |name: &String| crates.iter().find(|it| it.folder == *name).is_some_and(|it| needs(it, used, crates));
    user.uses.iter().any(|name| name == used) || user.uses.iter().any(deeper)
}

/// Where each crate stands: first side by side, then drawn towards those below that it needs.
fn place<'a>(rows: &[Vec<&'a Crate>]) -> Vec<Placed<'a>> {
    let width = |it: &Crate| it.folder.len() * COLUMN + 2 * COLUMN;
    let row_width = |row: &Vec<&Crate>| row.iter().map(|it| width(it) + GAP).sum::<usize>();
    let widest = rows.iter().map(row_width).max().unwrap_or(0);
    let mut placed: Vec<Placed> = vec![];
    for (number, row) in rows.iter().enumerate() {
        let wish = |it: &Crate| {
            let below: Vec<usize> =
                placed.iter().filter(|p| it.uses.contains(&p.it.folder)).map(|p| p.x + p.width / 2).collect();
            below.iter().sum::<usize>().checked_div(below.len()).unwrap_or(MARGIN + widest / 2)
        };
        let mut wishes: Vec<(usize, &'a Crate)> = row.iter().map(|it| (wish(it), *it)).collect();
        wishes.sort_by_key(|(wish, it)| (*wish, it.folder.clone()));
        // Even room between the boxes of a row fills the width of the widest.
        let spare = (widest - row_width(row)) / (row.len() + 1);
        let mut x = MARGIN + spare;
        for (_, it) in wishes {
            placed.push(Placed { it, row: number, x, width: width(it) });
            x += width(it) + GAP + spare;
        }
    }
    placed
}
