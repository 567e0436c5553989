//! Shared by the programs: the command line, and output.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | done, or the reader of the output has gone |
//! | 2 | bad usage, or it failed: one line on standard error says how |

#![allow(dead_code, reason = "no program uses everything")]

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::process::{ExitCode, Termination, exit};

use lexopt::{Arg, Parser};

const FAILED: u8 = 2;

/// A limit that catches a typing error before the machine runs out of threads.
const WORKERS: RangeInclusive<u64> = 1..=1024;

/// The words of the command line that have not been read yet.
#[derive(Debug)]
pub(crate) struct Options {
    parser: Parser,
    program: &'static str,
    help: &'static str,
}

/// Runs a program with the options that it was started with.
pub(crate) fn run<T: Termination>(
    program: &'static str,
    help: &'static str,
    main: impl FnOnce(Options) -> Result<T, Box<dyn Error>>,
) -> ExitCode {
    let options = Options {
        parser: Parser::from_env(),
        program,
        help,
    };
    match main(options) {
        Ok(done) => done.report(),
        Err(error) => fail(program, &*error),
    }
}

fn fail(program: &str, error: &(dyn Error + 'static)) -> ExitCode {
    let hint = match error.is::<lexopt::Error>() {
        true => " (see --help)",
        false => "",
    };
    complain(format_args!("{program}: {error}{hint}"));
    ExitCode::from(FAILED)
}

impl Options {
    /// Returns the next option or word. Does not return if it asks for help, or for the version.
    ///
    /// # Errors
    /// If the option before has a value that it does not take.
    pub(crate) fn next(&mut self) -> Result<Option<Arg<'_>>, lexopt::Error> {
        let word = self.parser.next()?;
        let text = match word {
            Some(Arg::Short('h') | Arg::Long("help")) => self.help.to_owned(),
            Some(Arg::Short('V') | Arg::Long("version")) => {
                format!("{} {}\n", self.program, env!("CARGO_PKG_VERSION"))
            }
            word => return Ok(word),
        };
        match print(&text) {
            Ok(_) => exit(0),
            Err(error) => {
                fail(self.program, &error);
                exit(FAILED.into());
            }
        }
    }

    /// Returns the number after the option of this name.
    ///
    /// # Errors
    /// If there is no number, or none in the range.
    pub(crate) fn number(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, lexopt::Error> {
        number(name, &self.parser.value()?, range)
    }

    /// Returns the number after the option `--workers`.
    ///
    /// # Errors
    /// As those of [`number`](Self::number).
    pub(crate) fn workers(&mut self) -> Result<usize, lexopt::Error> {
        Ok(self.number("--workers", WORKERS)? as usize)
    }

    /// # Errors
    /// If there are words, all of which are too many.
    pub(crate) fn end(mut self) -> Result<(), lexopt::Error> {
        match self.next()? {
            Some(word) => Err(word.unexpected()),
            None => Ok(()),
        }
    }
}

/// Reads the number that is the value of this name.
///
/// # Errors
/// If it is none in the range.
pub(crate) fn number(
    name: &str,
    value: &OsStr,
    range: RangeInclusive<u64>,
) -> Result<u64, lexopt::Error> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (start, end) = range.into_inner();
            format!(
                "{name} takes {start} to {end}, not {}",
                value.to_string_lossy()
            )
            .into()
        })
}

/// Writes to standard output. Returns false if its reader has gone (`... | head -1`), which has
/// what it wanted.
///
/// # Errors
/// Any other error of the system.
pub(crate) fn print(text: &str) -> io::Result<bool> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    match written.and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("standard output: {error}"),
        )),
    }
}

/// Writes one line to standard error. An error there cannot be reported, and is ignored.
pub(crate) fn complain(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{message}");
}
