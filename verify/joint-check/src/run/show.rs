//! A failing execution in words: what is wrong, its steps in order, and the line that repeats it.

use core::{fmt::Write as _, panic::Location};
use std::{collections::BTreeMap, string::String};

use super::{Run, Site};
use crate::graph::{Event, Graph, Id, Kind, MAX_THREADS};

/// What is wrong with an execution.
pub(crate) enum Fault {
    Race(Id, Id),
    Deadlock,
    Leak,
    Panic(String),
    /// An execution looks at a count that was made here.
    Look(&'static Location<'static>),
    /// The model exceeds a limit of the checker, or cannot be repeated.
    Limit(String),
}

/// The variable that holds the line of a run.
pub(crate) const REPLAY: &str = "JOINT_CHECK_REPLAY";

/// How many steps of a long execution are shown: the first, and the last.
const FIRST: usize = 40;
const LAST: usize = 160;

impl Run {
    pub(super) fn report(&self, fault: &Fault) -> String {
        let order = self.graph.linear();
        let mut show = Show {
            run: self,
            order: &order,
            steps: BTreeMap::new(),
        };
        let steps = order.iter().copied().filter(|&id| show.is_shown(id));
        show.steps = steps.zip(1..).collect();
        let mut text = show.sentence(fault);
        let shown = order.iter().filter(|id| show.steps.contains_key(id));
        let rows: Vec<_> = shown.map(|&id| show.row(id)).collect();
        let widest = |column: usize| rows.iter().map(|row| row[column].len()).max();
        let [thread, what] = [1, 2].map(|column| widest(column).unwrap_or(0).min(60));
        if let Some(most) = self.limits.deviations {
            _ = write!(
                text,
                "\nExplored with at most {most} deviations from the first execution \
                 (JOINT_CHECK_DEVIATIONS): a deviation is a read that skips a newer write, a write \
                 before an older one, a read that changes later, or a thread that keeps waiting \
                 although it could go on. Others may fail first without that bound."
            );
        }
        text += "\n\n";
        let left_out = FIRST..rows.len().saturating_sub(LAST);
        for (n, [step, name, done, at]) in rows.into_iter().enumerate() {
            if !left_out.contains(&n) {
                _ = writeln!(text, "{step:>4}  {name:thread$}  {done:what$}  {at}");
            } else if n == FIRST {
                _ = writeln!(text, "      ... {} steps", left_out.len());
            }
        }
        let line = self.graph.line(&order);
        _ = write!(text, "\nRepeat this execution alone: {REPLAY}={line}\n");
        text
    }
}

pub(super) struct Show<'a> {
    pub(super) run: &'a Run,
    pub(super) order: &'a [Id],
    /// The numbers of the steps that are shown, from 1.
    steps: BTreeMap<Id, usize>,
}

