//! `cargo xtask api`: the public API of each published package, as a file that a change has to
//! update. The package `joint-api` makes it of what rustdoc writes as JSON.

use super::{
    package::{WORKSPACES, published_of},
    size::target,
    step::{Step, run_all, say},
};

/// Writes the snapshots, or compares them. Returns the status to exit with.
pub(crate) fn run(check: bool) -> i32 {
    let steps = match steps(check) {
        Ok(steps) => steps,
        Err(why) => {
            say(&format!("api failed: {why}"));
            return 1;
        }
    };
    let status = run_all("api", &steps);
    if status != 0 && check {
        say(
            "if the public API is meant to differ from its snapshot, run `cargo xtask api` and commit the result",
        );
    }
    status
}

fn steps(check: bool) -> Result<Vec<Step>, String> {
    // A folder of its own: some build scripts run again if `RUSTC_BOOTSTRAP` is set.
    let folder = target().join("api");
    let (mut steps, mut files) = (Vec::new(), Vec::new());
    for workspace in WORKSPACES {
        let mut doc = vec!["doc", "--no-deps", "--all-features"];
        let packages = published_of(workspace)?;
        for package in &packages {
            doc.extend(["--package", &package.name]);
            let file = package.name.replace('-', "_") + ".json";
            files.push(folder.join("doc").join(file).to_string_lossy().into_owned());
        }
        let json = Step::cargo("rustdoc's JSON", &doc)
            .in_folder(workspace)
            .env("CARGO_TARGET_DIR", folder.to_string_lossy())
            .env("RUSTC_BOOTSTRAP", "1")
            .flags("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
        steps.push(json);
    }
    let compare = ["run", "--quiet", "--package", "joint-api", "--"];
    let compare = compare.iter().chain(check.then_some(&"--check")).copied();
    let compare: Vec<_> = compare.chain(files.iter().map(String::as_str)).collect();
    steps.push(Step::cargo("public API", &compare));
    Ok(steps)
}
