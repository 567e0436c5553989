//! What a program can do, by the axioms. The loops are written out: each look is in the branch of
//! the one that failed before it.

use std::fmt::Write;

use axioms::{EventId, Execution, Location, Model, explore, language::parse_large};

use super::{Ends, Place, Program, Record, Shape, Step, Wait};

/// Writes a thread for `axioms`. Each way out of a loop has the rest of the thread.
struct Text<'p> {
    program: &'p Program,
    thread: usize,
    registers: usize,
    text: String,
}

const NAMES: [&str; 3] = ["x", "y", "m"];
const LOCK: Place = 2;

/// How many looks at a place find other writes: a later one would find what the last one found.
fn most_failures(program: &Program, thread: usize, wait: Wait) -> usize {
    let (least, most) = match wait.shape {
        Shape::GivesUp { looks, .. } => return looks,
        Shape::Backoff { hints } => (hints, hints + 1),
    };
    let writes = |step: &&Step| match **step {
        Step::Store(place, ..) | Step::Swap(place, ..) | Step::Add(place, _) => place == wait.place,
        Step::Wait(other) => {
            other.exchanges && other.place == wait.place
                || other.late.is_some() && other.place != wait.place
        }
        _ => false,
    };
    let others = program.iter().enumerate().filter(|(n, _)| *n != thread);
    let writes = others.flat_map(|(_, steps)| steps).filter(writes).count();
    most.max(least + writes + 1)
}

/// At least the ways in which the reads of a program can find writes.
pub(super) fn ways(program: &Program) -> f64 {
    let writes = program.iter().flatten().map(|step| match step {
        Step::Store(..) | Step::Swap(..) | Step::Add(..) => 1,
        Step::Wait(wait) => usize::from(wait.exchanges) + usize::from(wait.late.is_some()),
        _ => 0,
    });
    let writes = 1.0 + 0.5 * writes.sum::<usize>() as f64;
    let threads = program.iter().enumerate();
    let reads = threads.flat_map(|(thread, steps)| steps.iter().map(move |step| (thread, step)));
    let reads = reads.map(|(thread, step)| match step {
        Step::Store(..) | Step::Fence(_) | Step::Write(_) => 0,
        Step::Wait(wait) => most_failures(program, thread, *wait),
        _ => 1,
    });
    writes.powi(reads.sum::<usize>() as i32)
}

impl Text<'_> {
    fn read(&mut self, place: Place, operation: &str) -> usize {
        self.registers += 1;
        let register = self.registers;
        writeln!(self.text, "r{register} = {}.{operation}", NAMES[place]).unwrap();
        register
    }

    fn steps(&mut self, steps: &[Step]) {
        let Some((&step, rest)) = steps.split_first() else {
            return;
        };
        match step {
            Step::Load(place, ordering) => _ = self.read(place, &format!("load({ordering:?})")),
            Step::Swap(place, value, ordering) => {
                self.read(place, &format!("swap({value}, {ordering:?})"));
            }
            Step::Add(place, ordering) => {
                self.read(place, &format!("fetch_add(1, {ordering:?})"));
            }
            Step::Store(place, value, ordering) => {
                writeln!(self.text, "{}.store({value}, {ordering:?})", NAMES[place]).unwrap();
            }
            Step::Fence(ordering) => writeln!(self.text, "fence({ordering:?})").unwrap(),
            Step::Read => {
                self.registers += 1;
                writeln!(self.text, "r{} = d", self.registers).unwrap();
            }
            Step::Write(value) => writeln!(self.text, "d = {value}").unwrap(),
            Step::Locked(value) => {
                let register = self.read(LOCK, "compare_exchange(0, 1, Acquire, Relaxed)");
                writeln!(self.text, "if r{register} == 0 {{").unwrap();
                self.steps(&[value.map_or(Step::Read, Step::Write)]);
                writeln!(self.text, "m.store(0, Release)").unwrap();
                self.steps(rest);
                self.text += "}\n";
                return;
            }
            Step::Wait(wait) => return self.looks(wait, 0, rest),
        }
        self.steps(rest);
    }

    fn looks(&mut self, wait: Wait, failed: usize, rest: &[Step]) {
        let late = (wait.is_late(failed) && wait.late.is_some()).then(|| wait.writes_late());
        let after: Vec<_> = late.into_iter().chain(rest.iter().copied()).collect();
        if failed == most_failures(self.program, self.thread, wait) {
            if wait.gives_up(failed) {
                self.steps(&after);
            }
            return;
        }
        let Wait {
            value, ordering, ..
        } = wait;
        let operation = match wait.exchanges {
            true => format!(
                "compare_exchange({value}, {}, {ordering:?}, {ordering:?})",
                Wait::TAKEN
            ),
            false => format!("load({ordering:?})"),
        };
        let register = self.read(wait.place, &operation);
        writeln!(self.text, "if r{register} == {value} {{").unwrap();
        self.steps(&after);
        self.text += "} else {\n";
        self.looks(wait, failed + 1, rest);
        self.text += "}\n";
    }
}

