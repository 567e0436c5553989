//! The registry of waiting tasks. A shutdown has to find them, and no queue holds them. It also
//! tells a waker which executor a task belongs to.
//!
//! A task is entered the first time that a poll of it is pending and it was not woken meanwhile. A
//! task that has a worker or a lane of its own is entered when it is made. A task is struck off
//! when its future is gone. A task that is ready, or woken, before its first poll is over is never
//! entered. An entry is one word, the task's address, and owns nothing: while the future exists, so
//! does the task. In turn the task's metadata, its [`EntryLink`], is the entry's address, and the
//! entry lies in a chunk ([`Room`]), whose head says which executor and which lane the task belongs
//! to.
//!
//! Each worker has entries of its own for the normal lane, behind a lock that costs the worker
//! nothing until the executor closes. The worker enters its tasks there, and strikes off those that
//! end on it. A thread that strikes off an entry of another worker puts the entry on a list, from
//! which that worker takes it when it needs room.
//!
//! # Rules
//! 1. The owner of a shard's [`Biased`] room is its worker.
//! 2. A walk over the entries of a room holds every lock under which they can be struck off. Each
//!    entry in use that the walk meets therefore stays in use meanwhile, and its task stays alive:
//!    the thread that drops the future waits for the lock before it strikes the task off.
//! 3. Entries that are left after the walk, because a thread is waking their tasks at that moment,
//!    are counted, and the count keeps the [owner](RegistryOwner) alive. A task that can still be
//!    woken can therefore always reach the queues that it is to be put into. Before that the
//!    workers keep the owner alive.

use alloc::{sync::Arc, vec::Vec};
use core::{
    marker::PhantomData,
    ptr::{self, NonNull},
};
use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::{biased::Biased, fences::Fences, room};
use joint::task;
use joint_switch::{AtomicPtr, AtomicUsize, Mutex, MutexGuard, order};

/// The right and the duty to run a task of the executor once.
pub(crate) type Runnable<K> = task::Runnable<EntryLink<K>>;

/// The owner of a registry. It lives while there are entries in the registry.
pub(crate) trait RegistryOwner: Sized {
    fn registry(&self) -> &Registry<Self>;
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
    /// The lane's name, for spans.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
            Self::Pinned(_) => "pinned",
        }
    }
}

/// The metadata of each of the executor's tasks: the address of its entry, or null.
pub(crate) struct EntryLink<K>(AtomicPtr<()>, PhantomData<fn() -> K>);

impl<K> EntryLink<K> {
    pub(crate) fn nowhere() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    #[inline]
    fn entry(&self) -> *mut () {
        // ORDERING: place_look. Relaxed: the runner makes the entry, and the caller comes after
        // that run.
        self.0.load(order!(place_look: Relaxed))
    }

    /// Where an entered task belongs. The caller must have the runnable, or must have acquired the
    /// change by which the task became idle.
    #[inline]
    pub(crate) fn home(&self) -> Option<Origin<*const K>> {
        let head = room::head_of::<Head<K>>(self.entry())?;
        // SAFETY: the room lives as long as the executor, which the entry keeps alive.
        Some(unsafe { head.as_ref() }.home)
    }

    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        !self.entry().is_null()
    }

    #[inline]
    fn enter(
        &self,
        room: &mut Room<K>,
        owner: &Arc<K>,
        task: NonNull<()>,
        lane: Lane,
        shard: usize,
    ) {
        let owner = Arc::as_ptr(owner);
        let home = Origin { owner, lane };
        let entry = room.enter(task, || Head { home, shard });
        // ORDERING: place. Relaxed: the end of this run publishes it to every thread that wakes the
        // task later.
        self.0.store(entry, order!(place: Relaxed));
    }
}

/// Where a task belongs.
#[derive(Clone, Copy)]
pub(crate) struct Origin<P> {
    /// Alive while the task is entered. It is the address inside an `Arc`, so that counts can be
    /// taken through it.
    pub(crate) owner: P,
    pub(crate) lane: Lane,
}

/// What all entries of a chunk share.
struct Head<K> {
    home: Origin<*const K>,
    shard: usize,
}

/// Entries of one lane.
type Room<K> = room::Room<Head<K>>;

/// A worker's entries of the normal lane.
struct Own<K> {
    room: Biased<Room<K>>,
    /// The returned entries. Locked within the room's lock, or alone.
    returned: Mutex<Returned>,
}

/// Entries that threads other than the worker have struck off. Each holds the address of the next
/// one, and null ends the list.
struct Returned(*mut ());

// SAFETY: the entries belong to the list alone.
unsafe impl Send for Returned {}

/// A worker's entries. The registry has one shard for each worker, so that workers do not contend.
struct Shard<K> {
    normal: Own<K>,
    high: Mutex<Room<K>>,
    pinned: Mutex<Room<K>>,
}

pub(crate) struct Registry<K> {
    shards: Vec<CachePadded<Shard<K>>>,
    /// The number of entries that were left when the executor terminated.
    left: AtomicUsize,
    /// The owner, which is kept alive while such entries are left.
    owner: Mutex<Option<Arc<K>>>,
}

