//! The simulated cores: builds joint and a copy of tokio on them, and runs their rows.

use std::{fs, io, path::Path};

use serde_json::Value;

use super::{
    step::{Done, Step, Stop, root, run_all, target},
    words::Words,
};

const MANIFEST: &str = "[package]
name = \"tokio\"
version = \"1.99.0\"
edition = \"2021\"

[features]
rt = []
rt-multi-thread = [\"rt\"]
sync = []
time = []

[dependencies]
loom = \"0.7\"
pin-project-lite = \"0.2\"

[lints.rust]
warnings = \"allow\"
";

/// The folder of the tokio that the benches use, in cargo's registry.
fn tokio() -> Result<String, String> {
    let printed = Step::cargo("metadata", "metadata --format-version 1 --locked").output()?;
    let metadata: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let found = packages.find(|package| package["name"] == "tokio");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|path| path.strip_suffix("/Cargo.toml"));
    folder
        .map(str::to_owned)
        .ok_or("the benches do not depend on tokio".to_owned())
}

/// Copies tokio's source, with the clock and the thread-locals of the simulation.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            let source = fs::read_to_string(&path)?;
            let source = source.replace("std::time::Instant::now()", "::loom::now()");
            fs::write(
                to,
                source.replace("::std::thread_local!", "::loom::thread_local!"),
            )?;
        }
    }
    Ok(())
}

/// Puts a tokio whose module `loom` is the simulation's into the target folder.
fn prepare(tokio: &Path) -> io::Result<()> {
    let to = target().join("cores/tokio");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    copy(&tokio.join("src"), &to.join("src"))?;
    let of_std = to.join("src/loom/std");
    fs::remove_dir_all(&of_std)?;
    fs::create_dir_all(&of_std)?;
    let own = root().join("verify/joint-cores/rows/tokio.rs");
    fs::copy(own, of_std.join("mod.rs"))?;
    fs::write(to.join("Cargo.toml"), MANIFEST)
}

/// Writes `docs/cores.md` and its picture. With `--sharded`, only the points of another tokio.
pub(crate) fn cores(words: &Words) -> Done {
    let (folder, what) = match words.option("--sharded") {
        Some(folder) => (folder.to_owned(), "sharded"),
        None => (tokio()?, "page"),
    };
    prepare(Path::new(&folder)).map_err(|error| Stop::Failed(format!("{folder}: {error}")))?;
    let build = target().join("cores/build").display().to_string();
    let page = root().join("docs/cores.md").display().to_string();
    let step = Step::cargo("cores", "run --bin joint-cores-rows --target-dir")
        .args([&*build, "--", what, &*page])
        .in_folder("verify/joint-cores/rows")
        .rustc("--cfg joint_cores");
    Ok(run_all("cores", vec![step]))
}
