//! Checks that the page is complete, needs no other file, and is the one in `lab`.

use std::{fs, path::Path};

use axioms::page;

#[test]
fn the_file_in_lab_is_what_would_be_written() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/index.html");
    let found = fs::read_to_string(&file).expect("lab/index.html is there");
    assert!(
        found == page::html(),
        "`cargo xtask lab page` regenerates it"
    );
}

#[test]
fn the_page_loads_no_external_resource() {
    let page = page::html();
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
    let page = page::html();
    for mark in ["/* style */", "/* script */", "/* data */"] {
        assert!(!page.contains(mark), "{mark}");
    }
    let (_, data) = page.split_once("id=\"data\">").expect("it has data");
    let (data, _) = data.split_once("</script>").expect("the data has an end");
    assert_eq!(data.matches("\"executions\":").count(), 25);
    assert!(!data.contains('<'), "it could end the script");
}
