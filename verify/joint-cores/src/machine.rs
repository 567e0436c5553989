//! The machine: cores with clocks, cache lines, and a simple kernel.
//!
//! | state of a line | a read by core i | a write by core i |
//! |---|---|---|
//! | never written, or owned by i | a hit | a hit |
//! | shared, i has a copy | a hit | moves: the other copies end |
//! | shared, i has none | moves from the nearest copy | moves |
//! | owned by core j | moves, and is shared then | moves, and is i's then |
//!
//! A line that moves to be written, or away from its owner, is busy until it has arrived, and the
//! next one waits. A store does not wait for its line, but the next read-modify-write or fence of
//! its core does.

use core::{
    cell::{Cell, RefCell},
    ptr::NonNull,
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::{Duration, Instant},
};

use corosensei::{Coroutine, Yielder};

use crate::{
    Costs, heap,
    kernel::{Event, MOST, catch_up},
    locals::Locals,
};

/// The size of a cache line.
const LINE: usize = 64;
/// By how much a cost varies.
const JITTER: f64 = 0.03;

/// What an access does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Act {
    Load,
    Store,
    Exchange,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Operations on shared memory.
    pub operations: u64,
    /// Read-modify-writes.
    pub exchanges: u64,
    /// Lines that have moved between cores.
    pub moves: u64,
    /// Sleepers that were woken.
    pub wakes: u64,
    /// Sequentially consistent fences.
    pub fences: u64,
    /// Pieces of memory that were allocated.
    pub allocations: u64,
}

impl Counts {
    /// Combines each count with that of another look.
    fn with(self, other: Self, f: fn(u64, u64) -> u64) -> Self {
        Self {
            operations: f(self.operations, other.operations),
            exchanges: f(self.exchanges, other.exchanges),
            moves: f(self.moves, other.moves),
            wakes: f(self.wakes, other.wakes),
            fences: f(self.fences, other.fences),
            allocations: f(self.allocations, other.allocations),
        }
    }

    /// What has happened since another look.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, |now, before| now - before)
    }
}

#[derive(Clone, Copy, Default)]
struct Line {
    /// The cores that have a copy.
    copies: u64,
    /// Whether the copy is one that was written.
    is_owned: bool,
    busy: f64,
}

#[derive(Default)]
pub(crate) struct Core {
    pub(crate) clock: f64,
    pub(crate) running: Option<usize>,
    pub(crate) queue: VecDeque<usize>,
    pub(crate) counts: Counts,
    /// When the last of its stores has its line.
    pub(crate) stored: f64,
    pub(crate) slice_ends: f64,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum State {
    /// On a core, in the queue of one, or ended.
    #[default]
    Ready,
    /// Asleep, on a word or until a time.
    Asleep(usize),
    /// Woken, but not on a core yet.
    Woken,
}

#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) state: State,
    pub(crate) core: usize,
    pub(crate) coroutine: Option<Coroutine<(), (), ()>>,
    pub(crate) yielder: Option<NonNull<Yielder<(), ()>>>,
    /// Tells its sleeps apart.
    pub(crate) sleeps: u64,
    pub(crate) timed_out: bool,
    pub(crate) locals: Locals,
}

pub(crate) struct Machine {
    pub(crate) costs: Costs,
    pub(crate) cores: Vec<Core>,
    pub(crate) threads: Vec<Thread>,
    lines: HashMap<usize, Line>,
    /// What happens later, by its time, whose bits are in its order, and by a number.
    pub(crate) events: BTreeMap<(u64, u64), Event>,
    /// The core that runs, and until when it runs on.
    pub(crate) core: usize,
    pub(crate) horizon: f64,
    pub(crate) random: u64,
    pub(crate) seed: u64,
    pub(crate) run: u64,
    pub(crate) numbers: u64,
}

std::thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// Runs the simulator's own code, whose memory is not the program's. Returns nothing if no machine
/// runs, as while values are dropped after its end.
pub(crate) fn with<R>(f: impl FnOnce(&mut Machine) -> R) -> Option<R> {
    let run = || MACHINE.try_with(|machine| machine.borrow_mut().as_mut().map(f));
    heap::outside(run).ok().flatten()
}

pub(crate) fn with_thread<R>(f: impl FnOnce(&mut Machine, usize) -> R) -> Option<R> {
    with(|machine| {
        let thread = machine.cores[machine.core].running.expect("a thread runs");
        f(machine, thread)
    })
}

impl Machine {
    pub(crate) fn new(cores: usize, costs: Costs, seed: u64) -> Self {
        Self {
            costs,
            cores: (0..cores).map(|_| Core::default()).collect(),
            threads: Vec::new(),
            lines: HashMap::new(),
            events: BTreeMap::new(),
            core: 0,
            horizon: f64::MAX,
            random: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            seed,
            run: RUNS.replace(RUNS.get() + 1) + 1,
            numbers: 0,
        }
    }

    /// Makes it the machine of this thread of the system, and returns the one before.
    pub(crate) fn install(machine: Option<Self>) -> Option<Self> {
        MACHINE.replace(machine)
    }

