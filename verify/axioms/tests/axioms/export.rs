//! The output of the crate as text: litmus tests for herd7, JSON, and what the commands print.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

use axioms::{
    Location, Model,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    Program,
    completion::{COMPLETER, Cell, DONE, EMPTY, Protocol, WAITER, WAITING, judge},
    explore, herd, json,
};

#[test]
fn a_cell_is_a_litmus_test_of_herd7() {
    let protocol = Protocol::new(Cell {
        completer: Relaxed,
        waiter: SeqCst,
    });
    let expected = "\
C completion-relaxed-seq_cst

{
result = 0;
waker = 0;
word = 0;
}

P0 (int* result, int* waker, atomic_int* word) {
  int r1 = 99;
  *result = 1;
  int r0 = atomic_exchange_explicit(word, 1, memory_order_relaxed);
  if (r0 == 2) {
    r1 = *waker;
  }
}

P1 (int* result, int* waker, atomic_int* word) {
  int r1 = 99;
  *waker = 1;
  int r0 = atomic_exchange_explicit(word, 2, memory_order_seq_cst);
  if (r0 == 1) {
    r1 = *result;
  }
}

exists ((0:r0=2 /\\ 0:r1=0) \\/ (1:r0=1 /\\ 1:r1=0))
";
    assert_eq!(herd::completion(&protocol), expected);
}

/// The condition of the litmus test holds in some execution exactly where a cell is wrong, so
/// herd7's verdict can be compared.
#[test]
fn the_condition_of_a_litmus_test_exists_exactly_where_the_cell_is_wrong() {
    for cell in Cell::all() {
        let verdict = judge(cell, Model::Rc11);
        let (found, waker) = verdict.protocol.registers[COMPLETER];
        let (seen, result) = verdict.protocol.registers[WAITER];
        let exists = verdict.executions.iter().any(|end| {
            let completer = (end.value(found), end.value(waker));
            let waiter = (end.value(seen), end.value(result));
            completer == (Some(WAITING), Some(EMPTY)) || waiter == (Some(DONE), Some(EMPTY))
        });
        assert_eq!(exists, !verdict.is_right(), "{cell}");
    }
}

#[test]
fn every_instruction_has_its_words_in_a_litmus_test() {
    let mut program = Program::new("all");
    let (x, a) = (program.atomic("x", 3), program.plain("a", 0));
    let seen = program.thread("thread", |code| {
        let seen = code.load(x, Acquire);
        code.store(x, seen, Release);
        code.fetch_add(x, 2, Relaxed);
        code.fence(SeqCst);
        code.branch(seen, 3, |code| code.write(a, 1), |code| code.read(a));
        seen
    });
    let text = herd::litmus(&program, &[&[(seen, 3)]]);
    let expected = "\
C all

{
x = 3;
a = 0;
}

P0 (atomic_int* x, int* a) {
  int r2 = 100;
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  atomic_store_explicit(x, r0, memory_order_release);
  int r1 = atomic_fetch_add_explicit(x, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  if (r0 == 3) {
    *a = 1;
  } else {
    r2 = *a;
  }
}

exists ((0:r0=3))
";
    assert_eq!(text, expected);
}

#[test]
fn an_execution_is_json_with_events_and_edges() {
    let mut program = Program::new("MP");
    let (a, x) = (program.plain("a", 0), program.atomic("x", 0));
    program.name_value(x, 1, "\"set\"");
    program.thread("writer", |code| write_both(code, a, x));
    program.thread("reader", |code| {
        let seen = code.load(x, Relaxed);
        code.when(seen, 1, |code| code.read(a));
    });
    let racy = explore(&program, Model::Rc11)
        .into_iter()
        .find(|end| !end.races().is_empty());
    let text = json::execution(&program, &racy.expect("a relaxed load orders nothing")).to_string();
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

fn write_both(code: &mut axioms::Code<'_>, a: Location, x: Location) {
    code.write(a, 1);
    code.store(x, 1, Release);
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
fn all_cells_are_written_as_litmus_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("herd");
    let _ = fs::remove_dir_all(&folder);
    printed(&["herd", folder.to_str().expect("a path in this crate")]);
    let files = fs::read_dir(&folder).expect("made by the command").count();
    assert_eq!(files, 25);
    for cell in Cell::all() {
        let protocol = Protocol::new(cell);
        let file = folder.join(format!("{}.litmus", protocol.program.name()));
        let text = fs::read_to_string(file).expect("one for each cell");
        assert_eq!(text, herd::completion(&protocol));
    }
}

#[test]
fn invalid_arguments_are_an_error_that_lists_the_choices() {
    for wrong in [
        &["cell", "acq_rel"][..],
        &["cell", "acq_rel", "consume"],
        &[],
    ] {
        let output = axioms(wrong);
        assert!(!output.status.success(), "{wrong:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            error.contains("acq_rel or seq_cst") || error.contains("take one of"),
            "{error}"
        );
    }
    assert!(printed(&["--help"]).starts_with("usage:"));
}
