//! A memory of messages and views: RC11 without `SeqCst`, as a machine.
//!
//! It is the promising semantics without its promises (Kang, Hur, Lahav, Vafeiadis, Dreyer: *A
//! Promising Semantics for Relaxed-Memory Concurrency*, POPL 2017), with the release sequences of
//! C++20. Each location has its messages in modification order. A view says how far into each
//! location's messages somebody has come; a thread reads nothing older, and writes nothing before.
//! Messages carry a view to those who acquire them.

use std::collections::BTreeSet;

use axioms::{Value, program::Kind};

use crate::{
    End,
    generate::{Move, PLACES, Progress, Recipe},
};

/// How far into the messages of each location.
type View = Vec<usize>;

fn join(view: &mut View, other: &View) {
    view.iter_mut()
        .zip(other)
        .for_each(|(place, other)| *place = (*place).max(*other));
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Message {
    value: Value,
    view: View,
    /// It is an exchange's: nothing comes between it and the message before it.
    attached: bool,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Thread {
    progress: Progress,
    /// The view of what it has seen.
    current: View,
    /// The view that an acquire fence would give it.
    acquired: View,
    /// Its view at its last release fence.
    released: View,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct State {
    memory: Vec<Vec<Message>>,
    threads: Vec<Thread>,
}

pub(crate) fn ends(recipe: &Recipe) -> BTreeSet<End> {
    let mut left = vec![State::new(recipe.threads.len())];
    let mut seen = BTreeSet::new();
    let mut ends = BTreeSet::new();
    while let Some(state) = left.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut done = state.clone();
        let mut is_done = true;
        for (number, thread) in recipe.threads.iter().enumerate() {
            let mut next = state.clone();
            if let Some(step) = next.threads[number].progress.step(thread) {
                is_done = false;
                left.extend(next.after(number, step));
            } else {
                done.threads[number] = next.threads[number].clone();
            }
        }
        if is_done {
            ends.insert(done.end());
        }
    }
    ends
}

impl State {
    fn new(threads: usize) -> Self {
        let view = vec![0; PLACES];
        let first = Message {
            value: 0,
            view: view.clone(),
            attached: false,
        };
        let thread = Thread {
            progress: Progress::default(),
            current: view.clone(),
            acquired: view.clone(),
            released: view,
        };
        Self {
            memory: vec![vec![first]; PLACES],
            threads: vec![thread; threads],
        }
    }

    fn end(self) -> End {
        let registers = self
            .threads
            .into_iter()
            .map(|thread| thread.progress.registers)
            .collect();
        let last = |messages: &Vec<Message>| messages.last().map_or(0, |message| message.value);
        (registers, self.memory.iter().map(last).collect())
    }

    /// Every state that this step can lead to.
    fn after(&self, number: usize, step: &Move) -> Vec<Self> {
        let oldest = self.threads[number].current[step.place];
        let newest = self.memory[step.place].len();
        let open = |place: &usize| {
            !self.memory[step.place]
                .get(*place)
                .is_some_and(|next| next.attached)
        };
        let state = |run: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            run(&mut next);
            next
        };
        match step.kind {
            Kind::Fence => vec![state(&|next| next.threads[number].fence(step))],
            Kind::Load => (oldest..newest)
                .map(|place| state(&|next| next.read(number, step, place)))
                .collect(),
            Kind::Store => (oldest + 1..=newest)
                .filter(open)
                .map(|place| state(&|next| next.write(number, step, place, None)))
                .collect(),
            _ => (oldest..newest)
                .filter(|place| open(&(place + 1)))
                .map(|place| state(&|next| next.exchange(number, step, place)))
                .collect(),
        }
    }

    fn read(&mut self, number: usize, step: &Move, place: usize) {
        let message = &self.memory[step.place][place];
        let thread = &mut self.threads[number];
        thread.progress.found(step, message.value);
        thread.current[step.place] = place;
        join(&mut thread.acquired, &message.view);
        if step.ordering.acquires() {
            join(&mut thread.current, &message.view);
        }
        join(&mut thread.acquired, &thread.current);
    }

    /// Puts a message at `place`. An exchange hands on the view of the message that it `read`.
    fn write(&mut self, number: usize, step: &Move, place: usize, read: Option<Message>) {
        self.make_room(step.place, place);
        let thread = &mut self.threads[number];
        thread.current[step.place] = place;
        thread.acquired[step.place] = place;
        let released = if step.ordering.releases() {
            &thread.current
        } else {
            &thread.released
        };
        let mut view = released.clone();
        view[step.place] = place;
        let before = read.as_ref().filter(|_| step.kind == Kind::FetchAdd);
        let value = before.map_or(0, |message| message.value) + step.value;
        read.iter()
            .for_each(|message| join(&mut view, &message.view));
        let message = Message {
            value,
            view,
            attached: read.is_some(),
        };
        self.memory[step.place].insert(place, message);
    }

    fn exchange(&mut self, number: usize, step: &Move, place: usize) {
        let message = self.memory[step.place][place].clone();
        self.read(number, step, place);
        self.write(number, step, place + 1, Some(message));
    }

    /// Every view beyond the new message's place moves by one.
    fn make_room(&mut self, location: usize, place: usize) {
        let messages = self
            .memory
            .iter_mut()
            .flatten()
            .map(|message| &mut message.view);
        let threads = self.threads.iter_mut();
        let views =
            threads.flat_map(|own| [&mut own.current, &mut own.acquired, &mut own.released]);
        for view in messages.chain(views) {
            if view[location] >= place {
                view[location] += 1;
            }
        }
    }
}

impl Thread {
    fn fence(&mut self, step: &Move) {
        if step.ordering.acquires() {
            self.current.clone_from(&self.acquired);
        }
        if step.ordering.releases() {
            self.released.clone_from(&self.current);
        }
    }
}