    /// A number from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn pass(&mut self, time: f64) {
        let jitter = 1.0 + JITTER * (2.0 * self.chance() - 1.0);
        self.cores[self.core].clock += time * jitter;
    }

    /// What happens on the running core.
    pub(crate) fn count(&mut self) -> &mut Counts {
        &mut self.cores[self.core].counts
    }

    pub(crate) fn clock(&self) -> f64 {
        self.cores[self.core].clock
    }

    /// Charges an access to the line, and returns when its core goes on.
    fn access(&mut self, line: usize, act: Act) {
        let (core, bit) = (self.core, 1_u64 << self.core);
        let costs = self.costs;
        if act == Act::Exchange {
            let Core { clock, stored, .. } = &mut self.cores[core];
            *clock = clock.max(*stored);
            self.cores[core].counts.exchanges += 1;
        }
        let state = self.lines.entry(line).or_default();
        let others = state.copies & !bit;
        let has_copy = state.copies & bit != 0;
        let is_hit = others == 0 || (act == Act::Load && has_copy);
        let mut end = self.cores[core].clock;
        if !is_hit || act != Act::Load {
            end = end.max(state.busy);
        }
        if !is_hit {
            let copies = (0..MOST).filter(|other| others >> other & 1 != 0);
            let distances = copies.map(|other| costs.distance(core, other));
            let from = match act {
                // All copies have to be given up.
                Act::Store | Act::Exchange => distances.fold(0.0, f64::max),
                Act::Load => distances.fold(f64::MAX, f64::min),
            };
            end += from;
            if act != Act::Load || state.is_owned {
                state.busy = end;
            }
            self.cores[core].counts.moves += 1;
        }
        match act {
            Act::Load => {
                state.copies |= bit;
                state.is_owned &= state.copies == bit;
            }
            Act::Store | Act::Exchange => (state.copies, state.is_owned) = (bit, true),
        }
        match act {
            Act::Load => self.cores[core].clock = end,
            Act::Store => self.cores[core].stored = self.cores[core].stored.max(end),
            Act::Exchange => self.cores[core].clock = end + costs.exchange,
        }
        self.pass(costs.hit);
    }
}

/// Does an operation on shared memory, when it is its turn.
pub(crate) fn touch(address: usize, act: Act) {
    let runs = with(|machine| {
        machine.count().operations += 1;
        machine.pass(machine.costs.work);
    });
    if runs.is_some() {
        catch_up();
        with(|machine| machine.access(address / LINE, act));
    }
}

/// Reads or writes a value that only one thread uses at a time, or that is only read.
pub(crate) fn touch_plain(address: usize, size: usize, act: Act) {
    with(|machine| {
        // Of a large value, only a part is used.
        let last = (address + size.saturating_sub(1)).min(address + 3 * LINE);
        for line in address / LINE..=last / LINE {
            machine.access(line, act);
        }
    });
}

/// The core has written a new piece of memory.
pub(crate) fn written(address: usize, size: usize) {
    with(|machine| machine.count().allocations += 1);
    touch_plain(address, size, Act::Store);
}

/// Makes a fence.
pub(crate) fn fence(is_full: bool) {
    if is_full {
        with(|machine| {
            let cost = machine.costs.fence;
            machine.count().fences += 1;
            let Core { clock, stored, .. } = &mut machine.cores[machine.core];
            *clock = clock.max(*stored);
            machine.pass(cost);
        });
        catch_up();
    }
}

/// A pause in a loop that waits.
pub fn spin_loop() {
    charge(|costs| costs.pause);
}

/// Charges what the costs say.
pub(crate) fn charge(cost: impl FnOnce(&Costs) -> f64) {
    with(|machine| machine.pass(cost(&machine.costs)));
    catch_up();
}

pub(crate) fn costs() -> Costs {
    with(|machine| machine.costs).expect("a machine runs")
}

/// The number of the running thread.
pub(crate) fn thread() -> usize {
    with_thread(|_, thread| thread).unwrap_or_default()
}

/// The locals of the running thread.
pub(crate) fn with_locals<R>(f: impl FnOnce(&mut Locals) -> R) -> Option<R> {
    with_thread(|machine, thread| f(&mut machine.threads[thread].locals))
}

/// The core that runs.
pub(crate) fn core() -> usize {
    with(|machine| machine.core).unwrap_or_default()
}

/// Returns the time of the running core.
pub fn now() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let passed = with(|machine| {
        machine.pass(machine.costs.clock);
        machine.clock()
    });
    *START.get_or_init(Instant::now) + Duration::from_nanos(passed.unwrap_or_default() as u64)
}

/// Works for some nanoseconds, without an access to shared memory.
pub fn work(nanoseconds: f64) {
    charge(|_| nanoseconds);
}

/// Returns what has happened so far on all cores.
pub fn counts() -> Counts {
    let add = |all: Counts, core: &Core| all.with(core.counts, |one, other| one + other);
    with(|machine| machine.cores.iter().fold(Counts::default(), add)).unwrap_or_default()
}

/// Returns a number that depends on the seed of the run, another one each time.
pub fn seed() -> u64 {
    let next = with(|machine| {
        machine.numbers += 1;
        let mixed = (machine.seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ machine.numbers;
        mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9)
    });
    next.unwrap_or(1)
}

/// Tells the runs of this process apart.
pub(crate) fn run_id() -> u64 {
    with(|machine| machine.run).unwrap_or_default()
}
