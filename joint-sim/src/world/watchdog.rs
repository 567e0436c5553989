//! The watchdog, which ends the process if a poll blocks outside of joint's waits.
//!
//! Such a poll blocks the thread of its world, so nothing of the run can go on: neither what the
//! poll waits for, nor the run's own limits. A blocked thread cannot be unwound. Nor can the run
//! fail without it, on another thread: its future may borrow from the caller's stack, and need not
//! be `Send`, so it runs on the caller's thread, and the caller cannot return before it. What is
//! left is to say what has happened, and to end the process, which would hang otherwise. It is
//! aborted rather than exited, so that a debugger or a core dump shows where the poll blocks.
//!
//! One thread of the process looks after all runs, and sleeps while there are none. A run tells it
//! by relaxed stores what it does. The thread counts how often it has looked, and does not compare
//! times. So the time in which a debugger or a suspended machine holds the whole process does not
//! count.

use std::{
    fmt,
    io::{self, Write},
    process::abort,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, Thread},
    time::Duration,
};

use super::super::{
    failure::ONLY_OWN_WAITS,
    record::{Actor, Named},
    settings::Builder,
    tasks::Key,
};
use joint_switch::{AtomicU64, AtomicUsize, order};

/// A run's messages to the watchdog.
pub(super) struct Watched {
    steps: AtomicU64,
    /// The number of waits of polls that have looked again.
    waits: AtomicU64,
    /// The number of the [`Actor`] whose poll is under way.
    acting: AtomicU64,
    phase: AtomicUsize,
    /// The tasks by their keys. One that has ended stays until its key is used again.
    tasks: Mutex<Vec<Option<(Actor, Named)>>>,
    seed: u64,
    /// The command that replays the run, if it is one of a check.
    replay: Option<String>,
    limit: Duration,
    /// The thread of the run, which a test harness names after the test.
    thread: Thread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Steps,
    /// It waits for a call, which has a limit of its own.
    Calls,
    /// It drops what is left at the end.
    Ends,
}

