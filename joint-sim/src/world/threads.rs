//! The threads of calls that may block, in lock step with the world.
//!
//! A call may block in the middle of a function, so it needs a stack of its own. Of the world's
//! thread and the threads of its calls, exactly one runs at any time: the one that has the
//! *baton*. The world passes it to a thread with an [`Order`], and the thread passes it back with a
//! [`Report`], at the latest when the call waits in `joint`. Both go through a lock, so all that
//! one thread has done happens before all that the next one does.
//!
//! # Safety
//! A world is full of cells, and has no lock. The threads of its calls use it by a pointer, and
//! only while they have the baton (rule 1). The world's thread waits for the baton meanwhile, and
//! uses nothing of the world. If it has waited for too long, it *abandons* the world: it leaks it,
//! and from then on reads only what calls never write, to report the failure (rule 2). So the
//! thread that has the baton may still use the world.

use std::{
    cell::{Cell, RefCell},
    io,
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    rc::Rc,
    sync::{Arc, mpsc::sync_channel},
    thread::{self, JoinHandle, ThreadId},
    time::{Duration, Instant},
};

use super::{
    super::{
        clock,
        failure::Kind,
        machine::Place,
        record::{Actor, Event},
        tasks::{Due, Work},
    },
    World,
    baton::{Baton, Order, Report},
    entered::{Entered, if_inside, with},
    panics::{is_quiet, quiet},
};
use joint::{
    park::Parked,
    task::{Id, Runnable},
};
use joint_executor::hosted::{Unwind, may_unwind};

/// A thread for calls, as the world sees it.
struct CallThread {
    baton: Arc<Baton>,
    id: ThreadId,
    handle: Cell<Option<JoinHandle<()>>>,
    call: Cell<Option<Call>>,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It runs its call, or has none.
    Runs,
    /// Its call waits, at most until a time of the clock.
    Waits(Option<u64>),
    /// Its call waits, and will look again whether that is over.
    IsDue,
}

#[derive(Clone, Copy)]
struct Call {
    id: Id,
    actor: Actor,
    place: Place,
    spawned: &'static Location<'static>,
}

#[derive(Default)]
pub(super) struct Threads {
    all: RefCell<Vec<Rc<CallThread>>>,
    free: RefCell<Vec<usize>>,
    /// Whether no further call may begin.
    is_over: Cell<bool>,
}

/// A call has kept the baton for too long. The world must not be touched any more.
#[derive(Debug)]
pub(super) struct Abandoned;

impl Threads {
    fn get(&self, number: usize) -> Rc<CallThread> {
        self.all.borrow()[number].clone()
    }

    pub(super) fn place(&self, number: usize) -> Place {
        self.get(number).call().place
    }

    /// When the next wait of a call ends in any case.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let all = self.all.borrow();
        all.iter().filter_map(|thread| thread.deadline()).min()
    }
}

impl CallThread {
    fn call(&self) -> Call {
        self.call.get().expect("the thread runs a call")
    }

    fn deadline(&self) -> Option<u64> {
        match self.state.get() {
            State::Waits(until) => until,
            State::Runs | State::IsDue => None,
        }
    }
}

impl World {
    /// Takes a call over, to begin it at a scheduled point.
    pub(super) fn take_call(&self, call: Runnable) {
        if self.threads.is_over.get() || self.is_gone(self.stage.place.get()) {
            // The run or the host is over, which cancels the call.
            return drop(call);
        }
        let named = self.named(call.name(), call.spawned());
        let actor = self.introduce(call.id(), None, named, false);
        self.enqueue(Due {
            actor,
            by: self.acting(),
            work: Work::Call(Box::new((self.stage.place.get(), call))),
        });
    }

    pub(super) fn begin_call(
        &self,
        actor: Actor,
        place: Place,
        call: Runnable,
    ) -> Result<(), Abandoned> {
        let free = self.threads.free.borrow_mut().pop();
        let number = match free.map_or_else(|| self.start_thread(), Ok) {
            Ok(number) => number,
            Err(error) => {
                self.fail(Kind::NotStarted(
                    "thread for `spawn_blocking`",
                    error.to_string(),
                ));
                return Ok(());
            }
        };
        let begun = Call {
            id: call.id(),
            actor,
            place,
            spawned: call.spawned(),
        };
        self.threads.get(number).call.set(Some(begun));
        self.pass(number, Order::Run(call))
    }

    /// Lets a call look again whether what it waits for is due, or ends it with its host.
    pub(super) fn resume_call(&self, number: usize) -> Result<(), Abandoned> {
        let is_gone = self.is_gone(self.threads.place(number));
        self.pass(number, if is_gone { Order::End } else { Order::Resume })
    }

