//! Models of the readiness of a descriptor, and of the tasks that wait for it
//! (`joint-executor/src/driver/reactor`). The model has descriptors of its own: a count of the
//! bytes that have arrived, which plain loads look at, and a count of those that were read.
//!
//! Waiters are polled by hand. Each is pending only if it will be woken, and each byte that arrived
//! is read.

use std::io;

use joint_executor::model::Source;
use loom::{sync::atomic::AtomicUsize, thread};

use crate::prelude::*;

struct World {
    source: Source,
    come: AtomicUsize,
    read: AtomicUsize,
}

/// How a task waits.
#[derive(Clone, Copy)]
enum By {
    /// A `poll_…` function.
    Call,
    Future,
}

impl World {
    fn new(come: usize) -> Arc<Self> {
        Arc::new(Self {
            source: Source::new(),
            come: AtomicUsize::new(come),
            read: AtomicUsize::new(0),
        })
    }

    fn arrive(&self, count: usize) {
        // A plain store, which one thread alone makes, because every thread would see a
        // read-modify-write.
        let come = self.come.load(Relaxed);
        self.come.store(come + count, Relaxed);
        wake(self.source.event(false));
    }

    fn try_read(&self, most: usize) -> io::Result<usize> {
        let mut read = self.read.load(Relaxed);
        loop {
            let count = most.min(self.come.load(Relaxed).saturating_sub(read));
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let taken = (self.read).compare_exchange(read, read + count, Relaxed, Relaxed);
            match taken {
                Ok(_) => return Ok(count),
                Err(now) => read = now,
            }
        }
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// A reader that waits for one byte, and the count of its wake-ups.
struct Reader {
    world: Arc<World>,
    wakes: Arc<Wakes>,
    future: Option<Pin<Box<dyn Future<Output = io::Result<usize>>>>>,
}

// SAFETY: the future holds references that may be sent, and only the thread that has the reader
// polls it.
unsafe impl Send for Reader {}

impl Reader {
    fn new(world: &Arc<World>, by: By) -> Self {
        let world = world.clone();
        let own = world.clone();
        let future = async move { own.source.done(|| own.try_read(1)).await };
        Self {
            world,
            wakes: Wakes::new(),
            future: match by {
                By::Call => None,
                By::Future => Some(Box::pin(future)),
            },
        }
    }

    fn poll(&mut self) -> Poll<io::Result<usize>> {
        let waker = self.wakes.waker();
        let mut cx = Context::from_waker(&waker);
        match &mut self.future {
            Some(future) => future.as_mut().poll(&mut cx),
            None => {
                let read = || self.world.try_read(1);
                self.world.source.poll(&mut cx, 0, read)
            }
        }
    }

    /// Polls once. [`finish`](Reader::finish) checks the answer.
    fn begin(mut self) -> (Self, Poll<io::Result<usize>>) {
        let first = self.poll();
        (self, first)
    }

    /// Polls to the end, after all bytes have arrived.
    fn finish(mut self, first: Poll<io::Result<usize>>) -> io::Result<usize> {
        match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => {
                assert_eq!(self.wakes.count(), 1, "woken");
                match self.poll() {
                    Poll::Ready(answer) => answer,
                    Poll::Pending => panic!("the wake-up was spurious, and no other follows"),
                }
            }
        }
    }
}

fn event_against_wait(by: By) {
    model(move || {
        let world = World::new(0);
        let system = start(&world, move |world| world.arrive(1));
        let (reader, first) = Reader::new(&world, by).begin();
        system.join().unwrap();
        assert_eq!(reader.finish(first).unwrap(), 1);
    });
}

/// Two events: the first may be used up by the time the second arrives.
fn two_events_against_two_reads(by: By) {
    model_bounded(3, move || {
        let world = World::new(0);
        let system = start(&world, move |world| {
            world.arrive(1);
            world.arrive(1);
        });
        let mut read = 0;
        let mut pending = None;
        for _ in 0..2 {
            let (reader, first) = Reader::new(&world, by).begin();
            match first {
                Poll::Ready(count) => read += count.unwrap(),
                Poll::Pending => {
                    pending = Some(reader);
                    break;
                }
            }
        }
        system.join().unwrap();
        if let Some(mut reader) = pending {
            assert!(reader.wakes.count() >= 1, "woken");
            read += match reader.poll() {
                Poll::Ready(count) => count.unwrap(),
                Poll::Pending => panic!("the wake-up was spurious"),
            };
        }
        while let Ok(count) = world.try_read(1) {
            read += count;
        }
        assert_eq!(read, 2);
    });
}

/// One event is enough for two waiters: an attempt of one waiter does not hide the other's byte.
#[test]
fn two_waiters_and_one_event_for_both() {
    model_bounded(3, || {
        let world = World::new(0);
        let other = start(&world, |world| Reader::new(&world, By::Future).begin());
        let system = start(&world, move |world| world.arrive(2));
        let (reader, first) = Reader::new(&world, By::Future).begin();
        let (other, others_first) = other.join().unwrap();
        system.join().unwrap();
        assert_eq!(reader.finish(first).unwrap(), 1);
        assert_eq!(other.finish(others_first).unwrap(), 1);
    });
}

#[test]
fn a_dropped_waiter_against_an_event() {
    model(|| {
        let world = World::new(0);
        let mut stays = Reader::new(&world, By::Future);
        assert!(stays.poll().is_pending());
        let mut goes = Reader::new(&world, By::Future);
        assert!(goes.poll().is_pending());
        let system = start(&world, move |world| world.arrive(1));
        goes.future = None;
        system.join().unwrap();
        assert_eq!(goes.wakes.wakers(), 0);
        assert_eq!(stays.finish(Poll::Pending).unwrap(), 1);
    });
}

fn end_against_wait(by: By) {
    model(move || {
        let world = World::new(0);
        let end = start(&world, move |world| wake(world.source.end()));
        let (reader, first) = Reader::new(&world, by).begin();
        end.join().unwrap();
        let error = reader.finish(first).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other);
    });
}

