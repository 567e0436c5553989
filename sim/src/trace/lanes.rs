//! [`Lanes`]: a trace as text, with a column for each task.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::{
    fmt,
    ops::{Bound, RangeBounds},
};

use super::{
    super::record::{Actor, At, Event, What},
    Trace,
};
use joint::task::TaskEnd;

const NARROWEST: usize = 6;
const WIDEST: usize = 16;

impl Trace {
    /// Shows the tasks side by side: a column for each, and a line for each step.
    ///
    /// `Display` of what it returns gives lines of up to 100 characters, unless
    /// [`Lanes::width`] says otherwise. If there are more tasks than fit, the main future and those
    /// that ran last are shown, and the last line says how many are left out.
    ///
    /// | mark | the task |
    /// |---|---|
    /// | `●` | ran |
    /// | `↻` | ran, and was woken meanwhile |
    /// | `○` | was spawned |
    /// | `◇` | was woken |
    /// | `✓` | returned |
    /// | `✗` | panicked |
    /// | `⊘` | was cancelled |
    ///
    /// A line `─` leads from the task that ran, or from the left if it was a timer, to the tasks
    /// that it spawned, woke or ended.
    ///
    /// # Example
    /// ```
    /// use joint_sim as sim;
    /// use joint_executor::{spawn, time::sleep};
    /// use std::time::Duration;
    ///
    /// let outcome = sim::Builder::new(1).trace(true).run(async {
    ///     spawn(sleep(Duration::from_millis(3))).await;
    /// })?;
    /// let lanes = outcome.trace.unwrap().lanes().to_string();
    /// let lanes: Vec<_> = lanes.lines().skip(2).map(str::trim_end).collect();
    /// assert_eq!(lanes, [
    ///     " 0ns 1 main   ●───────────────○",
    ///     " 0ns 2 task 1 │               ●",
    ///     " 3ms 2 timer  ┼───────────────◇",
    ///     " 3ms 3 task 1 ◇───────────────✓",
    ///     " 3ms 4 main   ✓",
    /// ]);
    /// # Ok::<(), sim::Failure>(())
    /// ```
    pub fn lanes(&self) -> Lanes<'_> {
        Lanes {
            trace: self,
            width: 100,
            tasks: None,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
        }
    }
}

/// A [`Trace`] as text, with a column for each task: see [`Trace::lanes`].
///
/// # Example
/// ```
/// use joint_executor::TaskBuilder;
/// use joint_sim as sim;
///
/// let outcome = sim::Builder::new(1).trace(true).run(async {
///     for name in ["one", "two", "three"] {
///         TaskBuilder::new().name(name).spawn(async {}).await;
///     }
/// })?;
/// let trace = outcome.trace.unwrap();
/// let lanes = trace.lanes().width(60).tasks([2]).steps(3..).to_string();
/// assert!(lanes.contains("two") && !lanes.contains("three"));
/// # Ok::<(), sim::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lanes<'a> {
    trace: &'a Trace,
    width: usize,
    tasks: Option<Vec<u32>>,
    from: Bound<u64>,
    to: Bound<u64>,
}

impl Lanes<'_> {
    /// Sets the largest number of characters in a line. Otherwise it is 100. At least the main
    /// future and one task are shown.
    #[must_use]
    pub fn width(mut self, characters: usize) -> Self {
        self.width = characters;
        self
    }

    /// Shows these tasks, as far as they fit, and the main future. They are named by the order of
    /// spawning, from 1.
    #[must_use]
    pub fn tasks(mut self, tasks: impl IntoIterator<Item = u32>) -> Self {
        self.tasks = Some(tasks.into_iter().collect());
        self
    }

    /// Shows these steps only.
    #[must_use]
    pub fn steps(mut self, steps: impl RangeBounds<u64>) -> Self {
        (self.from, self.to) = (steps.start_bound().cloned(), steps.end_bound().cloned());
        self
    }
}

