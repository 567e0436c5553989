//! Blocking waits on the only worker, while tasks of its own are queued.

use joint::park::block_on_timeout;

use crate::prelude::*;

fn one_worker() -> Executor {
    Executor::builder().workers(1).build().unwrap()
}

#[test]
fn waits_that_another_thread_or_a_deadline_ends_go_on() {
    let executor = one_worker();
    let (begin, begun) = mpsc::channel::<oneshot::Sender<()>>();
    let task = executor.spawn(async move {
        // Its child is queued, but it does not wait for that.
        let child = spawn(async {});
        let (sender, receiver) = oneshot::channel();
        begin.send(sender).unwrap();
        block_on(receiver).unwrap();
        // It waits for either.
        let mut child = child;
        let (sender, receiver) = oneshot::channel();
        begin.send(sender).unwrap();
        let mut receiver = pin!(receiver);
        block_on(poll_fn(|cx| {
            let child = poll_with(&mut child, cx.waker());
            let receiver = poll_with(&mut receiver, cx.waker());
            match child.is_ready() || receiver.is_ready() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        assert!(block_on_timeout(&mut child, MILLI).is_none());
        child.await;
    });
    for _ in 0..2 {
        begun.recv().unwrap().send(()).unwrap();
    }
    block_on(task);
}
