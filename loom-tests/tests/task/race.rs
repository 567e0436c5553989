//! A race as a row of a table: what each thread does with its part of the task.

use std::ops::RangeInclusive;

use Act::{DropWaker, Wake};
use joint::JoinHandle;

use super::{
    register::Register,
    world::{By, Kept, Schedule, World, explore, explore_bounded, join_all, join_now, waker_of},
};
use crate::prelude::*;

#[derive(Clone, Copy)]
pub(crate) enum Ends {
    AtOnce,
    /// In its second poll.
    Later,
    Never,
    /// Never, and wakes itself in its first poll.
    NeverAfterAYield,
}

impl Ends {
    fn future(self, world: &World) -> Pin<Box<dyn Future<Output = Value> + Send>> {
        match self {
            Self::AtOnce => Box::pin(ready(world.value())),
            Self::Later => Box::pin(second_time(world)),
            Self::Never => Box::pin(pending()),
            Self::NeverAfterAYield => {
                let mut polled = false;
                Box::pin(poll_fn(move |cx| {
                    if !mem::replace(&mut polled, true) {
                        cx.waker().wake_by_ref();
                    }
                    Poll::Pending
                }))
            }
        }
    }
}

/// Pending once, then ready.
pub(crate) fn second_time(world: &World) -> impl Future<Output = Value> + use<> {
    let mut value = Some(world.value());
    let mut polled = false;
    poll_fn(move |_| {
        if polled {
            return Poll::Ready(value.take().expect("polled after it was ready"));
        }
        polled = true;
        Poll::Pending
    })
}

/// What is done with a part of the task.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    Run,
    DropRunnable,
    DropHandle,
    Detach,
    /// The output is there, and is taken.
    Join,
    DropWaker,
    Wake(By),
    /// Cancels by the task's address.
    Cancel,
}

struct Parts {
    runnable: Option<Kept<Runnable>>,
    handle: Option<Kept<JoinHandle<Value>>>,
    wakers: Vec<Kept<Waker>>,
    register: Option<Register>,
}

impl Act {
    /// Takes its part, and returns what it does with it.
    fn with(self, parts: &mut Parts) -> Box<dyn FnOnce()> {
        let (runnable, handle) = (&mut parts.runnable, &mut parts.handle);
        match self {
            Self::Run => {
                let runnable = runnable.take().expect("one runs it");
                Box::new(move || _ = runnable.take().run())
            }
            Self::DropRunnable => Box::new({
                let runnable = runnable.take();
                move || drop(runnable)
            }),
            Self::DropHandle => Box::new({
                let handle = handle.take();
                move || drop(handle)
            }),
            Self::Detach => {
                let handle = handle.take().expect("one has it");
                Box::new(move || handle.take().detach())
            }
            Self::Join => {
                let handle = handle.take().expect("one has it");
                Box::new(move || join_now(handle))
            }
            DropWaker => Box::new({
                let waker = parts.wakers.pop();
                move || drop(waker)
            }),
            Wake(by) => {
                let waker = parts.wakers.pop().expect("there is one for each");
                Box::new(move || by.wake(waker))
            }
            Self::Cancel => {
                let register = parts.register.clone().expect("it is registered");
                Box::new(move || register.cancel())
            }
        }
    }
}

/// A race between the holders of a task's parts.
pub(crate) struct Race {
    ends: Ends,
    is_registered: bool,
    has_handle: bool,
    before: &'static [Act],
    others: &'static [Act],
    here: Act,
    preemptions: Option<usize>,
    runs: RangeInclusive<usize>,
}

/// The model's first thread acts against the others.
pub(crate) fn race(ends: Ends, others: &'static [Act], here: Act) -> Race {
    Race {
        ends,
        is_registered: false,
        has_handle: true,
        before: &[],
        others,
        here,
        preemptions: None,
        runs: 0..=usize::MAX,
    }
}

impl Race {
    /// The task's address is known for as long as its future exists.
    pub(crate) fn registered(mut self) -> Self {
        self.is_registered = true;
        self
    }

    /// The task never had a handle.
    pub(crate) fn without_handle(mut self) -> Self {
        self.has_handle = false;
        self
    }

    /// What is done before the race.
    pub(crate) fn after(mut self, before: &'static [Act]) -> Self {
        self.before = before;
        self
    }

    /// At most that many preemptions.
    pub(crate) fn within(mut self, preemptions: usize) -> Self {
        self.preemptions = Some(preemptions);
        self
    }

    /// The task must be polled so often.
    pub(crate) fn runs(mut self, runs: RangeInclusive<usize>) -> Self {
        self.runs = runs;
        self
    }

    pub(crate) fn explore(self, how: Schedule) {
        let preemptions = self.preemptions;
        let model = move |world: &World| {
            self.run(world, how);
            assert!(self.runs.contains(&world.runs()));
        };
        match preemptions {
            Some(preemptions) => explore_bounded(preemptions, model),
            None => explore(model),
        }
    }

    fn run(&self, world: &World, how: Schedule) {
        let register = self.is_registered.then(Register::new);
        let future = self.ends.future(world);
        let future: Pin<Box<dyn Future<Output = Value> + Send>> = match &register {
            Some(register) => Box::pin(register.watch(future)),
            None => future,
        };
        let (mut runnable, handle) = match self.has_handle {
            true => {
                let (runnable, handle) = world.spawn(how, future);
                (runnable, Some(handle))
            }
            false => (world.spawn_detached(how, future), None),
        };
        if let Some(register) = &register {
            runnable = register.enter(runnable);
        }
        let acts = [self.before, self.others, &[self.here]].concat();
        let wakes = |act: &&Act| matches!(act, DropWaker | Wake(_));
        let wakers = acts.iter().filter(wakes).map(|_| waker_of(&runnable));
        let wakers = wakers.collect();
        let parts = &mut Parts {
            runnable: Some(runnable),
            handle,
            wakers,
            register,
        };
        self.before.iter().for_each(|act| act.with(parts)());
        let others: Vec<_> = { self.others.iter() }
            .map(|act| world.start(act.with(parts)))
            .collect();
        self.here.with(parts)();
        world.drain();
        join_all(others);
    }
}
