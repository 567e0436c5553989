//! Packages outside of the workspaces, which run offline. Two depend on one package of joint alone,
//! and may build so many crates and no more. Four have models that fail (`failing.rs`).

mod failing;
#[path = "../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output},
};

/// Paths and contents.
type Files<'a> = &'a [(&'a str, &'a str)];

/// The package, its folder from the root, the crates that a dependent may build for it, itself
/// included, and the files of a program: an example of an executor, and an application.
const DEPENDENTS: [(&str, &str, usize, Files<'_>); 2] = [
    (
        "joint",
        "",
        2,
        &[
            (
                "src/main.rs",
                include_str!("../../examples/executor/main.rs"),
            ),
            (
                "src/queue.rs",
                include_str!("../../examples/executor/queue.rs"),
            ),
        ],
    ),
    (
        "joint-executor",
        "joint-executor",
        7,
        &[("src/main.rs", include_str!("application.rs"))],
    ),
];

const HELP: &str = "\
Builds and runs packages outside of the workspaces. `cargo xtask dependents` runs it.

Usage: joint-dependents

  -h, --help     print this
  -V, --version  print the version

Exit status: 0 all is as it should be, 1 it is not, 2 bad usage.
";

fn main() -> ExitCode {
    options::run("joint-dependents", HELP, |options| {
        options.end()?;
        let wrong = dependents();
        wrong.iter().for_each(|why| eprintln!("{why}"));
        Ok(ExitCode::from(u8::from(!wrong.is_empty())))
    })
}

/// Returns what is wrong with the packages.
fn dependents() -> Vec<String> {
    let of_one = |(package, folder, most, files)| dependent(package, folder, most, files).err();
    let mut wrong: Vec<_> = DEPENDENTS.into_iter().filter_map(of_one).collect();
    wrong.extend(failing::run().err());
    wrong
}

/// Generates, builds and runs a package.
fn dependent(package: &str, folder: &str, most: usize, files: Files<'_>) -> Result<(), String> {
    let manifest = format!(
        "[package]\nname = \"on-{package}\"\nedition = \"2024\"\n\n\
         [dependencies]\n{package} = {{ path = {:?} }}\n\n\
         [profile.dev]\ndebug = false\n",
        root().join(folder)
    );
    let outside = Outside::write(package, &manifest, files)?;
    let run = outside.cargo("target", &["run", "--quiet"])?;
    print!("{}", text(&run));
    if !run.status.success() {
        return Err(format!("the program on {package}: {}", run.status));
    }
    let tree = outside.cargo(
        "target",
        &["tree", "--prefix=none", "--edges", "normal,build"],
    )?;
    // Without the generated package itself.
    let crates = count(&String::from_utf8_lossy(&tree.stdout)) - 1;
    println!("{package}: {crates} crates");
    match crates <= most {
        true => Ok(()),
        false => Err(format!(
            "{package} brings {crates} crates, and {most} are the most"
        )),
    }
}

/// How many crates `cargo tree` names: each line begins with the name and the version of one.
fn count(tree: &str) -> usize {
    let names = tree.lines().filter(|line| !line.is_empty());
    let names = names.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    names.collect::<BTreeSet<_>>().len()
}

/// The repository's root, two folders above this package.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// The folder with all that is built.
fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

/// All that a program printed.
fn text(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{error}")
}

/// A package in the target folder.
struct Outside(PathBuf);

impl Outside {
    /// Writes it, with the versions of the repository's lock file.
    fn write(name: &str, manifest: &str, files: Files<'_>) -> Result<Self, String> {
        let folder = target().join("dependents").join(name);
        let write = |path: &str, content: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(path, content)
        };
        let all = || {
            write("Cargo.toml", &format!("{manifest}\n[workspace]\n"))?;
            fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
            files
                .iter()
                .try_for_each(|(path, content)| write(path, content))
        };
        all().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    /// Runs cargo in it, which builds in a folder of that name beside it.
    fn cargo(&self, build: &str, args: &[&str]) -> Result<Output, String> {
        self.cargo_in(&self.0, &self.0.with_file_name(build), args, &[])
    }

    /// Runs cargo for a model that is compiled with these flags. With those of the repository's own
    /// models it has their configuration and their target folder, where the checker is built
    /// already. Otherwise the checkers are not optimized, which takes longer than these models.
    fn model(&self, args: &[&str], flags: &str) -> Result<Output, String> {
        let (folder, build, level) = match flags {
            "--cfg joint_loom" => (&root().join("loom-tests"), target().join("loom"), "1"),
            _ => (&self.0, self.0.with_file_name("target-loom"), "0"),
        };
        let level = ("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
        self.cargo_in(folder, &build, args, &[("RUSTFLAGS", flags), level])
    }

    fn cargo_in(
        &self,
        folder: &Path,
        build: &Path,
        args: &[&str],
        set: &[(&str, &str)],
    ) -> Result<Output, String> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        let manifest = self.0.join("Cargo.toml");
        cargo.args(args).args(["--offline", "--manifest-path"]);
        cargo.arg(manifest).current_dir(folder);
        cargo.env("CARGO_TARGET_DIR", build);
        let output = cargo.envs(set.iter().copied()).output();
        output.map_err(|error| format!("could not start cargo: {error}"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_crate_counts_once() {
        let tree = "a v1.0.0 (/x)\nb v2.0.0\nb v2.0.0 (*)\n\n";
        assert_eq!(super::count(tree), 2);
    }
}
