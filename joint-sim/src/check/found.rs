//! [`Found`]: the report of a check that has found a failure.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use super::{
    super::{
        failure::Failure,
        record::{Actor, Event, What, lines},
        trace::Trace,
    },
    file_name,
    fingerprint::Fingerprint,
    plan::Plan,
};

/// A failure that a [`Check`](super::Check) has found.
///
/// `Display` shows the report.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Check};
/// use joint_executor::yield_now;
///
/// let program = || async {
///     yield_now().await;
///     assert!(sim::random() % 3 != 0, "a multiple of three");
/// };
/// let found = Check::new().find(program).unwrap_err();
/// assert!(found.failure().to_string().contains("a multiple of three"));
/// // The run is made again, and fails again.
/// let again = Check::new().replay(found.replay()).find(program).unwrap_err();
/// assert_eq!(again.runs(), 1);
/// ```
pub struct Found {
    pub(super) failure: Failure,
    pub(super) plan: Plan,
    /// The fingerprint of the run, by which a replay is compared.
    pub(super) fingerprint: Option<Fingerprint>,
    run: u64,
    pub(super) shrunk: Option<Shrunk>,
    /// Why the failure is not shrunk or has no files.
    pub(super) note: String,
    /// The last part of the report: the numbers that the program has drawn, the faults of hosts,
    /// links and disks, which the last steps may leave out, and the tasks that those name.
    details: String,
    /// The files with all steps: the list, and the one for Perfetto.
    files: Vec<PathBuf>,
}

pub(super) struct Shrunk {
    pub(super) plan: Plan,
    pub(super) fingerprint: Fingerprint,
    /// The number of decisions before that are not the tamest.
    pub(super) before: usize,
    pub(super) runs: u32,
}

impl Found {
    pub(super) fn new(plan: Plan, run: u64, failure: Failure) -> Self {
        Self {
            failure,
            plan,
            fingerprint: None,
            run,
            shrunk: None,
            note: String::new(),
            details: String::new(),
            files: Vec::new(),
        }
    }

    pub(super) fn does_not_repeat(&mut self, difference: Option<String>) {
        self.note = "the same seed did not fail in the same way again\n".into();
        self.note += &difference.unwrap_or_default();
    }

    pub(super) fn with_trace(mut self, trace: Trace) -> Self {
        let last = self.failure.last().iter();
        let actors: BTreeSet<_> = last.map(|event| event.actor).collect();
        let is_task = |actor: &Actor| trace.named(*actor).is_some();
        let tasks = actors.into_iter().filter(is_task);
        let tasks = lines(tasks.map(|actor| trace.shown(actor)));
        let is_drawn = |event: &&Event| matches!(&event.what, What::Drew(drawn) if drawn.0 != 0);
        let drawn = lines(trace.events.iter().filter(is_drawn).take(MOST));
        let told = |event: &&Event| matches!(event.what, What::Told(_));
        let faults = lines(folded(trace.events.iter().filter(told)));
        for (title, all) in [
            ("drawn, and not 0 (at most the first 20)", drawn),
            (
                "the faults (at most the first 20, and of equal ones the last)",
                faults,
            ),
            ("the tasks of these steps", tasks),
        ] {
            if !all.is_empty() {
                self.details += &format!("{title}:\n{all}");
            }
        }
        self.details += &trace.real();
        match self.write(trace) {
            Ok(files) => self.files = files.into(),
            Err(error) => self.note += &format!("the steps could not be written: {error}\n"),
        }
        self
    }

