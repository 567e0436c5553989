//! Every short sequence of calls on one thread, with upstream's crate and with this one: each call
//! answers the same, and the value and the wakers are dropped at the same calls.
#![cfg(all(feature = "async", feature = "std"))]

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::Wake,
    thread,
    time::Duration,
};

#[derive(Clone, Copy, Debug)]
enum Call {
    Send,
    DropSender,
    SenderIsClosed,
    SenderThroughRaw,
    TryRecv,
    RecvTimeout,
    RecvDeadline,
    RecvRef,
    Recv,
    IsClosed,
    HasMessage,
    ThroughRaw,
    IntoFuture,
    Poll,
    PollWithAnotherWaker,
    DropReceiver,
}

const CALLS: [Call; 16] = {
    use Call::*;
    [
        Send,
        DropSender,
        SenderIsClosed,
        SenderThroughRaw,
        TryRecv,
        RecvTimeout,
        RecvDeadline,
        RecvRef,
        Recv,
        IsClosed,
        HasMessage,
        ThroughRaw,
        IntoFuture,
        Poll,
        PollWithAnotherWaker,
        DropReceiver,
    ]
};

#[derive(Debug)]
struct Value(Arc<AtomicUsize>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

macro_rules! on {
    ($name:ident, $crate_name:ident) => {
        mod $name {
            use std::{
                pin::Pin,
                sync::{
                    Arc,
                    atomic::{AtomicUsize, Ordering::Relaxed},
                },
                task::{Context, Waker},
                time::{Duration, Instant},
            };

            use $crate_name::{AsyncReceiver, Receiver, Sender, channel};

            use super::{Call, Value, Wakes};

            enum End {
                Blocking(Receiver<Value>),
                Future(AsyncReceiver<Value>),
                Gone,
            }

            /// What each call answers, with the values dropped, the wakes and the wakers after it.
            /// `None` if a call would block for ever, or there is nothing to call it on.
            pub(super) fn run(calls: &[Call]) -> Option<Vec<String>> {
                let drops = Arc::new(AtomicUsize::new(0));
                let wakes: [Arc<Wakes>; 2] = Default::default();
                let (sender, receiver) = channel();
                let (mut sender, mut receiver) = (Some(sender), End::Blocking(receiver));
                let mut events = Vec::new();
                for &call in calls {
                    let mut said = call_of(call, &mut sender, &mut receiver, &drops, &wakes)?;
                    said += &format!(" {}", drops.load(Relaxed));
                    for wakes in &wakes {
                        let count = wakes.0.load(Relaxed);
                        said += &format!(" {count} {}", Arc::strong_count(wakes));
                    }
                    events.push(said);
                }
                drop((sender, receiver));
                events.push(format!("{}", drops.load(Relaxed)));
                Some(events)
            }

            fn call_of(
                call: Call,
                sender: &mut Option<Sender<Value>>,
                receiver: &mut End,
                drops: &Arc<AtomicUsize>,
                wakes: &[Arc<Wakes>; 2],
            ) -> Option<String> {
                let limit = Duration::from_nanos(1);
                let poll = |receiver: &mut AsyncReceiver<Value>, which: usize| {
                    let waker = Waker::from(wakes[which].clone());
                    let polled = Pin::new(receiver).poll(&mut Context::from_waker(&waker));
                    format!("{:?}", polled.map(|answer| answer.map(drop)))
                };
                Some(match (call, &mut *receiver) {
                    (Call::Send, _) => {
                        let sent = sender.take()?.send(Value(drops.clone()));
                        match &sent {
                            Ok(()) => "sent".to_owned(),
                            Err(error) => format!("{error:20} {:?}", error.as_inner()),
                        }
                    }
                    (Call::DropSender, _) => format!("{:?}", drop(sender.take()?)),
                    (Call::SenderIsClosed, _) => format!("{}", sender.as_ref()?.is_closed()),
                    (Call::SenderThroughRaw, _) => {
                        let raw = sender.take()?.into_raw();
                        // SAFETY: the pointer of a sender of the same type, used once.
                        *sender = Some(unsafe { Sender::from_raw(raw) });
                        String::new()
                    }
                    (Call::TryRecv, End::Blocking(rx)) => said(rx.try_recv()),
                    (Call::RecvTimeout, End::Blocking(rx)) => said(rx.recv_timeout(limit)),
                    (Call::RecvDeadline, End::Blocking(rx)) => {
                        said(rx.recv_deadline(Instant::now()))
                    }
                    (Call::RecvRef, End::Blocking(rx)) if sender.is_none() => said(rx.recv_ref()),
                    (Call::IsClosed, End::Blocking(rx)) => rx.is_closed().to_string(),
                    (Call::IsClosed, End::Future(rx)) => rx.is_closed().to_string(),
                    (Call::HasMessage, End::Blocking(rx)) => rx.has_message().to_string(),
                    (Call::HasMessage, End::Future(rx)) => rx.has_message().to_string(),
                    (Call::Poll, End::Future(rx)) => poll(rx, 0),
                    (Call::PollWithAnotherWaker, End::Future(rx)) => poll(rx, 1),
                    (Call::DropReceiver, End::Blocking(_) | End::Future(_)) => {
                        *receiver = End::Gone;
                        String::new()
                    }
                    (Call::Recv | Call::ThroughRaw | Call::IntoFuture, End::Blocking(_)) => {
                        if matches!(call, Call::Recv) && sender.is_some() {
                            return None;
                        }
                        let End::Blocking(rx) = std::mem::replace(receiver, End::Gone) else {
                            return None;
                        };
                        match call {
                            Call::Recv => return Some(said(rx.recv())),
                            // SAFETY: the pointer of a receiver of the same type, used once.
                            Call::ThroughRaw => unsafe {
                                *receiver = End::Blocking(Receiver::from_raw(rx.into_raw()));
                            },
                            _ => *receiver = End::Future(rx.into_future()),
                        }
                        String::new()
                    }
                    _ => return None,
                })
            }

            fn said<E: std::error::Error>(received: Result<Value, E>) -> String {
                match received {
                    Ok(_) => "received".to_owned(),
                    Err(error) => format!("{error:20} {error:?}"),
                }
            }
        }
    };
}

on!(here, oneshot);
on!(there, upstream);

fn compare(calls: &mut Vec<Call>, left: usize) -> usize {
    let there = there::run(calls);
    assert_eq!(here::run(calls), there, "{calls:?}");
    // A sequence that ends early has no longer ones behind it.
    if left == 0 || there.is_none() {
        return 1;
    }
    let mut compared = 1;
    for call in CALLS {
        calls.push(call);
        compared += compare(calls, left - 1);
        calls.pop();
    }
    compared
}

#[test]
fn each_sequence_of_calls_answers_as_upstream_does() {
    let compared = compare(&mut Vec::new(), if cfg!(miri) { 2 } else { 5 });
    assert!(cfg!(miri) || compared > 50_000, "{compared} sequences");
}

/// Values without a size, larger than a page of a stack, and aligned to a page.
#[test]
fn values_of_every_shape_pass_on_each_way() {
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(4096))]
    struct Aligned(u8);

    fn pass<T: Clone + Debug + PartialEq + Send + 'static>(value: T) {
        type Way<T> = fn(oneshot::Receiver<T>) -> Option<T>;
        let ways: [Way<T>; 5] = [
            |rx| rx.try_recv().ok(),
            |rx| rx.recv().ok(),
            |rx| rx.recv_ref().ok(),
            |rx| rx.recv_timeout(Duration::MAX).ok(),
            |rx| joint::block_on(rx.into_future()).ok(),
        ];
        for way in ways {
            let (sender, receiver) = oneshot::channel();
            assert!(sender.send(value.clone()).is_ok());
            assert_eq!(way(receiver).as_ref(), Some(&value));
        }
        for way in &ways[1..] {
            let (sender, receiver) = oneshot::channel();
            // Whichever comes first.
            let sent = value.clone();
            let sending = thread::spawn(move || sender.send(sent).is_ok());
            // After a wait that has ended in vain, or with the value.
            let early = receiver.recv_timeout(Duration::from_nanos(1)).ok();
            assert_eq!(early.or_else(|| way(receiver)).as_ref(), Some(&value));
            assert!(sending.join().unwrap());
        }
        let (sender, _) = oneshot::channel();
        assert_eq!(sender.send(value.clone()).unwrap_err().into_inner(), value);
    }

    pass(());
    pass([7_u8; 20_000]);
    pass(Aligned(7));
    pass("text".to_owned());
}
