//! The user's request: the words after `cargo xtask`.

use std::ffi::OsString;

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
                         writes lab/index.html, the ordering lab as one page, and compiles the checker in it
                         if there is the target; --check only compares the file with what would be written;
                         --test uses it in Chromium, at six sizes, and is skipped without: its verdicts are
                         those of the explorer, and of the matrix in FILE
  lesson [NUMBER]        whether an exercise of docs/lessons is solved; if not, the failing execution and what
                         is wrong; without a number, all of them in a line each
  grade [--check | HOMEWORK PATH]
                         a student's solution against the models in docs/homework, and whether it could be weaker;
                         in a folder also the student's models.rs, against changes of the solution there;
                         --check grades what lies in docs/homework itself
  bench [--readme | --mimalloc | --write] [NAME]
                         all benches, or one; --mimalloc gives all contestants mimalloc as their allocator;
                         --readme runs those that the README shows, quickly and some of them with mimalloc
                         too, or the one; --write runs none. Both write the figures of the last runs into
                         README.md, docs/measured.md and docs/measured.svg
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
                         listed in tests/logic-survivors.txt; skipped unless cargo-mutants is installed
  soak [MINUTES]         everything at once for so long, 5 minutes unless said otherwise
  compat                 async-task's, async-executor's and smol's suites on compat/async-task,
                         and the crates of compat/hunt in the simulation; fetched from the registry
  api [--check]          the public API of each published package, into api/; --check fails where that would change
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

/// Reads a command, or says in one line what is wrong with it.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let words = words.into_iter().map(OsString::into_string);
    let words = words.collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|word| format!("{word:?} is not UTF-8"))?;
    let Some((name, rest)) = words.split_first() else {
        return Err("no command given".to_owned());
    };
    let command = match name.as_str() {
        "loom" => return loom(rest),
        "lab" => return lab(rest),
        "lesson" if rest.iter().any(|word| is_help(word)) => return Ok(Command::Help),
        "lesson" => return lesson(rest),
        "grade" if rest.iter().any(|word| is_help(word)) => return Ok(Command::Help),
        "grade" => return grade(rest),
        "bench" => return bench(rest),
        "instructions" if rest == ["--no-lto"] => {
            return Ok(Command::Instructions {
                only_without_lto: true,
            });
        }
        "instructions" => Command::Instructions {
            only_without_lto: false,
        },
        "mutants" if rest.iter().any(|word| is_help(word)) => return Ok(Command::Help),
        "mutants" => return mutants(rest),
        "logic" if rest.iter().any(|word| is_help(word)) => return Ok(Command::Help),
        "logic" => {
            let filter = at_most_one("logic", rest)?;
            return Ok(Command::Logic { filter });
        }
        "soak" => return soak(rest),
        "api" if rest == ["--check"] => return Ok(Command::Api { check: true }),
        "api" => Command::Api { check: false },
        "package" if rest == ["--list"] => return Ok(Command::Package { list: true }),
        "package" => Command::Package { list: false },
        "dependents" => Command::Dependents,
        "powerset" => Command::Powerset,
        "minimal" => Command::Minimal,
        "semver" => Command::Semver,
        "bench-once" => Command::BenchOnce,
        "check" => Command::Check,
        "test" => Command::Test,
        "compat" => Command::Compat,
        "size" => Command::Size,
        "portable" => return portable(rest),
        "miri" => Command::Miri,
        "asan" => Command::Sanitizer(Sanitizer::Address),
        "tsan" => Command::Sanitizer(Sanitizer::Thread),
        "all" => Command::All,
        "help" | "--help" | "-h" => Command::Help,
        _ => return Err(format!("no such command: {name}")),
    };
    match rest.first() {
        None => Ok(command),
        Some(word) if is_help(word) => Ok(Command::Help),
        Some(word) => Err(format!("{name} takes no arguments, but was given {word}")),
    }
}

fn is_help(word: &str) -> bool {
    word == "--help" || word == "-h"
}

/// Takes the engine out of the words.
fn engine(command: &str, words: &[String]) -> Result<(Engine, Vec<String>), String> {
    let mut words = words.to_vec();
    let Some(at) = words.iter().position(|word| word == "--engine") else {
        return Ok((Engine::Loom, words));
    };
    let named = words.drain(at..words.len().min(at + 2)).nth(1);
    let named = named.and_then(|name| Engine::named(&name));
    let engine = named.ok_or_else(|| format!("{command} --engine takes loom or check"))?;
    Ok((engine, words))
}

