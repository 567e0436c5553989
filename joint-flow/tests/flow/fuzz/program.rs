//! Random programs.

use std::sync::Arc;

use super::Out;

pub(super) const GATES: usize = 6;
pub(super) const LOCKS: [usize; 2] = [1, 3];
pub(super) const STREAMS: usize = 2;
pub(super) const SLOTS: usize = 3;

#[derive(Debug)]
pub(super) struct Expression {
    pub(super) number: usize,
    pub(super) kind: Kind,
}

type Child = Arc<Expression>;

#[derive(Debug)]
pub(super) enum Kind {
    Value(Out),
    Panic(u8),
    /// Is pending this many times.
    Pause(u8),
    /// Waits this many seconds.
    Delay(u8),
    Wait(usize),
    /// Opens a gate, or breaks its promise.
    Open(usize, Option<Out>),
    Group(Group, Shape, Vec<Child>),
    /// Of branches that may fail, or whose failure is an output like any other.
    Choose(Fails, Vec<Child>),
    /// Up to the first error.
    Sequence(Vec<Child>),
    Lock(Take, usize, usize, Child),
    Close(usize),
    Send(usize, u8),
    /// Ends a stream, with or without an error.
    End(usize, Option<u8>),
    /// Drops the sender of a stream.
    Break(usize),
    Receive(usize, u8),
    /// Sets the variable.
    Set(u8),
    /// Waits until the variable is at least this.
    Reach(u8),
    /// Waits for the next change of the variable.
    Change,
    Retry(u8, Child),
    /// A task, what is done beside it, and then its output.
    Join(Start, Child, Child),
    /// A task whose handle is put into a slot.
    Start(usize, Start, Child),
    Cancel(usize),
    Drop(usize),
    /// Lets everything happen that can.
    Settle,
    Await(usize),
    Collect(bool, Vec<Child>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Cancellable,
    Uncancellable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    Wait,
    Try,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Race,
    All,
    TryAll,
    AllReady,
    Any,
    Quorum(usize),
    Strict(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Vec,
    Array,
    Tuple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fails {
    Any,
    None,
}

struct Random {
    state: u64,
    numbers: usize,
    /// Chooses the kind that this program has most of.
    favourite: usize,
}

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// A number that chooses a kind.
    fn choice(&mut self, end: usize) -> usize {
        match self.one_in(3) {
            true => self.favourite % end,
            false => self.below(end),
        }
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn out(&mut self) -> Out {
        let value = self.below(100) as u8;
        if self.one_in(3) {
            Err(value)
        } else {
            Ok(value)
        }
    }

    fn opening(&mut self) -> (usize, Option<Out>) {
        (self.below(GATES), (!self.one_in(5)).then(|| self.out()))
    }

    fn start(&mut self) -> Start {
        match self.one_in(5) {
            true => Start::Uncancellable,
            false => Start::Cancellable,
        }
    }

    fn children(&mut self, depth: usize, least: usize, most: usize) -> Vec<Child> {
        let count = least + self.below(most - least + 1);
        (0..count).map(|_| self.expression(depth - 1)).collect()
    }

    fn group(&mut self, depth: usize) -> Kind {
        let (depth, least, most) = match self.below(40) {
            // More than a word has bits.
            0 => (1, 65, 70),
            1..=13 => (depth, 0, 9),
            _ => (depth, 0, 4),
        };
        let children = self.children(depth, least, most);
        let count = children.len();
        let group = match self.below(7) {
            0 => Group::Race,
            1 => Group::All,
            2 => Group::TryAll,
            3 => Group::AllReady,
            4 => Group::Any,
            5 => Group::Quorum(self.below(count + 2)),
            _ => Group::Strict(self.below(count + 1)),
        };
        let shape = [Shape::Vec, Shape::Array, Shape::Tuple][self.below(3)];
        Kind::Group(group, shape, children)
    }

    fn numbered(&mut self, kind: Kind) -> Child {
        self.numbers += 1;
        let number = self.numbers;
        Arc::new(Expression { number, kind })
    }

    fn expression(&mut self, depth: usize) -> Child {
        let kind = if depth == 0 {
            self.leaf()
        } else {
            self.kind(depth)
        };
        self.numbered(kind)
    }

    fn leaf(&mut self) -> Kind {
        match self.choice(25) {
            0..=2 => Kind::Value(self.out()),
            3..=5 => Kind::Pause(self.below(4) as u8),
            6..=9 => Kind::Wait(self.below(GATES)),
            10 => {
                let (gate, out) = self.opening();
                Kind::Open(gate, out)
            }
            11..=13 => Kind::Send(self.below(STREAMS), self.below(100) as u8),
            14..=15 => Kind::Receive(self.below(STREAMS), self.below(4) as u8),
            16 => Kind::Cancel(self.below(SLOTS)),
            17 => Kind::Drop(self.below(SLOTS)),
            18 => Kind::Await(self.below(SLOTS)),
            19 => Kind::Set(self.below(5) as u8),
            20 => Kind::Reach(self.below(5) as u8),
            21 => Kind::Change,
            22 => Kind::Delay(1 + self.below(3) as u8),
            23 if self.one_in(2) => Kind::Panic(self.below(100) as u8),
            _ if self.one_in(3) => Kind::Close(self.below(2)),
            _ if self.one_in(5) => Kind::Break(self.below(STREAMS)),
            _ => {
                let error = self.one_in(2).then(|| self.below(100) as u8);
                Kind::End(self.below(STREAMS), error)
            }
        }
    }

    fn kind(&mut self, depth: usize) -> Kind {
        match self.choice(20) {
            0..=1 => self.leaf(),
            2..=7 => self.group(depth),
            8..=9 => {
                let fails = [Fails::Any, Fails::None][self.below(2)];
                Kind::Choose(fails, self.children(depth, 1, 3))
            }
            10..=11 => Kind::Sequence(self.children(depth, 1, 4)),
            12..=13 => {
                let take = [Take::Wait, Take::Try][usize::from(self.one_in(3))];
                let (lock, amount) = (self.below(2), self.below(5));
                Kind::Lock(take, lock, amount, self.expression(depth - 1))
            }
            14 => Kind::Retry(1 + self.below(3) as u8, self.expression(depth - 1)),
            15 => {
                let start = self.start();
                let body = self.expression(depth - 1);
                Kind::Join(start, body, self.expression(depth - 1))
            }
            16..=17 => {
                let (slot, start) = (self.below(SLOTS), self.start());
                Kind::Start(slot, start, self.expression(depth - 1))
            }
            _ => Kind::Collect(self.one_in(2), self.children(depth, 0, 4)),
        }
    }
}

/// Makes a program: what the main future of its simulation does. That starts a task, and goes on
/// beside it. At the end all tasks are dropped.
pub(super) fn program(seed: u64) -> Child {
    let mut random = Random {
        state: seed,
        numbers: 0,
        favourite: 0,
    };
    random.favourite = random.below(1000);
    let depth = 2 + random.below(3);
    let group = [Group::All, Group::AllReady][random.below(2)];
    let main = Kind::Group(group, Shape::Vec, random.children(depth, 2, 4));
    let main = random.numbered(main);
    let mut kinds = vec![Kind::Start(0, Start::Cancellable, main)];
    for _ in 0..4 + random.below(16) {
        kinds.push(match random.below(10) {
            0..=4 => {
                let (gate, out) = random.opening();
                Kind::Open(gate, out)
            }
            5..=7 => Kind::Pause(random.below(6) as u8),
            8 => Kind::Settle,
            _ => Kind::Cancel(random.below(SLOTS)),
        });
    }
    kinds.push(Kind::Settle);
    kinds.extend((0..SLOTS).map(Kind::Drop));
    let script = kinds
        .into_iter()
        .map(|kind| random.numbered(kind))
        .collect();
    random.numbered(Kind::Sequence(script))
}