    fn start_thread(&self) -> io::Result<usize> {
        let baton = Arc::new(Baton::default());
        let (world, own, is_quiet) = (Shared(self), baton.clone(), is_quiet());
        let builder = thread::Builder::new().name("joint-sim-call".into());
        let handle = builder.spawn(move || {
            // All of it, because a closure captures fields.
            let world = world;
            let _quiet = quiet(is_quiet);
            serve(&own, world.0);
        })?;
        let mut all = self.threads.all.borrow_mut();
        all.push(Rc::new(CallThread {
            baton,
            id: handle.thread().id(),
            handle: Cell::new(Some(handle)),
            call: Cell::new(None),
            state: Cell::new(State::Runs),
        }));
        Ok(all.len() - 1)
    }

    /// Passes the baton to a thread, and waits until it comes back.
    fn pass(&self, number: usize, mut order: Order) -> Result<(), Abandoned> {
        let thread = self.threads.get(number);
        thread.state.set(State::Runs);
        self.set_place(thread.call().place);
        // Once the world is abandoned, it is too late to look for these.
        let last: Vec<Event> = self.agenda.borrow().record.last().cloned().collect();
        loop {
            thread.baton.orders.put(order);
            let wait = || thread.baton.reports.wait(self.settings.max_call_time);
            let Some(report) = self.watched.during_call(wait) else {
                return Err(self.abandon(&thread, last));
            };
            match report {
                Report::CallEnded => self.threads.free.borrow_mut().push(number),
                Report::Blocked(until) => {
                    thread.state.set(State::Waits(until));
                    self.mark(thread.call().id);
                }
                Report::Yields => {
                    thread.state.set(State::IsDue);
                    let actor = thread.call().actor;
                    self.queue(actor, actor, Work::Resume(number));
                }
                Report::Asks(asked) => {
                    asked(self);
                    order = Order::Resume;
                    continue;
                }
                Report::Lost => drop(thread.handle.take()),
            }
            return Ok(());
        }
    }

    /// Does something on the world's own thread. Only that one may drop what is pinned to a worker.
    pub(super) fn on_own_thread<R: Send + 'static>(
        &self,
        f: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> R {
        if !is_call_thread() {
            return f(self);
        }
        let (answer, answered) = sync_channel(1);
        hand_over(Report::Asks(Box::new(move |world| {
            let _ = answer.send(f(world));
        })));
        answered.recv().expect("the world does what it is asked")
    }

    /// Gives the world up to a call that has kept the baton for too long (rule 2).
    #[cold]
    fn abandon(&self, thread: &CallThread, last: Vec<Event>) -> Abandoned {
        let call = thread.call();
        let kind = Kind::Stuck {
            actor: call.actor,
            spawned: call.spawned,
            limit: self.settings.max_call_time,
        };
        let failure = self.failure_with(kind, last);
        if self.stage.depth.get() > 1 {
            // Polls lie beneath on this stack. Neither may they go on while the call uses the
            // world, nor can they be unwound without it.
            self.watched.abort(failure);
        }
        self.ending.stuck.set(Some(failure));
        self.ending.is_abandoned.set(true);
        Abandoned
    }

    /// A wait of a thread has been unparked. If it is a call's, it is to look again.
    pub(super) fn unparked(&self, thread: ThreadId) {
        self.wake_calls(|one| one.id == thread);
    }

    pub(super) fn wake_late_calls(&self, now: u64) {
        self.wake_calls(|one| one.deadline().is_some_and(|until| until <= now));
    }

    pub(super) fn end_calls_of(&self, place: Place) {
        self.wake_calls(|one| one.call().place == place);
    }

    fn wake_calls(&self, is_one: impl Fn(&CallThread) -> bool) {
        for number in 0..self.threads.all.borrow().len() {
            let thread = self.threads.get(number);
            if !matches!(thread.state.get(), State::Waits(_)) || !is_one(&thread) {
                continue;
            }
            thread.state.set(State::IsDue);
            let Call { id, actor, .. } = thread.call();
            self.mark(id);
            self.queue(actor, self.acting(), Work::Resume(number));
        }
    }

    /// Begins no more calls, and drops those that have not begun.
    pub(super) fn begin_no_call(&self) {
        self.threads.is_over.set(true);
        drop(self.withdraw(|due| matches!(due.work, Work::Call(..))));
    }

    pub(super) fn end_calls(&self) -> Result<(), Abandoned> {
        let all = self.threads.all.borrow().clone();
        for (number, thread) in all.into_iter().enumerate() {
            // A function may catch the panic of its wait, and wait again.
            while thread.state.get() != State::Runs {
                self.pass(number, Order::End)?;
            }
        }
        for thread in self.threads.all.take() {
            if let Some(handle) = thread.handle.take() {
                thread.baton.orders.put(Order::Exit);
                // It has caught all panics, except one of a thread-local's destructor.
                let _ = handle.join();
            }
        }
        Ok(())
    }
}

