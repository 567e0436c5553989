//! Small programs made by chance, and the same with other orderings.

use axioms::{Code, Location, Ordering, Program, Register, Value, program::Kind};

/// Numbers that look like chance and are the same in each run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1 << 63)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        // Marsaglia's xorshift, with the multiplication that hides its weak low bits.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        number as usize % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// One step of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) kind: Kind,
    /// Atomic accesses have two locations, plain ones two others.
    pub(crate) place: usize,
    pub(crate) value: Value,
    pub(crate) ordering: Ordering,
    /// Only if the last unguarded read found a 1.
    pub(crate) guarded: bool,
}

/// A program, simple enough for other machines than the explorer to run.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) threads: Vec<Vec<Move>>,
}

/// How many locations a recipe has: two atomic ones and two plain ones.
pub(crate) const PLACES: usize = 4;

impl Recipe {
    /// As many threads as `shapes` say, with as many steps or one less.
    pub(crate) fn by_chance(
        chance: &mut Chance,
        shapes: &[(usize, usize)],
        kinds: &[Kind],
        orderings: &[Ordering],
    ) -> Self {
        let (threads, steps) = chance.one_of(shapes);
        let thread = |chance: &mut Chance| {
            let steps = steps - chance.below(2);
            let moves = |_| Move::by_chance(chance, kinds, orderings);
            let mut thread: Vec<Move> = (0..steps).map(moves).collect();
            let first_read = thread
                .iter()
                .position(|step| step.kind.reads())
                .unwrap_or(steps);
            thread
                .iter_mut()
                .take(first_read + 1)
                .for_each(|step| step.guarded = false);
            thread
        };
        Self {
            threads: (0..threads).map(|_| thread(chance)).collect(),
        }
    }

    pub(crate) fn program(&self) -> Program {
        let mut program = Program::new("by chance");
        let places: [Location; PLACES] = [
            program.atomic("x", 0),
            program.atomic("y", 0),
            program.plain("a", 0),
            program.plain("b", 0),
        ];
        for thread in &self.threads {
            program.thread("thread", |code| {
                let mut last = None;
                for step in thread {
                    let place = places[step.place];
                    match last.filter(|_| step.guarded) {
                        Some(found) => code.when(found, 1, |code| step.write(code, place)),
                        None => step.write(code, place).inspect(|&found| last = Some(found)),
                    };
                }
            });
        }
        program
    }

    /// The same with a `SeqCst` fence between every two steps of a thread.
    pub(crate) fn with_fences_between(&self) -> Self {
        let fence = |step: &Move| {
            let (kind, ordering, guarded) = (Kind::Fence, Ordering::SeqCst, false);
            [
                Move {
                    kind,
                    ordering,
                    guarded,
                    ..*step
                },
                *step,
            ]
        };
        let fenced = |thread: &Vec<Move>| thread.iter().flat_map(fence).collect();
        Self {
            threads: self.threads.iter().map(fenced).collect(),
        }
    }

    /// The same with one ordering replaced by one that includes it, in all ways.
    pub(crate) fn strengthened(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            for (place, step) in thread.iter().enumerate() {
                let stronger = Ordering::ALL.into_iter().filter(|&ordering| {
                    ordering != step.ordering
                        && ordering.includes(step.ordering)
                        && step.can_be(ordering)
                });
                all.extend(stronger.map(|ordering| {
                    let mut recipe = self.clone();
                    recipe.threads[number][place].ordering = ordering;
                    recipe
                }));
            }
        }
        all
    }
}

/// Random programs: always the same ones for the same number of them.
pub(crate) fn recipes(
    count: usize,
    shapes: [(usize, usize); 2],
    kinds: &[Kind],
    orderings: &[Ordering],
) -> Vec<Recipe> {
    let mut chance = Chance::new(count as u64);
    let recipe = |_| Recipe::by_chance(&mut chance, &shapes, kinds, orderings);
    (0..count).map(recipe).collect()
}

impl Move {
    fn by_chance(chance: &mut Chance, kinds: &[Kind], orderings: &[Ordering]) -> Self {
        loop {
            let kind = chance.one_of(kinds);
            let place = chance.below(2) + if kind.is_plain() { 2 } else { 0 };
            let value = 1 + chance.below(2) as Value;
            let (ordering, guarded) = (chance.one_of(orderings), chance.below(3) == 0);
            let step = Self {
                kind,
                place,
                value,
                ordering,
                guarded,
            };
            if step.can_be(ordering) {
                return step;
            }
        }
    }

    fn can_be(&self, ordering: Ordering) -> bool {
        match self.kind {
            Kind::Load => !ordering.releases() || ordering == Ordering::SeqCst,
            Kind::Store => !ordering.acquires() || ordering == Ordering::SeqCst,
            Kind::Fence => ordering != Ordering::Relaxed,
            _ => true,
        }
    }

    fn write(&self, code: &mut Code<'_>, place: Location) -> Option<Register> {
        let Self {
            value, ordering, ..
        } = *self;
        match self.kind {
            Kind::Load => return Some(code.load(place, ordering)),
            Kind::Swap => return Some(code.swap(place, value, ordering)),
            Kind::FetchAdd => return Some(code.fetch_add(place, value, ordering)),
            Kind::Read => return Some(code.read(place)),
            Kind::Store => code.store(place, value, ordering),
            Kind::Write => code.write(place, value),
            Kind::Fence | Kind::Initial => code.fence(ordering),
        }
        None
    }
}

/// Where a machine is in one thread, and what its registers hold.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Progress {
    pub(crate) next: usize,
    pub(crate) registers: Vec<Option<Value>>,
    last: Option<Value>,
}

impl Progress {
    /// The next step of `thread` to run, past those whose guard holds them back.
    pub(crate) fn step<'t>(&mut self, thread: &'t [Move]) -> Option<&'t Move> {
        loop {
            let step = thread.get(self.next)?;
            self.next += 1;
            if !step.guarded || self.last == Some(1) {
                return Some(step);
            }
            if step.kind.reads() {
                self.registers.push(None);
            }
        }
    }

    /// Keeps what a step has read.
    pub(crate) fn found(&mut self, step: &Move, value: Value) {
        self.registers.push(Some(value));
        if !step.guarded {
            self.last = Some(value);
        }
    }
}
