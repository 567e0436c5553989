//! A program, run with many seeds until it fails.

mod fingerprint;
mod found;
mod night;
mod parallel;
mod plan;
mod search;
mod shrink;
mod swarm;

use std::{
    collections::BTreeMap,
    env, fmt,
    path::PathBuf,
    str::FromStr,
    sync::{Arc, Mutex},
    time::Duration,
};

use self::{
    fingerprint::Fingerprint,
    found::Shrunk,
    night::{Night, Time},
    plan::Plan,
    search::Round,
};
use super::{
    attempt::Attempt,
    chance::Decision,
    failure::{Failure, Kind},
    faults::Faults,
    reached::Counts,
    settings::{Builder, Panics},
    verdict::Verdict,
    world::quiet,
};

use joint_executor::Executor;

pub use self::{found::Found, parallel::ParallelCheck};

const MOST_STEPS: u64 = 100_000;

const MOST_TIME: Duration = Duration::from_secs(24 * 3600);

/// Runs a program with some hundreds of seeds, and panics with a report if it fails in one of them.
///
/// It is meant for tests. The seeds are used with several [schedulers](super::Scheduler) in turn.
/// [`Check`] says what a report contains and which environment variables count.
///
/// # Panics
/// If the program fails.
///
/// # Example
/// ```
/// use joint_executor::{JoinSet, yield_now};
/// use joint_sim as sim;
///
/// sim::check(|| async {
///     let mut set = JoinSet::new();
///     (0..4).for_each(|_| _ = set.spawn(yield_now()));
///     while let Some(ended) = set.join_next().await {
///         assert!(ended.is_ok());
///     }
/// });
/// ```
#[track_caller]
pub fn check<F: IntoFuture<Output: Verdict>>(program: impl Fn() -> F) {
    Check::new().run(program);
}

/// The settings of a check: a program is run with many seeds until it fails.
///
/// It has the settings of each run, too. A setting that is not set keeps its default, which is
/// stricter than that of a single run: [all faults](Faults::all) happen, and a run may take 100,000
/// steps and 24 hours of virtual time.
///
/// The program is called once for each run, inside the simulation. A run fails if the main future
/// returns an error, if [anything](Panics::Any) panics, if nobody can be woken any more,
/// or if it reaches a limit; and if a future snoozes, where that is
/// [denied](Check::deny_snoozing).
///
/// # Faults
/// All [faults](Faults::all) are on, but each run has a [part of them](Check::swarm) only. The
/// replay string ends with the run's fault settings.
///
/// # A failure
/// The decisions of the run that failed are shrunk: as many as possible are replaced by the tamest
/// choice, and what the program [draws](super::random) by smaller numbers, as long as the failure
/// remains the same. Its message may have other numbers. The report has the seed, the command that
/// replays the run, another one that replays the shrunk run, the last steps of that, and what it
/// has drawn. All its steps are written to two files: one with a list, and one for
/// [Perfetto](super::Trace::write_perfetto). The messages of panics are hidden in all runs but the
/// shrunk one.
///
/// # Canary
/// Some runs are made twice. If the two differ, the program depends on something else than its
/// seed, and the report names the first event that differs.
///
/// # Environment
/// | variable | what it sets |
/// |---|---|
/// | `JOINT_SIM_SEEDS` | the number of seeds of every check |
/// | `JOINT_SIM_SEED` | the first seed of every check |
/// | `JOINT_SIM_REPLAY` | the one run to make instead, as a report names it |
/// | `JOINT_SIM_TIME` | how long every check goes on, such as `8h`, `30m` or `90s`, instead of a number of seeds: see [`real_time`](Check::real_time) |
/// | `JOINT_SIM_CORPUS` | the folder in which such a check keeps the plans that it varies |
/// | `JOINT_SIM_OUT` | the folder of the files; otherwise that is `CARGO_TARGET_TMPDIR`, or the system's folder for temporary files |
///
/// # Example
/// ```
/// use joint_sim::Check;
/// use joint_executor::{spawn, yield_now};
/// use std::sync::{Arc, Mutex};
///
/// let check = Check::new().seeds(100).max_steps(1_000);
/// let found = check.find(|| async {
///     let order = Arc::new(Mutex::new(Vec::new()));
///     let push = |n| {
///         let order = order.clone();
///         spawn(async move { order.lock().unwrap().push(n) })
///     };
///     for task in [push(1), push(2)] {
///         task.await;
///     }
///     assert_eq!(*order.lock().unwrap(), [1, 2]);
/// });
/// let report = found.unwrap_err().to_string();
/// assert!(report.contains("JOINT_SIM_REPLAY="), "{report}");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until `run` or `find` is called"]
pub struct Check {
    pub(super) settings: Builder,
    seeds: u64,
    first: u64,
    canary: u64,
    shrink_runs: u32,
    replay: Option<String>,
    real_time: Option<Duration>,
    corpus: Option<PathBuf>,
    swarm: bool,
    wants: Vec<String>,
    reached: Arc<Mutex<Counts>>,
    night: Option<Arc<Night>>,
}

