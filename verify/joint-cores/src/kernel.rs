//! The kernel, which gives cores to threads: the core that the thread had last, if it is idle,
//! another idle one, or else the shortest queue, whose threads take turns. And the loop that runs
//! the threads.

use core::{any::Any, cell::Cell, ptr::NonNull, time::Duration};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

use crate::{
    Costs, heap, locals,
    machine::{Machine, State, Thread, charge, with, with_thread},
    sync::atomic::AtomicU32,
};

const STACK: usize = 256 << 10;
/// Most cores.
pub(crate) const MOST: usize = 64;

type Panic = Box<dyn Any + Send>;

/// A thread wakes up.
pub(crate) struct Event {
    thread: usize,
    /// The sleep that it ends, if its time has passed.
    limit: Option<u64>,
}

impl Machine {
    fn at(&mut self, time: f64, event: Event) {
        self.numbers += 1;
        let number = self.numbers;
        self.events.insert((time.to_bits(), number), event);
        self.horizon = self.horizon.min(time);
    }

    /// A thread is woken at a time, and gets a core after the latency.
    fn rouse(&mut self, time: f64, thread: usize) {
        self.threads[thread].state = State::Woken;
        let limit = None;
        self.at(time + self.costs.latency, Event { thread, limit });
    }

    /// Lets a thread run on some core from a time on.
    fn place(&mut self, time: f64, thread: usize) {
        let last = self.threads[thread].core;
        let is_idle = |core: usize| self.cores[core].running.is_none();
        let idle = (0..self.cores.len()).filter(|core| is_idle(*core));
        let Costs { cluster, slice, .. } = self.costs;
        // Of several such cores, it is the first one, here and below.
        let near = idle.min_by_key(|&core| (core != last, core / cluster != last / cluster));
        self.threads[thread].state = State::Ready;
        let Some(core) = near else {
            let length = |core: &usize| (self.cores[*core].queue.len(), *core != last);
            let shortest = (0..self.cores.len()).min_by_key(length);
            let busy = &mut self.cores[shortest.expect("there is a core")];
            busy.queue.push_back(thread);
            if busy.queue.len() == 1 {
                busy.slice_ends = busy.clock.max(time) + slice;
            }
            return;
        };
        self.threads[thread].core = core;
        let idle = &mut self.cores[core];
        idle.clock = idle.clock.max(time);
        idle.running = Some(thread);
        idle.slice_ends = idle.clock + slice;
    }

    /// The next event has happened.
    fn happen(&mut self, at: f64, event: Event) {
        let sleeper = &mut self.threads[event.thread];
        match (sleeper.state, event.limit) {
            (State::Asleep(_), Some(sleep)) if sleeper.sleeps == sleep => {
                sleeper.timed_out = true;
                self.rouse(at, event.thread);
            }
            (State::Woken, None) => self.place(at, event.thread),
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

    /// The running thread goes to the end of its core's queue. Returns whether others are there.
    fn take_turns(&mut self, thread: usize) -> bool {
        let queue = &mut self.cores[self.core].queue;
        let has_others = !queue.is_empty();
        if has_others {
            queue.push_back(thread);
            self.give_up();
        }
        has_others
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
            let event = self.events.first_key_value();
            let event = event.map_or(f64::MAX, |(&(time, _), _)| f64::from_bits(time));
            if event <= first.0 {
                let (_, next) = self.events.pop_first()?;
                self.happen(event, next);
                continue;
            }
            self.core = first.1?;
            self.horizon = second.min(event);
            return self.cores[self.core].running;
        }
    }

    fn add(&mut self, body: impl FnOnce() + 'static) -> usize {
        let stack = DefaultStack::new(STACK).expect("there is memory left");
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
            coroutine: Some(coroutine),
            ..Thread::default()
        });
        self.threads.len() - 1
    }
}

