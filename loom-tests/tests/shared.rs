//! Models of the shared result: the sender in a thread of its own against the waiters, for each
//! thing that they can do.
//!
//! The model watches the memory of the block and of every place. It fails on a leak, on a double
//! free, on a use after the free, and on a free that something another thread did does not happen
//! before. It also fails if the value is not seen whole, or is not dropped exactly once.

use Act::{Drop as Close, Send};
use joint_flow::shared::{self, Closed, Sender, Shared, Wait};
use loom_tests::lab::thread;

use crate::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Act {
    Send,
    Drop,
}

impl Act {
    fn with(self, sender: Sender<Arc<Value>>, drops: &Drops) {
        match self {
            Send => sender.send(Arc::new(drops.value())),
            Close => drop(sender),
        }
    }

    fn assert_answer(self, answer: Result<&Value, Closed>) {
        match answer {
            Ok(value) => {
                assert!(self == Send);
                value.look();
            }
            Err(Closed) => assert!(self == Close),
        }
    }
}

/// A shared result, which is waited for through a [`Wait`] or is polled itself.
type Of = Shared<Arc<Value>>;

/// The answer of either.
trait Answer {
    fn check(self, act: Act);
}

impl Answer for Result<&Arc<Value>, Closed> {
    fn check(self, act: Act) {
        act.assert_answer(self.map(|value| &**value));
    }
}

impl Answer for Result<Arc<Value>, Closed> {
    fn check(self, act: Act) {
        act.assert_answer(self.as_deref().map_err(|&closed| closed));
    }
}

fn is_ready<F>(act: Act, waiter: &mut F, wakes: &Arc<Wakes>) -> bool
where
    F: Future<Output: Answer> + Unpin,
{
    poll(waiter, wakes)
        .map(|answer| answer.check(act))
        .is_ready()
}

/// Registers a waiter whose wake-ups are not counted.
fn register(shared: &Of) -> Wait<'_, Arc<Value>> {
    let mut wait = shared.wait();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
    wait
}

fn come_and_go<const N: usize>(shared: &Of) {
    let _waits: [_; N] = std::array::from_fn(|_| register(shared));
}

/// A sender that acts in a thread of its own, after some preparation on the shared result.
struct Against {
    act: Act,
    drops: Drops,
    sender: thread::JoinHandle<()>,
}

impl Against {
    fn after(act: Act, before: impl FnOnce(&Of)) -> (Of, Self) {
        let drops = Drops::default();
        let (tx, shared) = shared::channel();
        before(&shared);
        let sender = start(&drops, move |drops| act.with(tx, &drops));
        (shared, Self { act, drops, sender })
    }

    fn new(act: Act) -> (Of, Self) {
        Self::after(act, |_| ())
    }

    /// Waits for the sender's thread. Every check of an ordering must precede this.
    fn join(self) -> Ended {
        self.sender.join().unwrap();
        Ended(self.act, self.drops)
    }
}

struct Ended(Act, Drops);

impl Ended {
    fn with(self, last: Of) {
        drop(last);
        self.1.assert_all_of(usize::from(self.0 == Send));
    }
}

/// A waiter polls with the wakers of these numbers beside the sender. It stays until the end, or
/// leaves.
fn waits<F>(act: Act, mut waiter: F, polls: &[usize], stays: Option<Against>) -> Option<Ended>
where
    F: Future<Output: Answer> + Unpin,
{
    let wakes = [Wakes::new(), Wakes::new()];
    let ready = polls
        .iter()
        .any(|&waker| is_ready(act, &mut waiter, &wakes[waker]));
    let ended = stays.map(|against| {
        let ended = against.join();
        if !ready {
            let last = &wakes[polls[polls.len() - 1]];
            assert_eq!(last.count(), 1);
            assert!(is_ready(act, &mut waiter, last));
        }
        ended
    });
    drop(waiter);
    if ended.is_some() {
        // The sender may act between a poll and the wake-up, which then finds no waiter.
        assert!(wakes[0].count() + wakes[1].count() <= usize::from(!ready || polls.len() > 1));
        assert_eq!((wakes[0].wakers(), wakes[1].wakers()), (0, 0));
    }
    ended
}

fn poll_and_go(act: Act, shared: &Of) {
    waits(act, shared.wait(), &[0], None);
}

/// Through a [`Wait`], and by the result itself, for the first time in both cases.
#[derive(Clone, Copy)]
enum By {
    Wait,
    Itself,
}

