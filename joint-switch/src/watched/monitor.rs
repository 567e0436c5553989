//! What the monitor knows of all words, and what it says of an illegal step.

use std::{
    collections::{HashMap, VecDeque},
    format,
    string::String,
    vec::Vec,
};

use super::{
    completion::Completion,
    fail,
    tables::{Join, State, Tables},
    task::Task,
};

/// How many steps of each word are kept.
const KEPT: usize = 12;

/// One operation on a word.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) site: &'static str,
    /// The last part of the site's name.
    pub(super) name: &'static str,
    pub(super) by: u32,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// The last steps of a word, and what is known of it beside its value.
pub(super) struct Word<T> {
    pub(super) value: u64,
    pub(super) knows: T,
    steps: VecDeque<Step>,
}

/// What is wrong.
pub(super) type Verdict = Result<(), &'static str>;

#[derive(Default)]
pub(super) struct Monitor {
    tables: Option<Tables>,
    /// By the address of the state word. The join word comes right after it.
    tasks: HashMap<usize, Word<Task>>,
    completions: HashMap<usize, Word<Completion>>,
    threads: Vec<String>,
    /// The tasks that each thread polls, the innermost last.
    polls: HashMap<u32, Vec<usize>>,
    pub(super) steps: u64,
    /// The number of steps that changed a word or began a run.
    pub(super) changes: u64,
    /// In the child of a fork, where the threads of its parent are missing.
    pub(super) is_off: bool,
}

/// Whether a site's operations are steps of a word that the monitor knows: a task's, if the answer
/// is true. Also returns the last part of its name.
pub(super) fn known(site: &'static str) -> Option<(bool, &'static str)> {
    let (module, name) = site.rsplit_once("::")?;
    let is_task = module == "joint::task::state";
    (is_task || module.starts_with("joint::completion")).then_some((is_task, name))
}

impl<T> Word<T> {
    fn new(value: u64, knows: T) -> Self {
        let steps = VecDeque::new();
        Self {
            value,
            knows,
            steps,
        }
    }

    fn note(&mut self, step: Step) {
        self.steps.truncate(KEPT - 1);
        self.steps.push_front(step);
        self.value = step.after;
    }
}

impl Monitor {
    pub(super) fn new_thread(&mut self, name: String) -> u32 {
        self.threads.push(name);
        self.threads.len() as u32
    }

    pub(super) fn placed(&mut self, address: usize, value: u64) {
        let task = Word::new(value, Task::new(self.steps));
        self.tasks.insert(address, task);
        self.completions.remove(&(address + 8));
    }

    pub(super) fn step(&mut self, address: usize, is_task: bool, step: Step) {
        if self.is_off {
            return;
        }
        self.steps += 1;
        // A task that wakes itself changes nothing.
        self.changes += u64::from(step.before != step.after || step.name == "run");
        let verdict = match is_task {
            true => self.step_of_task(address, step),
            false => self.step_of_completion(address, step),
        };
        if let Err(why) = verdict {
            self.report("illegal step", address, why);
        }
    }

    fn step_of_task(&mut self, address: usize, step: Step) -> Verdict {
        let word = self.tasks.get_mut(&address);
        let word = word.ok_or("the word is used before a task is there")?;
        let is_same = word.value == step.before;
        word.note(step);
        if !is_same {
            return Err("the word has changed by no operation");
        }
        let join = self.completions.get(&(address + 8));
        let join = Join::of(join.map_or(0, |join| join.value));
        let tables = self.tables.get_or_insert_with(Tables::new);
        word.knows.step(&step, tables, join, self.steps)?;
        let polls = self.polls.entry(step.by).or_default();
        match step.name {
            "run" => polls.push(address),
            "finish_look" => polls.retain(|&polled| polled != address),
            _ => {}
        }
        Ok(())
    }

    fn step_of_completion(&mut self, address: usize, step: Step) -> Verdict {
        let new = || Word::new(step.before, Completion::default());
        let word = self.completions.entry(address).or_insert_with(new);
        if word.value != step.before && word.knows.is_over(word.value) {
            *word = new();
        }
        let is_same = word.value == step.before && (step.before == 0 || !word.steps.is_empty());
        word.note(step);
        if !is_same {
            return Err("the word has changed by no operation");
        }
        let tables = self.tables.get_or_insert_with(Tables::new);
        let left = word.knows.step(&step, tables)?;
        let task = self.tasks.get_mut(&(address - 8));
        let task = task.filter(|task| !task.knows.is_freed());
        if let (Some(task), "complete") = (task, step.name) {
            task.knows.completes(step.by, left == "own")?;
            let polls = self.polls.entry(step.by).or_default();
            polls.retain(|&polled| polled != address - 8);
        }
        Ok(())
    }

    /// A poll of this thread has ended.
    pub(super) fn poll_is_over(&mut self, thread: u32) {
        let polled = self.polls.entry(thread).or_default().pop();
        if let Some(word) = polled.and_then(|polled| self.tasks.get_mut(&polled)) {
            word.knows.poll_is_over(self.steps);
        }
    }

