//! Size and finish of the files, where the model's cfg may be named, and what a file must prove.

use std::collections::BTreeSet;

use super::source::Source;

/// Lines that hold code outside tests.
const MOST_CODE_LINES: usize = 350;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, text: &str) -> Source {
        Source::new(path, text)
    }

    fn starts(found: &[String]) -> Vec<&str> {
        found
            .iter()
            .map(|f| &f[..f.find(": ").expect("a finding says where")])
            .collect()
    }

    #[test]
    fn the_model_cfg_is_caught_outside_the_switch_and_the_roots() {
        let text = "//! x\n#[cfg(joint_loom)]\nfn a() { joint_loom_x() }\n";
        let text = format!("{text}{NAMES_CALLER}\nfn b() {{}}");
        assert_eq!(
            starts(&model_cfg(&at("src/task/raw.rs", &text))),
            ["src/task/raw.rs:2"]
        );
        assert_eq!(
            starts(&model_cfg(&at("joint-flow/src/lock.rs", &text))),
            ["joint-flow/src/lock.rs:2"]
        );
        assert_eq!(model_cfg(&at("joint-switch/src/model.rs", &text)), [""; 0]);
        assert_eq!(model_cfg(&at("src/lib.rs", &text)), [""; 0]);
    }

    #[test]
    fn a_missing_header_is_caught() {
        for text in [
            "",
            "use a;\n//! late",
            "/// an item's\nfn a() {}",
            "//!\nfn a() {}",
        ] {
            assert_eq!(
                starts(&header(&at("src/a.rs", text))),
                ["src/a.rs:1"],
                "{text:?}"
            );
        }
        assert_eq!(
            header(&at("src/a.rs", "\n//! What it is for.\nuse a;")),
            [""; 0]
        );
    }

    #[test]
    fn only_code_counts_as_length() {
        let code = "a();\n".repeat(MOST_CODE_LINES);
        let free = "\n// a comment\n/// another\n#[cfg(test)]\nmod tests {\n b();\n}\n";
        assert_eq!(length(&at("src/a.rs", &format!("{code}{free}"))), [""; 0]);
        let found = length(&at("src/a.rs", &format!("{code}{free}b();")));
        assert_eq!(starts(&found), ["src/a.rs:1"]);
        assert!(found[0].contains("351 lines"), "{found:?}");
        let string = "\"\n\n\"";
        let found = length(&at("src/a.rs", &format!("{code}{string}")));
        assert!(found[0].contains("353 lines"), "{found:?}");
    }

    #[test]
    fn wide_comments_are_caught() {
        let wide = "x".repeat(97);
        let bad = format!("/// a {wide}\nfn f() {{}} \n    // b {wide}\n// {wide}");
        assert_eq!(
            starts(&wide_comments("src/a.rs", &bad)),
            ["src/a.rs:1", "src/a.rs:3"]
        );
    }

    #[test]
    fn tags_without_room_are_caught() {
        let bad = "fn f() {\n a.map_addr(|address| address | TAG)\n}";
        assert_eq!(starts(&unproved_tags(&at("src/a.rs", bad))), ["src/a.rs:2"]);
        let good = format!("const _: () = assert!(align_of::<T>() > TAG);\n{bad}");
        assert_eq!(unproved_tags(&at("src/a.rs", &good)), [""; 0]);
    }

    #[test]
    fn references_to_a_task_that_nobody_vouches_for_are_caught() {
        let text = "pub struct A(Task);\nstruct B(Task);\npub enum C<M> {\n D(Runnable<M>),\n}\n\
            pub struct E(u8);\nimpl E { fn f(_: Task) {} }\npub struct F {\n task: Task,\n}";
        let found = |list| unlisted_references(&at("src/task/a.rs", text), list);
        assert_eq!(
            starts(&found("[`C`]")),
            ["src/task/a.rs:1", "src/task/a.rs:8"]
        );
        assert_eq!(found("[`A`], [`C`] and [`F`]"), [""; 0]);
    }
}