impl<K: RegistryOwner> Registry<K> {
    /// `fences` are those among the workers.
    pub(crate) fn new(workers: usize, fences: Fences) -> Self {
        let shard = |_| {
            CachePadded::new(Shard {
                normal: Own {
                    room: Biased::new(Room::default(), fences.with_others()),
                    returned: Mutex::new(Returned(ptr::null_mut())),
                },
                high: Mutex::default(),
                pinned: Mutex::default(),
            })
        };
        Self {
            shards: (0..workers).map(shard).collect(),
            left: AtomicUsize::new(0),
            owner: Mutex::new(None),
        }
    }

    /// Enters a task of the normal lane that a worker has run.
    ///
    /// # Safety
    /// The caller is that worker, and the task's runner. The task has this place, and is not in any
    /// registry yet.
    #[inline]
    pub(crate) unsafe fn enter_normal(
        owner: &Arc<K>,
        task: NonNull<()>,
        place: &EntryLink<K>,
        worker: usize,
    ) {
        let own = &owner.registry().shards[worker].normal;
        let enter = |room: &mut Room<K>| {
            if room.is_full() {
                let returned = core::mem::replace(&mut lock(&own.returned).0, ptr::null_mut());
                // SAFETY: the list has entries of this room.
                unsafe { room.take_back(returned) };
            }
            place.enter(room, owner, task, Lane::Normal, worker);
        };
        // SAFETY: rule 1. No other call is under way, because `enter` calls no code of a user.
        unsafe { own.room.enter(enter) };
    }

    /// Enters a task that has a worker or a lane of its own. `near` is the worker that does it, or
    /// any worker.
    ///
    /// # Safety
    /// The caller has the task's runnable. The task has this place, and is not in any registry yet.
    pub(crate) unsafe fn enter(
        owner: &Arc<K>,
        task: NonNull<()>,
        place: &EntryLink<K>,
        lane: Lane,
        near: usize,
    ) {
        let registry = owner.registry();
        // ORDERING: left_again. Relaxed: it can differ from 0 only for the last worker, when that
        // worker drops a future that spawns.
        if registry.left.load(order!(left_again: Relaxed)) > 0 {
            // ORDERING: left_more. Relaxed: it publishes nothing.
            registry.left.fetch_add(1, order!(left_more: Relaxed));
        }
        let shards = &registry.shards;
        let (room, shard) = match lane {
            Lane::Pinned(worker) => (&shards[worker].pinned, worker),
            Lane::High | Lane::Normal => (&shards[near].high, near),
        };
        place.enter(&mut lock(room), owner, task, lane, shard);
    }

    /// Strikes a task off, if it was entered. `worker` returns the index of the worker of the same
    /// executor that this thread is, if it is one.
    ///
    /// # Safety
    /// The caller is the task's runner, and the task's future is gone.
    #[inline]
    pub(crate) unsafe fn strike_off(
        place: &EntryLink<K>,
        worker: impl FnOnce(*const K) -> Option<usize>,
    ) {
        let entry = place.entry();
        let Some(head) = room::head_of::<Head<K>>(entry) else {
            return;
        };
        // SAFETY: the room lives as long as the executor, which the entry keeps alive.
        let Head { home, shard } = unsafe { head.read() };
        // SAFETY: the entry keeps the executor alive.
        let registry = ptr::from_ref(unsafe { (*home.owner).registry() });
        // SAFETY: as above, until the end of this function, except for what `forget_left` says.
        let this = unsafe { &*registry };
        let shards = &this.shards[shard];
        match (home.lane, worker(home.owner)) {
            (Lane::Normal, Some(worker)) if worker == shard => {
                // SAFETY: this is an entry of the room, in use until now.
                let give_back = |room: &mut Room<K>| unsafe { room.give_back(entry) };
                // SAFETY: rule 1. No other call is under way, because `give_back` calls no code of
                // a user.
                unsafe { shards.normal.room.enter(give_back) };
            }
            (Lane::Normal, _) => {
                // SAFETY: this is an entry in use until now, and no other thread touches it.
                unsafe { shards.normal.return_entry(entry) };
            }
            (Lane::High, _) => {
                // SAFETY: as for the normal lane.
                unsafe { lock(&shards.high).give_back(entry) };
            }
            (Lane::Pinned(_), _) => {
                // SAFETY: as for the normal lane.
                unsafe { lock(&shards.pinned).give_back(entry) };
            }
        }
        // SAFETY: the registry is alive by rule 3, because this task has not been counted off.
        unsafe { Self::forget_left(registry) };
    }

