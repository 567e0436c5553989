//! The digest of an entry of the tree, a task for each.
//!
//! | kind | code | digest |
//! |---|---|---|
//! | file | `f` | BLAKE3 of its content |
//! | directory | `d` | BLAKE3 in `derive_key` mode, context [`DIRECTORY`], of its records |
//! | symbolic link | `l` | BLAKE3 in `derive_key` mode, context [`LINK`], of its target's bytes |
//! | fifo, socket, block and character device | `p` `s` `b` `c` | 32 zero bytes |
//! | any other kind | `o` | 32 zero bytes |
//! | unreadable, whatever its kind | `u` | 32 zero bytes |
//!
//! A directory's records are those of its entries, in the byte order of their names, one after
//! the other: the code, the length of the name as a `u64`, little-endian, the bytes of the name,
//! the digest. Each record says where it ends, so no two lists of entries have the same bytes; and
//! the two contexts keep a directory, a link and a file apart whatever their content.
//!
//! Only files are opened, and only to be read: opening a fifo would wait for its writer. Every task
//! closes what it opens before it waits, so no more files are open than there are workers.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::Hasher;
use joint::JoinHandle;

use crate::file;
use crate::run::Run;

const DIRECTORY: &str = "joint treehash v1 directory";
const LINK: &str = "joint treehash v1 link";

pub(crate) type Digest = [u8; blake3::OUT_LEN];

/// The digest of an entry without content, or whose content cannot be read.
const NO_CONTENT: Digest = [0; blake3::OUT_LEN];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// Never opened. Its code says what it is.
    Other(u8),
}

/// The contribution of an entry to its directory.
#[derive(Debug)]
pub(crate) struct Node {
    code: u8,
    pub(crate) digest: Digest,
}

/// Hashes the entry at `path`. A `kind` that could not be told makes it unreadable.
pub(crate) async fn node(run: Arc<Run>, path: PathBuf, kind: io::Result<Kind>) -> Node {
    match content(&run, &path, kind).await {
        Ok((code, digest)) => Node { code, digest },
        Err(error) => {
            run.unreadable(&path, &error);
            Node {
                code: b'u',
                digest: NO_CONTENT,
            }
        }
    }
}

async fn content(run: &Arc<Run>, path: &Path, kind: io::Result<Kind>) -> io::Result<(u8, Digest)> {
    let kind = kind?;
    let (code, digest, total) = match kind {
        Kind::File => (b'f', file::digest(run, path).await?, &run.totals.files),
        Kind::Directory => (b'd', directory(run, path).await?, &run.totals.directories),
        Kind::Link => (b'l', link(path)?, &run.totals.links),
        Kind::Other(code) => (code, NO_CONTENT, &run.totals.others),
    };
    total.add(1);
    Ok((code, digest))
}

async fn directory(run: &Arc<Run>, path: &Path) -> io::Result<Digest> {
    let mut children = Vec::new();
    for (name, kind) in entries(path)? {
        let child = start(run.clone(), path.join(&name), kind);
        children.push((name, child));
    }
    let mut hasher = Hasher::new_derive_key(DIRECTORY);
    for (name, child) in children {
        let Node { code, digest } = child.await;
        let name = name.as_encoded_bytes();
        hasher
            .update(&[code])
            .update(&(name.len() as u64).to_le_bytes());
        hasher.update(name).update(&digest);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Starts the task for one entry. That this names its result's type is needed: through an
/// `async fn`, whether a directory's future is `Send` would depend on itself.
fn start(run: Arc<Run>, path: PathBuf, kind: io::Result<Kind>) -> JoinHandle<Node> {
    joint_executor::spawn(node(run, path, kind))
}

/// The entries of a directory, sorted by the bytes of their names. A directory that cannot be
/// listed to its end is unreadable: what is missing in it has no name.
fn entries(path: &Path) -> io::Result<Vec<(OsString, io::Result<Kind>)>> {
    let mut entries = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| (entry.file_name(), entry.file_type().map(Kind::of))))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|(a, _), (b, _)| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    Ok(entries)
}

fn link(path: &Path) -> io::Result<Digest> {
    let target = fs::read_link(path)?;
    Ok(blake3::derive_key(
        LINK,
        target.as_os_str().as_encoded_bytes(),
    ))
}

impl Kind {
    pub(crate) fn of(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Directory
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::Other(other(file_type))
        }
    }
}

#[cfg(unix)]
fn other(file_type: FileType) -> u8 {
    use std::os::unix::fs::FileTypeExt;

    let known = [
        (file_type.is_fifo(), b'p'),
        (file_type.is_socket(), b's'),
        (file_type.is_block_device(), b'b'),
        (file_type.is_char_device(), b'c'),
    ];
    known
        .iter()
        .find(|(is, _)| *is)
        .map_or(b'o', |&(_, code)| code)
}

#[cfg(not(unix))]
fn other(_: FileType) -> u8 {
    b'o'
}
