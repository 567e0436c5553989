//! The registry of waiting tasks. A shutdown has to find them, and no queue holds them. It also
//! tells a waker which executor a task belongs to.
//!
//! A task is entered the first time that a poll of it is pending and it was not woken meanwhile, by
//! the worker that runs it, or by another thread that has polled it first (`worker/start.rs`). A
//! task that a worker spawns for itself alone is entered when it is made. A task is struck off when
//! its future is gone. A task that is ready, or woken, before its first poll is over is mostly
//! never entered. An entry is one word, the task's address, and owns nothing: while the future
//! exists, so does the task. In turn the task's metadata, its [`EntryLink`], is the entry's
//! address, and the entry lies in a chunk ([`Room`]), whose head says which executor, which lane
//! and which worker the entry belongs to.
//!
//! Each worker has a room for each lane, and is the owner of these rooms. It enters its tasks there
//! with a store, and strikes off those that end on it with one exchange. The threads that are no
//! workers have rooms of their own, which belong to whichever has the lock. Another thread that
//! strikes a task off puts the entry on a list, from which the worker takes it when it needs room.
//! No thread waits for another one, except for a walk, which waits for the walk before it, and for
//! a thread that is no worker, which waits for the one before it to enter its task.
//!
//! | entry | meaning |
//! |---|---|
//! | odd | free: not in use |
//! | a task | in use |
//! | a task, `WALKED` | in use, and a walk uses the task |
//! | a task, `HELD` | in use, and has a count of the terminated executor |
//! | a task, `STRUCK` | the task has ended. The entry is the walk's, or is not used again |
//!
//! # A walk against the end of a task
//! A walk touches tasks that it does not own. It marks one entry at a time as `WALKED`, uses the
//! task, and removes the mark. The thread that ends the task finds the mark, because it frees the
//! entry by an exchange. It then makes a waker, which keeps the task's memory, and replaces the
//! mark by `STRUCK`. The walk finds that instead of its mark, frees the entry, and drops the waker.
//! So neither of them waits for the other.
//!
//! # A walk against a worker that enters a task
//! A walk over the entries of other workers misses those that are entered later. This is a
//! store-load race. The worker enters, has a fence, and looks whether the executor is closed before
//! the next poll. The walk comes after the executor was closed, has a fence, and reads the
//! entries. If the worker's fence comes first, the walk sees the entry. Otherwise the worker sees
//! that the executor is closed. It begins no poll that may wait for the task, and cancels by itself
//! what it has entered (`worker/closing.rs`). A thread that is no worker does the same, and cancels
//! the one task that it has entered.
//!
//! # What keeps the executor alive
//! The workers do, and so does each thread that ends a task elsewhere. When the last worker has
//! cancelled all that wait, tasks may be left that other threads are waking. For each entry that is
//! left it adds a count to the executor's `Arc`, and marks the entry as `HELD`. The thread that
//! strikes off such an entry gives the count back. A thread that wakes a task can therefore always
//! reach the queue that the task is to be put into. Whether an entry has a count is decided by the
//! exchanges of the entry itself, so an end that races with the last worker needs no more care.
//!
//! After that there is no new entry, except for local tasks that the last worker spawns while it
//! drops others, and which it drops itself. A task that is spawned too late by another thread is
//! dropped (`gate.rs`) without having been entered.

use alloc::{sync::Arc, vec::Vec};
use core::{
    marker::PhantomData,
    mem,
    ops::Range,
    ptr::{self, NonNull},
};

use super::{
    fences::Fences,
    guard::lock,
    padded::one_each,
    room::{self, Entry, put},
};
use joint::{
    task::{self, EndedTask},
    waker::{Header, ThinWaker},
};
use joint_switch::{AtomicPtr, Mutex, fence, order};

/// The right and the duty to run a task of the executor once.
pub(crate) type Runnable<K> = task::Runnable<EntryLink<K>>;

/// The owner of a registry. It lives while there are entries in the registry.
pub(crate) trait RegistryOwner: Sized {
    fn registry(&self) -> &Registry<Self>;

    /// Gives a count of the `Arc` back.
    ///
    /// # Safety
    /// `this` is the address inside an `Arc`, and the count is the caller's.
    unsafe fn release(this: *const Self) {
        // SAFETY: by this function's contract.
        unsafe { Arc::decrement_strong_count(this) };
    }
}