/// Lets others run while they are behind.
pub(crate) fn catch_up() {
    suspend_if(|machine, thread| {
        let core = &machine.cores[machine.core];
        let (is_over, is_ahead) = (core.clock > core.slice_ends, core.clock > machine.horizon);
        (is_over && machine.take_turns(thread)) || is_ahead
    });
}

/// Lets the loop choose the thread that runs next, if `f` says so.
fn suspend_if(f: impl FnOnce(&mut Machine, usize) -> bool) {
    let yielder = with_thread(|machine, thread| {
        let suspends = f(machine, thread);
        machine.threads[thread].yielder.filter(|_| suspends)
    });
    if let Some(yielder) = yielder.flatten() {
        // SAFETY: the yielder is on the stack of this coroutine, which is running.
        heap::outside(|| unsafe { yielder.as_ref() }.suspend(()));
    }
}

/// Lets other threads of the core run.
pub fn yield_now() {
    charge(|costs| costs.yields);
    suspend_if(Machine::take_turns);
}

/// Sleeps if the word has the value, until `wake` is called with the word, or for a time at
/// most. Returns whether the time has passed.
pub(crate) fn sleep_on(word: &AtomicU32, value: u32, limit: Option<Duration>) -> bool {
    charge(|costs| costs.call);
    // SAFETY: nobody writes meanwhile, because all threads are one of the system.
    if unsafe { word.unsync_load() } != value {
        return false;
    }
    let address = core::ptr::from_ref(word).addr();
    suspend_if(|machine, thread| {
        let clock = machine.clock();
        let sleeper = &mut machine.threads[thread];
        sleeper.state = State::Asleep(address);
        sleeper.sleeps += 1;
        sleeper.timed_out = false;
        if let Some(time) = limit {
            let limit = Some(sleeper.sleeps);
            machine.at(clock + time.as_secs_f64() * 1e9, Event { thread, limit });
        }
        machine.give_up();
        true
    });
    with_thread(|machine, thread| machine.threads[thread].timed_out).unwrap_or_default()
}

/// Wakes up to so many threads that sleep on the word.
pub(crate) fn wake(word: &AtomicU32, most: usize) {
    charge(|costs| costs.call);
    let address = core::ptr::from_ref(word).addr();
    for _ in 0..most {
        let found = with(|machine| {
            // The one that has slept longest comes first.
            let asleep = machine.threads.iter().enumerate();
            let asleep = asleep.filter(|(_, thread)| thread.state == State::Asleep(address));
            let first = asleep
                .min_by_key(|(number, thread)| (thread.sleeps, *number))?
                .0;
            machine.count().wakes += 1;
            machine.pass(machine.costs.wake);
            machine.rouse(machine.clock(), first);
            Some(())
        });
        if found.flatten().is_none() {
            break;
        }
    }
    catch_up();
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
        machine.threads[thread].core = machine.core;
        machine.rouse(machine.clock(), thread);
    });
    catch_up();
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
    let mut machine = Machine::new(cores, costs, seed);
    let first = machine.add(move || ours.set(Some(main())));
    machine.place(0.0, first);
    Machine::install(Some(machine));
    let panicked = drive();
    let machine = Machine::install(None).expect("it has run");
    for mut thread in machine.threads {
        // What the frames of the others own is leaked, and their locals.
        if let Some(coroutine) = &mut thread.coroutine {
            // SAFETY: nothing on its stack is used any more.
            unsafe { coroutine.force_reset() };
        }
        core::mem::forget(thread.locals);
    }
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
        let ran = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        heap::inside(false);
        match ran {
            Err(panic) => return Some(panic),
            Ok(CoroutineResult::Yield(())) => {
                with(|machine| machine.threads[thread].coroutine = Some(coroutine));
            }
            Ok(CoroutineResult::Return(())) => {
                with(Machine::give_up);
                if thread == 0 {
                    return None;
                }
            }
        }
    }
    Some(Box::new("all threads sleep, and nothing will wake them"))
}
