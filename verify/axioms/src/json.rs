//! Executions and verdicts as JSON, for programs that draw them or compare them with another
//! checker.

use core::fmt;

use crate::{
    Event, EventId, Execution, Machine, MissingEdge, Program, Race, Relation, Value,
    completion::{Cell, Finding, Verdict, broken_on},
    text,
};

/// A JSON value. Its [`Display`](fmt::Display) is the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Json {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number without a sign or a fraction.
    Number(u64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Names and values.
    Object(Vec<(&'static str, Json)>),
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => quoted(f, text),
            Self::List(items) => {
                let write = |f: &mut fmt::Formatter<'_>, item: &Json| write!(f, "{item}");
                separated(f, ['[', ']'], items, write)
            }
            Self::Object(fields) => {
                let write = |f: &mut fmt::Formatter<'_>, (name, value): &(&str, Json)| {
                    quoted(f, name)?;
                    write!(f, ":{value}")
                };
                separated(f, ['{', '}'], fields, write)
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            letter if letter < ' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
            letter => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{open}")?;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            f.write_str(",")?;
        }
        write(f, item)?;
    }
    write!(f, "{close}")
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

pub(crate) fn number(value: usize) -> Json {
    Json::Number(value as u64)
}

pub(crate) fn list(items: impl Iterator<Item = Json>) -> Json {
    Json::List(items.collect())
}

fn maybe<T>(value: Option<T>, json: impl FnOnce(T) -> Json) -> Json {
    value.map_or(Json::Null, json)
}

/// An execution: `events` by number, each with the numbers of those that gave its `address` and its
/// `data` and decided the branches before it (`control`); `timeline`, the numbers of the threads'
/// events in the order to draw them in; the edges `po`, `rf`, `mo`, `fr`, `sw`, `hb` as pairs of
/// numbers, `po` and `mo` between neighbours only, the others all; the `registers` and `memory` in
/// the end; `races`, each with its `missing` edges; whether it is an `interleaving`; the
/// `sentences` for its races; and the machines that it happens `on`.
pub fn execution(
    program: &Program,
    execution: &Execution,
    sentence: impl Fn(&Race) -> Option<String>,
) -> Json {
    let edges = execution.edges();
    let events = (0..execution.events().len()).map(|id| of_event(program, execution, id));
    let timeline = execution.timeline().into_iter().map(number);
    let value = |&value: &Option<Value>| maybe(value, |value| Json::Number(value.into()));
    let registers = execution.registers().iter();
    let registers = registers.map(|thread| list(thread.iter().map(value)));
    let races = execution.races().iter();
    let sentences = races.clone().filter_map(sentence).map(Json::Text);
    let races = races.map(|race| of_race(program, execution, race));
    let machines = Machine::ALL.into_iter().filter(|one| one.allows(execution));
    Json::Object(vec![
        ("events", list(events)),
        ("timeline", list(timeline)),
        ("interleaving", Json::Bool(execution.is_interleaving())),
        ("po", pairs(&edges.po.reduced())),
        ("rf", pairs(&edges.rf)),
        ("mo", pairs(&edges.mo.reduced())),
        ("fr", pairs(&edges.fr)),
        ("sw", pairs(&edges.sw)),
        ("hb", pairs(&edges.hb)),
        ("registers", list(registers)),
        ("memory", memory(program, execution)),
        ("races", list(races)),
        ("sentences", list(sentences)),
        ("on", list(machines.map(|machine| machine.name().into()))),
    ])
}

fn of_event(program: &Program, execution: &Execution, id: EventId) -> Json {
    let event: &Event = &execution.events()[id];
    let name = |location| Json::from(program.variable(location).name.as_str());
    let needs = &event.needs;
    let of_step = |step: Option<usize>| {
        let lane = event.thread.into_iter();
        let mut lane = lane.flat_map(|thread| execution.lane(thread));
        lane.find(|&other| Some(execution.events()[other].step) == step)
    };
    let value = |value: Option<Value>| {
        let value = event.location.zip(value);
        maybe(value, |(at, value)| Json::Text(program.show(at, value)))
    };
    let kind = format!("{:?}", event.kind).to_ascii_lowercase();
    let ordering = maybe(event.ordering, |ordering| ordering.name().into());
    let steps = |steps: &[usize]| {
        let ids = steps.iter().filter_map(|&step| of_step(Some(step)));
        ids.map(number).collect::<Vec<_>>().into_iter()
    };
    Json::Object(vec![
        ("id", number(id)),
        ("thread", maybe(event.thread, number)),
        ("step", number(event.step)),
        ("kind", Json::Text(kind)),
        ("location", maybe(event.location, name)),
        ("ordering", ordering),
        ("read", value(event.read)),
        ("written", value(event.written)),
        ("stale", Json::Bool(execution.is_stale(id))),
        ("address", maybe(of_step(needs.address), number)),
        ("data", list(steps(&needs.data))),
        ("control", list(steps(&needs.control))),
        ("label", Json::Text(text::label(program, event))),
    ])
}

fn pairs(relation: &Relation) -> Json {
    let pair = |(a, b)| Json::List(vec![number(a), number(b)]);
    list(relation.pairs().map(pair))
}

fn memory(program: &Program, execution: &Execution) -> Json {
    list(program.locations().map(|location| {
        let value = program.show(location, execution.last(location));
        let name = program.variable(location).name.as_str();
        Json::Object(vec![
            ("location", name.into()),
            ("value", Json::Text(value)),
        ])
    }))
}

fn of_race(program: &Program, execution: &Execution, race: &Race) -> Json {
    let location = program.variable(race.location).name.as_str();
    let mut missing = execution.missing_edges(race);
    if missing.is_empty() {
        missing = execution.missing_chain(race);
    }
    Json::Object(vec![
        ("location", location.into()),
        ("write", number(race.write)),
        ("other", number(race.other)),
        ("missing", list(missing.iter().map(missing_edge))),
    ])
}

fn missing_edge(edge: &MissingEdge) -> Json {
    let release = edge.lacks_release.then_some("release");
    let acquire = edge.lacks_acquire.then_some("acquire");
    let lacks = release.into_iter().chain(acquire).map(Json::from);
    Json::Object(vec![
        ("from", number(edge.from)),
        ("to", number(edge.to)),
        ("lacks", list(lacks)),
    ])
}

/// A verdict without its executions: the orderings, whether it is `right`, and its `findings`. The
/// matrix is a list of these.
pub fn verdict(verdict: &Verdict) -> Json {
    Json::Object(verdict_fields(verdict))
}

/// A verdict with the names of its `threads`, all its `executions`, to which the numbers of the
/// findings' witnesses refer, and what is `broken` on each of the `machines`, with the instructions
/// of its `exchanges`.
pub fn cell(verdict: &Verdict) -> Json {
    let program = &verdict.protocol.program;
    let threads = program.threads().iter();
    let threads = threads.map(|thread| thread.name.as_str().into());
    let all = verdict.executions.iter().enumerate();
    let all = all.map(|(n, one)| execution(program, one, |race| verdict.sentence_of(n, race)));
    let mut fields = verdict_fields(verdict);
    fields.push(("threads", list(threads)));
    fields.push(("executions", list(all)));
    let machines = Machine::ALL.into_iter();
    let machines = machines.map(|machine| on_machine(verdict, machine));
    fields.push(("machines", list(machines)));
    Json::Object(fields)
}

fn on_machine(verdict: &Verdict, machine: Machine) -> Json {
    let broken = broken_on(&verdict.protocol, machine).into_iter();
    let Cell { completer, waiter } = verdict.cell;
    let exchanges = [completer, waiter].map(|ordering| Json::Text(machine.swap(ordering)));
    Json::Object(vec![
        ("name", machine.name().into()),
        ("broken", list(broken.map(|broken| broken.name().into()))),
        ("exchanges", Json::List(exchanges.to_vec())),
    ])
}

fn verdict_fields(verdict: &Verdict) -> Vec<(&'static str, Json)> {
    let Cell { completer, waiter } = verdict.cell;
    let findings = verdict.findings.iter().map(|one| finding(verdict, one));
    vec![
        ("completer", completer.name().into()),
        ("waiter", waiter.name().into()),
        ("right", Json::Bool(verdict.is_right())),
        ("findings", list(findings)),
    ]
}

fn finding(verdict: &Verdict, finding: &Finding) -> Json {
    Json::Object(vec![
        ("broken", finding.broken.name().into()),
        ("witness", number(finding.witness)),
        ("missing", missing_edge(&finding.missing)),
        ("sentence", Json::Text(verdict.sentence(finding))),
    ])
}
