//! A lock-free join between a task and its waiter, and the task that carries it.
//!
//! A task finishes on one thread while another thread starts to wait for it. [`Completion`] settles
//! that race with one atomic word, which each side exchanges once. There is no lock, and no state
//! in which one side waits for the other. A channel and a task are built on that word:
//!
//! | module | purpose |
//! |---|---|
//! | [`completion`] | the word itself: two sides that borrow it, or raw operations for types that embed it |
//! | [`waker`] | [`ThinWaker`](waker::ThinWaker), a waker in one word |
//! | [`oneshot`] | one value from one thread to another; the receiver awaits it or blocks, with or without a deadline |
//! | [`task`] | [`Runnable`](task::Runnable) and [`JoinHandle`], for authors of executors |
//! | [`park`] | [`block_on`], by which a thread waits for any future, and the rule by which it goes to sleep |
//! | [`host`] | what the owner of a thread supplies: how it waits, what time it is, who hears of panics |
//! | [`budget`] | how much one poll may do before it has to yield |
//!
//! The last three need the feature `std`.
//!
//! This package is for authors of executors and of synchronization. Applications use the package
//! `joint-executor`, a work-stealing executor that is built on this one and re-exports what its
//! users need of it.
//!
//! # Examples
//! A read into a buffer that a device fills. The device, here a thread, must be able to write to
//! the buffer until it answers, even if the reader has given up. So the buffer lies in a block
//! beside a word, and the side whose exchange comes last frees the block.
//! ```
//! # #[cfg(feature = "std")] {
//! use joint::completion::{Completed, Completion, Detached, Registration};
//! use std::{cell::UnsafeCell, pin::Pin, ptr::NonNull, task::{Context, Poll}, thread};
//!
//! struct Block {
//!     word: Completion,
//!     /// The device's until it completes the word, and the reader's after that.
//!     buffer: UnsafeCell<[u8; 512]>,
//! }
//!
//! struct Device(NonNull<Block>);
//! // SAFETY: the device is one side of the block, which may be on any thread.
//! unsafe impl Send for Device {}
//!
//! impl Device {
//!     fn answer(self) {
//!         let block = self.0.as_ptr();
//!         // SAFETY: the word is not completed, so the buffer is ours and the block is alive.
//!         unsafe { (*block).buffer.get().write([7; 512]) };
//!         // SAFETY: the block is alive until this exchange, the only one of the device.
//!         match unsafe { Completion::raw_complete(&raw const (*block).word) } {
//!             // The block is the reader's from here on.
//!             Completed::Unobserved => {}
//!             Completed::Wake(reader) => reader.wake(),
//!             // SAFETY: the reader has given the block up.
//!             Completed::Detached => drop(unsafe { Box::from_raw(block) }),
//!         }
//!     }
//! }
//!
//! struct Read(NonNull<Block>, Registration);
//! // SAFETY: the read is the other side of the block.
//! unsafe impl Send for Read {}
//!
//! impl Future for Read {
//!     type Output = [u8; 512];
//!
//!     fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
//!         let block = self.0.as_ptr();
//!         // SAFETY: the reader has not detached, so the block is alive.
//!         unsafe { Completion::raw_poll(&raw const (*block).word, cx.waker(), &mut self.1) }
//!             // SAFETY: the word is completed, so the buffer is ours.
//!             .map(|_| unsafe { (*block).buffer.get().read() })
//!     }
//! }
//!
//! impl Drop for Read {
//!     fn drop(&mut self) {
//!         let block = self.0.as_ptr();
//!         // SAFETY: the block is alive until this exchange, the last one of the reader.
//!         match unsafe { Completion::raw_detach(&raw const (*block).word) } {
//!             // The block is the device's, which frees it when it is done with the buffer.
//!             Detached::Pending(own_waker) => drop(own_waker),
//!             // SAFETY: the device is done with the block.
//!             Detached::Finished(_) => drop(unsafe { Box::from_raw(block) }),
//!         }
//!     }
//! }
//!
//! fn read() -> Read {
//!     let (word, buffer) = (Completion::new(), UnsafeCell::new([0; 512]));
//!     let block = NonNull::from(Box::leak(Box::new(Block { word, buffer })));
//!     let device = Device(block);
//!     thread::spawn(|| device.answer());
//!     Read(block, Registration::new())
//! }
//!
//! assert_eq!(joint::block_on(read()), [7; 512]);
//! drop(read());
//! # }
//! ```
//!
//! [`JoinHandle`] has a task that finishes on one thread while another waits for it. The
//! documentation of [`task`] has an executor in ten lines, and names larger ones.
//!
//! # Waiting
//! Two types can be waited on. A call that blocks the thread says so in its name, and needs the
//! feature `std`. Every other call is either awaited or returns at once.
//!
//! | | [`Waiter`] | [`oneshot::Receiver`] |
//! |---|---|---|
//! | await | `waiter.await` | `receiver.await` |
//! | check | `is_finished` | `is_finished`, `has_message`, `try_recv` |
//! | block | `blocking_wait` | `blocking_recv` |
//! | block for a time | `blocking_wait_timeout` | `blocking_recv_timeout` |
//! | block until a time | `blocking_wait_deadline` | `blocking_recv_deadline` |
//!
//! One value for many waiters is in the package `joint-flow`.
//!
//! A [`JoinHandle`] is awaited, or passed to [`block_on`]. Dropping it **cancels** its task, unlike
//! in std and tokio: to let the task run on, [`detach`](JoinHandle::detach) it.
//!
//! # In your own models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, the crate runs on [loom](https://docs.rs/loom): its
//! atomics, cells, memory and parked threads take part in `loom::model`. An executor of your own on
//! [`task`], or a structure on [`Completion`], can therefore be model-checked as it is. Use the
//! crate's types only inside a model then, together with loom's threads and locks. In a model of
//! `joint-lab` they record what they do, so a failure has a name and a picture. The page
//! `docs/your-models.md` in the repository has a crate to copy, and two more tools.
//!
//! loom's atomics have no `const` constructors, and each run of a model needs new ones. So a
//! `static`, such as an event or a [`TaskPool`](task::TaskPool), is declared twice:
//! ```
//! use joint::Completion;
//!
//! #[cfg(not(joint_loom))]
//! static EVENT: Completion = Completion::new();
//! #[cfg(joint_loom)]
//! loom::lazy_static! { static ref EVENT: Completion = Completion::new(); }
//!
//! let event: &'static Completion = &EVENT; // in both
//! ```
//!
//! # Features
//! `std`, on by default: `block_on` and every blocking wait, the modules `park`, `host` and
//! `budget`, tasks that stay on their thread, and panics of tasks as results. Without it a panic in
//! a task ends the program. It enables `alloc`.
//!
//! `alloc`: [`oneshot`], tasks on the heap, and waiters with wakers of other crates.
//! Without it the crate needs no allocator. Tasks are then made in [memory of your
//! own](task#without-an-allocator), and a task or a [`Waiter`] can be awaited only by tasks of this
//! crate, because there is no memory for another waker but that of a
//! [`WakerSlot`](completion::WakerSlot). Polling with one panics.
//!
//! `futures-core`: the trait `FusedFuture` for what is awaited.
//!
//! `portable-atomic`: for machines without a compare-exchange, such as thumbv6m. The atomics are
//! then those of the crate [portable-atomic](https://docs.rs/portable-atomic), which needs to be
//! told how: by its own feature `critical-section`, or its cfg
//! `portable_atomic_unsafe_assume_single_core`.
//!
//! A machine with atomics of 32 bits and none of 64 needs no feature. [`task`] has a lower [limit
//! of wakers](task#limits) there.
//!
//! The tests have been run on Linux (x86_64 with glibc and with musl, i686, and in QEMU aarch64,
//! armv7, riscv64 and s390x), in Wine, and on WASI in node. An example runs on a Cortex-M4 in QEMU.

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "std"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "half of the items are missing"
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[macro_use]
mod macros;

#[cfg(feature = "std")]
pub mod budget;
pub mod completion;
mod guard;
#[cfg(feature = "std")]
pub mod host;
#[cfg(feature = "alloc")]
pub mod oneshot;
#[cfg(feature = "std")]
pub mod park;
pub mod task;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::park::block_on;
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
