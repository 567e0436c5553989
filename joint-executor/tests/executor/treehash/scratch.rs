//! Trees to hash.

use std::process;

use super::MIB;
use crate::prelude::*;

/// A directory of the test's own, gone with it.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Relaxed);
        let path = env::temp_dir().join(format!("joint-treehash-{}-{next}", process::id()));
        fs::create_dir(&path).expect("no other process has this name");
        Self(path)
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn directory(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("directory");
        path
    }

    pub(crate) fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over lies in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `len` bytes without a period that a chunk could hide.
pub(crate) fn content(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// Some of everything, the awkward included.
pub(crate) fn assorted() -> Scratch {
    let tree = Scratch::new();
    tree.directory("nested/deeper/still");
    tree.directory("empty");
    tree.file("empty file", "");
    tree.file("nested/one", "1");
    tree.file("nested/deeper/two words", "2");
    tree.file("nested/deeper/still/five MiB", content(5 * MIB));
    tree.file("a chunk and a byte", content(MIB + 1));
    tree.file("üñí©ødé", "names");
    #[cfg(unix)]
    add_unix(&tree);
    tree
}

#[cfg(unix)]
fn add_unix(tree: &Scratch) {
    use std::{
        ffi::OsStr,
        os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    };

    symlink("nested/one", tree.path("to a file")).expect("link");
    symlink("nested", tree.path("to a directory")).expect("link");
    symlink(".", tree.path("nested/to itself")).expect("link");
    symlink("nowhere", tree.path("dangling")).expect("link");
    symlink(OsStr::from_bytes(b"\xff"), tree.path("to no text")).expect("link");
    UnixListener::bind(tree.path("socket")).expect("socket");
    // Were it opened, that would wait for a writer.
    let mut mkfifo = process::Command::new("mkfifo");
    if !mkfifo
        .arg(tree.path("fifo"))
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("no fifo in the tree: there is no mkfifo");
    }
    // Some file systems take no such names.
    if fs::write(tree.path(OsStr::from_bytes(b"not \xff text")), "names").is_err() {
        eprintln!("no such name in the tree: the file system refuses it");
    }
}
