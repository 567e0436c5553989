//! [`Dump`]: the tasks of an executor, and what each of them waits for.
//!
//! No task is polled, and nothing is recorded before the call, except by [`waiting_for`] and
//! [`record_times`](Builder::record_times). The edges are found where the wakers lie: in the join
//! word of the task that is awaited, in the timers, and beside the descriptors. A waker's address
//! says which task it would wake, so nothing behind it is read. A child of a
//! [`JoinSet`](crate::JoinSet) would wake a node of its set, from which only the list of recorded
//! nodes leads on: the node may be gone by then. For the same reason no channel is read, but the
//! waker that is registered there is a recorded one.

mod noted;
#[cfg(feature = "serde")]
mod serialized;
mod shown;
mod told;

use alloc::{borrow::ToOwned, string::String, sync::Arc, vec::Vec};
use core::{mem, panic::Location};
use std::{collections::HashMap, time::Instant};

use joint::{host::now, task::Id};

pub use self::{noted::note_wait, told::waiting_for};

#[cfg(feature = "io")]
use super::driver::reactor::Way;
use super::{
    Builder, Executor,
    driver::clock,
    hosted::BoundWorker,
    join_set,
    times::{TaskTimes, Times},
    worker::shared::{Runnable, Shared},
};

/// The tasks of an executor at one time, and what each waits for. [`Executor::dump`] makes it.
///
/// Its `Display` has a paragraph for each task that no other task awaits, with the tasks that it
/// awaits below it, and so on. Tasks that wait for each other are marked as a
/// [cycle](Dump::cycles). With the feature `serde` it can be serialized, with durations in seconds
/// instead of instants.
#[derive(Clone, Debug)]
pub struct Dump {
    taken: Instant,
    tasks: Vec<TaskDump>,
    live: u64,
    descriptors: Vec<(u64, String)>,
}

