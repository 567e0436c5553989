//! Draws a run: a lane for each server, from top to bottom.

use std::{fmt::Write, time::Duration};

use crate::{observer::Line, plan::Plan, protocol::message::Id};

/// The width of the time, and of a lane.
const TIME: usize = 11;
const LANE: usize = 14;

/// Returns the picture. The clients have a lane if what they see matters.
pub(crate) fn draw(plan: &Plan, story: &[Line], with_clients: bool) -> String {
    let servers: Vec<_> = plan.servers().collect();
    let clients: Vec<_> = plan.clients().filter(|_| with_clients).collect();
    let lanes = [&servers[..], &clients[..]].concat();
    let mut text = row("", &lanes, |id| id.to_string());
    for line in story {
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