fn race(act: Act, by: By, before: fn(&Of), polls: &'static [usize], stays: bool) {
    model(move || {
        let (shared, against) = Against::after(act, before);
        let (stays, leaves) = match stays {
            true => (Some(against), None),
            false => (None, Some(against)),
        };
        let ended = match by {
            By::Wait => {
                let ended = waits(act, shared.wait(), polls, stays);
                drop(shared);
                ended
            }
            By::Itself => waits(act, shared, polls, stays),
        };
        let Ended(_, drops) = ended
            .or_else(|| leaves.map(Against::join))
            .expect("one of them");
        drops.assert_all_of(usize::from(act == Send));
    });
}

fn look(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        match shared.try_get() {
            Ok(Some(value)) => act.assert_answer(Ok(&**value)),
            Ok(None) => {}
            Err(Closed) => act.assert_answer(Err(Closed)),
        }
        against.join().with(shared);
    });
}

/// The first handle begins the list, which others then make longer and search.
fn first_before_others(act: Act) {
    model_bounded(3, move || {
        let (mut shared, against) = Against::new(act);
        let wakes = Wakes::new();
        let pending = !is_ready(act, &mut shared, &wakes);
        let later = Wakes::new();
        let waits: [_; 3] = std::array::from_fn(|_| {
            let mut wait = shared.clone();
            let pending = !is_ready(act, &mut wait, &later);
            (wait, usize::from(pending))
        });
        let ended = against.join();
        assert_eq!(wakes.count(), usize::from(pending));
        let pending = waits.iter().map(|(_, pending)| pending).sum();
        assert_eq!(later.count(), pending);
        assert!(is_ready(act, &mut shared, &wakes));
        drop(waits);
        assert_eq!((wakes.wakers(), later.wakers()), (0, 0));
        ended.with(shared);
    });
}

type First = Pin<Box<dyn Future<Output = ()> + std::marker::Send>>;

