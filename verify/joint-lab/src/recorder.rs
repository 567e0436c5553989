//! The recorder's state, and the functions that update it. None of them is an operation of loom's.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    io::{self, Write as _},
    panic,
    sync::{Arc, Once, atomic::Ordering, mpsc},
    thread,
};

use loom::thread::ThreadId;

use super::{
    counterexample::Counterexample,
    event::{Event, Shared, Source, Step, Trace},
    report,
};

/// Receives the failure of a model whose thread is stopped for good.
pub(super) type Rescue = mpsc::Sender<Box<Counterexample>>;

type Tell = Arc<dyn Fn(&Counterexample) + Send + Sync>;

#[derive(Default)]
struct Recorder {
    trace: Trace,
    /// The operation that each lane has begun, with a number that orders these beginnings.
    pending: Vec<Option<(u64, Event)>>,
    ids: Vec<Option<ThreadId>>,
    last_lane: usize,
    begun: u64,
    spawned: usize,
    tell: Option<Tell>,
    /// A counterexample for each panic of this run.
    failures: Vec<Counterexample>,
    /// The steps that unpark a thread which has done nothing yet.
    early: Vec<(usize, ThreadId)>,
    /// The raw pointers that stand for handles of an `Arc`: address, place and handle.
    raw: Vec<(usize, u64, usize)>,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    static ARMED: Cell<bool> = const { Cell::new(false) };
    /// Whether loom itself has failed.
    static DOOMED: Cell<bool> = const { Cell::new(false) };
    static RESCUE: RefCell<Option<Rescue>> = const { RefCell::new(None) };
}

loom::thread_local! {
    static LANE: usize = new_lane();
}

/// The models of this thread are recorded while this exists.
pub(super) struct Recording(());

impl Recording {
    pub(super) fn start(tell: impl Fn(&Counterexample) + Send + Sync + 'static) -> Self {
        install_hook();
        let recorder = Recorder {
            tell: Some(Arc::new(tell)),
            ..Recorder::default()
        };
        RECORDER.set(Some(recorder));
        ARMED.set(true);
        DOOMED.set(false);
        Self(())
    }

    /// Returns the counterexample of the model that has just failed with this panic.
    pub(super) fn failed(self, payload: &(dyn Any + Send)) -> Counterexample {
        failure_of(&message_of(payload))
    }

    /// From now on, a model of this thread that fails is not unwound: its failure is sent there,
    /// and this thread stops for good.
    pub(super) fn rescue(&self, to: Rescue) {
        RESCUE.set(Some(to));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        ARMED.set(false);
        RECORDER.set(None);
    }
}

/// Keeps a panic on a thread that records together with its execution. All other panics are handled
/// as usual.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().is::<generator::Error>() {
                // One of loom's threads has ended, or is unwound because its execution is over.
                usual(info);
            } else if ARMED.get() {
                let message = message_of(info.payload());
                if ABORTS.iter().any(|words| message.starts_with(words)) {
                    // The failure is the panic before this one.
                    return tell_of_abort();
                }
                DOOMED.set(DOOMED.get() || info.location().is_some_and(is_of_loom));
                capture(message);
            } else {
                usual(info);
            }
        }));
    });
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("the model panicked").to_owned()
}

