//! How a thread is in a world: its clock, its waits, and where the executor finds the world.

use std::{
    cell::Cell,
    marker::PhantomData,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread::{self, Thread},
    time::Instant,
};

use super::{
    super::{clock, failure::Kind, record::Actor},
    World,
    panics::ON_PANIC,
    step::Step,
    system,
};
use joint::{
    budget,
    host::{self, Host, Parked, Wait},
};
use joint_executor::hosted::{self, Unwind};

std::thread_local! {
    static WORLD: Cell<Option<*const World>> = const { Cell::new(None) };
}

pub(crate) fn with<R>(f: impl FnOnce(Option<&World>) -> R) -> R {
    let world = WORLD.try_with(Cell::get).ok().flatten();
    // SAFETY: set by `Entered::new` to a world that outlives it, and reset by its drop.
    f(world.map(|world| unsafe { &*world }))
}

pub(crate) fn if_inside(f: impl FnOnce(&World)) {
    with(|world| _ = world.map(f));
}

pub(crate) fn with_own<R>(run: u64, f: impl FnOnce(Option<&World>) -> R) -> R {
    with(|world| f(world.filter(|world| world.number() == run)))
}

/// Keeps a thread in a world.
pub(super) struct Entered<'a> {
    _host: hosted::Entered,
    _world: PhantomData<&'a World>,
    before: Host,
    /// The thread's own budget, saved so that the run and the thread do not affect each other.
    _budget: budget::Saved,
    seed: u32,
}

impl<'a> Entered<'a> {
    /// Puts this thread into a world, where it waits in this way. If the world has other threads,
    /// it must be this one's turn whenever it does anything.
    pub(super) fn new(world: &'a World, wait: Wait) -> Self {
        system::prepare();
        WORLD.with(|cell| cell.set(Some(world)));
        let before = host::update(|host| {
            host.wait = Some(wait);
            host.on_unpark = Some(unparked);
            host.on_panic = Some(ON_PANIC);
            host.on_wait = world.settings.keeps_trace.then_some(hosted::note_wait);
        });
        world.keep_time();
        Self {
            _host: hosted::enter(world.owner.clone()),
            _world: PhantomData,
            before,
            _budget: budget::save(),
            // A run does not depend on what the thread did before.
            seed: budget::set_seed(1),
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        host::set(self.before);
        budget::set_seed(self.seed);
        WORLD.with(|cell| cell.set(None));
    }
}

/// Runs code of other tasks inside a poll, which sees nothing that is set for the poll. Its panic
/// goes no further.
pub(super) fn run_apart(f: impl FnOnce()) {
    let caught = catch_unwind(AssertUnwindSafe(|| hosted::apart(f)));
    // A payload's own drop may panic as well.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(caught))) {
        mem::forget(again);
    }
}

/// Lets a call look again that waits on this thread.
fn unparked(thread: &Thread) {
    if_inside(|world| world.unparked(thread.id()));
}

/// A wait of a poll that blocks, which lies on the stack of the world's thread.
pub(super) struct Frame {
    actor: Actor,
    is_due: *mut (dyn FnMut() -> bool + 'static),
    limit: Option<u64>,
}

/// Returns a pointer without the lifetime of what it points to, which whoever uses it must know.
pub(super) fn erased<R>(f: *mut (dyn FnMut() -> R + '_)) -> *mut (dyn FnMut() -> R + 'static) {
    // SAFETY: only the lifetime changes.
    unsafe { mem::transmute(f) }
}

struct OnStack<'a>(&'a World);

impl Drop for OnStack<'_> {
    fn drop(&mut self) {
        self.0.stage.frames.borrow_mut().pop();
    }
}

impl World {
    /// Returns whether a poll could go on that is blocked beneath the topmost one.
    pub(super) fn held_up(&self) -> Option<Kind> {
        let frames = self.stage.frames.borrow();
        let (top, beneath) = frames.split_last()?;
        let can_go_on = |frame: &&Frame| {
            // SAFETY: the wait that has pushed the frame is still on this thread's stack, and calls
            // its check only while its frame is the topmost one.
            frame.limit.is_some() || unsafe { (*frame.is_due)() }
        };
        let frame = beneath.iter().find(can_go_on)?;
        Some(Kind::Beneath {
            actor: frame.actor,
            above: top.actor,
        })
    }

