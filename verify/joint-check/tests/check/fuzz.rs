//! Programs made by chance, and the classic ones, against `axioms`, where loops are written out.
//!
//! No end and no execution may be missed, none may be found that the axioms do not allow, and
//! none twice. Those that race, use what was freed, or end in a deadlock are the same.
//! `JOINT_CHECK_FUZZ` is for how many seconds further programs are made.

mod oracle;
mod program;

use std::{
    alloc::{Layout, dealloc},
    cell::{RefCell, UnsafeCell},
    collections::BTreeSet,
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use joint_check::{
    hint,
    model::{Builder, Count, last_count, last_failure},
    sync::atomic::{AtomicUsize, Ordering::*, fence},
    thread::{self, Thread},
};

use self::{
    oracle::{expected, ways},
    program::{FREED, Program, Shape, Step, Wait},
};
use crate::Shared;

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

struct Memory {
    words: [UnsafeCell<AtomicUsize>; 2],
    freed: *mut AtomicUsize,
    lock: joint_check::sync::Mutex<()>,
    cell: Shared,
    threads: Mutex<Vec<Thread>>,
}

// SAFETY: the checker looks for races, and for uses of what was freed.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`.
unsafe impl Sync for Memory {}

impl Memory {
    fn free(&self, drops: bool) {
        if drops {
            // SAFETY: it was a box, and each program frees it once.
            drop(unsafe { Box::from_raw(self.freed) });
        } else {
            // SAFETY: as above.
            unsafe { dealloc(self.freed.cast(), Layout::new::<AtomicUsize>()) };
        }
    }
}

joint_check::lazy_static! {
    static ref LAZY: AtomicUsize = AtomicUsize::new(0);
}

/// Does a step at the end of its thread.
struct Late(RefCell<Option<(&'static Memory, Step)>>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some((memory, step)) = self.0.take() {
            take::<0>(step, memory, &mut Record::new());
        }
    }
}

joint_check::thread_local! {
    static LATE: Late = const { Late(RefCell::new(None)) };
}

