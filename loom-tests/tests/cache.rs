//! Models of each thread's cache of blocks (`sync/cache.rs`), on a heap that records the state of
//! each block. A block has one user at a time, whichever thread's cache it is taken from, and the
//! threads give all blocks back when they end.
#![cfg(joint_loom)]

use std::{
    alloc::Layout,
    array,
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{self, AcqRel, Relaxed},
        },
    },
};

use joint::model::Cache;
use loom_tests::{
    lab::{cell::UnsafeCell, sync::atomic::AtomicPtr, thread},
    model,
};

/// What fits into a block.
type Filling = [u64; 2];
const LAYOUT: Layout = Layout::new::<Filling>();

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Fresh,
    Used,
    /// Released by its user, and in a cache if the cache accepts it.
    GivenUp,
    /// Given back to the heap for good.
    Back,
}
use State::{Back, Fresh, GivenUp, Used};

struct Block {
    memory: UnsafeCell<Filling>,
    state: UnsafeCell<State>,
}

/// A heap with as many blocks as a model needs.
struct Heap {
    /// Boxed, so that the address that identifies a block never changes.
    blocks: Box<[Block]>,
    addresses: Vec<NonNull<u8>>,
    /// Not an atomic of the model, so it makes no edges.
    handed_out: AtomicUsize,
}

// SAFETY: the addresses are those of cells, which the model watches.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    fn new(blocks: usize) -> Self {
        let block = |_| Block {
            memory: UnsafeCell::new([0; 2]),
            state: UnsafeCell::new(Fresh),
        };
        let blocks: Box<[_]> = (0..blocks).map(block).collect();
        let address =
            |block: &Block| NonNull::new(block.memory.with_mut(|memory| memory.cast())).unwrap();
        Self {
            addresses: blocks.iter().map(address).collect(),
            blocks,
            handed_out: AtomicUsize::new(0),
        }
    }

    /// Moves the block from one state to the next. This is a write, so the model fails unless every
    /// earlier use by another thread happens before it.
    fn change(&self, block: NonNull<u8>, from: &[State], to: State) {
        let index = self.addresses.iter().position(|&at| at == block);
        let block = &self.blocks[index.expect("a block of this heap")];
        block.state.with_mut(|state| {
            // SAFETY: the model has checked that no other thread accesses it.
            let before = unsafe { state.replace(to) };
            assert!(from.contains(&before), "{before:?} before {to:?}");
        });
    }

    fn allocate(&self, cache: &Cache) -> NonNull<u8> {
        let block = cache
            .take(LAYOUT)
            .unwrap_or_else(|| self.addresses[self.handed_out.fetch_add(1, Relaxed)]);
        self.change(block, &[Fresh, GivenUp], Used);
        // Overwrites whatever the cache had written there.
        // SAFETY: this user has exclusive access, as the line above has checked.
        unsafe { block.cast::<Filling>().write([u64::MAX; 2]) };
        block
    }

    fn release(&self, cache: &Cache, block: NonNull<u8>) {
        self.change(block, &[Used], GivenUp);
        // SAFETY: the block has this layout, and its user releases it.
        if !unsafe { cache.put(block, LAYOUT) } {
            self.take_back(block);
        }
    }

    fn take_back(&self, block: NonNull<u8>) {
        self.change(block, &[GivenUp], Back);
    }

    fn close(&self, cache: &Cache) {
        cache.close(|block, layout| {
            assert_eq!(layout, LAYOUT);
            self.take_back(block);
        });
    }

    fn assert_all_back(&self) {
        for block in &self.blocks[..self.handed_out.load(Relaxed)] {
            // SAFETY: the model has checked that no thread writes it.
            let state = block.state.with(|state| unsafe { *state });
            assert_eq!(state, Back);
        }
    }
}

/// Two threads, and the mail from each to the other.
struct World {
    heap: Heap,
    mail: [AtomicPtr<u8>; 2],
    /// The ordering of the mail.
    order: Ordering,
}

impl World {
    fn receive(&self, who: usize) -> Option<NonNull<u8>> {
        NonNull::new(self.mail[who].swap(ptr::null_mut(), self.order))
    }

    /// Sends a block, releases the block that arrived, allocates two, ends, and releases a block
    /// that arrived late.
    fn thread(&self, who: usize, most: usize) {
        let (heap, cache) = (&self.heap, Cache::new(most));
        let sent = heap.allocate(&cache);
        self.mail[1 - who].swap(sent.as_ptr(), self.order);
        let received = self.receive(who);
        received
            .into_iter()
            .for_each(|block| heap.release(&cache, block));
        let own = heap.allocate(&cache);
        let another = heap.allocate(&cache);
        heap.release(&cache, own);
        heap.release(&cache, another);
        heap.close(&cache);
        let late = self.receive(who);
        late.into_iter()
            .for_each(|block| heap.release(&cache, block));
    }
}

fn blocks_travel(most: usize, order: Ordering) {
    model(move || {
        let world = Arc::new(World {
            heap: Heap::new(6),
            mail: array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            order,
        });
        let threads = [0, 1].map(|who| {
            let world = world.clone();
            thread::spawn(move || world.thread(who, most))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let cache = Cache::new(most);
        for who in [0, 1] {
            let left = world.receive(who);
            left.into_iter()
                .for_each(|block| world.heap.release(&cache, block));
        }
        world.heap.close(&cache);
        world.heap.assert_all_back();
    });
}

#[test]
fn blocks_that_travel_have_one_user_at_a_time_and_all_come_back() {
    blocks_travel(usize::MAX, AcqRel);
}

#[test]
fn so_do_those_that_a_cache_has_no_room_for() {
    blocks_travel(LAYOUT.size(), AcqRel);
    blocks_travel(0, AcqRel);
}

/// The record that the heap keeps makes no edge by itself.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_block_that_travels_without_an_edge_is_a_race() {
    blocks_travel(usize::MAX, Relaxed);
}
