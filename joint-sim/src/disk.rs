//! [`Disk`]: the files of a machine, and what of them survives when its power is cut.
//!
//! # The model
//! It is a file system with a journal, as ext4 with `data=ordered` or XFS, whose blocks have the
//! size of a sector. A power cut shows what such a file system can show:
//!
//! * **Names** are in the journal, in the order in which they changed. At a power cut the first few
//!   changes are on the disk, wherever the files are. The sync of a folder writes the journal up to
//!   the last change in that folder. The sync of a file writes no names: those of ext4 do, and
//!   POSIX does not promise it.
//! * **Lengths** that were set are in the journal, too: those of one file keep their order. Between
//!   files, and between a file and the names, there is no order, because Btrfs keeps none.
//! * **Bytes** are in memory, and each sector is written by itself. So the sectors of a file are in
//!   any order, but each of them is as it was at one time: a later write to a sector never gets to
//!   the disk without an earlier one. A write makes the file longer once it gets there.
//! * A file that is cut off gives up its sectors, and new ones are written in other places. Until
//!   the new length is in the journal, the old sectors are the file. So what is written behind the
//!   new length never appears in a file that still has its old length. The same holds for what is
//!   written behind the end of a file that is being made longer.
//! * A sync that fails has written some sectors and forgets the others, while lengths stay in the
//!   journal.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    iter, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::chance::{About, Chance};

/// What a disk writes as a whole or not at all, in bytes.
const SECTOR: u64 = 512;

