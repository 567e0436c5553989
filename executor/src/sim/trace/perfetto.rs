//! A trace for <https://ui.perfetto.dev>.

use alloc::{collections::BTreeMap, format, string::ToString, vec::Vec};
use std::io::{self, Write};

use super::{
    super::record::{Actor, At, Event, What},
    Trace, WithName,
};
use crate::trace_events::{Micros, Out, quoted};

/// The longest time that a poll is drawn with, in nanoseconds.
const WIDEST: u64 = 1_000;

impl Trace {
    /// Writes the trace as JSON in the trace event format, which <https://ui.perfetto.dev> and
    /// `chrome://tracing` open.
    ///
    /// The axis is the virtual time. Each task is a track, each poll is a slice, and an arrow leads
    /// from a poll that spawns or wakes a task to the poll that this causes. Polls take no virtual
    /// time, so those of one instant are drawn one after another, for up to a microsecond each, and
    /// end before the next instant. The exact time is an argument of the slice.
    ///
    /// This makes many small writes, so pass a buffered writer.
    ///
    /// # Errors
    /// The errors of the writer.
    ///
    /// # Example
    /// ```
    /// let outcome = joint_executor::sim::Builder::new(1).trace(true).run(async {
    ///     joint_executor::spawn(async {}).await;
    /// })?;
    /// let mut json = Vec::new();
    /// outcome.trace.unwrap().write_perfetto(&mut json)?;
    /// assert!(json.starts_with(b"{"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_perfetto(&self, writer: impl Write) -> io::Result<()> {
        let slices = slices(&self.events);
        let mut out = Out::begin(writer)?;
        out.event(
            "M",
            0,
            None,
            "process_name",
            r#""args":{"name":"simulation"}"#,
        )?;
        let mut actors: Vec<_> = slices.iter().map(|slice| slice.actor).collect();
        actors.sort();
        actors.dedup();
        let tracks: BTreeMap<_, _> = actors.into_iter().zip(0..).collect();
        for (&actor, &track) in &tracks {
            let name = match actor {
                Actor::TIMER => "timers".to_string(),
                actor => WithName(self, actor).to_string(),
            };
            let args = format!(r#""args":{{"name":{}}}"#, quoted(&name));
            out.event("M", track, None, "thread_name", &args)?;
            let args = format!(r#""args":{{"sort_index":{track}}}"#);
            out.event("M", track, None, "thread_sort_index", &args)?;
        }
        for slice in &slices {
            self.write_slice(&mut out, tracks[&slice.actor], slice)?;
        }
        let mut arrows = 0;
        for slice in &slices {
            let Some((from, name)) = slice.cause else {
                continue;
            };
            let from = &slices[from];
            arrows += 1;
            let id = format!(r#""cat":"flow","id":{arrows}"#);
            out.event("s", tracks[&from.actor], Some(from.begins), name, &id)?;
            let id = format!(r#"{id},"bp":"e""#);
            out.event("f", tracks[&slice.actor], Some(slice.begins), name, &id)?;
        }
        out.end()
    }

    fn write_slice(
        &self,
        out: &mut Out<impl Write>,
        track: usize,
        slice: &Slice,
    ) -> io::Result<()> {
        let (step, at) = (slice.step, quoted(&At(slice.at).to_string()));
        let mut args = format!(r#""step":{step},"time":{at},"then":"{}""#, slice.then);
        if let Some(named) = self.named(slice.actor) {
            let spawned = quoted(&named.spawned.to_string());
            args = format!(r#"{args},"spawned":{spawned}"#);
        }
        let length = Micros(slice.ends - slice.begins);
        let more = format!(r#""cat":"poll","dur":{length},"args":{{{args}}}"#);
        let name = match slice.actor {
            Actor::MAIN => "main".into(),
            Actor::TIMER => "fire".into(),
            actor => self.short_name(actor),
        };
        out.event("X", track, Some(slice.begins), &name, &more)
    }
}

/// A poll, or a time at which timers fire.
struct Slice {
    actor: Actor,
    step: u64,
    at: u64,
    then: &'static str,
    /// The slice that caused this one, and how.
    cause: Option<(usize, &'static str)>,
    /// Its last place in the order of slices. Others lie inside if it blocks.
    last: usize,
    /// Where it is drawn, in nanoseconds.
    begins: u64,
    ends: u64,
}

fn slices(events: &[Event]) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    // The latest slice of each actor, and the cause of each task's next one.
    let mut latest = BTreeMap::<Actor, usize>::new();
    let mut causes = BTreeMap::<Actor, (usize, &str)>::new();
    for event in events {
        let by = match event.what {
            What::Spawned { by } | What::Woken { by } => by,
            _ => event.actor,
        };
        let place = slices.len();
        let known = latest.get(&by).copied();
        // Timers, and what is outside of all tasks, have a slice for each time at which they wake.
        let is_stale = |&slice: &usize| by.task().is_none() && slices[slice].at != event.at;
        let is_ended = matches!(event.what, What::Ended(_));
        let slice = match known
            .filter(|slice| !matches!(event.what, What::Ran { .. }) && !is_stale(slice))
        {
            Some(slice) => slice,
            None if is_ended => continue,
            None => {
                slices.push(Slice {
                    actor: by,
                    step: event.step,
                    at: event.at,
                    then: "waits",
                    cause: causes
                        .remove(&by)
                        .filter(|_| matches!(event.what, What::Ran { .. })),
                    last: place,
                    begins: 0,
                    ends: 0,
                });
                latest.insert(by, place);
                place
            }
        };
        // It was still running if it has just spawned or woken something.
        slices[slice].last = slices.len() - 1;
        match event.what {
            What::Spawned { .. } => _ = causes.insert(event.actor, (slice, "spawn")),
            What::Woken { .. } => {
                causes.entry(event.actor).or_insert((slice, "wake"));
                if by == event.actor {
                    slices[slice].then = "runs again";
                }
            }
            What::Ended(how) => slices[slice].then = how_it_ended(how),
            _ => {}
        }
    }
    draw(&mut slices);
    slices
}

fn how_it_ended(how: joint::task::TaskEnd) -> &'static str {
    use joint::task::TaskEnd;
    match how {
        TaskEnd::Finished => "finished",
        TaskEnd::Panicked => "panicked",
        TaskEnd::Cancelled => "cancelled",
    }
}

/// Decides where the slices are drawn.
fn draw(slices: &mut [Slice]) {
    let mut first = 0;
    while first < slices.len() {
        let at = slices[first].at;
        let instant = slices[first..].iter().take_while(|slice| slice.at == at);
        let count = instant.count();
        let next = slices.get(first + count).map_or(u64::MAX, |slice| slice.at);
        let length = ((next - at) / (count as u64 + 1)).min(WIDEST);
        for (place, slice) in slices[first..first + count].iter_mut().enumerate() {
            slice.begins = at + length * place as u64;
            slice.ends = slice.begins + length;
        }
        first += count;
    }
    for place in 0..slices.len() {
        slices[place].ends = slices[slices[place].last].ends;
    }
}
