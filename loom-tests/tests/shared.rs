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
    fn with(self, sender: Sender<Value>, drops: &Drops) {
        match self {
            Send => sender.send(drops.value()),
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

fn is_ready(act: Act, wait: &mut Wait<'_, Value>, wakes: &Arc<Wakes>) -> bool {
    match poll(wait, wakes) {
        Poll::Ready(answer) => act.assert_answer(answer),
        Poll::Pending => return false,
    }
    true
}

/// Registers a waiter whose wake-ups are not counted.
fn register(shared: &Shared<Value>) -> Wait<'_, Value> {
    let mut wait = shared.wait();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
    wait
}

fn come_and_go<const N: usize>(shared: &Shared<Value>) {
    let _waits: [_; N] = std::array::from_fn(|_| register(shared));
}

/// A sender that acts in a thread of its own, after some preparation on the shared result.
struct Against {
    act: Act,
    drops: Drops,
    sender: thread::JoinHandle<()>,
}

impl Against {
    fn after(act: Act, before: impl FnOnce(&Shared<Value>)) -> (Shared<Value>, Self) {
        let drops = Drops::default();
        let (tx, shared) = shared::channel();
        before(&shared);
        let sender = start(&drops, move |drops| act.with(tx, &drops));
        (shared, Self { act, drops, sender })
    }

    fn new(act: Act) -> (Shared<Value>, Self) {
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
    fn with(self, last: Shared<Value>) {
        drop(last);
        self.1.assert_all_of(usize::from(self.0 == Send));
    }
}

fn poll_and_go(act: Act, shared: &Shared<Value>) {
    let wakes = Wakes::new();
    let mut wait = shared.wait();
    let ready = is_ready(act, &mut wait, &wakes);
    drop(wait);
    assert!(wakes.count() <= usize::from(!ready));
}

fn look(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        match shared.try_get() {
            Ok(Some(value)) => act.assert_answer(Ok(value)),
            Ok(None) => {}
            Err(Closed) => act.assert_answer(Err(Closed)),
        }
        against.join().with(shared);
    });
}

fn poll_and_wait(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        let wakes = Wakes::new();
        let mut wait = shared.wait();
        if is_ready(act, &mut wait, &wakes) {
            assert_eq!(wakes.count(), 0, "it was never pending");
        } else {
            is_ready(act, &mut wait, &wakes);
        }
        drop(wait);
        against.join().with(shared);
        assert_eq!(wakes.wakers(), 0);
    });
}

fn another_waker(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        let (first, last) = (Wakes::new(), Wakes::new());
        let mut wait = shared.wait();
        let polled = is_ready(act, &mut wait, &first);
        let polled_again = polled || is_ready(act, &mut wait, &last);
        let ended = against.join();
        // The sender may act between the poll and the wake-up, which then finds no waiter.
        assert!(first.count() <= usize::from(!polled && polled_again));
        assert_eq!(last.count(), usize::from(!polled_again));
        assert!(is_ready(act, &mut wait, &last));
        drop(wait);
        ended.with(shared);
        assert_eq!((first.wakers(), last.wakers()), (0, 0));
    });
}

fn poll_then_drop(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        poll_and_go(act, &shared);
        against.join().with(shared);
    });
}

/// The waiter owns a `Shared` of its own, the last one beside the sender.
fn last_shared_dropped(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        poll_and_go(act, &shared);
        drop(shared);
        let Ended(_, drops) = against.join();
        drops.assert_all_of(usize::from(act == Send));
    });
}

fn clones_dropped(act: Act) {
    model(move || {
        let (shared, against) = Against::new(act);
        let clone = shared.clone();
        let other = thread::spawn(move || {
            if let Some(value) = clone.get() {
                value.look();
            }
        });
        drop(shared);
        other.join().unwrap();
        let Ended(_, drops) = against.join();
        drops.assert_all_of(usize::from(act == Send));
    });
}

