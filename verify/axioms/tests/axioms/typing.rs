//! Random programs as text.

use axioms::program::Kind;

use crate::generate::{Move, Recipe};

/// The operations that can be typed.
pub(crate) const KINDS: [Kind; 7] = [
    Kind::Read,
    Kind::Write,
    Kind::Load,
    Kind::Store,
    Kind::Swap,
    Kind::FetchAdd,
    Kind::Fence,
];

const PLACES: [&str; 4] = ["x", "y", "a", "b"];

/// The program as somebody would type it, with a name for each register.
pub(crate) fn text(recipe: &Recipe) -> String {
    let mut text = "atomic x, y\nplain a, b\n".to_owned();
    for (thread, moves) in recipe.threads.iter().enumerate() {
        text += "thread {\n";
        let mut last = None;
        for (place, step) in moves.iter().enumerate() {
            let register = format!("r{thread}{place}");
            let line = line(step, &register);
            match last.as_ref().filter(|_| step.guarded) {
                Some(last) => text += &format!("  if {last} == 1 {{ {line} }}\n"),
                None => text += &format!("  {line}\n"),
            }
            if step.kind.reads() && (!step.guarded || last.is_none()) {
                last = Some(register);
            }
        }
        text += "}\n";
    }
    text
}

fn line(step: &Move, register: &str) -> String {
    let (place, value, ordering) = (PLACES[step.place], step.value, step.ordering);
    match step.kind {
        Kind::Read => format!("{register} = {place}"),
        Kind::Write => format!("{place} = {value}"),
        Kind::Load => format!("{register} = {place}.load({ordering:?})"),
        Kind::Store => format!("{place}.store({value}, {ordering:?})"),
        Kind::Swap => format!("{register} = {place}.swap({value}, {ordering:?})"),
        Kind::FetchAdd => format!("{register} = {place}.fetch_add({value}, {ordering:?})"),
        Kind::Fence | Kind::Initial => format!("fence({ordering:?})"),
    }
}
