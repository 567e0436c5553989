//! The output of the crate as text: JSON, and what the commands print.

use std::process::{Command, Output};

use axioms::{Model, explore, json, language::parse};

#[test]
fn an_execution_is_json_with_events_and_edges() {
    let text = "plain a
        atomic x
        thread writer { a = 1; x.store(1, Release) }
        thread reader { seen = x.load(Relaxed); if seen == 1 { got = a } }";
    let mut program = parse(text).expect("it is a program").program;
    program.name_value(program.location("x").expect("declared"), 1, "\"set\"");
    let racy = explore(&program, Model::Rc11)
        .into_iter()
        .find(|end| !end.races().is_empty());
    let text = json::execution(
        &program,
        &racy.expect("a relaxed load orders nothing"),
        |_| None,
    )
    .to_string();
    for part in [
        r#"{"id":0,"thread":null,"step":0,"kind":"initial","location":"a","ordering":null,"read":null,"written":"0","#,
        r#""kind":"store","location":"x","ordering":"release","read":null,"written":"\"set\"","#,
        r#""kind":"load","location":"x","ordering":"relaxed","read":"\"set\"","#,
        r#""po":[[2,3],[4,5]]"#,
        r#""mo":[[0,2],[1,3]]"#,
        r#""sw":[]"#,
        r#""missing":[{"from":3,"to":4,"lacks":["acquire"]}]"#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

fn axioms(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_axioms"))
        .args(arguments)
        .output();
    command.expect("the command runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = axioms(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_matrix_says_what_breaks_in_each_cell() {
    let expected = "\
completer \\ waiter  relaxed        acquire        release        acq_rel        seq_cst
relaxed             result, waker  result, waker  result, waker  result, waker  result, waker
acquire             result, waker  result, waker  result         result         result
release             result, waker  waker          result, waker  waker          waker
acq_rel             result, waker  waker          result         right          right
seq_cst             result, waker  waker          result         right          right

4 of 25 are right; of the others, what is not published
";
    assert_eq!(printed(&["matrix"]), expected);
    let json = printed(&["matrix", "--json"]);
    assert_eq!(json.matches("\"completer\"").count(), 25);
    assert_eq!(json.matches("\"right\":true,\"findings\":[]").count(), 4);
}

#[test]
fn a_cell_is_shown_with_its_witness_or_as_right() {
    let wrong = printed(&["cell", "ACQ_REL", "RELEASE"]);
    assert!(
        wrong.starts_with("completer acq_rel, waiter release: wrong, "),
        "{wrong}"
    );
    assert!(
        wrong.contains("the acquire half of the waiter's exchange"),
        "{wrong}"
    );
    assert!(wrong.contains("data race: 1 and 5, on result"), "{wrong}");
    assert!(
        wrong.ends_with("  happens on Armv8, POWER, RISC-V, Alpha\n"),
        "{wrong}"
    );
    let fourth = printed(&["cell", "release", "acq_rel"]);
    assert!(fourth.ends_with("  happens on Alpha\n"), "{fourth}");
    assert_eq!(
        printed(&["cell", "AcqRel", "SeqCst"]),
        "completer acq_rel, waiter seq_cst: right in all 2 executions\n"
    );
    let json = printed(&["cell", "acq_rel", "release", "--json"]);
    assert!(
        json.contains("\"threads\":[\"completer\",\"waiter\"]"),
        "{json}"
    );
    assert_eq!(json.matches("\"timeline\"").count(), 3, "{json}");
}

#[test]
fn invalid_arguments_are_an_error_that_lists_the_choices() {
    for wrong in [
        &["cell", "acq_rel"][..],
        &["cell", "acq_rel", "consume"],
        &[],
    ] {
        let output = axioms(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            error.contains("acq_rel or seq_cst") || error.contains("take one of"),
            "{error}"
        );
    }
    assert!(printed(&["--help"]).starts_with("usage:"));
    assert_eq!(
        printed(&["--version"]),
        concat!("axioms ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
