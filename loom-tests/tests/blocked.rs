//! Models of a thread that does work for others while it is blocked (`src/park.rs`,
//! `joint-executor/src/worker/blocked.rs`). If a wait misses its notification, loom reports a
//! deadlock.

use std::{sync::Mutex, task::Wake};

use joint::host;
use loom::{sync::atomic::AtomicBool, thread};

use crate::prelude::*;

type Attend = Rc<dyn Fn() -> Option<Duration>>;

joint_switch::thread_local! {
    static ATTEND: RefCell<Option<Attend>> = const { RefCell::new(None) };
}

fn attend_while_blocked(attend: impl Fn() -> Option<Duration> + 'static) {
    ATTEND.with(|cell| cell.replace(Some(Rc::new(attend))));
    host::update(|host| {
        host.attend = Some(|_| {
            // Taken out of the cell, because a waker's code could block, and call this again.
            let attend = ATTEND.with(|cell| cell.borrow().clone());
            attend.and_then(|attend| attend())
        })
    });
}

/// A deadline that has passed by the time it is armed.
const PAST: u64 = 0;

struct Sends(Mutex<Option<oneshot::Sender<u32>>>);

impl Sends {
    fn waker(sender: oneshot::Sender<u32>) -> Waker {
        Waker::from(Arc::new(Self(Mutex::new(Some(sender)))))
    }
}

impl Wake for Sends {
    fn wake(self: Arc<Self>) {
        let sender = self.0.lock().unwrap().take();
        sender.expect("woken once").send(7).unwrap();
    }
}

fn woken_by(shown: &Rc<RefCell<Option<Waker>>>) -> impl Future<Output = ()> + 'static {
    let shown = shown.clone();
    second_poll(move |waker| _ = shown.replace(Some(waker)))
}

fn wake_while_blocked(shown: &Rc<RefCell<Option<Waker>>>) {
    let shown = shown.clone();
    attend_while_blocked(move || {
        if let Some(waker) = shown.take() {
            waker.wake();
        }
        None
    });
}

/// The work for others parks the thread, and takes the token that arrived with the value.
#[test]
fn a_token_that_others_take_hides_no_value() {
    model(|| {
        let (sender, receiver) = oneshot::channel();
        let is_sent = Arc::new(AtomicBool::new(false));
        let (seen, taken) = (is_sent.clone(), Cell::new(false));
        attend_while_blocked(move || {
            if seen.load(Acquire) && !taken.replace(true) {
                thread::park();
            }
            None
        });
        thread::spawn(move || {
            sender.send(7).unwrap();
            is_sent.store(true, Release);
        });
        assert_eq!(receiver.blocking_recv(), Ok(7));
    });
}

#[test]
fn a_local_task_that_is_woken_by_its_blocked_thread_runs() {
    model(|| {
        let shown = Rc::default();
        wake_while_blocked(&shown);
        let executor = LocalExecutor::new();
        let task = executor.spawn(woken_by(&shown));
        executor.block_on(task);
    });
}

#[test]
fn a_task_that_is_woken_while_its_executor_ends_is_dropped() {
    model(|| {
        let shown: Rc<RefCell<Option<Waker>>> = Rc::default();
        wake_while_blocked(&shown);
        let executor = LocalExecutor::new();
        let from_elsewhere: Rc<RefCell<Option<Waker>>> = Rc::default();
        let first = executor.spawn(woken_by(&shown));
        let second = executor.spawn(woken_by(&from_elsewhere));
        while executor.try_tick() {}
        let waker = from_elsewhere.take().expect("it has been polled");
        thread::spawn(move || waker.wake());
        drop(executor);
        assert!(first.is_finished() && second.is_finished());
    });
}

/// A worker that is blocked in a poll until a value arrives, in a world with a driver.
fn blocked_worker(
    driven: &Arc<Driven>,
    receiver: oneshot::Receiver<u32>,
) -> thread::JoinHandle<()> {
    let driven = driven.clone();
    thread::spawn(move || {
        driven.sleep.begin(0);
        attend_while_blocked(move || driven.attend_blocked());
        assert_eq!(receiver.blocking_recv(), Ok(7));
    })
}

/// Every worker is blocked when the driver is used for the first time.
#[test]
fn the_first_deadline_reaches_a_blocked_worker() {
    model_bounded(3, || {
        let driven = Arc::new(Driven::new(1));
        let (sender, receiver) = oneshot::channel();
        let worker = blocked_worker(&driven, receiver);
        driven.arm(PAST, Sends::waker(sender));
        worker.join().unwrap();
    });
}

/// The shutdown reaches a worker that is blocked in a poll: it drops the sender of the value that
/// the poll waits for.
#[test]
fn the_end_reaches_a_blocked_worker() {
    model_bounded(3, || {
        let driven = Arc::new(Driven::new(1));
        let closed = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = oneshot::channel::<u32>();
        let worker = {
            let (driven, closed) = (driven.clone(), closed.clone());
            thread::spawn(move || {
                driven.sleep.begin(0);
                let held = Rc::new(Cell::new(Some(sender)));
                let holds = held.clone();
                attend_while_blocked(move || {
                    if closed.load(Relaxed) {
                        drop(holds.take());
                    }
                    None
                });
                assert!(receiver.blocking_recv().is_err());
                drop(held.take());
            })
        };
        closed.store(true, Relaxed);
        driven.sleep.unpark_all();
        worker.join().unwrap();
    });
}

#[test]
fn a_wait_inside_a_wait_takes_nothing_from_it() {
    model_bounded(3, || {
        let (outer_sender, outer) = oneshot::channel();
        let (inner_sender, inner) = oneshot::channel();
        let inner = Rc::new(Cell::new(Some(inner)));
        let left = inner.clone();
        attend_while_blocked(move || {
            if let Some(inner) = inner.take() {
                assert_eq!(inner.blocking_recv(), Ok(1));
            }
            None
        });
        thread::spawn(move || {
            outer_sender.send(2).unwrap();
            // If the outer value arrived first, the inner receiver is gone already.
            let _ = inner_sender.send(1);
        });
        assert_eq!(block_on(outer), Ok(2));
        drop(left.take());
    });
}
