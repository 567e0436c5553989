//! The explorer's commands: the matrix of the completion, and one cell of it with its witness.

use std::{env, process::ExitCode};

use axioms::{
    Machine, Model, Ordering,
    completion::{Cell, Verdict, judge},
    json::{self, Json},
    text,
};

const USAGE: &str = "\
usage:
  axioms matrix [--json]                   all 25 pairs of orderings of the completion: right, or what breaks
  axioms cell COMPLETER WAITER [--json]    one of them, with an execution that shows what breaks, or with all as JSON
  axioms --help | --version
an ordering is relaxed, acquire, release, acq_rel or seq_cst
exit code: 2 if the words are none of these
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("axioms: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Result<String, String> {
    match *arguments {
        ["matrix"] => Ok(matrix()),
        ["matrix", "--json"] => Ok(matrix_json()),
        ["cell", completer, waiter] => Ok(show(&judged(completer, waiter)?)),
        ["cell", completer, waiter, "--json"] => {
            Ok(format!("{}\n", json::cell(&judged(completer, waiter)?)))
        }
        ["help" | "-h" | "--help"] => Ok(USAGE.to_owned()),
        ["-V" | "--version"] => Ok(concat!("axioms ", env!("CARGO_PKG_VERSION"), "\n").to_owned()),
        _ => Err(format!("not a command\n{USAGE}")),
    }
}

fn judged(completer: &str, waiter: &str) -> Result<Verdict, String> {
    let ordering = |text: &str| text.parse::<Ordering>().map_err(|error| error.to_string());
    let cell = Cell {
        completer: ordering(completer)?,
        waiter: ordering(waiter)?,
    };
    Ok(judge(cell, Model::Rc11))
}

fn matrix() -> String {
    let verdicts: Vec<Verdict> = Cell::all().map(|cell| judge(cell, Model::Rc11)).collect();
    let mut text = format!("{:<20}", "completer \\ waiter");
    text.extend(Ordering::ALL.map(|waiter| format!("{waiter:<15}")));
    for row in verdicts.chunks(Ordering::ALL.len()) {
        text += &format!("\n{:<20}", row[0].cell.completer);
        text.extend(row.iter().map(|verdict| format!("{:<15}", word(verdict))));
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let right = verdicts.iter().filter(|verdict| verdict.is_right()).count();
    let all = verdicts.len();
    format!(
        "{}\n\n{right} of {all} are right; of the others, what is not published\n",
        lines.join("\n")
    )
}

fn word(verdict: &Verdict) -> String {
    let broken: Vec<_> = verdict
        .findings
        .iter()
        .map(|finding| finding.broken.name())
        .collect();
    if broken.is_empty() {
        "right".to_owned()
    } else {
        broken.join(", ")
    }
}

fn matrix_json() -> String {
    let verdicts = Cell::all().map(|cell| json::verdict(&judge(cell, Model::Rc11)));
    let fields = vec![
        ("program", Json::from("completion")),
        ("model", Json::from(Model::Rc11.name())),
        ("cells", Json::List(verdicts.collect())),
    ];
    format!("{}\n", Json::Object(fields))
}

fn show(verdict: &Verdict) -> String {
    let count = verdict.executions.len();
    if verdict.is_right() {
        return format!("{}: right in all {count} executions\n", verdict.cell);
    }
    let mut text = format!("{}: wrong, {count} executions\n", verdict.cell);
    for finding in &verdict.findings {
        let witness = verdict.witness(finding);
        let lanes = text::lanes(&verdict.protocol.program, witness);
        let machines = Machine::ALL.into_iter().filter(|it| it.allows(witness));
        let machines: Vec<_> = machines.map(Machine::name).collect();
        let machines = machines.join(", ");
        text += &format!(
            "\n{}\n\n{lanes}  happens on {machines}\n",
            verdict.sentence(finding)
        );
    }
    text
}
