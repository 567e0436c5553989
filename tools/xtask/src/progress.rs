//! How far a long run has come: a line that changes on a terminal, a line for each thing done
//! elsewhere.

use std::{
    io::{IsTerminal, Write as _, stderr},
    sync::{Mutex, PoisonError},
    time::Instant,
};

const WIDTH: usize = 24;
/// Of what was done last, on a terminal.
const SHOWN: usize = 70;

pub(crate) struct Progress {
    of: &'static str,
    all: usize,
    done: Mutex<usize>,
    start: Instant,
    is_terminal: bool,
}

impl Progress {
    pub(crate) fn new(of: &'static str, all: usize) -> Self {
        Self {
            of,
            all,
            done: Mutex::new(0),
            start: Instant::now(),
            is_terminal: stderr().is_terminal(),
        }
    }

    /// One more is done.
    pub(crate) fn one(&self, what: String) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        let line = if self.is_terminal {
            let shown: String = what.chars().take(SHOWN).collect();
            format!("\r\x1b[K{} {} {shown}", bar(*done, self.all), self.of)
        } else {
            format!("[{done}/{}] {what}\n", self.all)
        };
        let _for_show = stderr().write_all(line.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.all > 0 {
            let end = if self.is_terminal { "\r\x1b[K" } else { "" };
            let took = self.start.elapsed().as_secs_f64();
            eprintln!("{end}{}: {} in {took:.1} s", self.of, self.all);
        }
    }
}

fn bar(done: usize, all: usize) -> String {
    let full = WIDTH * done / all.max(1);
    format!(
        "[{}{}] {done}/{all}",
        "#".repeat(full),
        ".".repeat(WIDTH - full)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up() {
        assert_eq!(bar(0, 8), format!("[{}] 0/8", ".".repeat(24)));
        assert_eq!(bar(2, 8), format!("[######{}] 2/8", ".".repeat(18)));
        assert_eq!(bar(8, 8), format!("[{}] 8/8", "#".repeat(24)));
    }
}
