//! The user's request: the words after `cargo xtask`.

use std::{collections::BTreeMap, ffi::OsString, str::FromStr};

use super::{engine::Engine, grade, lab::page::Page, loom::Wish, sanitizers::Sanitizer};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

  check                  formatting, lints in every configuration, documentation
  test                   unit, integration and doc tests, examples, no_std, models, also against mutants
  loom [--full | --engine check] [FILTER]
                         the models, or those whose names contain FILTER;
                         --full explores every schedule, which can take hours;
                         --engine check runs them on joint-check instead of loom, each for 10 seconds
                         unless LOOM_MAX_DURATION says otherwise, and says which have not ended by then
  lab matrix [--json FILE] [--html FILE]
                         every pair of orderings for the completion's two exchanges, each decided by the
                         model checker; also for programs, and as a page with a counterexample for each
  lab page [--check | --test [--matrix FILE]]
                         writes verify/course/index.html, the ordering lab as one page, and compiles the checker in it
                         if there is the target; --check only compares the file with what would be written;
                         --test uses it in Chromium, at six sizes, and is skipped without: its verdicts are
                         those of the explorer, and of the matrix in FILE
  lesson [NUMBER]        whether an exercise of verify/course/lessons is solved; if not, the failing execution and what
                         is wrong; without a number, all of them in a line each
  grade [--check | HOMEWORK PATH]
                         a student's solution against the models in verify/course/homework, and whether it could be weaker;
                         in a folder also the student's models.rs, against changes of the solution there;
                         --check grades what lies in verify/course/homework itself
  bench [--readme | --mimalloc | --write] [NAME]
                         all benches, or one; --mimalloc gives all contestants mimalloc as their allocator;
                         --readme runs those that the README shows, quickly and some of them with mimalloc
                         too, or the one; --write runs none. Both write the figures of the last runs into
                         README.md and docs/measured.md
  bench-once             each row of each bench once, without figures: does it run?
  instructions [--no-lto]
                         how many instructions each path takes, with link-time optimization and without, or
                         only without; skipped unless there is valgrind
  mutants [--engine check] [--smoke | FILTER]
                         the models against each change of an ordering, an exchange or a second look, or of
                         those whose names contain FILTER, into docs/orderings.md; --smoke tries only what that
                         says is found, with the tests that it names; --engine check runs them on joint-check,
                         each for 10 seconds unless LOOM_MAX_DURATION says otherwise, into
                         target/check/orderings.md
  logic [FILTER]         the tests against each change of a condition, a result or a function's body, or of those
                         whose names, as cargo-mutants gives them, contain FILTER; what no test finds has to be
                         listed in .cargo/mutants.toml; skipped unless cargo-mutants is installed
  soak [MINUTES]         everything at once for so long, 5 minutes unless said otherwise
  compat                 async-task's, async-executor's and smol's suites on tools/compat/async-task,
                         and the crates of tools/compat/hunt in the simulation; fetched from the registry
  api [--check]          the public API of each published package, into tools/api; --check fails where that would change
  package [--list]       packs each published package, and builds it from its archive, without a network;
                         --list only checks which files go along
  dependents             builds and runs two packages outside the workspace: an executor on joint alone, and an
                         application on joint-executor alone; fails if one brings too many crates, or if the lab
                         does not name the planted bugs of two more
  powerset               lints each published package with each set of its features
  minimal                builds the published packages with the oldest versions of their dependencies that
                         they allow; skipped unless there is a nightly toolchain
  semver                 compares the public API with the last release, by its tag `v*`; skipped unless there is
                         one and cargo-semver-checks is installed
  size                   what one more task type costs in code, beside async-task
  portable [--smoke | --run [TARGET [PACKAGE]]]
                         type-checks for each target of Linux, Android, Windows, macOS and FreeBSD that is
                         installed, and says which are not; tests and models the task with the state word of a
                         small machine; runs an example for a microcontroller in QEMU, if that is installed;
                         --run runs the tests for other processors and systems, in QEMU, in Wine or here, or
                         those of a package, for targets whose names contain TARGET, and says what is missing;
                         --smoke runs joint's unit tests for the first of these targets that is installed,
                         and the example for a microcontroller
  miri                   the tests under Miri; skipped unless nightly has miri and rust-src
  asan                   the tests under AddressSanitizer; skipped unless the compiler in use, or nightly, has
                         its runtime
  tsan                   the tests under ThreadSanitizer, with std built for it; skipped unless the compiler in
                         use, or nightly, has its runtime and the source of std; names what is missing
  all                    check, then test
  help                   this text

Every command passes on the status of the step that failed.
";

