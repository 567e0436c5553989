//! Copies a crate, and turns it.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cells,
    cfgs::as_under_miri,
    find::{Source, find},
    notes::{Note, notes},
    options::Named,
    shim::{self, write},
};

/// The files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether a dependency has something that threads share.
pub(crate) fn shares(name: &str, version: &str) -> bool {
    let named = Named {
        name: name.to_owned(),
        version: Some(version.to_owned()),
    };
    let Ok(source) = find(&named, Path::new("")) else {
        return false;
    };
    let has_atomics = |file: PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("sync::atomic") || text.contains("sync::Mutex")
    };
    sources(&source.folder.join("src"))
        .into_iter()
        .any(has_atomics)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let is_left_out = ["target", ".git", "Cargo.lock"]
            .iter()
            .any(|name| entry.file_name() == *name);
        if is_left_out {
            continue;
        } else if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Copies a crate, puts the package in std's place, and marks uses of cells.
pub(crate) fn turn(source: &Source, to: &Path, shim: &Path) -> Result<Vec<Note>, String> {
    _ = fs::remove_dir_all(to);
    copy(&source.folder, to).map_err(|why| format!("{}: {why}", source.folder.display()))?;
    let file = to.join("Cargo.toml");
    let manifest = fs::read_to_string(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    write(&file, &turned_manifest(&manifest, shim))?;
    let mut found = Vec::new();
    for file in sources(&to.join("src")) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let text = as_under_miri(&text);
        let Ok(syntax) = syn::parse_file(&text) else {
            continue;
        };
        let name = file.strip_prefix(to).unwrap_or(&file);
        let is_test = |part: &OsStr| part == "tests" || part == "tests.rs";
        if !name.iter().any(is_test) {
            found.extend(notes(name, &syntax));
        }
        write(&file, &cells::mark(&text, &syntax))?;
    }
    Ok(found)
}

/// A manifest whose package sees the shim as std, and is no member of a workspace.
fn turned_manifest(manifest: &str, shim: &Path) -> String {
    let mut text = String::new();
    let mut is_left_out = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let head = line.trim_matches(['[', ']', ' ']);
            let own = [
                "dependencies.std",
                "dependencies.core",
                "dependencies.alloc",
            ];
            is_left_out = own.contains(&head)
                || head.starts_with("dev-dependencies")
                || head.starts_with("workspace")
                || ["bench", "test", "example"].contains(&head);
        }
        if !is_left_out {
            text += line;
            text += "\n";
        }
    }
    text + &shim::dependencies(shim, false) + "\n[workspace]\n"
}