/// Does a step. Each `SLOT` is another place in the program.
fn take<const SLOT: usize>(step: Step, memory: &'static Memory, record: &mut Record) {
    black_box(SLOT);
    let (lock, cell) = (&memory.lock, &memory.cell);
    let pointer = |place: usize| match place {
        FREED => memory.freed,
        _ => memory.words[place].get(),
    };
    // SAFETY: if it was freed, its memory stays to the end of the execution.
    let word = |place: usize| unsafe { &*pointer(place) };
    match step {
        Step::Load(place, ordering) => record.push(word(place).load(ordering)),
        Step::Store(place, value, ordering) => word(place).store(value, ordering),
        Step::Swap(place, value, ordering) => record.push(word(place).swap(value, ordering)),
        Step::Add(place, ordering) => record.push(word(place).fetch_add(1, ordering)),
        Step::Exchange(place, [current, new], [success, failure]) => {
            let found = word(place).compare_exchange(current, new, success, failure);
            record.push(found.unwrap_or_else(|found| found));
        }
        // SAFETY: the checker looks for races.
        Step::PlainLoad(place) => record.push(unsafe { word(place).unsync_load() }),
        Step::Exclusive(place, value) => {
            // SAFETY: as above.
            let word = unsafe { &mut *pointer(place) };
            record.push(word.with_mut(|word| std::mem::replace(word, value)));
        }
        Step::Fence(ordering) => fence(ordering),
        Step::Read => record.push(cell.read() as usize),
        Step::Write(value) => cell.write(value as u32),
        Step::Locked(value) => {
            let _guard = lock.lock().unwrap();
            take::<SLOT>(value.map_or(Step::Read, Step::Write), memory, record);
        }
        Step::Park => thread::park(),
        Step::Unpark(thread) => {
            let thread = memory.threads.lock().unwrap()[thread].clone();
            thread.unpark();
        }
        Step::Static(ordering) => record.push(LAZY.fetch_add(1, ordering)),
        Step::Local(place, value) => {
            let late = (memory, Step::Store(place, value, Release));
            _ = LATE.with(|it| it.0.replace(Some(late)));
        }
        Step::Free { drops } => memory.free(drops),
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
            while !look(word(wait.place)) {
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
    let (found, own) = (records.clone(), program.clone());
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder.merges = merges;
    builder.spurious = Some(program.spurious);
    let model = move || {
        // Of an execution that does not end, it is leaked.
        let memory: &_ = Box::leak(Box::new(Memory {
            words: [0; 2].map(|value| UnsafeCell::new(AtomicUsize::new(value))),
            freed: Box::into_raw(Box::new(AtomicUsize::new(0))),
            lock: joint_check::sync::Mutex::new(()),
            cell: Shared::new(),
            threads: Mutex::default(),
        }));
        let start = |steps: &Vec<Step>| {
            let steps = steps.clone();
            let spawned = thread::spawn(move || {
                const SLOTS: [fn(Step, &'static Memory, &mut Record); 8] = [
                    take::<0>, take::<1>, take::<2>, take::<3>, take::<4>, take::<5>, take::<6>,
                    take::<7>,
                ];
                let mut record = Record::new();
                assert!(steps.len() <= SLOTS.len());
                for (step, take) in steps.into_iter().zip(SLOTS) {
                    take(step, memory, &mut record);
                }
                record
            });
            let thread = spawned.thread().clone();
            memory.threads.lock().unwrap().push(thread);
            spawned
        };
        let threads: Vec<_> = own.threads.iter().map(start).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        let mut ends: Vec<Record> = ends.collect();
        // SAFETY: it is there, and nobody has an exclusive reference.
        let last = memory
            .words
            .each_ref()
            .map(|word| unsafe { &*word.get() }.load(Relaxed));
        ends.push(last.to_vec());
        if !own.has(|step| matches!(step, Step::Free { .. })) {
            memory.free(true);
        }
        // SAFETY: it was a box, and the threads have ended.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(memory).cast_mut()) });
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
        races: fails("data race") || fails("use after free"),
    };
    assert_eq!(
        failure.is_some(),
        ends.deadlocks || ends.races,
        "{program:?}: {failure:?}"
    );
    (ends, count)
}

/// Compares a program. Returns what it can do, and whether both agree.
fn compare(name: &str, program: &Program) -> (Ends, bool) {
    let expected = expected(program);
    // The wait for a static is an exchange here that `axioms` has no word for.
    let counts = !program.has(|step| matches!(step, Step::Static(_)));
    let mut agrees = true;
    for merges in [false, true] {
        let (found, count) = checked(program, merges);
        // The first failure is the only one. Merged exchanges have fewer executions.
        let is_right = match (found.deadlocks, found.races) {
            (true, _) => expected.deadlocks,
            (_, true) => expected.races,
            _ if expected.deadlocks || expected.races => false,
            _ => {
                let executions = merges || !counts || found.executions == expected.executions;
                found.records == expected.records && executions && count.duplicates == 0
            }
        };
        if is_right {
            continue;
        }
        let missed: Vec<_> = expected.records.difference(&found.records).collect();
        let spurious: Vec<_> = found.records.difference(&expected.records).collect();
        let counts = (found.executions, expected.executions, count.duplicates);
        let deadlocks = (found.deadlocks, expected.deadlocks);
        let races = (found.races, expected.races);
        eprintln!("{name}, merges: {merges}: {program:?}");
        eprintln!("missed {missed:?}, spurious {spurious:?}");
        eprintln!(
            "executions, expected, doubled: {counts:?}; deadlocks: {deadlocks:?}; races: {races:?}"
        );
        agrees = false;
    }
    (expected, agrees)
}

/// How many programs are tried in any case.
const LEAST: usize = 1_500;

#[test]
fn programs_made_by_chance_have_the_executions_of_the_axioms() {
    let seconds = std::env::var("JOINT_CHECK_FUZZ").ok();
    let seconds = seconds.map(|text| text.parse().expect("JOINT_CHECK_FUZZ is a number"));
    let (started, more) = (
        Instant::now(),
        seconds.map_or(Duration::ZERO, Duration::from_secs),
    );
    let (mut failed, mut wrong, mut tried) = ([0; 2], Vec::new(), 0);
    let programs = (0..).map(|seed| (seed, Program::by_chance(seed)));
    let programs = programs.filter(|(_, program)| ways(program) < 2_000.0);
    if seconds.is_some() {
        // The harness would keep what is said of each program that fails: a gigabyte in an hour.
        std::panic::set_hook(Box::new(|_| ()));
    }
    for (seed, program) in programs {
        if tried >= LEAST && started.elapsed() >= more {
            break;
        }
        tried += 1;
        let (expected, agrees) = compare(&seed.to_string(), &program);
        failed[0] += usize::from(expected.deadlocks);
        failed[1] += usize::from(expected.races);
        wrong.extend((!agrees).then_some(seed));
    }
    drop(std::panic::take_hook());
    eprintln!(
        "{tried} programs, {failed:?} with deadlocks and races, {} differ",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(failed.iter().all(|&failed| failed > 50), "{failed:?}");
}

/// Programs that the checker was wrong about, and why.
const FOUND: [(u64, &str); 7] = [
    // In the run after a free, the free came before the store.
    (13_369, "a store is done again after a free"),
    // The memory begins with 1 and 2, as that of an `Arc` with a `Weak` does.
    (64_725, "numbers like those of an Arc order nothing"),
    // The read of an exchange comes before its write, and may read what another has replaced.
    (
        166_388,
        "a plain read races with no exchange that cannot be",
    ),
    (
        186_828,
        "a plain read races with no exchange that cannot be",
    ),
    // The trial of the free has to leave the loop as the run did.
    (370_949, "memory is freed after a loop that gave up"),
    (789_638, "a park that returns for no reason reads nothing"),
    (886_333, "a park that returns for no reason reads nothing"),
];

#[test]
fn programs_that_were_wrong_have_the_executions_of_the_axioms() {
    for (seed, what) in FOUND {
        assert!(compare(what, &Program::by_chance(seed)).1, "{seed}: {what}");
    }
}

/// The classic shapes, with an ordering for writes and one for reads.
const SHAPES: [(&str, &str); 13] = [
    ("SB", "x=1.w; y.r | y=1.w; x.r"),
    ("SB+fences", "x=1.w; F.sc; y.r | y=1.w; F.sc; x.r"),
    ("MP", "x=1.w; y=1.w | y.r; x.r"),
    ("LB", "x.r; y=1.w | y.r; x=1.w"),
    ("2+2W", "x=1.w; y=2.w | y=1.w; x=2.w"),
    ("IRIW", "x=1.w | y=1.w | x.r; y.r | y.r; x.r"),
    (
        "IRIW+fences",
        "x=1.w | y=1.w | x.r; F.sc; y.r | y.r; F.sc; x.r",
    ),
    (
        "IRIW of SeqCst loads",
        "x=1.w | y=1.w | x.sc; y.sc | y.sc; x.r",
    ),
    ("SB+ra hop", "x=1.w; x=2.rel | x.acq; y.r | y=1.w; x.r"),
    ("CoRR", "x=1.w | x=2.w | x.r; x.r | x.r; x.r"),
    ("chain", "y=1.w; x+1.w; y.r | x+1.w; x+1.w | x+1.w; y=2.w"),
    ("WRC", "x=1.w | x.r; y=1.w | y.r; x.r"),
    ("R", "x=1.w; F.sc; y=1.w | y=2.w; F.sc; x.r"),
];

#[test]
fn classic_shapes_have_the_executions_of_the_axioms() {
    for (name, text) in SHAPES {
        for w in [Relaxed, Release, SeqCst] {
            for r in [Relaxed, Acquire, SeqCst] {
                assert!(compare(name, &Program::of_text(text, w, r)).1);
            }
        }
    }
}
