//! The registry of waiting tasks. A shutdown has to find them, and no queue holds them. It also
//! tells a waker which executor a task belongs to.
//!
//! A task is entered the first time that a poll of it is pending and it was not woken meanwhile. A
//! task that has a worker or a lane of its own is entered when it is made. A task is struck off
//! when its future is gone. A task that is ready, or woken, before its first poll is over is never
//! entered. An entry is one word, the task's address, and owns nothing: while the future exists, so
//! does the task. In turn the task's metadata, its [`EntryLink`], is the entry's address, and the
//! entry lies in a [`Chunk`], whose head says which executor and which lane the task belongs to.
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

use alloc::{alloc::handle_alloc_error, sync::Arc, vec::Vec};
use core::{
    alloc::Layout,
    cell::UnsafeCell,
    marker::PhantomData,
    ptr::{self, NonNull},
};
use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::biased::Biased;
use crate::{
    sync::{AtomicPtr, AtomicUsize, Mutex, MutexGuard, order},
    task,
};

#[cfg(feature = "sim")]
mod each;

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
    /// The lane's name, for traces.
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
    pub(crate) fn home(&self) -> Option<Origin<K>> {
        let chunk = Chunk::<K>::of(self.entry())?;
        // SAFETY: the chunk lives as long as the executor, which the entry keeps alive. Its head is
        // never written.
        Some(unsafe { chunk.as_ref() }.home)
    }

    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        !self.entry().is_null()
    }
}

/// Where a task belongs.
pub(crate) struct Origin<K> {
    /// Alive while the task is entered. It is the address inside an `Arc`, so that counts can be
    /// taken through it.
    pub(crate) owner: *const K,
    pub(crate) lane: Lane,
}

impl<K> Clone for Origin<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Origin<K> {}

/// The size and the alignment of a chunk. An entry's chunk is found by the entry's address.
const CHUNK: usize = 1024;
const HEAD: usize = 32;
pub(crate) const ENTRIES: usize = (CHUNK - HEAD) / size_of::<*mut ()>();

#[repr(C, align(1024))]
struct Chunk<K> {
    home: Origin<K>,
    shard: usize,
    /// An entry in use is a task's address. A free entry is the address of the next free one, made
    /// odd.
    entries: UnsafeCell<[*mut (); ENTRIES]>,
}

const _: () = assert!(
    size_of::<Chunk<()>>() == CHUNK,
    "the address of an entry gives that of its chunk"
);

/// A free entry that is followed by `next`.
fn free(next: *mut ()) -> *mut () {
    next.map_addr(|address| address | 1)
}

/// Room for entries of one lane. A thread that touches it has exclusive access.
struct Room<K> {
    chunks: Vec<NonNull<Chunk<K>>>,
    /// The first free entry, or null.
    free: *mut (),
    live: usize,
}

impl<K> Default for Room<K> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: ptr::null_mut(),
            live: 0,
        }
    }
}

// SAFETY: the chunks belong to the room, except for their heads, which are never written.
unsafe impl<K> Send for Room<K> {}

/// A worker's entries of the normal lane.
struct Own<K> {
    room: Biased<Room<K>>,
    /// Locked inside the room's lock, or alone.
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
    /// Set while there are such entries.
    owner: Mutex<Option<Arc<K>>>,
}

