//! The state word of a task, with what `verify/proof/Task.v` knows beside it: who has the runnable,
//! what a run has seen, and who is about to free.

use super::{
    monitor::{Step, Verdict},
    tables::{FINISHED, HANDLE, Join, State, Tables},
};

#[derive(Clone, Copy, PartialEq)]
enum Runner {
    Nobody,
    Queued,
    /// This thread's run began with that word.
    Polls(u32, State),
    /// The poll is over. The flag says whether its thread has looked at the word since.
    Polled(u32, State, bool),
    /// The run has ended, and this thread is the finisher.
    Finishes(u32),
    /// The task has ended.
    Ended,
    /// This thread has to make the orphan runnable.
    Revives(u32),
    /// This thread has to free the task.
    Frees(u32),
    Freed,
}

pub(super) struct Task {
    runner: Runner,
    /// The number of the step at which it was last scheduled, or its poll ended.
    since: u64,
}

impl Task {
    /// A new one, which has its first runnable.
    pub(super) fn new(since: u64) -> Self {
        let runner = Runner::Queued;
        Self { runner, since }
    }

    pub(super) fn step(&mut self, step: &Step, tables: &Tables, join: Join, now: u64) -> Verdict {
        let (before, after, by) = (State::of(step.before), State::of(step.after), step.by);
        match self.runner {
            Runner::Freed => return Err("the task is used after it was freed"),
            Runner::Frees(thread) if thread != by || before != after => {
                return Err("the task is used while a thread frees it");
            }
            Runner::Revives(_) if before != after && step.name != "revive" => {
                return Err("the task is used while it is an orphan");
            }
            _ => {}
        }
        let look = |op| tables.state(op, before, after);
        let left = match step.name {
            "run" => return self.begin_run(by, before),
            "idle" => return self.end_run(by, before, after, tables, now),
            "finish_look" | "finish" => return self.finish(step, join),
            "snapshot" => {
                if let Runner::Polled(thread, _, looks) = &mut self.runner {
                    *looks |= *thread == by;
                }
                return Ok(());
            }
            "cancel_again" | "wake_back" | "wake_back_again" | "consume_part" => return Ok(()),
            "clone" => look("add_waker")?,
            "wake" if before.refs == 0 && !matches!(self.runner, Runner::Polls(..)) => {
                return Err("the task is woken by a waker that does not exist");
            }
            "wake" => look("wake")?,
            "wake_by_value" => look("wake_by_value")?,
            "drop" => look("drop_waker")?,
            "cancel" if after.has(HANDLE) || !before.has(HANDLE) => look("abort")?,
            "cancel" | "detach" if join != Join::Detached && !join.is_end() => {
                return Err("the handle leaves before it has detached on the join word");
            }
            "cancel" => look("cancel")?,
            "detach" => look("detach")?,
            "panicked" if self.runs(by).is_some() => look("set_panicked")?,
            "revive" if self.runner == Runner::Revives(by) => {
                self.runner = Runner::Nobody;
                "schedule"
            }
            _ => return Err("this thread may not do that now"),
        };
        match left {
            "nothing" => {}
            "schedule" if self.runner == Runner::Nobody => {
                (self.runner, self.since) = (Runner::Queued, now);
            }
            "orphan" => self.runner = Runner::Revives(by),
            "free" => self.runner = Runner::Frees(by),
            _ => return Err("a second runnable is made"),
        }
        Ok(())
    }

    /// What this thread's run has seen.
    fn runs(&self, by: u32) -> Option<State> {
        match self.runner {
            Runner::Polls(thread, seen) | Runner::Polled(thread, seen, _) if thread == by => {
                Some(seen)
            }
            _ => None,
        }
    }

    fn begin_run(&mut self, by: u32, seen: State) -> Verdict {
        let has_runnable = match self.runner {
            Runner::Queued => true,
            // It has woken itself, which writes nothing.
            Runner::Polled(_, began, looks) => looks && began.wakes == 1,
            _ => false,
        };
        if !has_runnable || seen.wakes == 0 || seen.has(FINISHED) {
            return Err("a run begins without a runnable");
        }
        self.runner = Runner::Polls(by, seen);
        Ok(())
    }

