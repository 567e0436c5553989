//! A memory that takes turns: any thread's next step, on one memory, until all are done.

use std::collections::BTreeSet;

use axioms::{Value, program::Kind};

use crate::{
    generate::{Move, PLACES, Progress, Recipe},
    laws::End,
};

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct State {
    memory: Vec<Value>,
    threads: Vec<Progress>,
}

pub(crate) fn ends(recipe: &Recipe) -> BTreeSet<End> {
    let threads = vec![Progress::default(); recipe.threads.len()];
    let mut left = vec![State {
        memory: vec![0; PLACES],
        threads,
    }];
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
            if let Some(step) = next.threads[number].step(thread) {
                is_done = false;
                next.run(number, step);
                left.push(next);
            } else {
                // Past the steps that a guard holds back at the end.
                done.threads[number] = next.threads[number].clone();
            }
        }
        if is_done {
            let registers = done
                .threads
                .into_iter()
                .map(|thread| thread.registers)
                .collect();
            ends.insert((registers, done.memory));
        }
    }
    ends
}

impl State {
    fn run(&mut self, number: usize, step: &Move) {
        let cell = &mut self.memory[step.place];
        let before = *cell;
        match step.kind {
            Kind::Store | Kind::Write | Kind::Swap => *cell = step.value,
            Kind::FetchAdd => *cell += step.value,
            Kind::Load | Kind::Read | Kind::Fence | Kind::Initial => {}
        }
        if step.kind.reads() {
            self.threads[number].found(step, before);
        }
    }
}
