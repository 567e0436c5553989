//! A task that panics while another thread has a waker of it: the panic is recorded in the word
//! that counts the wakers.

use std::sync::Mutex;

use joint::task::JoinError;
use loom::thread;

use crate::prelude::*;

/// Where the task's wake-ups push its runnables.
type Queue = Arc<Mutex<Vec<Runnable>>>;

/// A task that has been polled once and woken since, so that its next run panics, and a waker of
/// it. The panic has no message, because it is not the model's.
fn about_to_panic(queue: &Queue) -> (Runnable, joint::JoinHandle<()>, Waker) {
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    let future = {
        let kept = kept.clone();
        poll_fn(move |cx| {
            if kept.lock().unwrap().is_some() {
                resume_unwind(Box::new(()));
            }
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::Pending
        })
    };
    let queue = queue.clone();
    let pushed = queue.clone();
    let (runnable, handle) = task::spawn(future, move |runnable| {
        pushed.lock().unwrap().push(runnable)
    });
    runnable.run();
    let waker = kept.lock().unwrap().clone().expect("it was polled");
    waker.wake_by_ref();
    let runnable = queue.lock().unwrap().pop().expect("it was woken");
    (runnable, handle, waker)
}

fn panic_against(act: fn(Waker)) {
    model(move || {
        let queue = Queue::default();
        let (runnable, handle, waker) = about_to_panic(&queue);
        let mut result = handle.result();
        let other = thread::spawn(move || act(waker));
        runnable.run();
        let mut cx = Context::from_waker(Waker::noop());
        let ended = Pin::new(&mut result).poll(&mut cx);
        assert!(matches!(ended, Poll::Ready(Err(JoinError::Panicked(_)))));
        other.join().unwrap();
        assert!(
            queue.lock().unwrap().is_empty(),
            "a task that has ended runs no more"
        );
    });
}

#[test]
fn a_panic_against_the_last_waker() {
    panic_against(drop);
}

#[test]
fn a_panic_against_a_wake_up() {
    panic_against(Waker::wake);
}