/// The length of the longest file, that of ext4.
const LONGEST: u64 = (1 << 44) - (1 << 12);

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

    /// Returns the names that have changed, and not got to the disk for sure.
    pub(super) fn unsynced_names(&self) -> impl Iterator<Item = &PathBuf> {
        let names = self.changes.iter().flat_map(|change| &change.0);
        names.map(|(name, _)| name)
    }

    /// Returns the files that have changed, and not got to the disk for sure.
    pub(super) fn unsynced_files(&self) -> impl Iterator<Item = &PathBuf> {
        let names = self.names.iter();
        let changed = names.filter(|(_, inode)| inode.content().is_unsynced());
        changed.map(|(name, _)| name)
    }

    /// Writes the names of a folder to the disk, and all that changed before them.
    pub(super) fn sync(&mut self, folder: &Path) {
        let last = self.changes.iter().rposition(|one| one.is_in(folder));
        let written = self.changes.drain(..last.map_or(0, |last| last + 1));
        written.for_each(|change| change.apply(&mut self.kept));
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

/// The bytes of a file. A sector that was never written is not kept, and reads as 0.
#[derive(Clone, Default, PartialEq)]
struct Bytes {
    length: u64,
    sectors: BTreeMap<u64, [u8; SECTOR as usize]>,
}

impl Bytes {
    fn read(&self, at: u64, buffer: &mut [u8]) {
        let mut rest = buffer;
        for (at, length) in sectors(at, rest.len()) {
            let (part, behind) = rest.split_at_mut(length);
            let from = (at % SECTOR) as usize;
            match self.sectors.get(&(at / SECTOR)) {
                Some(sector) => part.copy_from_slice(&sector[from..from + length]),
                None => part.fill(0),
            }
            rest = behind;
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Length(length) => self.set_len(*length),
            Change::Write(at, bytes) => {
                let mut rest = &bytes[..];
                for (at, length) in sectors(*at, bytes.len()) {
                    let (part, behind) = rest.split_at(length);
                    let from = (at % SECTOR) as usize;
                    let sector = self.sectors.entry(at / SECTOR);
                    let sector = sector.or_insert([0; SECTOR as usize]);
                    sector[from..from + length].copy_from_slice(part);
                    rest = behind;
                }
                self.length = self.length.max(at + bytes.len() as u64);
            }
        }
    }

    fn set_len(&mut self, length: u64) {
        self.length = length;
        drop(self.sectors.split_off(&length.div_ceil(SECTOR)));
        if let Some(last) = self.sectors.get_mut(&(length / SECTOR)) {
            last[(length % SECTOR) as usize..].fill(0);
        }
    }
}

/// Divides bytes into what lies in each sector: the offsets and the lengths.
fn sectors(mut at: u64, count: usize) -> impl Iterator<Item = (u64, usize)> {
    let mut left = count as u64;
    iter::from_fn(move || {
        let length = (SECTOR - at % SECTOR).min(left);
        let part = (length > 0).then_some((at, length as usize));
        (at, left) = (at + length, left - length);
        part
    })
}

/// Returns an error if a file cannot have bytes there, as the system calls do.
pub(super) fn check(at: u64, count: usize) -> io::Result<()> {
    let end = at.checked_add(count as u64);
    match end.is_some_and(|end| i64::try_from(end).is_ok()) {
        true => Ok(()),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

#[derive(Default)]
pub(super) struct Content {
    bytes: Bytes,
    /// The bytes that are on the disk.
    kept: Bytes,
    /// What leads from those to these.
    changes: Vec<Change>,
}

enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Change {
    /// Divides a write into what lies in each sector.
    fn parts(self) -> Vec<Self> {
        let Self::Write(start, bytes) = &self else {
            return Vec::from([self]);
        };
        let part = |(at, length): (u64, usize)| {
            let from = (at - start) as usize;
            Self::Write(at, bytes[from..from + length].to_vec())
        };
        sectors(*start, bytes.len()).map(part).collect()
    }
}

impl Content {
    pub(super) fn length(&self) -> u64 {
        self.bytes.length
    }

    /// Returns how many of so many bytes there are from an offset on.
    pub(super) fn left(&self, at: u64, bytes: usize) -> usize {
        let left = self.bytes.length.saturating_sub(at);
        usize::try_from(left).map_or(bytes, |left| left.min(bytes))
    }

    /// Reads bytes that there are.
    pub(super) fn read(&self, at: u64, buffer: &mut [u8]) {
        self.bytes.read(at, buffer);
    }

    /// Writes bytes, of which there are some, as far as the file can have them.
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let room = LONGEST.saturating_sub(at);
        if room == 0 {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let count = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        self.change(Change::Write(at, bytes[..count].to_vec()));
        Ok(count)
    }

    pub(super) fn set_len(&mut self, length: u64) -> io::Result<()> {
        check(length, 0)?;
        if length > LONGEST {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.change(Change::Length(length));
        Ok(())
    }

    fn change(&mut self, change: Change) {
        self.bytes.apply(&change);
        self.changes.push(change);
    }

    pub(super) fn sync(&mut self) {
        let changes = self.changes.drain(..);
        changes.for_each(|change| self.kept.apply(&change));
    }

    /// A sync that has failed leaves no changes, but bytes that are not on the disk.
    fn is_unsynced(&self) -> bool {
        !self.changes.is_empty() || self.bytes != self.kept
    }

    /// Decides which changes get to the disk, after a sync that has failed. Programs see them as
    /// before, and the next sync does not write them again, but for the lengths.
    pub(super) fn fail_to_sync(&mut self, chance: &mut Chance) {
        let changes = mem::take(&mut self.changes);
        let parts: Vec<_> = changes.into_iter().flat_map(Change::parts).collect();
        let arrives = arrives(parts.len(), chance);
        // The sectors that an earlier change has not got to, and those from this one on.
        let (mut stale, mut all_from) = (BTreeSet::new(), u64::MAX);
        for (part, arrives) in parts.into_iter().zip(arrives) {
            match &part {
                Change::Length(length) if arrives && self.changes.is_empty() => {
                    drop(stale.split_off(&length.div_ceil(SECTOR)));
                    self.kept.apply(&part);
                }
                Change::Length(length) => {
                    all_from = all_from.min(self.kept.length.min(*length) / SECTOR);
                    self.changes.push(part);
                }
                Change::Write(at, _) => {
                    let sector = at / SECTOR;
                    match arrives && sector < all_from && !stale.contains(&sector) {
                        true => self.kept.apply(&part),
                        false => _ = stale.insert(sector),
                    }
                }
            }
        }
    }

    /// Loses a part of what is not on the disk. Returns whether that was anything.
    fn lose(&mut self, chance: &mut Chance) -> bool {
        self.fail_to_sync(chance);
        self.changes.clear();
        let has_lost = self.bytes != self.kept;
        self.bytes.clone_from(&self.kept);
        has_lost
    }
}

/// Decides which of so many parts get to the disk: all, those up to one, or any of them.
fn arrives(parts: usize, chance: &mut Chance) -> Vec<bool> {
    let mut arrives = vec![true; parts];
    if parts == 0 {
        return arrives;
    }
    match chance.below(About::Disk, 3) {
        0 => {}
        1 => {
            let lost = 1 + chance.below(About::Disk, parts);
            arrives[parts - lost..].fill(false);
        }
        _ => arrives.fill_with(|| chance.below(About::Disk, 2) == 0),
    }
    arrives
}
