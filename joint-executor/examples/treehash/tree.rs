//! The digest of an entry of the tree: a task for each, and for each chunk of a large file.
//!
//! | kind | code | digest |
//! |---|---|---|
//! | file | `f` | BLAKE3 of its content |
//! | directory | `d` | BLAKE3 in `derive_key` mode, context [`DIRECTORY`], of its records |
//! | symbolic link | `l` | BLAKE3 in `derive_key` mode, context [`LINK`], of its target's bytes |
//! | any other kind | `o` | 32 zero bytes |
//! | unreadable, whatever its kind | `u` | 32 zero bytes |
//!
//! A directory's records are those of its entries, in the byte order of their names, one after
//! the other: the code, the length of the name as a `u64`, little-endian, the bytes of the name,
//! the digest. Each record says where it ends, so no two lists of entries have the same bytes; and
//! the two contexts keep a directory, a link and a file apart whatever their content.
//!
//! BLAKE3 is itself a tree over a file's content, so a file larger than [`CHUNK`] is cut where
//! that tree has its nodes: each half is a task, down to chunks, and a parent merges the chaining
//! values of its halves.
//!
//! Only files are opened, and only to be read: opening a fifo would wait for its writer. Every task
//! closes what it opens before it waits, so no more files are open than there are workers.

use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use joint_executor::JoinHandle;

use crate::options;

const DIRECTORY: &str = "joint treehash v1 directory";
const LINK: &str = "joint treehash v1 link";

/// The bytes that one task reads: enough to make the task's own cost vanish beside it. A power of
/// two, as every node of the tree spans one, except the last of each level.
const CHUNK: u64 = 1 << 20;

pub(crate) type Digest = [u8; blake3::OUT_LEN];

/// The digest of an entry without content, or whose content cannot be read.
const NO_CONTENT: Digest = [0; blake3::OUT_LEN];

/// Counts what tasks add to it.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    // ORDERING: Relaxed twice. A count publishes nothing, and the reader of the final count has
    // joined the tasks that added to it, so the join carries their additions over.
    fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Every entry counts in one of the first five, the PATH of the command line among them.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: Counter,
    pub(crate) directories: Counter,
    pub(crate) links: Counter,
    pub(crate) others: Counter,
    pub(crate) unreadable: Counter,
    /// The bytes read and hashed, those of a file that turned out unreadable half-way included.
    pub(crate) bytes: Counter,
}

/// The contribution of an entry to its directory.
#[derive(Debug)]
pub(crate) struct Node {
    code: u8,
    pub(crate) digest: Digest,
}

/// Hashes the entry at `path`. A `kind` that could not be told makes it unreadable.
pub(crate) async fn node(totals: Arc<Totals>, path: PathBuf, kind: io::Result<FileType>) -> Node {
    let content = content(&totals, &path, kind).await;
    let (code, digest) = content.unwrap_or_else(|error| {
        totals.unreadable.add(1);
        options::complain(format_args!("treehash: {}: {error}", path.display()));
        (b'u', NO_CONTENT)
    });
    Node { code, digest }
}

async fn content(
    totals: &Arc<Totals>,
    path: &Path,
    kind: io::Result<FileType>,
) -> io::Result<(u8, Digest)> {
    let kind = kind?;
    let (code, digest, total) = if kind.is_file() {
        (b'f', file(totals, path).await?, &totals.files)
    } else if kind.is_dir() {
        (b'd', directory(totals, path).await?, &totals.directories)
    } else if kind.is_symlink() {
        let target = fs::read_link(path)?;
        let digest = blake3::derive_key(LINK, target.as_os_str().as_encoded_bytes());
        (b'l', digest, &totals.links)
    } else {
        (b'o', NO_CONTENT, &totals.others)
    };
    total.add(1);
    Ok((code, digest))
}

async fn directory(totals: &Arc<Totals>, path: &Path) -> io::Result<Digest> {
    let mut children = Vec::new();
    for (name, kind) in entries(path)? {
        let child = start(totals.clone(), path.join(&name), kind);
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
fn start(totals: Arc<Totals>, path: PathBuf, kind: io::Result<FileType>) -> JoinHandle<Node> {
    joint_executor::spawn(node(totals, path, kind))
}

/// The entries of a directory, sorted by the bytes of their names. A directory that cannot be
/// listed to its end is unreadable: what is missing in it has no name.
fn entries(path: &Path) -> io::Result<Vec<(OsString, io::Result<FileType>)>> {
    let mut entries = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| (entry.file_name(), entry.file_type())))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|(a, _), (b, _)| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    Ok(entries)
}

async fn file(totals: &Arc<Totals>, path: &Path) -> io::Result<Digest> {
    let len = fs::metadata(path)?.len();
    if len > CHUNK {
        let source = Arc::new((totals.clone(), path.to_owned()));
        let (left, right) = halves(&source, 0, len).await?;
        return Ok(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes());
    }
    let mut hasher = Hasher::new();
    // Reading one byte more than there should be detects a file whose size is too small.
    hasher.update_reader(File::open(path)?.take(len + 1))?;
    check(totals, &hasher, len)?;
    Ok(*hasher.finalize().as_bytes())
}

/// A large file, for the tasks that share it. It is opened by each of them, because there may be
/// any number of large files under way.
type Source = Arc<(Arc<Totals>, PathBuf)>;

/// The chaining values of the two halves of the subtree of `len` bytes at `offset`.
async fn halves(
    source: &Source,
    offset: u64,
    len: u64,
) -> io::Result<(ChainingValue, ChainingValue)> {
    let middle = left_subtree_len(len);
    let left = subtree(source.clone(), offset, middle);
    let right = subtree(source.clone(), offset + middle, len - middle);
    Ok((left.await?, right.await?))
}

/// Starts the task for the subtree of `len` bytes at `offset`. If one half fails, the handle of the
/// other is dropped, which cancels whatever of it has not run yet.
fn subtree(source: Source, offset: u64, len: u64) -> JoinHandle<io::Result<ChainingValue>> {
    joint_executor::spawn(async move {
        if len > CHUNK {
            let (left, right) = halves(&source, offset, len).await?;
            return Ok(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
        let (totals, path) = &*source;
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut hasher = Hasher::new();
        hasher
            .set_input_offset(offset)
            .update_reader(file.take(len))?;
        check(totals, &hasher, len)?;
        Ok(hasher.finalize_non_root())
    })
}

/// Counts what was read, and detects a file that is not as long as it says.
fn check(totals: &Totals, hasher: &Hasher, len: u64) -> io::Result<()> {
    totals.bytes.add(hasher.count());
    match hasher.count() == len {
        true => Ok(()),
        false => Err(io::Error::other("has another size than it says")),
    }
}
