//! Models of wake-ups from outside (`executor/visitors.rs`) while the executor ends: the executor
//! is freed once, and after every thread that was inside has left.
#![cfg(joint_loom)]

use std::sync::{
    Arc,
    atomic::{
        AtomicUsize as Counter,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release},
    },
};

use joint_executor::model::Visitors;
use joint_switch::model::sites_seen;
use loom_tests::lab::{cell::UnsafeCell, sync::atomic::AtomicUsize, thread};
use loom_tests::{assert_killed, model, model_bounded, rmws_of};

/// An executor, as its memory.
struct Memory {
    visitors: Visitors,
    /// What a visitor accesses after its push.
    body: UnsafeCell<()>,
}

struct World {
    memory: std::cell::UnsafeCell<Memory>,
    /// Owners, as an `Arc` counts them.
    owners: AtomicUsize,
    /// Tasks that were pushed.
    queue: AtomicUsize,
    /// Not an atomic of the model, so it makes no edges.
    freed: Counter,
}

// SAFETY: `memory` is accessed only as the protocol allows, which the model checks.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

/// How a task is counted.
#[derive(Clone, Copy)]
enum Task {
    /// A worker takes it. The worker keeps the executor alive only up to the push.
    Taken,
    /// It remained when the last worker left, and it owns the executor until it is disposed of.
    Left,
}

impl World {
    /// Owned by the last worker, and by each task that remains.
    fn new(left: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: std::cell::UnsafeCell::new(Memory {
                visitors: Visitors::new(),
                body: UnsafeCell::new(()),
            }),
            owners: AtomicUsize::new(1 + left),
            queue: AtomicUsize::new(0),
            freed: Counter::new(0),
        })
    }

    fn visitors(&self) -> *const Visitors {
        // SAFETY: in bounds.
        unsafe { &raw const (*self.memory.get()).visitors }
    }

    /// Drops one owner.
    fn release(&self) {
        if self.owners.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        self.freed.fetch_add(1, Relaxed);
        // SAFETY: nobody else uses it any more, or the model fails.
        let memory = unsafe { &mut *self.memory.get() };
        memory.body.with_mut(|_| ());
        memory.visitors.retire();
    }

    /// As `Scheduler::schedule` on a thread that is not a worker.
    fn wake(&self, room: usize, task: Task) {
        // SAFETY: the task that is not pushed yet keeps it alive.
        let is_inside = unsafe { &*self.visitors() }.enter(room);
        if !is_inside {
            self.owners.fetch_add(1, Relaxed);
        }
        match task {
            Task::Taken => drop(self.queue.fetch_add(1, Release)),
            Task::Left => self.release(),
        }
        // SAFETY: in bounds, and alive, because this thread is inside, or an owner.
        unsafe { &(*self.memory.get()).body }.with(|_| ());
        // SAFETY: entered.
        if !is_inside || unsafe { Visitors::leave(self.visitors(), room) } {
            self.release();
        }
    }

    /// Ends as the last worker does, if it has run `tasks` tasks. Returns whether it has ended.
    fn end(&self, tasks: usize) -> bool {
        if self.queue.load(Acquire) < tasks {
            return false;
        }
        self.owners.fetch_add(1, Relaxed);
        // SAFETY: it is alive because the last worker is an owner.
        if !unsafe { &*self.visitors() }.close() {
            self.release();
        }
        self.release();
        true
    }

    fn assert_over(&self, has_ended: bool) {
        assert_eq!(self.freed.load(Relaxed), usize::from(has_ended));
    }
}

/// Runs `f` on a thread of the model.
fn start(world: &Arc<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

fn one_visitor() {
    model(|| {
        let world = World::new(0);
        let visitor = start(&world, |world| world.wake(0, Task::Taken));
        let has_ended = world.end(1);
        visitor.join().unwrap();
        world.assert_over(has_ended);
    });
}

#[test]
fn a_visitor_against_the_end() {
    one_visitor();
}

/// Two threads wake tasks, in rooms of their own or in one room, and the last worker ends once it
/// has both tasks. Preemption bound 4.
fn two_visitors(rooms: [usize; 2]) {
    model_bounded(4, move || {
        let world = World::new(0);
        let visitors = rooms.map(|room| start(&world, move |world| world.wake(room, Task::Taken)));
        let has_ended = world.end(2);
        for visitor in visitors {
            visitor.join().unwrap();
        }
        world.assert_over(has_ended);
    });
}

/// Preemption bound 4.
#[test]
fn two_visitors_in_two_rooms_against_the_end() {
    two_visitors([0, 1]);
}

/// Preemption bound 4.
#[test]
fn two_visitors_in_one_room_against_the_end() {
    two_visitors([0, 0]);
}

/// The workers left one of the tasks to its waker, which may therefore arrive when the rooms are
/// closed. Preemption bound 4.
#[test]
fn one_who_comes_late_spoils_nothing() {
    model_bounded(4, || {
        let world = World::new(1);
        let visitors =
            [Task::Taken, Task::Left].map(|task| start(&world, move |world| world.wake(0, task)));
        let has_ended = world.end(1);
        for visitor in visitors {
            visitor.join().unwrap();
        }
        world.assert_over(has_ended);
    });
}

/// Each room is on a cache line of its own, so threads in different rooms do not slow each other
/// down.
#[test]
fn a_visit_takes_two_operations() {
    model(|| {
        let world = World::new(0);
        // SAFETY: this world stays alive.
        let visitors = unsafe { &*world.visitors() };
        assert_eq!(rmws_of(|| assert!(visitors.enter(1))), 1);
        let leave = || {
            // SAFETY: entered above.
            assert!(!unsafe { Visitors::leave(visitors, 1) });
        };
        assert_eq!(rmws_of(leave), 1);
        assert!(!visitors.close());
    });
}

macro_rules! killed {
    ($($name:ident: $site:literal -> $ordering:ident by $model:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_killed(concat!("executor::visitors::", $site), Ordering::$ordering, || $model);
        }
    )*};
}

killed! {
    leave_releases: "leave" -> Relaxed by one_visitor();
    close_room_acquires: "close_room" -> Relaxed by one_visitor();
    leave_late_acquires: "leave_late" -> Release by two_visitors([0, 1]);
    leave_late_releases: "leave_late" -> Acquire by two_visitors([0, 1]);
    close_acquires: "close" -> Relaxed by one_visitor();
}

/// Each site either asks for `Relaxed` or is weakened above.
#[test]
fn no_site_is_left_out() {
    two_visitors([0, 1]);
    for (site, asked) in sites_seen() {
        let killed = ["leave", "close_room", "leave_late", "close"];
        let is_killed = killed
            .iter()
            .any(|name| site.ends_with(&format!("::{name}")));
        let is_ours = site.starts_with("executor::visitors::");
        assert!(
            !is_ours || is_killed || asked == Relaxed,
            "no model kills `{site}`"
        );
    }
}
