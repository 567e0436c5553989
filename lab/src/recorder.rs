//! The recorder's state, and the functions that update it. None of them is an operation of loom's.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic,
    sync::{Arc, Once, atomic::Ordering},
    thread,
};

use super::{
    counterexample::Counterexample,
    event::{Event, Shared, Source, Step, Trace},
};

type Tell = Arc<dyn Fn(&Counterexample) + Send + Sync>;

#[derive(Default)]
struct Recorder {
    trace: Trace,
    /// The operation that each lane has begun, with a number that orders these beginnings.
    pending: Vec<Option<(u64, Event)>>,
    ids: Vec<Option<loom::thread::ThreadId>>,
    last_lane: usize,
    begun: u64,
    spawned: usize,
    tell: Option<Tell>,
    failure: Option<Counterexample>,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    static ARMED: Cell<bool> = const { Cell::new(false) };
}

loom::thread_local! {
    static LANE: usize = new_lane();
}

/// While it exists, the models of this thread are recorded.
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
        Self(())
    }

    /// Returns the counterexample of the model that has just failed with this panic.
    pub(super) fn failed(self, payload: &(dyn Any + Send)) -> Counterexample {
        capture(message_of(payload));
        let failure = with(|recorder| recorder.failure.take()).flatten();
        failure.expect("the panic of a recorded model is captured")
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
            if ARMED.get() {
                capture(message_of(info.payload()));
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

/// Keeps the execution as it is now, unless a failed one is kept already.
fn capture(message: String) {
    let trace = with(|recorder| recorder.failure.is_none().then(|| recorder.snapshot())).flatten();
    let Some(trace) = trace else {
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
    with(|recorder| recorder.failure = Some(failure));
}

fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    RECORDER.with(|recorder| recorder.try_borrow_mut().ok()?.as_mut().map(f))
}

/// Whether this thread records now. What a failed model does while it unwinds is not recorded.
pub(super) fn records() -> bool {
    ARMED.get() && !std::thread::panicking()
}

pub(super) fn is_armed() -> bool {
    ARMED.get()
}

/// Starts a new run of a model.
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
    fn new_lane(&mut self, id: loom::thread::ThreadId) -> usize {
        self.ids.push(Some(id));
        self.pending.push(None);
        self.trace.names.push(None);
        self.ids.len() - 1
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
    let event = Event {
        lane,
        step,
        place: usize::try_from(place)
            .ok()
            .and_then(|place| place.checked_sub(1)),
        order,
        site,
        source,
        read: None,
    };
    with(|recorder| {
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

impl Event {
    fn end(&mut self, value: u64, left: Option<u64>) {
        match &mut self.step {
            Step::Load => self.read = Some(value),
            Step::Exclusive(left) => *left = value,
            Step::Update {
                name,
                operand,
                wrote,
            } => {
                self.read = Some(value);
                *wrote = left.unwrap_or_else(|| updated(name, value, *operand));
            }
            Step::Exchange {
                current,
                failure,
                done,
                ..
            } => {
                self.read = Some(value);
                *done = true;
                if value != *current {
                    self.order = *failure;
                }
            }
            _ => {}
        }
    }
}

/// The value that a 64-bit exchange, addition, subtraction or union leaves.
fn updated(name: &str, before: u64, operand: u64) -> u64 {
    match name {
        "fetch_add" => before.wrapping_add(operand),
        "fetch_sub" => before.wrapping_sub(operand),
        "fetch_or" => before | operand,
        _ => operand,
    }
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
pub fn lane_of(id: loom::thread::ThreadId) -> Option<usize> {
    with(|recorder| recorder.ids.iter().position(|&known| known == Some(id))).flatten()
}

/// Records that a step without an ordering begins.
pub(super) fn begins_plain(place: u64, step: Step, source: Source) {
    begins(place, step, Ordering::Relaxed, None, source);
}
