//! The package that stands for std, which is part of this program.

use std::{
    fs,
    path::{Path, PathBuf},
};

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../shim/src/", $name)))),+]
    };
}

const FILES: &[(&str, &str)] = files! {
    "arc.rs" "atomic.rs" "cell.rs" "channel.rs" "clock.rs" "joint.rs" "lib.rs" "local.rs" "lock.rs" "memory.rs"
    "model.rs" "once.rs" "parking.rs" "slot.rs" "spins.rs" "threads.rs" "wake.rs"
};

/// The names under which a crate sees the package, and the packages that have no other use: cargo
/// allows one name for each package.
pub(crate) const NAMES: [(&str, &str); 4] = [
    ("std", "joint-std"),
    ("core", "joint-std-as-core"),
    ("alloc", "joint-std-as-alloc"),
    ("joint_check", "joint-std-for-tests"),
];

/// Writes a file, unless it has this text.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    let folder = file.parent().expect("a file is in a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
    written.map_err(|why| format!("{}: {why}", file.display()))
}

/// Writes the packages into a folder.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn unpack(folder: &Path, checker: &str) -> Result<(), String> {
    for (name, package) in NAMES {
        let own = folder.join(package);
        let dependency = match package {
            "joint-std" => format!("joint-check = {checker}"),
            _ => "joint-std = { path = \"../joint-std\" }".into(),
        };
        let manifest = format!(
            "[package]\nname = \"{package}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependency}\n\n[workspace]\n"
        );
        write(&own.join("Cargo.toml"), &manifest)?;
        let source = match name {
            "std" => continue,
            "joint_check" => "pub use joint_std::joint::*;\n",
            _ => "pub use joint_std::*;\n",
        };
        write(&own.join("src/lib.rs"), source)?;
    }
    for (name, text) in FILES {
        write(&folder.join("joint-std/src").join(name), text)?;
    }
    Ok(())
}

/// Writes a package in the place of `parking_lot`, with the features of that version's manifest.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn parking_lot(folder: &Path, version: &str, manifest: &str) -> Result<PathBuf, String> {
    let own = folder.join(format!("parking_lot-{version}"));
    let features = manifest
        .split_once("[features]")
        .map_or("", |(_, rest)| rest);
    let features = features
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let features = features.filter_map(|line| line.split_once(" = "));
    let features: String = features.map(|(name, _)| format!("{name} = []\n")).collect();
    let text = format!(
        "[package]\nname = \"parking_lot\"\nversion = \"{version}\"\nedition = \"2024\"\n\n\
         [features]\n{features}\n[dependencies]\njoint-std = {{ path = \"../joint-std\" }}\n\n\
         [workspace]\n"
    );
    write(&own.join("Cargo.toml"), &text)?;
    write(&own.join("src/lib.rs"), "pub use joint_std::parking::*;\n")?;
    Ok(own)
}

/// The lines by which a manifest takes the packages in std's place.
pub(crate) fn dependencies(folder: &Path, with_tests: bool) -> String {
    let names = NAMES.into_iter().take(if with_tests { 4 } else { 3 });
    let line = |(name, package): (&str, &str)| {
        let path: PathBuf = folder.join(package);
        format!("\n[dependencies.{name}]\npackage = {package:?}\npath = {path:?}\n")
    };
    names.map(line).collect()
}
