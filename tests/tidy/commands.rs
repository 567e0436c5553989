//! The README tells a contributor to run the same commands as CI.

/// Commands in the fenced blocks of a text, without prompts and trailing comments.
fn fenced(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            commands.push(command(line));
        }
    }
    commands
}

fn command(line: &str) -> String {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let code = line.split(" #").next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn check(readme: &str, script: &str) -> Result<(), String> {
    let is_test = |line: &String| {
        let mut words = line.split(' ');
        words.next() == Some("cargo") && words.any(|word| word == "test")
    };
    let Some(test) = fenced(readme).into_iter().find(is_test) else {
        return Err(
            "README.md shows no test command; put `cargo xtask test` in a fenced block".into(),
        );
    };
    if script.lines().any(|line| command(line.trim()) == test) {
        return Ok(());
    }
    Err(format!(
        ".ci/run does not run the README's test command; add the line `{test}` to it, or correct README.md"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str =
        "Run `cargo test` never.\n```sh\n$ cargo build\n$ cargo xtask  test   # all of it\n```\n";

    #[test]
    fn the_same_command_is_fine() {
        assert_eq!(
            check(README, "set -e\ncargo xtask check\ncargo xtask test\n"),
            Ok(())
        );
    }

    #[test]
    fn another_command_is_caught() {
        for script in [
            "cargo test\n",
            "# cargo xtask test\n",
            "cargo xtask test --quick\n",
            "",
        ] {
            let found = check(README, script).expect_err(script);
            assert!(found.contains("`cargo xtask test`"), "{found}");
        }
    }

    #[test]
    fn a_readme_without_a_test_command_is_caught() {
        for readme in ["Run `cargo xtask test`.", "```\ncargo build\n```"] {
            let found = check(readme, "cargo xtask test").expect_err(readme);
            assert!(found.starts_with("README.md"), "{found}");
        }
    }
}
