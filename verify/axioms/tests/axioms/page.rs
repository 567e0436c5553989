//! Checks that the page is complete, needs no other file, and is the one in `lab`, and that its
//! checker was compiled from the sources as they are.

use std::{fs, path::Path};

use axioms::{language, page, report::report};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn html() -> String {
    let checker = fs::read(here().join("src/page/checker.wasm"));
    page::html(&checker.expect("the checker is there"))
}

#[test]
fn the_checker_is_compiled_from_these_sources() {
    let kept = fs::read_to_string(here().join("src/page/checker.sources"));
    let now = page::sources(here()).expect("the sources are there");
    let kept = kept.expect("the hashes are there");
    let differing = page::differing(&kept, &now);
    assert!(
        differing.is_empty(),
        "{differing:?} changed: `cargo run -p course -- page` compiles the checker"
    );
}

#[test]
fn the_file_in_lab_is_what_would_be_written() {
    let found = fs::read_to_string(here().join("../course/index.html"));
    assert!(
        found.expect("verify/course/index.html is there") == html(),
        "`cargo run -p course -- page` regenerates it"
    );
}

#[test]
fn the_page_loads_no_external_resource() {
    let page = html();
    for outside in [
        "src=",
        "<link rel=\"stylesheet",
        "@import",
        "url(",
        "fetch(",
        "import(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    let addresses = page.matches("http").count();
    let expected =
        page.matches("http-equiv").count() + page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses, expected);
}

#[test]
fn all_parts_are_in_their_places() {
    let page = html();
    for mark in ["/* style */", "/* script */", "/* data */", "/* checker */"] {
        assert!(!page.contains(mark), "{mark}");
    }
    let (_, data) = page.split_once("id=\"data\">").expect("it has data");
    let (data, _) = data.split_once("</script>").expect("the data has an end");
    assert_eq!(data.matches("\"executions\":").count(), 25);
    assert!(!data.contains('<'), "it could end the script");
}

#[test]
fn every_example_has_a_lesson_and_the_expected_verdict() {
    let wrong = ["message", "branch", "SB", "LB", "IRIW", "2+2W"];
    for example in page::EXAMPLES {
        let (file, lesson) = example.lesson;
        let lesson_file = here().join("../course/lessons").join(file);
        assert!(lesson_file.is_file(), "{file}");
        assert!(lesson.starts_with("Lesson"), "{lesson}");
        let typed = language::parse(example.text);
        assert!(typed.is_ok(), "{}: {typed:?}", example.id);
        let is_right = report(example.text).to_string().contains("\"right\":true");
        let expected = !wrong.contains(&example.id);
        assert_eq!(is_right, expected, "{}", example.id);
    }
}

#[test]
fn the_lessons_link_to_the_examples_that_link_to_them() {
    let read = |file: &str| {
        let text = fs::read_to_string(here().join("../course/lessons").join(file));
        text.expect("the lesson is there")
    };
    let link = "../index.html#example=";
    let mut linked = 0;
    for example in page::EXAMPLES {
        let lesson = read(example.lesson.0);
        assert!(lesson.contains("../index.html#"), "{}", example.id);
        for id in lesson
            .split(link)
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let found = page::EXAMPLES.iter().find(|example| example.id == id);
            let found = found.unwrap_or_else(|| panic!("there is no example {id}"));
            assert_eq!(found.lesson.0, example.lesson.0, "{id}");
            linked += usize::from(id == example.id);
        }
    }
    assert_eq!(linked, 6, "examples with a link from their lesson");
}
