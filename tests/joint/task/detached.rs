//! Tasks without a handle: spawned so, or detached.

use crate::{prelude::*, support::each_row};

/// Whether the task is spawned without a handle, or loses it before its first run.
const WAYS: [(&str, bool); 2] = [("spawned so", true), ("detached", false)];

fn spawn<F>(is_spawned_so: bool, future: F, queue: &Queue) -> Runnable
where
    F: Future<Output: Send> + Send + 'static,
{
    if is_spawned_so {
        return task::spawn_detached(future, queue.scheduler());
    }
    let (runnable, handle) = queue.spawn(future);
    handle.detach();
    runnable
}

#[test]
fn its_last_waker_schedules_the_orphan_once() {
    each_row(WAYS, |way| {
        for is_run in [false, true] {
            let (queue, dropped) = (Queue::new(), Count::new());
            let runnable = spawn(way, guarded(&dropped), &queue);
            let waker = runnable.waker();
            runnable.run();
            drop(waker);
            assert_eq!(
                (queue.len(), dropped.get()),
                (1, 0),
                "its executor drops it"
            );
            match is_run {
                true => assert_eq!(queue.run(), 1),
                false => drop(queue.pop()),
            }
            assert_eq!((queue.len(), dropped.get(), queue.tasks()), (0, 1, 0));
        }
    });
}

#[test]
fn an_output_that_is_not_sent_stays_with_the_run() {
    let future = async { std::rc::Rc::new(7) };
    task::spawn_detached(future, |_| {}).run();
}
