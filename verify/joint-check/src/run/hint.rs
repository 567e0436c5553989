//! What a model may depend on that differs from run to run, by the source of its steps.

use std::{collections::BTreeSet, fs, path::Path};

use super::{Attempt, Fault, Run};

/// Words of a source, and what they make a model depend on.
const CAUSES: [(&[&str], &str); 6] = [
    (
        &["HashMap", "HashSet"],
        "the order of a hash map, which is random",
    ),
    (
        &[".addr()", "as usize", "ptr_eq", "ptr::eq"],
        "an address, which differs",
    ),
    (&["Instant::now", "SystemTime::now"], "the time"),
    (&["rand::", "random"], "a random number"),
    (
        &["strong_count", "get_mut("],
        "how many handles an `Arc` of std's has",
    ),
    (
        &["static "],
        "what a static keeps from one execution to the next",
    ),
];

impl Run {
    /// Fails because a thread does not do again what it did before.
    pub(super) fn differs(&mut self, how: &str) -> Attempt {
        let sites = self.lanes.iter().flat_map(|lane| &lane.sites);
        let files: BTreeSet<_> = sites.map(|site| site.at.file()).collect();
        let mut found = Vec::new();
        for (words, cause) in CAUSES {
            let line = files.iter().find_map(|file| {
                let line = first_line_with(file, words)?;
                Some(format!("{cause} ({file}:{line})"))
            });
            found.extend(line);
        }
        let on = match found.is_empty() {
            true => "an address, the order of a hash map, the time, or a static".into(),
            false => found.join(", or "),
        };
        self.fail(Fault::Limit(format!(
            "the model does not do the same when it is run again{how}. It may depend on {on}."
        )))
    }
}

/// The number of the first line of code with one of these words. The path of a source begins at the
/// root of its workspace, and a test runs in its package.
fn first_line_with(file: &str, words: &[&str]) -> Option<usize> {
    let here = std::env::current_dir().ok()?;
    let mut roots = here.ancestors().map(|root: &Path| root.join(file));
    let text = roots.find_map(|path| fs::read_to_string(path).ok())?;
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let mut lines = (1..).zip(text.lines());
    let found =
        lines.find(|(_, line)| is_code(line) && words.iter().any(|word| line.contains(word)));
    found.map(|(number, _)| number)
}
