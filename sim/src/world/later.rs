//! What happens at a time: timers, and the world's own events.

use alloc::{boxed::Box, vec::Vec};
use core::{
    cmp::{Ordering, Reverse},
    mem,
    time::Duration,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    super::{
        clock,
        failure::Kind,
        record::{Actor, What},
        tasks::Due,
    },
    World,
};

/// What happens at a time.
pub(super) enum Act {
    Call(Box<dyn FnOnce(&World)>),
    /// A wake-up is delivered.
    Queue(Due),
}

/// Something that happens at a time.
pub(super) struct Later {
    pub(super) at: u64,
    pub(super) number: u64,
    act: Act,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl World {
    /// Returns the time of the next timer or event.
    pub(super) fn next_event(&self) -> Option<u64> {
        let later = self.later.borrow().peek().map(|Reverse(later)| later.at);
        let pools = self.pools.borrow();
        let timers = pools.iter().filter_map(|pool| pool.next_timer());
        timers
            .chain(later)
            .chain(self.threads.next_deadline())
            .min()
    }

    /// Lets the time pass, and everything happen that is due then.
    pub(super) fn pass_to(&self, time: u64) {
        if time > self.limits.time {
            let limit = Duration::from_nanos(self.limits.time - self.start);
            self.fail(Kind::Time(limit));
            return;
        }
        if time != self.now.get() {
            self.now.set(time);
            clock::set(time);
            self.note(Actor::TIMER, What::TimePassed);
        }
        let before = self.acting.replace(Actor::TIMER);
        self.fire(time);
        self.wake_calls(time);
        while let Some(act) = self.take_later(time) {
            match act {
                Act::Call(call) => call(self),
                Act::Queue(due) => self.agenda.borrow_mut().due.push_back(due),
            }
        }
        self.collect_injected();
        self.wake_main();
        self.acting.set(before);
    }

    fn fire(&self, time: u64) {
        let mut wakers = self.fired.take();
        for pool in self.pools.borrow().iter() {
            let worker = &pool.first().worker;
            worker.take_due(clock::instant(time), &mut wakers);
        }
        for waker in wakers.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(|| self.wake_timer(waker)));
        }
        self.fired.set(wakers);
    }

    fn take_later(&self, time: u64) -> Option<Act> {
        let mut later = self.later.borrow_mut();
        let is_due = later.peek().is_some_and(|Reverse(next)| next.at <= time);
        is_due
            .then(|| later.pop().map(|Reverse(later)| later.act))
            .flatten()
    }

    /// Calls a function when the virtual time comes to `at`. Calls of one time keep their order.
    pub(crate) fn at(&self, at: u64, act: impl FnOnce(&Self) + 'static) {
        self.later(at, Act::Call(Box::new(act)));
    }

    pub(super) fn later(&self, at: u64, act: Act) {
        let number = self.laters.get();
        self.laters.set(number + 1);
        let later = Later { at, number, act };
        self.later.borrow_mut().push(Reverse(later));
    }

    /// Takes the wake-ups of this kind that have not been delivered yet, in their order.
    pub(super) fn take_held(&self, is_one: impl Fn(&Due) -> bool) -> Vec<Due> {
        let mut later = self.later.borrow_mut();
        let mut held = Vec::new();
        for Reverse(one) in mem::take(&mut *later).into_sorted_vec().into_iter().rev() {
            match one.act {
                Act::Queue(due) if is_one(&due) => held.push(due),
                _ => later.push(Reverse(one)),
            }
        }
        held
    }
}
