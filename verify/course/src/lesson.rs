//! Says whether an exercise of the lessons is solved, and what is wrong with it.

use std::{
    env, fs,
    io::{IsTerminal, stdout},
    path::Path,
    process::{Command, Stdio},
};

use super::{cargo, here, target, tests};

/// Judges one exercise, or lists all of them. Returns whether it is solved.
pub(crate) fn run(number: Option<&str>) -> Result<bool, String> {
    let titles = titles()?;
    let known: Vec<_> = titles.iter().map(|(number, _)| *number).collect();
    let all = tests(models())?;
    let color = stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
    if let Some(number) = number {
        let found = number.parse().ok().filter(|number| known.contains(number));
        let number = found.ok_or(format!(
            "there is no lesson {number}; they are 1 to {}",
            known.len()
        ))?;
        let report = report(&all, number)?;
        println!("\nexercise {number}: {}", report.in_full(number, color));
        return Ok(report.state == State::Solved);
    }
    for (number, title) in &titles {
        let report = report(&all, *number)?;
        println!("{number:>3}  {:<46}{}", title, report.state.said(color));
    }
    Ok(true)
}

/// The tests of the exercises, in release because a model runs its closure thousands of times.
fn models() -> Command {
    cargo(
        &here().join("models"),
        "test --quiet --release --test lessons",
    )
}

fn titles() -> Result<Vec<(u32, String)>, String> {
    let folder = here().join("lessons");
    let failed = |error| format!("{}: {error}", folder.display());
    let mut titles = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            titles.extend(title(&fs::read_to_string(&path).map_err(failed)?));
        }
    }
    titles.sort();
    Ok(titles)
}

/// The number and the title in a lesson's first line, `# 5. What each half is for`.
fn title(lesson: &str) -> Option<(u32, String)> {
    let line = lesson.lines().next()?.strip_prefix("# ")?;
    let (number, title) = line.split_once(". ")?;
    Some((number.parse().ok()?, title.to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Solved,
    /// As it was given, or with the same failure.
    Unsolved,
    /// Changed, and still wrong.
    Wrong,
}

impl State {
    fn said(self, color: bool) -> &'static str {
        match self {
            Self::Solved if color => "\x1b[1;32msolved\x1b[0m",
            Self::Solved => "solved",
            Self::Unsolved => "not solved",
            Self::Wrong => "changed, and not right yet",
        }
    }
}

#[derive(Debug)]
struct Report {
    state: State,
    /// What is wrong, then the failing execution, if there is one.
    text: String,
}

impl Report {
    fn read(file: &str) -> Option<Self> {
        let (state, text) = file.split_once('\n')?;
        let state = match state {
            "solved" => State::Solved,
            "unsolved" => State::Unsolved,
            "wrong" => State::Wrong,
            _ => return None,
        };
        let text = text.trim_end().to_owned();
        Some(Self { state, text })
    }

    /// The execution first, and what is wrong at the end, where a reader of a terminal looks.
    fn in_full(&self, number: u32, color: bool) -> String {
        let said = self.state.said(color);
        match self.text.split_once("\n\n") {
            None if self.text.is_empty() => said.to_owned(),
            None => format!("{said}\n\n{}", self.text),
            Some((wrong, execution)) => format!(
                "the failing execution, which is drawn in target/lessons/exercise-{number}.svg\n\n\
                 {execution}\n\nexercise {number}: {said}\n{wrong}"
            ),
        }
    }
}

fn report(tests: &[String], number: u32) -> Result<Report, String> {
    let name = format!("::exercise_{number}");
    let test = tests.iter().find(|test| test.ends_with(&name));
    let test = test.ok_or(format!("there is no test for exercise {number}"))?;
    let folder = target().join("lessons");
    let failed = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    let file = folder.join(format!("exercise-{number}.txt"));
    let _ = fs::remove_file(file.with_extension("svg"));
    let _ = fs::remove_file(&file);
    let mut models = models();
    models.args(["--", test, "--exact", "--nocapture"]);
    judged_by(models, &file)
}

/// Runs a test that writes its report into the file.
fn judged_by(mut test: Command, file: &Path) -> Result<Report, String> {
    test.env("JOINT_LESSON", file);
    let output = test.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("the exercise could not be run: {error}"))?;
    let written = fs::read_to_string(file).unwrap_or_default();
    Report::read(&written).ok_or_else(|| {
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        format!(
            "the exercise ended without a report: {}\n{stdout}{stderr}",
            output.status
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lessons_are_numbered_from_1() {
        let titles = titles().expect("the lessons");
        let numbers: Vec<_> = titles.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=11).collect::<Vec<_>>());
        assert_eq!(titles[0].1, "The race");
    }

    #[test]
    fn a_report_ends_with_what_is_wrong() {
        let report = Report::read("unsolved\nit races\n\n  1  load\n").expect("a report");
        assert_eq!(report.state, State::Unsolved);
        let said = report.in_full(5, false);
        assert!(
            said.ends_with("  1  load\n\nexercise 5: not solved\nit races"),
            "{said}"
        );
        assert!(said.contains("target/lessons/exercise-5.svg"), "{said}");
        let report = Report::read("wrong\nit writes\n").expect("a report");
        let said = report.in_full(5, false);
        assert_eq!(said, "changed, and not right yet\n\nit writes");
        let report = Report::read("solved\n").expect("a report");
        assert_eq!(report.in_full(5, false), "solved");
        assert!(Report::read("").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_test_without_a_report_shows_what_it_printed() {
        let shell = |line: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]);
            shell
        };
        let file = env::temp_dir().join(format!("joint-course-{}-lesson", std::process::id()));
        let error = judged_by(shell("echo crashed; exit 3"), &file).expect_err("no report");
        assert!(
            error.contains("crashed") && error.contains("status: 3"),
            "{error}"
        );
        // A process that the failing model ends has written its report before.
        let report = judged_by(
            shell("printf 'wrong\\nx\\n' > $JOINT_LESSON; exit 3"),
            &file,
        );
        let _ = fs::remove_file(&file);
        assert_eq!(report.expect("a report").state, State::Wrong);
    }
}
