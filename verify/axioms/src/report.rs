//! Every execution of a typed program as JSON: what the page shows of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    EventId, Execution, Location, Machine, MissingEdge, Program, Race, Value,
    explore::{buffering_within, rc11_within},
    json::{self, Json, list, number},
    language::{Mistake, Typed, parse},
    program::Thread,
};

/// How many executions of each outcome are written out, beside those that show a mistake.
const SHOWN: usize = 8;
/// How many outcomes are listed, beside those that show a mistake.
const LISTED: usize = 64;
/// The largest number of executions, which take some seconds.
const MOST_EXECUTIONS: usize = 5_000;
/// The largest number of graphs on the way to them.
const MOST_GRAPHS: usize = 20_000;
/// The largest number of ways to give each read a value for which load buffering is tried.
const MOST_WAYS: usize = 20_000;

/// Explores the program in `text`, and returns as JSON:
///
/// * `mistake`, with its `line` and `message`, and nothing else if the text is no program;
/// * `threads`, their names; `lines`, for each thread the line of each step;
/// * `count`, the number of executions, and whether they are all (`complete`): load buffering
///   is left out if it would take too long to find;
/// * `right`, and the `findings`: a `sentence` and the `execution` that shows it;
/// * `columns`, names of registers and of locations, and the `outcomes`: their `values`, how many
///   executions they have (`count`), whether one is `racy`, whether none is an interleaving
///   (`weak`) or allowed by RC11 (`buffered`), whether a `never` forbids them (`bad`), and the
///   numbers of `executions`; `more`, the number of outcomes that are not listed;
/// * the `executions`, as [`json::execution`] writes them.
///
/// RC11 forbids load buffering, but C++20 and Rust do not. An execution that RC11 forbids only for
/// that reason is listed if a [`Machine`] shows it.
///
/// ```
/// let report = axioms::report::report("atomic x\nthread a { x.store(1, Relaxed) }");
/// assert!(report.to_string().contains("\"right\":true"));
/// ```
pub fn report(text: &str) -> Json {
    let report = parse(text).and_then(|typed| Ok(Report::new(&typed)?.json()));
    match report {
        Ok(report) => report,
        Err(Mistake { line, message }) => {
            let fields = vec![("line", number(line)), ("message", Json::Text(message))];
            Json::Object(vec![("mistake", Json::Object(fields))])
        }
    }
}

/// The values at an end: those of the registers, then those of the locations.
type Values = Vec<Option<Value>>;

struct Report<'t> {
    typed: &'t Typed,
    complete: bool,
    executions: Vec<Execution>,
    /// A sentence, and the number of the execution that shows it.
    findings: Vec<(String, usize)>,
    outcomes: BTreeMap<Values, Vec<usize>>,
}

impl<'t> Report<'t> {
    fn new(typed: &'t Typed) -> Result<Self, Mistake> {
        let too_many = || Mistake {
            line: typed.lines.iter().flatten().copied().max().unwrap_or(1),
            message: format!(
                "the program has too many executions, more than {MOST_EXECUTIONS}: leave an operation out"
            ),
        };
        let (complete, executions) = explored(&typed.program).ok_or_else(too_many)?;
        let mut report = Self {
            typed,
            complete,
            executions,
            findings: Vec::new(),
            outcomes: BTreeMap::new(),
        };
        for (number, execution) in report.executions.iter().enumerate() {
            let outcome = report.outcomes.entry(values(typed, execution)).or_default();
            outcome.push(number);
        }
        report.findings = report.races();
        report.findings.extend(report.broken());
        Ok(report)
    }

    /// A finding for each pair of lines that race. An execution shows it best if it reads an old
    /// value.
    fn races(&self) -> Vec<(String, usize)> {
        let mut found = BTreeMap::new();
        for (number, execution) in self.executions.iter().enumerate() {
            for race in execution.races() {
                let lines = (
                    self.line(execution, race.write),
                    self.line(execution, race.other),
                );
                let shows = (!execution.is_stale(race.other), number, *race);
                let best = found.entry(lines).or_insert(shows);
                if best.0 && !shows.0 {
                    *best = shows;
                }
            }
        }
        let races = found.into_values();
        races
            .map(|(_, number, race)| (self.race(&self.executions[number], &race), number))
            .collect()
    }

