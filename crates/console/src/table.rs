//! Tables in the style of kubectl.

use crate::escape::{bounded_cell, escape_control};

/// Formats rows in aligned columns below column headings, without the columns whose heading is empty. Cells are untrusted text.
pub fn table<const N: usize>(header: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows = rows.map(|row| {
        // The last cell may be a command, which is of no use without its end.
        let last = row.last().map(|cell| escape_control(cell).into_owned());
        let mut row = row.map(|cell| escape_control(&bounded_cell(&cell)).into_owned());
        if let Some((cell, last)) = row.last_mut().zip(last) {
            *cell = last;
        }
        row
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned))
        .chain(rows)
        .collect();
    let width = |cell: &String| cell.chars().count();
    let mut widths = [0_usize; N];
    for row in &rows {
        for (max, cell) in widths.iter_mut().zip(row) {
            *max = (*max).max(width(cell));
        }
    }
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(widths).zip(header);
        let cells = cells.filter(|(_, heading)| !heading.is_empty());
        let cells = cells.map(|((cell, max), _)| {
            let padding = " ".repeat(max.saturating_sub(width(cell)));
            format!("{cell}{padding}   ")
        });
        format!("{}\n", cells.collect::<String>().trim_end())
    });
    lines.collect()
}
