//! What is left of the program: who waits, and for what.

use std::collections::BTreeMap;

use super::{
    super::{clock, failure::Left, record::Actor, tasks::Live, unfinished::Unfinished},
    World,
};
use joint_executor::WaitsFor;

impl World {
    /// Tells what is left. Must not be called by an executor, in the middle of its work.
    pub(super) fn left(&self) -> Left {
        Left {
            main: (!self.main.is_over.get()).then(|| self.main_waits()),
            unfinished: self.unfinished(),
            blocked: self.blocked(),
            troubles: [
                self.paused(),
                self.network(|network| network.troubles(self)),
            ]
            .concat(),
            snoozing: self.snoozing(),
            unseen: self.unseen_panics(),
        }
    }

    fn main_waits(&self) -> String {
        let since = self.time.at(self.main.since.get());
        let joined = self.joins().remove(&Actor::MAIN).unwrap_or_default();
        let mut shown: Vec<_> = joined.iter().map(|task| format!("{task} to end")).collect();
        let waits = self.waits.borrow();
        let named = waits.values().filter(|(_, by, _)| *by == Actor::MAIN);
        shown.extend(named.map(|(wait, ..)| format!("{}, at {}", wait.what, wait.place)));
        shown.extend(self.socket_waits().remove(&Actor::MAIN).unwrap_or_default());
        // They come in the order of their addresses.
        shown.sort();
        let mut text = format!("{} since {since:?}", self.readiness(Actor::MAIN));
        if !shown.is_empty() {
            text += &format!(" for {}", shown.join(" and "));
        }
        text
    }

    /// Tells whether an actor is ready to run, and who woke it.
    fn readiness(&self, actor: Actor) -> String {
        let agenda = self.agenda.borrow();
        match agenda.due.iter().find(|due| due.actor == actor) {
            None => "waits".into(),
            Some(_) if self.pools.all.borrow().iter().any(|pool| pool.is_busy()) => {
                "is ready, but each worker that may run it is blocked,".into()
            }
            Some(due) => format!("was woken by {}, and not polled", due.by),
        }
    }

    /// Returns the tasks that have not ended, the one that was polled longest ago first.
    pub(super) fn unfinished(&self) -> Vec<Unfinished> {
        if self.agenda.borrow().tasks.iter().next().is_none() {
            return Vec::new();
        }
        let mut waits_for = self.waits_for();
        let agenda = self.agenda.borrow();
        let tasks = agenda.tasks.iter();
        let tasks = tasks.map(|(_, live)| {
            let waits_for = waits_for.remove(&live.actor).unwrap_or_default();
            self.one_unfinished(live, waits_for)
        });
        let mut tasks: Vec<_> = tasks.collect();
        tasks.sort_by_key(|task| (task.since, task.actor));
        tasks
    }

    fn one_unfinished(&self, live: &Live, waits_for: Vec<String>) -> Unfinished {
        let pools = self.pools.all.borrow();
        let executor = pools.iter().position(|pool| Some(pool.id) == live.executor);
        Unfinished {
            actor: live.actor,
            named: live.named.clone(),
            executor: executor.filter(|_| pools.len() > 1),
            readiness: self.readiness(live.actor),
            since: self.time.since_start(live.since),
            ran: (live.ran > 0).then_some((live.ran, live.woken)),
            waits_for,
        }
    }

    /// What each task that has waited waits for.
    fn waits_for(&self) -> BTreeMap<Actor, Vec<String>> {
        let (joins, sockets) = (self.joins(), self.socket_waits());
        let mut all = BTreeMap::new();
        let pools = self.pools.all.borrow();
        for pool in pools.iter().filter(|pool| !pool.has_ended.get()) {
            for task in pool.first().worker.dump().tasks() {
                let Some(actor) = self.agenda.borrow().tasks.actor(task.id()) else {
                    continue;
                };
                let joined = joins.get(&actor).into_iter().flatten();
                let mut shown: Vec<_> = joined.map(|joined| format!("{joined} to end")).collect();
                let others = task.waits_for().iter();
                shown.extend(others.filter_map(|what| self.shown(what, pool.place.host)));
                shown.extend(sockets.get(&actor).into_iter().flatten().cloned());
                // They come in the order of their addresses.
                shown.sort();
                shown.dedup();
                if shown.is_empty() && !task.is_runnable() {
                    let unknown = match task.waits_for() {
                        [] => "ever: it has no waker",
                        _ => "something that has its waker",
                    };
                    shown.push(unknown.to_string());
                }
                all.insert(actor, shown);
            }
        }
        all
    }

    fn shown(&self, what: &WaitsFor, host: usize) -> Option<String> {
        match *what {
            WaitsFor::Task(id) => {
                let actor = self.agenda.borrow().tasks.actor(id);
                actor.map(|actor| format!("{actor} to end"))
            }
            WaitsFor::Timer(at) => {
                let at = self.world_time(host, clock::nanos(at));
                Some(format!("a timer that is due at {:?}", self.time.at(at)))
            }
            WaitsFor::Oneshot(end) => Some(format!("a {end}")),
            WaitsFor::Told(what, place) => Some(format!("{what}, at {place}")),
            WaitsFor::Snoozing(what, place) => Some(format!("{what}, at {place}, which snoozes")),
            _ => None,
        }
    }

    fn joins(&self) -> BTreeMap<Actor, Vec<Actor>> {
        let mut awaited = Vec::new();
        let by_address = self.each_waiting(|actor, waiter| awaited.push((actor, waiter)));
        let mut joins = BTreeMap::<_, Vec<_>>::new();
        awaited.sort();
        for (joined, waiter) in awaited {
            if let Some(&joiner) = by_address.get(&waiter) {
                joins.entry(joiner).or_default().push(joined);
            }
        }
        joins
    }

    /// What each actor waits for that waits for a socket.
    fn socket_waits(&self) -> BTreeMap<Actor, Vec<String>> {
        let by_address = self.each_waiting(|_, _| {});
        let mut all = BTreeMap::<_, Vec<_>>::new();
        for (address, what) in self.network(|network| network.waits(self)) {
            if let Some(&actor) = by_address.get(&address) {
                all.entry(actor).or_default().push(what);
            }
        }
        all
    }

    /// Calls `f` with each actor that another waits for, and the address of that one. Returns the
    /// actors by their addresses.
    fn each_waiting(&self, mut f: impl FnMut(Actor, usize)) -> BTreeMap<usize, Actor> {
        let agenda = self.agenda.borrow();
        let mut by_address = BTreeMap::from([(self.main.address(), Actor::MAIN)]);
        let pools = self.pools.all.borrow();
        for pool in pools.iter().filter(|pool| !pool.has_ended.get()) {
            pool.first().worker.each_waiting(|task, address, waiter| {
                if let Some(actor) = agenda.tasks.actor(task) {
                    by_address.insert(address.get(), actor);
                    if let Some(waiter) = waiter {
                        f(actor, waiter);
                    }
                }
            });
        }
        by_address
    }

    fn blocked(&self) -> Vec<String> {
        let pools = self.pools.all.borrow();
        let blocked = pools.iter().enumerate().flat_map(|(executor, pool)| {
            pool.busy().map(move |(worker, _, by)| {
                format!("worker {worker} of executor {executor} is blocked in a poll of {by}")
            })
        });
        blocked.collect()
    }
}
