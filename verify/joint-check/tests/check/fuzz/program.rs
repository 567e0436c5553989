//! The programs that are made by chance.

use joint_check::sync::atomic::{Ordering, Ordering::*};

use crate::chance;

/// One of the locations.
pub(super) type Place = usize;

/// The location that may be freed.
pub(super) const FREED: Place = 3;

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Load(Place, Ordering),
    Store(Place, usize, Ordering),
    Swap(Place, usize, Ordering),
    Add(Place, Ordering),
    /// Exchanges the first value for the second.
    Exchange(Place, [usize; 2], [Ordering; 2]),
    /// Reads without an atomic operation.
    PlainLoad(Place),
    /// Writes through an exclusive reference.
    Exclusive(Place, usize),
    Fence(Ordering),
    /// Reads the cell.
    Read,
    /// Writes the cell.
    Write(usize),
    /// Reads the cell, or writes a value, with the lock.
    Locked(Option<usize>),
    Wait(Wait),
    Park,
    /// Unparks a thread.
    Unpark(usize),
    /// Adds one to a lazy static.
    Static(Ordering),
    /// Leaves in a thread-local what its destructor stores.
    Local(Place, usize),
    /// Frees a location, without its drop perhaps.
    Free {
        drops: bool,
    },
}

impl Step {
    /// Whether it may write a place.
    pub(super) fn writes(self, place: Place) -> bool {
        match self {
            Self::Store(at, ..)
            | Self::Swap(at, ..)
            | Self::Add(at, _)
            | Self::Exchange(at, ..)
            | Self::Exclusive(at, _)
            | Self::Local(at, _) => at == place,
            Self::Wait(wait) => {
                wait.exchanges && wait.place == place
                    || wait.late.is_some() && 1 - wait.place == place
            }
            _ => false,
        }
    }
}

/// A loop that ends when it finds a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) place: Place,
    pub(super) value: usize,
    pub(super) ordering: Ordering,
    pub(super) shape: Shape,
    /// Writes another value in the place of the one that it finds.
    pub(super) exchanges: bool,
    /// What is written elsewhere if the loop has given up, or has yielded.
    pub(super) late: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A hint after each look, and after the last one perhaps.
    GivesUp { looks: usize, hints_last: bool },
    /// Hints after the first looks, then yields, without an end.
    Backoff { hints: usize },
}

impl Wait {
    /// The value that an exchange writes.
    pub(super) const TAKEN: usize = 3;

    pub(super) fn writes_late(self) -> Step {
        Step::Store(1 - self.place, self.late.unwrap_or(0), Release)
    }

    /// Whether it gives up after a number of looks that have failed.
    pub(super) fn gives_up(self, failed: usize) -> bool {
        matches!(self.shape, Shape::GivesUp { looks, .. } if looks == failed)
    }