#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Check,
    Test,
    Loom {
        wish: Wish,
        filter: Option<String>,
    },
    Lab(Lab),
    /// All exercises, if there is no number.
    Lesson {
        number: Option<u32>,
    },
    Grade(grade::Wish),
    Bench(Bench),
    BenchOnce,
    Instructions {
        only_without_lto: bool,
    },
    Mutants {
        engine: Engine,
        smoke: bool,
        filter: Option<String>,
    },
    Logic {
        filter: Option<String>,
    },
    Soak {
        minutes: f64,
    },
    Compat,
    Api {
        check: bool,
    },
    Package {
        list: bool,
    },
    Dependents,
    Powerset,
    Minimal,
    Semver,
    Size,
    Portable(Portable),
    Miri,
    Sanitizer(Sanitizer),
    All,
    Help,
}

/// What is done for other systems.
#[derive(Debug, PartialEq)]
pub(crate) enum Portable {
    Check,
    /// Runs tests, where the names of targets contain the filter.
    Run {
        filter: String,
        package: Option<String>,
    },
    Smoke,
}

/// Which benches run, and how.
#[derive(Debug, PartialEq)]
pub(crate) struct Bench {
    /// All, if there is none.
    pub(crate) name: Option<String>,
    /// Whether the figures go into the README and its tables.
    pub(crate) readme: bool,
    /// Whether all contestants use mimalloc.
    pub(crate) mimalloc: bool,
    /// Whether none runs, and the figures of the last runs go there.
    pub(crate) write: bool,
}

/// The product of the ordering lab.
#[derive(Debug, PartialEq)]
pub(crate) enum Lab {
    Matrix {
        json: Option<String>,
        html: Option<String>,
    },
    Page(Page),
}

/// What a command takes: switches, options with a value, and at most so many other words.
struct Shape {
    switches: &'static [&'static str],
    options: &'static [&'static str],
    words: usize,
}

const fn shape(
    switches: &'static [&'static str],
    options: &'static [&'static str],
    words: usize,
) -> Shape {
    Shape {
        switches,
        options,
        words,
    }
}

fn shape_of(command: &str) -> Shape {
    match command {
        "loom" => shape(&["--full"], &["--engine"], 1),
        "lab matrix" => shape(&[], &["--json", "--html"], 0),
        "lab page" => shape(&["--check", "--test"], &["--matrix"], 0),
        "lesson" | "logic" | "soak" => shape(&[], &[], 1),
        "grade" => shape(&["--check"], &[], 2),
        "bench" => shape(&["--readme", "--mimalloc", "--write"], &[], 1),
        "instructions" => shape(&["--no-lto"], &[], 0),
        "mutants" => shape(&["--smoke"], &["--engine"], 1),
        "api" => shape(&["--check"], &[], 0),
        "package" => shape(&["--list"], &[], 0),
        "portable" => shape(&["--smoke", "--run"], &[], 2),
        _ => shape(&[], &[], 0),
    }
}

/// The words after a command, as its [`Shape`] reads them.
#[derive(Default)]
struct Given {
    command: String,
    switches: Vec<String>,
    options: BTreeMap<String, String>,
    words: Vec<String>,
}

impl Given {
    fn read(command: String, rest: &[String]) -> Result<Self, String> {
        let shape = shape_of(&command);
        let mut given = Self {
            command,
            ..Self::default()
        };
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let name = &given.command;
            if shape.switches.contains(&word.as_str()) {
                given.switches.push(word.clone());
            } else if shape.options.contains(&word.as_str()) {
                let value = rest.next().filter(|value| !value.starts_with('-'));
                let value = value.ok_or_else(|| format!("{name} {word} needs a value"))?;
                given.options.insert(word.clone(), value.clone());
            } else if word.starts_with('-') {
                return Err(format!("{name} has no option {word}"));
            } else if given.words.len() == shape.words {
                let most = shape.words;
                return Err(format!(
                    "{name} takes {most} words at most, but was given {word} too"
                ));
            } else {
                given.words.push(word.clone());
            }
        }
        Ok(given)
    }

    fn has(&self, switch: &str) -> bool {
        self.switches.iter().any(|own| own == switch)
    }

    fn option(&self, name: &str) -> Option<String> {
        self.options.get(name).cloned()
    }

    fn word(&self) -> Option<String> {
        self.words.first().cloned()
    }

    fn engine(&self) -> Result<Engine, String> {
        let named = self.options.get("--engine").map(|name| Engine::named(name));
        let wrong = || format!("{} --engine takes loom or check", self.command);
        named.unwrap_or(Some(Engine::Loom)).ok_or_else(wrong)
    }

    /// Refuses what does not go together: more than one of the switches, or one and a word.
    fn one_of(&self, switches: &[&str], or_word: bool) -> Result<(), String> {
        let given = switches.iter().filter(|switch| self.has(switch)).count();
        let words = usize::from(or_word && !self.words.is_empty());
        match given == 0 || given + words == 1 {
            true => Ok(()),
            false => Err(format!(
                "{} takes one of {}{}",
                self.command,
                switches.join(", "),
                if or_word { ", or a word" } else { "" }
            )),
        }
    }

    /// The first word as a number.
    fn number<T: FromStr>(&self) -> Result<Option<T>, String> {
        let number = self.words.first().map(|word| {
            let wrong = |_| format!("{} takes a number, but was given {word}", self.command);
            word.parse().map_err(wrong)
        });
        number.transpose()
    }
}

