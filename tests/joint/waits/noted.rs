//! `Host::on_wait`: which waits are noted, and for how long.

use std::task::Wake;

use crate::prelude::*;

static WAITS: AtomicUsize = AtomicUsize::new(0);

/// A wait, from its poll until it is woken or dropped.
struct Wait {
    of: &'static str,
    waker: Waker,
}

impl Wake for Wait {
    fn wake(self: Arc<Self>) {
        assert_ne!(self.of, "", "it says which end waits");
        self.waker.wake_by_ref();
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        WAITS.fetch_sub(1, Relaxed);
    }
}

fn note(waker: Waker, of: &'static str) -> Waker {
    WAITS.fetch_add(1, Relaxed);
    Arc::new(Wait { of, waker }).into()
}

/// Polls each future twice with a waker that counts. Returns the number of waits, and of wake-ups
/// once `end` was called.
fn waits<F: Future>(future: F, end: impl FnOnce(Pin<&mut F>)) -> (usize, usize) {
    let before = host::update(|host| host.on_wait = Some(note));
    let (wakes, waker) = counting();
    let mut future = pin!(future);
    for _ in 0..2 {
        let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(matches!(poll, Poll::Pending));
    }
    let waits = WAITS.load(Relaxed);
    end(future);
    assert_eq!(WAITS.load(Relaxed), 0, "the wait is over");
    host::set(before);
    (waits, wakes.count())
}

/// The only test whose waits are noted.
#[test]
fn each_wait_for_a_oneshot_is_noted_until_it_ends() {
    let (sender, receiver) = oneshot::channel();
    assert_eq!(waits(receiver, |_| sender.send(1).unwrap()), (1, 1));
    let (_sender, receiver) = oneshot::channel::<u32>();
    assert_eq!(waits(receiver, |mut receiver| receiver.close()), (1, 0));
    let (sender, receiver) = oneshot::channel::<u32>();
    assert_eq!(waits(receiver, |_| drop(sender)), (1, 1));
    let (mut sender, receiver) = oneshot::channel::<u32>();
    assert_eq!(waits(sender.closed(), |_| drop(receiver)), (1, 1));
}
