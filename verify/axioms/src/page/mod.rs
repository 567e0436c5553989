//! The page: all 25 cells with their executions, and a checker for the reader's own program, in one
//! HTML file that needs nothing else. What it says comes from this crate; what it looks like, from
//! the three files beside this one.

mod base64;
mod examples;
mod sources;

pub use examples::{EXAMPLES, Example};
pub use sources::{differing, sources};

use crate::{
    Machine, Model, Ordering,
    completion::{Cell, judge},
    json::{self, Json},
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
/// lesson that each belongs to, and the `cells`, as [`json::cell`] writes them.
fn data() -> Json {
    let cells = Cell::all().map(|cell| json::cell(&judge(cell, Model::Rc11)));
    let names = |names: &[&str]| Json::List(names.iter().map(|&name| name.into()).collect());
    Json::Object(vec![
        ("orderings", names(&Ordering::ALL.map(Ordering::name))),
        ("machines", names(&Machine::ALL.map(Machine::name))),
        (
            "examples",
            Json::List(EXAMPLES.iter().map(of_example).collect()),
        ),
        ("cells", Json::List(cells.collect())),
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
