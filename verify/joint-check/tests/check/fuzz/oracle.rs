//! What a program can do, by the axioms. The loops are written out: each look is in the branch of
//! the one that failed before it.

use std::fmt::Write;

use joint_check::sync::atomic::Ordering;

use axioms::{Event, EventId, Execution, Location, Model, explore, language::parse_large};

use super::{
    Ends, Record,
    program::{FREED, Place, Program, Shape, Step, Wait},
};

/// Writes a thread for `axioms`. Each way out of a loop has the rest of the thread.
struct Text<'p> {
    program: &'p [Vec<Step>],
    thread: usize,
    registers: usize,
    text: String,
    /// Whether the next step has looked whether its location was freed.
    looked: bool,
}

/// The words, the lock, what may be freed, the state and the value of the static, and the tokens.
const NAMES: [&str; 9] = ["x", "y", "m", "f", "s", "l", "t0", "t1", "t2"];
/// Plain locations that nobody writes. `axioms` has no plain access to an atomic, so a read of one
/// of these stands for a plain read of an atomic, or for the read of an exclusive access, whose
/// write is a relaxed store. It orders nothing, and what it finds and its races are added here. If
/// none races, whatever a release sequence of that store would order is ordered already.
const PLAIN: [&str; 4] = ["px", "py", "", "pf"];
const EXCLUSIVE: [&str; 2] = ["ex", "ey"];
const LOCK: Place = 2;
const STATIC: Place = 4;
const VALUE: Place = 5;
const TOKENS: Place = 6;
/// The states of the static.
const BEING_MADE: usize = 1;
const MADE: usize = 2;

/// The threads of a program with what they do at their ends, and again without each park that may
/// return for no reason.
fn variants(program: &Program) -> Vec<Vec<Vec<Step>>> {
    let mut all = program.threads.clone();
    for steps in &mut all {
        let late = steps.iter().rev().find_map(|step| match *step {
            Step::Local(place, value) => Some(Step::Store(place, value, Ordering::Release)),
            _ => None,
        });
        steps.retain(|step| !matches!(step, Step::Local(..)));
        steps.extend(late);
    }
    let mut variants = vec![all.clone()];
    for (thread, steps) in all.iter().enumerate() {
        for at in (0..steps.len()).filter(|&at| matches!(steps[at], Step::Park)) {
            let mut without = all.clone();
            without[thread].remove(at);
            variants.push(without);
        }
    }
    variants.truncate(if program.spurious == 0 {
        1
    } else {
        variants.len()
    });
    variants
}

/// How many looks at a place find other writes: a later one would find what the last one found.
fn most_failures(program: &[Vec<Step>], thread: usize, wait: Wait) -> usize {
    let (least, most) = match wait.shape {
        Shape::GivesUp { looks, .. } => return looks,
        Shape::Backoff { hints } => (hints, hints + 1),
    };
    let others = program.iter().enumerate().filter(|(n, _)| *n != thread);
    let others = others.flat_map(|(_, steps)| steps);
    let writes = others.filter(|step| step.writes(wait.place)).count();
    most.max(least + writes + 1)
}

