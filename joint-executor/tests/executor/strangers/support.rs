//! Helpers for the tests: the stranger, and executors whose workers rest.

use std::sync::mpsc::{Receiver, Sender};

use crate::prelude::*;

/// How long a stranger's code waits for what should happen meanwhile.
pub(crate) const GUARD: Duration = Duration::from_secs(10);
/// Long enough for the last watcher to go to sleep. A test that comes too early finds less.
pub(crate) const SETTLE: Duration = Duration::from_millis(40);

/// Code of a stranger, on a worker. Its first call waits until it is released.
pub(crate) struct Stranger(Mutex<Option<Call>>);

struct Call {
    begun: Sender<()>,
    released: Receiver<()>,
    ended: Sender<bool>,
}

/// The test's side of a [`Stranger`].
pub(crate) struct Watched {
    begun: Receiver<()>,
    release: Sender<()>,
    ended: Receiver<bool>,
}

pub(crate) fn stranger() -> (Arc<Stranger>, Watched) {
    let (begin, begun) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let call = Call {
        begun: begin,
        released,
        ended: end,
    };
    let watched = Watched {
        begun,
        release,
        ended,
    };
    (Arc::new(Stranger(Mutex::new(Some(call)))), watched)
}

impl Stranger {
    /// Called wherever a stranger's code may run. On a thread that is not a worker it does nothing.
    pub(crate) fn call(&self) {
        if current_worker().is_some() {
            self.call_anywhere(|| ());
        }
    }

    /// Like [`call`](Stranger::call), and does `first` before it waits.
    pub(crate) fn call_after(&self, first: impl FnOnce()) {
        if current_worker().is_some() {
            self.call_anywhere(first);
        }
    }

    /// Like [`call_after`](Stranger::call_after), on any thread.
    pub(crate) fn call_anywhere(&self, first: impl FnOnce()) {
        let call = self.0.lock().unwrap().take();
        if let Some(call) = call {
            first();
            call.begun.send(()).unwrap();
            let released = call.released.recv_timeout(GUARD).is_ok();
            let _ = call.ended.send(released);
        }
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        self.clone().into()
    }
}

impl Wake for Stranger {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}

impl Watched {
    /// Waits until the stranger's code runs.
    #[track_caller]
    pub(crate) fn begun(&self) {
        let begun = self.begun.recv_timeout(3 * GUARD);
        assert!(begun.is_ok(), "the stranger's code is not called");
    }

    /// Returns the sender that releases the stranger.
    pub(crate) fn release(&self) -> Sender<()> {
        self.release.clone()
    }

    /// The stranger's code has ended because it was released.
    #[track_caller]
    pub(crate) fn assert_released(&self) {
        let ended = self.ended.recv_timeout(3 * GUARD);
        let is_released = ended.expect("the stranger's code ends");
        assert!(
            is_released,
            "what the stranger's code waits for has not happened, although a worker has nothing to do"
        );
    }

    /// A task that is spawned from this thread runs, and its timer fires, while the stranger's code
    /// waits for that.
    #[track_caller]
    pub(crate) fn assert_others_run(self, executor: &Executor) {
        self.begun();
        let release = self.release();
        let task = executor.spawn(async move {
            joint_executor::time::sleep(MILLI).await;
            let _ = release.send(());
        });
        self.assert_released();
        block_on(task);
    }
}

/// An executor whose workers are seen to rest.
pub(crate) struct Quiet {
    pub(crate) executor: Executor,
    pub(crate) parks: Arc<AtomicUsize>,
    unparks: Arc<AtomicUsize>,
}

impl Quiet {
    pub(crate) fn new(workers: usize, set: impl FnOnce(Builder) -> Builder) -> Self {
        let [parks, unparks] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
        let count = |counter: &Arc<AtomicUsize>| {
            let counter = counter.clone();
            move |_| _ = counter.fetch_add(1, Relaxed)
        };
        let executor = built(workers, |builder| {
            set(builder)
                .on_park(count(&parks))
                .on_unpark(count(&unparks))
        });
        Self {
            executor,
            parks,
            unparks,
        }
    }

    /// Whether that many workers rest.
    pub(crate) fn rest(&self, resting: usize) -> bool {
        let unparks = self.unparks.load(Relaxed);
        self.parks.load(Relaxed) == unparks + resting
    }

    /// Waits until that many workers rest, and have done so for some time.
    pub(crate) fn settle(&self, resting: usize) {
        wait_until(|| {
            wait_until(|| self.rest(resting));
            thread::sleep(SETTLE);
            self.rest(resting)
        });
    }

    /// Waits until all workers rest.
    pub(crate) fn settle_all(&self) {
        self.settle(self.executor.workers());
    }
}

/// An executor with that many workers, all of which rest.
pub(crate) fn quiet(workers: usize) -> Quiet {
    let quiet = Quiet::new(workers, |builder| builder);
    quiet.settle_all();
    quiet
}
