//! Models of each thread's cache of blocks (`sync/cache.rs`), and of the depot between the threads
//! (`sync/depot.rs`), on a heap that records the state of each block. A block has one user at a
//! time, whichever thread's cache it is taken from. The threads give all blocks back when they end,
//! and the depot loses none.
#![cfg(joint_loom)]

use std::{
    alloc::Layout,
    array, iter,
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{self, AcqRel, Relaxed},
        },
    },
};

use joint::model::{Cache, Depot};
use loom_tests::{
    assert_killed,
    lab::{cell::UnsafeCell, sync::atomic::AtomicPtr, thread},
    model, model_bounded, model_from_both_sides, others_first,
};

/// The content of a block. The model's cells are larger than real ones, and the first block of a
/// batch contains one.
type Filling = [u64; 16];
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
    depot: Depot,
    /// Not an atomic of the model, so it makes no edges.
    handed_out: AtomicUsize,
}

// SAFETY: the addresses are those of cells, which the model watches.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    /// Creates a heap with as many blocks, and room for as many batches in its depot.
    fn new(blocks: usize, batches: usize, batch: usize) -> Self {
        let block = |_| Block {
            memory: UnsafeCell::new([0; 16]),
            state: UnsafeCell::new(Fresh),
        };
        let blocks: Box<[_]> = (0..blocks).map(block).collect();
        let address =
            |block: &Block| NonNull::new(block.memory.with_mut(|memory| memory.cast())).unwrap();
        Self {
            addresses: blocks.iter().map(address).collect(),
            blocks,
            depot: Depot::new(batches * batch * LAYOUT.size(), batch * LAYOUT.size()),
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
            .take(LAYOUT, &self.depot)
            .unwrap_or_else(|| self.addresses[self.handed_out.fetch_add(1, Relaxed)]);
        self.change(block, &[Fresh, GivenUp], Used);
        // Overwrites whatever the cache had written there.
        // SAFETY: this user has exclusive access, as the line above has checked.
        unsafe { block.cast::<Filling>().write([u64::MAX; 16]) };
        block
    }

    fn release(&self, cache: &Cache, block: NonNull<u8>) {
        self.change(block, &[Used], GivenUp);
        // SAFETY: the block has this layout, and its user releases it.
        if !unsafe { cache.put(block, LAYOUT, &self.depot) } {
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

    /// Takes back what waits in the depot, and returns how many blocks there were.
    fn take_all(&self) -> usize {
        let cache = Cache::new(isize::MAX as usize);
        let waiting = iter::from_fn(|| cache.take(LAYOUT, &self.depot));
        waiting.map(|block| self.take_back(block)).count()
    }

    fn assert_all_back(&self) {
        for block in &self.blocks[..self.handed_out.load(Relaxed)] {
            // SAFETY: the model has checked that no thread writes it.
            let state = block.state.with(|state| unsafe { *state });
            assert_eq!(state, Back);
        }
    }
}

/// Two threads, and the mail from each to the other. Nothing waits in the depot.
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
            heap: Heap::new(6, 0, 1),
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
    blocks_travel(isize::MAX as usize, AcqRel);
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
    blocks_travel(isize::MAX as usize, Relaxed);
}

/// How many batches the depot has room for, where something waits there.
const BATCHES: usize = 4;

/// A thread's part in the exchange. Its cache has room for one batch.
#[derive(Clone, Copy)]
enum Does {
    /// Releases blocks that it was sent, and so gives as many batches.
    Give(usize),
    /// Uses as many blocks at a time.
    Take(usize),
}
use Does::{Give, Take};

impl Does {
    /// How many blocks it is to be sent.
    fn expects(self, batch: usize) -> usize {
        match self {
            Give(batches) => (1 + batches) * batch,
            Take(_) => 0,
        }
    }

    fn run(self, heap: &Heap, batch: usize, sent: Sent) {
        let cache = Cache::new(batch * LAYOUT.size());
        let used = match self {
            Give(_) => sent.0,
            Take(blocks) => (0..blocks).map(|_| heap.allocate(&cache)).collect(),
        };
        for block in used {
            heap.release(&cache, block);
        }
        heap.close(&cache);
    }
}

/// Blocks that are sent to a thread.
struct Sent(Vec<NonNull<u8>>);
// SAFETY: the sender does not use them any more.
unsafe impl Send for Sent {}

/// Fills the depot with some batches of as many blocks. Then the threads run, the first of which is
/// the model's.
fn exchange(batches: usize, batch: usize, threads: &'static [Does]) {
    model_from_both_sides(exchanging(batches, batch, threads));
}

fn exchanging(batches: usize, batch: usize, threads: &'static [Does]) -> impl Fn() {
    move || {
        let heap = Arc::new(Heap::new(40, BATCHES, batch));
        let nothing = Cache::new(0);
        let send = |count| Sent((0..count).map(|_| heap.allocate(&nothing)).collect());
        let mut sent: Vec<_> = threads
            .iter()
            .map(|does| send(does.expects(batch)))
            .collect();
        let first = Give(batches);
        let filling = send(first.expects(batch));
        first.run(&heap, batch, filling);
        let own = sent.remove(0);
        let others = threads[1..].iter().zip(sent).map(|(&does, sent)| {
            let heap = heap.clone();
            thread::spawn(move || does.run(&heap, batch, sent))
        });
        let others: Vec<_> = others.collect();
        others_first();
        threads[0].run(&heap, batch, own);
        for thread in others {
            thread.join().unwrap();
        }
        heap.take_all();
        // As many batches fit in as at first.
        let last = Give(BATCHES + 1);
        last.run(&heap, batch, send(last.expects(batch)));
        assert_eq!(heap.take_all(), BATCHES * batch);
        heap.assert_all_back();
    }
}

fn one_gives_what_another_takes() {
    exchange(0, 1, &[Take(1), Give(1)]);
}

fn one_takes_while_another_gives() {
    exchange(2, 1, &[Take(1), Give(1)]);
}

#[test]
fn a_batch_that_is_given_is_taken_once() {
    one_gives_what_another_takes();
    exchange(0, 2, &[Take(2), Give(1)]);
    exchange(0, 1, &[Take(1), Give(1), Give(1)]);
    exchange(1, 1, &[Take(1), Take(1), Give(1)]);
}

#[test]
fn the_rest_of_a_chain_is_put_back() {
    one_takes_while_another_gives();
    exchange(2, 2, &[Take(1), Take(3)]);
    exchange(3, 1, &[Take(2), Give(1)]);
}

#[test]
fn two_rests_are_put_back_within_3_preemptions() {
    let threads = &[Take(1), Take(1), Give(1)];
    model_bounded(3, exchanging(2, 1, threads));
}

#[test]
fn a_full_depot_takes_no_more() {
    let threads = &[Give(1), Give(1)];
    exchange(BATCHES - 1, 1, threads);
    exchange(BATCHES, 1, threads);
    exchange(BATCHES, 1, &[Give(1), Take(1)]);
}

fn killed(site: &str, model: impl FnOnce()) {
    assert_killed(&format!("sync::depot::{site}"), Relaxed, model);
}

#[test]
fn pushing_is_release() {
    killed("push", one_gives_what_another_takes);
}

#[test]
fn taking_is_acquire() {
    killed("take", one_gives_what_another_takes);
}

#[test]
fn putting_back_is_acquire() {
    killed("put_back", one_takes_while_another_gives);
}
