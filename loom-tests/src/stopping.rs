//! [`stopping`]: a thread that stops in the middle of what it does.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use joint_switch::model::observe::{Observer, Operation, set_observer};
use loom::{
    sync::Notify,
    thread::{ThreadId, current},
};

use crate::model_bounded;

std::thread_local! {
    static STOP: RefCell<Option<(ThreadId, Stop)>> = const { RefCell::new(None) };
}

/// Where a thread stops, and until when.
#[derive(Clone, Debug)]
pub struct Stop {
    site: Arc<str>,
    stops: Arc<AtomicUsize>,
    over: Arc<Notify>,
}

impl Stop {
    /// Stops the calling thread right before its first operation at the site.
    pub fn this_thread(&self) {
        STOP.set(Some((current().id(), self.clone())));
    }

    /// Lets the thread continue.
    pub fn is_over(&self) {
        self.over.notify();
    }
}

fn begins(operation: Operation) {
    let is_here = |stop: &mut (ThreadId, Stop)| {
        stop.0 == current().id() && operation.site == Some(&*stop.1.site)
    };
    let here = STOP.with_borrow_mut(|stop| stop.take_if(is_here));
    if let Some((_, stop)) = here {
        stop.stops.fetch_add(1, Relaxed);
        stop.over.wait();
    }
}

/// Runs a model for each of the sites of a module, in which one thread stops at that site. If
/// another thread waits for it before it has let it continue, the model reports a deadlock.
/// Preemption bound 2.
///
/// # Panics
/// If the thread never comes to one of the sites.
pub fn stopping(module: &str, sites: &[&str], f: impl Fn(&Stop) + Copy + Send + Sync + 'static) {
    for site in sites {
        let site: Arc<str> = format!("{module}::{site}").into();
        let (stops, at) = (Arc::new(AtomicUsize::new(0)), site.clone());
        let counted = stops.clone();
        model_bounded(2, move || {
            set_observer(Some(Observer {
                made: |_, _| 0,
                begins,
                ended: |_| (),
            }));
            f(&Stop {
                site: at.clone(),
                stops: counted.clone(),
                over: Arc::new(Notify::new()),
            });
            STOP.take();
            set_observer(None);
        });
        assert!(stops.load(Relaxed) > 0, "no thread comes to `{site}`");
    }
}
