//! Files and TCP on Linux's io_uring, for tasks of [`joint_executor`]. On every other system this
//! package is empty.
//!
//! With io_uring the kernel works while the task waits. A read of a file takes no thread that
//! blocks in it, unlike [`spawn_blocking`], and a read of a socket is asked for once, instead of
//! when the socket is ready.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! use joint_executor::{block_on, spawn_blocking};
//! use joint_ring::{File, Ring};
//!
//! let read = async |path: &'static str| match Ring::new() {
//!     Ok(_) => {
//!         let file = File::open(path).await?;
//!         let (count, buffer) = file.read_at(Vec::with_capacity(4_096), 0).await;
//!         count.map(|_| buffer)
//!     }
//!     // io_uring is forbidden in many containers.
//!     Err(_) => spawn_blocking(move || std::fs::read(path)).await,
//! };
//! assert!(block_on(read("Cargo.toml"))?.starts_with(b"[package]"));
//! # Ok(())
//! # }
//! ```
//!
//! # Buffers
//! An operation takes its [buffer](Buffer) and returns it with the result, because the kernel uses
//! the buffer even if the future is dropped. A read fills all memory of the buffer, from the start:
//! that of a `Vec` is its capacity, so a new `Vec` without a capacity reads nothing.
//!
//! # Dropping an operation
//! The buffer, the descriptor and everything else that the kernel may touch lie in one block on the
//! heap. Its word, a [`Completion`](joint::Completion), decides who frees it: the kernel's answer
//! makes one exchange, and a future that is dropped makes the other one. Dropping a future
//! therefore never waits, and the block is freed when the kernel is done with it.
//!
//! What the kernel gives for an accept or for a read of a socket exists once, so these operations
//! belong to the socket: a future that is dropped, such as the other branch of a `select`, leaves
//! its operation to the next call. Every other operation is cancelled as far as that is possible.
//!
//! | dropped | what becomes of it |
//! |---|---|
//! | [`accept`](TcpListener::accept) | kept: the next call returns the connection. It is closed if the listener is dropped first |
//! | [`read`](TcpStream::read) of a stream | kept: the next call returns the bytes. The stream keeps the buffer until then |
//! | [`connect`](TcpStream::connect) | the connection is closed |
//! | [`write`](TcpStream::write), `write_all` | lost: how many of the bytes were sent. The stream is of use only if its protocol can go on from there |
//! | [`open`](File::open), [`create`](File::create) | the file is closed. It may have been created, or made empty |
//! | [`read_at`](File::read_at) | nothing is lost: the bytes can be read again |
//! | [`write_at`](File::write_at), `write_all_at` | lost: whether and how far the file was written. The same write can be done again |
//! | [`sync_all`](File::sync_all), `sync_data` | lost: whether that was done. It can be done again |
//!
//! # Rings, threads and executors
//! Each thread that starts an operation has a [ring](Ring) of its own, which takes no lock. An
//! accept and a read of a stream also take the lock of their socket twice, for a few instructions.
//! An operation is started by its first poll, on the ring of that thread. Afterwards its task may
//! move to any other thread.
//!
//! While several tasks of a thread start operations, a new one is queued at its first poll, and
//! wakes its task. The kernel gets it when it, or any other operation of that ring, is polled again
//! or dropped. So one system call starts the operations of all tasks that were due at once. To see
//! whether there are several, one of 17 operations is queued where a task is alone.
//!
//! The answers of a ring are taken by its thread right after it has asked, which wakes no other
//! thread. Later ones are taken by the executor that the thread is in when the ring is made (or
//! else the global one): by a worker that finds in the executor's reactor that there are answers.
//! That is also a worker whose poll blocks.
//!
//! If a thread ends, the operations that it has started and that are not done fail with
//! `ECANCELED`. So do those of a ring whose executor ends. The thread, or the executor, waits until
//! the kernel has given back the memory, which can take as long as a disk does.
//!
//! The kernel may also refuse a request to a ring that it has made, for example because a filter of
//! system calls was installed later. Every operation that it has not begun then fails with its
//! error, and returns the buffer. What it has begun goes on, also after the end of the thread or of
//! the executor if the kernel refuses to cancel. Then nothing waits for it.
//!
//! In each of these cases the thread's next operation makes a new ring, if it can.
//!
//! In the child of a `fork`, do not use a ring of the parent, which both would share. A child that
//! exits leaves the parent's operations alone.
//!
//! # Fairness
//! What the kernel does at once, such as a read of a file that is in memory, takes time of the
//! worker. It takes 16 from the task's [budget](joint::budget) of 128, and one more for each 4 KiB.
//! If nothing is left of it, other tasks run first: after 8 reads of 4 KiB, or one of 1 MiB.
//!
//! # Cost
//! An operation takes one system call, or shares one with others. Dropping one that is under way
//! takes another one, unless it is kept. The kernel's answer takes one atomic read-modify-write of
//! its block's word, and the waiter another one if it has to wait. Asking the kernel takes two more
//! of a word of the ring, and taking answers two, for all of them together. An operation is one
//! allocation. It also counts its descriptor, and its ring if it has to wait.
//!
//! # Safety of your buffers
//! [`Buffer`] and [`BufferMut`] are unsafe to implement, because the kernel follows their pointers.
//! Everything else here is safe to use.
//!
//! [`spawn_blocking`]: https://docs.rs/joint-executor/latest/joint_executor/fn.spawn_blocking.html
#![cfg(target_os = "linux")]

#[cfg_attr(not(joint_loom), allow(unreachable_pub, reason = "only models see it"))]
mod bell;
mod block;
mod buffer;
mod file;
#[cfg_attr(not(joint_loom), allow(unreachable_pub, reason = "only models see it"))]
mod gate;
mod input;
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model;
mod operation;
mod queues;
mod ring;
mod server;
mod tcp;
mod transfer;
mod turns;

pub use self::{
    buffer::{Buffer, BufferMut},
    file::File,
    ring::Ring,
    tcp::{TcpListener, TcpStream},
};
