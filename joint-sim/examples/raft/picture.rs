//! Draws a run: a lane for each server, from top to bottom.

use std::{collections::BTreeSet, fmt::Write, time::Duration};

use crate::{history::LINEARIZABILITY, observer::Summary, protocol::message::Id};

/// The width of the time, and of a lane.
const TIME: usize = 11;
const LANE: usize = 14;

/// Returns the picture. The clients have a lane if they are the ones who see that something is
/// wrong.
pub(crate) fn draw(summary: &Summary) -> String {
    let with_clients = summary.violation.as_ref();
    let with_clients = with_clients.is_some_and(|violation| violation.property == LINEARIZABILITY);
    let machines: BTreeSet<_> = summary.story.iter().filter_map(|line| line.who).collect();
    let is_shown = |id: &Id| with_clients || !id.is_client();
    let lanes: Vec<_> = machines.into_iter().filter(is_shown).collect();
    let mut text = row("", &lanes, |id| id.to_string());
    for line in &summary.story {
        let at = time(line.at);
        match line.who {
            None => writeln!(text, "{at}{}", line.what).expect("a string takes all"),
            Some(who) if lanes.contains(&who) => {
                let what = |id| if id == who { line.what.as_str() } else { "" };
                text += &row(&at, &lanes, |id| what(id).to_owned());
            }
            Some(_) => {}
        }
    }
    text
}

fn time(at: Duration) -> String {
    let at = format!("{:.1} ms", at.as_secs_f64() * 1000.0);
    format!("{at:>width$}  ", width = TIME - 2)
}

/// A row, without spaces at its end.
fn row(at: &str, lanes: &[Id], cell: impl Fn(Id) -> String) -> String {
    let cells: String = lanes
        .iter()
        .map(|&id| format!("{:<LANE$}", cell(id)))
        .collect();
    format!("{}\n", format!("{at:<TIME$}{cells}").trim_end())
}
