//! Programs made by chance with loops that wait, against `axioms`, where the loops are written out.
//!
//! No end and no execution may be missed, none may be found that the axioms do not allow, and
//! none twice. Those that race or end in a deadlock are the same. `JOINT_CHECK_FUZZ` is for how
//! many seconds further programs are made.

mod oracle;

use std::{
    collections::BTreeSet,
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use joint_check::{
    hint,
    model::{Builder, Count, last_count, last_failure},
    sync::atomic::{AtomicUsize, Ordering, Ordering::*, fence},
    thread,
};

use self::oracle::{expected, ways};
use crate::{Shared, chance};

/// One of the two locations.
type Place = usize;

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(Place, Ordering),
    Store(Place, usize, Ordering),
    Swap(Place, usize, Ordering),
    Add(Place, Ordering),
    Fence(Ordering),
    /// Reads the cell.
    Read,
    /// Writes the cell.
    Write(usize),
    /// Reads the cell, or writes a value, with the lock.
    Locked(Option<usize>),
    Wait(Wait),
}

/// A loop that ends when it finds a value.
#[derive(Clone, Copy, Debug)]
struct Wait {
    place: Place,
    value: usize,
    ordering: Ordering,
    shape: Shape,
    /// Writes another value in the place of the one that it finds.
    exchanges: bool,
    /// What is written elsewhere if the loop has given up, or has yielded.
    late: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A hint after each look, and after the last one perhaps.
    GivesUp { looks: usize, hints_last: bool },
    /// Hints after the first looks, then yields, without an end.
    Backoff { hints: usize },
}

impl Wait {
    /// The value that an exchange writes.
    const TAKEN: usize = 3;

    fn writes_late(self) -> Step {
        Step::Store(1 - self.place, self.late.unwrap_or(0), Release)
    }

    /// Whether it gives up after a number of looks that have failed.
    fn gives_up(self, failed: usize) -> bool {
        matches!(self.shape, Shape::GivesUp { looks, .. } if looks == failed)
    }

    /// Whether it was late after a number of looks that have failed.
    fn is_late(self, failed: usize) -> bool {
        match self.shape {
            Shape::GivesUp { looks, .. } => failed == looks,
            Shape::Backoff { hints } => failed > hints,
        }
    }
}

type Program = Vec<Vec<Step>>;

/// What the reads of a thread have found, and which waits were late.
type Record = Vec<usize>;

/// What a program can do.
#[derive(Debug, Default, Eq, PartialEq)]
struct Ends {
    records: BTreeSet<Vec<Record>>,
    executions: u64,
    deadlocks: bool,
    races: bool,
}

fn program(seed: u64) -> Program {
    let mut below = chance(seed);
    let mut pick = move |n: usize| below(n as u64) as usize;
    let threads = 2 + usize::from(pick(4) == 0);
    let with_cell = pick(2) == 0;
    let mut program: Program = vec![Vec::new(); threads];
    // What is waited for: the place, the value, and the thread that waits.
    let mut wanted = Vec::new();
    for (n, steps) in program.iter_mut().enumerate() {
        let length = if threads == 2 {
            1 + pick(3)
        } else {
            1 + pick(2)
        };
        let mut last: Option<Wait> = None;
        for _ in 0..length {
            let (place, value) = (pick(2), 1 + pick(2));
            let waits = pick(3) == 0 && wanted.len() < 2;
            let step = match pick(6) {
                _ if waits => {
                    let same = last.filter(|_| pick(3) > 0);
                    let (place, value) = same.map_or((place, value), |it| (it.place, it.value));
                    let shape = match pick(2) {
                        0 => Shape::GivesUp {
                            looks: 1 + pick(3),
                            hints_last: pick(2) == 0,
                        },
                        _ => Shape::Backoff { hints: pick(3) },
                    };
                    let wait = Wait {
                        place,
                        value,
                        ordering: [Relaxed, Acquire, SeqCst][pick(3)],
                        shape,
                        exchanges: pick(4) == 0,
                        late: [None, None, Some(1 + pick(2))][pick(3)],
                    };
                    wanted.push((place, value, n));
                    last = Some(wait);
                    Step::Wait(wait)
                }
                3.. if with_cell => [
                    Step::Read,
                    Step::Write(value),
                    Step::Locked(None),
                    Step::Locked(Some(value)),
                ][pick(4)],
                0 | 1 => Step::Load(place, [Relaxed, Acquire, SeqCst][pick(3)]),
                2 | 3 => Step::Store(place, value, [Relaxed, Release, SeqCst][pick(3)]),
                4 if pick(2) == 0 => Step::Swap(place, value, [Relaxed, AcqRel, SeqCst][pick(3)]),
                4 => Step::Add(place, [Relaxed, AcqRel, SeqCst][pick(3)]),
                _ => Step::Fence([Acquire, Release, SeqCst][pick(3)]),
            };
            steps.push(step);
        }
    }
    for (place, value, waits) in wanted {
        let writer = &mut program[(waits + 1 + pick(threads - 1)) % threads];
        let at = pick(writer.len() + 1);
        writer.insert(
            at,
            Step::Store(place, value, [Relaxed, Release, SeqCst][pick(3)]),
        );
    }
    program
}

struct Memory {
    words: [AtomicUsize; 2],
    lock: joint_check::sync::Mutex<()>,
    cell: Shared,
}

