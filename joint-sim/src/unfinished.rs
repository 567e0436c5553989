//! [`Unfinished`]: a task that has not ended.

use std::{
    fmt::{self, Write},
    panic::Location,
    time::Duration,
};

use super::record::{Actor, Named, lines};

/// A task that has not ended, and what it waits for.
///
/// `Display` says all of it in one line.
///
/// # Example
/// ```
/// use joint_executor::{TaskBuilder, time::sleep};
/// use joint_sim::Builder;
/// use std::{future::pending, time::Duration};
///
/// let outcome = Builder::new(1).run(async {
///     TaskBuilder::new().name("stuck").spawn(pending::<()>()).detach();
///     TaskBuilder::new().name("slow").spawn(sleep(Duration::from_secs(9))).detach();
///     sleep(Duration::from_secs(1)).await;
/// })?;
/// let [slow] = &outcome.unfinished[..] else { panic!("nobody can wake the other") };
/// assert_eq!((slow.task(), slow.name()), (2, Some("slow")));
/// assert!(slow.to_string().contains(" waits since 0ns for a timer that is due at 9s;"));
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unfinished {
    pub(super) actor: Actor,
    pub(super) named: Named,
    /// The number of its executor, if there are several.
    pub(super) executor: Option<usize>,
    /// Whether it is ready to run, and who woke it, as a verb.
    pub(super) readiness: String,
    /// The time of its last poll, in nanoseconds since the start.
    pub(super) since: u64,
    /// The step of its last poll, and the actor that woke it. `None` if it has never run.
    pub(super) ran: Option<(u64, Actor)>,
    pub(super) waits_for: Vec<String>,
}

impl Unfinished {
    /// Returns the number of the task, by the order of spawning, from 1.
    pub fn task(&self) -> u32 {
        self.actor.0
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.named.name.as_deref()
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.named.spawned
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.actor)?;
        if let Some(name) = &self.named.name {
            write!(f, " \"{name}\"")?;
        }
        if let Some(host) = &self.named.host {
            write!(f, " of host `{host}`")?;
        } else if let Some(executor) = self.executor {
            write!(f, " of executor {executor}")?;
        }
        let (spawned, readiness) = (self.spawned(), &self.readiness);
        let since = Duration::from_nanos(self.since);
        write!(f, ", spawned at {spawned}, {readiness} since {since:?}")?;
        if !self.waits_for.is_empty() {
            write!(f, " for {}", self.waits_for.join(" and "))?;
        }
        match self.ran {
            Some((step, by)) => write!(f, "; it ran last in step {step}, woken by {by}"),
            None => f.write_str("; it has never run"),
        }
    }
}

const MOST: usize = 32;

/// Shows tasks, one a line, and only the number of the last ones if there are many.
pub(super) fn listed(tasks: &[Unfinished]) -> String {
    let mut text = lines(tasks.iter().take(MOST));
    if tasks.len() > MOST {
        let _ = writeln!(text, "  and {} more", tasks.len() - MOST);
    }
    text
}