/// What a thread has done in an execution.
#[derive(Default)]
struct Walk {
    record: Record,
    /// Whether a loop without an end has found the same twice.
    repeats: bool,
    /// The last write that a loop without an end has found, and its place, if it has not ended.
    waits: Option<(Place, EventId)>,
}

fn walk(steps: &[Step], mut reads: impl Iterator<Item = (usize, EventId)>) -> Walk {
    let mut walk = Walk::default();
    for &step in steps {
        match step {
            Step::Load(..) | Step::Swap(..) | Step::Add(..) | Step::Read => {
                walk.record.push(reads.next().expect("it has read").0);
            }
            Step::Store(..) | Step::Fence(_) | Step::Write(_) => {}
            Step::Locked(value) => {
                let (locked, source) = reads.next().expect("it has looked");
                if locked == 1 {
                    walk.waits = Some((LOCK, source));
                    return walk;
                }
                if value.is_none() {
                    walk.record.push(reads.next().expect("it has read").0);
                }
            }
            Step::Wait(wait) => {
                let mut failed = Vec::new();
                loop {
                    if wait.gives_up(failed.len()) {
                        break;
                    }
                    let Some((value, source)) = reads.next() else {
                        let last = failed.last().expect("it has looked");
                        walk.waits = Some((wait.place, *last));
                        return walk;
                    };
                    if value == wait.value {
                        break;
                    }
                    if let Shape::Backoff { hints } = wait.shape {
                        walk.repeats |= failed.len() > hints && failed.last() == Some(&source);
                    }
                    failed.push(source);
                }
                walk.record.push(wait.is_late(failed.len()).into());
            }
        }
    }
    walk
}

/// Asks the axioms.
pub(super) fn expected(program: &Program) -> Ends {
    let mut text = Text {
        program,
        thread: 0,
        registers: 0,
        text: "atomic x, y, m\nplain d\n".to_owned(),
    };
    for (thread, steps) in program.iter().enumerate() {
        text.thread = thread;
        text.text += "thread {\n";
        text.steps(steps);
        text.text += "}\n";
    }
    let typed =
        parse_large(&text.text).unwrap_or_else(|mistake| panic!("{mistake}\n{}", text.text));
    let places: Vec<Location> = typed.program.locations().collect();
    let mut ends = Ends::default();
    for execution in explore(&typed.program, Model::Rc11) {
        ends.races |= !execution.races().is_empty();
        let walks = walks(program, &execution);
        let is_last = |&(place, write): &(Place, EventId)| {
            execution.writes(places[place]).last() == Some(&write)
        };
        if walks.iter().all(|walk| walk.waits.is_none()) {
            ends.executions += u64::from(!walks.iter().any(|walk| walk.repeats));
            ends.records
                .insert(walks.into_iter().map(|walk| walk.record).collect());
        } else {
            ends.deadlocks |= walks
                .iter()
                .filter_map(|walk| walk.waits.as_ref())
                .all(is_last);
        }
    }
    ends
}

fn walks(program: &Program, execution: &Execution) -> Vec<Walk> {
    let walk = |(thread, steps): (usize, &Vec<Step>)| {
        let reads = execution.lane(thread).filter_map(|id| {
            let value = execution.events()[id].read?;
            Some((value as usize, execution.source(id)?))
        });
        walk(steps, reads)
    };
    program.iter().enumerate().map(walk).collect()
}
