//! The digest of a file: the standard BLAKE3 of its content, a large file's computed in parallel.
//!
//! BLAKE3 is itself a tree over a file's content, so a file larger than [`CHUNK`] is cut where
//! that tree has its nodes: each half is a task, down to chunks, and a parent merges the chaining
//! values of its halves. What is held in memory at a time is a read buffer per worker and 32 bytes
//! per finished half.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use joint::JoinHandle;

use crate::run::Run;
use crate::tree::Digest;

/// The bytes that one task reads: enough to make the task's own cost vanish beside it. A power of
/// two, as every node of the tree spans one, except the last of each level.
const CHUNK: u64 = 1 << 20;

/// Hashes the file at `path`.
///
/// # Errors
///
/// Also if the file changes while it is read, or is not as long as its size says, because then
/// there is no single content to digest.
pub(crate) async fn digest(run: &Arc<Run>, path: &Path) -> io::Result<Digest> {
    let version = {
        let file = File::open(path)?;
        let version = Version::of(&file.metadata()?)?;
        if version.len <= CHUNK {
            return whole(run, &file, &version);
        }
        version
    };
    let len = version.len;
    let source = Arc::new(Source {
        run: run.clone(),
        path: path.to_owned(),
        version,
    });
    let (left, right) = halves(&source, 0, len).await?;
    Ok(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
}

fn whole(run: &Run, file: &File, version: &Version) -> io::Result<Digest> {
    let mut hasher = Hasher::new();
    // Reading one byte more than there should be detects a file whose size is too small.
    hasher.update_reader(file.take(version.len + 1))?;
    version.check(file, hasher.count() == version.len)?;
    run.totals.bytes.add(version.len);
    Ok(*hasher.finalize().as_bytes())
}

/// A large file, for the tasks that share it. It holds no open file: there may be any number of
/// large files under way.
#[derive(Debug)]
struct Source {
    run: Arc<Run>,
    path: PathBuf,
    version: Version,
}

/// The chaining values of the two halves of the subtree of `len` bytes at `offset`.
async fn halves(
    source: &Arc<Source>,
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
fn subtree(source: Arc<Source>, offset: u64, len: u64) -> JoinHandle<io::Result<ChainingValue>> {
    joint_executor::spawn(async move {
        if len <= CHUNK {
            return source.chunk(offset, len);
        }
        let (left, right) = halves(&source, offset, len).await?;
        Ok(merge_subtrees_non_root(&left, &right, Mode::Hash))
    })
}

impl Source {
    fn chunk(&self, offset: u64, len: u64) -> io::Result<ChainingValue> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut hasher = Hasher::new();
        hasher
            .set_input_offset(offset)
            .update_reader((&file).take(len))?;
        self.version.check(&file, hasher.count() == len)?;
        self.run.totals.bytes.add(len);
        Ok(hasher.finalize_non_root())
    }
}

/// The signs by which one content of a path differs from the next.
#[derive(Debug, PartialEq)]
struct Version {
    len: u64,
    /// `None` where the system keeps no such time.
    modified: Option<SystemTime>,
}

impl Version {
    fn of(metadata: &Metadata) -> io::Result<Self> {
        if !metadata.is_file() {
            return Err(changed());
        }
        Ok(Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// Checks again after reading, which detects a write in between.
    fn check(&self, file: &File, complete: bool) -> io::Result<()> {
        if Self::of(&file.metadata()?)? != *self {
            Err(changed())
        } else if !complete {
            Err(io::Error::other("has another size than it says"))
        } else {
            Ok(())
        }
    }
}

fn changed() -> io::Error {
    io::Error::other("changed while being read")
}
