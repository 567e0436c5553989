//! [`each_step`]: models in which the system stops a thread before one of its operations, until all
//! others have done their part.

use std::cell::{Cell, RefCell};

use joint_switch::model::observe::{Observer, Operation, set_observer};
use loom::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, Thread},
};

/// The thread that is stopped before one of its operations.
#[derive(Debug)]
pub struct Stopped(Arc<AtomicBool>);

struct Stops {
    thread: Thread,
    /// The number of operations until then.
    left: usize,
    may_continue: Arc<AtomicBool>,
}

thread_local! {
    static STEP: Cell<usize> = const { Cell::new(0) };
    static STOPS: RefCell<Option<Stops>> = const { RefCell::new(None) };
    static HAS_STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Checks the model once for each operation of the stopped thread, with at most that number of
/// preemptions besides the stop.
///
/// # Panics
/// If the model fails, or if the thread never stops.
pub fn each_step(preemptions: usize, model: impl Fn(Stopped) + Clone + Send + Sync + 'static) {
    for step in 0.. {
        STEP.set(step);
        HAS_STOPPED.set(false);
        let model = model.clone();
        crate::model_bounded(preemptions, move || {
            STOPS.take();
            set_observer(Some(Observer {
                made: |_, _| 0,
                begins,
                ended: |_| (),
            }));
            model(Stopped(Arc::new(AtomicBool::new(false))));
            set_observer(None);
        });
        if !HAS_STOPPED.get() {
            assert!(step > 0, "it has no operation");
            return;
        }
    }
}

impl Stopped {
    /// Starts the thread. It does `f`, and is stopped somewhere in it.
    pub fn start(self, f: impl FnOnce() + 'static) -> Continue {
        let may_continue = self.0.clone();
        let thread = thread::spawn(move || {
            STOPS.set(Some(Stops {
                thread: thread::current(),
                left: STEP.get(),
                may_continue: self.0,
            }));
            f();
            STOPS.take();
        });
        Continue(thread, may_continue)
    }
}

/// A thread that is stopped, or will be.
#[derive(Debug)]
#[must_use = "a thread that is stopped forever fails the model"]
pub struct Continue(thread::JoinHandle<()>, Arc<AtomicBool>);

impl Continue {
    /// Lets it continue, and waits for its end.
    ///
    /// # Panics
    /// If the thread has panicked.
    pub fn join(self) {
        self.1.store(true, Relaxed);
        self.0.thread().unpark();
        self.0.join().unwrap();
    }
}

fn begins(_: Operation) {
    let here = thread::current().id();
    let stops = STOPS.with_borrow_mut(|stops| {
        let stops = stops.as_mut().filter(|stops| stops.thread.id() == here)?;
        match stops.left.checked_sub(1) {
            Some(left) => stops.left = left,
            None => return Some(stops.may_continue.clone()),
        }
        None
    });
    if let Some(may_continue) = stops {
        STOPS.take();
        HAS_STOPPED.set(true);
        while !may_continue.load(Relaxed) {
            thread::park();
        }
    }
}
