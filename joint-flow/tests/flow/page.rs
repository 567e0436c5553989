//! `docs/flow.md`: each semantics and each of FoundationDB's tests has a test or a model of ours
//! that exists, or a reason to have none.
#![cfg(not(miri))] // it reads the file system, and runs no code of the crate

use std::{fs, path::Path};

#[test]
fn each_row_of_the_page_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| fs::read_to_string(root.join(file)).expect(file);
    let page = read("docs/flow.md");
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let mut evidence = row.split('|').skip(2);
        assert!(
            evidence.any(|cell| !cell.trim().is_empty()),
            "nothing proves {row}"
        );
        for link in row.split("[`").skip(1) {
            let (test, rest) = link.split_once("`](../").expect(row);
            let (file, _) = rest.split_once(')').expect(row);
            let text = read(file);
            // Some models are rows of a macro.
            let is_there = [format!("fn {test}("), format!(" {test}: ")];
            assert!(
                is_there.iter().any(|it| text.contains(it)),
                "{file} has no {test}"
            );
        }
    }
}
