//! The lab's page: writes it, compares it with the file, or tests it in a browser.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{browser, cargo, checker, here, workspace};

const FILE: &str = "index.html";
/// Windows of phones, a tablet, laptops and a desktop: width and height.
const SIZES: [[u32; 2]; 6] = [
    [360, 800],
    [390, 844],
    [768, 1024],
    [1280, 720],
    [1440, 900],
    [1920, 1080],
];
/// What runs in the page, by the name of the frame that it is in.
const TESTS: [&str; 2] = [include_str!("usetest.js"), include_str!("layout.js")];
const RUNS_THEM: &str = r#"addEventListener("load", () => {
  let report;
  try { report = { use, layout }[window.name](); } catch (error) { report = { errors: [String(error.stack)] }; }
  parent.postMessage(report, "*");
});"#;
/// Frames have any size, and windows of a headless browser are at least 500 pixels wide.
const COLLECTS: &str = r#"const reports = [];
addEventListener("message", (event) => {
  reports.push(event.data);
  if (reports.length < document.querySelectorAll("iframe").length) return;
  const errors = reports.flatMap((report) => report.errors);
  const cells = reports.flatMap((report) => report.cells ?? []);
  const node = document.createElement("pre");
  node.id = "selftest";
  node.textContent = JSON.stringify({ errors, cells });
  document.body.append(node);
});"#;

/// Writes the page, with the checker in it.
pub(crate) fn write() -> Result<bool, String> {
    Ok(checker::build()? && axioms(&["page", "course/index.html"])?)
}

/// Compares the file with what would be written.
pub(crate) fn check() -> Result<bool, String> {
    axioms(&["page", "--check", "course/index.html"])
}

/// Runs the explorer, and returns whether it passes.
pub(super) fn axioms(args: &[&str]) -> Result<bool, String> {
    let status = cargo(workspace(), AXIOMS).args(args).status();
    let status = status.map_err(|error| format!("could not start cargo: {error}"))?;
    Ok(status.success())
}

const AXIOMS: &str = "run --quiet --package axioms --";

/// Uses the page in a browser, and compares its verdicts with the explorer's, and with those in a
/// file of `lab matrix`.
pub(crate) fn test(matrix: Option<&Path>) -> Result<bool, String> {
    let Some(browser) = browser::find() else {
        println!("page --test skipped: no Chromium in the path; CHROMIUM can name one");
        return Ok(true);
    };
    println!("{}", compare(&browser, matrix)?);
    Ok(true)
}

/// A cell's orderings, and what is not published in it.
type Verdicts = BTreeMap<(String, String), Vec<String>>;

fn compare(browser: &Path, matrix: Option<&Path>) -> Result<String, String> {
    let mut others = vec![("axioms", verdicts(&explored()?)?)];
    if let Some(file) = matrix {
        let text = fs::read_to_string(file);
        let text = text.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        others.push(("the model checker", verdicts(&text)?));
    }
    let page = opened(browser)?;
    for (name, other) in &others {
        same(&page, other).map_err(|why| format!("the page and {name} differ: {why}"))?;
    }
    let names: Vec<_> = others.iter().map(|(name, _)| *name).collect();
    Ok(format!(
        "page --test passed: used in {}, laid out at {} sizes, with the verdicts of {}",
        browser.display(),
        SIZES.len(),
        names.join(" and of ")
    ))
}

/// The explorer's own matrix, as JSON.
fn explored() -> Result<String, String> {
    let output = cargo(workspace(), AXIOMS)
        .args(["matrix", "--json"])
        .output();
    let output = output.map_err(|error| format!("could not start cargo: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("axioms matrix: {}: {error}", output.status))
    }
}

/// Returns what the page shows, if its tests found nothing wrong and the console is empty.
fn opened(browser: &Path) -> Result<Verdicts, String> {
    let folder = env::temp_dir().join(format!("ordering-lab-{}", std::process::id()));
    let opened = frames(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))
        .and_then(|file| browser::open(browser, &file, &folder.join("profile")));
    // The browser may still be writing there. Any rest stays among the temporary files.
    let _ = fs::remove_dir_all(&folder);
    let opened = opened?;
    let lines = opened.log.lines();
    let console: Vec<_> = lines.filter(|line| line.contains("CONSOLE")).collect();
    if !console.is_empty() {
        return Err(format!("in the console:\n{}", console.join("\n")));
    }
    let report = report(&opened.document)?;
    let errors = report["errors"]
        .as_array()
        .ok_or("the report has no errors")?;
    match errors.is_empty() {
        true => verdicts(&report.to_string()),
        false => {
            let lines: Vec<_> = errors.iter().map(Value::to_string).collect();
            Err(lines.join("\n"))
        }
    }
}