/// A waiter that owns its `Shared`, in the place where the next search starts. The three other
/// places are free.
fn waits_in_the_first_place(shared: &Of) -> First {
    come_and_go::<4>(shared);
    let mut wait = Box::pin(wait_of(shared.clone()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    // These take the other places in turn, so that the next search starts at the front again.
    for _ in 0..3 {
        come_and_go::<1>(shared);
    }
    wait
}

/// One waiter acts when the end arrives, while another wants to take over its place.
fn succession_against(act: Act, does: impl Fn(First) + Copy + std::marker::Send + Sync + 'static) {
    model_bounded(2, move || {
        let mut first = None;
        let (shared, against) =
            Against::after(act, |shared| first = Some(waits_in_the_first_place(shared)));
        let first = thread::spawn(move || first.into_iter().for_each(does));
        let wakes = Wakes::new();
        let mut wait = shared.wait();
        let pending = !is_ready(act, &mut wait, &wakes);
        first.join().unwrap();
        let ended = against.join();
        assert_eq!(wakes.count(), usize::from(pending), "a waiter was lost");
        drop(wait);
        ended.with(shared);
    });
}

fn succession_after_drop(act: Act) {
    succession_against(act, drop);
}

/// The waiter puts the end back into the word.
fn succession_after_another_poll(act: Act) {
    succession_against(act, |mut first| {
        let waker = Wakes::new().waker();
        let _ = first.as_mut().poll(&mut Context::from_waker(&waker));
    });
}

async fn wait_of(shared: Of) {
    if let Ok(value) = shared.wait().await {
        value.look();
    }
}

/// A waiter arrives after the end, and perhaps after all others have left and the list is freed.
fn late_comer(act: Act) {
    model_bounded(3, move || {
        let (shared, against) = Against::after(act, come_and_go::<1>);
        let clone = shared.clone();
        let late = thread::spawn(move || poll_and_go(act, &clone));
        late.join().unwrap();
        against.join().with(shared);
    });
}

/// Up to three waiters exist at once, and each of them finds a place or makes one.
#[test]
fn three_waiters_register_at_once() {
    model_bounded(2, || {
        let (tx, shared) = shared::channel();
        let clone = shared.clone();
        let two = thread::spawn(move || come_and_go::<2>(&clone));
        drop(register(&shared));
        two.join().unwrap();
        drop(tx);
    });
}

/// One waiter has counted two places, and then starts to search where another has stopped, at a
/// place whose push it has not seen.
#[test]
fn a_look_in_newer_places() {
    model_bounded(2, || {
        let (tx, shared) = shared::channel();
        come_and_go::<2>(&shared);
        let clone = shared.clone();
        let other = thread::spawn(move || {
            come_and_go::<2>(&clone);
            come_and_go::<1>(&clone);
        });
        drop(register(&shared));
        other.join().unwrap();
        drop(tx);
    });
}

/// The sender's writes before it left are visible to any thread that learns of its end.
#[test]
fn writes_before_a_close_are_visible_after_it() {
    model(|| {
        let (tx, shared) = shared::channel::<Value>();
        let drops = Drops::default();
        let said = Arc::new(drops.value());
        let theirs = said.clone();
        let sender = thread::spawn(move || {
            theirs.look();
            drop(tx);
        });
        if shared.try_get().is_err() {
            said.take();
        }
        sender.join().unwrap();
    });
}

models_of! {
    Send, Close;
    send_against_look / close_against_look: look;
    send_against_poll / close_against_poll: |act| race(act, By::Wait, |_| (), &[0, 0], false);
    send_against_wake / close_against_wake: |act| race(act, By::Wait, |_| (), &[0], true);
    send_against_another_waker / close_against_another_waker: |act| race(act, By::Wait, |_| (), &[0, 1], true);
    send_against_poll_then_drop / close_against_poll_then_drop: |act| race(act, By::Wait, |_| (), &[0], false);
    send_against_succession / close_against_succession: |act| race(act, By::Wait, come_and_go::<2>, &[0], true);
    send_against_succession_after_drop / close_against_succession_after_drop: succession_after_drop;
    send_against_succession_after_another_poll / close_against_succession_after_another_poll: succession_after_another_poll;
    send_against_the_first_waiter / close_against_the_first_waiter: |act| race(act, By::Itself, |_| (), &[0], true);
    send_against_the_first_waiters_wakers / close_against_the_first_waiters_wakers: |act| race(act, By::Itself, |_| (), &[0, 1], true);
    send_against_the_first_waiters_drop / close_against_the_first_waiters_drop: |act| race(act, By::Itself, |_| (), &[0], false);
    send_against_the_first_before_others / close_against_the_first_before_others: first_before_others;
    send_against_a_late_comer / close_against_a_late_comer: late_comer;
}

#[test]
fn each_path_takes_the_read_modify_writes_that_are_promised() {
    model(|| {
        let drops = Drops::default();
        let (tx, shared) = shared::channel();
        assert_eq!(rmws_of(|| tx.send(Arc::new(drops.value()))), 2);
        assert_eq!(rmws_of(|| drop(shared.clone())), 2);
        assert_eq!(rmws_of(|| shared.get().unwrap().look()), 0);
        let wakes = Wakes::new();
        assert_eq!(rmws_of(|| poll(&mut shared.wait(), &wakes).is_ready()), 0);
        drop(shared);

        let (tx, shared) = shared::channel();
        let (mut wait, mut gone) = (shared.wait(), shared.wait());
        assert_eq!(rmws_of(|| poll(&mut wait, &wakes).is_pending()), 2);
        assert_eq!(rmws_of(|| poll(&mut wait, &wakes).is_pending()), 0);
        let other = Wakes::new();
        assert_eq!(rmws_of(|| poll(&mut wait, &other).is_pending()), 1);
        assert_eq!(rmws_of(|| poll(&mut gone, &other).is_pending()), 2);
        assert_eq!(rmws_of(|| drop(gone)), 2);
        assert_eq!(rmws_of(|| tx.send(Arc::new(drops.value()))), 3 + 2);
        assert_eq!((wakes.count(), other.count()), (0, 1));
        // And one to free the list.
        assert_eq!(rmws_of(|| poll(&mut wait, &other).is_ready()), 1 + 1);
        drop(wait);
        assert_eq!(rmws_of(|| drop(shared)), 0);
        drops.assert_all_of(2);

        let (tx, mut shared) = shared::channel();
        let poll_it =
            |shared: &mut Of, wakes: &Arc<Wakes>| rmws_of(|| is_ready(Send, shared, wakes));
        assert_eq!(poll_it(&mut shared, &wakes), 1);
        assert_eq!(poll_it(&mut shared, &wakes), 0);
        assert_eq!(poll_it(&mut shared, &other), 1);
        assert_eq!(rmws_of(|| tx.send(Arc::new(drops.value()))), 3);
        assert_eq!(poll_it(&mut shared, &other), 0);
        assert_eq!(rmws_of(|| drop(shared)), 0);

        let (tx, shared) = shared::channel::<Value>();
        assert_eq!(rmws_of(|| drop(shared)), 1);
        assert_eq!(rmws_of(|| drop(tx)), 0);
    });
}
