//! Checks the same promises of each selector: the system's own, and `polling`, where events are
//! requested once or each time.

use alloc::{sync::Arc, vec::Vec};
use core::{
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::Instant,
};

use polling::PollMode;

use super::super::clock::{self, NEVER};
use super::{
    EventSource, Interest, Reactor, Registration, Way, number,
    selector::{Portable, Selector, System},
};
use crate::wakes::counting;

/// Longer than any test that passes.
const LONG: Duration = Duration::from_secs(60);

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    one.set_nonblocking(true).unwrap();
    other.set_nonblocking(true).unwrap();
    (one, other)
}

/// A reactor, and the thread that waits in it.
struct World<S: Selector> {
    reactor: Arc<Reactor<S>>,
    events: S::Events,
}

impl<S: Selector> World<S> {
    fn new(selector: S) -> Self {
        Self {
            reactor: Arc::new(Reactor::with(selector)),
            events: S::Events::default(),
        }
    }

    fn register(&self, stream: &TcpStream) -> Registration<S> {
        // SAFETY: the tests drop the registration first.
        unsafe { self.reactor.register(number(stream), Interest::ALL) }.unwrap()
    }

    /// Waits until `over` returns true, and wakes the wakers.
    fn turn_until(&mut self, mut over: impl FnMut() -> bool) {
        let start = Instant::now();
        while !over() {
            assert!(start.elapsed() < LONG, "nothing has happened for too long");
            self.wait_until(clock::now() + 100_000_000);
        }
    }