/// The longest soak: a day.
const MOST_MINUTES: f64 = 24.0 * 60.0;

/// Reads a command, or says in one line what is wrong with it.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let words = words.into_iter().map(OsString::into_string);
    let words = words.collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|word| format!("{word:?} is not UTF-8"))?;
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help);
    }
    let (name, rest) = match words.as_slice() {
        [] => return Err("no command given".to_owned()),
        [lab, what, rest @ ..] if lab == "lab" => (format!("lab {what}"), rest),
        [name, rest @ ..] => (name.clone(), rest),
    };
    let given = Given::read(name, rest)?;
    Ok(match given.command.as_str() {
        "check" => Command::Check,
        "test" => Command::Test,
        "loom" => {
            let (engine, full) = (given.engine()?, given.has("--full"));
            if full && engine == Engine::Check {
                let why = "joint-check has no bounds on preemptions that --full could take away";
                return Err(why.to_owned());
            }
            let (wish, filter) = (Wish { engine, full }, given.word());
            Command::Loom { wish, filter }
        }
        "lab matrix" => Command::Lab(Lab::Matrix {
            json: given.option("--json"),
            html: given.option("--html"),
        }),
        "lab page" => {
            given.one_of(&["--check", "--test"], false)?;
            let matrix = given.option("--matrix");
            Command::Lab(Lab::Page(match (given.has("--test"), matrix) {
                (true, matrix) => Page::Test { matrix },
                (false, Some(_)) => return Err("lab page --matrix goes with --test".to_owned()),
                (false, None) if given.has("--check") => Page::Check,
                (false, None) => Page::Write,
            }))
        }
        "lab" => return Err("lab takes what it is to make: matrix or page".to_owned()),
        "lesson" => Command::Lesson {
            number: given.number()?,
        },
        "grade" => Command::Grade(match given.words.as_slice() {
            [] if given.has("--check") => grade::Wish::Check,
            [name, path] if !given.has("--check") => grade::Wish::Homework {
                name: name.clone(),
                path: path.into(),
            },
            _ => return Err("grade takes a homework and a path, or --check".to_owned()),
        }),
        "bench" => {
            given.one_of(&["--readme", "--mimalloc", "--write"], false)?;
            given.one_of(&["--write"], true)?;
            Command::Bench(Bench {
                name: given.word(),
                readme: given.has("--readme"),
                mimalloc: given.has("--mimalloc"),
                write: given.has("--write"),
            })
        }
        "bench-once" => Command::BenchOnce,
        "instructions" => Command::Instructions {
            only_without_lto: given.has("--no-lto"),
        },
        "mutants" => {
            given.one_of(&["--smoke"], true)?;
            Command::Mutants {
                engine: given.engine()?,
                smoke: given.has("--smoke"),
                filter: given.word(),
            }
        }
        "logic" => Command::Logic {
            filter: given.word(),
        },
        "soak" => match given.number()?.unwrap_or(5.0) {
            minutes if minutes > 0.0 && minutes <= MOST_MINUTES => Command::Soak { minutes },
            minutes => {
                return Err(format!(
                    "soak takes up to {MOST_MINUTES} minutes, not {minutes}"
                ));
            }
        },
        "compat" => Command::Compat,
        "api" => Command::Api {
            check: given.has("--check"),
        },
        "package" => Command::Package {
            list: given.has("--list"),
        },
        "dependents" => Command::Dependents,
        "powerset" => Command::Powerset,
        "minimal" => Command::Minimal,
        "semver" => Command::Semver,
        "size" => Command::Size,
        "portable" => Command::Portable(match (given.has("--smoke"), given.has("--run")) {
            (false, true) => Portable::Run {
                filter: given.word().unwrap_or_default(),
                package: given.words.get(1).cloned(),
            },
            (true, false) if given.words.is_empty() => Portable::Smoke,
            (false, false) if given.words.is_empty() => Portable::Check,
            _ => return Err("portable takes --smoke, or --run [TARGET [PACKAGE]]".to_owned()),
        }),
        "miri" => Command::Miri,
        "asan" => Command::Sanitizer(Sanitizer::Address),
        "tsan" => Command::Sanitizer(Sanitizer::Thread),
        "all" => Command::All,
        "help" => Command::Help,
        name => return Err(format!("no such command: {name}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_command_of_the_usage_is_read() {
        let listed = USAGE.lines().filter_map(|line| line.strip_prefix("  "));
        let names: Vec<_> = listed
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(names.len(), 27, "{names:?}");
        for name in names {
            let line = match name {
                "lab" => "lab page",
                "grade" => "grade --check",
                name => name,
            };
            assert!(parsed(line).is_ok(), "{name}");
        }
    }

    #[test]
    fn switches_options_and_words_come_in_any_order() {
        for (line, command) in [
            (
                "loom",
                "Loom { wish: Wish { engine: Loom, full: false }, filter: None }",
            ),
            (
                "loom wake --full",
                "Loom { wish: Wish { engine: Loom, full: true }, filter: Some(\"wake\") }",
            ),
            (
                "loom --engine check wake",
                "Loom { wish: Wish { engine: Check, full: false }, filter: Some(\"wake\") }",
            ),
            (
                "lab matrix --html b --json a",
                "Lab(Matrix { json: Some(\"a\"), html: Some(\"b\") })",
            ),
            ("lab page", "Lab(Page(Write))"),
            ("lab page --check", "Lab(Page(Check))"),
            (
                "lab page --test --matrix m",
                "Lab(Page(Test { matrix: Some(\"m\") }))",
            ),
            ("lesson 5", "Lesson { number: Some(5) }"),
            ("grade --check", "Grade(Check)"),
            (
                "grade lock mine.rs",
                "Grade(Homework { name: \"lock\", path: \"mine.rs\" })",
            ),
            (
                "bench flow --readme",
                "Bench(Bench { name: Some(\"flow\"), readme: true, mimalloc: false, write: false })",
            ),
            (
                "instructions --no-lto",
                "Instructions { only_without_lto: true }",
            ),
            (
                "mutants --smoke",
                "Mutants { engine: Loom, smoke: true, filter: None }",
            ),
            (
                "mutants --engine check sleep",
                "Mutants { engine: Check, smoke: false, filter: Some(\"sleep\") }",
            ),
            ("logic turn.rs", "Logic { filter: Some(\"turn.rs\") }"),
            ("soak", "Soak { minutes: 5.0 }"),
            ("soak 0.5", "Soak { minutes: 0.5 }"),
            ("api --check", "Api { check: true }"),
            ("package --list", "Package { list: true }"),
            ("portable", "Portable(Check)"),
            (
                "portable --run arm flow",
                "Portable(Run { filter: \"arm\", package: Some(\"flow\") })",
            ),
            ("check --help", "Help"),
            ("lab -h", "Help"),
        ] {
            assert_eq!(
                format!("{:?}", parsed(line).expect(line)),
                command,
                "{line}"
            );
        }
    }

    #[test]
    fn bad_input_is_one_line_that_names_it() {
        for (line, culprit) in [
            ("", "no command"),
            ("chekc", "chekc"),
            ("check now", "now"),
            ("loom --ful", "--ful"),
            ("loom one two", "two"),
            ("loom --engine", "--engine"),
            ("loom --engine x", "--engine"),
            ("loom --full --engine check", "--full"),
            ("bench -x", "-x"),
            ("bench --readme --mimalloc", "--mimalloc"),
            ("bench --write flow", "--write"),
            ("instructions --lto", "--lto"),
            ("lab", "matrix"),
            ("lab pictures", "pictures"),
            ("lab matrix --xml", "--xml"),
            ("lab matrix --json --html b", "--json"),
            ("mutants --smoke sleep", "--smoke"),
            ("mutants --all", "--all"),
            ("lab page --tset", "--tset"),
            ("lab page --test --matrix", "--matrix"),
            ("lab page --matrix m", "--matrix"),
            ("grade lock", "grade"),
            ("api --chekc", "--chekc"),
            ("package joint", "joint"),
            ("portable --smoke --run", "--smoke"),
            ("lesson five", "five"),
            ("lesson 5 7", "7"),
            ("lesson 5.5", "5.5"),
            ("soak long", "long"),
            ("soak 0", "0"),
            ("soak inf", "inf"),
            ("soak NaN", "NaN"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(
                error.contains(culprit) && error.lines().count() == 1,
                "{error}"
            );
        }
    }
}
