//! The page: all 25 cells with their executions, and a checker for the reader's own program, in one
//! HTML file that needs nothing else. What it says comes from this crate; what it looks like, from
//! the three files beside this one.

mod base64;
mod examples;
mod sources;

pub use examples::{EXAMPLES, Example};
pub use sources::{differing, sources};

use crate::{
    Execution, Machine, Model, Ordering, Race,
    completion::{Broken, Cell, Finding, Verdict, broken_on, judge},
    json::{self, Json},
    report,
};

/// The whole file, with `checker` for programs of the reader's own: the example `page_checker`,
/// compiled to WebAssembly.
pub fn html(checker: &[u8]) -> String {
    // Inside of a script element `<` could end it.
    let data = data().to_string().replace('<', "\\u003c");
    let checker = base64::encode(checker);
    let parts = [
        ("/* style */", include_str!("page.css")),
        ("/* script */", include_str!("page.js")),
        ("/* data */", &data),
        ("/* checker */", &checker),
    ];
    let page = include_str!("page.html").to_owned();
    parts
        .into_iter()
        .fold(page, |page, (mark, text)| page.replacen(mark, text, 1))
}

/// The data of the page: the `orderings`, the `machines`, the `examples` of programs with the
/// lesson that each belongs to, and the `cells`. The executions of a cell
/// are as in [`json::cell`], each with the `sentences` for its races and the machines that it
/// happens `on`.
fn data() -> Json {
    let names = |names: &[&str]| Json::List(names.iter().map(|&name| name.into()).collect());
    Json::Object(vec![
        ("orderings", names(&Ordering::ALL.map(Ordering::name))),
        ("machines", names(&Machine::ALL.map(Machine::name))),
        (
            "examples",
            Json::List(EXAMPLES.iter().map(of_example).collect()),
        ),
        ("cells", Json::List(Cell::all().map(of_cell).collect())),
    ])
}

fn of_example(example: &Example) -> Json {
    let (file, lesson) = example.lesson;
    Json::Object(vec![
        ("id", example.id.into()),
        ("title", example.title.into()),
        ("file", file.into()),
        ("lesson", lesson.into()),
        ("text", example.text.into()),
    ])
}

fn of_cell(cell: Cell) -> Json {
    let verdict = judge(cell, Model::Rc11);
    let Json::Object(mut fields) = json::cell(&verdict) else {
        unreachable!("a cell is an object")
    };
    for (name, value) in &mut fields {
        if let ("executions", Json::List(executions)) = (*name, value) {
            let numbered = executions.iter_mut().enumerate();
            numbered.for_each(|(number, execution)| explain(&verdict, number, execution));
        }
    }
    let machines = Machine::ALL.map(|machine| on_machine(&verdict, machine));
    fields.push(("machines", Json::List(machines.to_vec())));
    Json::Object(fields)
}

fn on_machine(verdict: &Verdict, machine: Machine) -> Json {
    let broken = broken_on(&verdict.protocol, machine);
    let broken = broken.iter().map(|broken| broken.name().into());
    let Cell { completer, waiter } = verdict.cell;
    let exchanges = [completer, waiter].map(|ordering| Json::Text(machine.swap(ordering)));
    Json::Object(vec![
        ("name", machine.name().into()),
        ("broken", Json::List(broken.collect())),
        ("exchanges", Json::List(exchanges.to_vec())),
    ])
}

/// Adds what is the page's own to an execution.
fn explain(verdict: &Verdict, number: usize, json: &mut Json) {
    let execution = &verdict.executions[number];
    let sentences = execution
        .races()
        .iter()
        .filter_map(|race| sentence(verdict, number, execution, race));
    if let Json::Object(fields) = json {
        fields.push(("sentences", Json::List(sentences.collect())));
        fields.push(("on", report::machines(execution)));
    }
}

fn sentence(verdict: &Verdict, witness: usize, execution: &Execution, race: &Race) -> Option<Json> {
    let broken = if race.location == verdict.protocol.result {
        Broken::Result
    } else {
        Broken::Waker
    };
    let missing = *execution.missing_edges(race).first()?;
    let finding = Finding {
        broken,
        witness,
        race: *race,
        missing,
    };
    Some(Json::Text(verdict.sentence(&finding)))
}
