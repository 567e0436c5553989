//! [`Pools`]: the executors of a world, and which of them have something for it.
//!
//! A step must not look at all of them, because a world with a thousand hosts has a thousand. So
//! the hooks of an executor mark it when a task is pushed to it, or a timer armed.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use super::{super::clock::NEVER, pool::Pool};
use joint_executor::hosted::ExecutorId;

/// The executors of a world by their numbers. The first one is that of the main future.
#[derive(Default)]
pub(super) struct Pools {
    pub(super) all: RefCell<Vec<Rc<Pool>>>,
    timers: RefCell<Earliest>,
    /// The numbers of those that something was pushed to.
    pushed: Cell<Vec<u16>>,
}

impl Pools {
    /// Returns the number of an executor that has not ended.
    pub(super) fn number_of(&self, id: ExecutorId) -> u16 {
        let all = self.all.borrow();
        let mut all = (0..).zip(&*all);
        let own = all.find(|(_, pool)| pool.id == id && !pool.has_ended.get());
        own.expect("the executor has just been added").0
    }

    /// Something was pushed to an executor from elsewhere than its workers.
    pub(super) fn pushed(&self, number: u16) {
        let mut pushed = self.pushed.take();
        if pushed.last() != Some(&number) {
            pushed.push(number);
        }
        self.pushed.set(pushed);
    }

    /// Calls `f` with those that something was pushed to, in the order of their numbers.
    #[inline(always)]
    pub(super) fn each_pushed(&self, f: impl FnMut(u16, &Pool)) {
        let pushed = self.pushed.take();
        if !pushed.is_empty() {
            self.each_of(pushed, f);
        }
    }

    #[inline(never)]
    fn each_of(&self, mut pushed: Vec<u16>, mut f: impl FnMut(u16, &Pool)) {
        pushed.sort_unstable();
        pushed.dedup();
        let all = self.all.borrow();
        for number in pushed.drain(..) {
            f(number, &all[usize::from(number)]);
        }
        self.pushed.set(pushed);
    }

    /// A timer of an executor was armed for this time.
    pub(super) fn armed(&self, number: u16, at: u64) {
        let mut timers = self.timers.borrow_mut();
        if at < timers.of(number) {
            timers.set(number, at);
        }
    }

    /// Returns the earliest deadline of a timer that has not been given up. `of` tells it of one
    /// executor.
    pub(super) fn next_timer(&self, of: impl Fn(&Pool) -> Option<u64>) -> Option<u64> {
        let mut timers = self.timers.borrow_mut();
        loop {
            let at = timers.earliest();
            let number = timers.first_until(at).filter(|_| at != NEVER)?;
            // The one that it was armed for may have been given up.
            let next = of(&self.all.borrow()[usize::from(number)]);
            timers.set(number, next.unwrap_or(NEVER));
            if next == Some(timers.earliest()) {
                return next;
            }
        }
    }

    /// Calls `f`, which fires the timers that are due then, with each executor that may have some,
    /// in the order of their numbers.
    pub(super) fn each_due(&self, time: u64, mut f: impl FnMut(&Pool)) {
        let (all, mut timers) = (self.all.borrow(), self.timers.borrow_mut());
        while let Some(number) = timers.first_until(time) {
            let pool = &all[usize::from(number)];
            f(pool);
            // None is left that is due, and the next one is looked up when it is needed.
            timers.set(number, time.saturating_add(1));
        }
    }
}

/// A time for each number, as a tree of minima. None of them is later than the executor's earliest
/// timer. `NEVER` if it has none.
#[derive(Default)]
struct Earliest {
    /// The children of `n` are `2n` and `2n + 1`. The second half are the leaves.
    tree: Vec<u64>,
}

impl Earliest {
    fn of(&self, number: u16) -> u64 {
        let leaf = self.tree.len() / 2 + usize::from(number);
        self.tree.get(leaf).copied().unwrap_or(NEVER)
    }

    fn set(&mut self, number: u16, at: u64) {
        let number = usize::from(number);
        if number >= self.tree.len() / 2 {
            self.grow(number + 1);
        }
        let mut place = self.tree.len() / 2 + number;
        self.tree[place] = at;
        while place > 1 {
            place /= 2;
            self.tree[place] = self.tree[2 * place].min(self.tree[2 * place + 1]);
        }
    }

    #[cold]
    fn grow(&mut self, numbers: usize) {
        let leaves = self.tree.split_off(self.tree.len() / 2);
        self.tree = vec![NEVER; 2 * numbers.next_power_of_two()];
        for (number, at) in (0..).zip(leaves) {
            self.set(number, at);
        }
    }

    fn earliest(&self) -> u64 {
        self.tree.get(1).copied().unwrap_or(NEVER)
    }

    /// Returns the first number whose time is not after this.
    fn first_until(&self, time: u64) -> Option<u16> {
        let width = self.tree.len() / 2;
        if self.earliest() > time || width == 0 {
            return None;
        }
        let mut place = 1;
        while place < width {
            place *= 2;
            place += usize::from(self.tree[place] > time);
        }
        u16::try_from(place - width).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_of_any_number_is_found_in_the_order_of_numbers() {
        let mut tree = Earliest::default();
        assert_eq!((tree.earliest(), tree.first_until(NEVER)), (NEVER, None));
        for (number, at) in [(0, 7), (5, 3), (2, 9), (4, 3), (300, 8)] {
            tree.set(number, at);
        }
        assert_eq!((tree.of(2), tree.of(3), tree.of(9_999)), (9, NEVER, NEVER));
        let mut due = Vec::new();
        while let Some(number) = tree.first_until(8) {
            due.push((number, tree.of(number)));
            tree.set(number, NEVER);
        }
        assert_eq!(due, [(0, 7), (4, 3), (5, 3), (300, 8)]);
        assert_eq!(tree.earliest(), 9);
    }
}
