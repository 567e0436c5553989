//! The matrix as text.

use std::fmt::Write as _;

use super::{COMPLETER, Matrix, ORDERINGS, WAITER, name};

const WIDTH: usize = 14;

pub(super) fn render(matrix: &Matrix) -> String {
    let mut text = format!(
        "rows: the completer's exchange, {COMPLETER}\ncolumns: the waiter's exchange, {WAITER}\n\n"
    );
    line(
        &mut text,
        "",
        ORDERINGS.map(|ordering| name(ordering).to_owned()).iter(),
    );
    for row in matrix.cells.chunks(ORDERINGS.len()) {
        let verdicts: Vec<_> = row.iter().map(super::Cell::verdict).collect();
        line(&mut text, name(row[0].completer), verdicts.iter());
    }
    let right = matrix.right().count();
    let took: f64 = matrix
        .cells
        .iter()
        .map(|cell| cell.took.as_secs_f64())
        .sum();
    let each = 1000.0 * took / matrix.cells.len() as f64;
    let _ = write!(
        text,
        "\n{right} of {} right, {each:.0} ms for each.\n\
         result: what the completer wrote does not reach the waiter. waker: what the waiter made does not reach the completer.\n",
        matrix.cells.len()
    );
    text
}

fn line<'a>(text: &mut String, head: &str, cells: impl Iterator<Item = &'a String>) {
    let mut row = format!("{head:<9}");
    for cell in cells {
        let _ = write!(row, "{cell:<WIDTH$}");
    }
    text.push_str(row.trim_end());
    text.push('\n');
}
