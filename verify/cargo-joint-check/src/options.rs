//! The command line.

use std::{ffi::OsString, path::PathBuf};

use lexopt::prelude::*;

pub(crate) const USAGE: &str = "\
Runs a test of a crate, as it was published, in every execution that the memory model allows.

Usage: cargo joint-check CRATE[@VERSION] --test FILE [OPTIONS] [-- ARGUMENTS OF THE TEST PROGRAM]

CRATE is a name of the registry, or the path of a folder. Without a version, the newest that cargo
has on this machine is taken, or the newest of the registry.

FILE is a file of Rust tests as cargo knows them: `#[test] fn`, with the names of std. Each test is
run as a model: `std::thread::spawn`, `std::sync::Arc` and all that threads share are the checker's.
A test must do the same each time that it is run. Use two or three threads and few operations.
`joint_check::block_on` polls a future.

Options:
      --test FILE              the tests; may be given again
      --also NAME[@VERSION]    turn this dependency as well; may be given again. A dependency that
                               is not turned keeps std's atomics, which the checker does not see
      --features LIST          features of the crate, separated by commas
      --no-default-features    without the crate's default features
      --dep LINE               a line of [dependencies] for the test; may be given again
      --out FOLDER             where the turned source goes: otherwise target/joint-check
      --checker FOLDER         the source of joint-check: otherwise that of the registry
      --leaks                  an `Arc` that is never dropped is a failure
      --unchecked              go on where an atomic is made of other memory by a cast
      --build                  only turn and build
  -h, --help                   print this
  -V, --version                print the version

Variables are those of joint-check: JOINT_CHECK_DEVIATIONS and LOOM_MAX_DURATION bound a model,
JOINT_CHECK_REPLAY repeats a failure.

Exit code: 0 if all executions pass, 1 if one fails, 2 if nothing was checked.";

/// What the user wants.
pub(crate) enum Wish {
    Say(&'static str),
    Check(Box<Options>),
}

/// A crate, by name or by path, and a version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

impl Named {
    fn read(text: &str) -> Self {
        let (name, version) = text.split_once('@').unzip();
        Self {
            name: name.unwrap_or(text).to_owned(),
            version: version.map(str::to_owned),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) subject: Named,
    pub(crate) tests: Vec<PathBuf>,
    pub(crate) also: Vec<Named>,
    pub(crate) features: Vec<String>,
    pub(crate) no_default_features: bool,
    pub(crate) dependencies: Vec<String>,
    pub(crate) out: PathBuf,
    pub(crate) checker: Option<PathBuf>,
    pub(crate) leaks: bool,
    pub(crate) unchecked: bool,
    pub(crate) build: bool,
    /// What follows `--`.
    pub(crate) arguments: Vec<OsString>,
}

impl Options {
    /// Reads the words after the program's name.
    pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Wish, String> {
        // cargo passes the name of the subcommand.
        let mut words = words.peekable();
        words.next_if(|word| word == "joint-check");
        let words: Vec<_> = words.collect();
        let end = words.iter().position(|word| word == "--");
        let (own, rest) = words.split_at(end.unwrap_or(words.len()));
        let mut options = Self {
            subject: Named::read(""),
            tests: Vec::new(),
            also: Vec::new(),
            features: Vec::new(),
            no_default_features: false,
            dependencies: Vec::new(),
            out: "target/joint-check".into(),
            checker: None,
            leaks: false,
            unchecked: false,
            build: false,
            arguments: rest.iter().skip(1).cloned().collect(),
        };
        match options.fill(lexopt::Parser::from_args(own.to_vec())) {
            Ok(Some(text)) => return Ok(Wish::Say(text)),
            Ok(None) => {}
            Err(why) => return Err(format!("{why}; see `cargo joint-check --help`")),
        }
        let missing = match (&*options.subject.name, &*options.tests) {
            ("", _) => "name a crate, such as `cargo joint-check oneshot@0.1.11 --test FILE`",
            (_, []) => "name a file of tests, by `--test FILE`; see `cargo joint-check --help`",
            _ => return Ok(Wish::Check(Box::new(options))),
        };
        Err(missing.into())
    }

    fn fill(&mut self, mut words: lexopt::Parser) -> Result<Option<&'static str>, lexopt::Error> {
        while let Some(word) = words.next()? {
            match word {
                Short('h') | Long("help") => return Ok(Some(USAGE)),
                Short('V') | Long("version") => {
                    let version = concat!("cargo-joint-check ", env!("CARGO_PKG_VERSION"));
                    return Ok(Some(version));
                }
                Long("test") => self.tests.push(words.value()?.into()),
                Long("also") => self.also.push(Named::read(&words.value()?.string()?)),
                Long("features") => {
                    let list = words.value()?.string()?;
                    let names = list
                        .split(',')
                        .map(str::trim)
                        .filter(|name| !name.is_empty());
                    self.features.extend(names.map(str::to_owned));
                }
                Long("no-default-features") => self.no_default_features = true,
                Long("dep") => self.dependencies.push(words.value()?.string()?),
                Long("out") => self.out = words.value()?.into(),
                Long("checker") => self.checker = Some(words.value()?.into()),
                Long("leaks") => self.leaks = true,
                Long("unchecked") => self.unchecked = true,
                Long("build") => self.build = true,
                Value(name) if self.subject.name.is_empty() => {
                    self.subject = Named::read(&name.string()?);
                }
                other => return Err(other.unexpected()),
            }
        }
        Ok(None)
    }
}
