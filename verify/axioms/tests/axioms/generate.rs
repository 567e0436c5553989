//! Small programs made by chance, and the same with other orderings.

use axioms::{Ordering, Program, Value, language::parse_large, program::Kind};

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

#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) threads: Vec<Vec<Move>>,
}

/// The operations that can be typed.
pub(crate) const KINDS: [Kind; 8] = [
    Kind::Read,
    Kind::Write,
    Kind::Load,
    Kind::Store,
    Kind::Swap,
    Kind::FetchAdd,
    Kind::CompareExchange,
    Kind::Fence,
];

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
            let first_read = thread.iter().position(|step| step.kind.reads());
            let before = thread.iter_mut().take(first_read.unwrap_or(steps) + 1);
            before.for_each(|step| step.guarded = false);
            thread
        };
        Self {
            threads: (0..threads).map(|_| thread(chance)).collect(),
        }
    }

    pub(crate) fn program(&self) -> Program {
        let text = self.text();
        let typed = parse_large(&text);
        let typed = typed.unwrap_or_else(|mistake| panic!("{mistake} in\n{text}"));
        typed.program
    }

    /// The program as somebody would type it, with a name for each register.
    pub(crate) fn text(&self) -> String {
        let mut text = "atomic x, y\nplain a, b\n".to_owned();
        for (thread, moves) in self.threads.iter().enumerate() {
            text += "thread {\n";
            let mut last = None;
            for (place, step) in moves.iter().enumerate() {
                let register = format!("r{thread}{place}");
                let line = step.line(&register);
                match last.as_ref().filter(|_| step.guarded) {
                    Some(last) => text += &format!("  if {last} == 1 {{ {line} }}\n"),
                    None => text += &format!("  {line}\n"),
                }
                if step.kind.reads() && (!step.guarded || last.is_none()) {
                    last = Some(register);
                }
            }
            text += "}\n";
        }
        text
    }

    /// The same with a `SeqCst` fence between every two steps of a thread.
    pub(crate) fn with_fences_between(&self) -> Self {
        let fence = |step: &Move| {
            let mut fence = *step;
            (fence.kind, fence.ordering, fence.guarded) = (Kind::Fence, Ordering::SeqCst, false);
            [fence, *step]
        };
        let fenced = |thread: &Vec<Move>| thread.iter().flat_map(fence).collect();
        Self {
            threads: self.threads.iter().map(fenced).collect(),
        }
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
            Kind::Load => ordering.fits_load(),
            Kind::Store => ordering.fits_store(),
            Kind::Fence => ordering != Ordering::Relaxed,
            _ => true,
        }
    }

    fn line(&self, register: &str) -> String {
        let Self {
            value, ordering, ..
        } = *self;
        let place = ["x", "y", "a", "b"][self.place];
        match self.kind {
            Kind::Read => format!("{register} = {place}"),
            Kind::Write => format!("{place} = {value}"),
            Kind::Load => format!("{register} = {place}.load({ordering:?})"),
            Kind::Store => format!("{place}.store({value}, {ordering:?})"),
            Kind::Swap => format!("{register} = {place}.swap({value}, {ordering:?})"),
            Kind::FetchAdd => format!("{register} = {place}.fetch_add({value}, {ordering:?})"),
            Kind::FetchSub => format!("{register} = {place}.fetch_sub({value}, {ordering:?})"),
            Kind::CompareExchange => {
                let failure = match ordering {
                    Ordering::SeqCst => Ordering::SeqCst,
                    _ if ordering.acquires() => Ordering::Acquire,
                    _ => Ordering::Relaxed,
                };
                let expected = value - 1;
                format!(
                    "{register} = {place}.compare_exchange({expected}, {value}, {ordering:?}, {failure:?})"
                )
            }
            Kind::Fence | Kind::Initial | Kind::FailedExchange => format!("fence({ordering:?})"),
        }
    }
}