fn two_waiters(act: Act) {
    model_bounded(2, move || {
        let (shared, against) = Against::new(act);
        let clone = shared.clone();
        let other = thread::spawn(move || poll_and_go(act, &clone));
        let wakes = Wakes::new();
        let mut wait = shared.wait();
        let pending = !is_ready(act, &mut wait, &wakes);
        other.join().unwrap();
        let ended = against.join();
        assert_eq!(wakes.count(), usize::from(pending));
        assert!(is_ready(act, &mut wait, &wakes));
        drop(wait);
        ended.with(shared);
    });
}

/// A waiter that stays is woken once, and has the answer then.
fn wake_after(act: Act, before: fn(&Shared<Value>)) {
    model(move || {
        let (shared, against) = Against::after(act, before);
        let wakes = Wakes::new();
        let mut wait = shared.wait();
        let pending = !is_ready(act, &mut wait, &wakes);
        let ended = against.join();
        assert_eq!(wakes.count(), usize::from(pending));
        assert!(poll(&mut wait, &wakes).is_ready());
        drop(wait);
        ended.with(shared);
        assert_eq!(wakes.wakers(), 0);
    });
}

/// A sender against the first handle of a channel, which is polled itself and then dropped.
fn first_waiter(act: Act, does: impl FnOnce(Shared<Arc<Value>>, &dyn Fn() -> bool)) {
    let drops = Drops::default();
    let (tx, shared) = shared::channel();
    let sender = start(&drops, move |drops| match act {
        Send => tx.send(Arc::new(drops.value())),
        Close => drop(tx),
    });
    let sender = std::cell::Cell::new(Some(sender));
    let join = || {
        let sender = sender.take();
        sender.map(|sender| sender.join().unwrap()).is_some()
    };
    does(shared, &join);
    join();
    drops.assert_all_of(usize::from(act == Send));
}

fn is_first_ready(shared: &mut Shared<Arc<Value>>, wakes: &Arc<Wakes>, act: Act) -> bool {
    let answer = poll(shared, wakes);
    let checked =
        answer.map(|answer| act.assert_answer(answer.as_deref().map_err(|&closed| closed)));
    checked.is_ready()
}

fn first_wake(act: Act) {
    model(move || {
        first_waiter(act, |mut shared, join| {
            let wakes = Wakes::new();
            let pending = !is_first_ready(&mut shared, &wakes, act);
            join();
            assert_eq!(wakes.count(), usize::from(pending));
            assert!(is_first_ready(&mut shared, &wakes, act));
            assert_eq!(wakes.wakers(), 0);
        });
    });
}

fn first_with_another_waker(act: Act) {
    model(move || {
        first_waiter(act, |mut shared, join| {
            let (first, last) = (Wakes::new(), Wakes::new());
            let polled = is_first_ready(&mut shared, &first, act);
            let polled_again = polled || is_first_ready(&mut shared, &last, act);
            join();
            assert!(first.count() <= usize::from(!polled && polled_again));
            assert_eq!(last.count(), usize::from(!polled_again));
            assert!(is_first_ready(&mut shared, &last, act));
            drop(shared);
            assert_eq!((first.wakers(), last.wakers()), (0, 0));
        });
    });
}

/// The waiter is the last handle beside the sender.
fn first_poll_then_drop(act: Act) {
    model(move || {
        first_waiter(act, |mut shared, join| {
            let wakes = Wakes::new();
            let ready = is_first_ready(&mut shared, &wakes, act);
            drop(shared);
            join();
            assert!(wakes.count() <= usize::from(!ready));
            assert_eq!(wakes.wakers(), 0);
        });
    });
}

