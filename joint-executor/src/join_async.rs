//! [`join_async`]: awaits two futures, one of which becomes a task if a worker is idle.

use core::{
    future::{Future, poll_fn},
    panic::Location,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use super::worker::{current, launch::new_task};

/// Awaits two futures, and forks only if a worker is idle.
///
/// If a worker of the executor has nothing to run when this is first polled, `b` becomes a task
/// that the idle worker can take. Otherwise, and outside an executor, the task that awaits this
/// polls both futures in place, without an allocation. It alternates, so that neither future is
/// always polled first, and it does not poll a future again once that is ready.
///
/// As a task, `b` sees no [`TaskLocal`](crate::TaskLocal) value of the caller. If it needs one,
/// wrap it in [`carry`](crate::TaskLocal::carry).
///
/// # Cancellation
/// Dropping the future drops `a`, and drops or cancels `b`.
///
/// # Panics
/// With the panic of either future, as soon as that future is polled or awaited here. The other
/// future is then dropped or cancelled together with this one.
///
/// # Example
/// ```
/// let both = joint_executor::join_async(async { 1 }, async { "one" });
/// assert_eq!(joint_executor::block_on(both), (1, "one"));
/// ```
///
/// There is no macro for it. The compiler's error for `join!` leads here:
/// ```compile_fail
/// let both = joint_executor::join!(async { 1 }, async { "one" });
/// ```
#[track_caller]
pub fn join_async<A, B>(a: A, b: B) -> impl Future<Output = (A::Output, B::Output)>
where
    A: Future,
    B: Future<Output: Send + 'static> + Send + 'static,
{
    let spawned = Location::caller();
    async move {
        let forked = current::with_current(|worker| match worker {
            Some(worker) if worker.is_anybody_idle() => {
                let (runnable, handle) = new_task(spawned, b);
                worker.launch(runnable);
                Ok(handle)
            }
            _ => Err(b),
        });
        match forked {
            Ok(handle) => in_place(a, handle).await,
            Err(b) => in_place(a, b).await,
        }
    }
}

async fn in_place<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    let mut b_is_first = false;
    poll_fn(|cx| {
        if b_is_first {
            poll_side(b.as_mut(), &mut of_b, cx);
            poll_side(a.as_mut(), &mut of_a, cx);
        } else {
            poll_side(a.as_mut(), &mut of_a, cx);
            poll_side(b.as_mut(), &mut of_b, cx);
        }
        b_is_first = !b_is_first;
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => return Poll::Ready((a, b)),
            left => (of_a, of_b) = left,
        }
        Poll::Pending
    })
    .await
}

fn poll_side<F: Future>(side: Pin<&mut F>, output: &mut Option<F::Output>, cx: &mut Context<'_>) {
    if output.is_none() {
        if let Poll::Ready(ready) = side.poll(cx) {
            *output = Some(ready);
        }
    }
}
