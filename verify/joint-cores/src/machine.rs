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
    time::Duration,
};
use std::{
    any::Any,
    collections::{BinaryHeap, HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

use crate::{
    Costs, heap,
    locals::{self, Local},
};

/// The size of a cache line.
const LINE: usize = 64;
const STACK: usize = 256 << 10;
/// Most cores.
const MOST: usize = 64;
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
    /// What has happened since another look.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            operations: self.operations - before.operations,
            exchanges: self.exchanges - before.exchanges,
            moves: self.moves - before.moves,
            wakes: self.wakes - before.wakes,
            fences: self.fences - before.fences,
            allocations: self.allocations - before.allocations,
        }
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

/// Line numbers need little hashing.
#[derive(Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (number as u64)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(20);
    }
}

#[derive(Default)]
struct Core {
    clock: f64,
    running: Option<usize>,
    queue: VecDeque<usize>,
    /// When the last of its stores has its line.
    stored: f64,
    slice_ends: f64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Ready,
    /// Asleep, on a word or until a time.
    Asleep(usize),
    /// Woken, but not on a core yet.
    Woken,
    Ended,
}

type Main = Coroutine<(), (), ()>;
type Panic = Box<dyn Any + Send>;

struct Thread {
    state: State,
    core: usize,
    coroutine: Option<Main>,
    yielder: Option<NonNull<Yielder<(), ()>>>,
    /// Tells its sleeps apart.
    sleeps: u64,
    timed_out: bool,
    locals: Vec<Local>,
}

/// A thread wakes up at a time. The latest comes first by `Ord`, so that the heap has the earliest.
#[derive(PartialEq)]
struct Event {
    at: f64,
    number: u64,
    thread: usize,
    sleep: u64,
    is_limit: bool,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        other
            .at
            .total_cmp(&self.at)
            .then(other.number.cmp(&self.number))
    }
}

struct Machine {
    costs: Costs,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    lines: HashMap<usize, Line, BuildHasherDefault<LineHasher>>,
    events: BinaryHeap<Event>,
    /// The core that runs, and until when it runs on.
    core: usize,
    horizon: f64,
    random: u64,
    seed: u64,
    run: u64,
    numbers: u64,
    counts: Counts,
    stacks: Vec<DefaultStack>,
}

