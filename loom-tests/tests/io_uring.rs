//! Models of an operation on io_uring, with a thread in place of the kernel: it writes into the
//! buffer and answers, while the future is polled, moved to another thread, or dropped.
//!
//! The side that gets the block accesses the buffer and the answer, and frees both. This fails
//! unless everything that the other side did happens before it. A block that nobody frees, or that
//! both free, fails the model too.

use std::sync::Mutex;

use joint_ring::model::{Gate, Operation, Request, asked};
use loom_tests::lab::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst, fence},
    thread::{self, JoinHandle},
};

use crate::prelude::*;

type Polled = Poll<(std::io::Result<u32>, Value)>;

fn is_answered(polled: Polled) -> bool {
    match polled {
        Poll::Ready((answer, _)) => {
            assert_eq!(answer.unwrap(), 7);
            true
        }
        Poll::Pending => false,
    }
}

/// An operation, and what its request is turned into at its first poll.
fn operation<T: Send + 'static>(
    drops: &Drops,
    ask: impl FnOnce(Request) -> T + Send + 'static,
) -> (Operation<Value>, Arc<Mutex<Option<T>>>) {
    operation_that_is(false, drops, ask)
}

fn operation_that_is<T: Send + 'static>(
    queued: bool,
    drops: &Drops,
    ask: impl FnOnce(Request) -> T + Send + 'static,
) -> (Operation<Value>, Arc<Mutex<Option<T>>>) {
    let place = Arc::new(Mutex::new(None));
    let asked = place.clone();
    let ask = move |request| *asked.lock().unwrap() = Some(ask(request));
    (Operation::new(drops.value(), queued, ask), place)
}

fn taken<T>(place: &Mutex<Option<T>>) -> T {
    place
        .lock()
        .unwrap()
        .take()
        .expect("the operation was polled")
}

fn kernel(request: Request) -> JoinHandle<()> {
    let kernel = thread::spawn(move || request.answer());
    others_first();
    kernel
}

/// The waiter's act after the first poll, unless that has returned the answer: returns whether it
/// has it now.
type Then = fn(&mut Operation<Value>, &[Arc<Wakes>; 2]) -> bool;

/// The kernel answers while the operation is polled for the first time, and then does something
/// else, or is dropped.
fn at_once(then: Then) {
    model_from_both_sides(move || {
        let (drops, first) = (Drops::default(), Wakes::new());
        let (mut operation, started) = operation(&drops, kernel);
        let ready = is_answered(poll(&mut operation, &first));
        let wakes = [first, Wakes::new()];
        let _ = ready || then(&mut operation, &wakes);
        drop(operation);
        taken(&started).join().unwrap();
        check(&drops, &wakes);
    });
}

fn waiting(act: impl Fn(Operation<Value>, [Arc<Wakes>; 2]) + Copy + Send + Sync + 'static) {
    model_from_both_sides(move || {
        let (drops, first) = (Drops::default(), Wakes::new());
        let (mut operation, asked) = operation(&drops, |request| request);
        assert!(!is_answered(poll(&mut operation, &first)));
        let kernel = kernel(taken(&asked));
        // The kernel sees this waker only by the word.
        let wakes = [first, Wakes::new()];
        act(operation, wakes.clone());
        kernel.join().unwrap();
        check(&drops, &wakes);
    });
}

fn later(then: Then) {
    waiting(move |mut operation, wakes| _ = then(&mut operation, &wakes));
}

fn check(drops: &Drops, wakes: &[Arc<Wakes>; 2]) {
    assert!(wakes[0].count() + wakes[1].count() <= 1);
    assert_eq!((wakes[0].wakers(), wakes[1].wakers()), (0, 0));
    drops.assert_all_of(1);
}

fn leave(_: &mut Operation<Value>, _: &[Arc<Wakes>; 2]) -> bool {
    false
}

fn poll_again(operation: &mut Operation<Value>, wakes: &[Arc<Wakes>; 2]) -> bool {
    is_answered(poll(operation, &wakes[0]))
}

fn poll_with_another_waker(operation: &mut Operation<Value>, wakes: &[Arc<Wakes>; 2]) -> bool {
    is_answered(poll(operation, &wakes[1]))
}

/// A waiter that stays is woken, and has the answer then.
#[test]
fn a_waiter_is_woken_by_the_answer() {
    model_from_both_sides(|| {
        let (drops, wakes) = (Drops::default(), Wakes::new());
        let (mut operation, started) = operation(&drops, kernel);
        let ready = is_answered(poll(&mut operation, &wakes));
        taken(&started).join().unwrap();
        assert_eq!(wakes.count(), usize::from(!ready));
        assert!(ready || is_answered(poll(&mut operation, &wakes)));
        drops.assert_all_of(1);
    });
}