impl Show<'_> {
    pub(super) fn graph(&self) -> &Graph {
        &self.run.graph
    }

    /// The second event of an exchange is shown with the first.
    fn first_half(&self, id: Id) -> Id {
        match self.graph().at(id).kind {
            Kind::Write { is_exchange: true } => id.previous(),
            _ => id,
        }
    }

    fn is_shown(&self, id: Id) -> bool {
        id != Id::ROOT && id != Id::STATICS && self.first_half(id) == id
    }

    pub(super) fn step(&self, id: Id) -> usize {
        let step = self.steps.get(&self.first_half(id));
        step.copied().unwrap_or(0)
    }

    pub(super) fn site(&self, id: Id) -> Option<Site> {
        let sites = &self.run.lanes[usize::from(id.thread)].sites;
        sites.get(usize::from(self.first_half(id).index)).copied()
    }

    pub(super) fn at(&self, id: Id) -> String {
        let site = self.site(id).map(|site| site.at);
        // A drop has no place in the program.
        let site = site.filter(|at| !at.file().ends_with("core/src/ptr/mod.rs"));
        site.map_or_else(|| "in a drop".into(), ToString::to_string)
    }

    pub(super) fn thread(&self, thread: u8) -> String {
        match &self.run.lanes[usize::from(thread)].name {
            Some(name) => name.to_string(),
            None if thread == 0 => "main".into(),
            None => format!("thread {thread}"),
        }
    }

    /// A location by its kind and the step that made it.
    pub(super) fn place(&self, place: Id) -> String {
        match self.graph().at(place).kind {
            Kind::Spawn(thread) => format!("token of {}", self.thread(thread)),
            _ if place == Id::STATICS => "the lazy statics".into(),
            _ => {
                let name = self.site(place).map_or("location", |site| site.name);
                format!("{name}#{}", self.step(place))
            }
        }
    }

    fn done(&self, id: Id) -> String {
        let event = self.graph().at(id);
        let name = self.site(id).map_or("?", |site| site.name);
        let place = self.place(event.place);
        match event.kind {
            Kind::Spawn(child) => format!("spawn {}", self.thread(child)),
            Kind::Join(child) => format!("{name} {}", self.thread(child)),
            Kind::End => "end".into(),
            Kind::Fence => format!("fence({:?})", event.ordering),
            Kind::Atomic | Kind::Count | Kind::Word => {
                format!("{place} = {}", value(event.written))
            }
            Kind::Cell => place,
            Kind::Drop { is_last: true } => format!("{place}.{name}: the last"),
            Kind::CellRead | Kind::CellWrite | Kind::Clone | Kind::Drop { .. } => {
                format!("{place}.{name}")
            }
            Kind::Exclusive => format!("{place}.{name}: {}", value(event.value)),
            Kind::Write { .. } => {
                let (written, ordering) = (value(event.written), event.ordering);
                format!("{place}.{name}({ordering:?}) {written}")
            }
            Kind::Read { .. } => self.read(event, &place, name),
        }
    }

    fn read(&self, event: &Event, place: &str, name: &str) -> String {
        let (written, ordering) = event.outcome();
        let mut text = format!("{place}.{name}({ordering:?}): {}", value(event.value));
        if let Some(written) = written {
            _ = write!(text, " -> {}", value(written));
        }
        if let Some(source) = event.source {
            _ = match self.step(source) {
                0 => write!(text, ", as at the beginning"),
                step => write!(text, ", from {step}"),
            };
            let passed = self.graph().order(event.place).rev();
            let passed = passed.take_while(|&write| write != source);
            let is_before = |write: &Id| self.step(*write) < self.step(event.id);
            if let Some(newest) = passed.into_iter().find(is_before) {
                _ = write!(text, ", though {} is newer", self.step(newest));
            }
        }
        text
    }

    fn row(&self, id: Id) -> [String; 4] {
        let step = self.step(id).to_string();
        let at = match self.graph().at(id).kind {
            Kind::End => String::new(),
            _ => self.at(id),
        };
        [step, self.thread(id.thread), self.done(id), at]
    }

    fn sentence(&self, fault: &Fault) -> String {
        match fault {
            Fault::Race(one, other) => {
                let why = self.missing_edges(*one, *other);
                let [one, other] = [*one, *other].map(|id| {
                    let (thread, at) = (self.thread(id.thread), self.at(id));
                    format!("step {} ({thread}, {at})", self.step(id))
                });
                format!("data race: neither of {one} and {other} happens before the other. {why}")
            }
            Fault::Deadlock => {
                let left = self.run.unfinished().map(|(thread, _)| self.wait(thread));
                let left = left.collect::<Vec<_>>().join("; ");
                match self.old_value() {
                    Some(why) => format!("deadlock, because {why}\n{left}"),
                    None => format!("deadlock: {left}"),
                }
            }
            Fault::Leak => {
                let made = |&id: &Id| {
                    let name = self.site(id).map_or("a value", |site| site.name);
                    format!(
                        "{name} of step {} ({}) is never dropped",
                        self.step(id),
                        self.at(id)
                    )
                };
                let all: Vec<_> = self.run.alive.iter().map(made).collect();
                format!("leak: {}", all.join("; "))
            }
            Fault::Panic(message) => {
                let thread = self.thread(self.run.current);
                format!("{thread} panicked: {message}")
            }
            Fault::Look(made) => format!("the count of {made} is looked at"),
            Fault::Limit(message) => message.clone(),
        }
    }
}

/// A value, which may be an address.
pub(super) fn value(value: u64) -> String {
    if value > u64::from(u32::MAX) {
        format!("{value:#x}")
    } else {
        value.to_string()
    }
}

impl Graph {
    /// The events in an order in which each comes after those that it depends on. A thread
    /// continues as long as it can.
    pub(crate) fn linear(&self) -> Vec<Id> {
        let mut at = [0; MAX_THREADS];
        let mut all = Vec::new();
        let mut current = 0;
        loop {
            let can_go = |&thread: &u8| {
                let events = &self.threads[usize::from(thread)];
                let Some(event) = events.get(usize::from(at[usize::from(thread)])) else {
                    return false;
                };
                self.comes_after(event.id, |thread| at[thread])
            };
            let threads = core::iter::once(current).chain(0..MAX_THREADS as u8);
            let Some(next) = threads.into_iter().find(can_go) else {
                return all;
            };
            current = next;
            let index = &mut at[usize::from(next)];
            all.push(Id {
                thread: next,
                index: *index,
            });
            *index += 1;
        }
    }

    /// The steps of an execution in a line: the thread of each, and for an access, how many
    /// existing writes are newer than the one that it reads from or directly follows. A count whose
    /// changes have no order is marked by a one.
    pub(crate) fn line(&self, order: &[Id]) -> String {
        let mut line = String::new();
        for (n, &id) in order.iter().enumerate() {
            let event = self.at(id);
            let newer = match event.kind {
                Kind::Read { .. } => event.source,
                Kind::Write { is_exchange: false } => Some(id),
                Kind::Write { is_exchange: true } => continue,
                _ => None,
            };
            if id == Id::ROOT || id == Id::STATICS {
                continue;
            }
            _ = write!(line, "{}", id.thread);
            let commutes = matches!(event.kind, Kind::Count);
            let newer = newer.map_or(commutes.into(), |write| {
                let later = self
                    .order(event.place)
                    .rev()
                    .take_while(|&other| other != write);
                later.filter(|other| order[..n].contains(other)).count()
            });
            if newer > 0 {
                _ = write!(line, "-{newer}.");
            }
        }
        line
    }
}

pub(crate) fn parse(line: &str) -> Option<Vec<(u8, usize)>> {
    let mut steps = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let thread = first.to_digit(MAX_THREADS as u32)? as u8;
        rest = &rest[1..];
        let mut newer = 0;
        if let Some(number) = rest.strip_prefix('-') {
            let (number, others) = number.split_once('.')?;
            newer = number.parse().ok()?;
            rest = others;
        }
        steps.push((thread, newer));
    }
    Some(steps)
}
