//! Models of the channel: the sender in a thread of its own against the receiver, for each thing
//! that the two can do.
//!
//! The model watches the channel's memory. It fails on a leak, on a double free, on a use after the
//! free, and on a free that something the other end did does not happen before. It also fails if a
//! value is not seen whole, or is not dropped exactly once.

use Act::{Drop as Abandon, Send};
use joint::oneshot::{Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryRecvError};
use loom_tests::lab::{sync::atomic::AtomicUsize, thread};

use crate::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Act {
    Send,
    Drop,
}

impl Act {
    /// Acts. Returns true if the value was handed back.
    fn with(self, sender: Sender<Value>, drops: &Drops) -> bool {
        match self {
            Send => match sender.send(drops.value()) {
                Ok(()) => false,
                Err(SendError(value)) => {
                    value.look();
                    true
                }
            },
            Abandon => {
                drop(sender);
                false
            }
        }
    }

    fn assert_answer(self, answer: Result<Value, RecvError>) {
        match answer {
            Ok(value) => {
                assert!(self == Send);
                value.look();
            }
            Err(RecvError) => assert!(self == Abandon),
        }
    }
}

fn is_ready(act: Act, receiver: &mut Receiver<Value>, wakes: &Arc<Wakes>) -> bool {
    match poll(receiver, wakes) {
        Poll::Ready(answer) => act.assert_answer(answer),
        Poll::Pending => return false,
    }
    true
}

/// The result of both threads: whether the value was handed back to the sender, and the count of
/// values.
struct Outcome {
    act: Act,
    sender: thread::JoinHandle<bool>,
    drops: Drops,
}

impl Outcome {
    /// Waits for the sender's thread. Every check of an ordering must precede this.
    fn came_back(self) -> bool {
        let came_back = self.sender.join().unwrap();
        self.drops.assert_all_of(usize::from(self.act == Send));
        came_back
    }
}

fn against(act: Act) -> (Receiver<Value>, Outcome) {
    let drops = Drops::default();
    let (tx, rx) = oneshot::channel();
    let sender = start(&drops, move |drops| act.with(tx, &drops));
    others_first();
    (rx, Outcome { act, sender, drops })
}

/// What the receiver does in the end.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Drops,
    Closes,
    /// It waits until it is woken.
    Receives,
}

/// The receiver polls with the wakers of these numbers before the sender begins, then with the
/// others beside it.
fn race(act: Act, before: &'static [usize], beside: &'static [usize], then: Then) {
    model_from_both_sides(move || {
        let (drops, wakes) = (Drops::default(), [Wakes::new(), Wakes::new()]);
        let woken = || wakes[0].count() + wakes[1].count();
        let (tx, mut rx) = oneshot::channel();
        for &waker in before {
            assert!(poll(&mut rx, &wakes[waker]).is_pending());
        }
        let mut sender = Some(start(&drops, move |drops| act.with(tx, &drops)));
        let mut join = || sender.take().map(|sender| sender.join().unwrap());
        others_first();
        let ready = beside
            .iter()
            .any(|&waker| is_ready(act, &mut rx, &wakes[waker]));
        let is_registered = !(ready || before.is_empty() && beside.is_empty());
        let (mut came_back, mut received) = (None, ready && act == Send);
        match then {
            Then::Receives if !ready => {
                came_back = join();
                assert_eq!(woken(), 1);
                assert!(is_ready(act, &mut rx, &wakes[0]));
            }
            Then::Closes => {
                rx.close();
                assert!(rx.is_finished());
                match rx.try_recv() {
                    Ok(value) => {
                        act.assert_answer(Ok(value));
                        received = true;
                    }
                    Err(TryRecvError::Closed) => {}
                    Err(TryRecvError::Empty) => {
                        panic!("the channel is closed, so `Empty` is wrong")
                    }
                }
                let is_kept = is_registered && act == Send && !received && wakes[0].wakers() > 0;
                assert!(!is_kept, "a closed channel keeps a waker");
            }
            _ => {}
        }
        drop(rx);
        let came_back = came_back.or_else(&mut join).expect("it is joined once");
        match then {
            Then::Receives => assert!(!came_back),
            Then::Closes => assert_eq!(came_back, act == Send && !received),
            Then::Drops if act == Send && is_registered => {
                assert_eq!(woken(), usize::from(!came_back));
            }
            Then::Drops => assert!(!received || !came_back),
        }
        drops.assert_all_of(usize::from(act == Send));
        assert!(woken() <= 1);
        assert_eq!((wakes[0].wakers(), wakes[1].wakers()), (0, 0));
    });
}

fn try_receive(act: Act) {
    model_from_both_sides(move || {
        let (mut rx, outcome) = against(act);
        let finished = rx.is_finished();
        match rx.try_recv() {
            Ok(value) => act.assert_answer(Ok(value)),
            Err(TryRecvError::Closed) => act.assert_answer(Err(RecvError)),
            Err(TryRecvError::Empty) => assert!(!finished, "an answer was taken back"),
        }
        drop(rx);
        outcome.came_back();
    });
}

