//! The options of the command line.

use std::{thread, time::Duration};

pub(crate) const USAGE: &str = "\
Changes one atomic operation of a crate at a time, and demands that one of its loom tests fails.

Usage: cargo ordering-mutants [OPTIONS] [-- ARGUMENTS OF cargo test [-- FILTERS]]

  --cfg NAME         a cfg of the build with loom; can be repeated (default: loom)
  --place TEXT       only places whose name contains the text, such as `src/lib.rs` or ` swap`
  --list             print the places and how many tests reach each; change nothing
  --smoke            one change of each place; stops at the first survivor without a reason
  --timeout SECONDS  for one run of one test (default: 600)
  --jobs N           tests at a time (default: one on each processor)
  --reasons FILE     the survivors that are known, with reasons (default: ordering-mutants.txt)
  --table FILE       write the table to this file as well
  --page FILE        keep a page in this file, without lines and times: each place with its comment, and the test that
                     finds each change, which is tried first the next time; with --smoke, only try what the page says
                     is found, with the tests that it names
  --help, --version  print this, or the version

Exit code: 0 if each change is found or has a reason, 1 if not, 2 if the tests could not be run.";

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) cfgs: Vec<String>,
    pub(crate) place: Option<String>,
    pub(crate) list: bool,
    pub(crate) smoke: bool,
    pub(crate) timeout: Duration,
    pub(crate) jobs: usize,
    pub(crate) reasons: String,
    pub(crate) table: Option<String>,
    pub(crate) page: Option<String>,
    /// The arguments of `cargo test`.
    pub(crate) cargo: Vec<String>,
    /// Those behind its `--`, for the test programs.
    pub(crate) filters: Vec<String>,
}

impl Options {
    pub(crate) fn read(words: Vec<String>) -> Result<Self, String> {
        let mut options = Self {
            cfgs: Vec::new(),
            place: None,
            list: false,
            smoke: false,
            timeout: Duration::from_secs(600),
            jobs: thread::available_parallelism().map_or(1, usize::from),
            reasons: "ordering-mutants.txt".to_owned(),
            table: None,
            page: None,
            cargo: Vec::new(),
            filters: Vec::new(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("`{word}` needs a value"))
            };
            match &*word {
                "--" => break,
                "--list" => options.list = true,
                "--smoke" => options.smoke = true,
                "--cfg" => options.cfgs.push(value()?),
                "--place" => options.place = Some(value()?),
                "--reasons" => options.reasons = value()?,
                "--table" => options.table = Some(value()?),
                "--page" => options.page = Some(value()?),
                "--timeout" => options.timeout = Duration::from_secs(number(&value()?)?),
                "--jobs" => options.jobs = number(&value()?)?,
                _ => return Err(format!("`{word}` is no option\n\n{USAGE}")),
            }
        }
        if options.cfgs.is_empty() {
            options.cfgs.push("loom".to_owned());
        }
        options
            .cargo
            .extend(words.by_ref().take_while(|word| word != "--"));
        options.filters.extend(words);
        Ok(options)
    }
}

fn number<N: std::str::FromStr + Default + PartialEq>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|n| *n != N::default());
    number.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn the_words_behind_the_dashes_are_cargos_and_then_the_programs() {
        let options = read("--jobs 3 --cfg a --cfg b -- --release --test loom -- --skip x");
        let options = options.expect("it is right");
        assert_eq!((options.jobs, options.cfgs.len()), (3, 2));
        assert_eq!(options.cargo, ["--release", "--test", "loom"]);
        assert_eq!(options.filters, ["--skip", "x"]);
        assert_eq!(read("--smoke").expect("it is right").cfgs, ["loom"]);
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, word) in [
            ("--jobs", "--jobs"),
            ("--jobs 0", "`0`"),
            ("--timeout soon", "soon"),
            ("--test loom", "--test"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(word), "{error}");
        }
    }
}
