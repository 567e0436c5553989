//! Records what the workers do, as events that <https://ui.perfetto.dev> and `chrome://tracing` open.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use joint::task::Id;
use joint_executor::{Builder, TaskEnd, TaskInfo, current_worker};
use serde_json::{Value, json};

pub(crate) struct Recorder {
    start: Instant,
    workers: usize,
    events: Mutex<Events>,
}

#[derive(Default)]
struct Events {
    written: Vec<Value>,
    /// The tasks that are ready to run: since when, and the number of the arrow to their run.
    ready: HashMap<Id, (Duration, usize)>,
    /// How long each run was ready before it began.
    delays: Vec<Duration>,
}

impl Recorder {
    /// Sets the hooks of an executor with that many workers.
    pub(crate) fn record(builder: Builder, workers: usize) -> (Builder, Arc<Self>) {
        let this = Arc::new(Self {
            start: Instant::now(),
            workers,
            events: Mutex::default(),
        });
        let [spawn, wake, begin, end, gone, park, unpark, steal] = [(); 8].map(|()| this.clone());
        let builder = builder
            .workers(workers)
            .on_spawn(move |task| spawn.ready("spawn", task))
            .on_wake(move |task| wake.ready("wake", task))
            .before_poll(move |task| begin.begin(task))
            .after_poll(move |_| end.lock().push("E", end.track(), end.now(), json!({})))
            .on_end(move |_, how| gone.ended(how))
            .on_park(move |worker| {
                let name = json!({"name": "parked"});
                park.lock().push("B", worker, park.now(), name);
            })
            .on_unpark(move |worker| unpark.lock().push("E", worker, unpark.now(), json!({})))
            .on_steal(move |stolen| {
                let args = json!({"from": stolen.victim, "tasks": stolen.tasks});
                let event = json!({"name": "steal", "s": "t", "args": args});
                steal.lock().push("i", stolen.thief, steal.now(), event);
            });
        (builder, this)
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().expect("no hook panics")
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The track of this thread: its worker's, or the one of all other threads.
    fn track(&self) -> usize {
        current_worker().unwrap_or(self.workers)
    }

    /// A task has become ready to run. An arrow begins, in a slice of its own.
    fn ready(&self, how: &str, task: &TaskInfo<'_>) {
        let (at, track, mut events) = (self.now(), self.track(), self.lock());
        let arrow = events.written.len();
        events.ready.insert(task.id(), (at, arrow));
        events.push("X", track, at, json!({"name": how, "dur": 0.1}));
        let begins = json!({"name": "ready", "cat": "ready", "id": arrow});
        events.push("s", track, at, begins);
    }

    /// A run begins.
    fn begin(&self, task: &TaskInfo<'_>) {
        let (at, track, mut events) = (self.now(), self.track(), self.lock());
        let Some((since, arrow)) = events.ready.remove(&task.id()) else {
            unreachable!("each run follows a spawn or a wake-up");
        };
        let delay = at - since;
        events.delays.push(delay);
        let place = task.spawned();
        let name = task.name().map(String::from);
        let name = name.unwrap_or_else(|| format!("{}:{}", place.file(), place.line()));
        let args = json!({"spawned": place.to_string(), "ready for": format!("{delay:?}")});
        events.push("B", track, at, json!({"name": name, "args": args}));
        let ends = json!({"name": "ready", "cat": "ready", "id": arrow, "bp": "e"});
        events.push("f", track, at, ends);
    }

    /// A task's future has been dropped.
    fn ended(&self, how: TaskEnd) {
        let name = json!({"name": format!("{how:?}"), "s": "t"});
        self.lock().push("i", self.track(), self.now(), name);
    }

    /// Writes everything that was recorded as JSON.
    pub(crate) fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        let mut events = self.lock();
        for track in 0..=self.workers {
            let name = match track == self.workers {
                true => "other threads".into(),
                false => format!("worker {track}"),
            };
            let event = json!({"name": "thread_name", "args": {"name": name}});
            events.push("M", track, Duration::ZERO, event);
        }
        serde_json::to_writer(&mut writer, &events.written)?;
        writer.flush()
    }

    /// Says how long the runs were ready before they began.
    pub(crate) fn delays(&self) -> String {
        let mut delays = self.lock().delays.clone();
        delays.sort();
        let of = |part: f64| delays[(part * (delays.len() - 1) as f64) as usize];
        format!(
            "{} runs; from ready to running: {:?} (median), {:?} (99 of 100), {:?} (longest)",
            delays.len(),
            of(0.5),
            of(0.99),
            of(1.0)
        )
    }
}

impl Events {
    /// Adds an event of that phase, with its other members.
    fn push(&mut self, phase: &str, track: usize, at: Duration, mut event: Value) {
        event["ph"] = phase.into();
        event["pid"] = 1.into();
        event["tid"] = track.into();
        event["ts"] = (at.as_nanos() as f64 / 1e3).into();
        self.written.push(event);
    }
}
