//! Helpers of the combinators' models: channels whose senders end in threads of their own.

use joint::oneshot::Sender;
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

/// Sends a value, which is a success, or drops the sender, which is a failure. If the receiver has
/// lost, the value comes back.
pub(crate) fn end(sender: Sender<Value>, succeeds: bool, drops: &Drops) -> Thread<()> {
    let drops = drops.clone();
    thread::spawn(move || {
        if succeeds {
            drop(sender.send(drops.value()));
        }
    })
}

pub(crate) fn end_all(
    senders: impl IntoIterator<Item = Sender<Value>>,
    succeed: [bool; 2],
    drops: &Drops,
) -> Vec<Thread<()>> {
    let ends = senders.into_iter().zip(succeed);
    ends.map(|(sender, succeeds)| end(sender, succeeds, drops))
        .collect()
}

/// Polls while the threads run. If it is pending, it must be woken, and be ready after that.
pub(crate) fn drain<F: Future>(future: F, threads: Vec<Thread<()>>) -> F::Output {
    let mut future = Box::pin(future);
    let wakes = Wakes::new();
    let mut polled = poll(&mut future, &wakes);
    join_all(threads);
    if polled.is_pending() {
        assert!(wakes.count() > 0, "a decision without a wake-up");
        polled = poll(&mut future, &Wakes::new());
    }
    drop(future);
    assert_eq!(wakes.wakers(), 0);
    match polled {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("all have ended, and nothing is decided"),
    }
}
