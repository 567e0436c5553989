//! `cargo xtask tsan` and `cargo xtask asan`: which of the installed compilers can build for a
//! sanitizer. Nothing is ever installed: what is missing is named, and the check is skipped.

use std::{
    env,
    path::Path,
    process::{Command, Output},
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sanitizer {
    Address,
    Thread,
}

impl Sanitizer {
    /// The command of this program.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Address => "asan",
            Self::Thread => "tsan",
        }
    }

    pub(crate) fn flags(self) -> &'static str {
        match self {
            Self::Address => "-Zsanitizer=address",
            Self::Thread => "-Zsanitizer=thread --cfg joint_tsan",
        }
    }

    /// ThreadSanitizer would report races that are none, if std were not built for it as well.
    pub(crate) fn builds_std(self) -> bool {
        self == Self::Thread
    }
}

/// A compiler, and what the checks need to know about it.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) is_nightly: bool,
    pub(crate) host: String,
    sysroot: String,
    /// The one that the name of the sanitizer's runtime contains.
    channel: &'static str,
    llvm: String,
}

impl Compiler {
    /// The compiler that cargo uses here.
    fn own() -> Option<Self> {
        let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
        Self::new(false, |args| Command::new(&rustc).args(args).output().ok())
    }

    /// The nightly toolchain.
    fn nightly() -> Option<Self> {
        Self::new(true, |args| {
            let mut command = Command::new("rustup");
            command.args(["run", "nightly", "rustc"]).args(args);
            command.env("RUSTUP_AUTO_INSTALL", "0").output().ok()
        })
    }

    fn new(is_nightly: bool, ask: impl Fn(&[&str]) -> Option<Output>) -> Option<Self> {
        let ask = |args: &[&str]| {
            let output = ask(args).filter(|output| output.status.success())?;
            String::from_utf8(output.stdout).ok()
        };
        Self::read(is_nightly, &ask(&["-vV"])?, &ask(&["--print", "sysroot"])?)
    }

    fn read(is_nightly: bool, version: &str, sysroot: &str) -> Option<Self> {
        let line = |key| version.lines().find_map(|line| line.strip_prefix(key));
        let release = line("release: ")?;
        let channels = ["nightly", "beta", "dev"];
        let channel = channels.into_iter().find(|name| release.contains(name));
        let llvm = line("LLVM version: ")?.split('.').next()?;
        Some(Self {
            is_nightly,
            host: line("host: ")?.to_owned(),
            sysroot: sysroot.trim().to_owned(),
            channel: channel.unwrap_or("stable"),
            llvm: llvm.to_owned(),
        })
    }

    /// The archive that the compiler links into each program.
    fn runtime(&self, sanitizer: Sanitizer) -> String {
        format!(
            "{}/lib/rustlib/{}/lib/librustc-{}_rt.{}.a",
            self.sysroot,
            self.host,
            self.channel,
            sanitizer.command()
        )
    }

    /// Returns the missing parts, each with the way to get it.
    fn lacks(&self, sanitizer: Sanitizer, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let is_debian = self.sysroot.ends_with("/usr");
        let mut lacks = Vec::new();
        let source = format!("{}/lib/rustlib/src/rust/library", self.sysroot);
        if sanitizer.builds_std() && !exists(&source) {
            let get = match (is_debian, self.is_nightly) {
                (true, _) => "apt-get install rust-src, or rust-web-src for rustc-web",
                (false, true) => "rustup component add --toolchain nightly rust-src",
                (false, false) => "rustup component add rust-src",
            };
            lacks.push(format!("the source of std, {source}; to get it: {get}"));
        }
        let runtime = self.runtime(sanitizer);
        if !exists(&runtime) {
            let get = if is_debian {
                let (llvm, name) = (&self.llvm, sanitizer.command());
                let arch = self.host.split('-').next().unwrap_or_default();
                format!(
                    "to get it: apt-get install libclang-rt-{llvm}-dev && ln -s \
                     /usr/lib/llvm-{llvm}/lib/clang/{llvm}/lib/linux/libclang_rt.{name}-{arch}.a \
                     {runtime}"
                )
            } else {
                "rustup's toolchains for Linux have it".to_owned()
            };
            lacks.push(format!("the sanitizer's runtime, {runtime}; {get}"));
        }
        lacks
    }
}

/// Returns a compiler that has everything: the one in use, or else nightly.
pub(crate) fn compiler(sanitizer: Sanitizer) -> Result<Compiler, String> {
    let mut why = Vec::new();
    for (name, compiler) in [
        ("the compiler in use", Compiler::own()),
        ("nightly", Compiler::nightly()),
    ] {
        let Some(compiler) = compiler else {
            why.push(format!("{name} is not there"));
            continue;
        };
        let lacks = compiler.lacks(sanitizer, |path| Path::new(path).exists());
        if lacks.is_empty() {
            return Ok(compiler);
        }
        why.push(format!("{name} lacks {}", lacks.join("; and ")));
    }
    Err(why.join("\n  "))
}

#[cfg(test)]
const VERSION: &str = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)\n\
    binary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

#[cfg(test)]
impl Compiler {
    /// Debian's compiler.
    pub(crate) fn debian() -> Self {
        Self::read(false, VERSION, "/usr").expect("a version")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNTIME: &str = "/usr/lib/rustlib/x86_64-unknown-linux-gnu/lib/librustc-stable_rt.tsan.a";

    #[test]
    fn the_runtime_is_named_after_the_channel() {
        let runtime = |version: &str| {
            let compiler = Compiler::read(false, version, "/usr\n").expect("a version");
            compiler.runtime(Sanitizer::Thread)
        };
        assert_eq!(runtime(VERSION), RUNTIME);
        let nightly = VERSION.replace("1.96.0", "1.97.0-nightly");
        assert!(runtime(&nightly).ends_with("/librustc-nightly_rt.tsan.a"));
        assert!(Compiler::read(false, "rustc 1.0.0", "/usr").is_none());
    }

    #[test]
    fn only_thread_sanitizer_needs_the_source_of_std() {
        let compiler = Compiler::debian();
        let has_runtime = |path: &str| path.contains("_rt.");
        assert!(compiler.lacks(Sanitizer::Address, has_runtime).is_empty());
        let lacks = compiler.lacks(Sanitizer::Thread, has_runtime);
        assert_eq!(lacks.len(), 1, "{lacks:?}");
        assert!(lacks[0].contains("/usr/lib/rustlib/src/rust/library"));
        assert!(compiler.lacks(Sanitizer::Thread, |_| true).is_empty());
    }

    #[test]
    fn a_missing_runtime_comes_with_the_way_to_get_it() {
        let compiler = Compiler::debian();
        let lacks = compiler.lacks(Sanitizer::Thread, |path| !path.contains("_rt."));
        let link = "apt-get install libclang-rt-22-dev && ln -s \
            /usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.tsan-x86_64.a ";
        assert!(lacks[0].contains(&format!("{link}{RUNTIME}")), "{lacks:?}");
    }
}
