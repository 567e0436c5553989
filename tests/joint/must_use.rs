//! A value that does something when it is dropped warns whoever drops it without a word:
//! `unused_must_use` is expected here, and it is an error when it does not come.
#![deny(unfulfilled_lint_expectations)]

use joint::completion;

use crate::prelude::*;

/// Gives what it is given: its result is unused as that of any call.
fn take<T>(value: T) -> T {
    value
}

#[test]
fn values_with_effects_on_drop_are_must_use() {
    let (runnable, handle) = task::spawn(async {}, |_| {});
    #[expect(unused_must_use, reason = "cancels the task")]
    take::<task::Runnable>(runnable);
    #[expect(unused_must_use, reason = "cancels the task")]
    take::<task::JoinHandle<()>>(handle);

    let (sender, receiver) = oneshot::channel();
    #[expect(unused_must_use, reason = "closes the channel")]
    take::<oneshot::Receiver<()>>(receiver);
    #[expect(unused_must_use, reason = "tells the receiver")]
    take::<oneshot::Sender<()>>(sender);
    #[expect(unused_must_use, reason = "drops both ends")]
    oneshot::channel::<()>();

    let mut word = Completion::new();
    let (completer, waiter) = word.split();
    #[expect(unused_must_use, reason = "detaches")]
    take::<completion::Waiter<'_>>(waiter);
    #[expect(unused_must_use, reason = "abandons")]
    take::<completion::Completer<'_>>(completer);
    #[expect(unused_must_use, reason = "drops both sides")]
    word.split();
}