/// Each of two waiters may be the one that begins the list.
fn first_and_second(act: Act) {
    model_bounded(2, move || {
        first_waiter(act, |mut shared, join| {
            let mut clone = shared.clone();
            let other = thread::spawn(move || {
                let wakes = Wakes::new();
                let ready = is_first_ready(&mut clone, &wakes, act);
                drop(clone);
                assert!(wakes.count() <= usize::from(!ready));
            });
            let wakes = Wakes::new();
            let pending = !is_first_ready(&mut shared, &wakes, act);
            other.join().unwrap();
            join();
            assert_eq!(wakes.count(), usize::from(pending));
            assert!(is_first_ready(&mut shared, &wakes, act));
            assert_eq!(wakes.wakers(), 0);
        });
    });
}

/// The first handle begins the list, which others then make longer and search.
fn first_before_others(act: Act) {
    model_bounded(3, move || {
        first_waiter(act, |mut shared, join| {
            let wakes = Wakes::new();
            let pending = !is_first_ready(&mut shared, &wakes, act);
            let later = Wakes::new();
            let waits: [_; 3] = std::array::from_fn(|_| {
                let mut wait = shared.clone();
                let pending = !is_first_ready(&mut wait, &later, act);
                (wait, usize::from(pending))
            });
            join();
            assert_eq!(wakes.count(), usize::from(pending));
            assert_eq!(
                later.count(),
                waits.iter().map(|(_, pending)| pending).sum()
            );
            assert!(is_first_ready(&mut shared, &wakes, act));
            drop(waits);
            assert_eq!((wakes.wakers(), later.wakers()), (0, 0));
        });
    });
}

type First = Pin<Box<dyn Future<Output = ()> + std::marker::Send>>;

/// A waiter that owns its `Shared`, in the place where the next search starts. The three other
/// places are free.
fn waits_in_the_first_place(shared: &Shared<Value>) -> First {
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

async fn wait_of(shared: Shared<Value>) {
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
    send_against_poll / close_against_poll: poll_and_wait;
    send_against_wake / close_against_wake: |act| wake_after(act, |_| ());
    send_against_another_waker / close_against_another_waker: another_waker;
    send_against_poll_then_drop / close_against_poll_then_drop: poll_then_drop;
    send_against_the_last_shared_dropped / close_against_the_last_shared_dropped: last_shared_dropped;
    send_against_clones_dropped / close_against_clones_dropped: clones_dropped;
    send_against_two_waiters / close_against_two_waiters: two_waiters;
    send_against_succession / close_against_succession: |act| wake_after(act, come_and_go::<2>);
    send_against_succession_after_drop / close_against_succession_after_drop: succession_after_drop;
    send_against_succession_after_another_poll / close_against_succession_after_another_poll: succession_after_another_poll;
    send_against_the_first_waiter / close_against_the_first_waiter: first_wake;
    send_against_the_first_waiters_wakers / close_against_the_first_waiters_wakers: first_with_another_waker;
    send_against_the_first_waiters_drop / close_against_the_first_waiters_drop: first_poll_then_drop;
    send_against_the_first_and_second / close_against_the_first_and_second: first_and_second;
    send_against_the_first_before_others / close_against_the_first_before_others: first_before_others;
    send_against_a_late_comer / close_against_a_late_comer: late_comer;
}

#[test]
fn each_path_takes_the_read_modify_writes_that_are_promised() {
    model(|| {
        let drops = Drops::default();
        let (tx, shared) = shared::channel();
        assert_eq!(rmws_of(|| tx.send(drops.value())), 2);
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
        assert_eq!(rmws_of(|| tx.send(drops.value())), 3 + 2);
        assert_eq!((wakes.count(), other.count()), (0, 1));
        // And one to free the list.
        assert_eq!(rmws_of(|| poll(&mut wait, &other).is_ready()), 1 + 1);
        drop(wait);
        assert_eq!(rmws_of(|| drop(shared)), 0);
        drops.assert_all_of(2);

        let (tx, mut shared) = shared::channel();
        let poll_it = |shared: &mut Shared<Arc<Value>>, wakes: &Arc<Wakes>| {
            rmws_of(|| is_first_ready(shared, wakes, Send))
        };
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