/// Makes one run. The settings are those of the check, but for what the plan says.
type Run<'a> = &'a dyn Fn(&Plan, &Builder) -> Attempt;

impl Default for Check {
    fn default() -> Self {
        Self::new()
    }
}

impl Check {
    /// Creates the settings of a check with 256 seeds.
    pub fn new() -> Self {
        Self {
            settings: Builder {
                max_steps: MOST_STEPS,
                max_time: MOST_TIME,
                faults: Faults::all(),
                panics: Panics::Any,
                ..Builder::new(0)
            },
            seeds: 256,
            first: 0,
            canary: 25,
            shrink_runs: 1_000,
            replay: None,
            real_time: None,
            corpus: None,
            swarm: true,
            wants: Vec::new(),
            reached: Arc::default(),
            night: None,
        }
    }

    /// Sets the number of seeds. Otherwise it is 256. `JOINT_SIM_SEEDS` goes before it.
    ///
    /// # Example
    /// ```
    /// let checked = joint_sim::Check::new().seeds(10).find(|| async {}).unwrap();
    /// assert_eq!(checked.runs, 10);
    /// ```
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Sets the first seed. Otherwise it is 0. `JOINT_SIM_SEED` goes before it.
    pub fn first_seed(mut self, seed: u64) -> Self {
        self.first = seed;
        self
    }

    /// Sets how often a run is made twice, to see whether the seed decides everything: the first
    /// four
    /// runs, and then once in this number of runs. Otherwise it is once in 25. 0 switches it off.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Check;
    /// use joint_executor::yield_now;
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// static IS_LATER: AtomicBool = AtomicBool::new(false);
    /// let found = Check::new().canary(1).find(|| async {
    ///     // This depends on the runs before, and not on the seed.
    ///     if IS_LATER.swap(true, Relaxed) {
    ///         yield_now().await;
    ///     }
    /// });
    /// let report = found.unwrap_err().to_string();
    /// assert!(report.contains("two runs with the same seed differ"), "{report}");
    /// ```
    pub fn canary(mut self, once_in: u64) -> Self {
        self.canary = once_in;
        self
    }

    /// Sets the largest number of runs by which a failure is shrunk. Otherwise it is 1,000.
    pub fn shrink_runs(mut self, runs: u32) -> Self {
        self.shrink_runs = runs;
        self
    }