/// Which queues a task goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The queues of any worker.
    Normal,
    /// The queues of any worker, before the normal ones.
    High,
    /// The queues of this worker alone.
    Pinned(usize),
}

impl Lane {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
            Self::Pinned(_) => "pinned",
        }
    }
}

const NORMAL: usize = 0;
const HIGH: usize = 1;
const PINNED: usize = 2;
/// The rooms of tasks that any worker may drop.
const UNPINNED: Range<usize> = NORMAL..PINNED;
const ALL: Range<usize> = NORMAL..PINNED + 1;

/// A lane and a worker in one odd word, which is therefore not the address of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

impl Place {
    const fn of(lane: Lane) -> Self {
        Self(match lane {
            Lane::Normal => NORMAL << 1 | 1,
            Lane::High => HIGH << 1 | 1,
            Lane::Pinned(worker) => worker << 3 | PINNED << 1 | 1,
        })
    }

    const fn on(self, worker: usize) -> Self {
        Self(worker << 3 | self.0 & 7)
    }

    #[inline]
    pub(crate) const fn lane(self) -> Lane {
        match self.room() {
            NORMAL => Lane::Normal,
            HIGH => Lane::High,
            _ => Lane::Pinned(self.worker()),
        }
    }

    /// The index of the lane's room among those of a worker.
    const fn room(self) -> usize {
        self.0 >> 1 & 3
    }

    const fn worker(self) -> usize {
        self.0 >> 3
    }
}

type InRoom<'a, K> = (&'a Room<K>, *mut Entry);

type OnTask<'a, K> = dyn FnMut(NonNull<()>, &Entry, InRoom<'_, K>) + 'a;

/// The metadata of each of the executor's tasks: the address of its entry, or a [`Place`] before
/// the task is entered.
pub(crate) struct EntryLink<K>(AtomicPtr<()>, PhantomData<fn() -> K>);

impl<K> EntryLink<K> {
    pub(crate) fn new() -> Self {
        let place = ptr::without_provenance_mut(Place::of(Lane::Normal).0);
        Self(AtomicPtr::new(place), PhantomData)
    }

    /// Moves a new task, which no other thread knows, to another lane.
    pub(crate) fn set_lane(&self, lane: Lane) {
        let place = ptr::without_provenance_mut(Place::of(lane).0);
        // ORDERING: lane. Relaxed: the queue publishes it.
        self.0.store(place, order!(lane: Relaxed));
    }

    /// Returns the entry, or the place of a task that is not entered.
    #[inline]
    fn entry(&self) -> Result<*mut Entry, Place> {
        // ORDERING: place_look. Relaxed: the runner makes the entry, and the caller comes after
        // that run.
        let word = self.0.load(order!(place_look: Relaxed));
        match word.addr() & 1 {
            0 => Ok(word.cast()),
            _ => Err(Place(word.addr())),
        }
    }

    /// Where an entered task belongs: its place, and its owner, which is alive while the task is
    /// entered. The owner's address is the one inside an `Arc`, so that counts can be taken through
    /// it. The caller must have the runnable, or must have acquired the change by which the task
    /// became idle.
    #[inline]
    pub(crate) fn home(&self) -> Option<(*const K, Place)> {
        // SAFETY: the entry keeps the executor alive.
        let head = unsafe { head::<K>(self.entry().ok()?) };
        Some((head.owner, head.place))
    }

    #[inline]
    fn place(&self) -> Place {
        match self.entry() {
            // SAFETY: as for `home`.
            Ok(entry) => unsafe { head::<K>(entry) }.place,
            Err(place) => place,
        }
    }

    /// The lane of a task, entered or not. The caller is as for [`home`](EntryLink::home).
    #[inline]
    pub(crate) fn lane(&self) -> Lane {
        self.place().lane()
    }

    /// Whether the task is of the normal lane. The caller is as for [`home`](EntryLink::home).
    #[inline]
    pub(crate) fn is_normal(&self) -> bool {
        self.place().room() == NORMAL
    }

    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        self.entry().is_ok()
    }
}

struct Head<K> {
    owner: *const K,
    place: Place,
}