    fn wait_until(&mut self, until: u64) {
        let mut woken = Vec::new();
        self.reactor.wait(&mut self.events, until, &mut woken);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Takes the events that have arrived by now.
    fn look(&mut self) {
        self.wait_until(0);
    }
}

fn read(
    registration: &Registration<impl Selector>,
    mut stream: &TcpStream,
    waker: &Waker,
) -> Poll<io::Result<Vec<u8>>> {
    let read = || {
        let mut buffer = [0; 64];
        let count = stream.read(&mut buffer)?;
        Ok(buffer[..count].to_vec())
    };
    let mut cx = Context::from_waker(waker);
    registration.poll(Way::Read, &mut cx, read, |_| false)
}

/// Reads, and takes a read that falls short to mean that nothing is left.
fn read_short(
    registration: &Registration<impl Selector>,
    mut stream: &TcpStream,
) -> Poll<io::Result<usize>> {
    let mut cx = Context::from_waker(Waker::noop());
    let read = || stream.read(&mut [0; 64]);
    registration.poll(Way::Read, &mut cx, read, |count| (1..64).contains(count))
}

fn done(poll: Poll<io::Result<Vec<u8>>>) -> Vec<u8> {
    match poll {
        Poll::Ready(Ok(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

fn woken_by_each_arrival<S: Selector>(mut world: World<S>) {
    let (mut far, near) = pair();
    let registration = world.register(&near);
    for round in 0..10u8 {
        let (count, waker) = counting();
        assert!(read(&registration, &near, &waker).is_pending());
        far.write_all(&[round]).unwrap();
        world.turn_until(|| count.count() > 0);
        assert_eq!(done(read(&registration, &near, &waker)), [round]);
    }
}

/// No task waits when the byte arrives, and it is found all the same.
fn arrivals_without_a_waiter_are_known<S: Selector>(mut world: World<S>) {
    let (mut far, near) = pair();
    let registration = world.register(&near);
    let (_, waker) = counting();
    assert!(read(&registration, &near, &waker).is_pending());
    far.write_all(&[7]).unwrap();
    world.turn_until(|| !read(&registration, &near, &waker).is_pending());
    far.write_all(&[8]).unwrap();
    world.turn_until(|| !read(&registration, &near, &waker).is_pending());
}

fn both_directions_wait<S: Selector>(mut world: World<S>) {
    let (mut far, near) = pair();
    let registration = world.register(&near);
    let fill = || (&near).write(&[1; 4096]);
    let (reads, reader) = counting();
    let (writes, writer) = counting();
    assert!(read(&registration, &near, &reader).is_pending());
    let mut written = 0;
    let mut cx = Context::from_waker(&writer);
    let mut write = || registration.poll(Way::Write, &mut cx, fill, |_| false);
    while let Poll::Ready(count) = write() {
        written += count.unwrap();
    }
    world.look();
    far.write_all(&[2]).unwrap();
    world.turn_until(|| reads.count() > 0);
    assert_eq!(done(read(&registration, &near, &reader)), [2]);
    // The writer still waits, without having requested it again.
    let before = writes.count();
    far.set_nonblocking(false).unwrap();
    far.read_exact(&mut std::vec![0; written]).unwrap();
    world.turn_until(|| writes.count() > before);
    assert!(write().is_ready());
}

fn a_hang_up_is_read_as_the_end<S: Selector>(mut world: World<S>) {
    let (far, near) = pair();
    let registration = world.register(&near);
    let (count, waker) = counting();
    assert!(read(&registration, &near, &waker).is_pending());
    drop(far);
    world.turn_until(|| count.count() > 0);
    assert_eq!(done(read(&registration, &near, &waker)), []);
}

/// The last bytes and the end arrive together: a read that falls short does not hide the end.
fn the_end_behind_a_short_read_is_found<S: Selector>(mut world: World<S>) {
    let (mut far, near) = pair();
    let registration = world.register(&near);
    let read = || read_short(&registration, &near);
    assert!(read().is_pending());
    far.write_all(&[1, 2]).unwrap();
    drop(far);
    let mut counts = Vec::new();
    world.turn_until(|| {
        if let Poll::Ready(count) = read() {
            counts.push(count.unwrap());
        }
        counts.len() == 2
    });
    assert_eq!(counts, [2, 0]);
}

/// A short read that ends at the mark of urgent data does not hide the bytes behind it.
#[cfg(unix)]
fn bytes_behind_urgent_data_are_read<S: Selector>(mut world: World<S>) {
    let (far, near) = pair();
    let registration = world.register(&near);
    let read = || read_short(&registration, &near);
    assert!(read().is_pending());
    let far = socket2::Socket::from(far);
    far.send(&[1, 2]).unwrap();
    far.send_out_of_band(&[3]).unwrap();
    far.send(&[4, 5, 6]).unwrap();
    let mut sum = 0;
    world.turn_until(|| {
        while let Poll::Ready(count) = read() {
            sum += count.unwrap();
        }
        sum == 5
    });
}

fn an_interruption_ends_the_wait<S: Selector>(mut world: World<S>) {
    for _ in 0..3 {
        world.reactor.interrupt();
        world.reactor.interrupt();
        world.wait_until(NEVER);
    }
    // An interrupt that arrives during the wait.
    for _ in 0..20 {
        let (reactor, mut events) = (world.reactor.clone(), S::Events::default());
        let (sender, ended) = mpsc::channel();
        let waiter = thread::spawn(move || {
            reactor.wait(&mut events, NEVER, &mut Vec::new());
            sender.send(()).unwrap();
        });
        world.reactor.interrupt();
        ended.recv_timeout(LONG).expect("the wait ends");
        waiter.join().unwrap();
        world.look();
    }
}

fn a_wait_ends_at_its_time_and_not_before<S: Selector>(mut world: World<S>) {
    for nanos in [0, 1, 50_000, 2_000_000] {
        let (until, mut waits) = (clock::now() + nanos, 0);
        while clock::now() < until {
            world.wait_until(until);
            waits += 1;
        }
        assert!(waits <= 2, "{waits} waits for {nanos} ns");
    }
}

fn sources_are_counted<S: Selector>(world: World<S>) {
    let (far, near) = pair();
    assert!(!world.reactor.has_sources());
    let one = world.register(&near);
    let other = world.register(&far);
    assert!(world.reactor.has_sources());
    drop(one);
    assert!(world.reactor.has_sources());
    drop(other);
    assert!(!world.reactor.has_sources());
    // A dropped registration allows another one.
    drop(world.register(&near));
}

fn a_source_dropped_while_awaited_leaves_nothing<S: Selector>(mut world: World<S>) {
    let (mut far, near) = pair();
    let registration = world.register(&near);
    let (count, waker) = counting();
    assert!(read(&registration, &near, &waker).is_pending());
    far.write_all(&[1]).unwrap();
    drop(registration);
    assert_eq!(count.wakers(), 1);
    world.look();
    assert_eq!(count.count(), 0);
}

/// If a number is closed under its registration and used again, it belongs to the later
/// registration.
#[cfg(unix)]
fn a_number_used_again_is_the_later_registrations<S: Selector>(mut world: World<S>) {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let (far, near) = pair();
    let one = world.register(&near);
    let number = near.as_raw_fd();
    let (mut other_far, other_near) = pair();
    // SAFETY: the number is that of `near`. This closes it, and `again` owns it afterwards.
    let taken = unsafe { libc::dup2(other_near.as_raw_fd(), number) };
    assert_eq!(taken, number);
    core::mem::forget(near);
    drop((far, other_near));
    // SAFETY: the descriptor was just made.
    let again = TcpStream::from(unsafe { OwnedFd::from_raw_fd(number) });
    let other = world.register(&again);
    drop(one);
    let (count, waker) = counting();
    assert!(read(&other, &again, &waker).is_pending());
    other_far.write_all(&[5]).unwrap();
    world.turn_until(|| count.count() > 0);
    assert_eq!(done(read(&other, &again, &waker)), [5]);
    drop(other);
}

macro_rules! of_each_selector {
    ($($(#[$attr:meta])* $name:ident;)*) => {
        mod own {
            use super::*;
            $($(#[$attr])* #[test] fn $name() { super::$name(World::new(System::new().unwrap())); })*
        }

        mod portable {
            use super::*;
            $($(#[$attr])* #[test] fn $name() { super::$name(World::new(Portable::with(PollMode::Edge).unwrap())); })*
        }

        mod oneshot {
            use super::*;
            $($(#[$attr])* #[test] fn $name() { super::$name(World::new(Portable::with(PollMode::Oneshot).unwrap())); })*
        }
    };
}

of_each_selector! {
    woken_by_each_arrival;
    arrivals_without_a_waiter_are_known;
    both_directions_wait;
    a_hang_up_is_read_as_the_end;
    the_end_behind_a_short_read_is_found;
    #[cfg(unix)] bytes_behind_urgent_data_are_read;
    an_interruption_ends_the_wait;
    a_wait_ends_at_its_time_and_not_before;
    sources_are_counted;
    a_source_dropped_while_awaited_leaves_nothing;
    #[cfg(unix)] a_number_used_again_is_the_later_registrations;
}

#[cfg(target_os = "linux")]
#[test]
fn a_selector_that_is_dropped_closes_its_descriptors() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    // More than the other tests open meanwhile.
    for _ in 0..1_000 {
        drop(Portable::with(PollMode::Edge).unwrap());
    }
    assert!(open() < before + 1_000);
}
