//! The lab's page: writes it, compares it with the file, or tests it in a browser.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use axioms::{
    Model,
    completion::{Cell, judge},
};
use serde_json::Value;

use super::{
    browser,
    checker::{self, CHECKER, SOURCES, sources},
    here,
};

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

pub(crate) fn write() -> Result<bool, String> {
    if !checker::build()? {
        return Ok(false);
    }
    let (file, page) = (here().join(FILE), html()?);
    fs::write(&file, &page).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("{}: {} KiB", file.display(), page.len().div_ceil(1024));
    Ok(true)
}

pub(crate) fn check() -> Result<bool, String> {
    let found = fs::read_to_string(here().join(FILE)).unwrap_or_default();
    let is_same = found == html()?;
    println!(
        "{FILE} {} what would be written",
        if is_same { "is" } else { "is not" }
    );
    Ok(is_same)
}

/// The page, if its checker was compiled from the sources as they are now.
fn html() -> Result<String, String> {
    let read = || Ok((fs::read(CHECKER)?, fs::read_to_string(SOURCES)?, sources()?));
    let (checker, kept, now) = read().map_err(|error: io::Error| error.to_string())?;
    match axioms::page::differing(&kept, &now)[..] {
        [] => Ok(axioms::page::html(&checker)),
        ref differing => Err(format!(
            "the checker in the page is not compiled from these sources: {} changed since",
            differing.join(", ")
        )),
    }
}

/// Uses the page in a browser, and compares its verdicts with the explorer's.
pub(crate) fn test() -> Result<bool, String> {
    let Some(browser) = browser::find() else {
        println!("page --test skipped: no Chromium in the path; CHROMIUM can name one");
        return Ok(true);
    };
    let page = opened(&browser)?;
    same(&page, &explored()).map_err(|why| format!("the page and the explorer differ: {why}"))?;
    println!(
        "page --test passed: used in {}, laid out at {} sizes, with the verdicts of the explorer",
        browser.display(),
        SIZES.len()
    );
    Ok(true)
}

/// A cell's orderings, and what is not published in it.
type Verdicts = BTreeMap<(String, String), Vec<String>>;

fn explored() -> Verdicts {
    let verdict = |cell: Cell| {
        let found = judge(cell, Model::Rc11).findings;
        let broken = found.iter().map(|one| one.broken.name().to_owned());
        let orderings = [cell.completer, cell.waiter].map(|it| it.name().to_owned());
        (orderings.into(), broken.collect())
    };
    Cell::all().map(verdict).collect()
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
        true => verdicts(&report).ok_or_else(|| format!("no verdicts: {}", report["cells"])),
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

fn verdicts(report: &Value) -> Option<Verdicts> {
    let cell = |cell: &Value| {
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        let broken = cell["broken"].as_array()?.iter().map(text);
        let mut broken = broken.collect::<Option<Vec<_>>>()?;
        broken.sort();
        let orderings = (text(&cell["completer"])?, text(&cell["waiter"])?);
        (cell["right"].as_bool()? == broken.is_empty()).then_some((orderings, broken))
    };
    report["cells"].as_array()?.iter().map(cell).collect()
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

    #[test]
    fn verdicts_are_read_unless_they_contradict_themselves() {
        let read = |broken: &str| {
            let cell = r#"{"completer":"a","waiter":"b","right":false,"broken":"#;
            let report = format!(r#"{{"cells":[{cell}{broken}}}]}}"#);
            verdicts(&serde_json::from_str(&report).expect(&report))
        };
        let (completer, waiter) = ("a".to_owned(), "b".to_owned());
        let broken = vec!["result".to_owned(), "waker".to_owned()];
        let expected = Verdicts::from([((completer, waiter), broken)]);
        assert_eq!(read(r#"["waker","result"]"#), Some(expected));
        assert_eq!((read("[]"), read("[1]")), (None, None));
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