impl Phase {
    fn of(word: usize) -> Self {
        match word {
            0 => Self::Steps,
            1 => Self::Calls,
            _ => Self::Ends,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    pub(super) fn new(settings: &Builder) -> Arc<Self> {
        Arc::new(Self {
            steps: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            acting: AtomicU64::new(0),
            phase: AtomicUsize::new(Phase::Steps as usize),
            tasks: Mutex::default(),
            seed: settings.seed,
            replay: settings.replay.clone(),
            limit: settings.max_poll_time,
            thread: thread::current(),
        })
    }

    pub(super) fn introduce(&self, key: Key, actor: Actor, named: Named) {
        let key = key.index();
        let mut tasks = lock(&self.tasks);
        if tasks.len() <= key {
            tasks.resize(key + 1, None);
        }
        tasks[key] = Some((actor, named));
    }

    #[inline]
    pub(super) fn step(&self, number: u64, actor: Actor) {
        // ORDERING: step, actor. Relaxed: the watchdog only compares the numbers with those that it
        // has seen before, and reports them once they have not changed for long.
        self.steps.store(number, order!(step: Relaxed));
        self.acting
            .store(u64::from(actor.0), order!(actor: Relaxed));
    }

    /// A poll that waits has run a step inside itself.
    pub(super) fn wait_again(&self, actor: Actor) {
        // ORDERING: waits_own, waits, actor_again. Relaxed: as for `step`. Of a run's threads only
        // one runs at a time, so no wait is lost.
        let waits = self.waits.load(order!(waits_own: Relaxed));
        self.waits
            .store(waits.wrapping_add(1), order!(waits: Relaxed));
        self.acting
            .store(u64::from(actor.0), order!(actor_again: Relaxed));
    }

    /// Waits for a call.
    pub(super) fn during_call<R>(&self, wait: impl FnOnce() -> R) -> R {
        let before = self.begin(Phase::Calls);
        let result = wait();
        self.begin(before);
        result
    }

    /// Another phase begins. Returns the one before.
    pub(super) fn begin(&self, phase: Phase) -> Phase {
        // ORDERING: phase_own, phase. Relaxed: as for `step`.
        let before = self.phase.load(order!(phase_own: Relaxed));
        self.phase.store(phase as usize, order!(phase: Relaxed));
        Phase::of(before)
    }

    /// Lets the watchdog look after the run until what is returned is dropped, unless the run has
    /// no limit. If the watchdog's thread cannot be started, nobody looks after the run.
    pub(super) fn watch(self: &Arc<Self>) -> impl Sized + use<> {
        struct Until(Arc<Watched>);
        impl Drop for Until {
            fn drop(&mut self) {
                let is_other = |run: &Run| !Arc::ptr_eq(&run.watched, &self.0);
                lock(&WATCHDOG).runs.retain(is_other);
            }
        }
        if self.limit == Duration::MAX {
            return None;
        }
        let mut watchdog = lock(&WATCHDOG);
        watchdog.runs.push(Run::new(self.clone()));
        if !watchdog.has_thread {
            let thread = thread::Builder::new().name("joint-sim-watchdog".into());
            watchdog.has_thread = thread.spawn(look_after).is_ok();
        } else if watchdog.is_asleep {
            watchdog.is_asleep = false;
            RUNS.notify_one();
        }
        drop(watchdog);
        Some(Until(self.clone()))
    }

    /// Reports a run that does not go on.
    fn stuck(&self, actor: Actor, steps: u64, phase: Phase) -> String {
        let what = match phase {
            Phase::Ends => format!("after step {steps}: a destructor at the end of the run"),
            Phase::Steps | Phase::Calls => {
                let tasks = lock(&self.tasks);
                let mut tasks = tasks.iter().flatten();
                let named = tasks.find(|(own, _)| *own == actor);
                let named = named.map_or(String::new(), |(_, named)| format!("{named},"));
                format!("in step {steps}: a poll of {actor}{named}")
            }
        };
        let Self { seed, limit, .. } = self;
        format!(
            "the simulation with seed {seed} is stuck {what} blocked outside of joint's waits for \
             {limit:?} of real time, or computed for as long; {ONLY_OWN_WAITS}, or raise \
             `Builder::max_poll_time`"
        )
    }

    #[cold]
    pub(super) fn abort(&self, report: impl fmt::Display) -> ! {
        let thread = self.thread.name().unwrap_or("(no name)");
        let replay = self.replay.as_ref();
        let replay = replay.map(|command| format!("to replay it: {command}\n"));
        let replay = replay.unwrap_or_default();
        // Not by `eprintln!`: a test harness captures what that prints, and loses it now.
        let _ = writeln!(
            io::stderr(),
            "{}\n{replay}the process is aborted, by thread `{thread}`",
            format!("{report}").trim_end()
        );
        abort()
    }
}

struct Run {
    watched: Arc<Watched>,
    /// The numbers of steps and waits at the last look.
    seen: Option<(u64, u64)>,
    /// The time for which these numbers have not changed.
    still: Duration,
}

impl Run {
    fn new(watched: Arc<Watched>) -> Self {
        Self {
            watched,
            seen: None,
            still: Duration::ZERO,
        }
    }

    /// Looks at the run after a time. Returns a report if what it does takes too long.
    fn look(&mut self, passed: Duration) -> Option<String> {
        let Watched { steps, waits, .. } = &*self.watched;
        // ORDERING: step_seen, waits_seen, phase_seen, actor_seen. Relaxed: a number that is old
        // makes the run look still for one time more. After the first of many looks at a run that
        // does not go on, none of them is old.
        let steps = steps.load(order!(step_seen: Relaxed));
        let waits = waits.load(order!(waits_seen: Relaxed));
        let phase = self.watched.phase.load(order!(phase_seen: Relaxed));
        let acting = self.watched.acting.load(order!(actor_seen: Relaxed));
        let phase = Phase::of(phase);
        let seen = self.seen.replace((steps, waits));
        if phase == Phase::Calls || seen != self.seen {
            self.still = Duration::ZERO;
            return None;
        }
        self.still += passed;
        let actor = Actor(acting as u32);
        (self.still >= self.watched.limit).then(|| self.watched.stuck(actor, steps, phase))
    }
}

struct Watchdog {
    runs: Vec<Run>,
    has_thread: bool,
    /// Whether the thread sleeps until there is a run.
    is_asleep: bool,
}

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog {
    runs: Vec::new(),
    has_thread: false,
    is_asleep: false,
});

/// Signalled when there is a run to watch.
static RUNS: Condvar = Condvar::new();

/// The longest and the shortest interval between two looks.
const LOOK: Duration = Duration::from_secs(1);
const SHORT_LOOK: Duration = Duration::from_millis(1);

fn look_after() {
    let mut watchdog = lock(&WATCHDOG);
    loop {
        // A run ends and the next one begins at once, mostly. So the thread is not asleep between
        // two runs, unless it happens to look then.
        watchdog.is_asleep = watchdog.runs.is_empty();
        let woken = RUNS.wait_while(watchdog, |watchdog| watchdog.is_asleep);
        watchdog = woken.unwrap_or_else(PoisonError::into_inner);
        let limits = watchdog.runs.iter().map(|run| run.watched.limit / 4);
        let until_next = limits.chain([LOOK]).min().unwrap_or(LOOK).max(SHORT_LOOK);
        drop(watchdog);
        thread::sleep(until_next);
        watchdog = lock(&WATCHDOG);
        for run in &mut watchdog.runs {
            if let Some(report) = run.look(until_next) {
                run.watched.abort(report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(limit: u32) -> (Arc<Watched>, Run) {
        let watched = Watched::new(&Builder::new(1).max_poll_time(limit * SECOND));
        (watched.clone(), Run::new(watched))
    }

    /// Returns how often the watchdog looks before it finds the run stuck.
    fn looks(run: &mut Run) -> usize {
        (1..).find(|_| run.look(SECOND).is_some()).unwrap()
    }

    #[test]
    fn steps_and_waits_begin_the_time_again() {
        let (watched, mut run) = run(3);
        assert_eq!(looks(&mut run), 4);
        for number in 1..=20 {
            match number % 2 {
                0 => watched.step(number, Actor::MAIN),
                _ => watched.wait_again(Actor::MAIN),
            }
            for _ in 0..3 {
                assert!(run.look(SECOND).is_none());
            }
        }
        assert_eq!(looks(&mut run), 1);
    }

    #[test]
    fn a_call_is_not_looked_at() {
        let (watched, mut run) = run(3);
        watched.during_call(|| assert!((0..20).all(|_| run.look(SECOND).is_none())));
        assert_eq!(looks(&mut run), 3);
    }

    #[test]
    fn runs_are_looked_after_until_they_end() {
        let (watched, _) = run(1_000);
        let is_there = || {
            let runs = &lock(&WATCHDOG).runs;
            runs.iter().any(|run| Arc::ptr_eq(&run.watched, &watched))
        };
        let watch = watched.watch();
        assert!(is_there() && lock(&WATCHDOG).has_thread);
        drop(watch);
        assert!(!is_there());
    }
}
