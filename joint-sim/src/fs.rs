//! The disks of simulated hosts.
//!
//! Each [`Host`](super::Host) has a disk, which survives when the host is killed. Its functions are
//! named as those of the standard library. They are asynchronous, as those of `joint-ring`:
//! `joint-executor` has no files, so a program that runs on both takes its files from a module of
//! its own.
//!
//! ```
//! use joint_sim::{self as sim, Host, fs::{self, File}};
//!
//! /// Replaces a file: after a power cut there is the old text or the new one.
//! async fn save(text: &str) -> std::io::Result<()> {
//!     let file = File::create("state.new").await?;
//!     file.write_all_at(text.as_bytes(), 0).await?;
//!     file.sync_all().await?;
//!     fs::rename("state.new", "state").await?;
//!     fs::sync_dir("").await
//! }
//!
//! for seed in 0..20 {
//!     sim::run(seed, async {
//!         let host = Host::new("a");
//!         host.run(|| async { save("hello").await.unwrap() });
//!         let _end = host.ended().await;
//!         host.cut_power();
//!         host.run(|| async { assert_eq!(fs::read("state").await.unwrap(), b"hello") });
//!         let _end = host.ended().await;
//!     });
//! }
//! ```
//!
//! # What is promised
//! It is what Linux file systems promise, and no more:
//!
//! * What is written can be read at once, and survives the end of the program
//!   ([`Host::kill_program`](super::Host::kill_program)).
//! * What was written before [`File::sync_all`] returned survives a power cut
//!   ([`Host::cut_power`](super::Host::cut_power)). Of what was written after that, any part may
//!   survive: nothing, some of the writes, some sectors of 512 bytes of a write, a length without
//!   the bytes, which then are 0.
//! * A sector that was written several times is as it was after one of these writes. A file that
//!   was cut off and written again has its old length and nothing of what was written behind the
//!   new one, or is cut off.
//! * That a file exists, was renamed or was removed survives once its folder was
//!   [synced](sync_dir), whether the file was or not. Of all folders together, the first few of
//!   these changes survive, in the order in which they were made, and at least those up to the last
//!   one that was synced. A rename happens as a whole or not at all, also to another folder, and
//!   the sync of either folder is enough.
//! * If a sync fails, some of what it should have written is on the disk and some is not. The next
//!   sync does not write those bytes again, as on Linux.
//!
//! Operations take a virtual time. One that is dropped before it is ready has happened or not.
//! [`Faults::disk_errors`](super::Faults::disk_errors) and
//! [`Faults::full_disks`](super::Faults::full_disks) make them fail.
//!
//! # Errors
//! Each operation can fail by a fault of the disk. It also fails with
//! [`Unsupported`](ErrorKind::Unsupported) outside of a simulation, with
//! [`NotConnected`](ErrorKind::NotConnected) for a file whose host was killed, and with
//! [`NotFound`](ErrorKind::NotFound) if it needs a file with a name that none has. A write that
//! would make a file longer fails with [`StorageFull`](ErrorKind::StorageFull) if the disk is full,
//! and one behind 16 TiB with [`FileTooLarge`](ErrorKind::FileTooLarge). Offsets that the system
//! has no number for are [`InvalidInput`](ErrorKind::InvalidInput).
//!
//! # What is not
//! Folders exist without being created, links and permissions do not exist, and paths are compared
//! as they are written, but for their parts `.`. Bytes do not rot on the disk.

use std::{
    fmt,
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    chance::About,
    disk::{self, Disk, Inode},
    disk_event::{DiskEvent, Op, digest_of},
    faults::Fault,
    machine::{Machine, Place},
    record::What,
    world::{self, World},
};
use joint_executor::time::sleep;

/// The longest times of operations, in nanoseconds.
const SHORT: usize = 100_000;
const LONG: usize = 10_000_000;

/// A file of the current host, open for reading and writing.
///
/// Dropping it syncs nothing. It is used on its host alone, and until that is killed.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, fs::File};
///
/// sim::run(1, async {
///     let file = File::create("log").await?;
///     file.write_all_at(b"hello", 0).await?;
///     file.sync_all().await?;
///     let mut buffer = [0; 8];
///     assert_eq!(File::open("log").await?.read_at(&mut buffer, 1).await?, 4);
///     assert_eq!(&buffer[..4], b"ello");
///     Ok::<(), std::io::Error>(())
/// }).unwrap();
/// ```
pub struct File {
    inode: Arc<Inode>,
    access: Access,
}

