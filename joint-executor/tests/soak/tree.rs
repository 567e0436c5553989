//! Random programs: trees of doors, as text and back, and smaller ones of the same kind.

use std::{fmt, iter::Peekable, str::Chars};

use crate::doors::DOORS;

/// A step of Marsaglia's xorshift.
pub(crate) struct Choice(u64);

impl Choice {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not begin with the same choices, and 0 would stay 0.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// A call of one public function, the door, and what is called inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index in [`DOORS`].
    pub(crate) door: usize,
    /// Chooses among the door's variants.
    pub(crate) n: usize,
    pub(crate) inside: Vec<Node>,
}

/// The most that `n` can be, and one more.
pub(crate) const VARIANTS: usize = 32;

impl Node {
    /// Returns a tree with up to `most` nodes, and takes these from there.
    fn random(choice: &mut Choice, depth: usize, most: &mut usize) -> Self {
        *most -= 1;
        let door = choice.below(DOORS.len());
        let n = choice.below(VARIANTS);
        let mut inside = Vec::new();
        while depth > 0 && *most > 0 && choice.below(3) > 0 {
            inside.push(Self::random(choice, depth - 1, most));
        }
        Self { door, n, inside }
    }

    pub(crate) fn name(&self) -> &'static str {
        DOORS[self.door].0
    }
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Vec<Node> {
    let mut choice = Choice::new(seed);
    let mut most = 2 + choice.below(11);
    let mut nodes = Vec::new();
    while most > 0 {
        nodes.push(Node::random(&mut choice, 4, &mut most));
    }
    nodes
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name(), self.n)?;
        match &self.inside[..] {
            [] => Ok(()),
            inside => write!(f, "({})", text(inside)),
        }
    }
}

pub(crate) fn text(nodes: &[Node]) -> String {
    let nodes: Vec<_> = nodes.iter().map(Node::to_string).collect();
    nodes.join(" ")
}

/// Reads what [`text`] has written.
///
/// # Panics
/// If it is not that.
pub(crate) fn parse(text: &str) -> Vec<Node> {
    let mut rest = text.chars().peekable();
    let nodes = parse_some(&mut rest);
    assert_eq!(rest.next(), None, "more follows than a program");
    nodes
}

fn parse_some(rest: &mut Peekable<Chars<'_>>) -> Vec<Node> {
    let mut nodes = Vec::new();
    while rest.next_if_eq(&' ').is_some() || rest.peek().is_some_and(|&c| c.is_alphabetic()) {
        let mut word = |is_in: fn(char) -> bool| -> String {
            std::iter::from_fn(|| rest.next_if(|&c| is_in(c))).collect()
        };
        let name = word(|c| c.is_alphabetic() || c == '_');
        word(|c| c == ':');
        let n = word(|c| c.is_ascii_digit());
        let door = DOORS.iter().position(|door| door.0 == name);
        let mut node = Node {
            door: door.unwrap_or_else(|| panic!("there is no door `{name}`")),
            n: n.parse().expect("a number follows the name of a door"),
            inside: Vec::new(),
        };
        if rest.next_if_eq(&'(').is_some() {
            node.inside = parse_some(rest);
            assert_eq!(rest.next(), Some(')'), "a parenthesis is not closed");
        }
        nodes.push(node);
    }
    nodes
}

/// The programs that are smaller by one step: without a node and what is inside it, with the inside
/// in its place, or with a smaller number. The smallest come first.
pub(crate) fn smaller(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut all = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let with = |instead: &[Node]| [&nodes[..i], instead, &nodes[i + 1..]].concat();
        all.push(with(&[]));
        if !node.inside.is_empty() {
            all.push(with(&node.inside));
        }
        let mut changed = node.clone();
        for inside in smaller(&node.inside) {
            changed.inside = inside;
            all.push(with(&[changed.clone()]));
        }
        changed = node.clone();
        for n in [0, node.n % 8] {
            changed.n = n;
            if n < node.n {
                all.push(with(&[changed.clone()]));
            }
        }
    }
    all.sort_by_key(|nodes| text(nodes).len());
    all
}

#[test]
fn a_program_is_read_as_it_was_written() {
    for seed in 0..200 {
        let nodes = program(seed);
        assert_eq!(parse(&text(&nodes)), nodes);
    }
}
