//! A trace for <https://ui.perfetto.dev>.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    super::record::{Actor, Event, What, how_it_ended},
    Trace,
};

/// The largest width with which a poll is drawn, in nanoseconds.
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
    /// let outcome = joint_sim::Builder::new(1).trace(true).run(async {
    ///     joint_executor::spawn(async {}).await;
    /// })?;
    /// let mut json = Vec::new();
    /// outcome.trace.unwrap().write_perfetto(&mut json)?;
    /// assert!(json.starts_with(b"{"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_perfetto(&self, mut writer: impl Write) -> io::Result<()> {
        let slices = slices(&self.events);
        let mut actors: Vec<_> = slices.iter().map(|slice| slice.actor).collect();
        actors.sort();
        actors.dedup();
        let tracks: BTreeMap<_, _> = actors.into_iter().zip(0..).collect();
        let name = metadata("process_name", 0, json!({"name": "simulation"}));
        let named = tracks.iter().flat_map(|(&actor, &track)| {
            let name = match actor {
                Actor::MAIN => "main".to_string(),
                Actor::TIMER => "timers".to_string(),
                actor => format!("{actor} {}", self.short_name(actor)),
            };
            let index = json!({"sort_index": track});
            [
                metadata("thread_name", track, json!({"name": name})),
                metadata("thread_sort_index", track, index),
            ]
        });
        let drawn = slices
            .iter()
            .map(|slice| self.drawn(tracks[&slice.actor], slice));
        let causes = slices.iter().enumerate();
        let causes = causes.filter_map(|(id, slice)| Some((id, slice, slice.cause?)));
        let arrows = causes.flat_map(|(id, slice, (from, name))| {
            [("s", &slices[from]), ("f", slice)].map(|(phase, end)| {
                json!({
                    "ph": phase, "pid": 1, "tid": tracks[&end.actor], "name": name,
                    "ts": micros(end.begins), "cat": "flow", "id": id, "bp": "e",
                })
            })
        });
        writer.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        serde_json::to_writer(&mut writer, &name)?;
        // One event at a time, because a long run has millions of them.
        for event in named.chain(drawn).chain(arrows) {
            writer.write_all(b",\n")?;
            serde_json::to_writer(&mut writer, &event)?;
        }
        writer.write_all(b"\n]}\n")?;
        writer.flush()
    }

    fn drawn(&self, track: usize, slice: &Slice) -> Value {
        let name = match slice.actor {
            Actor::MAIN => "main".into(),
            Actor::TIMER => "fire".into(),
            actor => self.short_name(actor),
        };
        let time = Duration::from_nanos(slice.at);
        let mut args = json!({
            "step": slice.step, "time": format!("{time:?}"), "then": slice.then,
        });
        if let Some(named) = self.named(slice.actor) {
            args["spawned"] = named.spawned.to_string().into();
        }
        json!({
            "ph": "X", "pid": 1, "tid": track, "name": name, "cat": "poll",
            "ts": micros(slice.begins), "dur": micros(slice.ends - slice.begins), "args": args,
        })
    }
}

fn metadata(name: &str, track: usize, args: Value) -> Value {
    json!({"ph": "M", "pid": 1, "tid": track, "name": name, "args": args})
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
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
    /// The start and the end of the drawn slice, in nanoseconds.
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
