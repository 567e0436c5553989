//! The word in each task for an executor's own queue: a stack that takes no memory of its own. A
//! queue by it is in the example `microcontroller`.

use std::sync::atomic::{AtomicPtr, Ordering::*};

use crate::prelude::*;

/// A stack that any thread may push to, and that is taken as a whole.
#[derive(Default)]
struct Stack(AtomicPtr<()>);

impl Stack {
    fn push(&self, runnable: Runnable) {
        let raw = runnable.into_raw();
        // SAFETY: the address is of the runnable above, and nobody else has it yet.
        let link = unsafe { Runnable::<()>::raw_link(raw) };
        let mut top = self.0.load(Relaxed);
        loop {
            link.set(top, Relaxed);
            match self
                .0
                .compare_exchange_weak(top, raw.as_ptr(), Release, Relaxed)
            {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn take(&self) -> Taken {
        Taken(self.0.swap(ptr::null_mut(), Acquire))
    }
}

struct Taken(*mut ());

impl Iterator for Taken {
    type Item = Runnable;

    fn next(&mut self) -> Option<Runnable> {
        let raw = NonNull::new(self.0)?;
        // SAFETY: pushed by `into_raw`, and taken from the stack once.
        let runnable: Runnable = unsafe { Runnable::from_raw(raw) };
        self.0 = runnable.link().get(Relaxed);
        Some(runnable)
    }
}

#[test]
fn a_task_starts_with_nothing_in_its_word() {
    let (runnable, handle) = task::spawn(async {}, |_| {});
    assert!(runnable.link().get(Relaxed).is_null());
    let mark = ptr::without_provenance_mut(8);
    assert!(runnable.link().swap(mark, Relaxed).is_null());
    assert_eq!(runnable.link().get(Relaxed), mark);
    runnable.run();
    ready(handle);
}

#[test]
fn every_task_that_threads_push_at_once_is_run() {
    let tasks = if cfg!(miri) { 8 } else { 1_000 };
    let stack = Arc::new(Stack::default());
    let mut handles = Vec::new();
    let mut wakers = [const { Vec::new() }; 3];
    for number in 0..tasks {
        let onto = stack.clone();
        let future = async move {
            pending_once().await;
            number
        };
        let (runnable, handle) = task::spawn(future, move |runnable| onto.push(runnable));
        wakers[number % 3].push(runnable.waker());
        runnable.run();
        handles.push(handle);
    }
    thread::scope(|s| {
        for wakers in wakers {
            s.spawn(|| wakers.into_iter().for_each(|waker| waker.wake()));
        }
        let mut runs = 0;
        while runs < tasks {
            runs += stack.take().map(Runnable::run).count();
            thread::yield_now();
        }
    });
    for (number, handle) in handles.into_iter().enumerate() {
        assert_eq!(ready(handle), number);
    }
    assert_eq!(Arc::strong_count(&stack), 1);
}
