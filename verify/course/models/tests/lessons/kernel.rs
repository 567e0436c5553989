//! Lesson 11: a completer that cannot be asked to leave.

use std::{cell::Cell, sync::Arc};

use lessons::{
    Counterexample,
    cell::UnsafeCell,
    name_thread, spawn,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use crate::{
    exercise::{Verdict, demand, exercise, the_model},
    join::passes,
};

/// The kernel has the buffer.
const IN_FLIGHT: usize = 0;
/// The kernel has given the buffer back.
const DONE: usize = 1;
/// The future was dropped.
const LEFT: usize = 2;

/// A read that the kernel was asked for. The future, the kernel and the driver have its address.
struct Operation {
    state: AtomicUsize,
    buffer: UnsafeCell<u8>,
    frees: Cell<usize>,
}

type Shared = *mut Operation;

impl Operation {
    fn allocate() -> Shared {
        Box::into_raw(Box::new(Self {
            state: AtomicUsize::new(IN_FLIGHT).named("state"),
            buffer: UnsafeCell::new(0).named("buffer"),
            frees: Cell::new(0),
        }))
    }
}

/// Gives the memory back.
///
/// # Safety
/// Nobody else uses the operation any more.
unsafe fn free(operation: Shared) {
    // SAFETY: the caller is the last to use it.
    let operation = unsafe { &mut *operation };
    operation.frees.set(operation.frees.get() + 1);
    operation.state.with_mut(|_| ());
    operation.buffer.with_mut(|_| ());
    // The memory itself is kept, so that a wrong model can still be run.
}

/// The operation exists until one side has freed it.
fn state<'a>(operation: Shared) -> &'a AtomicUsize {
    // SAFETY: the memory itself is kept.
    unsafe { &(*operation).state }
}

/// What the program and the kernel share.
struct Ring {
    cancelled: AtomicBool,
    /// How many answers the kernel has given.
    tail: AtomicUsize,
}

impl Ring {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            cancelled: AtomicBool::new(false).named("cancelled"),
            tail: AtomicUsize::new(0).named("tail"),
        })
    }

    /// The kernel's side, which nobody can change. It knows nothing of the state.
    fn kernel(&self, operation: Shared) {
        if !self.cancelled.load(Ordering::Relaxed) {
            // SAFETY: the program keeps the buffer until it has the answer.
            unsafe { &(*operation).buffer }.with_mut(|_| ());
        }
        self.tail.store(1, Ordering::Release);
    }

    /// Asks the kernel not to begin.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The driver's side: gives the kernel's answer to the operation.
    fn drive(&self, operation: Shared, answer: Answer) {
        while self.tail.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        answer(operation);
    }
}

// The exercise: the driver has the kernel's answer, and the future is dropped.

fn answer(operation: Shared) {
    let state = state(operation);
    state.store(DONE, Ordering::Release);
}

fn leave(operation: Shared, ring: &Ring) {
    ring.cancel();
    // SAFETY: the kernel was asked to stop.
    unsafe { free(operation) };
}

type Answer = fn(Shared);
type Leave = fn(Shared, &Ring);

/// Looks once, as a poll does, and then leaves. Returns how often the operation was freed.
fn check(answer: Answer, leave: Leave) -> usize {
    name_thread("future");
    let (operation, ring) = (Operation::allocate(), Ring::new());
    let (kernels, drivers) = (ring.clone(), ring.clone());
    let kernel = spawn("kernel", move || kernels.kernel(operation));
    let driver = spawn("driver", move || drivers.drive(operation, answer));
    // SAFETY: the future has not left.
    let shared = unsafe { &*operation };
    if shared.state.load(Ordering::Acquire) == DONE {
        shared.buffer.with(|_| ());
    }
    leave(operation, &ring);
    kernel.join().unwrap();
    driver.join().unwrap();
    // SAFETY: all have ended, and the memory is kept.
    unsafe { &*operation }.frees.get()
}

/// With a driver that does not touch the operation, so that only the kernel is in the way.
pub(crate) fn cancelled_and_freed() {
    check(|_| (), leave);
}

/// The kernel alone is right: whoever waits for its answer may use the buffer.
#[test]
fn the_answer_gives_the_buffer_back() {
    passes(|| {
        let (operation, ring) = (Operation::allocate(), Ring::new());
        let kernels = ring.clone();
        thread::spawn(move || kernels.kernel(operation));
        // SAFETY: the kernel has answered.
        ring.drive(operation, |operation| unsafe { free(operation) });
    });
}

fn judge(answer: Answer, leave: Leave) -> Verdict {
    the_model(
        "the operation is freed while the kernel or the future still uses it",
        Counterexample::is_race,
        move || {
            check(answer, leave);
        },
    )?;
    demand(
        "in one of the orders nobody frees the operation, or both sides do",
        move || assert_eq!(check(answer, leave), 1),
    )?;
    demand(
        "a future that is dropped must not wait for the kernel, which may take forever",
        move || leave(Operation::allocate(), &Ring::new()),
    )?;
    demand(
        "the driver must not wait for the future: other answers are waiting",
        move || answer(Operation::allocate()),
    )
}

#[test]
fn exercise_11() {
    exercise(11, || judge(answer, leave));
}

#[path = "solutions/kernel.rs"]
mod solution;
