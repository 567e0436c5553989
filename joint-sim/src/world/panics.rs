//! [`Panics`]: the panics of a run, and which of them fail it.
//!
//! A panic hook sees where each one begins. A [`Panics::Any`](super::super::settings::Panics) run
//! fails after the step in which one began. The executor reports payloads of tasks, and who looks
//! at them. A payload that nobody has looked at fails the run at its end.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    num::NonZero,
    panic::{PanicHookInfo, set_hook, take_hook},
    sync::Once,
    thread,
};

use super::{
    super::{
        failure::{Kind, Payload},
        faults::FAULT_PANIC,
        panicked::{NO_MESSAGE, Panicked, Told, message},
        settings,
    },
    World,
    entered::if_inside,
};
use joint::host::OnPanic;

#[derive(Default)]
pub(super) struct Panics {
    /// Those that began in the run.
    begun: RefCell<Vec<Panicked>>,
    /// Those of tasks that nobody has looked at, with the numbers of their payloads.
    unseen: RefCell<Vec<(NonZero<u64>, Panicked)>>,
}

/// What a thread of a world does with the payloads of panics.
pub(super) const ON_PANIC: OnPanic = OnPanic {
    caught: |number, message| if_inside(|world| world.caught(number, message)),
    seen: |number| {
        if_inside(|world| {
            world
                .panics
                .unseen
                .borrow_mut()
                .retain(|one| one.0 != number)
        });
    },
};

impl World {
    fn panic_begins(&self, info: &PanicHookInfo<'_>) {
        let place = info.location().map(|place| place.to_string().into());
        let panicked = self.panicked(place, message(info.payload()));
        let mut begun = self.panics.begun.borrow_mut();
        begun.push(panicked);
        if self.settings.panics == settings::Panics::Any {
            // So that the next step looks whether the run is over.
            self.ending.look_at(0);
        }
    }

    fn panicked(&self, place: Option<Box<str>>, message: &str) -> Panicked {
        let actor = self.acting();
        // The world itself may have panicked, because the program has used it wrongly.
        let agenda = self.agenda.try_borrow_mut();
        let named = agenda.ok().and_then(|mut agenda| {
            let live = agenda.tasks.by_actor(actor)?;
            Some(live.named.clone())
        });
        Panicked {
            actor,
            named,
            told: Told {
                place,
                message: message.into(),
            },
        }
    }

    /// Returns the last panic that has begun with this message.
    fn begun(&self, message: &str) -> Option<Panicked> {
        let begun = self.panics.begun.borrow();
        let mut last = begun.iter().rev();
        last.find(|one| &*one.told.message == message).cloned()
    }

    /// Returns the last panic with this message, which may have begun outside of the run.
    fn known(&self, message: &str) -> Panicked {
        let begun = self.begun(message);
        begun.unwrap_or_else(|| self.panicked(None, message))
    }

    /// Takes over the payload of a main future's panic.
    pub(super) fn payload(&self, payload: Box<dyn Any + Send>) -> Payload {
        let Panicked { told, .. } = self.known(message(&*payload));
        Payload::new(payload, told)
    }

    /// A payload with this message was caught. Somebody has to look at it, unless the faults have
    /// asked for the panic.
    fn caught(&self, number: NonZero<u64>, message: Option<&str>) {
        let message = message.unwrap_or(NO_MESSAGE);
        // Without a message and a beginning, it ends the waits of a call.
        let ends_waits = message == NO_MESSAGE && self.begun(message).is_none();
        if message != FAULT_PANIC && !ends_waits {
            let panicked = self.known(message);
            self.panics.unseen.borrow_mut().push((number, panicked));
        }
    }

    pub(super) fn detached_panics(&self, message: Option<&str>) {
        let message = message.unwrap_or(NO_MESSAGE);
        if message != FAULT_PANIC {
            self.fail(Kind::Panicked(self.known(message)));
        }
    }

    pub(super) fn unseen_panics(&self) -> Vec<Panicked> {
        let unseen = self.panics.unseen.borrow();
        unseen
            .iter()
            .map(|(_, panicked)| panicked.clone())
            .collect()
    }

    /// Fails the run because of a panic, if there is a reason. Called at its end, and after a step
    /// in which a panic has begun that is a reason by itself.
    pub(super) fn judge_panics(&self) {
        let first = match self.settings.panics {
            settings::Panics::Any => self.panics.begun.borrow().first().cloned(),
            settings::Panics::Unseen => None,
            settings::Panics::Detached => return,
        };
        let unseen = || Some(self.panics.unseen.borrow().first()?.1.clone());
        if let Some(panicked) = first.or_else(unseen) {
            self.fail_here(Kind::Panicked(panicked));
        }
    }

    pub(crate) fn panics_begun(&self) -> Vec<String> {
        let begun = self.panics.begun.borrow();
        begun.iter().map(Panicked::first_line).collect()
    }
}

std::thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Sees where panics begin, from now on. The first call wraps the program's panic hook. A program
/// that sets another one later keeps its panics to itself.
pub(super) fn watch() {
    if thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if_inside(|world| world.panic_begins(info));
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });
}

pub(crate) struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        QUIET.with(|quiet| quiet.set(self.0));
    }
}

pub(super) fn is_quiet() -> bool {
    QUIET.with(Cell::get)
}

pub(crate) fn quiet(is_quiet: bool) -> Before {
    watch();
    Before(QUIET.with(|quiet| quiet.replace(is_quiet)))
}
