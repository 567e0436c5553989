//! The server of a ring: the task that takes the kernel's answers.
//!
//! Its schedule function runs it at once, on the thread that wakes it. If it is running already, it
//! runs once more afterwards. So whoever has an answer to be taken wakes it, and goes on.
//!
//! It waits for the ring's bell in the reactor of an executor. An answer that arrives later
//! than the request is therefore taken by a worker that looks at the reactor, also by one whose
//! poll blocks. If that executor ends, or the ring's own thread does, the server cancels what is
//! under way, waits until the kernel has given back every block, and ends. If the kernel has
//! refused requests, the server ends after the last answer. The thread's next operation makes a new
//! ring.
//!
//! The end waits only for what the kernel has, and only if the kernel cancels it. Otherwise the
//! requests stay under way, and the server goes on.

use core::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::pin,
    ptr::{self, NonNull},
    task::{Context, Poll, Waker},
};
use std::{
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Wake,
};

use joint::{
    budget,
    task::{self, Polled, Runnable},
};
use joint_executor::io::{AsyncFd, Interest};
use joint_switch::{AtomicUsize, order};

use crate::{
    block::{self, Head},
    queues::{Answers, Queues},
};

/// How long a ring that ends waits at a time for the kernel, in nanoseconds.
const PAUSE: u32 = 10_000_000;

/// Starts the server of a ring, and returns its waker.
///
/// # Errors
/// Those of [`AsyncFd::with_interest`].
pub(crate) fn start(queues: Arc<Queues>) -> io::Result<Waker> {
    let fd = AsyncFd::with_interest(queues.clone(), Interest::READABLE)?;
    let runnable = task::spawn_detached(serve(queues, fd), run_here);
    let waker = runnable.waker();
    run_here(runnable);
    Ok(waker)
}

/// Runs the server until it waits.
fn run_here(runnable: Runnable) {
    let _outer = budget::save();
    let mut next = Some(runnable);
    while let Some(runnable) = next.take() {
        budget::refill();
        match runnable.poll() {
            Polled::Pending => {}
            Polled::Woken(runnable) => next = Some(runnable),
            Polled::Ended(waiter) => waiter.into_iter().for_each(|waiter| waiter.wake()),
        }
    }
}

async fn serve(queues: Arc<Queues>, fd: AsyncFd<Arc<Queues>>) {
    // SAFETY: this is the one server of the ring, and takes them once.
    let mut answers = unsafe { queues.answers() };
    let mut watched = Some(fd);
    loop {
        match watched.take() {
            Some(fd) => watch(&queues, &mut answers, &fd).await,
            None => woken().await,
        }
        if answers.are_over() || answers.take_last(PAUSE, deliver) {
            return;
        }
        // The executor has ended, and the kernel refuses to cancel. Another executor may watch;
        // this panics if there is none.
        let again = || AsyncFd::with_interest(queues.clone(), Interest::READABLE).ok();
        watched = catch_unwind(AssertUnwindSafe(again)).unwrap_or_default();
    }
}

/// Waits for a wake-up.
async fn woken() {
    let mut waits = true;
    poll_fn(|_| match mem::take(&mut waits) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    })
    .await;
}

/// Takes answers until the last one of a ring whose gate is shut, or until nobody watches the
/// descriptor any more.
async fn watch(queues: &Queues, answers: &mut Answers<'_>, fd: &AsyncFd<Arc<Queues>>) {
    // It reads nothing, and so waits for one event after the other.
    let would_block = |_: &_| Err::<Infallible, _>(io::ErrorKind::WouldBlock.into());
    let mut events = pin!(fd.read_with(would_block));
    let mut event = None;
    poll_fn(|cx| {
        let event = event.get_or_insert_with(|| Arc::new(Event::new(cx.waker().clone())));
        loop {
            answers.take_all(deliver);
            let is_over = answers.are_over();
            if is_over || queues.gate.is_closing() && answers.take_last(PAUSE, deliver) {
                return Poll::Ready(());
            }
            if !event.take() {
                match answers.watch() {
                    true => continue,
                    false => return Poll::Pending,
                }
            }
            // The wait begins before the next look at the answers, so none is missed. A wake-up by
            // a thread that has just entered the kernel does not come here.
            let waker = Waker::from(event.clone());
            if events
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                return Poll::Ready(());
            }
        }
    })
    .await;
}

/// The waker with which the server waits for its descriptor. It tells an event from other wake-ups.
struct Event {
    /// 1 if the server does not wait for the descriptor.
    happened: AtomicUsize,
    server: Waker,
}

impl Event {
    /// An event that has happened, because the server does not wait yet.
    fn new(server: Waker) -> Self {
        let happened = AtomicUsize::new(1);
        Self { happened, server }
    }

    /// Returns whether there was an event since the last call.
    fn take(&self) -> bool {
        // ORDERING: event_look. Relaxed: the wake-up makes the edge.
        let happened = self.happened.load(order!(event_look: Relaxed)) == 1;
        if happened {
            // ORDERING: event_taken. Relaxed: only the server looks. The next event can happen only
            // once the server waits for it, after this.
            self.happened.store(0, order!(event_taken: Relaxed));
        }
        happened
    }
}

impl Wake for Event {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: event. Relaxed: published by the wake-up.
        self.happened.store(1, order!(event: Relaxed));
        self.server.wake_by_ref();
    }
}

/// Completes the block that an answer is for.
fn deliver(address: u64, answer: i32) {
    let head = ptr::with_exposed_provenance_mut::<Head>(address as usize);
    let deliver = || {
        let head = NonNull::new(head).expect("a request has the address of its block");
        // SAFETY: the kernel has this address from a request, and answers it once.
        unsafe { block::answer(head, answer) };
    };
    // Wakers and drops are code of strangers. The panic hook has reported the panic already, and
    // the other answers must not be lost.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(deliver)) {
        mem::forget(payload);
    }
}
