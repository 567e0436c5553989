//! A trace as text in the trace event format, which <https://ui.perfetto.dev> and
//! `chrome://tracing` open.

use alloc::{collections::BTreeMap, format, vec::Vec};
use core::fmt::Write as _;
use std::io::{self, Write};

use super::{Event, Span, SpanKind, Trace};
use crate::trace_events::{Micros, Out, quoted};
use joint::task::Id;

impl Trace {
    /// Writes the trace as JSON in the trace event format, which <https://ui.perfetto.dev> and
    /// `chrome://tracing` open.
    ///
    /// Each worker is a track, and all other threads together are one more track. A run of a task
    /// is a slice with the task's name, or with the place where it was spawned. A time in which a
    /// worker sleeps is a slice too. An arrow leads from a spawn or a wake-up to the run that it
    /// caused. A steal is a mark.
    ///
    /// This makes many small writes, so pass a buffered writer.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        let mut out = Out::begin(writer)?;
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
        out.end()
    }

    /// Writes the events that are not slices: arrows and marks.
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
        // The open arrow of each task.
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
                        // An arrow must start from a slice.
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
                // An end inside a run is part of the slice.
                Event::Gone(task, how) if slice_at(&spans[track], at) != Some(at) => {
                    let end = *how;
                    let args = format!(r#""s":"t","args":{{"task":"{task}","end":"{end:?}"}}"#);
                    out.event("i", track, Some(at), "end", &args)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Where an arrow starts.
struct Arrow {
    track: usize,
    at: u64,
    what: &'static str,
}

/// Returns the given time if a run contains it, or else the last instant of the run before it: a
/// run that ends a task wakes the waiter after its end.
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
            // Writing to a `String` does not fail.
            let _ = write!(
                more,
                r#","cat":"poll","args":{{"task":"{task}","spawned":{spawned},"then":"{then}"}}"#
            );
        }
        let begins = span.begins.as_nanos() as u64;
        self.event("X", span.worker, Some(begins), &span.label(), &more)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::trace::Record;
    use joint::task::{TaskEnd, spawn_detached};

    /// The events of one phase, without the prefix that they all share.
    fn events(trace: &Trace, phase: &str) -> Vec<String> {
        let mut json = Vec::new();
        trace.write_to(&mut json).unwrap();
        let json = String::from_utf8(json).unwrap();
        let begins = format!(r#"{{"ph":"{phase}","pid":1,"#);
        let lines = json.lines().filter_map(|line| line.strip_prefix(&begins));
        lines
            .map(|line| line.trim_end_matches(',').to_owned())
            .collect()
    }

    #[test]
    fn all_kinds_of_records_are_written() {
        let [one, other, gone] = [(); 3]
            .map(|()| spawn_detached(async {}, drop))
            .map(|task| task.id());
        let here = core::panic::Location::caller();
        let begin = |task, name: &str| Event::Begin(task, Some(name.into()), here);
        let track = |records: &[(u64, Event)]| {
            let records = records.iter().cloned();
            records.map(|(at, event)| Record { at, event }).collect()
        };
        let tracks = [
            track(&[
                (1_000, begin(one, "one")),
                (1_500, Event::Wake(other)),
                (1_800, Event::Gone(one, TaskEnd::Finished)),
                (2_500, Event::End(false)),
                (3_000, Event::Park),
                (3_250, Event::Unpark),
                (4_500, Event::Gone(gone, TaskEnd::Cancelled)),
            ]),
            track(&[
                (5_000, Event::Steal(0)),
                (6_000, begin(other, "other")),
                (6_100, Event::Gone(gone, TaskEnd::Cancelled)),
                (7_000, Event::End(true)),
            ]),
            track(&[(500, Event::Spawn(one))]),
        ];
        let trace = Trace {
            tracks: tracks.into(),
            taken: 9_000,
        };
        let slice = |track: usize, name: &str, at: &str, dur: &str, run: Option<(Id, &str)>| {
            let run = run.map(|(task, then)| {
                format!(
                    r#","cat":"poll","args":{{"task":"{task}","spawned":"{here}","then":"{then}"}}"#
                )
            });
            let run = run.unwrap_or_default();
            format!(r#""tid":{track},"name":"{name}","ts":{at},"dur":{dur}{run}}}"#)
        };
        assert_eq!(
            events(&trace, "X"),
            [
                slice(0, "one", "1.000", "1.500", Some((one, "Finished"))),
                slice(0, "parked", "3.000", "0.250", None),
                slice(1, "other", "6.000", "1.000", Some((other, "Woken"))),
                slice(2, "spawn", "0.500", "0.5", None),
            ]
        );
        let arrow = |track: usize, name: &str, at: &str, more: &str| {
            format!(r#""tid":{track},"name":"{name}","ts":{at},"cat":"flow","id":{more}}}"#)
        };
        assert_eq!(
            events(&trace, "s"),
            [
                arrow(2, "spawn", "0.500", "1"),
                arrow(0, "wake", "1.500", "2")
            ]
        );
        let ends = [r#"1,"bp":"e""#, r#"2,"bp":"e""#];
        assert_eq!(
            events(&trace, "f"),
            [
                arrow(0, "spawn", "1.000", ends[0]),
                arrow(1, "wake", "6.000", ends[1])
            ]
        );
        // An arrow that ends in a run is part of the run's slice.
        let end = format!(r#""task":"{gone}","end":"Cancelled""#);
        let mark = |track: usize, name: &str, at: &str, args: &str| {
            format!(r#""tid":{track},"name":"{name}","ts":{at},"s":"t","args":{{{args}}}}}"#)
        };
        assert_eq!(
            events(&trace, "i"),
            [
                mark(0, "end", "4.500", &end),
                mark(1, "steal", "5.000", r#""from":0"#)
            ]
        );
    }
}
