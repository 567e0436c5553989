//! The report on the tasks of a run in which nobody can wake anybody.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{
    super::{
        failure::{Blocked, Deadlock, Waiting},
        record::Actor,
        tasks::Live,
    },
    World,
};

impl World {
    /// Tells who waits, and for what as far as that is known.
    pub(super) fn deadlock(&self) -> Deadlock {
        let joins = self.joins();
        let agenda = self.agenda.borrow();
        let tasks = &agenda.tasks;
        let mut waiting: Vec<_> = tasks
            .iter()
            .map(|(_, live)| self.waiting(live, &joins))
            .collect();
        waiting.sort_by_key(|task| task.actor);
        Deadlock {
            main_joins: joins.get(&Actor::MAIN).copied(),
            waiting,
            blocked: self.blocked(),
        }
    }

    fn waiting(&self, live: &Live, joins: &BTreeMap<Actor, Actor>) -> Waiting {
        let pools = self.pools.borrow();
        let executor = pools.iter().position(|pool| Some(pool.id) == live.executor);
        Waiting {
            actor: live.actor,
            named: live.named.clone(),
            executor: executor.filter(|_| pools.len() > 1),
            is_ready: self.agenda.borrow().is_ready(live.actor),
            since: self.time.since_start(live.since),
            ran: (live.ran > 0).then_some((live.ran, live.woken)),
            joins: joins.get(&live.actor).copied(),
        }
    }

    /// Which task waits for the end of which one. A task that waits for several is here with one of
    /// them.
    fn joins(&self) -> BTreeMap<Actor, Actor> {
        let agenda = self.agenda.borrow();
        let mut by_address = BTreeMap::from([(self.main.address(), Actor::MAIN)]);
        let mut awaited = Vec::new();
        let pools = self.pools.borrow();
        for pool in pools.iter().filter(|pool| !pool.has_ended.get()) {
            pool.first().worker.each_waiting(|task, address, waiter| {
                let (_, actor) = agenda.tasks.known(task);
                by_address.insert(address.get(), actor);
                awaited.extend(waiter.map(|waiter| (actor, waiter)));
            });
        }
        let mut joins = BTreeMap::new();
        for (joined, waiter) in awaited {
            if let Some(&joiner) = by_address.get(&waiter) {
                let first = joins.entry(joiner).or_insert(joined);
                *first = joined.min(*first);
            }
        }
        joins
    }

    /// Returns the workers that are in a poll, which is beneath this call on a stack.
    fn blocked(&self) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for (executor, pool) in self.pools.borrow().iter().enumerate() {
            blocked.extend(pool.busy().map(|(worker, _, by)| Blocked {
                executor,
                worker,
                by,
            }));
        }
        blocked
    }
}