    fn push_frame(
        &self,
        is_due: *mut (dyn FnMut() -> bool + '_),
        limit: Option<u64>,
    ) -> OnStack<'_> {
        self.stage.frames.borrow_mut().push(Frame {
            actor: self.acting(),
            // The pointer goes with what is returned, which the wait drops before its check.
            is_due: erased(is_due),
            limit,
        });
        OnStack(self)
    }

    /// Ends a wait in a run that has failed, or lets it look again. Some waits must not unwind:
    /// those for other code that uses this stack, and those of destructors while their thread
    /// unwinds already. The former are due once their tasks are dropped, which do not run yet.
    #[cold]
    fn end_wait(&self, has_freed: &mut bool) {
        let ended = self.ending.ended_waits.get();
        self.ending.ended_waits.set(ended + 1);
        if ended > LAST_TURNS {
            self.give_up();
        }
        if !mem::replace(has_freed, true) {
            // If it waits for tasks that can be dropped, it goes on.
            self.end_each(|pool| !pool.is_busy());
            if !hosted::may_unwind() {
                self.discard_busy();
            }
            return;
        }
        if !thread::panicking() && hosted::may_unwind() {
            // Without the message of a panic: the run reports its failure itself.
            resume_unwind(Box::new(Unwind));
        }
        // What a destructor waits for may still happen.
        let failure = self.replace_failure(None);
        let mut step = Step::Failed;
        run_apart(|| step = self.step(None));
        self.replace_failure(failure);
        if step == Step::Failed {
            self.give_up();
        }
    }

    /// Ends the process: a poll neither goes on nor unwinds.
    #[cold]
    fn give_up(&self) -> ! {
        // There is none if the main future has ended above the poll that waits.
        let failure = self.ending.failure.take();
        let failure = failure.map(|failure| failure.to_string());
        self.watched.abort(format_args!(
            "{}a poll waits again after the run has failed: in a destructor, or because it catches \
             the panic that ends its waits",
            failure.unwrap_or_default()
        ));
    }
}

/// The number of waits that polls may make after the run has failed.
const LAST_TURNS: usize = 10_000;

/// Waits on the world's own thread, by running further steps.
pub(super) fn wait(deadline: Option<Instant>, is_due: &mut dyn FnMut() -> bool) -> Parked {
    with(|world| {
        let world = world.expect("a thread waits in this way only inside a world");
        let limit = deadline.map(|deadline| world.late_deadline(clock::nanos(deadline)));
        let is_due: *mut (dyn FnMut() -> bool + '_) = is_due;
        let _frame = world.push_frame(is_due, limit);
        let (mut slept, mut has_freed) = (false, false);
        let mut gives_way = world.stillness.gives_way();
        world.collect_from_busy();
        loop {
            // What is due while the host is paused has to wait.
            let is_paused = !world.ending.has_failed() && world.is_paused(world.place().host);
            let looks = !is_paused && gives_way.is_none();
            // SAFETY: it comes from a reference that is ours, and `held_up`, which is the other
            // user, runs on this thread and is not running now.
            if looks && unsafe { (*is_due)() } {
                world.stillness.waited(!slept);
                return Parked::Due { slept };
            }
            if looks && limit.is_some_and(|limit| limit <= world.now()) {
                return Parked::TimedOut;
            }
            let mut step = Step::Failed;
            let limit = match gives_way.take() {
                Some(time) => Some(world.now().saturating_add(time)),
                None => limit.filter(|_| !is_paused),
            };
            slept |= looks || is_paused;
            run_apart(|| step = world.step(limit));
            world.watched.wait_again(world.acting());
            if step == Step::Failed {
                world.end_wait(&mut has_freed);
            }
        }
    })
}