std::thread_local! {
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// Runs the simulator's own code, whose memory is not the program's. Returns nothing if no machine
/// runs, as while values are dropped after its end.
fn with<R>(f: impl FnOnce(&mut Machine) -> R) -> Option<R> {
    let was_inside = heap::inside(false);
    let result = MACHINE.try_with(|machine| machine.borrow_mut().as_mut().map(f));
    heap::inside(was_inside);
    result.ok().flatten()
}

fn with_thread<R>(f: impl FnOnce(&mut Machine, usize) -> R) -> Option<R> {
    with(|machine| {
        let thread = machine.cores[machine.core].running.expect("a thread runs");
        f(machine, thread)
    })
}

impl Machine {
    /// A number from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn pass(&mut self, time: f64) {
        let jitter = 1.0 + JITTER * (2.0 * self.chance() - 1.0);
        self.cores[self.core].clock += time * jitter;
    }

    fn clock(&self) -> f64 {
        self.cores[self.core].clock
    }

    /// Charges an access to the line, and returns when its core goes on.
    fn access(&mut self, line: usize, act: Act) {
        let (core, bit) = (self.core, 1_u64 << self.core);
        let costs = self.costs;
        if act == Act::Exchange {
            let Core { clock, stored, .. } = &mut self.cores[core];
            *clock = clock.max(*stored);
            self.counts.exchanges += 1;
        }
        let state = self.lines.entry(line).or_default();
        let others = state.copies & !bit;
        let has_copy = state.copies & bit != 0;
        let is_hit = match act {
            Act::Load => has_copy || others == 0,
            Act::Store | Act::Exchange => others == 0,
        };
        let clock = self.cores[core].clock;
        let mut end = clock;
        if is_hit {
            end = end.max(if act == Act::Load { clock } else { state.busy });
        } else {
            let copies = (0..MOST).filter(|other| others >> other & 1 != 0);
            let distances = copies.map(|other| costs.distance(core, other));
            let from = match act {
                // All copies have to be given up.
                Act::Store | Act::Exchange => distances.fold(0.0, f64::max),
                Act::Load => distances.fold(f64::MAX, f64::min),
            };
            end = clock.max(state.busy) + from;
            if act != Act::Load || state.is_owned {
                state.busy = end;
            }
            self.counts.moves += 1;
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

    fn at(&mut self, time: f64, thread: usize, is_limit: bool) {
        self.numbers += 1;
        let (number, sleep) = (self.numbers, self.threads[thread].sleeps);
        self.events.push(Event {
            at: time,
            number,
            thread,
            sleep,
            is_limit,
        });
        self.horizon = self.horizon.min(time);
    }

    /// Lets a thread run on some core from a time on.
    fn place(&mut self, time: f64, thread: usize) {
        let last = self.threads[thread].core;
        let is_idle = |core: usize| self.cores[core].running.is_none();
        let idle = (0..self.cores.len()).filter(|core| is_idle(*core));
        let near = idle.min_by_key(|&core| {
            (
                core != last,
                core / self.costs.cluster != last / self.costs.cluster,
                core,
            )
        });
        self.threads[thread].state = State::Ready;
        let Some(core) = near else {
            let lengths = (0..self.cores.len())
                .map(|core| (self.cores[core].queue.len(), core != last, core));
            let (.., core) = lengths.min().expect("there is a core");
            self.cores[core].queue.push_back(thread);
            if self.cores[core].queue.len() == 1 {
                self.cores[core].slice_ends = self.cores[core].clock.max(time) + self.costs.slice;
            }
            return;
        };
        self.threads[thread].core = core;
        let slice = self.costs.slice;
        let idle = &mut self.cores[core];
        idle.clock = idle.clock.max(time);
        idle.running = Some(thread);
        idle.slice_ends = idle.clock + slice;
    }

    /// The next event has happened.
    fn happen(&mut self, event: Event) {
        let Event {
            at,
            thread,
            sleep,
            is_limit,
            ..
        } = event;
        let sleeper = &mut self.threads[thread];
        match sleeper.state {
            State::Asleep(_) if is_limit && sleeper.sleeps == sleep => {
                sleeper.timed_out = true;
                sleeper.state = State::Woken;
                self.at(at + self.costs.latency, thread, false);
            }
            State::Woken if !is_limit => self.place(at, thread),
            _ => {}
        }
    }

    /// The thread of a core gives it up.
    fn give_up(&mut self) {
        let (core, slice, switch) = (self.core, self.costs.slice, self.costs.switch);
        let own = self.cores[core].queue.pop_front();
        let next = own.or_else(|| {
            // An idle core takes a thread from the longest queue.
            let lengths = self.cores.iter_mut().map(|other| &mut other.queue);
            lengths.max_by_key(|queue| queue.len())?.pop_front()
        });
        let this = &mut self.cores[core];
        this.running = next;
        if let Some(next) = next {
            this.clock += switch;
            this.slice_ends = this.clock + slice;
            self.threads[next].core = core;
        }
    }

    /// Chooses what comes next. Returns the thread that runs, or nothing if all have ended.
    fn next(&mut self) -> Option<usize> {
        loop {
            let mut first = (f64::MAX, None);
            let mut second = f64::MAX;
            for (number, core) in self.cores.iter().enumerate() {
                if core.running.is_none() {
                    continue;
                }
                if core.clock < first.0 {
                    second = first.0;
                    first = (core.clock, Some(number));
                } else {
                    second = second.min(core.clock);
                }
            }
            let event = self.events.peek().map_or(f64::MAX, |event| event.at);
            if event <= first.0 {
                let event = self.events.pop()?;
                self.happen(event);
                continue;
            }
            self.core = first.1?;
            self.horizon = second.min(event);
            return self.cores[self.core].running;
        }
    }
}

/// Lets others run while they are behind.
fn catch_up() {
    let yielder = with_thread(|machine, thread| {
        let core = &machine.cores[machine.core];
        if core.clock > core.slice_ends && !core.queue.is_empty() {
            let this = machine.core;
            machine.cores[this].queue.push_back(thread);
            machine.give_up();
        } else if core.clock <= machine.horizon {
            return None;
        }
        machine.threads[thread].yielder
    });
    suspend(yielder.flatten());
}

fn suspend(yielder: Option<NonNull<Yielder<(), ()>>>) {
    let Some(yielder) = yielder else { return };
    heap::inside(false);
    // SAFETY: the yielder is on the stack of this coroutine, which is running.
    unsafe { yielder.as_ref() }.suspend(());
    heap::inside(true);
}

/// Does an operation on shared memory, when it is its turn.
pub(crate) fn touch(address: usize, act: Act) {
    let runs = with(|machine| {
        machine.counts.operations += 1;
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
    with(|machine| machine.counts.allocations += 1);
    touch_plain(address, size, Act::Store);
}

/// Makes a fence.
pub(crate) fn fence(is_full: bool) {
    if is_full {
        with(|machine| {
            let cost = machine.costs.fence;
            machine.counts.fences += 1;
            let Core { clock, stored, .. } = &mut machine.cores[machine.core];
            *clock = clock.max(*stored);
            machine.pass(cost);
        });
        catch_up();
    }
}

pub(crate) fn pause() {
    with(|machine| machine.pass(machine.costs.pause));
    catch_up();
}

/// Charges what the costs say.
pub(crate) fn charge(cost: impl FnOnce(&Costs) -> f64) {
    with(|machine| machine.pass(cost(&machine.costs)));
    catch_up();
}

pub(crate) fn costs() -> Costs {
    with(|machine| machine.costs).expect("a machine runs")
}

/// Lets other threads of the core run.
pub(crate) fn yield_now() {
    charge(|costs| costs.yields);
    let yielder = with_thread(|machine, thread| {
        let core = machine.core;
        if machine.cores[core].queue.is_empty() {
            return None;
        }
        machine.cores[core].queue.push_back(thread);
        machine.give_up();
        machine.threads[thread].yielder
    });
    suspend(yielder.flatten());
}

/// Sleeps until `wake` is called with the address, or for a time at most, if `is_due` holds still.
/// Returns whether the time has passed. An address of 0 is never woken.
pub(crate) fn sleep_on(
    address: usize,
    limit: Option<Duration>,
    is_due: impl FnOnce() -> bool,
) -> bool {
    charge(|costs| costs.call);
    if !is_due() {
        return false;
    }
    let yielder = with_thread(|machine, thread| {
        let clock = machine.clock();
        let sleeper = &mut machine.threads[thread];
        sleeper.state = State::Asleep(address);
        sleeper.sleeps += 1;
        sleeper.timed_out = false;
        let yielder = sleeper.yielder;
        if let Some(limit) = limit {
            machine.at(clock + limit.as_secs_f64() * 1e9, thread, true);
        }
        machine.give_up();
        yielder
    });
    suspend(yielder.flatten());
    with_thread(|machine, thread| machine.threads[thread].timed_out).unwrap_or_default()
}

/// Wakes up to so many threads that sleep with the address, and returns how many.
pub(crate) fn wake(address: usize, most: usize) -> usize {
    charge(|costs| costs.call);
    let mut woken = 0;
    while woken < most {
        let found = with(|machine| {
            // The one that has slept longest comes first.
            let asleep = machine.threads.iter().enumerate();
            let asleep = asleep.filter(|(_, thread)| thread.state == State::Asleep(address));
            let first = asleep
                .min_by_key(|(number, thread)| (thread.sleeps, *number))?
                .0;
            machine.threads[first].state = State::Woken;
            machine.counts.wakes += 1;
            machine.pass(machine.costs.wake);
            let time = machine.clock() + machine.costs.latency;
            machine.at(time, first, false);
            Some(())
        });
        if found.flatten().is_none() {
            break;
        }
        woken += 1;
    }
    catch_up();
    woken
}

/// The number of the thread that is started next.
pub(crate) fn next_thread() -> usize {
    with(|machine| machine.threads.len()).unwrap_or_default()
}

/// Starts a thread.
pub(crate) fn start(body: impl FnOnce() + 'static) {
    with(|machine| {
        machine.pass(machine.costs.start);
        let thread = machine.add(body);
        machine.threads[thread].state = State::Woken;
        machine.threads[thread].core = machine.core;
        let time = machine.clock() + machine.costs.latency;
        machine.at(time, thread, false);
    });
    catch_up();
}

impl Machine {
    fn add(&mut self, body: impl FnOnce() + 'static) -> usize {
        let stack = self.stacks.pop();
        let stack =
            stack.unwrap_or_else(|| DefaultStack::new(STACK).expect("there is memory left"));
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with_thread(|machine, thread| {
                machine.threads[thread].yielder = Some(NonNull::from(yielder));
            });
            heap::inside(true);
            body();
            locals::end();
            heap::inside(false);
        });
        self.threads.push(Thread {
            state: State::Ready,
            core: 0,
            coroutine: Some(coroutine),
            yielder: None,
            sleeps: 0,
            timed_out: false,
            locals: Vec::new(),
        });
        self.threads.len() - 1
    }
}

/// The number of the running thread.
pub(crate) fn thread() -> usize {
    with_thread(|_, thread| thread).unwrap_or_default()
}

/// The locals of the running thread.
pub(crate) fn with_locals<R>(f: impl FnOnce(&mut Vec<Local>) -> R) -> Option<R> {
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

/// Returns what has happened so far.
pub fn counts() -> Counts {
    with(|machine| machine.counts).unwrap_or_default()
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
pub fn run_id() -> u64 {
    with(|machine| machine.run).unwrap_or_default()
}

/// Runs a program on so many cores, until its first thread has ended.
///
/// # Panics
/// If a thread panics, or if all sleep.
pub fn simulate<T: 'static>(
    cores: usize,
    costs: Costs,
    seed: u64,
    main: impl FnOnce() -> T + 'static,
) -> T {
    assert!((1..=MOST).contains(&cores), "from 1 to {MOST} cores");
    let result = std::rc::Rc::new(Cell::new(None));
    let ours = result.clone();
    let mut machine = Machine {
        costs,
        cores: (0..cores).map(|_| Core::default()).collect(),
        threads: Vec::new(),
        lines: HashMap::default(),
        events: BinaryHeap::new(),
        core: 0,
        horizon: f64::MAX,
        random: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        seed,
        run: RUNS.replace(RUNS.get() + 1) + 1,
        numbers: 0,
        counts: Counts::default(),
        stacks: STACKS.take(),
    };
    let first = machine.add(move || ours.set(Some(main())));
    machine.place(0.0, first);
    MACHINE.set(Some(machine));
    let panicked = drive();
    let machine = MACHINE.take().expect("it has run");
    let mut stacks = machine.stacks;
    for thread in machine.threads {
        if let Some(mut coroutine) = thread.coroutine {
            // What its frames own is leaked.
            // SAFETY: nothing on its stack is used any more.
            unsafe { coroutine.force_reset() };
            stacks.push(coroutine.into_stack());
        }
        core::mem::forget(thread.locals);
    }
    STACKS.set(stacks);
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    result.take().expect("the program has ended")
}

/// Runs the threads until the first one has ended.
fn drive() -> Option<Panic> {
    while let Some(thread) = with(Machine::next).flatten() {
        let coroutine = with(|machine| machine.threads[thread].coroutine.take()).flatten();
        let mut coroutine = coroutine.expect("a thread that runs has not ended");
        let ran = catch_unwind(AssertUnwindSafe(|| {
            // A thread that goes on is the program's code.
            coroutine.resume(())
        }));
        heap::inside(false);
        match ran {
            Err(panic) => return Some(panic),
            Ok(CoroutineResult::Yield(())) => {
                with(|machine| machine.threads[thread].coroutine = Some(coroutine));
            }
            Ok(CoroutineResult::Return(())) => {
                with(|machine| {
                    machine.stacks.push(coroutine.into_stack());
                    machine.threads[thread].state = State::Ended;
                    machine.give_up();
                });
                if thread == 0 {
                    return None;
                }
            }
        }
    }
    Some(Box::new("all threads sleep, and nothing will wake them"))
}
