//! Code of the thread's host that waits for a receiver while the thread is blocked for it.
#![cfg(feature = "std")]

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    task::{Wake, Waker},
    time::Duration,
};

use joint::{
    host::{self, Host},
    park::Parker,
};
use oneshot::{Receiver, RecvError, RecvTimeoutError, channel};

const SOON: Duration = Duration::from_nanos(1);

thread_local! {
    /// What the host has yet to do, the last one first.
    static STEPS: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
    static NOTED: Cell<usize> = Cell::default();
}

/// Does the next step. Fails, and does not hang, if a wait is not over after the last one.
fn attend(_: Option<&Parker>) -> Option<Duration> {
    let step = STEPS.with_borrow_mut(Vec::pop);
    step.expect("the wait is over")();
    Some(SOON)
}

fn as_host<R>(change: impl FnOnce(&mut Host), f: impl FnOnce() -> R) -> R {
    let before = host::update(change);
    let result = f();
    host::set(before);
    result
}

/// Waits for a receiver. Meanwhile the host does the first step, which is given the receiver, and
/// then sends.
fn beside(step: impl FnOnce(&Receiver<Box<u8>>) + 'static) -> Result<Box<u8>, RecvError> {
    let (sender, receiver) = channel();
    let receiver = Rc::new(receiver);
    let own = receiver.clone();
    let send = Box::new(|| sender.send(Box::new(5)).unwrap());
    STEPS.set(vec![send, Box::new(move || step(&own))]);
    as_host(|host| host.attend = Some(attend), || receiver.recv_ref())
}

#[test]
fn a_wait_that_another_one_has_replaced_is_woken() {
    let timed_out = beside(|receiver| {
        let wait = || receiver.recv_timeout(SOON);
        let inner = as_host(|host| host.attend = None, wait);
        assert_eq!(inner, Err(RecvTimeoutError::Timeout));
    });
    assert_eq!(timed_out, Ok(Box::new(5)));
    let received = beside(|receiver| assert_eq!(receiver.recv_ref(), Ok(Box::new(5))));
    assert_eq!(received, Err(RecvError));
}

/// A waker of the host's, which lies in the memory of the channel.
struct Noted(Waker);

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        NOTED.set(NOTED.get() - 1);
    }
}

#[test]
fn a_wait_within_a_wait_takes_the_place_of_the_waker() {
    let (sender, receiver) = channel();
    let receiver = Rc::new(receiver);
    let own = receiver.clone();
    STEPS.set(vec![Box::new(move || {
        assert_eq!(own.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
    })]);
    let noted = |waker, _: &'static str| {
        NOTED.set(NOTED.get() + 1);
        let step = STEPS.with_borrow_mut(Vec::pop);
        step.into_iter().for_each(|step| step());
        Waker::from(Arc::new(Noted(waker)))
    };
    let wait = || receiver.recv_timeout(SOON);
    let timed_out = as_host(|host| host.on_wait = Some(noted), wait);
    assert_eq!(timed_out, Err(RecvTimeoutError::Timeout));
    assert_eq!(NOTED.get(), 1, "the one that is registered");
    sender.send(5).unwrap();
    assert_eq!((receiver.try_recv(), NOTED.get()), (Ok(5), 0));
}