/// The host whose disk is used, and its start and run.
struct Access {
    place: Place,
    run: u64,
    path: Arc<Path>,
}

impl File {
    /// Creates a file, or empties the one that has this name.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = plain(path);
        Self::find(&path, Op::Create, |disk| match disk.find(&path) {
            Some(inode) => {
                inode.content().set_len(0)?;
                Ok(inode)
            }
            None => Ok(disk.create(path.clone())),
        })
        .await
    }

    /// Opens a file, for reading and writing.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = plain(path);
        Self::find(&path, Op::Open, |disk| found(disk, &path)).await
    }

    async fn find(
        path: &Path,
        op: Op,
        f: impl FnOnce(&mut Disk) -> io::Result<Arc<Inode>>,
    ) -> io::Result<Self> {
        let access = Access::here(path)?;
        let inode = access.attempt(op, SHORT, none, |_, disk| f(disk)).await?;
        Ok(Self { inode, access })
    }

    /// Reads bytes from an offset on. Returns how many were read, which may be fewer, and is 0 at
    /// the end.
    pub async fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = |world: &World, _: &mut Disk| {
            disk::check(offset, buffer.len())?;
            let content = self.inode.content();
            let count = content.left(offset, buffer.len());
            let count = world.part(About::Disk, count);
            content.read(offset, &mut buffer[..count]);
            Ok(count)
        };
        let (op, count) = (Op::Read(offset), |count: &usize| *count);
        self.access.attempt(op, SHORT, count, read).await
    }

    /// Writes bytes at an offset. Returns how many were written, which may be fewer.
    pub async fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let write = |world: &World, disk: &mut Disk| {
            disk::check(offset, bytes.len())?;
            if bytes.is_empty() {
                return Ok(0);
            }
            let mut content = self.inode.content();
            let end = offset + bytes.len() as u64;
            let room = match end > content.length() {
                true => world.room(disk, bytes.len()),
                false => bytes.len(),
            };
            match room {
                0 => Err(ErrorKind::StorageFull.into()),
                room => content.write(offset, &bytes[..world.part(About::Disk, room)]),
            }
        };
        let (op, count) = (Op::Write(offset, digest_of(bytes)), |count: &usize| *count);
        self.access.attempt(op, SHORT, count, write).await
    }

    /// Writes all bytes at an offset. If it fails, some of them may have been written.
    pub async fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write_at(bytes, offset).await?;
            bytes = &bytes[count..];
            offset += count as u64;
        }
        Ok(())
    }

    /// Returns the length in bytes.
    pub async fn len(&self) -> io::Result<u64> {
        let length = |_: &World, _: &mut Disk| Ok(self.inode.content().length());
        self.access.attempt(Op::Length, SHORT, none, length).await
    }

    /// Returns whether it has no bytes.
    pub async fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len().await? == 0)
    }

    /// Cuts the file off, or lengthens it by bytes that are 0.
    pub async fn set_len(&self, length: u64) -> io::Result<()> {
        let set = |_: &World, _: &mut Disk| self.inode.content().set_len(length);
        let op = Op::SetLength(length);
        self.access.attempt(op, SHORT, none, set).await
    }

    /// Writes to the disk what the file has, so that it survives a power cut. Its name needs
    /// [`sync_dir`].
    ///
    /// # Errors
    /// After an error, what was written since the last sync may be lost at a power cut, even if a
    /// later sync succeeds: write it again.
    pub async fn sync_all(&self) -> io::Result<()> {
        let sync = |world: &World, _: &mut Disk, fails| {
            let mut content = self.inode.content();
            match fails {
                false => content.sync(),
                true => content.fail_to_sync(&mut world.chance()),
            }
            if fails { Err(fault()) } else { Ok(()) }
        };
        self.access.operate(Op::Sync, LONG, none, sync).await
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").finish_non_exhaustive()
    }
}

/// Reads a whole file.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = File::open(path).await?;
    let length = usize::try_from(file.len().await?).map_err(|_| ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    let mut count = 0;
    while count < length {
        match file.read_at(&mut bytes[count..], count as u64).await? {
            0 => break,
            read => count += read,
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}

/// Gives a file another name, in place of a file that has this name.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (plain(from), plain(to));
    let op = Op::Rename(to.clone());
    change(&from.clone(), op, |disk| {
        let inode = found(disk, &from)?;
        if from != to {
            disk.change(Vec::from([(from, None), (to, Some(inode))]));
        }
        Ok(())
    })
    .await
}

/// Removes a file. Whoever has it open keeps it.
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = plain(path);
    change(&path.clone(), Op::Remove, |disk| {
        found(disk, &path)?;
        disk.change(Vec::from([(path, None)]));
        Ok(())
    })
    .await
}