/// An event of a task. Of two marks in one row the larger one is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Woken,
    Spawned,
    Ran,
    RanAndWoken,
    Finished,
    Panicked,
    Cancelled,
}

impl Mark {
    fn of(what: &What) -> Option<Self> {
        match what {
            What::Spawned { .. } => Some(Self::Spawned),
            What::Woken { .. } => Some(Self::Woken),
            What::Ran { .. } => Some(Self::Ran),
            What::Ended(TaskEnd::Finished) => Some(Self::Finished),
            What::Ended(TaskEnd::Panicked) => Some(Self::Panicked),
            What::Ended(TaskEnd::Cancelled) => Some(Self::Cancelled),
            _ => None,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ran, Self::Woken) => Self::RanAndWoken,
            _ => self.max(other),
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Woken => '◇',
            Self::Spawned => '○',
            Self::Ran => '●',
            Self::RanAndWoken => '↻',
            Self::Finished => '✓',
            Self::Panicked => '✗',
            Self::Cancelled => '⊘',
        }
    }
}

/// The work of one actor without a break.
struct Row {
    at: u64,
    step: u64,
    source: Actor,
    marks: BTreeMap<Actor, Mark>,
}

fn rows(events: &[Event]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for event in events {
        // Nothing has woken the main future at first.
        let Some(mark) = Mark::of(&event.what).filter(|_| event.step > 0) else {
            continue;
        };
        let last = rows.last_mut();
        let source = match (&event.what, &last) {
            (What::Spawned { by } | What::Woken { by }, _) => *by,
            (What::Ended(TaskEnd::Cancelled), Some(row)) => row.source,
            _ => event.actor,
        };
        let same = |row: &&mut Row| row.source == source && row.at == event.at && mark != Mark::Ran;
        let row = match last.filter(same) {
            Some(row) => row,
            None => {
                rows.push(Row {
                    at: event.at,
                    step: event.step,
                    source,
                    marks: BTreeMap::new(),
                });
                rows.last_mut().expect("pushed")
            }
        };
        let marks = &mut row.marks;
        let mark = marks.get(&event.actor).map_or(mark, |had| had.and(mark));
        marks.insert(event.actor, mark);
    }
    rows
}

/// A task's column.
struct Lane {
    actor: Actor,
    spawned: usize,
    ended: usize,
}

/// The lanes of all tasks by their numbers, from and to which row each lives, and in which it ran
/// last.
fn lanes(rows: &[Row]) -> BTreeMap<Actor, (Lane, Option<usize>)> {
    let mut all = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        for (&actor, &mark) in &row.marks {
            let new = Lane {
                actor,
                spawned: index,
                ended: usize::MAX,
            };
            let (lane, ran) = all.entry(actor).or_insert((new, None));
            if mark > Mark::RanAndWoken {
                lane.ended = index;
            }
            if row.source == actor {
                *ran = Some(index);
            }
        }
    }
    all
}

/// Shortens a text at its end, or at its beginning if that is a place.
fn fitted(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.into();
    }
    let kept = width.saturating_sub(1);
    match text.contains(".rs:") {
        true => format!("…{}", text.chars().skip(length - kept).collect::<String>()),
        false => format!("{}…", text.chars().take(kept).collect::<String>()),
    }
}

impl Lanes<'_> {
    /// Chooses the lanes that are shown, at most `most`. Returns how many are left out, too.
    fn chosen(&self, rows: &[Row], most: usize) -> (Vec<Lane>, usize) {
        let mut all: Vec<_> = lanes(rows).into_values().collect();
        let count = all.len();
        if let Some(tasks) = &self.tasks {
            all.retain(|(lane, _)| lane.actor == Actor::MAIN || tasks.contains(&lane.actor.0));
        }
        // The main future comes first, and then those that ran last.
        all.sort_by_key(|&(ref lane, ran)| (lane.actor != Actor::MAIN, core::cmp::Reverse(ran)));
        let mut lanes: Vec<_> = all.into_iter().map(|(lane, _)| lane).take(most).collect();
        lanes.sort_by_key(|lane| lane.actor);
        let left_out = count - lanes.len();
        (lanes, left_out)
    }

    fn is_shown(&self, row: &Row) -> bool {
        (self.from, self.to).contains(&row.step)
    }
}

