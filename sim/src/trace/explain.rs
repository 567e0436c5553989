//! [`Explanation`]: the chain of causes that has led to a step.

use alloc::vec::Vec;
use core::fmt;

use super::{
    super::record::{Actor, At, What},
    Trace, WithName,
};

/// The largest number of links shown from the step, and from the start of the run.
const LATEST: usize = 30;
const EARLIEST: usize = 5;

impl Trace {
    /// Says why a step happened: who woke the task that ran in it, why that one ran, and so on,
    /// back to the beginning of the run.
    ///
    /// Returns `None` if there was no such step.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{TaskBuilder, time::sleep};
    /// use joint_sim as sim;
    /// use std::time::Duration;
    ///
    /// let outcome = sim::Builder::new(1).trace(true).run(async {
    ///     let sleeper = TaskBuilder::new().name("sleeper");
    ///     sleeper.spawn(sleep(Duration::from_millis(3))).await;
    /// })?;
    /// let trace = outcome.trace.unwrap();
    /// assert_eq!(
    ///     trace.explain(outcome.steps).unwrap().to_string(),
    ///     "\
    /// main ran in step 4, at 3ms, because task 1 \"sleeper\" woke it;
    /// task 1 \"sleeper\" ran in step 3, at 3ms, because a timer of 3ms fired;
    /// task 1 \"sleeper\" had armed it in step 2, at 0ns, because main had spawned the task;
    /// main ran in step 1, at 0ns, because the run began
    /// ",
    /// );
    /// # Ok::<(), sim::Failure>(())
    /// ```
    pub fn explain(&self, step: u64) -> Option<Explanation<'_>> {
        let first = self.events.partition_point(|event| event.step < step);
        let ran = (first..self.events.len())
            .find(|&place| matches!(self.events[place].what, What::Ran { .. }))?;
        (self.events[ran].step == step).then(|| self.explanation(ran))
    }

    /// Says why a task ran last, as [`explain`](Trace::explain) does. Tasks are named by the order
    /// of spawning, from 1, and the main future is 0.
    ///
    /// Returns `None` if it never ran.
    ///
    /// # Example
    /// ```
    /// let outcome = joint_sim::Builder::new(1).trace(true).run(async {
    ///     joint_executor::spawn(async {}).await;
    /// })?;
    /// let trace = outcome.trace.unwrap();
    /// let why: Vec<_> = trace.explain_task(1).unwrap().steps().collect();
    /// // The task ran in step 2, because the main future had spawned it in step 1.
    /// assert_eq!(why, [2, 1]);
    /// assert!(trace.explain_task(2).is_none());
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn explain_task(&self, task: u32) -> Option<Explanation<'_>> {
        let ran = self.ran_before(Actor(task), self.events.len())?;
        Some(self.explanation(ran))
    }

    fn explanation(&self, mut ran: usize) -> Explanation<'_> {
        let mut links = Vec::new();
        loop {
            let (cause, next) = self.cause(ran);
            links.push((ran, cause));
            match next {
                Some(next) => ran = next,
                None => break,
            }
        }
        Explanation { trace: self, links }
    }

    /// Where an actor ran last before an event.
    fn ran_before(&self, actor: Actor, before: usize) -> Option<usize> {
        let ran = |place: &usize| {
            let event = &self.events[*place];
            event.actor == actor && matches!(event.what, What::Ran { .. })
        };
        (0..before).rev().find(ran)
    }

    /// Why a task ran, and in which of the steps before it that came about.
    fn cause(&self, ran: usize) -> (Cause, Option<usize>) {
        let actor = self.events[ran].actor;
        let before = (0..ran).rev().filter(|&at| self.events[at].actor == actor);
        let Some((woken, by)) = before.clone().find_map(|at| match self.events[at].what {
            What::Woken { by } => Some((at, by)),
            _ => None,
        }) else {
            return (Cause::Unknown, None);
        };
        let earlier = before.clone().find(|&at| at < woken);
        let is_new = |at: usize| matches!(self.events[at].what, What::Spawned { .. });
        match by {
            Actor::OUTSIDE if actor == Actor::MAIN && earlier.is_none() => (Cause::Began, None),
            Actor::OUTSIDE => (Cause::Outside, None),
            Actor::TIMER => match self.armed_before(actor, woken) {
                Some((armed, until)) => (Cause::Timer(until), self.ran_before(actor, armed)),
                None => (Cause::SomeTimer, None),
            },
            by if earlier.is_some_and(is_new) => (Cause::SpawnedBy(by), self.ran_before(by, woken)),
            by if by == actor => (Cause::Itself, self.ran_before(by, woken)),
            by => (Cause::WokenBy(by), self.ran_before(by, woken)),
        }
    }

    /// The timer of a task that was due when the task was woken, if it armed one itself: the one
    /// with the latest deadline of them, which is the one that fired.
    fn armed_before(&self, actor: Actor, woken: usize) -> Option<(usize, u64)> {
        let now = self.events[woken].at;
        let armed = (0..woken).filter_map(|place| {
            let event = &self.events[place];
            match event.what {
                What::Armed { until } if event.actor == actor && until <= now => {
                    Some((place, until))
                }
                _ => None,
            }
        });
        armed.max_by_key(|&(place, until)| (until, place))
    }
}