/// Does a step. Each `SLOT` is another place in the program.
fn take<const SLOT: usize>(step: Step, memory: &Memory, record: &mut Record) {
    black_box(SLOT);
    let Memory { words, lock, cell } = memory;
    match step {
        Step::Load(place, ordering) => record.push(words[place].load(ordering)),
        Step::Store(place, value, ordering) => words[place].store(value, ordering),
        Step::Swap(place, value, ordering) => record.push(words[place].swap(value, ordering)),
        Step::Add(place, ordering) => record.push(words[place].fetch_add(1, ordering)),
        Step::Fence(ordering) => fence(ordering),
        Step::Read => record.push(cell.read() as usize),
        Step::Write(value) => cell.write(value as u32),
        Step::Locked(value) => {
            let _guard = lock.lock().unwrap();
            take::<SLOT>(value.map_or(Step::Read, Step::Write), memory, record);
        }
        Step::Wait(wait) => {
            let mut failed = 0;
            let look = |word: &AtomicUsize| match wait.exchanges {
                true => {
                    let (value, ordering) = (wait.value, wait.ordering);
                    let found = word.compare_exchange(value, Wait::TAKEN, ordering, ordering);
                    found.is_ok()
                }
                false => word.load(wait.ordering) == wait.value,
            };
            while !look(&words[wait.place]) {
                failed += 1;
                match wait.shape {
                    Shape::GivesUp { looks, hints_last } => {
                        if failed < looks || hints_last {
                            hint::spin_loop();
                        }
                    }
                    Shape::Backoff { hints } if failed <= hints => {
                        (0..1 << failed).for_each(|_| hint::spin_loop());
                    }
                    Shape::Backoff { .. } => thread::yield_now(),
                }
                if wait.gives_up(failed) {
                    break;
                }
            }
            record.push(wait.is_late(failed).into());
            if wait.is_late(failed) && wait.late.is_some() {
                take::<SLOT>(wait.writes_late(), memory, record);
            }
        }
    }
}

/// Runs a program in the checker.
fn checked(program: &Program, merges: bool) -> (Ends, Count) {
    let records = Arc::new(Mutex::new(BTreeSet::new()));
    let (found, program) = (records.clone(), program.clone());
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder.merges = merges;
    let model = move || {
        let memory = Arc::new(Memory {
            words: [0; 2].map(AtomicUsize::new),
            lock: joint_check::sync::Mutex::new(()),
            cell: Shared::new(),
        });
        let start = |steps: &Vec<Step>| {
            let (steps, memory) = (steps.clone(), memory.clone());
            thread::spawn(move || {
                const SLOTS: [fn(Step, &Memory, &mut Record); 6] = [
                    take::<0>, take::<1>, take::<2>, take::<3>, take::<4>, take::<5>,
                ];
                let mut record = Record::new();
                for (step, take) in steps.into_iter().zip(SLOTS) {
                    take(step, &memory, &mut record);
                }
                record
            })
        };
        let threads: Vec<_> = program.iter().map(start).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        let ends = ends.collect();
        found.lock().unwrap().insert(ends);
    };
    let passes = catch_unwind(AssertUnwindSafe(|| builder.check(model)));
    let failure = passes.as_ref().err().and_then(|_| last_failure());
    let fails = |how: &str| failure.as_ref().is_some_and(|text| text.starts_with(how));
    let count = passes.map_or_else(|_| Count::default(), |()| last_count());
    let ends = Ends {
        records: std::mem::take(&mut *records.lock().unwrap()),
        executions: count.complete,
        deadlocks: fails("deadlock"),
        races: fails("data race"),
    };
    assert_eq!(
        failure.is_some(),
        ends.deadlocks || ends.races,
        "{failure:?}"
    );
    (ends, count)
}

/// How many programs are tried in any case.
const LEAST: usize = 1_000;

#[test]
fn programs_made_by_chance_with_loops_have_the_executions_of_the_axioms() {
    let seconds = std::env::var("JOINT_CHECK_FUZZ").ok();
    let seconds = seconds.map(|text| text.parse().expect("JOINT_CHECK_FUZZ is a number"));
    let (started, more) = (
        Instant::now(),
        seconds.map_or(Duration::ZERO, Duration::from_secs),
    );
    let (mut failed, mut wrong) = ([0; 2], Vec::new());
    let programs = (0..).map(|seed| (seed, program(seed)));
    let programs = programs.filter(|(_, program)| ways(program) < 2_000.0);
    for (n, (seed, program)) in programs.enumerate() {
        if n >= LEAST && started.elapsed() >= more {
            break;
        }
        let expected = expected(&program);
        failed[0] += usize::from(expected.deadlocks);
        failed[1] += usize::from(expected.races);
        for merges in [false, true] {
            let (found, count) = checked(&program, merges);
            // The first failure is the only one. Merged exchanges have fewer executions.
            let is_right = match (found.deadlocks, found.races) {
                (true, _) => expected.deadlocks,
                (_, true) => expected.races,
                _ if expected.deadlocks || expected.races => false,
                _ if merges => found.records == expected.records,
                _ => found == expected && count.duplicates == 0,
            };
            if is_right {
                continue;
            }
            let missed: Vec<_> = expected.records.difference(&found.records).collect();
            let spurious: Vec<_> = found.records.difference(&expected.records).collect();
            let counts = (found.executions, expected.executions, count.duplicates);
            let deadlocks = (found.deadlocks, expected.deadlocks);
            let races = (found.races, expected.races);
            eprintln!("{seed}, merges: {merges}: {program:?}");
            eprintln!("missed {missed:?}, spurious {spurious:?}");
            eprintln!(
                "executions, expected, doubled: {counts:?}; deadlocks: {deadlocks:?}; races: {races:?}"
            );
            wrong.push(seed);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(failed.iter().all(|&failed| failed > 30), "{failed:?}");
}