/// At least the ways in which the reads of a program can find writes.
pub(super) fn ways(program: &Program) -> f64 {
    let program = &variants(program)[0];
    let writes = program.iter().flatten().map(|step| match step {
        Step::Store(..) | Step::Swap(..) | Step::Add(..) | Step::Exchange(..) => 1,
        Step::Exclusive(..) | Step::Unpark(_) | Step::Static(_) => 1,
        Step::Wait(wait) => usize::from(wait.exchanges) + usize::from(wait.late.is_some()),
        _ => 0,
    });
    let writes = 1.0 + 0.5 * writes.sum::<usize>() as f64;
    let threads = program.iter().enumerate();
    let reads = threads.flat_map(|(thread, steps)| steps.iter().map(move |step| (thread, step)));
    let reads = reads.map(|(thread, step)| match step {
        Step::Store(..) | Step::Fence(_) | Step::Write(_) | Step::Free { .. } => 0,
        Step::PlainLoad(_) | Step::Exclusive(..) => 0,
        Step::Static(_) => 2,
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

    /// Reads a plain location.
    fn read_plain(&mut self, name: &str) {
        self.registers += 1;
        writeln!(self.text, "r{} = {name}", self.registers).unwrap();
    }

    fn steps(&mut self, steps: &[Step]) {
        let Some((&step, rest)) = steps.split_first() else {
            return;
        };
        match step {
            Step::Load(FREED, _) | Step::Store(FREED, ..) | Step::PlainLoad(FREED)
                if !self.looked =>
            {
                self.read_plain("g");
                self.looked = true;
                return self.steps(steps);
            }
            Step::Load(place, ordering) => _ = self.read(place, &format!("load({ordering:?})")),
            Step::Swap(place, value, ordering) => {
                self.read(place, &format!("swap({value}, {ordering:?})"));
            }
            Step::Add(place, ordering) => {
                self.read(place, &format!("fetch_add(1, {ordering:?})"));
            }
            Step::Exchange(place, [current, new], [success, failure]) => {
                let operation =
                    format!("compare_exchange({current}, {new}, {success:?}, {failure:?})");
                self.read(place, &operation);
            }
            Step::Store(place, value, ordering) => {
                writeln!(self.text, "{}.store({value}, {ordering:?})", NAMES[place]).unwrap();
            }
            Step::PlainLoad(place) => self.read_plain(PLAIN[place]),
            Step::Exclusive(place, value) => {
                self.read_plain(EXCLUSIVE[place]);
                writeln!(self.text, "{}.store({value}, Relaxed)", NAMES[place]).unwrap();
            }
            Step::Fence(ordering) => writeln!(self.text, "fence({ordering:?})").unwrap(),
            Step::Read => self.read_plain("d"),
            Step::Write(value) => writeln!(self.text, "d = {value}").unwrap(),
            Step::Locked(value) => {
                let register = self.read(LOCK, "compare_exchange(0, 1, Acquire, Relaxed)");
                let holds = |text: &mut Self| {
                    text.steps(&[value.map_or(Step::Read, Step::Write)]);
                    writeln!(text.text, "m.store(0, Release)").unwrap();
                    text.steps(rest);
                };
                return self.branch(register, 0, holds, |_| ());
            }
            Step::Wait(wait) => return self.looks(wait, 0, rest),
            Step::Park => {
                let token = TOKENS + self.thread;
                let register = self.read(token, "compare_exchange(1, 0, Acquire, Relaxed)");
                return self.branch(register, 1, |text| text.steps(rest), |_| ());
            }
            Step::Unpark(thread) => _ = self.read(TOKENS + thread, "swap(1, Release)"),
            Step::Static(ordering) => {
                let add = Step::Add(VALUE, ordering);
                let made: Vec<_> = [add].into_iter().chain(rest.iter().copied()).collect();
                let register = self.read(STATIC, "load(Acquire)");
                let made = &made;
                return self.branch(
                    register,
                    MADE,
                    |text| text.steps(made),
                    |text| {
                        let claim = format!("compare_exchange(0, {BEING_MADE}, Acquire, Acquire)");
                        let register = text.read(STATIC, &claim);
                        let makes = |text: &mut Self| {
                            writeln!(text.text, "s.store({MADE}, Release)").unwrap();
                            text.steps(made);
                        };
                        let waits = |text: &mut Self| {
                            text.branch(register, MADE, |text| text.steps(made), |_| ());
                        };
                        text.branch(register, 0, makes, waits);
                    },
                );
            }
            Step::Free { .. } => self.text += "g = 1\n",
            Step::Local(..) => unreachable!("it is at the end of its thread"),
        }
        self.looked = false;
        self.steps(rest);
    }

    fn branch(
        &mut self,
        register: usize,
        value: usize,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        writeln!(self.text, "if r{register} == {value} {{").unwrap();
        then(self);
        self.text += "} else {\n";
        otherwise(self);
        self.text += "}\n";
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
        let again = |text: &mut Self| text.looks(wait, failed + 1, rest);
        self.branch(register, value, |text| text.steps(&after), again);
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
    /// Whether it has used what was freed.
    is_late: bool,
}

fn walk(thread: usize, steps: &[Step], mut reads: impl Iterator<Item = (usize, EventId)>) -> Walk {
    let mut walk = Walk::default();
    for &step in steps {
        if let Step::Load(FREED, _) | Step::Store(FREED, ..) | Step::PlainLoad(FREED) = step {
            walk.is_late |= reads.next().expect("it has looked").0 == 1;
        }
        match step {
            Step::Load(..)
            | Step::Swap(..)
            | Step::Add(..)
            | Step::Exchange(..)
            | Step::PlainLoad(_)
            | Step::Exclusive(..)
            | Step::Read => {
                walk.record.push(reads.next().expect("it has read").0);
            }
            Step::Unpark(_) => _ = reads.next(),
            Step::Park => {
                let (token, source) = reads.next().expect("it has looked");
                if token == 0 {
                    walk.waits = Some((TOKENS + thread, source));
                    return walk;
                }
            }
            Step::Static(_) => {
                if reads.next().expect("it has looked").0 != MADE {
                    let (state, source) = reads.next().expect("it has looked");
                    if state == BEING_MADE {
                        walk.waits = Some((STATIC, source));
                        return walk;
                    }
                }
                walk.record.push(reads.next().expect("it has read").0);
            }
            Step::Store(..)
            | Step::Fence(_)
            | Step::Write(_)
            | Step::Free { .. }
            | Step::Local(..) => {}
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
    let mut ends = Ends::default();
    for variant in variants(program) {
        add_ends(&variant, &mut ends);
    }
    ends
}

fn add_ends(program: &[Vec<Step>], ends: &mut Ends) {
    let mut text = Text {
        program,
        thread: 0,
        registers: 0,
        text: format!(
            "atomic {}\nplain d, g, px, py, pf, ex, ey\n",
            NAMES.join(", ")
        ),
        looked: false,
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
    let stands_for = |names: &[&str]| {
        let stands_for =
            |(place, name): (Place, &&str)| Some((typed.program.location(name)?, places[place]));
        names.iter().enumerate().filter_map(stands_for).collect()
    };
    let plain = Plain {
        loads: stands_for(&PLAIN),
        exclusive: stands_for(&EXCLUSIVE),
    };
    for execution in explore(&typed.program, Model::Rc11) {
        let walks = walks(program, &execution, &plain);
        let is_late = walks.iter().any(|walk| walk.is_late);
        ends.races |= is_late || !execution.races().is_empty() || plain.races(&execution);
        let is_last = |&(place, write): &(Place, EventId)| {
            execution.writes(places[place]).last() == Some(&write)
        };
        if walks.iter().all(|walk| walk.waits.is_none()) {
            ends.executions += u64::from(!walks.iter().any(|walk| walk.repeats));
            let last = [0, 1].map(|place| execution.last(places[place]) as usize);
            let records = walks.into_iter().map(|walk| walk.record);
            ends.records
                .insert(records.chain([last.to_vec()]).collect());
        } else {
            ends.deadlocks |= walks
                .iter()
                .filter_map(|walk| walk.waits.as_ref())
                .all(is_last);
        }
    }
}

fn walks(program: &[Vec<Step>], execution: &Execution, plain: &Plain) -> Vec<Walk> {
    let events = execution.events();
    let walk = |(thread, steps): (usize, &Vec<Step>)| {
        let reads = execution.lane(thread).filter_map(|id| {
            events[id].read?;
            let source = match plain.access(&events[id]) {
                Some((place, _)) => last_known(execution, place, id),
                None => execution.source(id),
            };
            Some((events[source?].written? as usize, source?))
        });
        walk(thread, steps, reads)
    };
    program.iter().enumerate().map(walk).collect()
}

/// The last write of a location that happens before an event.
fn last_known(execution: &Execution, place: Location, id: EventId) -> Option<EventId> {
    let writes = execution.writes(place).iter().copied();
    writes
        .rev()
        .find(|&write| execution.edges().hb.has(write, id))
}

/// The locations whose reads stand for plain accesses, and the atomics for which they stand.
struct Plain {
    loads: Vec<(Location, Location)>,
    exclusive: Vec<(Location, Location)>,
}

impl Plain {
    /// The atomic for which an event stands, and whether its access is exclusive.
    fn access(&self, event: &Event) -> Option<(Location, bool)> {
        let find = |all: &[(Location, Location)]| {
            let found = all.iter().find(|(own, _)| event.location == Some(*own))?;
            Some(found.1)
        };
        let load = find(&self.loads).map(|place| (place, false));
        load.or_else(|| find(&self.exclusive).map(|place| (place, true)))
    }

    /// Whether an access that is not atomic races with an operation of the atomic. Another plain
    /// read races with the store of an exclusive access.
    fn races(&self, execution: &Execution) -> bool {
        let (events, hb) = (execution.events(), &execution.edges().hb);
        (0..events.len()).any(|id| {
            let Some((place, is_exclusive)) = self.access(&events[id]) else {
                return false;
            };
            (0..events.len()).any(|other| {
                let event = &events[other];
                event.location == Some(place)
                    && (is_exclusive || event.kind.writes())
                    && event
                        .thread
                        .is_some_and(|thread| Some(thread) != events[id].thread)
                    && !hb.has(id, other)
                    && !hb.has(other, id)
            })
        })
    }
}
