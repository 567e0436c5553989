//! The matrix as JSON.

use std::fmt::Write as _;

use super::{COMPLETER, Cell, Failure, Matrix, WAITER, name};

pub(super) fn render(matrix: &Matrix) -> String {
    let cells: Vec<_> = matrix.cells.iter().map(cell).collect();
    format!(
        "{{\n  \"completer\": {},\n  \"waiter\": {},\n  \"cells\": [\n    {}\n  ]\n}}\n",
        quoted(COMPLETER),
        quoted(WAITER),
        cells.join(",\n    ")
    )
}

fn cell(cell: &Cell) -> String {
    let failures: Vec<_> = cell.failures.iter().map(failure).collect();
    format!(
        "{{\"completer\": {}, \"waiter\": {}, \"right\": {}, \"milliseconds\": {}, \"failures\": [{}]}}",
        quoted(name(cell.completer)),
        quoted(name(cell.waiter)),
        cell.is_right(),
        cell.took.as_millis(),
        failures.join(", ")
    )
}

fn failure(failure: &Failure) -> String {
    let halves = failure.missing.iter().map(|(site, half)| {
        let (site, half) = (quoted(site), quoted(half));
        format!("{{\"operation\": {site}, \"half\": {half}}}")
    });
    format!(
        "{{\"not_published\": {}, \"missing\": [{}], \"sentence\": {}, \"text\": {}}}",
        quoted(failure.published.name()),
        halves.collect::<Vec<_>>().join(", "),
        quoted(&failure.sentence),
        quoted(&failure.text)
    )
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn characters_that_json_forbids_are_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}é"), "\"a\\\"\\\\\\n\\u0001é\"");
    }
}