/// # Safety
/// The entry's executor is alive as long as the reference is used.
#[inline]
unsafe fn head<'a, K>(entry: *const Entry) -> &'a Head<K> {
    // SAFETY: the chunk lives as long as the executor.
    unsafe { &*room::head_of(entry) }
}

type Room<K> = room::Room<Head<K>>;

/// The flags of an entry.
const WALKED: usize = 2;
const HELD: usize = 4;
const STRUCK: usize = 3;
const FLAGS: usize = 7;
const _: () = assert!(align_of::<Header>() > FLAGS);

fn with(task: NonNull<()>, flags: usize) -> *mut () {
    task.as_ptr().map_addr(|address| address | flags)
}

pub(crate) struct Registry<K> {
    /// The rooms of each worker, and those of all other threads.
    shards: Vec<[Room<K>; PINNED + 1]>,
    /// Locked by the thread that is the owner of the rooms of no worker.
    outside: Mutex<()>,
    /// Locked by the one walk that is under way.
    walk: Mutex<()>,
    fences: Fences,
}

impl<K: RegistryOwner> Registry<K> {
    pub(crate) fn new(workers: usize, fences: Fences) -> Self {
        Self {
            shards: one_each(workers + 1, |_| Default::default()),
            outside: Mutex::new(()),
            walk: Mutex::new(()),
            fences,
        }
    }

    /// Enters a task, as a worker.
    ///
    /// # Safety
    /// The caller is that worker, and has the task's runnable or is its runner. The task has this
    /// link, and is not in any registry yet.
    #[inline]
    pub(crate) unsafe fn enter(
        owner: &Arc<K>,
        task: NonNull<()>,
        link: &EntryLink<K>,
        worker: usize,
    ) {
        let fence = || {
            // ORDERING: enter_fence. SeqCst, with `walk_fence`: see the header.
            owner.registry().fences.fence(order!(enter_fence: SeqCst));
        };
        // SAFETY: by this function's contract, the worker is the owner of its rooms.
        unsafe { Self::enter_in(owner, task, link, worker, fence) };
    }

    /// Enters a task, as a thread that is no worker. If the executor is closed then, the caller
    /// must cancel the task.
    ///
    /// # Safety
    /// The caller is the task's runner. The task has this link, and is not in any registry yet.
    #[cold]
    pub(crate) unsafe fn enter_outside(owner: &Arc<K>, task: NonNull<()>, link: &EntryLink<K>) {
        let registry = owner.registry();
        let _owner = lock(&registry.outside);
        let fence = || {
            // ORDERING: outside_fence. SeqCst, with `walk_fence`, as `enter_fence`.
            fence(order!(outside_fence: SeqCst));
        };
        // SAFETY: by this function's contract, and whoever has the lock is the owner.
        unsafe { Self::enter_in(owner, task, link, registry.workers(), fence) };
    }

    /// # Safety
    /// The caller is the owner of the rooms of this shard, and otherwise as for
    /// [`enter`](Self::enter).
    #[inline]
    unsafe fn enter_in(
        owner: &Arc<K>,
        task: NonNull<()>,
        link: &EntryLink<K>,
        shard: usize,
        fence: impl FnOnce(),
    ) {
        let (registry, place) = (owner.registry(), link.place().on(shard));
        let head = Head {
            owner: Arc::as_ptr(owner),
            place,
        };
        // SAFETY: by this function's contract.
        let entry = unsafe { registry.room(place).enter(task, head) };
        fence();
        // ORDERING: place. Relaxed: the end of this run publishes it to every thread that wakes the
        // task later.
        link.0.store(entry.cast(), order!(place: Relaxed));
    }

