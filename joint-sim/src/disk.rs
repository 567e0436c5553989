//! [`Disk`]: the files of a machine, and what of them survives when its power is cut.
//!
//! A file has the bytes that programs read, and those that are on the disk. What lies between is a
//! list of changes, in the order in which they were made. The names of files are kept likewise.

use std::{
    collections::BTreeMap,
    iter, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::chance::{About, Chance};

/// What a disk writes as a whole or not at all, in bytes.
const SECTOR: u64 = 512;

type Names = BTreeMap<PathBuf, Arc<Inode>>;

#[derive(Default)]
pub(super) struct Disk {
    names: Names,
    /// The names that are on the disk.
    kept: Names,
    /// What leads from those to these.
    changes: Vec<Renaming>,
    /// The time until which there is no room, in nanoseconds of the clock.
    pub(super) full_until: u64,
}

/// Names that change together, with what they stand for from now on.
struct Renaming(Vec<(PathBuf, Option<Arc<Inode>>)>);

impl Renaming {
    fn apply(self, names: &mut Names) {
        for (name, inode) in self.0 {
            match inode {
                Some(inode) => names.insert(name, inode),
                None => names.remove(&name),
            };
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let in_folder = |name: &Path| name.parent().unwrap_or(name) == folder;
        self.0.iter().any(|(name, _)| in_folder(name))
    }
}

impl Disk {
    pub(super) fn find(&self, name: &Path) -> Option<Arc<Inode>> {
        self.names.get(name).cloned()
    }

    pub(super) fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let own = self.names.keys();
        own.filter(|name| name.parent() == Some(folder))
            .cloned()
            .collect()
    }

    pub(super) fn create(&mut self, name: PathBuf) -> Arc<Inode> {
        let inode = Arc::new(Inode::default());
        self.change(Vec::from([(name, Some(inode.clone()))]));
        inode
    }

    pub(super) fn change(&mut self, names: Vec<(PathBuf, Option<Arc<Inode>>)>) {
        Renaming(names.clone()).apply(&mut self.names);
        self.changes.push(Renaming(names));
    }

    /// Writes the names of a folder to the disk.
    pub(super) fn sync(&mut self, folder: &Path) {
        for change in mem::take(&mut self.changes) {
            match change.is_in(folder) {
                true => change.apply(&mut self.kept),
                false => self.changes.push(change),
            }
        }
    }

    /// Loses a part of what is not on the disk. Returns whether that was anything.
    pub(super) fn lose(&mut self, chance: &mut Chance) -> bool {
        let changes = mem::take(&mut self.changes);
        let all = changes.len();
        let lost = match all {
            0 => 0,
            all => chance.below(About::Disk, all + 1),
        };
        let remaining = changes.into_iter().take(all - lost);
        remaining.for_each(|change| change.apply(&mut self.kept));
        self.names = self.kept.clone();
        let mut has_lost = lost > 0;
        for inode in self.names.values() {
            has_lost |= inode.content().lose(chance);
        }
        self.full_until = 0;
        has_lost
    }
}

/// A file, whatever its name is.
#[derive(Default)]
pub(super) struct Inode(Mutex<Content>);

impl Inode {
    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The bytes that are on the disk.
    kept: Vec<u8>,
    /// What leads from those to these.
    changes: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Length(length) => to.resize(*length as usize, 0),
            Self::Write(at, bytes) => {
                let (start, end) = (*at as usize, *at as usize + bytes.len());
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[start..end].copy_from_slice(bytes);
            }
        }
    }

    /// Divides a write into what lies in each sector.
    fn parts(&self) -> Vec<Self> {
        let Self::Write(at, bytes) = self else {
            return Vec::from([self.clone()]);
        };
        let (mut at, mut rest) = (*at, &bytes[..]);
        let part = iter::from_fn(|| {
            let length = (SECTOR - at % SECTOR).min(rest.len() as u64);
            let (part, behind) = rest.split_at(length as usize);
            let part = (length > 0).then(|| Self::Write(at, part.to_vec()));
            (at, rest) = (at + length, behind);
            part
        });
        part.collect()
    }
}

impl Content {
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        self.change(Change::Write(at, bytes.to_vec()));
    }

    pub(super) fn set_len(&mut self, length: u64) {
        self.change(Change::Length(length));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.bytes);
        self.changes.push(change);
    }

    pub(super) fn sync(&mut self) {
        let changes = self.changes.drain(..);
        changes.for_each(|change| change.apply(&mut self.kept));
    }

    /// Decides which changes get to the disk, after a sync that has failed. Programs see them as
    /// before, and the next sync does not write them again.
    pub(super) fn fail_to_sync(&mut self, chance: &mut Chance) {
        let parts: Vec<_> = self.changes.drain(..).flat_map(|one| one.parts()).collect();
        for part in Self::remaining(parts, chance) {
            part.apply(&mut self.kept);
        }
    }

    /// Loses a part of what is not on the disk. Returns whether that was anything.
    fn lose(&mut self, chance: &mut Chance) -> bool {
        self.fail_to_sync(chance);
        let has_lost = self.bytes != self.kept;
        self.bytes.clone_from(&self.kept);
        has_lost
    }

    /// Decides which parts get to the disk: all, those up to one, or any of them.
    fn remaining(mut parts: Vec<Change>, chance: &mut Chance) -> Vec<Change> {
        if parts.is_empty() {
            return parts;
        }
        match chance.below(About::Disk, 3) {
            0 => {}
            1 => {
                let lost = 1 + chance.below(About::Disk, parts.len());
                parts.truncate(parts.len() - lost);
            }
            _ => parts.retain(|_| chance.below(About::Disk, 2) == 0),
        }
        parts
    }
}