/// The request is queued at the first poll, which wakes the task. What comes next submits it, and
/// the kernel answers at once.
fn queued(then: Then) {
    model_from_both_sides(move || {
        let (drops, first) = (Drops::default(), Wakes::new());
        let (mut operation, started) = operation_that_is(true, &drops, kernel);
        assert!(!is_answered(poll(&mut operation, &first)));
        assert_eq!(
            (first.count(), first.wakers()),
            (1, 0),
            "it registers nothing"
        );
        assert!(started.lock().unwrap().is_none());
        let wakes = [Wakes::new(), Wakes::new()];
        then(&mut operation, &wakes);
        drop(operation);
        taken(&started).join().unwrap();
        check(&drops, &wakes);
    });
}

/// The kernel's side takes one read-modify-write, whatever the future does. An operation that is
/// answered before its first poll returns takes no other one.
#[test]
fn an_answer_takes_one_read_modify_write() {
    model_from_both_sides(|| {
        let (drops, wakes) = (Drops::default(), Wakes::new());
        let (mut waits, asked) = operation(&drops, |request| request);
        assert_eq!(
            rmws_of(|| drop(poll(&mut waits, &wakes))),
            1,
            "it registers"
        );
        let request = taken(&asked);
        assert_eq!(rmws_of(|| request.answer()), 1);
        assert_eq!(
            rmws_of(|| assert!(is_answered(poll(&mut waits, &wakes)))),
            0
        );

        let (mut leaves, asked) = operation(&drops, |request| request);
        assert!(poll(&mut leaves, &wakes).is_pending());
        assert_eq!(rmws_of(|| drop(leaves)), 1, "it detaches");
        let request = taken(&asked);
        assert_eq!(rmws_of(|| request.answer()), 1);

        let (mut ready, _) = operation(&drops, Request::answer);
        assert_eq!(
            rmws_of(|| assert!(is_answered(poll(&mut ready, &wakes)))),
            1
        );
        drops.assert_all_of(3);
    });
}

/// A ring's gate, and its queue.
struct Queue(Gate, Mark);

impl Queue {
    fn push(&self) {
        if let Ok(_inside) = self.0.enter() {
            self.1.write();
        }
    }

    /// Wakes the server. Returns whether it takes the requests back now.
    fn wake(&self) -> bool {
        let error = self.0.given_back();
        if let Some(error) = error {
            assert_eq!(error, 1, "the first error stays");
            self.1.read();
        }
        error.is_some()
    }
}

/// The kernel refuses while the ring's own thread puts a request into the queue. The server reads
/// the queue once that thread is outside, in one of the two wake-ups or in both.
#[test]
fn a_refused_queue_is_taken_back_when_nobody_is_inside() {
    model_from_both_sides(|| {
        let queue = Arc::new(Queue(Gate::new(), Mark::named("queue")));
        let refused = queue.clone();
        let refused = thread::spawn(move || {
            refused.0.shut(1);
            refused.0.shut(2);
            refused.wake()
        });
        others_first();
        queue.push();
        let is_taken_back = queue.wake();
        assert!(refused.join().unwrap() || is_taken_back);
    });
}

/// The server asks for the bell while the kernel answers.
#[test]
fn an_answer_is_seen_or_rings_the_bell() {
    model_from_both_sides(|| {
        let answer = Arc::new(AtomicUsize::new(0));
        let bell = Arc::new(AtomicUsize::new(0));
        let (answers, rings) = (answer.clone(), bell.clone());
        let kernel = thread::spawn(move || {
            answers.store(1, Relaxed);
            fence(SeqCst);
            rings.load(Relaxed) == 1
        });
        let is_seen = asked(|| bell.store(1, Relaxed), || answer.load(Relaxed) == 1);
        assert!(kernel.join().unwrap() || is_seen);
    });
}

models! {
    an_answer_at_once_against_a_drop: at_once(leave);
    an_answer_at_once_against_a_poll_again: at_once(poll_again);
    an_answer_against_a_drop: later(leave);
    an_answer_against_a_poll_again: later(poll_again);
    an_answer_against_a_poll_with_another_waker: later(poll_with_another_waker);
    an_answer_to_a_queued_request_against_its_poll: queued(poll_again);
    an_answer_to_a_queued_request_against_its_drop: queued(leave);
}
