//! The matrix of the two exchanges of the completion: which cells are right, which are wrong, and
//! that every counterexample names exactly the halves that its cell lacks.

use std::{collections::BTreeSet, process::Command, sync::atomic::Ordering};

use loom_tests::matrix::{COMPLETER, ORDERINGS, Published, WAITER};

use crate::compare;

fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).args(words).output();
    let output = output.expect("the lab is built with its tests");
    String::from_utf8(output.stdout).expect("the lab writes UTF-8")
}

fn releases(ordering: Ordering) -> bool {
    !matches!(ordering, Ordering::Relaxed | Ordering::Acquire)
}

fn acquires(ordering: Ordering) -> bool {
    !matches!(ordering, Ordering::Relaxed | Ordering::Release)
}

/// The halves that publish the value, each with whether it is there.
fn halves(published: Published, completer: Ordering, waiter: Ordering) -> [(String, bool); 2] {
    let ((by, writes), (to, reads)) = match published {
        Published::Result => ((COMPLETER, completer), (WAITER, waiter)),
        Published::Waker => ((WAITER, waiter), (COMPLETER, completer)),
    };
    [
        (format!("{by} release"), releases(writes)),
        (format!("{to} acquire"), acquires(reads)),
    ]
}

#[test]
fn each_counterexample_names_the_halves_that_its_cell_lacks() {
    let mut failed = BTreeSet::new();
    let pairs = ORDERINGS
        .iter()
        .flat_map(|&row| ORDERINGS.map(|column| (row, column)));
    for (((to, completer), (from, waiter)), published) in
        pairs.flat_map(|pair| Published::ALL.map(|published| (pair, published)))
    {
        // `passed`, or `failed`, the missing halves, the sentence and the text.
        let said = said(&["cell", published.name(), to, from]);
        let parts: Vec<_> = said.split("\n---\n").collect();
        let halves = halves(published, completer, waiter);
        let lacking: Vec<_> = halves.iter().filter(|half| !half.1).collect();
        if lacking.is_empty() {
            assert_eq!(parts, ["passed"]);
            continue;
        }
        failed.insert((to, from));
        let named: Vec<_> = parts[1].lines().collect();
        let cell = format!("{published:?} {to} {from}: {}", parts[2]);
        assert!(!named.is_empty(), "{cell}");
        for half in &named {
            assert!(lacking.iter().any(|lacks| lacks.0 == *half), "{cell}");
        }
        // The waiter may also learn of the result from its first load, which acquires in every
        // cell.
        let by_load = published == Published::Result && parts[3].contains(".load(Acquire) = DONE");
        assert!(by_load || named.len() == lacking.len(), "{cell}");
    }
    assert_eq!(failed.len(), 21);
}

/// Two checkers that share nothing: loom runs the real source in all orders, and the other one
/// reasons about graphs.
#[test]
fn the_axioms_agree_on_25_of_25() {
    let text = said(&["matrix"]);
    let rows = text.lines().skip(4).take(ORDERINGS.len());
    let of_loom = rows.flat_map(|row| {
        let row = row.get(9..).unwrap_or_default().as_bytes();
        row.chunks(14)
            .map(|cell| String::from_utf8_lossy(cell).trim().to_owned())
            .collect::<Vec<_>>()
    });
    let of_axioms = axioms::completion::Cell::all().map(|cell| {
        let verdict = axioms::completion::judge(cell, axioms::Model::Rc11);
        let broken: Vec<_> = { verdict.findings.iter() }
            .map(|finding| finding.broken.name())
            .collect();
        match &*broken {
            [] => "right".to_owned(),
            broken => broken.join(", "),
        }
    });
    let of_axioms: Vec<_> = of_axioms.collect();
    assert_eq!(of_axioms.len(), 25);
    assert_eq!(of_loom.collect::<Vec<_>>(), of_axioms);
}

/// The four halves: the picture, and the cell of the matrix that shows it.
const HALVES: [(&str, [&str; 3]); 4] = [
    ("completer-release", ["result", "acquire", "acq_rel"]),
    ("waiter-acquire", ["result", "acq_rel", "release"]),
    ("waiter-release", ["waker", "acq_rel", "acquire"]),
    ("completer-acquire", ["waker", "release", "acq_rel"]),
];

#[test]
fn pictures_of_the_halves() {
    for (name, [published, completer, waiter]) in HALVES {
        let cell = ["cell", published, completer, waiter];
        let told = said(&cell);
        let text = told.split("\n---\n").nth(3).expect("it fails");
        compare::compare(&format!("{name}.txt"), text);
        let svg = said(&[&cell[..], &["svg"]].concat());
        compare::compare(&format!("{name}.svg"), &svg);
    }
}

#[test]
fn pictures_of_the_matrix() {
    let told = said(&["matrix"]);
    let (matrix, _) = told.split_once("\n4 of 25 right").expect("four are right");
    compare::compare("matrix.txt", matrix);
}
