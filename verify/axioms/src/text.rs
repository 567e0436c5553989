//! Executions as text: a lane for each thread, time downwards, and beside each event what it read
//! from whom.

use core::fmt::Write as _;

use crate::{
    Event, EventId, Execution, MissingEdge, Program,
    program::{Kind, Thread},
};

/// Returns an event as text, without its thread: `swap word: PENDING -> DONE, acq_rel`.
pub fn label(program: &Program, event: &Event) -> String {
    let place = event.location;
    let show = |value: Option<_>| {
        let shown = place.zip(value);
        shown.map_or_else(String::new, |(at, value)| program.show(at, value))
    };
    let (read, written) = (show(event.read), show(event.written));
    let place = place.map_or("", |place| &program.variable(place).name);
    let ordering = event.ordering.map_or("", |ordering| ordering.name());
    match event.kind {
        Kind::Initial => format!("{place} = {written} at first"),
        Kind::Read => format!("read {place}: {read}"),
        Kind::Write => format!("write {place}: {written}"),
        Kind::Load => format!("load {place}: {read}, {ordering}"),
        Kind::Store => format!("store {place}: {written}, {ordering}"),
        Kind::Swap => format!("swap {place}: {read} -> {written}, {ordering}"),
        Kind::FetchAdd => format!("add {place}: {read} -> {written}, {ordering}"),
        Kind::FetchSub => format!("subtract {place}: {read} -> {written}, {ordering}"),
        Kind::CompareExchange => {
            format!("compare_exchange {place}: {read} -> {written}, {ordering}")
        }
        Kind::FailedExchange => format!("compare_exchange {place}: {read}, fails, {ordering}"),
        Kind::Fence => format!("fence {ordering}"),
    }
}

/// The execution in lanes, with a number for each event, and then the data races and the edges that
/// each lacks.
pub fn lanes(program: &Program, execution: &Execution) -> String {
    let drawing = Drawing::new(program, execution);
    let mut text = drawing.heads();
    for &id in &drawing.order {
        text += &drawing.line(id);
    }
    for race in execution.races() {
        let (write, other) = (drawing.number(race.write), drawing.number(race.other));
        let place = &program.variable(race.location).name;
        let _ = writeln!(text, "\ndata race: {write} and {other}, on {place}");
        for missing in execution.missing_edges(race) {
            text += &drawing.missing(&missing);
        }
    }
    text
}

struct Drawing<'a> {
    program: &'a Program,
    execution: &'a Execution,
    order: Vec<EventId>,
    /// How wide each lane is.
    widths: Vec<usize>,
}

impl<'a> Drawing<'a> {
    fn new(program: &'a Program, execution: &'a Execution) -> Self {
        let width = |thread| {
            let labels = execution
                .lane(thread)
                .map(|id| label(program, &execution.events()[id]));
            let labels = labels.map(|label| label.chars().count());
            let name = program.threads()[thread].name.chars().count();
            labels.chain([name]).max().unwrap_or(name) + 3
        };
        let widths = (0..program.threads().len()).map(width).collect();
        Self {
            program,
            execution,
            order: execution.timeline(),
            widths,
        }
    }

    /// The number of an event in the drawing. What a location holds at first has none.
    fn number(&self, id: EventId) -> usize {
        let place = self.order.iter().position(|&drawn| drawn == id);
        place.map_or(0, |place| place + 1)
    }

    fn heads(&self) -> String {
        let threads = self.program.threads().iter().zip(&self.widths);
        let head = |(thread, width): (&Thread, &usize)| format!("{:<width$}", thread.name);
        let heads: String = threads.map(head).collect();
        format!("     {}\n", heads.trim_end())
    }

    fn line(&self, id: EventId) -> String {
        let event = &self.execution.events()[id];
        let lane = event.thread.unwrap_or_default();
        let before: usize = self.widths[..lane].iter().sum();
        let after: usize = self.widths[lane..].iter().sum();
        let label = label(self.program, event);
        let line = format!(
            "{:>3}  {:before$}{label:<after$}{}",
            self.number(id),
            "",
            self.notes(id).join(", ")
        );
        format!("{}\n", line.trim_end())
    }

    /// Notes on the source of the event's read, and on the events that are ordered before it.
    fn notes(&self, id: EventId) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(source) = self.execution.source(id) {
            notes.push(match self.number(source) {
                0 => "<- the first value".to_owned(),
                number => format!("<- reads from {number}"),
            });
        }
        let edges = self.execution.edges().sw.pairs();
        let releases = edges.filter(|&(_, acquire)| acquire == id);
        let note = |(release, _)| format!("synchronizes with {}", self.number(release));
        notes.extend(releases.map(note));
        notes
    }

    fn missing(&self, missing: &MissingEdge) -> String {
        let MissingEdge {
            from,
            to,
            lacks_release,
            lacks_acquire,
        } = *missing;
        let (from, to) = (self.number(from), self.number(to));
        let why = match (lacks_release, lacks_acquire) {
            (true, true) => format!("{from} does not release and {to} does not acquire"),
            (true, false) => format!("{from} does not release"),
            (false, _) => format!("{to} does not acquire"),
        };
        format!("  no edge from {from} to {to}: {why}\n")
    }
}
