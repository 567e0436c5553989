//! The word in each task for an executor's own queue: queues that take no memory of their own.

use std::{
    marker::PhantomData,
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{AtomicPtr, Ordering::*},
    },
    thread,
};

use joint::{
    JoinHandle,
    task::{self, Runnable},
};

use crate::support::{Count, Dropped, pending_once, ready};

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

impl Drop for Stack {
    fn drop(&mut self) {
        self.take().for_each(drop);
    }
}

/// The tasks of a stack, the last one first.
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

/// A queue of one thread: the first, and the last.
struct Fifo<M> {
    head: *mut (),
    tail: *mut (),
    runnables: PhantomData<Runnable<M>>,
}

impl<M> Fifo<M> {
    fn new() -> Self {
        Self {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
            runnables: PhantomData,
        }
    }

    fn push(&mut self, runnable: Runnable<M>) {
        runnable.link().set(ptr::null_mut(), Relaxed);
        let raw = runnable.into_raw().as_ptr();
        match NonNull::new(self.tail) {
            None => self.head = raw,
            // SAFETY: the last one's address, which stays one until it is popped.
            Some(last) => unsafe { Runnable::<M>::raw_link(last) }.set(raw, Relaxed),
        }
        self.tail = raw;
    }

    fn pop(&mut self) -> Option<Runnable<M>> {
        let raw = NonNull::new(self.head)?;
        // SAFETY: pushed by `into_raw`, and popped once.
        let runnable: Runnable<M> = unsafe { Runnable::from_raw(raw) };
        self.head = runnable.link().get(Relaxed);
        if self.head.is_null() {
            self.tail = ptr::null_mut();
        }
        Some(runnable)
    }
}

impl<M> Drop for Fifo<M> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

fn numbered(number: u32) -> (Runnable, JoinHandle<u32>) {
    task::spawn(async move { number }, |_| {})
}

#[test]
fn a_task_starts_with_nothing_in_its_word() {
    let (runnable, handle) = numbered(0);
    assert!(runnable.link().get(Relaxed).is_null());
    let mark = ptr::without_provenance_mut(8);
    assert!(runnable.link().swap(mark, Relaxed).is_null());
    assert_eq!(runnable.link().get(Relaxed), mark);
    runnable.run();
    ready(handle);
}

#[test]
fn a_stack_gives_back_the_last_one_first() {
    let stack = Stack::default();
    let mut handles = Vec::new();
    for number in 0..4 {
        let (runnable, handle) = numbered(number);
        stack.push(runnable);
        handles.push(handle);
    }
    for runnable in stack.take() {
        let last = handles.pop().unwrap();
        assert!(!last.is_finished());
        runnable.run();
        assert!(last.is_finished());
    }
    assert!(handles.is_empty());
}

#[test]
fn a_queue_gives_back_the_first_one_first() {
    let mut queue = Fifo::<()>::new();
    for round in 0..3 {
        let handles: Vec<_> = (0..4)
            .map(|number| {
                let (runnable, handle) = numbered(number + round);
                queue.push(runnable);
                handle
            })
            .collect();
        for handle in handles {
            queue.pop().unwrap().run();
            assert!(handle.is_finished());
        }
        assert!(queue.pop().is_none());
    }
}

#[test]
fn dropping_a_queue_cancels_its_tasks() {
    let dropped = Count::new();
    let (mut queue, stack) = (Fifo::<()>::new(), Stack::default());
    for _ in 0..3 {
        for (in_stack, guard) in [false, true].map(|in_stack| (in_stack, Dropped(dropped.clone())))
        {
            let runnable = task::spawn_detached(async move { drop(guard) }, |_| {});
            match in_stack {
                true => stack.push(runnable),
                false => queue.push(runnable),
            }
        }
    }
    drop((queue, stack));
    assert_eq!(dropped.get(), 6);
}

#[test]
fn tasks_with_metadata_have_the_word_too() {
    let mut queue = Fifo::new();
    for number in 0..3u32 {
        let builder = task::Builder::new().metadata(number).name("linked");
        let (runnable, handle) = builder.spawn(|_| async {}, |_| {});
        handle.detach();
        queue.push(runnable);
    }
    for number in 0..3 {
        let runnable = queue.pop().unwrap();
        assert_eq!(runnable.metadata(), &number);
        runnable.run();
    }
}

/// Pushed by the threads that wake, and run by one that takes all.
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
