//! [`stopping`] and [`each_step`]: models in which the system stops a thread before one of its
//! operations, until the others have done their part.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use joint_switch::model::observe::{Operation, set_observer};
use loom::{
    sync::atomic::AtomicBool,
    thread::{self, ThreadId},
};

use crate::model_bounded;

thread_local! {
    /// The thread that will stop, and the number of its operations so far.
    static STOP: RefCell<Option<(ThreadId, usize, Stop)>> = const { RefCell::new(None) };
}

/// The operation before which a thread stops.
#[derive(Debug)]
enum Before {
    /// The first one at this site.
    Site(String),
    /// The one with this number, from 0.
    Step(usize),
}

/// Where a thread stops, and until when.
#[derive(Clone, Debug)]
pub struct Stop {
    before: Arc<Before>,
    /// How often a thread has stopped, in all orders.
    stops: Arc<AtomicUsize>,
    may_continue: Arc<AtomicBool>,
}

impl Stop {
    /// Starts a thread that does `f`, and stops somewhere in it.
    pub fn start(&self, f: impl FnOnce() + 'static) -> Stopped {
        let stop = self.clone();
        let thread = thread::spawn(move || {
            STOP.set(Some((thread::current().id(), 0, stop)));
            f();
            STOP.take();
        });
        Stopped(thread, self.may_continue.clone())
    }
}

/// A thread that is stopped, or will be.
#[derive(Debug)]
#[must_use = "a thread that is stopped forever fails the model"]
pub struct Stopped(thread::JoinHandle<()>, Arc<AtomicBool>);

impl Stopped {
    /// Lets the thread continue, and waits for its end.
    ///
    /// # Panics
    /// If the thread has panicked.
    pub fn join(self) {
        self.1.store(true, Relaxed);
        self.0.thread().unpark();
        self.0.join().unwrap();
    }
}

fn begins(operation: Operation) {
    let is_here = |(thread, steps, stop): &mut (ThreadId, usize, Stop)| {
        if *thread != thread::current().id() {
            return false;
        }
        *steps += 1;
        match &*stop.before {
            Before::Site(site) => operation.site == Some(&**site),
            Before::Step(step) => *steps > *step,
        }
    };
    let here = STOP.with_borrow_mut(|stop| stop.take_if(is_here));
    if let Some((.., stop)) = here {
        stop.stops.fetch_add(1, Relaxed);
        while !stop.may_continue.load(Relaxed) {
            thread::park();
        }
    }
}

/// Runs the model, and returns whether a thread has stopped in any order.
fn stops(
    preemptions: usize,
    before: Before,
    model: impl Fn(&Stop) + Send + Sync + 'static,
) -> bool {
    let (before, stops) = (Arc::new(before), Arc::new(AtomicUsize::new(0)));
    let counted = stops.clone();
    model_bounded(preemptions, move || {
        set_observer(Some(begins));
        model(&Stop {
            before: before.clone(),
            stops: counted.clone(),
            may_continue: Arc::new(AtomicBool::new(false)),
        });
        STOP.take();
        set_observer(None);
    });
    stops.load(Relaxed) > 0
}

/// Runs a model for each of the sites of a module, in which one thread stops at that site. If
/// another thread waits for it before it has let it continue, the model reports a deadlock.
/// Preemption bound 2.
///
/// # Panics
/// If the thread never comes to one of the sites.
pub fn stopping(module: &str, sites: &[&str], f: impl Fn(&Stop) + Copy + Send + Sync + 'static) {
    for site in sites {
        let stops = stops(2, Before::Site(format!("{module}::{site}")), f);
        assert!(stops, "no thread comes to `{site}`");
    }
}

/// Does the same for each operation of the thread, with at most that number of preemptions besides
/// the stop.
///
/// # Panics
/// If the model fails, or if the thread has no operation.
pub fn each_step(preemptions: usize, f: impl Fn(&Stop) + Clone + Send + Sync + 'static) {
    let stops = |&step: &usize| stops(preemptions, Before::Step(step), f.clone());
    assert!((0..).take_while(stops).count() > 0, "it has no operation");
}