struct Shared(*const World);

// SAFETY: a thread uses the world only while it has the baton (rule 1).
unsafe impl Send for Shared {}

std::thread_local! {
    /// The baton of this thread, if it is one for calls.
    static BATON: RefCell<Option<Arc<Baton>>> = const { RefCell::new(None) };
    /// How often the waits of this thread may still be due. More than [`LAST_TURNS`] while the run
    /// goes on.
    static TURNS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// How many waits of this thread were over at once, since one that was not.
    static WAITED: Cell<usize> = const { Cell::new(0) };
}

/// How often the waits of a call may be due after the run is over. A wait for a timer is due for
/// ever, because it looks for an executor that has not ended.
const LAST_TURNS: usize = 1000;

pub(super) fn is_call_thread() -> bool {
    BATON.with_borrow(Option::is_some)
}

fn serve(baton: &Arc<Baton>, world: *const World) {
    BATON.set(Some(baton.clone()));
    let Some(Order::Run(mut call)) = baton.orders.wait(Duration::MAX) else {
        return;
    };
    // SAFETY: this thread has the baton, and uses the world only while it has it (rule 1). The
    // world waits for this thread's exit before it goes away, or it never goes away (rule 2).
    let _entered = Entered::new(unsafe { &*world }, wait);
    loop {
        // The task takes the function's panic. Any other panic is ignored.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            with(|own| own.map(|own| own.run_call(call)))
        }));
        match hand_over(Report::CallEnded) {
            Some(Order::Run(next)) => call = next,
            _ => return,
        }
        // The last call may have ended with its host.
        TURNS_LEFT.set(usize::MAX);
    }
}

/// Passes the baton of this thread back, and waits for it. Returns `None` on the world's thread.
fn hand_over(report: Report) -> Option<Order> {
    let baton = BATON.with_borrow(Clone::clone)?;
    baton.reports.put(report);
    let order = baton.orders.wait(Duration::MAX)?;
    if !matches!(order, Order::Exit) {
        // The time may have passed while others had the baton.
        if_inside(World::keep_time);
    }
    Some(order)
}

/// Lets others go on before the call of this thread does, if that is decided.
pub(crate) fn let_others_go_on() {
    let yields = |world: &World| {
        let mut agenda = world.agenda.borrow_mut();
        let agenda = &mut *agenda;
        let has_others = !agenda.due.is_empty() && !world.threads.is_over.get();
        has_others && agenda.chooser.starts_late(&mut agenda.chance)
    };
    if is_call_thread() && with(|world| world.is_some_and(yields)) {
        give_way();
    }
}

fn give_way() {
    WAITED.set(0);
    if let Some(Order::End) = hand_over(Report::Yields) {
        TURNS_LEFT.set(LAST_TURNS);
    }
}

/// The number of waits of a call that are over at once, after which it lets others go on.
const WAITS: usize = 64;

fn wait(deadline: Option<Instant>, is_due: &mut dyn FnMut() -> bool) -> Parked {
    // Once the run is over, the turns that are left are counted.
    if TURNS_LEFT.get() > LAST_TURNS {
        match WAITED.get() < WAITS {
            true => let_others_go_on(),
            false => give_way(),
        }
    }
    let world = |f: &dyn Fn(&World) -> u64| with(|world| f(world.expect("a call is in a world")));
    let limit =
        deadline.map(|deadline| world(&|world| world.late_deadline(clock::nanos(deadline))));
    let mut slept = false;
    loop {
        // Once the run is over, what waits for tasks is due, because they are gone.
        let left = TURNS_LEFT.get();
        if left > 0 && is_due() {
            TURNS_LEFT.set(left - usize::from(left <= LAST_TURNS));
            WAITED.set(if slept { 0 } else { WAITED.get() + 1 });
            return Parked::Due { slept };
        }
        if left > LAST_TURNS && limit.is_some_and(|limit| limit <= world(&World::now)) {
            return Parked::TimedOut;
        }
        // After its host is killed, code that uses this stack may still run elsewhere. The wait for
        // it goes on until then.
        if left <= LAST_TURNS && may_unwind() {
            end();
        }
        slept = true;
        if let Some(Order::End) = hand_over(Report::Blocked(limit)) {
            TURNS_LEFT.set(LAST_TURNS);
        }
    }
}

/// Ends a wait in a run that is over. A destructor may wait while the thread unwinds already. Then
/// it can neither unwind again nor go on, so the thread is given up.
#[cold]
fn end() -> ! {
    if !thread::panicking() {
        // Without the message of a panic, because nothing has gone wrong here.
        resume_unwind(Box::new(Unwind));
    }
    BATON.with_borrow(|baton| baton.as_ref().map(|baton| baton.reports.put(Report::Lost)));
    loop {
        thread::park();
    }
}