impl<K: RegistryOwner> Registry<K> {
    pub(crate) fn new(workers: usize) -> Self {
        let shard = |_| {
            CachePadded::new(Shard {
                normal: Own {
                    room: Biased::new(Room::default()),
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
            if room.free.is_null() {
                room.take_back(own);
            }
            room.enter(owner, task, place, Lane::Normal, worker);
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
        lock(room).enter(owner, task, place, lane, shard);
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
        let Some(chunk) = Chunk::<K>::of(entry) else {
            return;
        };
        // SAFETY: the chunk lives as long as the executor, which the entry keeps alive. Its head is
        // never written.
        let home = unsafe { (*chunk.as_ptr()).home };
        // SAFETY: as above.
        let shard = unsafe { (*chunk.as_ptr()).shard };
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
                let free = core::mem::replace(&mut room.free, ptr::null_mut());
                room.take_back(&shard.normal);
                room.free = free;
                room.live
            });
            normal + lock(&shard.high).live + lock(&shard.pinned).live
        };
        let left = registry.shards.iter().map(live).sum();
        if left > 0 {
            *lock(&registry.owner) = Some(owner.clone());
            // ORDERING: count_left. Relaxed: published by the executor's phase, which is set next
            // (`gate::terminate`).
            registry.left.store(left, order!(count_left: Relaxed));
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
        let shard = &self.shards[worker];
        let mut runnables = Vec::new();
        shard.normal.room.with_lock(|room| {
            let _returned = lock(&shard.normal.returned);
            room.cancel(&mut runnables);
        });
        lock(&shard.high).cancel(&mut runnables);
        runnables
    }

    /// Cancels every waiting task that is pinned to a worker and whose runnable does not exist.
    pub(crate) fn cancel_pinned(&self, worker: usize) -> Vec<Runnable<K>> {
        let mut runnables = Vec::new();
        lock(&self.shards[worker].pinned).cancel(&mut runnables);
        runnables
    }

    /// How many chunks a worker has in a lane, and how many entries are in use there.
    #[cfg(test)]
    pub(crate) fn room(&self, worker: usize, lane: Lane) -> (usize, usize) {
        let shard = &self.shards[worker];
        let of = |room: &mut Room<K>| (room.chunks.len(), room.live);
        match lane {
            Lane::Normal => shard.normal.room.with_lock(of),
            Lane::High => of(&mut lock(&shard.high)),
            Lane::Pinned(_) => of(&mut lock(&shard.pinned)),
        }
    }

    /// How many entries are left, and whether they keep the owner.
    #[cfg(test)]
    pub(crate) fn left(&self) -> (usize, bool) {
        // Relaxed: one thread.
        let left = self.left.load(core::sync::atomic::Ordering::Relaxed);
        (left, lock(&self.owner).is_some())
    }

    /// Whether a worker has pinned tasks that have not ended.
    pub(crate) fn has_pinned(&self, worker: usize) -> bool {
        lock(&self.shards[worker].pinned).live > 0
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
        unsafe { entry.cast::<*mut ()>().write(free(returned.0)) };
        returned.0 = entry;
    }
}

impl<K> Room<K> {
    #[inline]
    fn enter(
        &mut self,
        owner: &Arc<K>,
        task: NonNull<()>,
        place: &EntryLink<K>,
        lane: Lane,
        shard: usize,
    ) {
        if self.free.is_null() {
            self.grow(owner, lane, shard);
        }
        let entry = self.free;
        // SAFETY: this is a free entry of a chunk of this room.
        let next = unsafe { entry.cast::<*mut ()>().replace(task.as_ptr()) };
        self.free = next.map_addr(|address| address & !1);
        self.live += 1;
        // ORDERING: place. Relaxed: the end of this run publishes it to every thread that wakes the
        // task later.
        place.0.store(entry, order!(place: Relaxed));
    }

    /// # Safety
    /// `entry` is one of this room's, and was in use until now.
    #[inline]
    unsafe fn give_back(&mut self, entry: *mut ()) {
        // SAFETY: by this function's contract.
        unsafe { entry.cast::<*mut ()>().write(free(self.free)) };
        self.free = entry;
        self.live -= 1;
    }

    /// Takes back the entries that other threads have struck off, and counts them as no longer
    /// live. The room must have no free entry.
    #[cold]
    fn take_back(&mut self, own: &Own<K>) {
        self.free = core::mem::replace(&mut lock(&own.returned).0, ptr::null_mut());
        let mut entry = self.free;
        while !entry.is_null() {
            self.live -= 1;
            // SAFETY: this is a free entry of a chunk of this room.
            let next = unsafe { entry.cast::<*mut ()>().read() };
            entry = next.map_addr(|address| address & !1);
        }
    }

    #[cold]
    fn grow(&mut self, owner: &Arc<K>, lane: Lane, shard: usize) {
        let chunk = Chunk::new(Arc::as_ptr(owner), lane, shard);
        self.chunks.push(chunk);
        // SAFETY: the chunk is fresh.
        let entries = unsafe { &raw mut (*chunk.as_ptr()).entries }.cast::<*mut ()>();
        for i in (0..ENTRIES).rev() {
            // SAFETY: the entry is inside the chunk.
            let entry = unsafe { entries.add(i) };
            // SAFETY: as above.
            unsafe { entry.write(free(self.free)) };
            self.free = entry.cast();
        }
    }

    fn cancel(&self, runnables: &mut Vec<Runnable<K>>) {
        self.each_task(|task| {
            // SAFETY: an entry in use means that its future still exists. All its tasks have an
            // `EntryLink`.
            runnables.extend(unsafe { Runnable::raw_abort(task) });
        });
    }

    /// Calls `f` with each task that is entered. The caller holds every lock of rule 2.
    fn each_task(&self, mut f: impl FnMut(NonNull<()>)) {
        for chunk in &self.chunks {
            // SAFETY: a chunk lives as long as the room.
            let entries = unsafe { &raw const (*chunk.as_ptr()).entries }.cast::<*mut ()>();
            for i in 0..ENTRIES {
                // SAFETY: the entry is inside the chunk.
                let entry = unsafe { entries.add(i) };
                // SAFETY: no other thread touches the entries now: rule 2.
                let task = unsafe { entry.read() };
                let task = NonNull::new(task).filter(|task| task.addr().get() & 1 == 0);
                task.into_iter().for_each(&mut f);
            }
        }
    }
}

impl<K> Chunk<K> {
    fn new(owner: *const K, lane: Lane, shard: usize) -> NonNull<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: the layout's size is not zero.
        let chunk = unsafe { alloc::alloc::alloc(layout) }.cast::<Self>();
        let Some(chunk) = NonNull::new(chunk) else {
            handle_alloc_error(layout)
        };
        let empty = Self {
            home: Origin { owner, lane },
            shard,
            entries: UnsafeCell::new([ptr::null_mut(); ENTRIES]),
        };
        // SAFETY: the memory is fresh, and has that layout.
        unsafe { chunk.write(empty) };
        chunk
    }

    /// Returns the chunk that an entry lies in.
    #[inline]
    fn of(entry: *mut ()) -> Option<NonNull<Self>> {
        NonNull::new(entry.map_addr(|address| address & !(CHUNK - 1)).cast())
    }
}

impl<K> Drop for Room<K> {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: the chunk was made by `Chunk::new`. No entry is in use, because each of those
            // keeps the executor alive.
            unsafe { alloc::alloc::dealloc(chunk.as_ptr().cast(), Layout::new::<Chunk<K>>()) };
        }
    }
}
