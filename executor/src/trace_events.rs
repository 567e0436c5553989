//! Writes text in the trace event format, which <https://ui.perfetto.dev> and `chrome://tracing`
//! open.

use alloc::string::String;
use core::fmt::{self, Write as _};
use std::io::{self, Write};

/// A trace that is being written.
pub(crate) struct Out<W> {
    writer: W,
    is_first: bool,
}

impl<W: Write> Out<W> {
    pub(crate) fn begin(mut writer: W) -> io::Result<Self> {
        writer.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self {
            writer,
            is_first: true,
        })
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.writer.write_all(b"\n]}\n")?;
        self.writer.flush()
    }

    /// Writes one event. `at` is its time in nanoseconds, and `more` its further members.
    pub(crate) fn event(
        &mut self,
        phase: &str,
        track: usize,
        at: Option<u64>,
        name: &str,
        more: &str,
    ) -> io::Result<()> {
        let comma = if self.is_first { "" } else { "," };
        self.is_first = false;
        let name = quoted(name);
        write!(
            self.writer,
            "{comma}\n{{\"ph\":\"{phase}\",\"pid\":1,\"tid\":{track},\"name\":{name},"
        )?;
        if let Some(at) = at {
            write!(self.writer, "\"ts\":{},", Micros(at))?;
        }
        write!(self.writer, "{more}}}")
    }
}

/// Nanoseconds, shown as microseconds.
pub(crate) struct Micros(pub(crate) u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Quotes a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                // Writing to a `String` does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_escaped_is_and_nothing_else() {
        assert_eq!(quoted("a \u{1f}\n\"\\ü"), "\"a \\u001f\\u000a\\\"\\\\ü\"");
    }
}
