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
    io, mem,
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    rc::Rc,
    sync::Arc,
    thread::{self, JoinHandle, ThreadId},
    time::Instant,
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
};
use joint::{
    task::{Id, Runnable},
    waker::park::Parked,
};
use joint_executor::hosted::Unwind;

/// A thread for calls, as the world sees it.
struct CallThread {
    baton: Arc<Baton>,
    id: ThreadId,
    handle: Cell<Option<JoinHandle<()>>>,
    /// The call that it runs.
    call: RefCell<Option<Call>>,
    /// Whether its call waits.
    is_blocked: Cell<bool>,
    /// Look again before parking.
    is_due: Cell<bool>,
    /// The deadline of its call's wait, if there is one.
    until: Cell<Option<u64>>,
}

#[derive(Clone)]
struct Call {
    id: Id,
    actor: Actor,
    place: Place,
    spawned: &'static Location<'static>,
}

/// All threads of a world's calls.
#[derive(Default)]
pub(super) struct Threads {
    all: RefCell<Vec<Rc<CallThread>>>,
    /// The indices of the idle threads.
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

    /// Returns the place of the call that a thread runs.
    pub(super) fn place(&self, number: usize) -> Place {
        let call = self.get(number).call.borrow().clone();
        call.expect("the thread runs a call").place
    }

    /// When the next wait of a call ends in any case.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let all = self.all.borrow();
        let waiting = all.iter().filter(|thread| thread.waits());
        waiting.filter_map(|thread| thread.until.get()).min()
    }

    /// Returns the first thread that waits and for which this is true.
    fn find(&self, is_one: impl Fn(&CallThread) -> bool) -> Option<usize> {
        let all = self.all.borrow();
        all.iter()
            .position(|thread| thread.waits() && is_one(thread))
    }
}

impl CallThread {
    fn waits(&self) -> bool {
        self.is_blocked.get() && !self.is_due.get()
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

    /// Begins a call on a thread of its own.
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
                self.fail(Kind::NoThread(error.to_string()));
                return Ok(());
            }
        };
        let begun = Call {
            id: call.id(),
            actor,
            place,
            spawned: call.spawned(),
        };
        self.threads.get(number).call.replace(Some(begun));
        self.pass(number, Order::Run(call))
    }

    /// Lets a call look again whether what it waits for is due, or ends it with its host.
    pub(super) fn resume_call(&self, number: usize) -> Result<(), Abandoned> {
        let call = self.threads.get(number).call.borrow().clone();
        let is_gone = call.is_some_and(|call| self.is_gone(call.place));
        self.pass(number, if is_gone { Order::End } else { Order::Resume })
    }

    fn start_thread(&self) -> io::Result<usize> {
        let baton = Arc::new(Baton::default());
        let (world, own) = (Shared(self), baton.clone());
        let builder = thread::Builder::new().name("joint-sim-call".into());
        let handle = builder.spawn(move || {
            // All of it, because a closure captures fields.
            let world = world;
            serve(&own, world.0);
        })?;
        let mut all = self.threads.all.borrow_mut();
        all.push(Rc::new(CallThread {
            baton,
            id: handle.thread().id(),
            handle: Cell::new(Some(handle)),
            call: RefCell::default(),
            is_blocked: Cell::new(false),
            is_due: Cell::new(false),
            until: Cell::new(None),
        }));
        Ok(all.len() - 1)
    }

    /// Passes the baton to a thread, and waits until it comes back.
    fn pass(&self, number: usize, order: Order) -> Result<(), Abandoned> {
        let thread = self.threads.get(number);
        thread.is_blocked.set(false);
        thread.is_due.set(false);
        if let Some(call) = &*thread.call.borrow() {
            self.set_place(call.place);
        }
        // Once the world is abandoned, it is too late to look for these.
        let last: Vec<Event> = self.agenda.borrow().record.last().cloned().collect();
        let mut order = order;
        loop {
            thread.baton.order(order);
            let wait = || thread.baton.wait_for_report(self.settings.max_call_time);
            let Some(report) = self.watched.during_call(wait) else {
                return Err(self.abandon(&thread, last));
            };
            match report {
                Report::CallEnded => {
                    self.threads.free.borrow_mut().push(number);
                    return Ok(());
                }
                Report::Blocked(until) => {
                    self.has_blocked(&thread, until);
                    return Ok(());
                }
                Report::Started(workers) => {
                    self.add(workers);
                    order = Order::Started;
                }
                Report::ShutDown(executor) => order = Order::ShutDown(self.shut_down(executor)),
                Report::Lost => {
                    thread.handle.take();
                    return Ok(());
                }
            }
        }
    }

    fn has_blocked(&self, thread: &CallThread, until: Option<u64>) {
        thread.is_blocked.set(true);
        thread.until.set(until);
        if let Some(call) = &*thread.call.borrow() {
            self.mark(call.id);
        }
    }

    /// Gives the world up to a call that has kept the baton for too long (rule 2).
    #[cold]
    fn abandon(&self, thread: &CallThread, last: Vec<Event>) -> Abandoned {
        let call = thread.call.take().expect("the thread runs a call");
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
        if let Some(number) = self.threads.find(|one| one.id == thread) {
            self.wake_call(number);
        }
    }

    /// Wakes the calls whose waits have ended by now.
    pub(super) fn wake_calls(&self, now: u64) {
        let has_ended = |one: &CallThread| one.until.get().is_some_and(|until| until <= now);
        while let Some(number) = self.threads.find(has_ended) {
            self.wake_call(number);
        }
    }

    /// Ends the waits of a place's calls.
    pub(super) fn end_calls_of(&self, place: Place) {
        let is_one =
            |one: &CallThread| matches!(&*one.call.borrow(), Some(own) if own.place == place);
        while let Some(number) = self.threads.find(is_one) {
            self.wake_call(number);
        }
    }

    fn wake_call(&self, number: usize) {
        let thread = self.threads.get(number);
        thread.is_due.set(true);
        let call = thread.call.borrow().clone();
        let Call { id, actor, .. } = call.expect("the thread runs a call");
        self.mark(id);
        let by = self.acting();
        self.note_woken(actor, by);
        self.enqueue(Due {
            actor,
            by,
            work: Work::Resume(number),
        });
    }

    /// Begins no more calls, and drops those that have not begun.
    pub(super) fn begin_no_call(&self) {
        self.threads.is_over.set(true);
        drop(self.withdraw(|due| matches!(due.work, Work::Call(..))));
    }

    /// Ends all calls that have begun, and the threads.
    pub(super) fn end_calls(&self) -> Result<(), Abandoned> {
        let mut number = 0;
        loop {
            let thread = self.threads.all.borrow().get(number).cloned();
            let Some(thread) = thread else {
                break;
            };
            // A function may catch the panic of its wait, and wait again.
            while thread.is_blocked.get() {
                self.pass(number, Order::End)?;
            }
            number += 1;
        }
        for thread in self.threads.all.take() {
            if let Some(handle) = thread.handle.take() {
                thread.baton.order(Order::Exit);
                // It has caught all panics, except one of a thread-local's destructor.
                let _ = handle.join();
            }
        }
        Ok(())
    }
}

