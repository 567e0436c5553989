//! Shared by the small examples: the command line, and output.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | done, or the reader of the output has gone |
//! | 2 | bad usage, or it failed: one line on standard error says how |

#![allow(dead_code, reason = "no example uses everything")]

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{ExitCode, Termination};
use std::{env, fmt};

const FAILED: u8 = 2;

/// A limit that catches a typing error before the machine runs out of threads.
pub(crate) const WORKERS: RangeInclusive<u64> = 1..=1024;

/// The words of the command line that have not been read yet.
#[derive(Debug)]
pub(crate) struct Options {
    words: Vec<OsString>,
    /// Those behind `--`, none of which is an option.
    operands: Vec<OsString>,
}

/// Runs an example with the options that it was started with.
pub(crate) fn run<T: Termination>(
    program: &str,
    help: &str,
    main: impl FnOnce(Options) -> Result<T, String>,
) -> ExitCode {
    let options = Options::read();
    let result = match options.ask_for_help() {
        true => print(help)
            .map(|_| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        false => main(options).map(T::report),
    };
    result.unwrap_or_else(|message| {
        complain(format_args!("{program}: {message}"));
        ExitCode::from(FAILED)
    })
}

impl Options {
    fn read() -> Self {
        let mut words: Vec<_> = env::args_os().skip(1).collect();
        let mut operands = Vec::new();
        if let Some(at) = words.iter().position(|word| word == "--") {
            operands = words.split_off(at).split_off(1);
        }
        Self { words, operands }
    }

    fn ask_for_help(&self) -> bool {
        self.words
            .iter()
            .any(|word| word == "-h" || word == "--help")
    }

    /// Returns whether the switch is given.
    pub(crate) fn switch(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// Returns the number after the option, as a word of its own or after `=`. If the option is
    /// repeated, the last one counts.
    ///
    /// # Errors
    /// If there is no number, or none in the range.
    pub(crate) fn number(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, String> {
        self.last(name, "a number", |value| in_range(name, value, &range))
    }

    /// Returns what the name after the option stands for. If the option is repeated, the last one
    /// counts.
    ///
    /// # Errors
    /// If there is no name, or none of these.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        name: &str,
        all: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        self.last(name, "a name", |value| {
            let known = all.iter().find(|(known, _)| *known == value);
            let known = known.map(|&(_, meant)| meant);
            known.ok_or_else(|| format!("{name} does not take {value} (see --help)"))
        })
    }

    /// Removes an option and its value, each time that it is given.
    fn last<T>(
        &mut self,
        name: &str,
        needed: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let mut last = None;
        while let Some(at) = self.words.iter().position(|word| is_option(word, name)) {
            let word = self.words.remove(at);
            let value = match word.to_string_lossy().split_once('=') {
                Some((_, value)) => value.into(),
                None if at < self.words.len() => self.words.remove(at),
                None => return Err(format!("{name} needs {needed} (see --help)")),
            };
            last = Some(parse(&value.to_string_lossy())?);
        }
        Ok(last)
    }

    /// Returns the number that stands by itself. Call this after all options have been read.
    ///
    /// # Errors
    /// If it is not a number, or not in the range.
    pub(crate) fn argument(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, String> {
        let at = self.words.iter().position(|word| !starts(word, "--"));
        let word = at.map(|at| self.words.remove(at));
        word.map(|word| in_range(name, &word.to_string_lossy(), &range))
            .transpose()
    }

    /// Returns all words that are left. Call this after all options have been read.
    ///
    /// # Errors
    /// If one of them looks like an option, or is no text.
    pub(crate) fn rest(self) -> Result<Vec<String>, String> {
        self.check(|word| starts(word, "--"))?;
        let words = self.words.into_iter().chain(self.operands);
        let text = |word: OsString| {
            word.into_string()
                .map_err(|word| format!("{} is no text (see --help)", word.to_string_lossy()))
        };
        words.map(text).collect()
    }

    /// Returns the one path that is left. Behind `--` it may start with a dash, and a dash alone is
    /// a name like any other. Call this after all options have been read.
    ///
    /// # Errors
    /// If there is no path, or more than one.
    pub(crate) fn path(self) -> Result<PathBuf, String> {
        self.check(|word| starts(word, "-") && word != "-")?;
        let mut paths = self.words.into_iter().chain(self.operands);
        match (paths.next(), paths.next()) {
            (Some(path), None) => Ok(path.into()),
            (None, _) => Err("no PATH (see --help)".into()),
            (Some(_), Some(_)) => Err("more than one PATH (see --help)".into()),
        }
    }

    /// # Errors
    /// If there are words that the example has not read.
    pub(crate) fn end(self) -> Result<(), String> {
        self.check(|word| starts(word, "-"))?;
        match self.words.iter().chain(&self.operands).next() {
            None => Ok(()),
            Some(word) => {
                let word = word.to_string_lossy();
                Err(format!("one word too many: {word} (see --help)"))
            }
        }
    }

    /// Refuses words that look like options.
    fn check(&self, is_option: impl Fn(&OsStr) -> bool) -> Result<(), String> {
        match self.words.iter().find(|word| is_option(word)) {
            Some(word) => {
                let word = word.to_string_lossy();
                Err(format!("unknown option {word} (see --help)"))
            }
            None => Ok(()),
        }
    }
}

fn starts(word: &OsStr, with: &str) -> bool {
    word.as_encoded_bytes().starts_with(with.as_bytes())
}

fn is_option(word: &OsStr, name: &str) -> bool {
    let rest = word.as_encoded_bytes().strip_prefix(name.as_bytes());
    rest.is_some_and(|rest| matches!(rest, [] | [b'=', ..]))
}

fn in_range(name: &str, value: &str, range: &RangeInclusive<u64>) -> Result<u64, String> {
    match value.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "{name} takes {} to {}, not {value} (see --help)",
            range.start(),
            range.end()
        )),
    }
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

/// Starts an executor with the given number of workers, or with one for each processor.
///
/// # Errors
/// If the system refuses to start threads.
pub(crate) fn executor(workers: Option<u64>) -> Result<joint_executor::Executor, String> {
    let mut builder = joint_executor::Executor::builder();
    if let Some(workers) = workers {
        builder = builder.workers(workers as usize);
    }
    (builder.build()).map_err(|error| format!("cannot start the workers: {error}"))
}