/// A receiver that is a pointer takes the value, and is polled and dropped after it.
fn take_by_pointer(act: Act) {
    model_from_both_sides(move || {
        let (rx, outcome) = against(act);
        let (raw, wakes) = (rx.into_raw(), Wakes::new());
        let registration = &mut Registration::new();
        // SAFETY: the pointer of a receiver of the same type, which only this thread has.
        let poll = unsafe { Receiver::<Value>::raw_poll(raw, &wakes.waker(), registration) };
        match poll {
            // SAFETY: as above, and there is a value.
            Poll::Ready(Ended::Done) => act.assert_answer(Ok(unsafe { Receiver::raw_take(raw) })),
            Poll::Ready(Ended::Abandoned) => act.assert_answer(Err(RecvError)),
            Poll::Pending => {}
        }
        // SAFETY: as above, and it is not used after this.
        let mut rx = unsafe { Receiver::<Value>::from_raw(raw) };
        assert!(poll.is_pending() || rx.try_recv().is_err(), "taken twice");
        drop(rx);
        assert!(!outcome.came_back() || poll.is_pending());
        assert_eq!(wakes.wakers(), 0);
    });
}

/// As [`against`], with the receiver in a thread of its own too. After such a wait, the thread may
/// see a late wake-up in another wait, which loom's `join` does not expect.
fn blocking_against(act: Act, receiver: fn(Act, Receiver<Value>)) {
    model_bounded(3, move || {
        let (rx, outcome) = against(act);
        thread::spawn(move || receiver(act, rx));
        outcome.sender.join().unwrap();
    });
}

fn receive_blocking(act: Act) {
    blocking_against(act, |act, rx| act.assert_answer(rx.blocking_recv()));
}

