//! [`Night`]: a check that goes on for a time, and learns from its runs which are worth varying.
//!
//! What a run has covered is a set of edges. An edge is a step of a task from one state to the
//! next. The state is where the task was spawned, and where the task was that last woke it. The
//! edge adds what happened: who woke it now, what it waited for, a fault, or its end. Messages have
//! edges too: which kind followed which, between which hosts. How often the run went along an edge,
//! by its order of magnitude, makes a different edge. A run with a new edge is kept. The first runs
//! are those of any check. Half of the further ones vary one that is kept, and the others are new.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    fs::{self, File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    super::{
        chance::{Chance, Decision},
        record::{Actor, What},
        world::{Kept, Site},
    },
    file_name,
    plan::Plan,
};

/// The longest run that is kept, in decisions.
const MOST_DECISIONS: usize = 1 << 14;

/// The largest number of plans that are kept, because each takes memory.
const MOST_KEPT: usize = 1 << 12;

/// What a check knows that goes on for a time.
#[derive(Debug)]
pub(super) struct Night {
    end: Option<Instant>,
    /// The number of runs that come first and vary none.
    plain: u64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    runs: u64,
    /// The plans of the corpus that have yet to be run.
    loaded: VecDeque<Plan>,
    edges: BTreeSet<u64>,
    /// The plans with a new edge, and what was decided.
    kept: Vec<(Plan, Vec<Decision>)>,
    sites: BTreeMap<String, Site>,
    /// The plans that are in the file already.
    texts: BTreeSet<String>,
    /// Where the plans are written that are kept.
    file: Option<File>,
}