/// Whether a panic is loom's own, after which no operation of the model can run.
fn is_of_loom(location: &panic::Location<'_>) -> bool {
    let mut folders = location.file().split(['/', '\\']);
    folders.any(|folder| {
        folder
            .strip_prefix("loom-")
            .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Writes the first failure to the standard error itself, because the test harness holds back what
/// is printed until the test ends.
fn tell_of_abort() {
    if RESCUE.with_borrow(Option::is_some) {
        let message = with(|recorder| recorder.failures.first().map(report::in_short)).flatten();
        let _ = writeln!(io::stderr(), "{}", message.unwrap_or_default());
    }
}

/// How the last panics of a process that is about to abort begin.
const ABORTS: [&str; 2] = [
    "panic in a destructor during cleanup",
    "panic in a function that cannot unwind",
];

/// Runs the function of one of the model's threads. If it panics, and the failure is waited for,
/// this never returns.
///
/// Unwinding further would leave the model, and then drop the closures of its threads that have not
/// started. A handle of an `Arc` in such a closure panics, because it is an operation outside of
/// any model. That second panic aborts the process.
pub(super) fn guarded<R>(f: impl FnOnce() -> R) -> R {
    if RESCUE.with_borrow(Option::is_none) {
        return f();
    }
    match panic::catch_unwind(panic::AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(payload) => {
            stop(Some(&message_of(&*payload)));
            panic::resume_unwind(payload)
        }
    }
}

/// Sends the failure with this message, or the first one, and stops this thread. Does nothing if
/// nobody waits for it.
fn stop(message: Option<&str>) {
    let Some(rescue) = RESCUE.take() else {
        return;
    };
    let first = || with(|recorder| recorder.failures.first().map(|one| one.message.clone()));
    let message = message.map(str::to_owned).or_else(|| first().flatten());
    let failure = failure_of(&message.unwrap_or_default());
    if rescue.send(Box::new(failure)).is_ok() {
        loop {
            thread::park();
        }
    }
}

fn failure_of(message: &str) -> Counterexample {
    let take = || {
        with(|recorder| {
            let mut failures = recorder.failures.iter();
            let at = failures.rposition(|one| one.message == message)?;
            Some(recorder.failures.remove(at))
        })
        .flatten()
    };
    take().unwrap_or_else(|| {
        capture(message.to_owned());
        take().expect("it was kept just now")
    })
}

fn capture(message: String) {
    let Some(trace) = with(|recorder| recorder.snapshot()) else {
        return;
    };
    let tell = with(|recorder| recorder.tell.clone()).flatten();
    // A model's threads have small stacks.
    let failure = thread::spawn(move || {
        let failure = Counterexample::new(message, trace);
        if let Some(tell) = tell {
            tell(&failure);
        }
        failure
    });
    let Ok(failure) = failure.join() else {
        return;
    };
    with(|recorder| recorder.failures.push(failure));
}

fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    RECORDER.with(|recorder| recorder.try_borrow_mut().ok()?.as_mut().map(f))
}

/// Whether this thread records now. What a failed model does while it unwinds is not recorded.
///
/// After a deadlock, loom has no thread that may run, and it unwinds the one that blocked last.
/// Each operation of a destructor there panics a second time. The first of them therefore stops the
/// thread instead, if the failure is waited for.
pub(super) fn records() -> bool {
    if ARMED.get() && thread::panicking() && DOOMED.get() {
        stop(None);
    }
    ARMED.get() && !thread::panicking()
}

/// Stops the running thread if its model has failed inside of loom and is being unwound, so that a
/// destructor does not panic a second time. Only if the failure is reported elsewhere, as by
/// [`model`](crate::model).
#[inline]
pub fn stop_if_failed() {
    if is_armed() {
        records();
    }
}

#[inline]
pub(super) fn is_armed() -> bool {
    ARMED.get()
}

pub(super) fn new_execution() {
    with(|recorder| {
        *recorder = Recorder {
            tell: recorder.tell.take(),
            ..Recorder::default()
        };
    });
}

/// Gives the running thread of the model a name in pictures.
pub fn name_thread(name: &str) {
    if records() {
        let lane = lane();
        with(|recorder| recorder.trace.names[lane] = Some(name.to_owned()));
    }
}

/// Gives a value of an atomic pointer a name in pictures.
pub fn name_value(value: usize, name: &str) {
    if records() {
        with(|recorder| {
            let named = (value as u64, name.to_owned());
            recorder.trace.values.push(named);
        });
    }
}

fn new_lane() -> usize {
    let id = loom::thread::current().id();
    with(|recorder| recorder.new_lane(id)).unwrap_or(0)
}

/// The running thread. If its thread-locals are gone already, it is the thread that ran last,
/// because these are all dropped at once.
fn lane() -> usize {
    let known = LANE.try_with(|lane| *lane).ok();
    with(|recorder| {
        recorder.last_lane = known.unwrap_or(recorder.last_lane);
        recorder.last_lane
    })
    .unwrap_or(0)
}

impl Recorder {
    fn new_lane(&mut self, id: ThreadId) -> usize {
        let lane = self.ids.len();
        for &(step, _) in self.early.iter().filter(|early| early.1 == id) {
            if let Some(event) = self.trace.events.get_mut(step) {
                event.step = Step::Unpark(Some(lane));
            }
        }
        self.ids.push(Some(id));
        self.pending.push(None);
        self.trace.names.push(None);
        lane
    }

    fn snapshot(&self) -> Trace {
        let mut trace = self.trace.clone();
        let mut begun: Vec<_> = self.pending.iter().flatten().cloned().collect();
        begun.sort_by_key(|&(when, _)| std::cmp::Reverse(when));
        trace.begun = begun.into_iter().map(|(_, event)| event).collect();
        trace
    }
}

/// Records that a location was made, with its first value. Returns its number, which is 0 if
/// nothing is recorded now.
pub fn made(kind: &'static str, value: u64, source: Source) -> u64 {
    if !records() {
        return 0;
    }
    let shared = Shared {
        kind,
        name: None,
        source,
    };
    let place = with(|recorder| {
        recorder.trace.places.push(shared);
        recorder.trace.places.len()
    });
    let place = place.unwrap_or(0) as u64;
    now(place, Step::Made(value), source);
    place
}

pub(super) fn name_place(place: u64, name: &str) {
    with(|recorder| {
        let index = usize::try_from(place).ok()?.checked_sub(1)?;
        recorder.trace.places.get_mut(index)?.name = Some(name.to_owned());
        Some(())
    });
}

/// Records a step that begins and ends at once.
pub(super) fn now(place: u64, step: Step, source: Source) {
    begins(place, step, Ordering::Relaxed, None, source);
    ended(0);
}

/// Records that the running thread begins an operation at this place, or at none if it is 0. `site`
/// is the name of the operation, if it has one.
pub fn begins(place: u64, step: Step, order: Ordering, site: Option<&'static str>, source: Source) {
    if !records() {
        return;
    }
    let lane = lane();
    let mut event = Event {
        lane,
        step,
        place: usize::try_from(place)
            .ok()
            .and_then(|place| place.checked_sub(1)),
        order,
        site,
        source,
        read: None,
        after: 0,
        stuck: false,
    };
    with(|recorder| {
        event.after = recorder.trace.events.len();
        // A location of an earlier execution has no number in this one.
        let known = event
            .place
            .is_none_or(|place| place < recorder.trace.places.len());
        recorder.begun += 1;
        recorder.pending[lane] = known.then_some((recorder.begun, event));
    });
}

/// Records that the operation which the running thread has begun is done, and has read this value.
pub fn ended(read: u64) {
    done(read, None);
}

/// Does the same as [`ended`] for a read-modify-write that has left the second value.
pub(super) fn ended_with(read: u64, wrote: u64) {
    done(read, Some(wrote));
}

fn done(read: u64, left: Option<u64>) {
    if !records() {
        return;
    }
    let lane = lane();
    with(|recorder| {
        if let Some((_, mut event)) = recorder.pending[lane].take() {
            event.end(read, left);
            recorder.trace.events.push(event);
        }
    });
}

/// A number for a thread that is about to be spawned.
pub(super) fn token() -> usize {
    with(|recorder| {
        recorder.spawned += 1;
        recorder.spawned
    })
    .unwrap_or(0)
}

/// The lane of one of loom's threads, if it has done anything.
pub fn lane_of(id: ThreadId) -> Option<usize> {
    with(|recorder| recorder.ids.iter().position(|&known| known == Some(id))).flatten()
}

/// Records that a step without an ordering begins.
pub(super) fn begins_plain(place: u64, step: Step, source: Source) {
    begins(place, step, Ordering::Relaxed, None, source);
}

pub(super) fn unparks(id: ThreadId, source: Source) {
    let lane = lane_of(id);
    if lane.is_none() && records() {
        with(|recorder| recorder.early.push((recorder.trace.events.len(), id)));
    }
    now(0, Step::Unpark(lane), source);
}

/// Records which handle of an `Arc` became a raw pointer.
pub(super) fn into_raw(address: usize, place: u64, handle: usize) {
    with(|recorder| recorder.raw.push((address, place, handle)));
}

/// Returns the place and the handle that became a raw pointer.
pub(super) fn from_raw(address: usize) -> (u64, usize) {
    let known = with(|recorder| {
        let at = recorder.raw.iter().rposition(|raw| raw.0 == address)?;
        let (_, place, handle) = recorder.raw.remove(at);
        Some((place, handle))
    });
    known.flatten().unwrap_or((0, 0))
}
