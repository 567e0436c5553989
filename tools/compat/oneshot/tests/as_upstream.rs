//! Every short sequence of calls on one thread, with upstream's crate and with this one: each call
//! answers the same, and the value and the wakers are dropped at the same calls.
#![cfg(all(feature = "async", feature = "std"))]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::Wake,
    time::Duration,
};

const SOON: Duration = Duration::from_nanos(1);

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
                time::Instant,
            };

            use $crate_name::{AsyncReceiver, Receiver, Sender, channel};

            use super::{SOON, Value, Wakes};

            /// A channel, with what is seen of it from outside.
            pub(super) struct World {
                sender: Option<Sender<Value>>,
                receiver: Option<Receiver<Value>>,
                future: Option<AsyncReceiver<Value>>,
                drops: Arc<AtomicUsize>,
                wakes: [Arc<Wakes>; 2],
            }

            /// Returns what the call answers. `None` if it would block for ever, or there is
            /// nothing to call it on.
            type Call = fn(&mut World) -> Option<String>;

            pub(super) const CALLS: [(&str, Call); 16] = [
                ("send", |world| {
                    Some(
                        match world.sender.take()?.send(Value(world.drops.clone())) {
                            Ok(()) => "sent".to_owned(),
                            Err(error) => format!("{error:20} {:?}", error.as_inner()),
                        },
                    )
                }),
                ("drop(sender)", |world| {
                    world.sender.take().map(drop).map(text)
                }),
                ("sender.is_closed", |world| {
                    world.sender.as_ref().map(Sender::is_closed).map(text)
                }),
                ("Sender::from_raw", |world| {
                    let raw = world.sender.take()?.into_raw();
                    // SAFETY: the pointer of a sender of the same type, used once.
                    world.sender = Some(unsafe { Sender::from_raw(raw) });
                    Some(String::new())
                }),
                ("try_recv", |world| {
                    said(world.receiver.as_ref()?.try_recv())
                }),
                ("recv_timeout", |world| {
                    said(world.receiver.as_ref()?.recv_timeout(SOON))
                }),
                ("recv_deadline", |world| {
                    said(world.receiver.as_ref()?.recv_deadline(Instant::now()))
                }),
                ("recv_ref", |world| match world.sender {
                    Some(_) => None,
                    None => said(world.receiver.as_ref()?.recv_ref()),
                }),
                ("recv", |world| match world.sender {
                    Some(_) => None,
                    None => said(world.receiver.take()?.recv()),
                }),
                ("is_closed", |world| {
                    let future = world.future.as_ref().map(AsyncReceiver::is_closed);
                    let receiver = world.receiver.as_ref().map(Receiver::is_closed);
                    receiver.or(future).map(text)
                }),
                ("has_message", |world| {
                    let future = world.future.as_ref().map(AsyncReceiver::has_message);
                    let receiver = world.receiver.as_ref().map(Receiver::has_message);
                    receiver.or(future).map(text)
                }),
                ("Receiver::from_raw", |world| {
                    let raw = world.receiver.take()?.into_raw();
                    // SAFETY: the pointer of a receiver of the same type, used once.
                    world.receiver = Some(unsafe { Receiver::from_raw(raw) });
                    Some(String::new())
                }),
                ("into_future", |world| {
                    world.future = Some(world.receiver.take()?.into_future());
                    Some(String::new())
                }),
                ("poll", |world| world.poll(0)),
                ("poll with another waker", |world| world.poll(1)),
                ("drop(receiver)", |world| {
                    let receiver = world.receiver.take().map(drop);
                    receiver.or_else(|| world.future.take().map(drop)).map(text)
                }),
            ];

            /// Returns what each call answers, with the values dropped, the wakes and the wakers
            /// after it.
            pub(super) fn run(calls: &[usize]) -> Option<Vec<String>> {
                let (sender, receiver) = channel();
                let mut world = World {
                    sender: Some(sender),
                    receiver: Some(receiver),
                    future: None,
                    drops: Arc::default(),
                    wakes: Default::default(),
                };
                let mut events = Vec::new();
                for &call in calls {
                    let mut said = CALLS[call].1(&mut world)?;
                    said += &format!(" {}", world.drops.load(Relaxed));
                    for wakes in &world.wakes {
                        let count = wakes.0.load(Relaxed);
                        said += &format!(" {count} {}", Arc::strong_count(wakes));
                    }
                    events.push(said);
                }
                let drops = world.drops.clone();
                drop(world);
                events.push(text(drops.load(Relaxed)));
                Some(events)
            }

            impl World {
                fn poll(&mut self, which: usize) -> Option<String> {
                    let waker = Waker::from(self.wakes[which].clone());
                    let future = Pin::new(self.future.as_mut()?);
                    let polled = future.poll(&mut Context::from_waker(&waker));
                    Some(text(polled.map(|answer| answer.map(drop))))
                }
            }

            fn said<E: std::error::Error>(received: Result<Value, E>) -> Option<String> {
                let error = |error| format!("{error:20} {error:?}");
                Some(received.map_or_else(error, |_| "received".to_owned()))
            }

            fn text(answer: impl std::fmt::Debug) -> String {
                format!("{answer:?}")
            }
        }
    };
}

on!(here, oneshot);
on!(there, upstream);

fn compare(calls: &mut Vec<usize>, left: usize) -> usize {
    let there = there::run(calls);
    let names = || calls.iter().map(|&call| here::CALLS[call].0);
    assert_eq!(here::run(calls), there, "{:?}", names().collect::<Vec<_>>());
    // A sequence that ends early has no longer ones behind it.
    if left == 0 || there.is_none() {
        return 1;
    }
    let mut compared = 1;
    for call in 0..here::CALLS.len() {
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