fn receive_with_a_deadline_that_passes_at_once(act: Act) {
    blocking_against(act, |act, mut rx| {
        match rx.blocking_recv_timeout(Duration::from_nanos(1)) {
            Ok(value) => act.assert_answer(Ok(value)),
            Err(RecvTimeoutError::Closed) => act.assert_answer(Err(RecvError)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    });
}

/// A sender that looks before it leaves, so that its last look has to be ordered before the free.
fn look_and_go(act: Act) {
    model(move || {
        let drops = Drops::default();
        let (tx, rx) = oneshot::channel();
        let sender = start(&drops, move |drops| {
            let closed = tx.is_closed();
            let came_back = act.with(tx, &drops);
            assert!(came_back || !closed || act == Abandon);
        });
        drop(rx);
        sender.join().unwrap();
        drops.assert_all_of(usize::from(act == Send));
    });
}

models_of! {
    Send, Abandon;
    send_against_poll_and_receive / sender_drop_against_poll_and_receive: |act| race(act, &[], &[0], Then::Receives);
    send_against_try_receive / sender_drop_against_try_receive: try_receive;
    send_against_take_by_pointer / sender_drop_against_take_by_pointer: take_by_pointer;
    send_against_receiver_drop / sender_drop_against_receiver_drop: |act| race(act, &[], &[], Then::Drops);
    send_against_poll_then_drop / sender_drop_against_poll_then_drop: |act| race(act, &[], &[0], Then::Drops);
    send_against_another_waker / sender_drop_against_another_waker: |act| race(act, &[], &[0, 1], Then::Drops);
    send_against_drop_of_a_registered_receiver / sender_drop_against_drop_of_a_registered_receiver: |act| race(act, &[0], &[], Then::Drops);
    send_against_poll_of_a_registered_receiver / sender_drop_against_poll_of_a_registered_receiver: |act| race(act, &[0], &[0], Then::Drops);
    send_against_other_wakers_of_a_registered_receiver / sender_drop_against_other_wakers_of_a_registered_receiver: |act| race(act, &[0], &[1, 0], Then::Drops);
    send_against_close / sender_drop_against_close: |act| race(act, &[], &[], Then::Closes);
    send_against_poll_then_close / sender_drop_against_poll_then_close: |act| race(act, &[], &[0], Then::Closes);
    send_against_blocking / sender_drop_against_blocking: receive_blocking;
    send_against_a_past_deadline / sender_drop_against_a_past_deadline: receive_with_a_deadline_that_passes_at_once;
    send_after_a_look / sender_drop_after_a_look: look_and_go;
}

/// Waits for a thread that wakes twice, the second time after it has raised a flag. A wake-up that
/// finds an earlier one not yet consumed does not unpark, so only the parker's own word makes the
/// flag visible. The wait for the flag must end all the same.
#[test]
fn wake_up_that_finds_another() {
    model_bounded(3, || {
        let mut flag = None::<Arc<AtomicUsize>>;
        joint::block_on(poll_fn(move |cx| {
            if let Some(flag) = &flag {
                return match flag.load(Relaxed) {
                    0 => Poll::Pending,
                    _ => Poll::Ready(()),
                };
            }
            let raised = flag.insert(Arc::default()).clone();
            let waker = cx.waker().clone();
            thread::spawn(move || {
                waker.wake_by_ref();
                raised.store(1, Relaxed);
                waker.wake();
            });
            Poll::Pending
        }));
    });
}

fn poll_closed(sender: &mut Sender<Value>, wakes: &Arc<Wakes>) -> Poll<()> {
    sender.poll_closed(&mut Context::from_waker(&wakes.waker()))
}

/// A receiver goes in a thread of its own, while the sender waits for that.
fn wait_for(go: fn(Receiver<Value>)) {
    model_from_both_sides(move || {
        let (drops, wakes) = (Drops::default(), Wakes::new());
        let (mut tx, rx) = oneshot::channel();
        let receiver = thread::spawn(move || go(rx));
        others_first();
        if poll_closed(&mut tx, &wakes).is_ready() {
            drop(tx.send(drops.value()));
            receiver.join().unwrap();
            assert_eq!(wakes.count(), 0, "it was never pending");
        } else {
            receiver.join().unwrap();
            assert_eq!(wakes.count(), 1);
            assert!(poll_closed(&mut tx, &wakes).is_ready());
            assert!(tx.send(drops.value()).is_err());
        }
        drops.assert_all_of(1);
        assert_eq!(wakes.wakers(), 0);
    });
}

#[test]
fn a_sender_waits_for_the_close_of_the_receiver() {
    wait_for(|mut rx| {
        rx.close();
        drop(rx);
    });
}

/// The sender has waited, and goes at the same time as the receiver.
fn wait_then(act: Act) {
    model_from_both_sides(move || {
        let (drops, wakes) = (Drops::default(), Wakes::new());
        let (mut tx, rx) = oneshot::channel();
        let receiver = thread::spawn(move || drop(rx));
        others_first();
        let _ = poll_closed(&mut tx, &wakes);
        act.with(tx, &drops);
        receiver.join().unwrap();
        drops.assert_all_of(usize::from(act == Send));
        assert_eq!(wakes.wakers(), 0);
    });
}

#[test]
fn a_value_takes_one_exchange_and_waiting_for_it_one_more() {
    model(|| {
        let ready = || {
            let (tx, mut rx) = oneshot::channel();
            tx.send(1).unwrap();
            assert_eq!(rx.try_recv(), Ok(1));
        };
        assert_eq!(rmws_of(ready), 1);

        let wakes = Wakes::new();
        let waited = || {
            let waker = wakes.waker();
            let mut cx = Context::from_waker(&waker);
            let (tx, mut rx) = oneshot::channel();
            assert_eq!(Pin::new(&mut rx).poll(&mut cx), Poll::Pending);
            assert_eq!(Pin::new(&mut rx).poll(&mut cx), Poll::Pending);
            tx.send(1).unwrap();
            assert_eq!(Pin::new(&mut rx).poll(&mut cx), Poll::Ready(Ok(1)));
        };
        assert_eq!(rmws_of(waited), 2);
        assert_eq!(wakes.count(), 1);

        let blocked = || {
            let (tx, rx) = oneshot::channel();
            tx.send(1).unwrap();
            assert_eq!(rx.blocking_recv(), Ok(1));
        };
        assert_eq!(rmws_of(blocked), 1);

        let lost = || {
            let (tx, rx) = oneshot::channel();
            drop(rx);
            assert_eq!(tx.send(1), Err(SendError(1)));
        };
        assert_eq!(rmws_of(lost), 2);
    });
}

#[test]
fn close_makes_two_exchanges_and_none_after_the_sender() {
    model(|| {
        let closed = || {
            let (tx, mut rx) = oneshot::channel();
            rx.close();
            assert_eq!(tx.send(1), Err(SendError(1)));
        };
        assert_eq!(rmws_of(closed), 2);

        let (tx, mut rx) = oneshot::channel();
        tx.send(1).unwrap();
        assert_eq!(rmws_of(|| rx.close()), 0, "the sender has finished");
        assert_eq!(rx.try_recv(), Ok(1));

        let (tx, mut rx) = oneshot::channel::<u32>();
        drop(tx);
        assert_eq!(rmws_of(|| rx.close()), 0, "the sender has finished");
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
}

models! {
    a_sender_waits_for_the_drop_of_the_receiver: wait_for(drop);
    a_sender_that_has_waited_sends_against_the_drop_of_the_receiver: wait_then(Send);
    a_sender_that_has_waited_is_dropped_against_the_drop_of_the_receiver: wait_then(Abandon);
}