/// A task in a [`Dump`]. With the feature `serde` it can be serialized, with the seconds until or
/// since each instant.
#[derive(Clone, Debug)]
pub struct TaskDump {
    id: Id,
    name: Option<String>,
    spawned: &'static Location<'static>,
    is_runnable: bool,
    waits_for: Vec<WaitsFor>,
    times: Option<TaskTimes>,
    /// The place of the task that awaits it, in the dump's list.
    waiter: Option<usize>,
    /// The places of the tasks that it awaits.
    awaits: Vec<usize>,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitsFor {
    /// The end of another task, which may be one of several in a [`JoinSet`](crate::JoinSet).
    Task(Id),
    /// A timer that is due at that instant.
    Timer(Instant),
    /// Data on the descriptor or socket of that number.
    Readable(u64),
    /// Room on the descriptor or socket of that number.
    Writable(u64),
    /// Urgent data or an error of the descriptor or socket of that number.
    Exception(u64),
    /// What the task has said by [`waiting_for`], at that place.
    Told(&'static str, &'static Location<'static>),
    /// As `Told`, but that was woken since it was polled. If the task is not
    /// [runnable](TaskDump::is_runnable), it has run since without polling it:
    /// [`waiting_for`](waiting_for#snoozing) tells what that means.
    Snoozing(&'static str, &'static Location<'static>),
    /// The other end of a [oneshot](crate::oneshot), if the executor [records
    /// it](Builder::record_times). The text is the [name of the type](core::any::type_name) of the
    /// end that waits: a `Receiver`, or a `Sender` that waits until its receiver is gone. Who holds
    /// the other end is not known.
    Oneshot(&'static str),
    /// Whoever else holds so many of its wakers: a channel that is not recorded, a lock, a set of
    /// futures, or a task that has not waited yet.
    Others(usize),
}

impl Executor {
    /// Returns the tasks, and what each of them waits for: the end of a task, a timer, a
    /// descriptor, what it says itself by [`waiting_for`], or something else. Nothing is paid for
    /// it before it is called. With [`record_times`](Builder::record_times) the dump also shows
    /// since when, which tasks of a [`JoinSet`](crate::JoinSet) a task waits for, and for which
    /// oneshots.
    ///
    /// A task is in the dump once it has waited. One that has not is only [counted](Dump::live).
    /// The tasks run on meanwhile, so a task that moves may be shown with what it waited for a
    /// moment before. A task that has been stuck since before the call is shown as it is.
    ///
    /// # Cost
    /// Two atomic read-modify-writes and a few loads for each task, and what an [`Id`] costs for
    /// each that nobody has asked for its id yet. The locks of the timers, of the descriptors and
    /// of [`waiting_for`] are held one after another, while each is read, and so is the lock of
    /// what is recorded.
    ///
    /// # Example
    /// ```
    /// use joint_executor::Executor;
    /// use std::future::pending;
    ///
    /// let executor = Executor::builder().workers(1).build()?;
    /// let inner = executor.task().name("never").spawn(pending::<()>());
    /// let _outer = executor.task().name("outer").spawn(inner);
    /// // A worker has found nothing more to do after both have been polled.
    /// while executor.dump().tasks().iter().any(|task| task.is_runnable())
    ///     || executor.dump().tasks().len() < 2
    /// {
    ///     std::thread::yield_now();
    /// }
    /// println!("{}", executor.dump());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::of(&self.shared, self.shared.hooks.times.is_some())
    }
}

impl BoundWorker {
    /// Returns the executor's tasks, and what each waits for, as [`Executor::dump`] does. It shows
    /// the waits for oneshots that were [noted](note_wait).
    pub fn dump(&self) -> Dump {
        Dump::of(self.shared(), true)
    }
}

impl Builder {
    /// Records when each task was spawned, and when and how often it was polled, for
    /// [`Executor::dump`]. From this call on, each [`JoinSet`](crate::JoinSet) of the process also
    /// records the tasks that are added to it, so that a dump shows for which ones a task waits.
    /// Each wait of a task of this executor for a [oneshot](crate::oneshot) is recorded, too, from
    /// its poll until it is woken or dropped.
    ///
    /// # Cost
    /// For each spawn, poll and end of a task, the clock is read, and a lock is taken that all
    /// workers share. For each task that is added to a set or leaves it, a lock is taken that the
    /// whole process shares, and so it is for the begin and the end of each wait for a oneshot,
    /// which also makes some allocations at each poll. This is for finding out why a program stands
    /// still, not for one that must be fast.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(1).record_times().build()?;
    /// let _stuck = executor.spawn(std::future::pending::<()>());
    /// while executor.dump().tasks().is_empty() {
    ///     std::thread::yield_now();
    /// }
    /// let times = executor.dump().tasks()[0].times().unwrap();
    /// assert_eq!(times.polls, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record_times(self) -> Self {
        join_set::record();
        let times = Arc::<Times>::default();
        let [spawned, polled, ended] = [(); 3].map(|()| times.clone());
        self.on_spawn(move |task| spawned.begin(task.id()))
            .before_poll(move |task| polled.poll(task.id()))
            .on_end(move |task, _| _ = ended.with(|all| all.remove(&task.id())))
            .with_times(times, note_wait)
    }
}

struct Found {
    task: TaskDump,
    address: usize,
    waiter: Option<usize>,
    /// The number of its wakers that have not been found.
    wakers: usize,
}

impl Dump {
    pub(super) fn of(shared: &Shared, with_notes: bool) -> Self {
        let mut found = Vec::new();
        shared.registry.each_task(|task| {
            // SAFETY: the registry keeps the task's memory during this call.
            let view = unsafe { Runnable::raw_view(task) };
            found.push(Found {
                task: TaskDump {
                    id: view.id(),
                    name: view.name().map(ToOwned::to_owned),
                    spawned: view.spawned(),
                    is_runnable: view.is_runnable(),
                    waits_for: Vec::new(),
                    times: None,
                    waiter: None,
                    awaits: Vec::new(),
                },
                address: task.addr().get(),
                waiter: view.waiter(),
                wakers: view.wakers(),
            });
        });
        let (mut places, mut ids, mut awaited) = (Places::new(), Places::new(), Vec::new());
        for (place, found) in found.iter().enumerate() {
            places.insert(found.address as u64, place);
            ids.insert(number(found.task.id), place);
            if let Some(waiter) = found.waiter {
                awaited.push((waiter, place));
            }
        }
        let mut sets = Places::new();
        for (waiter, awaited) in awaited {
            // A set has one waker of its task, however many children it has.
            let (task, has_waker) = match join_set::set_of(waiter) {
                Some((set, task)) => (task, sets.insert(set as u64, 0).is_none()),
                None => (waiter, true),
            };
            if let Some(&place) = places.get(&(task as u64)) {
                let what = WaitsFor::Task(found[awaited].task.id);
                found[place].add(what, has_waker);
                found[place].task.awaits.push(awaited);
                found[awaited].task.waiter = Some(place);
            }
        }
        let mut add = |waiter: usize, what, has_waker| {
            if let Some(&place) = places.get(&(waiter as u64)) {
                found[place].add(what, has_waker);
            }
        };
        for timers in shared.driver.all_timers() {
            timers.each(|deadline, waker| {
                let timer = WaitsFor::Timer(clock::instant(deadline));
                add(waker.data().addr(), timer, true);
            });
        }
        #[allow(unused_mut, reason = "without the feature `io` there are none")]
        let mut descriptors = Vec::new();
        #[cfg(feature = "io")]
        if let Some(reactor) = shared.driver.made_reactor() {
            let mut raws = Vec::new();
            reactor.each_waker(|raw, way, waker| {
                raws.push(raw);
                let raw = raw as u64;
                let what = match way {
                    Way::Read => WaitsFor::Readable(raw),
                    Way::Write => WaitsFor::Writable(raw),
                    Way::Exception => WaitsFor::Exception(raw),
                };
                add(waker.data().addr(), what, true);
            });
            let described = |raw| Some((raw as u64, reactor.describe(raw)?));
            // One that is awaited in both ways comes twice in a row.
            raws.dedup();
            descriptors.extend(raws.into_iter().filter_map(described));
        }
        let mut add_of = |task, what, waker| {
            if let Some(&place) = ids.get(&number(task)) {
                let found: &mut Found = &mut found[place];
                found.add(what, waker == Some(found.address));
            }
        };
        told::each(|told, task, waker| {
            let what = match waker {
                Some(_) => WaitsFor::Told(told.what, told.place),
                None => WaitsFor::Snoozing(told.what, told.place),
            };
            add_of(task, what, waker);
        });
        if with_notes {
            noted::each(|task, what, waker| add_of(task, WaitsFor::Oneshot(what), Some(waker)));
        }
        if let Some(times) = &shared.hooks.times {
            times.with(|times| {
                for found in &mut found {
                    found.task.times = times.get(&found.task.id).copied();
                }
            });
        }
        Self {
            taken: now(),
            tasks: found.into_iter().map(Found::finish).collect(),
            live: shared.metrics().live(),
            descriptors,
        }
    }

    /// Returns what the descriptor or socket of that number is, if a task waits for it: the kind
    /// and the addresses of a socket, as in `TCP 127.0.0.1:80 to 127.0.0.1:4711`, or what Linux
    /// calls it, as in `anon_inode:[timerfd]`. Other systems have no names for what is no socket.
    pub fn descriptor(&self, number: u64) -> Option<&str> {
        let mut known = self.descriptors.iter();
        let (_, known) = known.find(|(descriptor, _)| *descriptor == number)?;
        Some(known)
    }

    /// Returns the tasks that have waited and have not ended, in no particular order.
    pub fn tasks(&self) -> &[TaskDump] {
        &self.tasks
    }

    /// Returns the number of the tasks that have not ended. Those that are not among
    /// [`tasks`](Dump::tasks) have not waited yet.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Returns each ring of tasks in which every task awaits the next one, and the last one the
    /// first. If none of them waits for anything else, none of them will ever end by itself. If one
    /// does, that may let it go on: a dump cannot tell a task that waits for both from one that
    /// waits for either.
    pub fn cycles(&self) -> Vec<Vec<&TaskDump>> {
        let task = |&place: &usize| &self.tasks[place];
        let cycles = self.places_of_cycles().into_iter();
        cycles
            .map(|cycle| cycle.iter().map(task).collect())
            .collect()
    }

    fn places_of_cycles(&self) -> Vec<Vec<usize>> {
        let mut seen = alloc::vec![false; self.tasks.len()];
        let mut cycles = Vec::new();
        for place in 0..self.tasks.len() {
            let mut way = Vec::new();
            let mut next = Some(place);
            // Every task is awaited by at most one other, so the way has no forks.
            while let Some(place) = next.filter(|&place| !mem::replace(&mut seen[place], true)) {
                way.push(place);
                next = self.tasks[place].waiter;
            }
            if let Some(begin) = next.and_then(|next| way.iter().position(|&place| place == next)) {
                cycles.push(way[begin..].iter().rev().copied().collect());
            }
        }
        cycles
    }
}

impl Found {
    /// Adds what the task waits for, which may have a waker of the task.
    fn add(&mut self, what: WaitsFor, has_waker: bool) {
        self.task.waits_for.push(what);
        self.wakers = self.wakers.saturating_sub(usize::from(has_waker));
    }

    fn finish(mut self) -> TaskDump {
        if self.wakers > 0 && !self.task.is_runnable {
            self.task.waits_for.push(WaitsFor::Others(self.wakers));
        }
        self.task
    }
}

impl TaskDump {
    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the task's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.spawned
    }

    /// Returns whether the task is queued or running.
    pub fn is_runnable(&self) -> bool {
        self.is_runnable
    }

    /// Returns when the task was spawned and polled, if the executor
    /// [records it](Builder::record_times).
    pub fn times(&self) -> Option<TaskTimes> {
        self.times
    }

    /// Returns what will wake the task, and which of its waits [snooze](WaitsFor::Snoozing). If
    /// there is nothing else, and the task is not [runnable](TaskDump::is_runnable), then no waker
    /// of it exists, and it is never polled again.
    pub fn waits_for(&self) -> &[WaitsFor] {
        &self.waits_for
    }
}

/// Places in a list, by an id or an address. One type for all of them, because each type of a map
/// takes as long to compile.
type Places = HashMap<u64, usize>;

fn number(id: Id) -> u64 {
    id.get().get()
}
