//! Reads what a thread does.

use super::{Mistake, parse::Parser, tokens::Token};
use crate::{
    Location, Ordering,
    program::{Instruction, Kind, Operand, Step},
};

/// The operations of an atomic location: the name, the kind, and an ordering that fits it.
const METHODS: [(&str, Kind, &str); 6] = [
    ("load", Kind::Load, "Acquire"),
    ("store", Kind::Store, "Release"),
    ("swap", Kind::Swap, "AcqRel"),
    ("fetch_add", Kind::FetchAdd, "AcqRel"),
    ("fetch_sub", Kind::FetchSub, "AcqRel"),
    ("compare_exchange", Kind::CompareExchange, "AcqRel, Acquire"),
];

impl<'t> Parser<'t> {
    pub(super) fn block(&mut self, head: &str) -> Result<Vec<Instruction>, Mistake> {
        self.expect("{", head)?;
        let mut code = Vec::new();
        while !self.takes("}") {
            if self.takes(";") {
                continue;
            }
            let token = self.next("`}` at the end of the block")?;
            code.push(self.statement(token)?);
        }
        Ok(code)
    }

    fn statement(&mut self, token: Token<'t>) -> Result<Instruction, Mistake> {
        match token.text {
            "if" => return self.branch(),
            "fence" => return self.fence(token.line).map(Instruction::Step),
            "while" | "loop" => {
                return self.wrong(
                    "there are no loops: write out the turns that matter, with `if r == 0 {`",
                );
            }
            "thread" | "atomic" | "plain" | "never" => {
                return self.wrong(format!(
                    "{} cannot be inside of a block: write `}}` before it",
                    token.text
                ));
            }
            _ => {}
        }
        let is_new = token.text == "let";
        let token = if is_new {
            self.next("a register")?
        } else {
            token
        };
        if !token.is_name() {
            return self.wrong(format!(
                "{} cannot start an operation: write for example `r = x.load(Acquire)`",
                token.text
            ));
        }
        let step = if self.takes("=") {
            match self.location_of(token.text).filter(|_| !is_new) {
                Some(location) => self.write(token, location)?,
                None => self.fill(token)?,
            }
        } else {
            self.method(token, None)?
        };
        Ok(Instruction::Step(step))
    }

    fn branch(&mut self) -> Result<Instruction, Mistake> {
        let name = self.next("a register")?.text;
        let on = self.usable_register(name)?;
        let is_equal = self.comparison()?;
        let equals = self.number()?;
        let outside = self.usable.len();
        let then = self.block("if r == 1 {")?;
        self.usable.truncate(outside);
        let otherwise = if self.takes("else") {
            self.block("else {")?
        } else {
            Vec::new()
        };
        self.usable.truncate(outside);
        let (then, otherwise) = if is_equal {
            (then, otherwise)
        } else {
            (otherwise, then)
        };
        Ok(Instruction::Branch {
            on,
            equals,
            then,
            otherwise,
        })
    }

    fn fence(&mut self, line: usize) -> Result<Step, Mistake> {
        let mut step = self.step(line, Kind::Fence)?;
        self.expect("(", "fence(SeqCst)")?;
        step.ordering = Some(self.ordering(Kind::Fence, "fence(SeqCst)")?);
        self.expect(")", "fence(SeqCst)")?;
        Ok(step)
    }

    /// `data = 1` or `data = r`.
    fn write(&mut self, token: Token<'t>, location: Location) -> Result<Step, Mistake> {
        let name = token.text;
        if self.is_atomic(location) {
            return self.wrong(format!(
                "{name} is atomic: write `{name}.store(1, Release)`"
            ));
        }
        let mut step = self.step(token.line, Kind::Write)?;
        step.location = Some(location);
        step.operand = Some(self.operand()?);
        Ok(step)
    }

    /// `r = data` or `r = x.load(Acquire)`.
    fn fill(&mut self, register: Token<'t>) -> Result<Step, Mistake> {
        let name = register.text;
        self.assert_new(name)?;
        let from = self.next("a location")?;
        let Some(location) = self.location_of(from.text) else {
            return self.wrong(format!(
                "{} is no location: a register is filled by a read, as in `{name} = x.load(Acquire)`; locations are declared above the threads, as in `atomic x` or `plain data`",
                from.text
            ));
        };
        if self.peek().is_some_and(|next| next.text == ".") {
            return self.method(from, Some(name));
        }
        if self.is_atomic(location) {
            return self.wrong(format!(
                "{0} is atomic: write `{name} = {0}.load(Acquire)`",
                from.text
            ));
        }
        let mut step = self.step(from.line, Kind::Read)?;
        step.location = Some(location);
        step.into = Some(self.new_register(Some(name), from.line));
        Ok(step)
    }

