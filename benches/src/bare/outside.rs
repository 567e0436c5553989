//! The floor of the rows with several workers: what is spawned inside stays on its thread, and one
//! other thread runs what is spawned outside.

use std::{
    future::Future,
    hint::spin_loop,
    ptr::{NonNull, null_mut},
    sync::{
        OnceLock,
        atomic::{
            AtomicBool, AtomicPtr,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
    thread::{self, Thread},
};

use super::{
    ring,
    task::{Handle, Head, Runnable, spawn_as, spawn_detached},
};
use crate::runtime::{Pool, Runtime};

/// How often the thread looks before it sleeps: some hundred microseconds.
const LOOKS: usize = 200;
/// How long it waits between two looks: about a microsecond.
const PAUSE: usize = 16;

/// The end of a task is one exchange, and so is spawning one outside. Tasks that are spawned inside
/// run on the thread that calls [`run`](Runtime::run), because each is shorter than its way to
/// another processor. All pools are the same.
pub struct BarePool {
    thread: OnceLock<Thread>,
    is_asleep: AtomicBool,
    /// The task that arrived last, or [`LINK`].
    newest: AtomicPtr<Head>,
}

/// Where the queue continues when it has run empty.
static LINK: Head = Head::link();

static POOL: BarePool = BarePool {
    thread: OnceLock::new(),
    is_asleep: AtomicBool::new(false),
    newest: AtomicPtr::new(LINK_ADDRESS),
};

/// Only the atomic in it is written.
const LINK_ADDRESS: *mut Head = (&raw const LINK).cast_mut();

impl Pool for BarePool {
    fn start(_: usize) -> &'static Self {
        POOL.thread
            .get_or_init(|| thread::spawn(|| POOL.work()).thread().clone());
        &POOL
    }
}

/// Returns what follows a task, or the link, in the queue.
fn next(task: NonNull<Head>) -> Option<NonNull<Head>> {
    // SAFETY: it is in the queue, and thus has not run.
    NonNull::new(unsafe { task.as_ref() }.next.load(Acquire))
}

impl BarePool {
    fn work(&self) {
        let mut oldest = NonNull::from(&LINK);
        loop {
            let mut looks = 0;
            let runnable = loop {
                if let Some(runnable) = self.pop(&mut oldest) {
                    break runnable;
                }
                looks += 1;
                if looks > LOOKS {
                    self.sleep();
                }
                // Each look takes the line of the queue from the thread that spawns.
                (0..PAUSE).for_each(|_| spin_loop());
            };
            runnable.run();
            while let Some(runnable) = ring::pop() {
                runnable.run();
            }
        }
    }

    /// Takes the oldest task. This is Vyukov's intrusive queue for one consumer, which returns
    /// `None` too while a task is being linked.
    fn pop(&self, oldest: &mut NonNull<Head>) -> Option<Runnable> {
        if oldest.as_ptr() == LINK_ADDRESS {
            *oldest = next(*oldest)?;
        }
        let task = *oldest;
        if next(task).is_none() {
            if self.newest.load(Acquire) != task.as_ptr() {
                return None;
            }
            self.link(NonNull::from(&LINK));
        }
        *oldest = next(task)?;
        Some(Runnable(task))
    }

    fn link(&self, task: NonNull<Head>) {
        // SAFETY: it is not in the queue yet.
        unsafe { task.as_ref() }.next.store(null_mut(), Relaxed);
        let last = NonNull::new(self.newest.swap(task.as_ptr(), SeqCst));
        let last = last.expect("a task or the link");
        // SAFETY: it does not run before something follows it.
        unsafe { last.as_ref() }.next.store(task.as_ptr(), Release);
    }

    fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == LINK_ADDRESS
    }

    /// Either this thread sees the task, or the one that pushes it sees that this thread sleeps.
    fn sleep(&self) {
        self.is_asleep.swap(true, SeqCst);
        while self.is_empty() && self.is_asleep.load(SeqCst) {
            thread::park();
        }
        self.is_asleep.store(false, Relaxed);
    }

    fn push(&self, runnable: Runnable) {
        self.link(runnable.0);
        if self.is_asleep.load(SeqCst) && self.is_asleep.swap(false, SeqCst) {
            self.thread.get().expect("it was started").unpark();
        }
    }
}

impl Runtime for BarePool {
    type Handle<T: Send + 'static> = Handle<T>;

    fn spawn<T, F>(&'static self, future: F) -> Handle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (runnable, handle) = spawn_as::<_, _, true>(future, ring::push);
        ring::push(runnable);
        handle
    }

    fn spawn_outside<T, F>(&'static self, future: F) -> Handle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (runnable, mut handle) = spawn_as::<_, _, true>(future, ring::push);
        handle.is_outside = true;
        self.push(runnable);
        handle
    }

    fn spawn_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        ring::push(spawn_detached(future, ring::push));
    }

    fn spawn_outside_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.push(spawn_detached(future, ring::push));
    }

    cancelled_by_drop!(Handle);

    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        super::run(self.spawn(future))
    }
}
