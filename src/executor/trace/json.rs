//! A trace as text, in the trace event format: what <https://ui.perfetto.dev> and `chrome://tracing` open.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::fmt::Write as _;
use std::io::{self, Write};

use super::{Event, Span, SpanKind, Trace};
use crate::{executor::hooks::TaskEnd, task::Id};

impl Trace {
    /// Writes the trace as JSON in the trace event format, which <https://ui.perfetto.dev> and `chrome://tracing` open.
    ///
    /// Each worker is a track, and so are all other threads together. Runs of tasks are slices with the task's name, or the place where
    /// it was spawned; so are the times in which a worker sleeps. Arrows lead from a spawn or a wake-up to the run that came of it. A
    /// steal is a mark.
    ///
    /// It makes many small writes: give it a buffered writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        let mut out = Out {
            writer,
            is_first: true,
        };
        out.writer
            .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        out.event("M", 0, None, "process_name", r#""args":{"name":"joint"}"#)?;
        for track in 0..self.tracks.len() {
            let name = match track == self.workers() {
                true => "other threads".into(),
                false => format!("worker {track}"),
            };
            let args = format!(r#""args":{{"name":{}}}"#, quoted(&name));
            out.event("M", track, None, "thread_name", &args)?;
            let args = format!(r#""args":{{"sort_index":{track}}}"#);
            out.event("M", track, None, "thread_sort_index", &args)?;
        }
        for span in self.spans() {
            out.span(&span)?;
        }
        self.write_marks(&mut out)?;
        out.writer.write_all(b"\n]}\n")?;
        out.writer.flush()
    }

    /// Writes what is no slice: arrows and marks.
    fn write_marks(&self, out: &mut Out<impl Write>) -> io::Result<()> {
        let tracks = self.tracks.iter().enumerate();
        let spans: Vec<Vec<Span<'_>>> = tracks
            .map(|(track, records)| self.spans_of(track, records))
            .collect();
        let outside = self.workers();
        let mut all: Vec<_> = self
            .tracks
            .iter()
            .enumerate()
            .flat_map(|(track, records)| records.iter().map(move |record| (track, record)))
            .collect();
        all.sort_by_key(|(_, record)| record.at);
        // The arrow that has begun for a task.
        let mut arrows = BTreeMap::<Id, Arrow>::new();
        let mut count = 0;
        for (track, record) in all {
            let at = record.at;
            let start = |what| Arrow { track, at, what };
            match &record.event {
                Event::Spawn(task) => _ = arrows.insert(*task, start("spawn")),
                Event::Wake(task) => _ = arrows.insert(*task, start("wake")),
                Event::Begin(task, ..) => {
                    let Some(arrow) = arrows.remove(task) else {
                        continue;
                    };
                    let from = match arrow.track == outside {
                        true => Some(arrow.at),
                        false => slice_at(&spans[arrow.track], arrow.at),
                    };
                    let Some(from) = from else { continue };
                    if arrow.track == outside {
                        // An arrow leads from a slice.
                        out.event("X", outside, Some(from), arrow.what, r#""dur":0.5"#)?;
                    }
                    count += 1;
                    let id = format!(r#""cat":"flow","id":{count}"#);
                    out.event("s", arrow.track, Some(from), arrow.what, &id)?;
                    let id = format!(r#"{id},"bp":"e""#);
                    out.event("f", track, Some(at), arrow.what, &id)?;
                }
                Event::Steal(from) => {
                    let args = format!(r#""s":"t","args":{{"from":{from}}}"#);
                    out.event("i", track, Some(at), "steal", &args)?;
                }
                // In a run it is part of the slice.
                Event::Gone(task, how) if slice_at(&spans[track], at) != Some(at) => {
                    let end = TaskEnd::of(*how);
                    let args = format!(r#""s":"t","args":{{"task":"{task}","end":"{end:?}"}}"#);
                    out.event("i", track, Some(at), "end", &args)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Where an arrow comes from.
struct Arrow {
    track: usize,
    at: u64,
    what: &'static str,
}

/// The given time, if there is a run in it; or else the last instant of the run before: a run that ends wakes who waits for it
/// after its end.
fn slice_at(spans: &[Span<'_>], at: u64) -> Option<u64> {
    let begins = |span: &Span<'_>| span.begins.as_nanos() as u64;
    let spans = &spans[..spans.partition_point(|span| begins(span) <= at)];
    let run = spans.iter().rev();
    let run = run
        .clone()
        .find(|span| matches!(span.kind, SpanKind::Poll { .. }))?;
    let last = (run.ends.as_nanos() as u64).saturating_sub(1);
    Some(at.min(last.max(begins(run))))
}

struct Out<W> {
    writer: W,
    is_first: bool,
}

impl<W: Write> Out<W> {
    fn span(&mut self, span: &Span<'_>) -> io::Result<()> {
        let nanos = (span.ends - span.begins).as_nanos() as u64;
        let mut more = format!(r#""dur":{}"#, Micros(nanos));
        if let SpanKind::Poll {
            task,
            spawned,
            end,
            woken,
            open,
            ..
        } = &span.kind
        {
            let then = match (end, woken, open) {
                (Some(end), ..) => format!("{end:?}"),
                (None, _, true) => "Running".into(),
                (None, true, _) => "Woken".into(),
                (None, false, _) => "Waits".into(),
            };
            let spawned = quoted(&format!("{spawned}"));
            // A `String` takes all that is written to it.
            let _ = write!(
                more,
                r#","cat":"poll","args":{{"task":"{task}","spawned":{spawned},"then":"{then}"}}"#
            );
        }
        let begins = span.begins.as_nanos() as u64;
        self.event("X", span.worker, Some(begins), &span.label(), &more)
    }

    fn event(
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
struct Micros(u64);

impl core::fmt::Display for Micros {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                // A `String` takes all that is written to it.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
