//! The measurements of `make compare` as bars.

use std::fmt::Write as _;

use anyhow::Result;

use super::canvas::Canvas;
use crate::compare::{Results, Row, label};

/// A chart: its title, and what it shows of a way, as parts of a bar in microseconds.
type Chart = (&'static str, fn(&Row) -> [f64; 2]);

const CHARTS: [Chart; 2] = [
    ("Time of a status update, p50", |row| [row.p50_us, 0.0]),
    ("Processor time of a status update", |row| {
        [row.api_server_cpu_us, row.server_cpu_us]
    }),
];

pub(super) fn draw() -> Result<String> {
    const BAR: i32 = 20;
    const STEP: i32 = 28;
    const WIDTH: i32 = 250;
    let results = Results::read()?;
    let mut spoken = String::new();
    for size in &results.costs.sizes {
        for row in &size.rows {
            write!(
                spoken,
                "{}, {}: p50 {:.1} ms, processor {:.1} ms in the API server and {:.1} ms in the policy's server. ",
                size.size,
                label(&row.way),
                row.p50_us / 1000.0,
                row.api_server_cpu_us / 1000.0,
                row.server_cpu_us / 1000.0,
            )?;
        }
    }
    let panel = 5 * STEP + 70;
    let height = 56 + 2 * panel + 44;
    let mut canvas = Canvas::new(960, height, "What a status update costs", &spoken);
    canvas.text((16, 34), "title", "What a status update costs");
    for (line, size) in (0_i32..).zip(&results.costs.sizes) {
        for (column, (title, parts)) in (0_i32..).zip(CHARTS) {
            let (x, y) = (16 + column * 480, 60 + line * panel);
            canvas.text((x, y + 14), "strong", format!("{title}, {}", size.size));
            let sum = |row: &Row| parts(row).iter().sum::<f64>();
            let most = size.rows.iter().map(sum).fold(1.0, f64::max);
            for (index, row) in (0_i32..).zip(&size.rows) {
                let top = y + 28 + index * STEP;
                canvas.text((x + 118, top + 15), "small end", label(&row.way));
                let [first, second] = parts(row).map(|part| scaled(part / most, WIDTH));
                let class = if row.way == "ours" { "green" } else { "blue" };
                canvas.rectangle((x + 126, top), (first.max(1), BAR), class);
                if second > 0 {
                    canvas.rectangle((x + 126 + first, top), (second, BAR), "amber");
                }
                let at = (x + 126 + first + second + 8, top + 15);
                canvas.text(at, "small", format!("{:.1} ms", sum(row) / 1000.0));
            }
        }
    }
    let y = height - 24;
    canvas.labelled((496, y - 16), (30, 18), "blue", &[]);
    canvas.text((532, y - 2), "small", "in kube-apiserver");
    canvas.labelled((660, y - 16), (30, 18), "amber", &[]);
    canvas.text((696, y - 2), "small", "in the server of the policy");
    canvas.text(
        (16, y - 2),
        "small muted",
        format!("{}, {}", results.date, results.machine),
    );
    Ok(canvas.finish())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a part of the width of a picture"
)]
fn scaled(part: f64, width: i32) -> i32 {
    (part * f64::from(width)).round() as i32
}