/// A world, for the threads of its calls.
struct Shared(*const World);

// SAFETY: a thread uses the world only while it has the baton (rule 1).
unsafe impl Send for Shared {}

std::thread_local! {
    /// The baton of this thread, if it is one for calls.
    static BATON: RefCell<Option<Arc<Baton>>> = const { RefCell::new(None) };
}

/// How often the waits of a call may be due after the run is over. A wait for a timer is due for
/// ever, because it looks for an executor that has not ended.
const LAST_TURNS: usize = 1000;

std::thread_local! {
    /// How often the waits of this thread may still be due. More than [`LAST_TURNS`] while the run
    /// goes on.
    static TURNS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Returns whether this is not the world's own thread.
pub(super) fn is_call_thread() -> bool {
    BATON.with_borrow(Option::is_some)
}

/// The main function of a thread for calls.
fn serve(baton: &Arc<Baton>, world: *const World) {
    BATON.set(Some(baton.clone()));
    let Order::Run(mut call) = baton.wait_for_order() else {
        return;
    };
    // SAFETY: this thread has the baton, and uses the world only while it has it (rule 1). The
    // world waits for this thread's exit before it goes away, or it never goes away (rule 2).
    let _entered = Entered::new(unsafe { &*world }, wait);
    loop {
        // The task takes the function's panic. What else panics is nobody's.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            with(|own| own.map(|own| own.run_call(call)))
        }));
        baton.report(Report::CallEnded);
        match baton.wait_for_order() {
            Order::Run(next) => call = next,
            _ => return,
        }
        // The last call may have ended with its host.
        TURNS_LEFT.set(usize::MAX);
        keep_time();
    }
}

/// Follows the time that has passed while others had the baton.
fn keep_time() {
    if_inside(World::keep_time);
}

/// Passes the baton of this thread back, and waits for it. Returns `None` on the world's thread.
pub(super) fn hand_over(report: Report) -> Option<Order> {
    let baton = BATON.with_borrow(Clone::clone)?;
    baton.report(report);
    let order = baton.wait_for_order();
    keep_time();
    Some(order)
}

/// Waits in a call.
fn wait(deadline: Option<Instant>, is_due: &mut dyn FnMut() -> bool) -> Parked {
    let world = |f: &dyn Fn(&World) -> u64| with(|world| f(world.expect("a call is in a world")));
    let limit =
        deadline.map(|deadline| world(&|world| world.late_deadline(clock::nanos(deadline))));
    let mut slept = false;
    loop {
        // Once the run is over, what waits for tasks is due, because they are gone. It goes on: a
        // scope must not be unwound before its tasks have ended.
        let left = TURNS_LEFT.get();
        if left > 0 && is_due() {
            TURNS_LEFT.set(left - usize::from(left <= LAST_TURNS));
            return Parked::Due { slept };
        }
        if left > LAST_TURNS && limit.is_some_and(|limit| limit <= world(&World::now)) {
            return Parked::TimedOut;
        }
        if left <= LAST_TURNS {
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
    let baton = BATON.take();
    if let Some(baton) = &baton {
        baton.report(Report::Lost);
    }
    mem::forget(baton);
    loop {
        thread::park();
    }
}