    /// A finding for each `never` that happens.
    fn broken(&self) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        for never in &self.typed.never {
            let all = self.executions.iter().enumerate();
            let broken = all.filter(|(_, execution)| never.is_broken_by(execution));
            // The plainest execution first.
            let best = broken.min_by_key(|(_, one)| (!one.is_causal(), !one.is_interleaving()));
            found.extend(best.map(|(number, execution)| {
                let why = match (execution.is_causal(), execution.is_interleaving()) {
                    (_, true) => "some order of the operations leads to it",
                    (true, false) => "no order of the operations explains it, but the orderings allow it",
                    (false, false) => "RC11 forbids it as load buffering, but C++20 and Rust do not, and some machines do it",
                };
                (format!("`{}` happens: {why}", never.text), number)
            }));
        }
        found
    }

    fn race(&self, execution: &Execution, race: &Race) -> String {
        let name = |id| format!("line {}", self.line(execution, id));
        let place = &self.typed.program.variable(race.location).name;
        let (one, other) = (name(race.write), name(race.other));
        let missing = execution.missing_edges(race);
        let why = match (missing.first(), execution.missing_chain(race)) {
            (Some(missing), _) => missing.sentence(name),
            (None, chain) if !chain.is_empty() => MissingEdge::chain_sentence(&chain, name),
            _ => "neither thread has seen anything of the other".to_owned(),
        };
        format!("data race on {place}: nothing orders {one} and {other}; {why}")
    }

    fn line(&self, execution: &Execution, id: EventId) -> usize {
        let event = &execution.events()[id];
        event
            .thread
            .map_or(0, |thread| self.typed.lines[thread][event.step])
    }

    fn json(&self) -> Json {
        let listed = self.listed();
        let executions = listed.iter().flat_map(|(_, all)| self.shown(all));
        let shown: BTreeSet<usize> = executions.collect();
        let place = |execution: usize| number(shown.range(..execution).count());
        let columns = self.columns();
        let finding = |(sentence, execution): &(String, usize)| {
            let sentence = Json::Text(sentence.clone());
            Json::Object(vec![
                ("sentence", sentence),
                ("execution", place(*execution)),
            ])
        };
        let outcome = |(values, all): &(&Values, &Vec<usize>)| {
            let value = |&column: &usize| {
                values[column].map_or(Json::Null, |value| Json::Number(value.into()))
            };
            let numbers = self.shown(all).into_iter().map(place);
            let mut fields = vec![
                ("values", list(columns.iter().map(value))),
                ("count", number(all.len())),
                ("executions", list(numbers)),
            ];
            fields.extend(self.marks(all));
            Json::Object(fields)
        };
        let threads = self.typed.program.threads().iter();
        let threads = threads.map(|thread| thread.name.as_str().into());
        let lines = |lines: &Vec<usize>| list(lines.iter().map(|&line| number(line)));
        let names = columns.iter().map(|&column| self.column(column).into());
        let executions = shown.iter().map(|&one| self.execution(one));
        Json::Object(vec![
            ("threads", list(threads)),
            ("lines", list(self.typed.lines.iter().map(lines))),
            ("count", number(self.executions.len())),
            ("complete", Json::Bool(self.complete)),
            ("right", Json::Bool(self.findings.is_empty())),
            ("findings", list(self.findings.iter().map(finding))),
            ("columns", list(names)),
            ("outcomes", list(listed.iter().map(outcome))),
            ("more", number(self.outcomes.len() - listed.len())),
            ("executions", list(executions)),
        ])
    }

    /// The first outcomes, and those in which a finding shows.
    fn listed(&self) -> Vec<(&Values, &Vec<usize>)> {
        let shows = |all: &[usize]| self.findings.iter().any(|(_, found)| all.contains(found));
        let outcomes = self.outcomes.iter().enumerate();
        let listed = outcomes.filter(|(place, (_, all))| *place < LISTED || shows(all));
        listed.map(|(_, outcome)| outcome).collect()
    }

    /// What can be said of all executions of an outcome.
    fn marks(&self, outcome: &[usize]) -> [(&'static str, Json); 4] {
        let any = |holds: &dyn Fn(&Execution) -> bool| {
            outcome
                .iter()
                .any(|&number| holds(&self.executions[number]))
        };
        let is_bad = |one: &Execution| self.typed.never.iter().any(|never| never.is_broken_by(one));
        [
            ("racy", Json::Bool(any(&|one| !one.races().is_empty()))),
            ("weak", Json::Bool(!any(&Execution::is_interleaving))),
            ("buffered", Json::Bool(!any(&Execution::is_causal))),
            ("bad", Json::Bool(any(&is_bad))),
        ]
    }

    /// Those executions of an outcome that are written out: those that show a finding first, and
    /// those with a race before the others.
    fn shown(&self, outcome: &[usize]) -> Vec<usize> {
        let shows = |number: usize| self.findings.iter().any(|&(_, found)| found == number);
        let mut all = outcome.to_vec();
        all.sort_by_key(|&one| (!shows(one), self.executions[one].races().is_empty()));
        let findings = all.iter().filter(|&&one| shows(one)).count();
        all.truncate(findings.max(SHOWN));
        all
    }

    /// The columns of the outcomes: all registers, and the locations whose last value differs, or
    /// that a program without registers has.
    fn columns(&self) -> Vec<usize> {
        let registers = self.typed.registers.len();
        let first = self.outcomes.keys().next();
        let differs = |column: usize| {
            self.outcomes
                .keys()
                .any(|all| Some(all[column]) != first.map(|first| first[column]))
        };
        let locations = registers..registers + self.typed.program.locations().count();
        let wanted = locations.filter(|&column| registers == 0 || differs(column));
        (0..registers).chain(wanted).collect()
    }

    fn column(&self, column: usize) -> &str {
        let program = &self.typed.program;
        match self.typed.registers.get(column) {
            Some((name, _)) => name,
            None => {
                let location = Location(column - self.typed.registers.len());
                &program.variable(location).name
            }
        }
    }

    fn execution(&self, number: usize) -> Json {
        let execution = &self.executions[number];
        json::execution(&self.typed.program, execution, |race| {
            Some(self.race(execution, race))
        })
    }
}