    /// Goes on for this long in real time, instead of only for a number of seeds.
    /// `JOINT_SIM_TIME` goes before it.
    ///
    /// Such a check learns from its runs. So it finds more than the same number of seeds where a
    /// failure needs several unlikely things one after the other. It keeps the decisions of each
    /// run that did something new: a task was woken in a state or by a task as never before, ended
    /// or was hit by a fault in a new state, a [`fault`](super::fault) fired that had not, or
    /// messages came in a new order. After the seeds of any check, every other run repeats the
    /// decisions of one that is kept, up to some point or but for one.
    ///
    /// At the end, the [`fault`](super::fault) sites are printed to the standard error, with how
    /// often each was reached and has fired. A site that was never reached is not known.
    ///
    /// # Cost
    /// All events of a run are kept until it ends, and the decisions of up to 4,096 runs.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Check, fault};
    /// use std::time::Duration;
    ///
    /// // Each of the faults can happen only once the ones before it have.
    /// let found = Check::new().real_time(Duration::from_secs(3600)).find(|| async {
    ///     let all = ["write", "repair", "restore", "reset"].iter().all(|name| fault(name));
    ///     assert!(!all, "everything went wrong");
    /// });
    /// assert!(found.unwrap_err().runs() < 10_000);
    /// ```
    pub fn real_time(mut self, time: Duration) -> Self {
        self.real_time = Some(time);
        self
    }