    /// The rest of `x.store(1, Release)`.
    fn method(&mut self, token: Token<'t>, register: Option<&'t str>) -> Result<Step, Mistake> {
        let name = token.text;
        let Some(location) = self.location_of(name) else {
            return self.wrong(format!(
                "{name} is not declared: write `atomic {name}` or `plain {name}` above the threads"
            ));
        };
        if !self.takes(".") {
            return self.wrong(match self.is_atomic(location) {
                true => format!("what to do with {name} is missing: write `{name}.store(1, Release)` or `r = {name}.load(Acquire)`"),
                false => format!("what to do with {name} is missing: write `{name} = 1` or `r = {name}`"),
            });
        }
        if !self.is_atomic(location) {
            return self.wrong(format!(
                "{name} is plain: write `{name} = 1` or `r = {name}`, or declare it with `atomic {name}`"
            ));
        }
        let method = self.next("an operation")?.text;
        let Some((_, kind, ordering)) = METHODS.into_iter().find(|(known, ..)| *known == method)
        else {
            return self.wrong(format!(
                "there is no {method}: write `{name}.load(Acquire)`, `{name}.store(1, Release)`, `{name}.swap(1, AcqRel)`, `{name}.fetch_add(1, AcqRel)`, `{name}.fetch_sub(1, AcqRel)` or `{name}.compare_exchange(0, 1, AcqRel, Acquire)`"
            ));
        };
        self.call(location, kind, token.line, register)
            .map_err(|mistake| {
                let values = match kind {
                    Kind::Load => "",
                    Kind::CompareExchange => "0, 1, ",
                    _ => "1, ",
                };
                let example = format!("{name}.{method}({values}{ordering})");
                Mistake {
                    message: mistake.message.replace(EXAMPLE, &example),
                    ..mistake
                }
            })
    }

    /// The arguments, and the step.
    fn call(
        &mut self,
        location: Location,
        kind: Kind,
        line: usize,
        register: Option<&'t str>,
    ) -> Result<Step, Mistake> {
        if register.is_some() && !kind.reads() {
            return self.wrong(format!(
                "a store reads nothing, so no register gets anything: write `{EXAMPLE}`"
            ));
        }
        let mut step = self.step(line, kind)?;
        step.location = Some(location);
        self.expect("(", EXAMPLE)?;
        let value = |parser: &mut Self| {
            let operand = parser.operand()?;
            parser.expect(",", EXAMPLE).map(|()| operand)
        };
        let expected = match kind {
            Kind::CompareExchange => Some(value(self)?),
            _ => None,
        };
        if kind.writes() {
            step.operand = Some(value(self)?);
        }
        step.ordering = Some(self.ordering(kind, EXAMPLE)?);
        if let Some(expected) = expected {
            self.expect(",", EXAMPLE)?;
            step.compared = Some((expected, self.ordering(Kind::FailedExchange, EXAMPLE)?));
        }
        self.expect(")", EXAMPLE)?;
        if kind.reads() {
            step.into = Some(self.new_register(register, line));
        }
        Ok(step)
    }

    fn operand(&mut self) -> Result<Operand, Mistake> {
        let is_name = self.peek().is_some_and(|token| token.is_name());
        if !is_name {
            return self.number().map(Operand::Constant);
        }
        let name = self.next("a value")?.text;
        self.usable_register(name).map(Operand::Register)
    }

    fn ordering(&mut self, kind: Kind, example: &str) -> Result<Ordering, Mistake> {
        let mut word = self.next(&format!("an ordering, as in `{example}`,"))?;
        if word.text == "Ordering" && self.takes("::") {
            word = self.next("an ordering")?;
        }
        let Ok(ordering) = word.text.parse::<Ordering>() else {
            return self.wrong(format!(
                "an ordering is missing before `{}`: write `{example}`",
                word.text
            ));
        };
        let (fits, which) = match kind {
            Kind::Load => (ordering.fits_load(), "a load is Relaxed, Acquire or SeqCst"),
            Kind::FailedExchange => (
                ordering.fits_load(),
                "an exchange that fails is Relaxed, Acquire or SeqCst",
            ),
            Kind::Store => (
                ordering.fits_store(),
                "a store is Relaxed, Release or SeqCst",
            ),
            Kind::Fence => (
                ordering != Ordering::Relaxed,
                "a fence is Acquire, Release, AcqRel or SeqCst",
            ),
            _ => (true, ""),
        };
        match fits {
            true => Ok(ordering),
            false => self.wrong(format!("{which}, not {ordering:?}: write `{example}`")),
        }
    }
}

/// Stands for the call as it should be in the messages of [`Parser::call`].
const EXAMPLE: &str = "\u{1}";