/// Why a step happened.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Began,
    SpawnedBy(Actor),
    WokenBy(Actor),
    Itself,
    /// With its deadline.
    Timer(u64),
    SomeTimer,
    Outside,
    Unknown,
}

/// Why a step happened, back to the beginning of the run: see [`Trace::explain`].
///
/// `Display` shows it, with one step in each line, the last step first. Of a very long chain the
/// middle is left out.
///
/// # Example
/// ```
/// use joint_sim::Builder;
/// use joint_executor::yield_now;
///
/// let outcome = Builder::new(1).trace(true).run(yield_now())?;
/// let trace = outcome.trace.unwrap();
/// let why = trace.explain(2).unwrap();
/// assert_eq!(why.steps().collect::<Vec<_>>(), [2, 1]);
/// assert!(why.to_string().starts_with("main ran in step 2, at 0ns, because "));
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation<'a> {
    trace: &'a Trace,
    /// Where something ran, and why.
    links: Vec<(usize, Cause)>,
}

impl Explanation<'_> {
    /// Returns the numbers of the steps, the last one first.
    pub fn steps(&self) -> impl Iterator<Item = u64> {
        let events = &self.trace.events;
        self.links.iter().map(|&(ran, _)| events[ran].step)
    }

    fn line(&self, link: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ran, cause) = self.links[link];
        let event = &self.trace.events[ran];
        let (step, at) = (event.step, At(event.at));
        let name = |actor| WithName(self.trace, actor);
        let armed = link.checked_sub(1).map(|later| self.links[later].1);
        let is_armed = matches!(armed, Some(Cause::Timer(_)));
        let verb = if is_armed { "had armed it" } else { "ran" };
        write!(
            f,
            "{} {verb} in step {step}, at {at}, because ",
            name(event.actor)
        )?;
        match cause {
            Cause::Began => f.write_str("the run began"),
            Cause::SpawnedBy(by) if is_armed => write!(f, "{} had spawned the task", name(by)),
            Cause::SpawnedBy(by) => write!(f, "{} spawned it", name(by)),
            Cause::WokenBy(by) if is_armed => write!(f, "{} had woken the task", name(by)),
            Cause::WokenBy(by) => write!(f, "{} woke it", name(by)),
            Cause::Itself => f.write_str("it woke itself"),
            Cause::Timer(until) => write!(f, "a timer of {} fired", At(until)),
            Cause::SomeTimer => f.write_str("a timer fired"),
            Cause::Outside => f.write_str("something outside of all tasks woke it"),
            Cause::Unknown => f.write_str("of something that was not recorded"),
        }
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.links.len();
        let is_long = count > LATEST + EARLIEST;
        for link in 0..count {
            if is_long && link == LATEST {
                writeln!(f, "... {} more steps ...", count - LATEST - EARLIEST)?;
            }
            if is_long && (LATEST..count - EARLIEST).contains(&link) {
                continue;
            }
            self.line(link, f)?;
            f.write_str(if link + 1 == count { "\n" } else { ";\n" })?;
        }
        Ok(())
    }
}