    /// Strikes a task off, if it was entered. `worker` returns the index of the worker of the same
    /// executor that this thread is, if it is one.
    ///
    /// # Safety
    /// The caller is the task's runner, and the task's future is gone. The task has this link. If
    /// the last worker has not left a count with the entry, the caller keeps the executor alive.
    #[inline]
    pub(crate) unsafe fn strike_off<M>(
        task: &EndedTask<'_, M>,
        link: &EntryLink<K>,
        worker: impl FnOnce(*const K) -> Option<usize>,
    ) {
        let Ok(entry) = link.entry() else {
            return;
        };
        // SAFETY: the entry keeps the executor alive.
        let &Head { owner, place } = unsafe { head::<K>(entry) };
        // SAFETY: as above, and after the exchange by this function's contract.
        let room = unsafe { (*owner).registry() }.room(place);
        let strike = |word: &Entry, free| {
            // ORDERING: strike, marked. Acquire, with `walked`: what a walk did with the task comes
            // before the task is freed. On failure nothing is read because of the value.
            let orders = (order!(strike: Acquire), order!(marked: Relaxed));
            let task = task.as_ptr().as_ptr();
            let exchange = word.compare_exchange(task, free, orders.0, orders.1);
            exchange.is_ok()
        };
        let is_own = worker(owner) == Some(place.worker());
        // SAFETY: the task's entry in this room, and this thread's once it is struck off. If
        // `is_own`, this thread is the worker.
        if !unsafe { room.give_back(entry, is_own, strike) } {
            // SAFETY: by this function's contract.
            unsafe { Self::strike_off_marked(task, entry) };
        }
    }

    /// Strikes off a task that a walk uses, or with which a count of the executor was left.
    ///
    /// # Safety
    /// As for [`strike_off`](Self::strike_off). This is the task's entry.
    #[cold]
    unsafe fn strike_off_marked<M>(task: &EndedTask<'_, M>, entry: *mut Entry) {
        // SAFETY: as for `strike_off`.
        let &Head { owner, place } = unsafe { head::<K>(entry) };
        let waker = ThinWaker::from(task.waker()).into_raw();
        // SAFETY: an entry lives as long as its room.
        let word = unsafe { &*entry };
        // ORDERING: strike_marked. Release, with `struck`: the waker is counted before the walk
        // drops it. Acquire, with `walked`, as for `strike`, and with `hold`: the count is added
        // before this thread gives it back.
        let before = word.swap(with(waker, STRUCK), order!(strike_marked: AcqRel));
        let flags = before.addr() & FLAGS;
        if flags == WALKED {
            return;
        }
        // SAFETY: no walk has found it.
        drop(unsafe { ThinWaker::from_raw(waker) });
        if flags == HELD {
            // SAFETY: the last worker has left this count. Nothing of the executor is touched after
            // this.
            return unsafe { K::release(owner) };
        }
        // SAFETY: the caller keeps the executor alive.
        let room = unsafe { (*owner).registry() }.room(place);
        // SAFETY: the walk was over, so the entry is this thread's.
        unsafe { room.give_back(entry, false, put) };
    }

    /// Adds a count of the executor for each entry that is left. The last worker must call this
    /// before it announces that the executor has terminated.
    pub(crate) fn hold(owner: &Arc<K>) {
        let registry = owner.registry();
        registry.each_used(0..registry.shards.len(), ALL, &mut |task, word, _| {
            // Before the exchange, after which another thread may give it back.
            let count = owner.clone();
            let held = with(task, HELD);
            // ORDERING: hold, ended. Release, with `strike_marked`: the count is added before it is
            // given back. On failure nothing is read because of the value.
            let orders = (order!(hold: Release), order!(ended: Relaxed));
            let exchange = word.compare_exchange(task.as_ptr(), held, orders.0, orders.1);
            if exchange.is_ok() {
                mem::forget(count);
            }
        });
    }

    /// Cancels every waiting task whose runnable does not exist, except tasks that are pinned to a
    /// worker. Called by a worker, once the executor is closed. Other workers may still run tasks;
    /// those tasks are marked as cancelled.
    pub(crate) fn cancel_all(&self) -> Vec<Runnable<K>> {
        // ORDERING: walk_fence. SeqCst, with `enter_fence`: see the header.
        fence(order!(walk_fence: SeqCst));
        self.cancel(0..self.shards.len(), UNPINNED)
    }

    /// Like [`cancel_all`](Registry::cancel_all), for the tasks that the calling worker has
    /// entered.
    pub(crate) fn cancel_shard(&self, worker: usize) -> Vec<Runnable<K>> {
        self.cancel(worker..worker + 1, UNPINNED)
    }

    /// Cancels every waiting task that is pinned to the calling worker and whose runnable does not
    /// exist.
    pub(crate) fn cancel_pinned(&self, worker: usize) -> Vec<Runnable<K>> {
        self.cancel(worker..worker + 1, PINNED..PINNED + 1)
    }