#[test]
fn a_source_dropped_against_an_event() {
    model(|| {
        let world = World::new(0);
        let mut reader = Reader::new(&world, By::Call);
        assert!(reader.poll().is_pending());
        let wakes = reader.wakes.clone();
        let system = thread::spawn(move || world.arrive(1));
        drop(reader);
        system.join().unwrap();
        assert_eq!(wakes.wakers(), 0);
    });
}

/// A stream's read that falls short, while more bytes arrive: the next read does not miss them.
#[test]
fn a_short_read_against_an_event() {
    model(|| {
        let world = World::new(1);
        let system = start(&world, move |world| world.arrive(1));
        let wakes = Wakes::new();
        let read = Cell::new(0);
        let poll = || {
            let waker = wakes.waker();
            let mut cx = Context::from_waker(&waker);
            let poll = (world.source).poll(&mut cx, 4, || world.try_read(4));
            poll.map(|count| read.set(read.get() + count.unwrap()))
        };
        assert!(poll().is_ready());
        let waits = read.get() == 1 && poll().is_pending();
        system.join().unwrap();
        if waits {
            assert_eq!(wakes.count(), 1);
            assert!(poll().is_ready());
        }
        assert_eq!(read.get(), 2);
        assert!(poll().is_pending());
    });
}

models! {
    an_event_against_a_caller_that_waits: event_against_wait(By::Call);
    an_event_against_a_future_that_waits: event_against_wait(By::Future);
    two_events_against_a_caller_that_reads_twice: two_events_against_two_reads(By::Call);
    two_events_against_futures_that_read_twice: two_events_against_two_reads(By::Future);
    the_end_against_a_caller_that_waits: end_against_wait(By::Call);
    the_end_against_a_future_that_waits: end_against_wait(By::Future);
}
