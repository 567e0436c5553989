//! [`Waits`]: the futures of `waiting_for`, and which of them snooze.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{
        record::{Actor, What},
        snoozing::Snoozing,
    },
    World,
};
use joint_executor::hosted::{NamedWait, WaitChange};

/// The futures of `waiting_for` that are not over, by their keys: each with the actor that has
/// polled it last, and the wake-up since then, with the number of polls of that actor before it.
pub(super) type Waits = BTreeMap<usize, (NamedWait, Actor, Option<Snoozing>)>;

impl World {
    /// Takes note of a poll, a wake-up, or the end of a wait.
    pub(super) fn wait_changed(&self, wait: NamedWait, how: WaitChange) {
        let NamedWait { key, what, place } = wait;
        let (mut waits, by) = (self.waits.borrow_mut(), self.acting());
        match how {
            WaitChange::Polled => _ = waits.insert(key, (wait, by, None)),
            WaitChange::Woken => {
                if let Some(&mut (_, actor, ref mut woken)) = waits.get_mut(&key) {
                    let event = self.event(actor, What::WaitWoken { by, place });
                    let (woken_at, step) = (event.at(), event.step);
                    self.agenda.borrow_mut().record.keep(event);
                    let (polls, name) = self.polls(actor);
                    *woken = Some(Snoozing {
                        what,
                        place,
                        woken: woken_at,
                        step,
                        polls,
                        actor,
                        name,
                        by,
                    });
                }
            }
            WaitChange::Over => _ = waits.remove(&key),
        }
    }

    fn polls(&self, actor: Actor) -> (u64, Option<Arc<str>>) {
        match self.agenda.borrow_mut().tasks.by_actor(actor) {
            Some(live) => (live.polls, live.named.name.clone()),
            None if actor == Actor::MAIN => (self.main.polls.get(), None),
            // It has ended.
            None => (0, None),
        }
    }

    /// Returns the waits that were woken, and whose actor was polled since without polling them.
    pub(super) fn snoozing(&self) -> Vec<Snoozing> {
        let waits = self.waits.borrow();
        let woken = waits.values().filter_map(|(_, _, woken)| woken.clone());
        let since = woken.map(|one| Snoozing {
            polls: self.polls(one.actor).0.saturating_sub(one.polls),
            ..one
        });
        let mut snoozing: Vec<_> = since.filter(|one| one.polls > 0).collect();
        // The keys are in another order in each run.
        snoozing.sort_by_key(|one| (one.step, one.actor, one.place));
        snoozing
    }
}