    fn cancel(&self, workers: Range<usize>, rooms: Range<usize>) -> Vec<Runnable<K>> {
        let mut runnables = Vec::new();
        self.walk(workers, rooms, |task| {
            // SAFETY: the walk keeps the task's memory. All its tasks have an `EntryLink`.
            runnables.extend(unsafe { Runnable::raw_abort(task) });
        });
        runnables
    }

    /// Calls `f` with each task that is entered. `f` must not panic, nor use the executor.
    pub(crate) fn each_task(&self, f: impl FnMut(NonNull<()>)) {
        self.walk(0..self.shards.len(), ALL, f);
    }

    /// Calls `f` with each task that is entered and that only this worker can run. `f` must not
    /// panic, nor use the executor.
    pub(crate) fn each_task_of(&self, worker: usize, f: impl FnMut(NonNull<()>)) {
        match self.workers() == 1 {
            true => self.walk(0..self.shards.len(), ALL, f),
            false => self.walk(worker..worker + 1, PINNED..PINNED + 1, f),
        }
    }

    /// Calls `f` with each task that is entered in these rooms of these workers.
    fn walk(&self, workers: Range<usize>, rooms: Range<usize>, mut f: impl FnMut(NonNull<()>)) {
        self.each_used(workers, rooms, &mut |task, word, (room, entry)| {
            let walked = with(task, WALKED);
            // ORDERING: walk, gone. Acquire, with `enter`: the task is complete. On failure nothing
            // is read because of the value.
            let orders = (order!(walk: Acquire), order!(gone: Relaxed));
            if (word.compare_exchange(task.as_ptr(), walked, orders.0, orders.1)).is_err() {
                return;
            }
            f(task);
            Self::leave(walked, word, (room, entry));
        });
    }

    /// Removes the mark of a walk, or finishes what the thread that ended the task has left.
    fn leave(walked: *mut (), word: &Entry, (room, entry): InRoom<'_, K>) {
        let task = walked.map_addr(|address| address & !FLAGS);
        // ORDERING: walked, struck. Release, with `strike` and `strike_marked`: what was done with
        // the task comes before the task is freed. Acquire, with `strike_marked`: the waker is made
        // before it is dropped here.
        let orders = (order!(walked: Release), order!(struck: Acquire));
        if let Err(struck) = word.compare_exchange(walked, task, orders.0, orders.1) {
            let waker = struck.map_addr(|address| address & !FLAGS);
            // SAFETY: a waker's word is not null.
            let waker = unsafe { NonNull::new_unchecked(waker) };
            // SAFETY: `strike_marked` has left the waker to this walk.
            drop(unsafe { ThinWaker::from_raw(waker) });
            // SAFETY: it has left the entry as well.
            unsafe { room.give_back(entry, false, put) };
        }
    }

    /// Calls `f` with each task that is entered in these rooms of these workers, with its entry,
    /// and with where that lies. One walk at a time does so, and none touches a `HELD` task.
    fn each_used(&self, workers: Range<usize>, rooms: Range<usize>, f: &mut OnTask<'_, K>) {
        let _walk = lock(&self.walk);
        for shard in &self.shards[workers] {
            for room in &shard[rooms.clone()] {
                room.each_used(|task, word, entry| {
                    if task.addr().get() & FLAGS == 0 {
                        f(task, word, (room, entry));
                    }
                });
            }
        }
    }

    fn workers(&self) -> usize {
        self.shards.len() - 1
    }

    #[inline]
    fn room(&self, place: Place) -> &Room<K> {
        &self.shards[place.worker()][place.room()]
    }

    /// Returns how many pinned tasks of a worker have not ended, apart from those that another
    /// thread has spawned, and that have not waited yet.
    pub(crate) fn pinned(&self, worker: usize) -> usize {
        self.counts(worker, Lane::Pinned(worker)).1
    }

    /// Returns how many chunks a worker has in a lane, and how many entries are in use there.
    pub(crate) fn counts(&self, worker: usize, lane: Lane) -> (usize, usize) {
        let (room, mut used) = (self.room(Place::of(lane).on(worker)), 0);
        room.each_used(|_, _, _| used += 1);
        (room.chunks().count(), used)
    }
}