fn values(typed: &Typed, execution: &Execution) -> Values {
    let registers = typed
        .registers
        .iter()
        .map(|&(_, register)| execution.value(register));
    let locations = typed
        .program
        .locations()
        .map(|location| Some(execution.last(location)));
    registers.chain(locations).collect()
}

/// The executions of a program, and whether load buffering is among them if it is allowed. Returns
/// nothing if there are too many.
fn explored(program: &Program) -> Option<(bool, Vec<Execution>)> {
    let rc11 = rc11_within(program, MOST_GRAPHS, MOST_EXECUTIONS)?;
    if !can_buffer(program) {
        return Some((true, rc11));
    }
    let Some(mut executions) = buffering_within(program, MOST_WAYS) else {
        return Some((false, rc11));
    };
    let happens = |one: &Execution| Machine::ALL.into_iter().any(|machine| machine.allows(one));
    executions.retain(|one| one.is_causal() || happens(one));
    Some((true, executions))
}

/// Whether program order and reads-from can form a cycle. A cycle leaves at least two threads, each
/// by a write after a read.
fn can_buffer(program: &Program) -> bool {
    let reads_then_writes = |thread: &&Thread| {
        let steps = thread.steps();
        let read = steps.iter().position(|step| step.kind.reads());
        read.is_some_and(|read| steps[read + 1..].iter().any(|step| step.kind.writes()))
    };
    program.threads().iter().filter(reads_then_writes).count() > 1
}
