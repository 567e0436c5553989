//! The checker that is compiled into the page says what this crate says, word for word. Skipped
//! without node.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use axioms::{Ordering, page::EXAMPLES, report::report};

use crate::generate::{Chance, KINDS, Recipe};

/// Reads programs, with a NUL after each, and writes a line with the report on each.
const RUN: &str = "
const fs = require('fs');
const checker = new WebAssembly.Module(fs.readFileSync(process.argv[1]));
for (const text of fs.readFileSync(0, 'utf8').split('\\0').slice(0, -1)) {
  const { exports } = new WebAssembly.Instance(checker);
  const bytesAt = (start, length) => new Uint8Array(exports.memory.buffer, start, length);
  const bytes = Buffer.from(text);
  bytesAt(exports.input(bytes.length), bytes.length).set(bytes);
  const length = exports.explore();
  console.log(Buffer.from(bytesAt(exports.output(), length)).toString());
}";

/// The reports of the compiled checker, or `None` without node.
fn reports(texts: &[String]) -> Option<Vec<String>> {
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/checker.wasm");
    let node = env::var("NODE").unwrap_or_else(|_| "node".to_owned());
    let started = Command::new(node)
        .args(["-e", RUN])
        .arg(checker)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut node = match started {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        started => started.expect("node starts"),
    };
    let mut input = node.stdin.take().expect("it has an input");
    let all: String = texts.iter().map(|text| format!("{text}\0")).collect();
    // Node reads everything before it writes.
    input.write_all(all.as_bytes()).expect("node reads");
    drop(input);
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("reports are text");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn the_page_and_this_crate_report_the_same() {
    let mut chance = Chance::new(33);
    let shapes = [(2, 4), (3, 2), (4, 2)];
    let random = |_| Recipe::by_chance(&mut chance, &shapes, &KINDS, &Ordering::ALL).text();
    let mut texts: Vec<String> = (0..200).map(random).collect();
    for example in EXAMPLES {
        texts.push(example.text.to_owned());
        texts.extend(
            Ordering::ALL.map(|ordering| example.text.replace("Relaxed", &format!("{ordering:?}"))),
        );
        texts.push(example.text.replace('}', ""));
        texts.push(
            example
                .text
                .replace("Acquire", "SeqCst")
                .replace("Release", "SeqCst"),
        );
    }
    let cut = |text: &String| text.chars().take(text.len() / 2).collect();
    let halves: Vec<String> = texts.iter().step_by(10).map(cut).collect();
    texts.extend(halves);
    let Some(found) = reports(&texts) else {
        eprintln!("skipped: there is no node");
        return;
    };
    assert_eq!(found.len(), texts.len());
    for (text, found) in texts.iter().zip(found) {
        assert_eq!(found, report(text).to_string(), "{text}");
    }
}

#[test]
fn the_checker_is_small() {
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/checker.wasm");
    let length = fs::metadata(checker).expect("it is there").len();
    assert!(length < 180 * 1024, "{length} bytes");
}