fn mutants(words: &[String]) -> Result<Command, String> {
    let (engine, words) = engine("mutants", words)?;
    let smoke = words.iter().any(|word| word == "--smoke");
    if smoke && words.len() > 1 {
        return Err("mutants takes --smoke or a filter, not both".to_owned());
    }
    let filter = match smoke {
        true => None,
        false => at_most_one("mutants", &words)?,
    };
    Ok(Command::Mutants {
        engine,
        smoke,
        filter,
    })
}

fn bench(words: &[String]) -> Result<Command, String> {
    const SWITCHES: [&str; 3] = ["--readme", "--mimalloc", "--write"];
    let (switches, rest): (Vec<_>, Vec<_>) =
        (words.iter().cloned()).partition(|word| SWITCHES.contains(&word.as_str()));
    let has = |switch: &str| switches.iter().any(|word| word == switch);
    let bench = Bench {
        name: at_most_one("bench", &rest)?,
        readme: has(SWITCHES[0]),
        mimalloc: has(SWITCHES[1]),
        write: has(SWITCHES[2]),
    };
    if switches.iter().any(|switch| *switch != switches[0]) {
        let all = SWITCHES.join(", ");
        return Err(format!("bench takes one of {all}"));
    }
    if let Some(name) = bench.name.as_ref().filter(|_| bench.write) {
        return Err(format!("bench --write runs no bench, but was given {name}"));
    }
    Ok(Command::Bench(bench))
}

fn loom(words: &[String]) -> Result<Command, String> {
    let (engine, words) = engine("loom", words)?;
    let (full, filters): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word == "--full");
    let full = !full.is_empty();
    if full && engine == Engine::Check {
        return Err("joint-check has no bounds on preemptions that --full could take away".into());
    }
    let filter = at_most_one("loom", &filters)?;
    let wish = Wish { engine, full };
    Ok(Command::Loom { wish, filter })
}

fn lab(words: &[String]) -> Result<Command, String> {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help);
    }
    match words.split_first() {
        Some((name, rest)) if name == "matrix" => matrix(rest),
        Some((name, rest)) if name == "page" => page(rest),
        Some((name, _)) => Err(format!("lab cannot make {name}")),
        None => Err("lab takes what it is to make: matrix or page".to_owned()),
    }
}

fn matrix(words: &[String]) -> Result<Command, String> {
    let (mut json, mut html) = (None, None);
    let mut words = words.iter();
    while let Some(option) = words.next() {
        let place = match option.as_str() {
            "--json" => &mut json,
            "--html" => &mut html,
            _ => return Err(format!("lab matrix has no option {option}")),
        };
        let file = words.next().filter(|file| !file.starts_with('-'));
        *place = Some(file.ok_or(format!("{option} needs a file"))?.clone());
    }
    Ok(Command::Lab(Lab::Matrix { json, html }))
}

fn page(words: &[String]) -> Result<Command, String> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let page = match *words {
        [] => Page::Write,
        ["--check"] => Page::Check,
        ["--test"] => Page::Test { matrix: None },
        ["--test", "--matrix", file] => Page::Test {
            matrix: Some(file.to_owned()),
        },
        _ => {
            let words = words.join(" ");
            return Err(format!(
                "lab page takes --check, or --test with --matrix FILE, but was given {words}"
            ));
        }
    };
    Ok(Command::Lab(Lab::Page(page)))
}

fn lesson(words: &[String]) -> Result<Command, String> {
    let word = at_most_one("lesson", words)?;
    let number = word.map(|word| {
        let wrong = |_| format!("lesson takes the number of a lesson, but was given {word}");
        word.parse().map_err(wrong)
    });
    let number = number.transpose()?;
    Ok(Command::Lesson { number })
}

fn grade(words: &[String]) -> Result<Command, String> {
    let wish = match words {
        [check] if check == "--check" => grade::Wish::Check,
        [name, path] => grade::Wish::Homework {
            name: name.clone(),
            path: path.into(),
        },
        _ => return Err("grade takes a homework and a path, or --check".to_owned()),
    };
    Ok(Command::Grade(wish))
}

/// The longest soak: a day.
const MOST_MINUTES: f64 = 24.0 * 60.0;

