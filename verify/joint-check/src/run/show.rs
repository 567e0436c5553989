//! A failing execution in words: what is wrong, its steps in order, and the line that repeats it.

use core::{fmt::Write as _, panic::Location};
use std::{collections::BTreeMap, string::String};

use super::{Run, Site, free::Freed};
use crate::{
    explore::Choice,
    graph::{Event, Graph, Id, Kind, MAX_THREADS},
};

/// What is wrong with an execution.
pub(crate) enum Fault {
    Race(Id, Id),
    /// Two accesses of one thread to a cell, of which the second begins before the first has ended.
    Overlap(Id, Id),
    /// An access by the step with which it began and the last before its end, and another one that
    /// does not happen after that.
    Lasting(Id, Id, Id),
    /// A drop, and an access that does not happen before it.
    Freed(Freed, Id),
    /// A drop before the access that a thread asks for.
    UsedAfter(Freed),
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
        !self.graph().is_given(id) && self.first_half(id) == id
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
        let site = self.site(id).map(|site| self.of(site));
        site.unwrap_or_else(|| "in a drop".into())
    }

    fn of(&self, site: Site) -> String {
        // A drop has no place in the program.
        match site.at.file().ends_with("core/src/ptr/mod.rs") {
            true => "in a drop".into(),
            false => site.at.to_string(),
        }
    }

    fn step_and_place(&self, id: Id) -> String {
        let (step, thread) = (self.step(id), self.thread(id.thread));
        format!("step {step} ({thread}, {})", self.at(id))
    }

    /// Who has dropped a location, and when.
    fn drop_of(&self, freed: Freed) -> String {
        let thread = self.thread(freed.before.thread);
        match freed.before.index.checked_sub(1) {
            None => format!("by {thread} at its beginning"),
            Some(index) => {
                let last = freed.before.with_index(index);
                format!(
                    "by {thread} after step {} ({})",
                    self.step(last),
                    self.at(last)
                )
            }
        }
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
            _ if self.graph().is_given(place) => format!("lazy static #{}", place.index),
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
            Kind::Join(child, _) => format!("{name} {}", self.thread(child)),
            Kind::Leave => "end of the closure".into(),
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
            Kind::Exclusive | Kind::PlainRead => format!("{place}.{name}: {}", value(event.value)),
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
        if event.is_spurious() {
            text += ", for no reason";
        }
        if let Some(source) = event.source {
            _ = match self.step(source) {
                0 => write!(text, ", as at the beginning"),
                step => write!(text, ", from {step}"),
            };
            let passed = self.graph().order(event.place).rev();
            let passed = passed.take_while(|&write| write != source);
            let is_before = |write: &Id| self.step(*write) < self.step(event.id);
            let newest = passed.into_iter().find(is_before);
            if let Some(newest) = newest.filter(|_| !event.takes()) {
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
                let [one, other] = [*one, *other].map(|id| self.step_and_place(id));
                format!("data race: neither of {one} and {other} happens before the other. {why}")
            }
            Fault::Overlap(one, other) => {
                let [one, other] = [*one, *other].map(|id| self.step_and_place(id));
                format!("two accesses to a cell at once: {other} comes during the access of {one}")
            }
            Fault::Lasting(begin, last, other) => {
                let why = self.missing_edges(*last, *other);
                let [begin, last, other] =
                    [*begin, *last, *other].map(|id| self.step_and_place(id));
                format!(
                    "data race: the access of {begin} lasts until {last} or longer, which does not \
                     happen before {other}. {why}"
                )
            }
            Fault::Freed(freed, other) => {
                let (place, before) = (self.place(freed.place), self.drop_of(*freed));
                let access = self.step_and_place(*other);
                let why = match freed.before.index {
                    0 => String::new(),
                    _ => self.missing_edges(*other, freed.before.previous()),
                };
                format!(
                    "use after free: {place} is dropped {before}, but {access} does not happen \
                     before that. {why}"
                )
            }
            Fault::UsedAfter(freed) => {
                let (place, before) = (self.place(freed.place), self.drop_of(*freed));
                let thread = self.thread(self.run.current);
                let site = self.run.lanes[usize::from(self.run.current)].sites.last();
                let (name, at) =
                    site.map_or(("?", String::new()), |site| (site.name, self.of(*site)));
                format!(
                    "use after free: {place} was dropped {before}, and {thread} does `{name}` on it \
                     ({at})"
                )
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
    /// existing writes are newer than the one that it reads from or directly follows, and its
    /// outcome if that is not the first. A count whose changes have no order is marked by a one.
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
            if self.is_given(id) {
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
            if event.outcome > 0 {
                _ = write!(line, "+{}.", event.outcome);
            }
        }
        line
    }
}

/// The steps of a line: the thread of each, and what it chooses.
pub(crate) fn parse(line: &str) -> Option<Vec<(u8, Choice)>> {
    let mut steps = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let thread = first.to_digit(MAX_THREADS as u32)? as u8;
        rest = &rest[1..];
        let mut choice = Choice::default();
        if let Some(number) = rest.strip_prefix('-') {
            let (number, others) = number.split_once('.')?;
            choice.newer = number.parse().ok()?;
            rest = others;
        }
        if let Some(number) = rest.strip_prefix('+') {
            let (number, others) = number.split_once('.')?;
            choice.outcome = number.parse().ok()?;
            rest = others;
        }
        steps.push((thread, choice));
    }
    Some(steps)
}
