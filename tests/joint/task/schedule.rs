//! Schedule functions: what they are told, and how they are kept while they are called.

use joint::task::WithInfo;

use crate::{
    prelude::*,
    support::{each_row, yield_now},
};

/// Runnables, each with whether the task was woken while it ran.
#[derive(Clone, Default)]
struct Inbox(Arc<Mutex<Vec<(Runnable, bool)>>>);

impl Inbox {
    fn spawn<F>(&self, future: F) -> (Runnable, JoinHandle<F::Output>)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let inbox = self.0.clone();
        let schedule = WithInfo(move |runnable: Runnable, info: ScheduleInfo| {
            inbox
                .lock()
                .unwrap()
                .push((runnable, info.woken_while_running));
        });
        Builder::new().spawn(|()| future, schedule)
    }

    /// The one runnable that was scheduled, demanding that it was so for that reason.
    #[track_caller]
    fn take(&self, woken_while_running: bool) -> Runnable {
        let mut inbox = self.0.lock().unwrap();
        assert_eq!(inbox.len(), 1);
        let (runnable, woken) = inbox.remove(0);
        assert_eq!(woken, woken_while_running);
        runnable
    }
}

#[test]
fn a_schedule_function_is_told_of_a_wake_up_during_the_run() {
    let inbox = Inbox::default();
    let (runnable, handle) = inbox.spawn(yield_now());
    assert!(runnable.run());
    assert!(!inbox.take(true).run());
    ready(handle);
}

#[test]
fn a_call_from_outside_of_a_run_is_not_reported_as_within() {
    each_row(CALLS, |call| {
        let inbox = Inbox::default();
        let (runnable, handle) = inbox.spawn(pending());
        call(runnable, handle);
        assert!(!inbox.take(false).run());
    });
}

#[test]
fn a_stored_function_may_drop_its_runnable() {
    each_row(CALLS, |call| {
        let (futures, functions) = (Count::new(), Count::new());
        let captured = Dropped(functions.clone());
        let (runnable, handle) = task::spawn(guarded(&futures), move |runnable| {
            drop(runnable);
            assert_eq!(captured.0.get(), 0, "dropped while it was being called");
        });
        call(runnable, handle);
        assert_eq!((futures.get(), functions.get()), (1, 1));
    });
}

/// A function with no destructor may still have a state of its own, which a copy would lose.
#[test]
fn a_function_without_a_destructor_is_called_where_it_is() {
    static CALLS: Mutex<Vec<(usize, Runnable)>> = Mutex::new(Vec::new());
    let calls = AtomicUsize::new(0);
    let schedule = move |runnable| {
        let call = calls.fetch_add(1, Relaxed);
        CALLS.lock().unwrap().push((call, runnable));
    };
    let (runnable, handle) = task::spawn(pending_once(), schedule);
    runnable.schedule();
    for expected in 0..3 {
        let (call, runnable) = CALLS.lock().unwrap().pop().unwrap();
        assert_eq!(call, expected);
        runnable.schedule();
    }
    let (_, runnable) = CALLS.lock().unwrap().pop().unwrap();
    let waker = runnable.waker();
    runnable.run();
    waker.wake();
    let (call, runnable) = CALLS.lock().unwrap().pop().unwrap();
    assert_eq!(call, 4);
    runnable.run();
    ready(handle);
}
