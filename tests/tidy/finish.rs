//! Size and finish of the files, where the model's cfg may be named, and what a file must prove.

use std::collections::BTreeSet;

use super::source::Source;

/// Lines that hold code outside tests.
const MOST_CODE_LINES: usize = 350;

/// How many characters the name of a function has at most.
const LONGEST_NAME: usize = 60;

/// Where a line of a comment ends at the latest.
const LAST_COLUMN: usize = 100;

/// What a function that blocks has in a model, which then says who called it.
const NAMES_CALLER: &str = "#[cfg_attr(joint_loom, track_caller)]";

/// Lines of the text that hold `word`, whole.
fn lines_with<'a>(source: &'a Source, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let holds = move |line: &str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|found| found == word)
    };
    let lines = (1..).zip(source.text.lines());
    lines
        .filter(move |(_, line)| holds(line))
        .map(|(number, _)| number)
}

pub(crate) fn model_cfg(source: &Source) -> Vec<String> {
    if source.package() == "switch" || source.path.ends_with("src/lib.rs") {
        return Vec::new();
    }
    let what = "names the model's cfg; put the difference behind a name in joint_switch";
    let lines: Vec<_> = source.text.lines().map(str::trim).collect();
    lines_with(source, "joint_loom")
        .filter(|line| lines[line - 1] != NAMES_CALLER)
        .map(|line| source.finding(line, what))
        .collect()
}

/// Files that set a tag in an address, and do not say that the address has room for it.
pub(crate) fn unproved_tags(source: &Source) -> Vec<String> {
    let tag = ["map_addr", "(", "|", "address", "|", "address", "|"];
    let is_proved = source.text.contains("const _: () = assert!(align_of::<");
    let tags = source.shipped().filter(|&(at, _)| source.reads(at, &tag));
    let found = tags.filter(|_| !is_proved).map(|(_, token)| {
        let what = "tags an address; write `const _: () = assert!(align_of::<T>() > TAG)`";
        source.finding(token.line, what)
    });
    found.collect()
}

/// Public types with a field for a task that the list of the references to one does not name, for
/// which the callers of `spawn_unchecked` vouch.
pub(crate) fn unlisted_references(source: &Source, list: &str) -> Vec<String> {
    const FIELDS: [&str; 4] = ["Task", "Runnable", "JoinHandle", "AbortHandle"];
    let tokens = &source.tokens;
    let is_type = |at: &usize| {
        let is_item = source.reads(*at, &["pub", "struct"]) || source.reads(*at, &["pub", "enum"]);
        is_item && source.path.starts_with("src/task/") && !source.in_test[*at]
    };
    let is_unlisted = |at: &usize| {
        let body = tokens[at + 3..].iter().map(|token| token.text.as_str());
        let mut fields = body.take_while(|text| !["}", ";"].contains(text));
        let name = format!("[`{}`]", tokens[at + 2].text);
        fields.any(|text| FIELDS.contains(&text)) && !list.contains(&name)
    };
    let found = (0..tokens.len()).filter(is_type).filter(is_unlisted);
    let what = "refers to a task; name it under \"References to a task\" in src/task/mod.rs";
    found
        .map(|at| source.finding(tokens[at].line, what))
        .collect()
}

/// The numbers of lines with comments that end after [`LAST_COLUMN`]. Rows of tables and addresses
/// cannot be broken.
fn wide_lines(text: &str) -> impl Iterator<Item = usize> {
    let is_wide = |line: &str| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            return false;
        };
        let text = comment.trim_start_matches(['/', '!']).trim_start();
        let breaks = !text.starts_with('|') && !text.contains("://");
        line.chars().count() > LAST_COLUMN && breaks
    };
    let lines = (1..).zip(text.lines());
    lines.filter(move |(_, line)| is_wide(line)).map(|(n, _)| n)
}

pub(crate) fn wide_comments(path: &str, text: &str) -> Vec<String> {
    wide_lines(text)
        .map(|line| {
            format!("{path}:{line}: a comment ends after column {LAST_COLUMN}; break the line")
        })
        .collect()
}

/// The names of functions, most of them tests, that are longer than a sentence should be.
pub(crate) fn long_names(path: &str, text: &str) -> Vec<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once("fn ")?;
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric())?;
        (end > LONGEST_NAME).then(|| rest[..end].to_owned())
    };
    let names = (1..).zip(text.lines().map(name));
    names
        .filter_map(|(line, name)| {
            let name = name?;
            Some(format!(
                "{path}:{line}: {name} is longer than {LONGEST_NAME} characters"
            ))
        })
        .collect()
}

pub(crate) fn header(source: &Source) -> Vec<String> {
    let first = source.text.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| line.starts_with("//! ")) {
        return Vec::new();
    }
    vec![source.finding(1, "starts without a `//!` header; say what the file is for")]
}

pub(crate) fn length(source: &Source) -> Vec<String> {
    let lines: BTreeSet<usize> = source
        .shipped()
        .flat_map(|(_, token)| token.line..=token.last_line)
        .collect();
    if lines.len() <= MOST_CODE_LINES {
        return Vec::new();
    }
    let what = format!(
        "{} lines of code, and {MOST_CODE_LINES} are the most; move one role to a file of its own",
        lines.len()
    );
    vec![source.finding(1, what)]
}
