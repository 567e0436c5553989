//! The lab's page: writes it, or compares it with the file.

use std::{fs, io};

use super::{
    checker::{self, CHECKER, SOURCES, sources},
    here,
};

const FILE: &str = "index.html";

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
