//! A [`Dump`] as text.

use alloc::{format, string::String, vec::Vec};
use core::{fmt, mem, time::Duration};

use super::{Dump, TaskDump, WaitsFor};

/// The deepest chain that is still indented further.
const DEEPEST: usize = 24;

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waited, live) = (self.tasks.len(), self.live);
        writeln!(f, "{waited} of {live} tasks have waited")?;
        let mut seen = alloc::vec![false; waited];
        for root in (0..waited).filter(|&place| self.tasks[place].waiter.is_none()) {
            self.tree(root, &mut seen, f)?;
        }
        for cycle in self.places_of_cycles() {
            let waits = |&place: &usize| self.tasks[place].waits_for.len();
            f.write_str("a cycle: each waits for the next, and none will end")?;
            f.write_str(match cycle.iter().all(|place| waits(place) == 1) {
                true => "\n",
                false => " unless one goes on by what else it waits for\n",
            })?;
            self.tree(cycle[0], &mut seen, f)?;
        }
        Ok(())
    }
}

impl Dump {
    /// Writes a task, and below it the tasks that it waits for. One that was seen is not written
    /// again: it closes a cycle, or has changed while the dump was made.
    fn tree(&self, root: usize, seen: &mut [bool], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = Vec::from([(root, 0)]);
        while let Some((place, depth)) = left.pop() {
            let (task, indent) = (&self.tasks[place], 2 * DEEPEST.min(depth));
            let awaits = if depth > 0 { "awaits " } else { "" };
            write!(f, "{:indent$}{awaits}{task}", "")?;
            if mem::replace(&mut seen[place], true) {
                writeln!(f, ": see above")?;
                continue;
            }
            writeln!(f)?;
            if let Some(times) = &task.times {
                let (age, polled) = times.ages(self.taken);
                write!(f, "{:indent$}  spawned {age:.1?} ago", "")?;
                match (times.polls, polled) {
                    (1, Some(polled)) => writeln!(f, ", polled once, {polled:.1?} ago")?,
                    (polls, Some(last)) => {
                        writeln!(f, ", polled {polls} times, last {last:.1?} ago")?;
                    }
                    (_, None) => writeln!(f, ", not polled yet")?,
                }
            }
            if task.is_runnable {
                writeln!(f, "{:indent$}  is queued or running", "")?;
            } else if task.waits_for.is_empty() {
                writeln!(f, "{:indent$}  has no waker, and so waits for ever", "")?;
            }
            let is_task = |what: &&WaitsFor| matches!(what, WaitsFor::Task(_));
            for what in task.waits_for.iter().filter(|what| !is_task(what)) {
                writeln!(f, "{:indent$}  waits for {}", "", Shown(what, self))?;
            }
            left.extend(task.awaits.iter().map(|&place| (place, depth + 1)));
        }
        Ok(())
    }
}

impl fmt::Display for TaskDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task ")?;
        if let Some(name) = &self.name {
            write!(f, "{name:?} ")?;
        }
        write!(f, "({}), spawned at {}", self.id, self.spawned)
    }
}

/// One wait of a task, as the dump shows it.
struct Shown<'a>(&'a WaitsFor, &'a Dump);

impl Shown<'_> {
    /// Returns the description of a descriptor in parentheses, or nothing if there is none.
    fn known(&self, number: u64) -> String {
        let known = self.1.descriptor(number);
        known.map_or_else(String::new, |known| format!(" ({known})"))
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0 {
            WaitsFor::Task(id) => write!(f, "task {id}"),
            WaitsFor::Timer(deadline) => match deadline.saturating_duration_since(self.1.taken) {
                Duration::ZERO => f.write_str("a timer that is due"),
                left => write!(f, "a timer that is due in {left:.1?}"),
            },
            WaitsFor::Readable(raw) => {
                write!(f, "descriptor {raw}{} to be readable", self.known(raw))
            }
            WaitsFor::Writable(raw) => {
                write!(f, "descriptor {raw}{} to be writable", self.known(raw))
            }
            WaitsFor::Exception(raw) => {
                let known = self.known(raw);
                write!(f, "urgent data or an error of descriptor {raw}{known}")
            }
            WaitsFor::Told(what, place) => write!(f, "{what}, at {place}"),
            WaitsFor::Snoozing(what, place) => write!(
                f,
                "{what}, at {place}, which was woken and is not polled: it snoozes"
            ),
            WaitsFor::Oneshot(end) => write!(f, "the other end of a {end}"),
            WaitsFor::Others(1) => f.write_str("something else, which has its waker"),
            WaitsFor::Others(wakers) => {
                write!(f, "something else, which has {wakers} of its wakers")
            }
        }
    }
}
