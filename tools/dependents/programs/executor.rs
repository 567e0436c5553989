//! An executor built on `joint` alone.

use joint::task::{self, JoinHandle, Runnable};
use std::{
    collections::VecDeque,
    future::Future,
    sync::{Arc, Condvar, Mutex},
    thread,
};

#[derive(Default)]
struct Queue {
    /// The tasks that are due, until the queue is closed.
    due: Mutex<(VecDeque<Runnable>, bool)>,
    changed: Condvar,
}

impl Queue {
    fn push(&self, runnable: Runnable) {
        self.due.lock().unwrap().0.push_back(runnable);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.due.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Runs tasks until the queue is empty and closed.
    fn run(&self) {
        loop {
            let due = self.due.lock().unwrap();
            let waits = |due: &mut (VecDeque<Runnable>, bool)| due.0.is_empty() && !due.1;
            let runnable = self.changed.wait_while(due, waits).unwrap().0.pop_front();
            match runnable {
                Some(runnable) => drop(runnable.run()),
                None => return,
            }
        }
    }
}

fn spawn<F>(queue: &Arc<Queue>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let schedule = {
        let queue = queue.clone();
        move |runnable| queue.push(runnable)
    };
    let (runnable, handle) = task::spawn(future, schedule);
    runnable.schedule();
    handle
}

fn main() {
    let queue = Arc::new(Queue::default());
    let threads = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || queue.run())
    });
    // The first task has the first thread until the second one has run on the other.
    let (sender, receiver) = joint::oneshot::channel();
    let first = spawn(&queue, async move {
        let second = receiver.blocking_recv().expect("the second task sends");
        (thread::current().id(), second)
    });
    let second = spawn(&queue, async move { sender.send(thread::current().id()).is_ok() });
    let both = spawn(&queue, async move { (first.await, second.await) });
    let ((one, other), is_sent) = joint::block_on(both);
    assert!(one != other && is_sent);
    queue.close();
    for thread in threads {
        thread.join().expect("no task has panicked");
    }
    println!("joint: two threads have joined each other's tasks");
}
