//! A world's data on the tasks that have not ended, and those that are ready to run.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use slab::Slab;

use super::{
    machine::Place,
    record::{Actor, Named},
};
use joint::task::{Id, Runnable};
use joint_executor::hosted::{ExecutorId, ReadyTask};

pub(super) struct Due {
    pub(super) actor: Actor,
    pub(super) by: Actor,
    pub(super) work: Work,
}

impl Due {
    pub(super) fn has_yielded(&self) -> bool {
        self.by == self.actor
    }

    pub(super) fn into_task(self) -> Option<ReadyTask> {
        match self.work {
            Work::Task { task, .. } => Some(task),
            _ => None,
        }
    }
}

pub(super) enum Work {
    Main,
    Task {
        pool: u16,
        key: Key,
        task: ReadyTask,
    },
    /// A call, with the place that it belongs to. Boxed, because calls are rare, and what is ready
    /// is moved often.
    Call(Box<(Place, Runnable)>),
    /// A call that has begun must check whether its wait is over.
    Resume(usize),
}

/// The world's data on a task that has not ended.
pub(super) struct Live {
    pub(super) actor: Actor,
    pub(super) named: Named,
    /// `None` for a call.
    pub(super) executor: Option<ExecutorId>,
    /// The time and the step of its last poll.
    pub(super) since: u64,
    pub(super) ran: u64,
    pub(super) polls: u64,
    /// The actor that woke it for that step.
    pub(super) woken: Actor,
    /// Whether the faults may cancel it.
    pub(super) is_expendable: bool,
    /// Whether its last poll has scheduled a spurious one.
    pub(super) is_arranged: bool,
}

/// The place of a task among those that have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u32);

impl Key {
    pub(super) fn of(place: usize) -> Self {
        Self(u32::try_from(place).expect("fewer than 2^32 tasks at one time"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Ids are small numbers, and need no more mixing than this.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("an id is one word")
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

/// The tasks by their ids. Each has a key as well, by which it is found at once.
#[derive(Default)]
pub(super) struct Tasks {
    /// The number of the last one.
    spawned: u32,
    lives: Slab<Live>,
    keys: HashMap<Id, Key, BuildHasherDefault<IdHasher>>,
}

impl Tasks {
    pub(super) fn introduce(&mut self) -> Actor {
        self.spawned += 1;
        Actor(self.spawned)
    }

    pub(super) fn insert(&mut self, id: Id, live: Live) -> Key {
        let key = self.lives.insert(live);
        let key = Key::of(key);
        self.keys.insert(id, key);
        key
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<Live> {
        let key = self.keys.remove(&id)?;
        Some(self.lives.remove(key.index()))
    }

    #[inline]
    pub(super) fn known(&self, id: Id) -> (Key, Actor) {
        let known = self.keys.get(&id);
        let key = *known.expect("a task is known from its spawn to its end");
        (key, self.lives[key.index()].actor)
    }

    pub(super) fn actor(&self, id: Id) -> Option<Actor> {
        let key = self.keys.get(&id)?;
        Some(self.lives[key.index()].actor)
    }

    #[inline]
    pub(super) fn by_key(&mut self, key: Key) -> Option<&mut Live> {
        self.lives.get_mut(key.index())
    }

    pub(super) fn by_actor(&mut self, actor: Actor) -> Option<&mut Live> {
        let mut lives = self.lives.iter_mut().map(|(_, live)| live);
        lives.find(|live| live.actor == actor)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Live> {
        let key = *self.keys.get(&id)?;
        self.by_key(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Live)> {
        // Callers sort by what they need: the order of the map is that of ids.
        self.keys
            .iter()
            .map(|(&id, &key)| (id, &self.lives[key.index()]))
    }
}