/// Returns the paths of the files in a folder, in their order. The folder of a path of one part is
/// the empty path.
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let path = plain(path);
    change(&path, Op::List, |disk| Ok(disk.list(&path))).await
}

/// Writes to the disk which files a folder has, as a sync of the opened folder does.
///
/// # Errors
/// Nothing has been written then.
pub async fn sync_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let sync = |_: &World, disk: &mut Disk| {
        disk.sync(&plain(&path));
        Ok(())
    };
    let access = Access::here(path.as_ref())?;
    access.attempt(Op::SyncFolder, LONG, none, sync).await
}

async fn change<R>(
    path: &Path,
    op: Op,
    f: impl FnOnce(&mut Disk) -> io::Result<R>,
) -> io::Result<R> {
    let access = Access::here(path)?;
    access.attempt(op, SHORT, none, |_, disk| f(disk)).await
}

/// Returns a path without the parts `.` of it.
fn plain(path: impl AsRef<Path>) -> PathBuf {
    let parts = path.as_ref().components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

fn found(disk: &Disk, path: &Path) -> io::Result<Arc<Inode>> {
    let none = || io::Error::new(ErrorKind::NotFound, "there is no file with this name");
    disk.find(path).ok_or_else(none)
}

fn fault() -> io::Error {
    io::Error::other("the disk has failed, as the simulation's faults have asked for")
}

impl Access {
    /// Returns the host of the calling code, for a file or a folder of its disk.
    fn here(path: &Path) -> io::Result<Self> {
        let here = |world: &World| Self {
            place: world.place(),
            run: world.number(),
            path: path.into(),
        };
        world::with(|world| world.map(here).ok_or_else(outside))
    }

    fn with<R>(&self, f: impl FnOnce(&World, &mut Machine) -> io::Result<R>) -> io::Result<R> {
        world::with_own(self.run, |world| {
            let world = world.ok_or_else(outside)?;
            world.machines(|machines| {
                let machine = &mut machines.all[self.place.host];
                if machine.start != self.place.start {
                    let message = "the host of this file was killed";
                    return Err(io::Error::new(ErrorKind::NotConnected, message));
                }
                f(world, machine)
            })
        })
    }

    /// Does an operation, which learns whether it is to fail. It takes a time, and is done at the
    /// beginning of it or at its end. `count` tells how many bytes it has read or written.
    async fn operate<R>(
        &self,
        op: Op,
        longest: usize,
        count: fn(&R) -> usize,
        f: impl FnOnce(&World, &mut Disk, bool) -> io::Result<R>,
    ) -> io::Result<R> {
        let f = |world: &World, machine: &mut Machine| {
            let fails = world.strikes(About::Disk, Fault::DiskError, world.acting());
            let done = f(world, &mut machine.disk, fails);
            let event = DiskEvent {
                op,
                path: self.path.clone(),
                host: machine.name.clone(),
                bytes: done.as_ref().map_or(0, count),
                error: done.as_ref().err().map(io::Error::kind),
            };
            world.note(world.acting(), What::Disk(Arc::new(event)));
            done
        };
        world::let_others_go_on();
        let (nanos, is_early) = self.with(|world, _| {
            let mut chance = world.chance();
            let nanos = chance.below(About::Disk, longest + 1);
            Ok((nanos as u64, chance.below(About::Disk, 2) == 1))
        })?;
        let passes = sleep(Duration::from_nanos(nanos));
        if is_early {
            let done = self.with(f);
            passes.await;
            return done;
        }
        passes.await;
        self.with(f)
    }

    /// Does an operation, unless a fault of the disk strikes it.
    async fn attempt<R>(
        &self,
        op: Op,
        longest: usize,
        count: fn(&R) -> usize,
        f: impl FnOnce(&World, &mut Disk) -> io::Result<R>,
    ) -> io::Result<R> {
        let attempt = |world: &World, disk: &mut Disk, fails| match fails {
            false => f(world, disk),
            true => Err(fault()),
        };
        self.operate(op, longest, count, attempt).await
    }
}

/// Counts the bytes of an operation that reads and writes none.
fn none<R>(_: &R) -> usize {
    0
}

fn outside() -> io::Error {
    let message = "a file of `joint_sim::fs` can be used only inside its simulation";
    io::Error::new(ErrorKind::Unsupported, message)
}
