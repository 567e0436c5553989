//! The arrows of an execution as text, in the margin beside its rows.

use super::counterexample::Counterexample;

/// An arrow in the margin, from row to row.
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) missing: bool,
}

/// The arrows between these rows, the shorter ones first.
pub(super) fn arrows(of: &Counterexample, rows: &[usize]) -> Vec<Arrow> {
    let missing: Vec<_> = of
        .missing_edges()
        .iter()
        .map(|edge| (edge.writer, edge.reader))
        .collect();
    let reads = of.reads();
    let reads = reads
        .iter()
        .map(|&(from, to, _)| (from, to))
        .filter(|read| !missing.contains(read));
    let all = reads
        .map(|read| (read, false))
        .chain(missing.iter().map(|&edge| (edge, true)));
    let row = |step| rows.iter().position(|&row| row == step);
    let mut arrows: Vec<_> = all
        .filter_map(|((from, to), missing)| {
            Some(Arrow {
                from: row(from)?,
                to: row(to)?,
                missing,
            })
        })
        .collect();
    arrows.sort_by_key(|arrow| arrow.to - arrow.from);
    arrows
}

/// The margin of each row. Every arrow has its own column; shorter arrows are closer to the lanes.
pub(super) fn margin(arrows: &[Arrow], rows: usize) -> Vec<String> {
    let mut columns: Vec<Vec<&Arrow>> = Vec::new();
    for arrow in arrows {
        let apart = |other: &&Arrow| arrow.to < other.from || other.to < arrow.from;
        match columns.iter_mut().find(|column| column.iter().all(apart)) {
            Some(column) => column.push(arrow),
            None => columns.push(vec![arrow]),
        }
    }
    let shown = |row| {
        let mut text = String::new();
        let mut reaching = None;
        for column in columns.iter().rev() {
            let arrow = column
                .iter()
                .find(|arrow| (arrow.from..=arrow.to).contains(&row));
            text.push_str(&stroke(arrow.copied(), row, &mut reaching));
        }
        let end = match reaching {
            Some((true, true)) => "✗",
            Some((true, false)) => "►",
            Some((false, true)) => "╌",
            Some((false, false)) => "─",
            None => " ",
        };
        text + end
    };
    (0..rows).map(shown).collect()
}

/// Two letters of one arrow's column. `reaching` is set while an arrow's end runs inward.
fn stroke(arrow: Option<&Arrow>, row: usize, reaching: &mut Option<(bool, bool)>) -> String {
    let along = |reaching: &Option<(bool, bool)>| match reaching {
        Some((_, true)) => "╌",
        Some((_, false)) => "─",
        None => " ",
    };
    let Some(arrow) = arrow else {
        return along(reaching).repeat(2);
    };
    let letter = match (row == arrow.from, row == arrow.to, arrow.missing) {
        (true, ..) => "┌",
        (_, true, _) => "└",
        (.., true) => "╎",
        _ => "│",
    };
    if row == arrow.from || row == arrow.to {
        *reaching = Some((row == arrow.to, arrow.missing));
    }
    format!("{letter}{}", along(reaching))
}