    /// Sets the folder in which a check of some [real time](Check::real_time) keeps its plans, one
    /// file for each test. The next one begins with them. `JOINT_SIM_CORPUS` goes before it.
    ///
    /// A plan fits the program that it was made for. If the program changes, most plans still lead
    /// somewhere, and the file may be deleted at any time.
    ///
    /// # Panics
    /// The check panics if the file cannot be read or written.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Check;
    /// use std::{env, time::Duration};
    ///
    /// let folder = env::temp_dir().join("joint-sim-corpus-of-the-docs");
    /// let check = Check::new().real_time(Duration::from_millis(10)).corpus(&folder);
    /// check.run(|| async {});
    /// assert!(folder.is_dir());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn corpus(mut self, folder: impl Into<PathBuf>) -> Self {
        self.corpus = Some(folder.into());
        self
    }

    /// Sets whether each run has a part of the [faults](Faults) only. Otherwise it has.
    ///
    /// The seed decides which faults are on, how much rarer or, for what a program only has to
    /// bear, more frequent each is than the faults of this check say, and the
    /// [longest delay](Faults::longest_delay). A [`fault`](super::fault) site is twice as frequent,
    /// or eight times rarer. One run in five has no faults. So the ordinary path
    /// of a long program is run as well, and no fault hides what another would show. With `false`,
    /// every run has all faults of this check, as often as they say.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Check, Faults, fault};
    ///
    /// let check = Check::new().faults(Faults::none().sites(1.0));
    /// let program = || async { assert!(fault("disk"), "the disk works") };
    /// assert!(check.clone().find(program).is_err());
    /// check.swarm(false).run(program);
    /// ```
    pub fn swarm(mut self, swarm: bool) -> Self {
        self.swarm = swarm;
        self
    }

    /// Demands that some run reaches this, or else the check fails: one of [`Reached`], or a name
    /// of
    /// [`reached`](super::reached()). It can be called several times.
    ///
    /// A test that finds nothing shows nothing if no run did what the test is about.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Check, Reached};
    ///
    /// // There is no host that may crash.
    /// let found = Check::new().wants(Reached::Crash).find(|| async {}).unwrap_err();
    /// assert!(found.to_string().contains("no run has reached: a crash"));
    /// ```
    ///
    /// [`Reached`]: super::Reached
    pub fn wants(mut self, what: impl ToString) -> Self {
        self.wants.push(what.to_string());
        self
    }

    /// Makes the one run that a report has named, with this value of `JOINT_SIM_REPLAY`.
    ///
    /// The value ends with digests of the run that failed. If the run is another one and does not
    /// fail, the check fails nevertheless, and says from which step on it differs.
    ///
    /// # Panics
    /// The check panics if no report has such a value.
    pub fn replay(mut self, replay: impl Into<String>) -> Self {
        self.replay = Some(replay.into());
        self
    }

    /// Runs a program until it fails.
    ///
    /// # Panics
    /// If it fails, with the report as the message. Also if it is called inside a simulation, or if
    /// an environment variable has a value that cannot be read.
    #[track_caller]
    pub fn run<F: IntoFuture<Output: Verdict>>(&self, program: impl Fn() -> F) {
        match self.find(program) {
            Ok(checked) => std::eprint!("{checked}"),
            Err(found) => panic!("{found}"),
        }
    }

    /// Runs a program until it fails. Returns the failure instead of panicking.
    ///
    /// # Errors
    /// [`Found`] if the program fails. It is the report.
    ///
    /// # Panics
    /// If it is called inside a simulation, or if an environment variable has a value that cannot
    /// be read.
    pub fn find<F: IntoFuture<Output: Verdict>>(
        &self,
        program: impl Fn() -> F,
    ) -> Result<Checked, Box<Found>> {
        let run = |plan: &Plan, settings: &Builder| {
            Attempt::run(&plan.of(settings), plan.chance(), &program)
        };
        let check = self.prepared();
        check.start(&run, &|mut numbers, expected| {
            search::in_turn(
                || numbers.next(),
                |number| check.make(number, expected, &run),
            )
        })
    }

    /// Returns the check as the environment wants it.
    fn prepared(&self) -> Self {
        let mut check = self.clone();
        check.seeds = variable("JOINT_SIM_SEEDS").unwrap_or(self.seeds);
        check.first = variable("JOINT_SIM_SEED").unwrap_or(self.first);
        check.replay = variable("JOINT_SIM_REPLAY").or_else(|| self.replay.clone());
        let time = variable("JOINT_SIM_TIME").map(|Time(time)| time);
        let corpus = variable("JOINT_SIM_CORPUS").or_else(|| self.corpus.clone());
        if let Some(time) = time.or(self.real_time) {
            check.night = Some(Arc::new(Night::new(time, check.seeds, corpus)));
            check.seeds = u64::MAX;
        }
        check.reached = Arc::default();
        check
    }

    /// Makes all runs, or the one to repeat.
    fn start(&self, run: Run<'_>, round: Round<'_>) -> Result<Checked, Box<Found>> {
        let _quiet = quiet(true);
        match &self.replay {
            Some(replay) => {
                let (plan, fingerprint) = match replay.split_once('@') {
                    Some((plan, own)) => (plan, Some(parsed("JOINT_SIM_REPLAY", own))),
                    None => (replay.as_str(), None),
                };
                let plan = parsed("JOINT_SIM_REPLAY", plan);
                self.repeat(&plan, fingerprint.as_ref(), run)
            }
            None => {
                let searched = self.search(run, round);
                if let Some(night) = &self.night {
                    std::eprint!("{night}");
                }
                searched
            }
        }
    }

    /// Makes a run again, which must be the one that had this fingerprint.
    fn repeat(
        &self,
        plan: &Plan,
        fingerprint: Option<&Fingerprint>,
        run: Run<'_>,
    ) -> Result<Checked, Box<Found>> {
        let attempt = self.shown(plan, run);
        let trace = attempt.kept.trace;
        let differs = fingerprint.and_then(|own| own.difference(&trace));
        let found = match (attempt.ended, differs) {
            (Ok(()), Some(differs)) => {
                let kind = Kind::Differs(format!("no failure, but {differs}"));
                let failure = Failure::new(plan.seed, kind, attempt.steps, 0, [].into());
                Found::new(plan.clone(), 1, failure)
            }
            (Ok(()), None) => {
                let reached = named(attempt.kept.reached);
                return Ok(Checked { runs: 1, reached });
            }
            (Err(failure), differs) => {
                let mut found = Found::new(plan.clone(), 1, failure);
                found.fingerprint = Some(Fingerprint::of(&trace, attempt.steps));
                found.note = differs.unwrap_or_default();
                found
            }
        };
        Err(Box::new(found.with_trace(trace)))
    }

    fn keeping(&self) -> Builder {
        Builder {
            keeps_trace: true,
            ..self.settings.clone()
        }
    }

    /// Makes a run whose panics print their messages, and whose report names oneshots, and the
    /// children of sets, which the process records from the first such run on.
    fn shown(&self, plan: &Plan, run: Run<'_>) -> Attempt {
        drop(Executor::builder().record_times());
        let _shown = quiet(false);
        run(plan, &self.keeping())
    }

    fn found(&self, mut found: Found, run: Run<'_>) -> Found {
        if found.failure.is_stuck() {
            // Each further run would last as long, and leak as much.
            return found;
        }
        let again = run(&found.plan, &self.keeping());
        let is_like = |failure: &Failure| failure.is_like(&found.failure);
        if !again.ended.as_ref().is_err_and(is_like) {
            let third = run(&found.plan, &self.keeping());
            found.does_not_repeat(again.kept.trace.difference(&third.kept.trace));
            found.note += &again.kept.trace.real();
            return found;
        }
        found.fingerprint = Some(Fingerprint::of(&again.kept.trace, again.steps));
        let mut limited = self.settings.clone();
        let is_at_limit = found.failure.is_at_limit();
        if !is_at_limit {
            limited.max_steps = limited.max_steps.min(2 * again.steps + 1_000);
        }
        // A run that does not stop is long, and the list of its tasks says most.
        let mut steps = match is_at_limit {
            true => shrink::STEPS.min(10 * again.steps),
            false => shrink::STEPS,
        };
        let mut runs = 0;
        let mut fails = |decisions: &[Decision]| {
            if steps == 0 {
                return None;
            }
            runs += 1;
            let attempt = run(&found.plan.list(decisions), &limited);
            steps = steps.saturating_sub(attempt.steps);
            let failure = attempt.ended.err()?;
            is_like(&failure).then_some(attempt.kept.decisions)
        };
        let shrunk = shrink::shrink(&again.kept.decisions, self.shrink_runs, &mut fails);
        let plan = found.plan.list(&shrunk);
        let last = self.shown(&plan, run);
        match last.ended {
            Err(failure) => {
                let before = again.kept.decisions.iter();
                found.shrunk = Some(Shrunk {
                    plan,
                    fingerprint: Fingerprint::of(&last.kept.trace, last.steps),
                    before: before.filter(|one| one.is_wild()).count(),
                    runs,
                });
                found.failure = failure;
            }
            // The last run of the shrinking failed, so the program does not depend on its seed
            // alone.
            Ok(()) => found.does_not_repeat(None),
        }
        found.with_trace(last.kept.trace)
    }
}