    fn write(&self, mut trace: Trace) -> io::Result<[PathBuf; 2]> {
        let name = file_name();
        // The process is named too, because two checkouts may run the same test at once.
        let (seed, process) = (self.plan.seed, std::process::id());
        let folder = folder();
        fs::create_dir_all(&folder)?;
        // A test may make several checks.
        let mut list = None;
        let files = (1..).find_map(|number| {
            let number = match number {
                1 => String::new(),
                _ => format!("-{number}"),
            };
            let own = format!("joint-sim-{name}-{seed}-{process}{number}");
            let files = ["txt", "json"].map(|ending| folder.join(format!("{own}.{ending}")));
            match File::create_new(&files[0]) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                opened => {
                    list = Some(opened);
                    Some(files)
                }
            }
        });
        let (files, list) = files.zip(list).expect("some number is free");
        let tasks = (1..).take(trace.names.len().saturating_sub(1));
        let tasks = lines(tasks.map(|number| trace.shown(Actor(number))));
        let first = trace.events.len().saturating_sub(MOST_EVENTS);
        trace.events.drain(..first);
        let mut file = BufWriter::new(list?);
        write!(file, "{self}\nthe tasks:\n{tasks}\n")?;
        write!(file, "all steps, at most the last 20,000 events:\n{trace}")?;
        file.flush()?;
        let mut file = BufWriter::new(File::create(&files[1])?);
        trace.write_perfetto(&mut file)?;
        file.flush()?;
        Ok(files)
    }

    /// Returns the failure, of the shrunk run if it could be shrunk.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// Returns how many runs it took to find the failure.
    pub fn runs(&self) -> u64 {
        self.run
    }

    /// Returns the value of `JOINT_SIM_REPLAY` that replays the run in which the program failed
    /// first.
    pub fn replay(&self) -> String {
        match &self.fingerprint {
            Some(fingerprint) => format!("{}@{fingerprint}", self.plan),
            None => self.plan.to_string(),
        }
    }

    /// Returns the value of `JOINT_SIM_REPLAY` that replays the shrunk run.
    pub fn shrunk_replay(&self) -> Option<String> {
        let shrunk = self.shrunk.as_ref();
        shrunk.map(|shrunk| format!("{}@{}", shrunk.plan, shrunk.fingerprint))
    }

    /// Returns how many decisions of the shrunk run are not the tamest. Numbers that the
    /// program [draws](super::super::random) are not counted.
    pub fn shrunk_decisions(&self) -> Option<usize> {
        self.shrunk.as_ref().map(|shrunk| shrunk.plan.wild())
    }

    /// Returns the files that have all steps of the run, if they could be written: a list, and what
    /// [Perfetto](super::super::Trace::write_perfetto) draws.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Check;
    ///
    /// let found = Check::new().find(|| std::future::pending::<()>()).unwrap_err();
    /// if let [list, perfetto] = found.files() {
    ///     assert!(std::fs::read_to_string(list)?.contains("deadlock"));
    /// #     std::fs::remove_file(list)?;
    ///     println!("{} is for https://ui.perfetto.dev", perfetto.display());
    /// #     std::fs::remove_file(perfetto)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// The largest number of drawn numbers, and of different faults, that a report lists.
const MOST: usize = 20;

const MOST_EVENTS: usize = 20_000;

/// Shows the first different events. Of equal ones, only the last is shown, with their number.
fn folded<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<String> {
    let mut shown: Vec<(&Event, u64, usize)> = Vec::new();
    for event in events {
        match shown.iter().position(|(last, ..)| last.what == event.what) {
            Some(place) => {
                let (_, first, times) = shown.remove(place);
                shown.push((event, first, times + 1));
            }
            None if shown.len() < MOST => shown.push((event, event.step(), 1)),
            None => {}
        }
    }
    let line = |(last, first, times)| match times {
        1 => format!("{last}"),
        _ => format!("{last}, {times} times since step {first}"),
    };
    shown.into_iter().map(line).collect()
}

fn folder() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let set = set("JOINT_SIM_OUT").or_else(|| set("CARGO_TARGET_TMPDIR"));
    set.map_or_else(env::temp_dir, PathBuf::from)
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.failure.is_of_no_run() {
            return write!(f, "{}", self.failure);
        }
        writeln!(f, "run {} of the check failed", self.run)?;
        writeln!(
            f,
            "to replay it:         {}",
            Plan::command_of(&self.replay())
        )?;
        if let Some(shrunk) = &self.shrunk {
            let Shrunk {
                plan, before, runs, ..
            } = shrunk;
            let after = plan.wild();
            let replay = self.shrunk_replay().unwrap_or_default();
            writeln!(f, "to replay it, shrunk: {}", Plan::command_of(&replay))?;
            writeln!(
                f,
                "of {before} decisions that are not the tamest, {after} are left after {runs} runs"
            )?;
        }
        let names = ["all steps:            ", "the same in Perfetto: "];
        for (name, file) in names.iter().zip(&self.files) {
            writeln!(f, "{name}{}", file.display())?;
        }
        write!(f, "{}{}{}", self.note, self.failure, self.details)
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Found {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn of_equal_faults_the_last_is_shown_and_how_many_there_were() {
        let events: Vec<_> = [(1, "a crashes"), (2, "b crashes"), (5, "a crashes")]
            .map(|(step, text)| Event {
                at: step,
                step,
                actor: Actor::MAIN,
                what: What::Told(Arc::new((None, text.into()))),
            })
            .into();
        let expected = [
            "step 2, 2ns: fault: b crashes",
            "step 5, 5ns: fault: a crashes, 2 times since step 1",
        ];
        assert_eq!(folded(events.iter()), expected);
    }
}
