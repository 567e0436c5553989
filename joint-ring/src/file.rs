//! [`File`]: a file that the kernel reads and writes while the task does something else.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::Arc,
};

use io_uring::{
    opcode,
    squeue::Entry,
    types::{Fd, FsyncFlags},
};

use crate::{
    block::Data,
    buffer::{Buffer, BufferMut},
    ring::started,
    transfer::{self, Place},
};

/// A file.
///
/// It wraps a file of the standard library, which has everything that does not take long
/// ([`get_ref`](File::get_ref)), and which is opened by the [options](std::fs::OpenOptions) that
/// the caller likes. Several operations may be under way at once, in any order.
///
/// # Errors
/// Each operation can return the system's error, and those of [`Ring::new`](crate::Ring::new).
///
/// # Example
/// ```
/// use joint_ring::{File, Ring};
///
/// # fn main() -> std::io::Result<()> {
/// # if Ring::new().is_err() { return Ok(()) }
/// let path = std::env::temp_dir().join(format!("joint-ring-{}", std::process::id()));
/// joint_executor::block_on(async {
///     let file = File::create(&path).await?;
///     file.write_all_at("hello, kernel", 0).await.0?;
///     file.sync_all().await?;
///
///     let file = File::open(&path).await?;
///     let (result, buffer) = file.read_at(Vec::with_capacity(64), 7).await;
///     assert_eq!(result?, 6);
///     assert_eq!(buffer, b"kernel");
///     std::fs::remove_file(&path)
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct File(Arc<std::fs::File>);

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// `InvalidInput` if the path contains a zero byte.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        open(path.as_ref(), libc::O_RDONLY).await
    }

    /// Opens a file for reading and writing. Creates it if it does not exist, and otherwise makes
    /// it empty.
    ///
    /// # Errors
    /// As for [`open`](File::open).
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        open(path.as_ref(), flags).await
    }

    /// Reads once, from `offset` on, into all of the buffer's memory. Returns how many bytes were
    /// read, which is 0 at the end of the file and if the buffer has no memory.
    ///
    /// # Cancellation
    /// Dropping the future cancels the read if that is still possible. The kernel keeps the buffer
    /// until then, which is dropped after that.
    pub async fn read_at<B: BufferMut>(&self, buffer: B, offset: u64) -> (io::Result<usize>, B) {
        transfer::read(Place::File(self.0.clone(), offset), buffer).await
    }

    /// Writes once, at `offset`. Returns how many of the buffer's bytes were written.
    ///
    /// # Cancellation
    /// As for [`read_at`](File::read_at). The bytes may have been written or not.
    pub async fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> (io::Result<usize>, B) {
        transfer::write(Place::File(self.0.clone(), offset), buffer, 0).await
    }

    /// Writes all of the buffer's bytes, at `offset`.
    ///
    /// # Cancellation
    /// As for [`read_at`](File::read_at). Some of the bytes may have been written.
    ///
    /// # Errors
    /// Some of the bytes may have been written.
    pub async fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> (io::Result<()>, B) {
        transfer::write_all(Place::File(self.0.clone(), offset), buffer).await
    }

    /// Waits until the file's contents and metadata are on the device, as
    /// [`sync_all`](std::fs::File::sync_all) of the standard library does. It does not wait for
    /// writes that have not returned.
    pub async fn sync_all(&self) -> io::Result<()> {
        started(Sync(self.0.clone(), FsyncFlags::empty())).await
    }

    /// Does the same as [`sync_all`](File::sync_all) without the metadata that nobody needs to read
    /// the contents.
    pub async fn sync_data(&self) -> io::Result<()> {
        started(Sync(self.0.clone(), FsyncFlags::DATASYNC)).await
    }

    /// Returns the file of the standard library. Its methods block.
    pub fn get_ref(&self) -> &std::fs::File {
        &self.0
    }
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        Self(Arc::new(file))
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

async fn open(path: &Path, flags: libc::c_int) -> io::Result<File> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = flags | libc::O_CLOEXEC;
    started(Open { path, flags }).await
}

struct Open {
    path: CString,
    flags: libc::c_int,
}

// SAFETY: the path's text lies on the heap.
unsafe impl Data for Open {
    type Entry = Entry;
    type Output = io::Result<File>;

    fn entry(&mut self) -> Entry {
        opcode::OpenAt::new(Fd(libc::AT_FDCWD), self.path.as_ptr())
            .flags(self.flags)
            .mode(0o666)
            .build()
    }

    fn output(self, answer: io::Result<u32>) -> io::Result<File> {
        // SAFETY: the kernel has opened it for this operation.
        let file = |fd| unsafe { std::fs::File::from_raw_fd(fd as i32) };
        answer.map(|fd| file(fd).into())
    }
}

struct Sync(Arc<std::fs::File>, FsyncFlags);

// SAFETY: the entry has no pointer.
unsafe impl Data for Sync {
    type Entry = Entry;
    type Output = io::Result<()>;

    fn entry(&mut self) -> Entry {
        opcode::Fsync::new(Fd(self.0.as_raw_fd()))
            .flags(self.1)
            .build()
    }

    fn output(self, answer: io::Result<u32>) -> io::Result<()> {
        answer.map(drop)
    }
}