fn soak(words: &[String]) -> Result<Command, String> {
    let Some(word) = at_most_one("soak", words)? else {
        return Ok(Command::Soak { minutes: 5.0 });
    };
    match word.parse() {
        Ok(minutes) if minutes > 0.0 && minutes <= MOST_MINUTES => Ok(Command::Soak { minutes }),
        _ => Err(format!(
            "soak takes a number of minutes, up to {MOST_MINUTES}, but was given {word}"
        )),
    }
}

fn portable(words: &[String]) -> Result<Command, String> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let portable = match words[..] {
        [] => Portable::Check,
        ["--smoke"] => Portable::Smoke,
        ["--run", ref rest @ ..]
            if rest.len() < 3 && rest.iter().all(|word| !word.starts_with('-')) =>
        {
            Portable::Run {
                filter: rest.first().copied().unwrap_or_default().to_owned(),
                package: rest.get(1).map(|&package| package.to_owned()),
            }
        }
        [word] if is_help(word) => return Ok(Command::Help),
        _ => return Err("portable takes nothing, --smoke, or --run [TARGET [PACKAGE]]".to_owned()),
    };
    Ok(Command::Portable(portable))
}

fn at_most_one(command: &str, words: &[String]) -> Result<Option<String>, String> {
    if let Some(option) = words.iter().find(|word| word.starts_with('-')) {
        return Err(format!("{command} has no option {option}"));
    }
    match words {
        [] => Ok(None),
        [name] => Ok(Some(name.clone())),
        [_, second, ..] => Err(format!(
            "{command} takes one word, but was given {second} too"
        )),
    }
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
    fn the_matrix_takes_files() {
        let matrix = |json: Option<&str>, html: Option<&str>| {
            let [json, html] = [json, html].map(|file| file.map(str::to_owned));
            Ok(Command::Lab(Lab::Matrix { json, html }))
        };
        assert_eq!(parsed("lab matrix"), matrix(None, None));
        assert_eq!(parsed("lab matrix --json a"), matrix(Some("a"), None));
        assert_eq!(
            parsed("lab matrix --html b --json a"),
            matrix(Some("a"), Some("b"))
        );
    }

    #[test]
    fn the_page_is_written_or_checked_or_tested() {
        let page = |page| Ok(Command::Lab(Lab::Page(page)));
        let test = |file: Option<&str>| Page::Test {
            matrix: file.map(str::to_owned),
        };
        assert_eq!(parsed("lab page"), page(Page::Write));
        assert_eq!(parsed("lab page --check"), page(Page::Check));
        assert_eq!(parsed("lab page --test"), page(test(None)));
        let with_matrix = parsed("lab page --test --matrix m.json");
        assert_eq!(with_matrix, page(test(Some("m.json"))));
    }

    #[test]
    fn loom_takes_switches_and_a_filter_in_any_order() {
        use Engine::{Check, Loom};
        let loom = |engine, full, filter: Option<&str>| {
            let wish = Wish { engine, full };
            let filter = filter.map(str::to_owned);
            Ok(Command::Loom { wish, filter })
        };
        assert_eq!(parsed("loom"), loom(Loom, false, None));
        assert_eq!(parsed("loom wake"), loom(Loom, false, Some("wake")));
        assert_eq!(parsed("loom --full wake"), loom(Loom, true, Some("wake")));
        assert_eq!(parsed("loom wake --full"), loom(Loom, true, Some("wake")));
        assert_eq!(
            parsed("loom --engine check wake"),
            loom(Check, false, Some("wake"))
        );
        for wrong in [
            "loom --engine",
            "loom --engine x",
            "loom --full --engine check",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bench_takes_a_switch_and_a_name_in_any_order() {
        let with = |readme, mimalloc, name: Option<&str>| {
            Ok(Command::Bench(Bench {
                name: name.map(str::to_owned),
                readme,
                mimalloc,
                write: false,
            }))
        };
        let bench = |readme, name| with(readme, false, name);
        assert_eq!(parsed("bench"), bench(false, None));
        assert_eq!(parsed("bench task"), bench(false, Some("task")));
        assert_eq!(parsed("bench --readme"), bench(true, None));
        assert_eq!(parsed("bench --readme flow"), bench(true, Some("flow")));
        assert_eq!(parsed("bench flow --readme"), bench(true, Some("flow")));
        assert_eq!(parsed("bench --mimalloc"), with(false, true, None));
        let of_task = with(false, true, Some("task"));
        assert_eq!(parsed("bench task --mimalloc"), of_task);
        let write = Bench {
            name: None,
            readme: false,
            mimalloc: false,
            write: true,
        };
        assert_eq!(parsed("bench --write"), Ok(Command::Bench(write)));
    }

    #[test]
    fn instructions_takes_a_switch() {
        let instructions = |only_without_lto| Ok(Command::Instructions { only_without_lto });
        assert_eq!(parsed("instructions"), instructions(false));
        assert_eq!(parsed("instructions --no-lto"), instructions(true));
        assert_eq!(parsed("instructions --help"), Ok(Command::Help));
    }

    #[test]
    fn mutants_takes_a_switch_or_a_filter() {
        let mutants = |engine, smoke, filter: Option<&str>| {
            let filter = filter.map(str::to_owned);
            Ok(Command::Mutants {
                engine,
                smoke,
                filter,
            })
        };
        let (loom, check) = (Engine::Loom, Engine::Check);
        assert_eq!(parsed("mutants"), mutants(loom, false, None));
        assert_eq!(parsed("mutants --smoke"), mutants(loom, true, None));
        assert_eq!(parsed("mutants sleep"), mutants(loom, false, Some("sleep")));
        assert_eq!(
            parsed("mutants --engine check sleep"),
            mutants(check, false, Some("sleep"))
        );
        assert!(parsed("mutants --engine").is_err());
        assert_eq!(parsed("mutants sleep --help"), Ok(Command::Help));
    }

    #[test]
    fn logic_takes_a_filter() {
        let logic = |filter: Option<&str>| {
            let filter = filter.map(str::to_owned);
            Ok(Command::Logic { filter })
        };
        assert_eq!(parsed("logic"), logic(None));
        assert_eq!(parsed("logic turn.rs"), logic(Some("turn.rs")));
        assert_eq!(parsed("logic turn --help"), Ok(Command::Help));
        assert!(parsed("logic --in-place").is_err());
    }

    #[test]
    fn the_api_and_the_packages_take_a_switch() {
        assert_eq!(parsed("api"), Ok(Command::Api { check: false }));
        assert_eq!(parsed("api --check"), Ok(Command::Api { check: true }));
        assert_eq!(parsed("package"), Ok(Command::Package { list: false }));
        assert_eq!(
            parsed("package --list"),
            Ok(Command::Package { list: true })
        );
        assert_eq!(parsed("package --help"), Ok(Command::Help));
    }

    #[test]
    fn a_lesson_is_chosen_by_its_number() {
        assert_eq!(parsed("lesson"), Ok(Command::Lesson { number: None }));
        assert_eq!(parsed("lesson 5"), Ok(Command::Lesson { number: Some(5) }));
        assert_eq!(parsed("lesson --help"), Ok(Command::Help));
    }

    #[test]
    fn grade_takes_a_homework_and_a_path() {
        let of_lock = grade::Wish::Homework {
            name: "lock".to_owned(),
            path: "mine.rs".into(),
        };
        assert_eq!(parsed("grade lock mine.rs"), Ok(Command::Grade(of_lock)));
        let check = Ok(Command::Grade(grade::Wish::Check));
        assert_eq!(parsed("grade --check"), check);
        assert!(parsed("grade lock").is_err() && parsed("grade").is_err());
    }

    #[test]
    fn soak_takes_minutes() {
        assert_eq!(parsed("soak"), Ok(Command::Soak { minutes: 5.0 }));
        assert_eq!(parsed("soak 0.5"), Ok(Command::Soak { minutes: 0.5 }));
    }

    #[test]
    fn help_wins() {
        for line in ["help", "--help", "-h", "check --help", "lab matrix --help"] {
            assert_eq!(parsed(line), Ok(Command::Help), "{line}");
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
            ("bench -x", "-x"),
            ("bench --readme --mimalloc", "--mimalloc"),
            ("bench --write flow", "flow"),
            ("instructions --lto", "--lto"),
            ("lab", "matrix"),
            ("lab pictures", "pictures"),
            ("lab matrix --xml", "--xml"),
            ("lab matrix --json", "--json"),
            ("lab matrix --json --html b", "--json"),
            ("mutants --smoke sleep", "--smoke"),
            ("mutants --all", "--all"),
            ("lab page --tset", "--tset"),
            ("lab page --test --matrix", "--matrix"),
            ("api --chekc", "--chekc"),
            ("package joint", "joint"),
            ("lesson five", "five"),
            ("lesson 5 7", "7"),
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
