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
    sleep: u64,
    is_limit: bool,
}

impl Machine {
    fn at(&mut self, time: f64, thread: usize, is_limit: bool) {
        self.numbers += 1;
        let (number, sleep) = (self.numbers, self.threads[thread].sleeps);
        let event = Event {
            thread,
            sleep,
            is_limit,
        };
        self.events.insert((time.to_bits(), number), event);
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
    fn happen(&mut self, at: f64, event: Event) {
        let Event {
            thread,
            sleep,
            is_limit,
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

/// Lets others run while they are behind.
pub(crate) fn catch_up() {
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

/// Sleeps if the word has the value, until `wake` is called with the word, or for a time at
/// most. Returns whether the time has passed.
pub(crate) fn sleep_on(word: &AtomicU32, value: u32, limit: Option<Duration>) -> bool {
    charge(|costs| costs.call);
    // SAFETY: nobody writes meanwhile, because all threads are one of the system.
    if unsafe { word.unsync_load() } != value {
        return false;
    }
    let address = core::ptr::from_ref(word).addr();
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
            machine.threads[first].state = State::Woken;
            machine.count().wakes += 1;
            machine.pass(machine.costs.wake);
            let time = machine.clock() + machine.costs.latency;
            machine.at(time, first, false);
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
        machine.threads[thread].state = State::Woken;
        machine.threads[thread].core = machine.core;
        let time = machine.clock() + machine.costs.latency;
        machine.at(time, thread, false);
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
                with(|machine| {
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