    /// Counts off one of the entries that were left by a terminated executor. The last of them may
    /// free the executor, and the registry with it.
    ///
    /// # Safety
    /// The registry is alive, and the caller has struck off an entry.
    #[inline]
    unsafe fn forget_left(this: *const Self) {
        // SAFETY: by this function's contract.
        let left = unsafe { &(*this).left };
        // ORDERING: left_look. Relaxed: an executor that has not terminated has no such entries. A
        // thread that strikes off an entry after the termination has seen the executor terminate.
        if left.load(order!(left_look: Relaxed)) == 0 {
            return;
        }
        // ORDERING: left. AcqRel: what the other threads did with the registry happens before it is
        // freed.
        if left.fetch_sub(1, order!(left: AcqRel)) == 1 {
            // SAFETY: by this function's contract, and the owner keeps the registry alive.
            let owner = lock(unsafe { &(*this).owner }).take();
            drop(owner);
        }
    }

    /// Counts the entries that are left, for rule 3. The last worker must call this before it
    /// announces that the executor has terminated.
    pub(crate) fn count_left(owner: &Arc<K>) {
        let registry = owner.registry();
        let live = |shard: &CachePadded<Shard<K>>| {
            let normal = shard.normal.room.with_lock(|room| {
                let returned = &mut lock(&shard.normal.returned).0;
                let returned = core::mem::replace(returned, ptr::null_mut());
                // SAFETY: the list has entries of this room.
                unsafe { room.count_off(returned) };
                room.live()
            });
            normal + lock(&shard.high).live() + lock(&shard.pinned).live()
        };
        let left = registry.shards.iter().map(live).sum();
        if left > 0 {
            *lock(&registry.owner) = Some(owner.clone());
            // ORDERING: count_left. Relaxed: published by the executor's phase, which is set next
            // (`gate::terminate`).
            registry.left.store(left, order!(count_left: Relaxed));
        }
    }

    /// Calls `f` with each task that is entered, under the locks of rule 2.
    pub(crate) fn each_task(&self, mut f: impl FnMut(NonNull<()>)) {
        for shard in &self.shards {
            shard.each_unpinned(&mut f);
            lock(&shard.pinned).each_task(&mut f);
        }
    }

    /// Cancels every waiting task whose runnable does not exist, except tasks that are pinned to a
    /// worker. Any thread may call this. Other workers may still run tasks; those tasks are marked
    /// as cancelled.
    pub(crate) fn cancel_all(&self) -> Vec<Runnable<K>> {
        (0..self.shards.len())
            .flat_map(|shard| self.cancel_shard(shard))
            .collect()
    }

    /// Like [`cancel_all`](Registry::cancel_all), for the tasks that one worker has entered.
    pub(crate) fn cancel_shard(&self, worker: usize) -> Vec<Runnable<K>> {
        let mut runnables = Vec::new();
        self.shards[worker].each_unpinned(abort(&mut runnables));
        runnables
    }

    /// Cancels every waiting task that is pinned to a worker and whose runnable does not exist.
    pub(crate) fn cancel_pinned(&self, worker: usize) -> Vec<Runnable<K>> {
        let mut runnables = Vec::new();
        lock(&self.shards[worker].pinned).each_task(abort(&mut runnables));
        runnables
    }

    /// Returns how many chunks a worker has in a lane, and how many entries are in use there.
    #[cfg(test)]
    pub(crate) fn room(&self, worker: usize, lane: Lane) -> (usize, usize) {
        let shard = &self.shards[worker];
        let of = |room: &mut Room<K>| (room.chunks(), room.live());
        match lane {
            Lane::Normal => shard.normal.room.with_lock(of),
            Lane::High => of(&mut lock(&shard.high)),
            Lane::Pinned(_) => of(&mut lock(&shard.pinned)),
        }
    }

    /// Returns how many entries are left, and whether they keep the owner.
    #[cfg(test)]
    pub(crate) fn left(&self) -> (usize, bool) {
        // Relaxed: one thread.
        let left = self.left.load(core::sync::atomic::Ordering::Relaxed);
        (left, lock(&self.owner).is_some())
    }

    /// Returns whether a worker has pinned tasks that have not ended.
    pub(crate) fn has_pinned(&self, worker: usize) -> bool {
        lock(&self.shards[worker].pinned).live() > 0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> Own<K> {
    /// # Safety
    /// `entry` is one of this worker's, was in use until now, and belongs to the caller.
    #[inline(never)]
    unsafe fn return_entry(&self, entry: *mut ()) {
        let mut returned = lock(&self.returned);
        // SAFETY: the entry is the caller's, and from here on the list's.
        unsafe { room::link(entry, returned.0) };
        returned.0 = entry;
    }
}

impl<K> Shard<K> {
    /// Calls `f` with each task that is entered here, but for pinned ones, under the locks of rule
    /// 2.
    fn each_unpinned(&self, mut f: impl FnMut(NonNull<()>)) {
        self.normal.room.with_lock(|room| {
            let _returned = lock(&self.normal.returned);
            room.each_task(&mut f);
        });
        lock(&self.high).each_task(f);
    }
}

/// Cancels a task, and keeps its runnable.
fn abort<K>(runnables: &mut Vec<Runnable<K>>) -> impl FnMut(NonNull<()>) {
    |task| {
        // SAFETY: an entry in use means that its future still exists. All its tasks have an
        // `EntryLink`.
        runnables.extend(unsafe { Runnable::raw_abort(task) });
    }
}
