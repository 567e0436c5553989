//! Reads locations, threads, and what must never be at the end.

use super::{
    MOST_LOCATIONS, MOST_OPERATIONS, MOST_THREADS, Mistake, Never, Term, Typed, What,
    tokens::{Token, tokens},
};
use crate::{
    Location, Program, Register, Value,
    program::{Kind, Step, Thread},
};

/// Words that name nothing of the program's.
const KEYWORDS: [&str; 10] = [
    "atomic", "plain", "thread", "never", "if", "else", "let", "fence", "while", "loop",
];

const TOP: &str = "write `atomic x`, `plain data`, `thread name {` or `never r == 1`";

pub(super) struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    /// Whether the program has the size that the page explores.
    is_limited: bool,
    program: Program,
    /// Every register so far, and the line where it is filled.
    registers: Vec<(&'t str, Register, usize)>,
    /// The registers of this thread that are filled wherever this place is reached.
    pub(super) usable: Vec<Register>,
    lines: Vec<Vec<usize>>,
    never: Vec<Never>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, is_limited: bool) -> Result<Self, Mistake> {
        Ok(Self {
            tokens: tokens(text)?,
            at: 0,
            is_limited,
            program: Program::default(),
            registers: Vec::new(),
            usable: Vec::new(),
            lines: Vec::new(),
            never: Vec::new(),
        })
    }

    pub(super) fn program(mut self) -> Result<Typed, Mistake> {
        while let Some(token) = self.peek() {
            self.at += 1;
            match token.text {
                "atomic" | "plain" => self.declare(token.text == "atomic")?,
                "thread" => self.thread()?,
                "never" => self.never(token.line)?,
                ";" => {}
                other => return self.wrong(format!("{other} cannot be here: {TOP}")),
            }
        }
        if self.lines.is_empty() {
            return self
                .wrong("there is no thread yet: write `thread name {`, operations, and `}`");
        }
        let registers = self.registers.iter().filter(|(name, ..)| !name.is_empty());
        Ok(Typed {
            registers: registers
                .map(|&(name, register, _)| (name.to_owned(), register))
                .collect(),
            program: self.program,
            never: self.never,
            lines: self.lines,
        })
    }

    fn declare(&mut self, is_atomic: bool) -> Result<(), Mistake> {
        loop {
            let name = self.name("a location")?;
            self.assert_new(name)?;
            let initial = if self.takes("=") { self.number()? } else { 0 };
            if self.is_limited && self.program.locations().count() == MOST_LOCATIONS {
                return self.wrong(format!("a program has at most {MOST_LOCATIONS} locations"));
            }
            self.program.declare(name, initial, is_atomic);
            if !self.takes(",") {
                return Ok(());
            }
        }
    }

    fn thread(&mut self) -> Result<(), Mistake> {
        let number = self.lines.len();
        if self.is_limited && number == MOST_THREADS {
            return self.wrong(format!("a program has at most {MOST_THREADS} threads"));
        }
        let name = match self.peek() {
            Some(token) if token.is_name() => self.name("a thread")?.to_owned(),
            _ => format!("thread {}", number + 1),
        };
        if self
            .program
            .threads()
            .iter()
            .any(|thread| thread.name == name)
        {
            return self.wrong(format!(
                "there is a thread {name} already: give this one another name"
            ));
        }
        self.lines.push(Vec::new());
        self.usable.clear();
        let code = self.block("thread name {")?;
        let registers = self.own().count();
        self.program.add(Thread {
            name,
            code,
            registers,
        });
        Ok(())
    }

    fn never(&mut self, line: usize) -> Result<(), Mistake> {
        let first = self.at;
        let mut terms = Vec::new();
        loop {
            let name = self.name("a register or a location")?;
            let what = self.register_of(name).map(What::Register);
            let Some(what) = what.or_else(|| self.location_of(name).map(What::Location)) else {
                return self.wrong(format!(
                    "{name} is neither a register nor a location above: write `never` after the threads"
                ));
            };
            let equals = self.comparison()?;
            let value = self.number()?;
            terms.push(Term {
                what,
                equals,
                value,
            });
            if !self.takes("&&") {
                break;
            }
        }
        let words: Vec<_> = self.tokens[first..self.at]
            .iter()
            .map(|token| token.text)
            .collect();
        let text = words.join(" ");
        self.never.push(Never { line, text, terms });
        Ok(())
    }

    /// `==` or `!=`: whether it is the first.
    pub(super) fn comparison(&mut self) -> Result<bool, Mistake> {
        if self.takes("==") {
            return Ok(true);
        }
        if self.takes("!=") {
            return Ok(false);
        }
        self.wrong("a comparison is missing: write for example `r == 1` or `r != 0`")
    }

    fn own(&self) -> impl Iterator<Item = &(&'t str, Register, usize)> {
        let thread = self.lines.len() - 1;
        self.registers
            .iter()
            .filter(move |(_, register, _)| register.thread == thread)
    }

    /// Makes a new register of this thread, which can be used from here to the end of its block.
    /// Without a name, nothing can use it.
    pub(super) fn new_register(&mut self, name: Option<&'t str>, line: usize) -> Register {
        let register = Register {
            thread: self.lines.len() - 1,
            index: self.own().count(),
        };
        self.registers
            .push((name.unwrap_or_default(), register, line));
        self.usable.push(register);
        register
    }

    /// Returns the register of this name, if it is filled wherever this place is reached.
    pub(super) fn usable_register(&self, name: &str) -> Result<Register, Mistake> {
        let Some(register) = self.register_of(name) else {
            return self.wrong(match self.location_of(name) {
                Some(_) => format!("{name} is a location: read it into a register first, as in `r = {}`", self.read_of(name)),
                None => format!("nothing above is called {name}: fill it first, as in `{name} = x.load(Acquire)`"),
            });
        };
        if register.thread + 1 != self.lines.len() {
            return self.wrong(format!(
                "{name} is a register of another thread: pass the value through a location"
            ));
        }
        if !self.usable.contains(&register) {
            return self.wrong(format!(
                "{name} is filled only in the branch above: use it inside of that branch"
            ));
        }
        Ok(register)
    }

    /// How a location is read.
    pub(super) fn read_of(&self, name: &str) -> String {
        let is_atomic = self
            .location_of(name)
            .is_some_and(|at| self.program.variable(at).is_atomic);
        if is_atomic {
            format!("{name}.load(Acquire)")
        } else {
            name.to_owned()
        }
    }

    /// Counts an operation of this thread, which stands in `line`.
    pub(super) fn step(&mut self, line: usize, kind: Kind) -> Result<Step, Mistake> {
        let steps: usize = self.lines.iter().map(Vec::len).sum();
        if self.is_limited && steps == MOST_OPERATIONS {
            return self.wrong(format!(
                "this is one operation too many: all threads together have at most {MOST_OPERATIONS}"
            ));
        }
        let thread = self.lines.len() - 1;
        let number = self.lines[thread].len();
        self.lines[thread].push(line);
        let (location, ordering, address, operand, compared, into) =
            (None, None, None, None, None, None);
        Ok(Step {
            number,
            kind,
            location,
            ordering,
            address,
            operand,
            compared,
            into,
        })
    }

    pub(super) fn assert_new(&self, name: &str) -> Result<(), Mistake> {
        if let Some((_, _, line)) = self.registers.iter().find(|(known, ..)| *known == name) {
            return self.wrong(format!(
                "{name} is filled in line {line} already: give this register another name"
            ));
        }
        match self.location_of(name) {
            Some(_) => self.wrong(format!("{name} is declared already")),
            None => Ok(()),
        }
    }

    fn register_of(&self, name: &str) -> Option<Register> {
        let found = self.registers.iter().find(|(known, ..)| *known == name);
        found.map(|&(_, register, _)| register)
    }

    pub(super) fn location_of(&self, name: &str) -> Option<Location> {
        self.program.location(name)
    }

    pub(super) fn is_atomic(&self, location: Location) -> bool {
        self.program.variable(location).is_atomic
    }

    pub(super) fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    pub(super) fn next(&mut self, wanted: &str) -> Result<Token<'t>, Mistake> {
        let token = self.peek();
        self.at += 1;
        match token {
            Some(token) => Ok(token),
            None => self.wrong(format!("the text ends here, where {wanted} is missing")),
        }
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: &str, example: &str) -> Result<(), Mistake> {
        let found = self.next(&format!("`{sign}`, as in `{example}`,"))?.text;
        match found == sign {
            true => Ok(()),
            false => self.wrong(format!(
                "`{sign}` is missing before `{found}`: write `{example}`"
            )),
        }
    }

    fn name(&mut self, what: &str) -> Result<&'t str, Mistake> {
        let token = self.next(&format!("the name of {what}"))?;
        match token.is_name() && !KEYWORDS.contains(&token.text) {
            true => Ok(token.text),
            false => self.wrong(format!(
                "{} cannot be the name of {what}: write a word such as x",
                token.text
            )),
        }
    }

    pub(super) fn number(&mut self) -> Result<Value, Mistake> {
        let text = self.next("a number")?.text;
        let number = text.parse();
        number.or_else(|_| {
            self.wrong(format!(
                "{text} is no number: write one from 0 to {}",
                Value::MAX
            ))
        })
    }

    /// A mistake at the word that was read last.
    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Mistake> {
        let last = self.tokens.len().min(self.at).checked_sub(1);
        let line = last.map_or(1, |last| self.tokens[last].line);
        Err(Mistake {
            line,
            message: message.into(),
        })
    }
}