impl Night {
    /// Begins. The corpus is a folder, in which each test has a file.
    ///
    /// # Panics
    /// If the corpus cannot be read.
    pub(super) fn new(time: Duration, plain: u64, corpus: Option<PathBuf>) -> Self {
        let mut known = Known::default();
        if let Some(folder) = corpus {
            let path = folder.join(format!("{}.txt", file_name()));
            let opened = open(&path, &mut known.loaded);
            let opened = opened.unwrap_or_else(|error| {
                panic!("the corpus {} cannot be used: {error}", path.display())
            });
            known.texts = known.loaded.iter().map(Plan::to_string).collect();
            known.file = Some(opened);
        }
        Self {
            // A time that the clock cannot show is forever.
            end: Instant::now().checked_add(time),
            plain,
            known: Mutex::new(known),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    pub(super) fn runs(&self) -> u64 {
        self.lock().runs
    }

    /// Returns the plan of the next run, or `None` if the time is over.
    pub(super) fn plan(&self, new: Plan) -> Option<Plan> {
        if self.is_over() {
            return None;
        }
        let mut known = self.lock();
        known.runs += 1;
        if let Some(loaded) = known.loaded.pop_front() {
            return Some(loaded);
        }
        let mut chance = Chance::new(new.seed);
        let mut draw = || chance.plan();
        if known.runs <= self.plain || draw() % 2 == 0 {
            return Some(new);
        }
        let mut place = || draw() as usize % known.kept.len().max(1);
        // Those that were kept late lead further.
        let at = place().max(place());
        let varied = known.kept.get(at);
        let varied = varied.map(|(plan, decisions)| plan.mutant(decisions, draw));
        Some(varied.unwrap_or(new))
    }

    pub(super) fn learn(&self, plan: &Plan, run: &Kept) {
        let edges = edges(run);
        let mut known = self.lock();
        for (name, site) in &run.sites {
            let all = known.sites.entry(name.clone()).or_default();
            all.reached += site.reached;
            all.fired += site.fired;
        }
        let before = known.edges.len();
        known.edges.extend(edges);
        let is_new = known.edges.len() > before && known.kept.len() < MOST_KEPT;
        if is_new && run.decisions.len() <= MOST_DECISIONS {
            known.kept.push((plan.clone(), run.decisions.clone()));
            if !known.texts.contains(&plan.to_string()) {
                // A corpus that cannot be written is no reason to end the night.
                let line = format!("{plan}\n");
                let _ = known
                    .file
                    .as_mut()
                    .map(|file| file.write_all(line.as_bytes()));
            }
        }
    }
}

fn open(path: &Path, plans: &mut VecDeque<Plan>) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read?,
    };
    for line in text.lines() {
        match line.parse() {
            Ok(plan) => plans.push_back(plan),
            Err(error) => {
                std::eprintln!("{}: the line {line:?} is skipped: {error}", path.display())
            }
        }
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if !text.is_empty() && !text.ends_with('\n') {
        // The last line was cut.
        file.write_all(b"\n")?;
    }
    Ok(file)
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn edges(run: &Kept) -> BTreeSet<u64> {
    let spawned = |actor| run.trace.named(actor).map(|named| named.spawned);
    let place = |actor: Actor| (spawned(actor), actor.task().is_some());
    let mut states = BTreeMap::new();
    let mut counts = BTreeMap::<u64, u32>::new();
    let mut traffic = 0;
    for event in &run.trace.events {
        let state = states.entry(event.actor).or_insert(0);
        let before = *state;
        let edge = match event.what {
            What::Ran { by } => {
                *state = hash((place(event.actor), place(by)));
                hash((before, *state))
            }
            What::WaitWoken { by, place: at } => hash((before, at, place(by))),
            What::Fault(fault) => hash((before, fault as u64)),
            What::Told(ref told) => match told.0 {
                Some(fault) => hash((before, fault as u64)),
                None => continue,
            },
            What::Ended(how) => hash((before, mem::discriminant(&how))),
            What::Net(ref event) => {
                let before = mem::replace(&mut traffic, event.kind());
                hash((before, traffic))
            }
            _ => continue,
        };
        *counts.entry(edge).or_default() += 1;
    }
    let sites = run.sites.iter().filter(|(_, site)| site.fired > 0);
    let sites = sites.map(|(name, site)| (hash(name), site.fired as u32));
    let all = counts.into_iter().chain(sites);
    all.map(|(edge, count)| hash((edge, count.min(3), count.ilog2())))
        .collect()
}

/// The report of the fault sites, at the end of the night.
impl fmt::Display for Night {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.lock();
        let (runs, edges, kept) = (known.runs, known.edges.len(), known.kept.len());
        writeln!(
            f,
            "{runs} runs covered {edges} edges; {kept} plans are kept"
        )?;
        for (name, Site { reached, fired, .. }) in &known.sites {
            match fired {
                0 => writeln!(
                    f,
                    "  the fault \"{name}\" NEVER fired; it was reached {reached} times"
                )?,
                fired => writeln!(f, "  the fault \"{name}\" fired {fired} times of {reached}")?,
            }
        }
        Ok(())
    }
}

/// A duration such as `8h`, `30m` or `90s`.
pub(super) struct Time(pub(super) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [('h', 3600), ('m', 60), ('s', 1)];
        let seconds = units.iter().find_map(|(unit, seconds)| {
            let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
            Some(number.saturating_mul(*seconds))
        });
        let seconds = seconds.ok_or("a time is a number with h, m or s, such as 8h")?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_which_faults_never_fired() {
        let night = Night::new(Duration::MAX, 1, None);
        let mut run = Kept::default();
        for (name, reached, fired) in [("torn", 2, 1), ("full", 3, 0)] {
            let site = run.sites.entry(name.into()).or_default();
            (site.reached, site.fired) = (reached, fired);
        }
        let plan = Plan::nth(0, 7, 9);
        for _ in 0..2 {
            assert!(night.plan(plan.clone()).is_some() && !night.is_over());
            night.learn(&plan, &run);
        }
        let report = night.to_string();
        let expected = "2 runs covered 1 edges; 1 plans are kept\n  \
            the fault \"full\" NEVER fired; it was reached 6 times\n  \
            the fault \"torn\" fired 2 times of 4\n";
        assert_eq!(report, expected);
    }

    #[test]
    fn a_time_has_a_unit() {
        let read = |text: &str| text.parse::<Time>().map(|Time(time)| time.as_secs());
        let times = ["8h", "30m", "90s"].map(|text| read(text).unwrap());
        assert_eq!(times, [28_800, 1_800, 90]);
        for text in ["", "8", "h", "8d", "-1h", "1.5h"] {
            assert!(read(text).unwrap_err().contains("such as 8h"), "{text}");
        }
    }
}