/// Writes the page with its tests, and a page with a frame for each test. Returns the file of the
/// latter.
fn frames(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let page = fs::read_to_string(here().join(FILE))?;
    let tests = TESTS.concat() + RUNS_THEM;
    let tested = page.replace("</body>", &format!("<script>{tests}</script></body>"));
    fs::write(folder.join("page.html"), tested)?;
    let frame = |name: &str, [width, height]: [u32; 2]| {
        format!(
            r#"<iframe src="page.html" name="{name}" width="{width}" height="{height}" style="border: 0"></iframe>"#
        )
    };
    let sizes = SIZES.map(|size| frame("layout", size)).concat();
    let used = frame("use", [1280, 900]);
    let file = folder.join("frames.html");
    let text = format!("<!doctype html><body><script>{COLLECTS}</script>{used}{sizes}</body>");
    fs::write(&file, text)?;
    Ok(file)
}

/// Returns the values that the page's test wrote at its end.
fn report(document: &str) -> Result<Value, String> {
    const BEGIN: &str = "<pre id=\"selftest\">";
    let after = document.split_once(BEGIN).map(|(_, after)| after);
    let text = after.and_then(|after| after.split_once("</pre>"));
    let (text, _) = text.ok_or("the page's test did not come to its end")?;
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&text.replace("&amp;", "&"))
        .map_err(|error| format!("what the page wrote is no JSON: {error}"))
}

/// Returns the cells of a matrix, with the names of the page, the explorer or the model checker.
fn verdicts(text: &str) -> Result<Verdicts, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let cells = value["cells"].as_array().ok_or("a matrix has no cells")?;
    let cell = |cell: &Value| {
        let text = |name| Some(cell[name].as_str()?.to_owned());
        let broken = broken(cell)?;
        let is_right = cell["right"].as_bool()?;
        let orderings = (text("completer")?, text("waiter")?);
        (is_right == broken.is_empty()).then_some((orderings, broken))
    };
    let read = |one: &Value| cell(one).ok_or_else(|| format!("not a cell: {one}"));
    cells.iter().map(read).collect()
}

fn broken(cell: &Value) -> Option<Vec<String>> {
    let name = |one: &Value| {
        let name = [one, &one["broken"], &one["not_published"]]
            .into_iter()
            .find_map(Value::as_str);
        // The model checker writes the name with its article.
        Some(name?.trim_start_matches("the ").to_owned())
    };
    let lists = ["broken", "findings", "failures"];
    let list = lists.iter().find_map(|list| cell[list].as_array())?;
    let mut names = list.iter().map(name).collect::<Option<Vec<_>>>()?;
    names.sort();
    Some(names)
}

fn same(page: &Verdicts, other: &Verdicts) -> Result<(), String> {
    if page.len() != 25 || other.len() != 25 {
        return Err(format!("{} and {} cells of 25", page.len(), other.len()));
    }
    let differs = page
        .iter()
        .find(|&(cell, broken)| other.get(cell) != Some(broken));
    differs.map_or(Ok(()), |(cell, broken)| {
        Err(format!(
            "at {cell:?} one says {broken:?}, the other {:?}",
            other.get(cell)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(list: &str) -> String {
        format!(r#"{{"cells":[{{"completer":"a","waiter":"b","right":false,{list}}}]}}"#)
    }

    #[test]
    fn verdicts_are_read_by_the_names_of_each_checker() {
        let page = verdicts(&matrix(r#""broken":["waker","result"]"#));
        let explorer = matrix(r#""findings":[{"broken":"result"},{"broken":"waker"}]"#);
        let models = matrix(r#""failures":[{"not_published":"result"},{"not_published":"waker"}]"#);
        assert!(page.is_ok());
        assert_eq!(verdicts(&explorer), page);
        assert_eq!(verdicts(&models), page);
    }

    #[test]
    fn a_verdict_that_contradicts_itself_is_none() {
        assert!(verdicts(&matrix(r#""broken":[]"#)).is_err());
        assert!(verdicts(&matrix(r#""broken":[1]"#)).is_err());
        assert!(verdicts("{}").is_err());
    }

    #[test]
    fn another_verdict_is_named() {
        let cell = |number: usize| ((number.to_string(), String::new()), Vec::new());
        let page: Verdicts = (0..25).map(cell).collect();
        assert_eq!(same(&page, &page), Ok(()));
        let mut other = page.clone();
        other.insert(("7".to_owned(), String::new()), vec!["waker".to_owned()]);
        let error = same(&page, &other).expect_err("one cell differs");
        assert!(error.contains("waker") && error.contains('7'), "{error}");
        other.pop_first();
        assert!(same(&page, &other).is_err());
    }

    #[test]
    fn the_self_test_report_of_the_page_is_read_or_reported_missing() {
        let document = "<p></p><pre id=\"selftest\">{\"errors\":[\"a &lt; b &amp; c\"]}</pre>";
        let report = report(document).expect("it is there");
        assert_eq!(report["errors"][0], "a < b & c");
        assert!(super::report("<p></p>").is_err());
    }
}