    pub(super) fn poll_is_over(&mut self, now: u64) {
        if let Runner::Polls(by, seen) = self.runner {
            (self.runner, self.since) = (Runner::Polled(by, seen, false), now);
        }
    }

    fn end_run(
        &mut self,
        by: u32,
        before: State,
        after: State,
        tables: &Tables,
        now: u64,
    ) -> Verdict {
        let seen = match self.runner {
            Runner::Polled(thread, seen, _) if thread == by => seen.wakes,
            _ => return Err("a run ends that is not this thread's, or before its poll is over"),
        };
        let consumed = before.wakes.wrapping_sub(after.wakes);
        if consumed == 0 || ![consumed, consumed + 1].contains(&seen) {
            return Err("a run consumes other wake-ups than those that it has seen");
        }
        // As if it had consumed one, and one was left if any was.
        let few = |state: State, wakes| State { wakes, ..state };
        let left = after.wakes.min(1);
        self.since = now;
        self.runner = match tables.state("idle 1", few(before, 1 + left), few(after, left))? {
            "leave" => Runner::Nobody,
            "orphan" => Runner::Revives(by),
            _ => Runner::Queued,
        };
        Ok(())
    }

    /// The runner completes the join word. `own` says that the handle has left there.
    pub(super) fn completes(&mut self, by: u32, own: bool) -> Verdict {
        let seen = self.runs(by);
        if !seen.is_some_and(|seen| seen.has(HANDLE)) {
            return Err("the join word is completed by a thread that may not do that now");
        }
        self.runner = if own {
            Runner::Finishes(by)
        } else {
            Runner::Ended
        };
        Ok(())
    }

    fn finish(&mut self, step: &Step, join: Join) -> Verdict {
        let (before, after, by) = (State::of(step.before), State::of(step.after), step.by);
        let is_runner = self.runner == Runner::Finishes(by)
            || self.runs(by).is_some_and(|seen| !seen.has(HANDLE));
        let is_joined = join == Join::Detached || join.is_end();
        let is_handle = before.has(HANDLE) && self.runner == Runner::Ended && is_joined;
        if !is_runner && !is_handle {
            return Err("the task is finished by a thread that is not its finisher");
        }
        let own = if is_runner { 0 } else { HANDLE };
        let is_last = before.flags & HANDLE == own && before.refs == 0;
        let flags = (before.flags | FINISHED) & !own;
        if step.name == "finish" && after != (State { flags, ..before }) {
            return Err("the finisher leaves another word");
        }
        self.runner = match (is_last, is_runner && step.name == "finish_look") {
            (true, _) => Runner::Frees(by),
            (false, true) => Runner::Finishes(by),
            (false, false) => Runner::Ended,
        };
        Ok(())
    }

    pub(super) fn free(&mut self, by: u32) -> Verdict {
        let may_free = self.runner == Runner::Frees(by);
        self.runner = Runner::Freed;
        may_free
            .then_some(())
            .ok_or("the task is freed by a thread that the word has not told to")
    }

    pub(super) fn is_freed(&self) -> bool {
        self.runner == Runner::Freed
    }

    /// Much has happened since that step, or nothing for some time, if it is in the future.
    pub(super) fn check_rest(&self, word: State, since: u64) -> Verdict {
        let is_unreachable = word.refs == 0 && !word.has(HANDLE);
        Err(match self.runner {
            Runner::Queued if self.since < since => "the task is scheduled, and nobody runs it",
            Runner::Polled(..) if self.since < since => "the poll is over, and nothing follows",
            _ if since < u64::MAX => return Ok(()),
            Runner::Nobody if is_unreachable => "nobody can reach the task",
            Runner::Finishes(_) | Runner::Ended => "the task has ended, and is not freed",
            Runner::Revives(_) => "nobody has scheduled the orphan",
            Runner::Frees(_) => "nobody has freed the task",
            _ => return Ok(()),
        })
    }
}