    /// Whether it was late after a number of looks that have failed.
    pub(super) fn is_late(self, failed: usize) -> bool {
        match self.shape {
            Shape::GivesUp { looks, .. } => failed == looks,
            Shape::Backoff { hints } => failed > hints,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) threads: Vec<Vec<Step>>,
    /// How many parks may return for no reason.
    pub(super) spurious: usize,
}

/// What a program has beside atomics, a cell and a lock.
#[derive(PartialEq)]
enum Beside {
    Nothing,
    Parks,
    Statics,
    Locals,
    Frees,
}

impl Program {
    pub(super) fn by_chance(seed: u64) -> Self {
        use Beside::*;
        let mut below = chance(seed);
        let mut pick = move |n: usize| below(n as u64) as usize;
        let threads = 2 + usize::from(pick(4) == 0);
        let mut program = Self {
            threads: vec![Vec::new(); threads],
            spurious: pick(2),
        };
        let with_cell = pick(2) == 0;
        let beside = [Nothing, Nothing, Parks, Statics, Locals, Frees];
        let beside = &beside[pick(6)];
        // What is waited for: the thread that waits, and what another one does for it.
        let mut wanted = Vec::new();
        for (n, steps) in program.threads.iter_mut().enumerate() {
            let length = 1 + pick(if threads == 2 { 4 } else { 2 });
            let mut last: Option<Wait> = None;
            for _ in 0..length {
                let (place, value) = (pick(2), 1 + pick(2));
                let waits = pick(4) == 0 && wanted.len() < 2;
                let all = [Relaxed, Acquire, Release, AcqRel, SeqCst][pick(5)];
                let load = [Relaxed, Acquire, SeqCst][pick(3)];
                let store = [Relaxed, Release, SeqCst][pick(3)];
                let step = match pick(6) {
                    0 | 1 if *beside == Parks && wanted.len() < 2 && n + 1 < threads => {
                        wanted.push((n, Step::Unpark(n)));
                        Step::Park
                    }
                    0 if *beside == Statics => Step::Static(all),
                    0 if *beside == Locals => Step::Local(place, value),
                    0 if *beside == Frees => Step::Load(FREED, load),
                    1 if *beside == Frees => Step::Store(FREED, value, store),
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
                            ordering: load,
                            shape,
                            exchanges: pick(4) == 0,
                            late: [None, None, Some(1 + pick(2))][pick(3)],
                        };
                        wanted.push((n, Step::Store(place, value, store)));
                        last = Some(wait);
                        Step::Wait(wait)
                    }
                    3.. if with_cell => [
                        Step::Read,
                        Step::Write(value),
                        Step::Locked(None),
                        Step::Locked(Some(value)),
                    ][pick(4)],
                    0 | 1 => Step::Load(place, load),
                    2 | 3 => Step::Store(place, value, store),
                    4 => [
                        Step::Swap(place, value, all),
                        Step::Add(place, all),
                        Step::Exchange(place, [pick(2), value], [all, load]),
                    ][pick(3)],
                    _ => Step::Fence([Acquire, Release, AcqRel, SeqCst][pick(4)]),
                };
                steps.push(step);
            }
        }
        let frees = (*beside == Frees && pick(4) > 0).then(|| Step::Free {
            drops: pick(2) == 0,
        });
        // By any thread, where nobody waits for it.
        wanted.extend(frees.map(|free| (pick(threads), free)));
        for (waits, step) in wanted {
            // A thread has the handles of those that were spawned before it.
            let others = match step {
                Step::Unpark(_) => threads - 1 - waits,
                _ => threads - 1,
            };
            let other = (waits + 1 + pick(others)) % threads;
            let writer = &mut program.threads[other];
            writer.insert(pick(writer.len() + 1), step);
        }
        if seed % 2 == 0 {
            program.access_plainly(*beside == Frees, pick);
        }
        program
    }

    /// Adds plain reads of the atomics, mostly of those that only their thread writes, because most
    /// others race. Makes some stores exclusive.
    fn access_plainly(&mut self, frees: bool, mut pick: impl FnMut(usize) -> usize) {
        for n in 0..self.threads.len() {
            let place = [0, 1, FREED][pick(2 + usize::from(frees))];
            let writes = |steps: &Vec<Step>| steps.iter().any(|step| step.writes(place));
            let others = &mut self.threads.iter().enumerate();
            let is_shared = others.any(|(other, steps)| other != n && writes(steps));
            let steps = &mut self.threads[n];
            if pick(if is_shared { 4 } else { 2 }) == 0 {
                steps.insert(pick(steps.len() + 1), Step::PlainLoad(place));
            }
            for step in steps {
                match *step {
                    Step::Store(place @ 0..=1, value, Relaxed) if pick(3) == 0 => {
                        *step = Step::Exclusive(place, value);
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) fn has(&self, is: impl Fn(&Step) -> bool) -> bool {
        self.threads.iter().flatten().any(is)
    }

    /// Reads threads between `|`, with these orderings for the `w` and the `r` of their steps:
    /// `x=1.w` stores, `y.r` loads, `x+1.w` adds one, `F.sc` is a fence.
    pub(super) fn of_text(text: &str, w: Ordering, r: Ordering) -> Self {
        let step = |step: &str| {
            let (what, ordering) = step.trim().split_once('.').expect("a step has an ordering");
            let ordering = match ordering {
                "w" => w,
                "r" => r,
                "rel" => Release,
                "acq" => Acquire,
                _ => SeqCst,
            };
            let place = usize::from(what.starts_with('y'));
            match what.split_once(['=', '+']) {
                None if what == "F" => Step::Fence(ordering),
                None => Step::Load(place, ordering),
                Some(_) if what.contains('+') => Step::Add(place, ordering),
                Some((_, value)) => Step::Store(place, value.parse().unwrap(), ordering),
            }
        };
        let thread = |thread: &str| thread.split(';').map(step).collect();
        Self {
            threads: text.split('|').map(thread).collect(),
            spurious: 0,
        }
    }
}
