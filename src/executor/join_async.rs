//! [`join_async`]: two futures, of which one becomes a task if somebody is idle.

use core::{
    future::{Future, poll_fn},
    panic::Location,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use super::worker::{current, launch::new_task};

/// Awaits two futures, and forks only if somebody is idle.
///
/// When it is first polled, and a worker of the executor has nothing to run, `b` becomes a task, which that worker can take.
/// Otherwise, and outside of an executor, both are polled in place, by the task that awaits this: in turn, so that neither
/// is always first, and none again once it is ready. That takes no allocation.
///
/// As a task, `b` sees no [`TaskLocal`](crate::TaskLocal) value of the caller's: if it needs one,
/// wrap it in [`carry`](crate::TaskLocal::carry).
///
/// # Cancellation
/// Dropping it drops `a`, and drops or cancels `b`.
///
/// # Panics
/// With the panic of either, as soon as it is polled or awaited here; the other is then dropped or cancelled with this.
///
/// # Example
/// ```
/// let both = joint::join_async(async { 1 }, async { "one" });
/// assert_eq!(joint::block_on(both), (1, "one"));
/// ```
#[track_caller]
pub fn join_async<A, B>(a: A, b: B) -> impl Future<Output = (A::Output, B::Output)>
where
    A: Future,
    B: Future + Send + 'static,
    B::Output: Send + 'static,
{
    let spawned = Location::caller();
    async move {
        let forked = current::with_current(|local| match local {
            Some(local) if local.is_anybody_idle() => {
                let (runnable, handle) = new_task(spawned, b);
                local.launch(runnable);
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
