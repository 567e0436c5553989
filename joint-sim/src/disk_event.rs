//! The record of what happens to a disk.

use std::{
    collections::BTreeMap,
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::disk::Disk;

/// What a program does to a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Create,
    Open,
    /// From an offset on.
    Read(u64),
    /// At an offset, bytes with this digest.
    Write(u64, u64),
    Length,
    SetLength(u64),
    Sync,
    /// To a new name.
    Rename(PathBuf),
    Remove,
    List,
    SyncFolder,
    /// The power was cut: what became of the file.
    PowerCut(String),
}

/// Something that was done to a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiskEvent {
    pub(super) op: Op,
    pub(super) path: Arc<Path>,
    pub(super) host: Arc<str>,
    /// The number of bytes that were read or written.
    pub(super) bytes: usize,
    pub(super) error: Option<ErrorKind>,
}

/// Mixes a word into a digest.
#[inline(always)]
pub(super) fn mixed(digest: u64, word: u64) -> u64 {
    (digest ^ word)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

/// Returns a number that depends on all bytes and on their order.
pub(super) fn digest_of(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let whole = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("8 bytes"));
    let digest = words.by_ref().map(whole).fold(bytes.len() as u64, mixed);
    let rest = words.remainder().iter().map(|&byte| u64::from(byte));
    rest.fold(digest, mixed)
}

impl DiskEvent {
    pub(super) fn is_power_cut(&self) -> bool {
        matches!(self.op, Op::PowerCut(_))
    }

    /// Returns a number that stands for all of it.
    pub(super) fn word(&self) -> u64 {
        let (kind, more) = match self.op {
            Op::Create => (0, 0),
            Op::Open => (1, 0),
            Op::Read(at) => (2, at),
            Op::Write(at, digest) => (3, at ^ digest),
            Op::Length => (4, 0),
            Op::SetLength(length) => (5, length),
            Op::Sync => (6, 0),
            Op::Rename(ref to) => (7, digest_of(to.as_os_str().as_encoded_bytes())),
            Op::Remove => (8, 0),
            Op::List => (9, 0),
            Op::SyncFolder => (10, 0),
            Op::PowerCut(ref text) => (11, digest_of(text.as_bytes())),
        };
        let path = digest_of(self.path.as_os_str().as_encoded_bytes());
        path ^ more.rotate_left(8)
            ^ (self.bytes as u64) << 8
            ^ kind << 1
            ^ u64::from(self.error.is_some())
    }
}

impl fmt::Display for DiskEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, host, bytes, ..
        } = self;
        let path = path.display();
        let (done, not_done, rest) = match &self.op {
            Op::Create => ("created", "create", String::new()),
            Op::Open => ("opened", "open", String::new()),
            Op::Read(at) => ("read", "read", format!("{bytes} bytes at {at} from ")),
            Op::Write(at, _) => ("wrote", "write", format!("{bytes} bytes at {at} to ")),
            Op::Length => ("asked for", "ask for", "the length of ".into()),
            Op::SetLength(to) => ("set", "set", format!("the length {to} of ")),
            Op::Sync => ("synced", "sync", String::new()),
            Op::Rename(_) => ("renamed", "rename", String::new()),
            Op::Remove => ("removed", "remove", String::new()),
            Op::List => ("listed", "list", "the folder ".into()),
            Op::SyncFolder => ("synced", "sync", "the folder ".into()),
            Op::PowerCut(text) => return write!(f, "the power of `{host}` is cut: {text}"),
        };
        match self.error {
            None => write!(f, "{done} {rest}`{path}`")?,
            Some(_) => write!(f, "could not {not_done} `{path}`")?,
        }
        if let Op::Rename(to) = &self.op {
            write!(f, " to `{}`", to.display())?;
        }
        write!(f, " on the disk of `{host}`")?;
        match self.error {
            None => Ok(()),
            Some(error) => write!(f, ": {error}"),
        }
    }
}

/// Returns the files that a power cut may change, with what they have.
pub(super) fn before(disk: &Disk) -> BTreeMap<PathBuf, Option<Seen>> {
    let all = disk.unsynced_files().chain(disk.unsynced_names());
    all.map(|path| (path.clone(), seen(disk, path))).collect()
}

/// What a file has.
#[derive(PartialEq)]
pub(super) struct Seen {
    length: u64,
    /// The first of its bytes: it may have a hole of terabytes.
    bytes: Vec<u8>,
}

fn seen(disk: &Disk, path: &Path) -> Option<Seen> {
    let inode = disk.find(path)?;
    let content = inode.content();
    let mut bytes = vec![0; content.left(0, 1 << 20)];
    content.read(0, &mut bytes);
    let length = content.length();
    Some(Seen { length, bytes })
}

/// Tells what a power cut has kept and lost of these files.
pub(super) fn told(disk: &Disk, before: BTreeMap<PathBuf, Option<Seen>>) -> Vec<(PathBuf, String)> {
    let one = |(path, before): (PathBuf, Option<Seen>)| {
        let name = path.display();
        let text = match (before, seen(disk, &path)) {
            (None, None) => return None,
            (Some(before), None) => format!("`{name}`, with {} bytes, is lost", before.length),
            (None, Some(after)) => {
                format!("`{name}` is there again, with {} bytes", after.length)
            }
            (Some(before), Some(after)) if before == after => {
                format!("`{name}` has kept all its {} bytes", after.length)
            }
            (Some(before), Some(after)) if before.bytes.starts_with(&after.bytes) => {
                let (had, has) = (before.length, after.length);
                format!("`{name}` has kept {has} of {had} bytes")
            }
            (Some(before), Some(after)) => {
                let pairs = before.bytes.iter().zip(&after.bytes);
                let same = pairs.take_while(|(one, other)| one == other).count();
                let (had, has) = (before.length, after.length);
                format!("`{name}` had {had} bytes, has {has}, and differs from byte {same} on")
            }
        };
        Some((path, text))
    };
    before.into_iter().filter_map(one).collect()
}