fn variable<T: FromStr<Err: fmt::Display>>(name: &str) -> Option<T> {
    let value = env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(parsed(name, &value))
}

fn parsed<T: FromStr<Err: fmt::Display>>(name: &str, value: &str) -> T {
    let read = value.parse().map_err(|error| format!("{error}"));
    read.unwrap_or_else(|error| panic!("{name}={value} cannot be read: {error}"))
}

fn test_name() -> Option<String> {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main");
    name.map(ToOwned::to_owned)
}

fn file_name() -> String {
    let name = test_name().unwrap_or_else(|| "main".to_owned());
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-")
}

/// The report of a check that found nothing.
///
/// `Display` shows what the runs have reached, one a line. [`Check::run`] writes it to the standard
/// error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The number of seeds that were run.
    pub runs: u64,
    /// How often all runs together have come to something: what [`Reached`](super::Reached) has, by
    /// its text, and the names of [`reached`](super::reached()).
    pub reached: BTreeMap<String, u64>,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.reached.is_empty() {
            writeln!(f, "{} runs reached", self.runs)?;
        }
        let mut all = self.reached.iter();
        all.try_for_each(|(what, times)| writeln!(f, "  {what}: {times} times"))
    }
}

fn named(counts: Counts) -> BTreeMap<String, u64> {
    let all = counts.into_iter();
    all.map(|(name, times)| (name.into_owned(), times))
        .collect()
}
