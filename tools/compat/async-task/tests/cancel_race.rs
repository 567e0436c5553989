//! `cancel` on one thread against the run that makes the task ready on another: whichever comes
//! first, each value is dropped once.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

static FUTURES: AtomicUsize = AtomicUsize::new(0);
static OUTPUTS: AtomicUsize = AtomicUsize::new(0);

struct Counted(&'static AtomicUsize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_run_against_a_cancel() {
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    let barrier = Barrier::new(2);
    let polls = AtomicUsize::new(0);
    for round in 1..=rounds {
        let (future, polled) = (Counted(&FUTURES), &polls);
        let future = async move {
            let _future = future;
            polled.fetch_add(1, SeqCst);
            Counted(&OUTPUTS)
        };
        // SAFETY: everything may be sent and shared. The runnable and the handle are gone at the
        // end of the round, before `polls`, and there is no waker.
        let (runnable, task) = unsafe { async_task::spawn_unchecked(future, drop) };
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                runnable.run();
            });
            barrier.wait();
            let output = joint::block_on(task.cancel());
            assert_eq!(
                FUTURES.load(SeqCst),
                round,
                "cancelled while the future is there"
            );
            let kept = usize::from(output.is_some());
            assert_eq!(OUTPUTS.load(SeqCst) + kept, polls.load(SeqCst));
        });
        assert_eq!(OUTPUTS.load(SeqCst), polls.load(SeqCst));
    }
}