    pub(super) fn retired(&mut self, address: usize, thread: u32) {
        let join = self.completions.remove(&address);
        let has_waker = join.is_some_and(|join| join.knows.is_waited_for(join.value));
        let task = self.tasks.get_mut(&address);
        let task = task.filter(|task| !task.knows.is_freed() && !self.is_off);
        match task.map_or(Ok(()), |task| task.knows.free(thread)) {
            Err(why) => self.report("illegal free", address, why),
            Ok(()) if has_waker && !self.is_off => {
                self.report("illegal free", address - 8, "a waker is in the join word");
            }
            Ok(()) => {}
        }
    }

    /// Checks what must have happened by now. `steps` and `changes` are from an earlier check.
    pub(super) fn check_rest(&self, steps: u64, changes: u64) {
        // So many steps let each word have its turn very often.
        let live = self.tasks.values().filter(|task| !task.knows.is_freed());
        let many = 10_000 + 200 * live.count() as u64;
        let is_rest = self.changes == changes;
        if self.is_off || !is_rest && self.steps - steps < many {
            return;
        }
        let since = if is_rest { u64::MAX } else { steps };
        for (&address, word) in &self.tasks {
            if let Err(why) = word.knows.check_rest(State::of(word.value), since) {
                self.report("illegal rest", address, why);
            }
        }
        for (&address, word) in self.completions.iter().filter(|_| is_rest) {
            if let Err(why) = word.knows.check_rest(word.value) {
                self.report("illegal rest", address, why);
            }
        }
    }

    /// Ends the process, with the last steps of that word and of the other one of the same task.
    fn report(&self, what: &str, address: usize, why: &str) -> ! {
        let mut text = format!("joint-watch: {what}, after {} steps: {why}", self.steps);
        let task = |address| Some(&self.tasks.get(&address)?.steps);
        let join = |address| Some(&self.completions.get(&address)?.steps);
        let all = [
            task(address),
            join(address),
            join(address + 8),
            task(address - 8),
        ];
        for steps in all.into_iter().flatten() {
            text += "\nthe last steps of the word, the newest first:\n";
            text.extend(steps.iter().map(|step| self.show(step)));
        }
        fail(&text)
    }

    fn show(&self, step: &Step) -> String {
        let value = |value| match known(step.site) {
            Some((true, _)) => {
                let State { flags, refs, wakes } = State::of(value);
                format!("{flags:04b} {refs} {wakes}")
            }
            _ => format!("{:?}", Join::of(value)),
        };
        let (before, after) = (value(step.before), value(step.after));
        let name = &self.threads[step.by as usize - 1];
        format!(
            "  {}: {before} -> {after} by thread {} {name}\n",
            step.site, step.by
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on a task that makes these steps, with a wake-up as 1 << 32 and a waker as 16.
    fn life(steps: &[(&'static str, u64)]) -> Verdict {
        let mut monitor = Monitor::default();
        let thread = monitor.new_thread(String::new());
        monitor.placed(64, 1 << 32);
        let mut before = 1 << 32;
        for &(name, after) in steps {
            let site = "joint::task::state::";
            let by = thread;
            let step = Step {
                site,
                name,
                by,
                before,
                after,
            };
            monitor.step_of_task(64, step)?;
            if name == "run" {
                monitor.poll_is_over(thread);
            }
            before = after;
        }
        monitor.tasks[&64]
            .knows
            .check_rest(State::of(before), u64::MAX)
    }

    #[test]
    fn a_compiler_fence_does_not_name_the_next_operation() {
        use crate::{
            AtomicU64, compiler_fence,
            watched::{lock, ordering, placed},
        };
        use core::sync::atomic::Ordering::SeqCst;
        let word = AtomicU64::new(16);
        placed(&word);
        compiler_fence(ordering("joint::host::parker::handler_taken", SeqCst));
        word.load(ordering("joint::task::state::snapshot", SeqCst));
        let address = core::ptr::from_ref(&word).addr();
        let word = lock().tasks.remove(&address);
        assert_eq!(word.map(|word| word.steps.len()), Some(1));
    }

    #[test]
    fn the_first_illegal_step_is_named() {
        const WAKE: u64 = 1 << 32;
        let run = ("run", WAKE);
        assert_eq!(life(&[run, ("clone", WAKE + 16), ("idle", 16)]), Ok(()));
        for (steps, why) in [
            (&[run, run][..], "a run begins without a runnable"),
            (&[run, ("idle", 0)], "nobody has scheduled the orphan"),
            (&[("clone", WAKE + 32)], "the tables have another word"),
            (
                &[("wake", 2 * WAKE)],
                "the task is woken by a waker that does not exist",
            ),
            (
                &[run, ("finish_look", WAKE), ("clone", WAKE + 16)],
                "the task is used while",
            ),
            (
                &[("clone", WAKE + 16)],
                "the task is scheduled, and nobody runs it",
            ),
            (&[run, ("finish_look", WAKE)], "nobody has freed the task"),
        ] {
            let verdict = life(steps);
            assert!(
                verdict.is_err_and(|said| said.starts_with(why)),
                "{verdict:?} {why}"
            );
        }
    }
}
