//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Hashes a directory tree into one BLAKE3 digest.

Usage: treehash [--workers N] PATH

  --workers N   hash on N threads, 1 to 1024 (default: one per processor)
  -h, --help    print this
  --            what follows is PATH, even if it starts with a dash

Symbolic links are hashed as links, not followed.
Exit status: 0 hashed, 1 some entries were unreadable, 2 failed.
";

/// A limit that catches a typing error before the machine runs out of threads.
const MAX_WORKERS: usize = 1024;

#[derive(Debug)]
pub(crate) enum Args {
    Help,
    Hash {
        workers: Option<usize>,
        path: PathBuf,
    },
}

impl Args {
    /// # Errors
    ///
    /// One line that says what is wrong with the command line.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut workers = None;
        let mut path = None;
        let mut options = true;
        while let Some(argument) = arguments.next() {
            if !options || !is_option(&argument) {
                if path.replace(PathBuf::from(argument)).is_some() {
                    return Err(usage("more than one PATH"));
                }
                continue;
            }
            match argument.to_str() {
                Some("--") => options = false,
                Some("-h" | "--help") => return Ok(Self::Help),
                Some("--workers") => workers = Some(count(arguments.next())?),
                Some(option) if option.starts_with("--workers=") => {
                    workers = Some(count(option.split_once('=').map(|(_, n)| n.into()))?);
                }
                _ => {
                    return Err(usage(&format!(
                        "unknown option {}",
                        argument.to_string_lossy()
                    )));
                }
            }
        }
        Ok(Self::Hash {
            workers,
            path: path.ok_or_else(|| usage("no PATH"))?,
        })
    }
}

/// A lone dash is a name like any other, because nothing is read from standard input.
fn is_option(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.starts_with(b"-") && bytes.len() > 1
}

fn count(value: Option<OsString>) -> Result<usize, String> {
    let value = value.ok_or_else(|| usage("--workers needs a number"))?;
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(workers @ 1..=MAX_WORKERS) => Ok(workers),
        _ => Err(usage(&format!(
            "--workers takes 1 to {MAX_WORKERS}, not {}",
            value.to_string_lossy()
        ))),
    }
}

fn usage(message: &str) -> String {
    format!("{message} (usage: treehash [--workers N] PATH)")
}
