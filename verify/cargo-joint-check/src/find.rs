//! Finds the source of a crate: a folder, what cargo has downloaded, or the registry.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{options::Named, shim::write};

/// A crate's source.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
}

/// Finds a crate, which is downloaded if need be. `scratch` is a folder for that.
///
/// # Errors
/// If there is no such crate.
pub(crate) fn find(named: &Named, scratch: &Path) -> Result<Source, String> {
    let path = Path::new(&named.name);
    if path.join("Cargo.toml").is_file() {
        return at(path);
    }
    if named.name.contains(['/', '\\', '.']) {
        return Err(format!("{} is no folder with a Cargo.toml", named.name));
    }
    if let Some(found) = downloaded(named) {
        return Ok(found);
    }
    download(named, scratch)?;
    downloaded(named).ok_or_else(|| {
        let folder = registry().join("src");
        format!(
            "cargo has fetched {}, but not into {}",
            named.name,
            folder.display()
        )
    })
}

fn at(path: &Path) -> Result<Source, String> {
    let said = |why| format!("{}: {why}", path.display());
    let folder = path.canonicalize().map_err(said)?;
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(said)?;
    let field = |key: &str| {
        let package = manifest.split_once("[package]")?.1;
        let lines = package.lines().take_while(|line| !line.starts_with('['));
        let values = lines.filter_map(|line| line.split_once('='));
        let mut values = values.filter(|(name, _)| name.trim() == key);
        Some(values.next()?.1.trim().trim_matches('"').to_owned())
    };
    let name = field("name");
    let name = name.ok_or_else(|| format!("{}: the manifest names no package", path.display()))?;
    Ok(Source {
        name,
        version: field("version").unwrap_or_else(|| "0.0.0".into()),
        folder,
    })
}

fn registry() -> PathBuf {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    home.unwrap_or_default().join("registry")
}

/// The newest version that cargo has downloaded, or the one that is named.
fn downloaded(named: &Named) -> Option<Source> {
    let registries = fs::read_dir(registry().join("src")).ok()?;
    let crates = registries
        .flatten()
        .filter_map(|one| fs::read_dir(one.path()).ok());
    let found = crates.flatten().flatten().filter_map(|entry| {
        let file = entry.file_name().into_string().ok()?;
        let version = file.strip_prefix(&named.name)?.strip_prefix('-')?;
        let is_version = version.starts_with(|first: char| first.is_ascii_digit());
        let is_wanted = named
            .version
            .as_ref()
            .is_none_or(|wanted| wanted == version);
        (is_version && is_wanted).then(|| Source {
            name: named.name.clone(),
            version: version.to_owned(),
            folder: entry.path(),
        })
    });
    found.max_by_key(|source| order(&source.version))
}

/// A version as numbers. One with a suffix comes before the one without.
fn order(version: &str) -> ([u64; 3], bool) {
    let version = version.split('+').next().unwrap_or_default();
    let mut parts = version.split('-').next().unwrap_or_default().split('.');
    let numbers = [(); 3].map(|()| parts.next().and_then(|part| part.parse().ok()).unwrap_or(0));
    (numbers, !version.contains('-'))
}

/// Downloads a crate by a package that depends on it. A lock file without a checksum names the
/// version, so that one that was withdrawn is found as well.
fn download(named: &Named, scratch: &Path) -> Result<(), String> {
    let Named { name, version } = named;
    let folder = scratch.join("fetch").join(name);
    let wanted = version
        .as_ref()
        .map_or("*".into(), |version| format!("={version}"));
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{name} = \"{wanted}\"\n\n[workspace]\n"
    );
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    let lock = folder.join("Cargo.lock");
    if let Some(version) = version {
        let text = format!(
            "version = 4\n\n[[package]]\nname = \"fetch\"\nversion = \"0.0.0\"\n\
             dependencies = [\"{name}\"]\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
        );
        write(&lock, &text)?;
    } else {
        // Another run may have left one.
        _ = fs::remove_file(&lock);
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let fetch = cargo.arg("fetch").arg("--quiet").current_dir(&folder);
    let ended = fetch
        .status()
        .map_err(|why| format!("cargo cannot be run: {why}"))?;
    if !ended.success() {
        return Err(format!("cargo has not found {name} {wanted}"));
    }
    Ok(())
}