fn who(actor: Actor) -> String {
    match actor {
        Actor::TIMER => "timer".into(),
        actor => actor.to_string(),
    }
}

/// The widths of the columns to the left of the lanes, which are time, step and who.
fn left_widths<'a>(rows: impl Iterator<Item = &'a Row>) -> [usize; 3] {
    rows.fold([4, 1, 4], |[time, step, source], row| {
        [
            time.max(At(row.at).to_string().chars().count()),
            step.max(row.step.to_string().len()),
            source.max(who(row.source).len()),
        ]
    })
}

/// Draws one row into the lanes.
fn drawn(row: &Row, index: usize, lanes: &[Lane], pitch: usize) -> String {
    let mut line = vec![' '; lanes.len() * pitch];
    for (place, lane) in lanes.iter().enumerate() {
        if (lane.spawned..lane.ended).contains(&index) {
            line[place * pitch] = '│';
        }
    }
    let place_of = |actor| lanes.iter().position(|lane| lane.actor == actor);
    let marked = row.marks.iter();
    let marked: Vec<_> = marked
        .filter_map(|(&actor, &mark)| Some((place_of(actor)? * pitch, mark.sign())))
        .collect();
    let source = place_of(row.source).map_or(0, |place| place * pitch);
    let ends = marked.iter().map(|&(place, _)| place);
    let first = ends.clone().min().unwrap_or(source).min(source);
    let last = ends.max().unwrap_or(source).max(source);
    if first < last {
        for cell in &mut line[first..=last] {
            *cell = if *cell == '│' { '┼' } else { '─' };
        }
        // A poll that was blocked goes on.
        match source {
            _ if place_of(row.source).is_none() => {}
            source if source == first => line[source] = '├',
            source if source == last => line[source] = '┤',
            _ => {}
        }
    }
    for (place, sign) in marked {
        line[place] = sign;
    }
    line.into_iter().collect()
}

impl fmt::Display for Lanes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = rows(&self.trace.events);
        let shown = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| self.is_shown(row));
        let [time, step, source] = left_widths(shown.clone().map(|(_, row)| row));
        let room = self.width.saturating_sub(time + step + source + 4);
        let (lanes, left_out) = self.chosen(&rows, (room / NARROWEST).max(2));
        let pitch = (room / lanes.len().max(1)).clamp(NARROWEST, WIDEST);
        let left = time + step + source + 2;
        write!(f, "{:left$} ", "")?;
        for lane in &lanes {
            let number = match lane.actor {
                Actor::MAIN => "main".into(),
                Actor(number) => number.to_string(),
            };
            write!(f, "{number:pitch$}")?;
        }
        write!(f, "\n{:>time$} {:>step$} {:source$} ", "time", "#", "who")?;
        for lane in &lanes {
            let name = fitted(&self.trace.short_name(lane.actor), pitch - 1);
            write!(f, "{name:pitch$}")?;
        }
        writeln!(f)?;
        for (index, row) in shown {
            let line = drawn(row, index, &lanes, pitch);
            if lanes.iter().any(|lane| row.marks.contains_key(&lane.actor)) {
                let (at, number) = (At(row.at).to_string(), row.step);
                let who = who(row.source);
                writeln!(
                    f,
                    "{at:>time$} {number:>step$} {who:source$} {}",
                    line.trim_end()
                )?;
            }
        }
        match left_out {
            0 => Ok(()),
            1 => writeln!(f, "1 more task is not shown"),
            several => writeln!(f, "{several} more tasks are not shown"),
        }
    }
}
