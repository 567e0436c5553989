//! [`Queues`]: one io_uring, and the number of the requests that were put into it.
//!
//! The kernel may be entered from any thread. What is not shared are the ends of the two queues:
//! the ring's own thread fills one, and the ring's server empties the other.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use io_uring::{
    CompletionQueue, EnterFlags, IoUring,
    squeue::Entry,
    types::{CancelBuilder, SubmitArgs, Timespec},
};
use joint_switch::{AtomicUsize, order};

/// The requests that fit into the submission queue.
const REQUESTS: u32 = 256;
/// The answers that fit into the completion queue. The kernel keeps further ones until there is
/// room.
pub(crate) const ANSWERS: u32 = 4096;

pub(crate) struct Queues {
    uring: IoUring,
    /// The number of requests so far. Written by the ring's own thread.
    started: AtomicUsize,
    /// The number of answers so far. Written by the server.
    answered: AtomicUsize,
    /// Whether the ring's own thread is ending: 0 or 1.
    closing: AtomicUsize,
}

impl Queues {
    /// Asks the system for a ring with room for a number of answers.
    ///
    /// # Errors
    /// The system's error: `EINVAL` also if the kernel cannot cancel as this package needs it.
    pub(crate) fn new(answers: u32) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        let uring = builder.setup_cqsize(answers).build(REQUESTS.min(answers))?;
        let queues = Self {
            uring,
            started: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            closing: AtomicUsize::new(0),
        };
        match queues.cancel(CancelBuilder::any()) {
            // There is nothing yet that could be cancelled.
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(queues),
        }
    }

    /// Puts a request into the queue, and counts it. Returns false if there is no room. For the
    /// ring's own thread, which wakes the server after it has submitted the request.
    ///
    /// # Safety
    /// The caller is the ring's own thread. What the entry points to stays valid until the answer.
    pub(crate) unsafe fn push(&self, entry: &Entry) -> bool {
        // SAFETY: only the ring's own thread does this, and it calls nothing while this exists.
        let mut queue = unsafe { self.uring.submission_shared() };
        // SAFETY: passed on from the caller.
        let is_pushed = unsafe { queue.push(entry) }.is_ok();
        drop(queue);
        // ORDERING: count. Relaxed: only this thread writes it, and it is published to the server
        // by the wake-up that follows.
        let started = self.started().wrapping_add(usize::from(is_pushed));
        self.started.store(started, order!(count: Relaxed));
        is_pushed
    }

    /// Hands what has been pushed to the kernel. Returns the number of requests that it has taken.
    ///
    /// # Errors
    /// The system's error. The requests are still in the queue.
    pub(crate) fn submit(&self) -> io::Result<usize> {
        self.uring.submit()
    }

    /// Returns about how many requests have no answer yet.
    pub(crate) fn under_way(&self) -> usize {
        // ORDERING: answered_look. Relaxed: a hint.
        let answered = self.answered.load(order!(answered_look: Relaxed));
        self.started().wrapping_sub(answered)
    }

    /// Cancels requests, and does not wait for those that cannot be.
    ///
    /// # Errors
    /// The system's error, which says that there are none, or that some go on.
    pub(crate) fn cancel(&self, which: CancelBuilder) -> io::Result<()> {
        let submitter = self.uring.submitter();
        submitter.register_sync_cancel(Some(Timespec::new()), which)
    }

    /// Returns how many requests there were so far.
    pub(crate) fn started(&self) -> usize {
        // ORDERING: started. Relaxed: the ring's own thread wakes the server after each request, so
        // the run that follows sees it, by the edge of the wake-up. Others only show the number.
        self.started.load(order!(started: Relaxed))
    }

    /// Says that the ring's own thread is ending. The caller wakes the server.
    pub(crate) fn close(&self) {
        // ORDERING: close. Relaxed: published by the wake-up.
        self.closing.store(1, order!(close: Relaxed));
    }

    /// Returns whether the ring's own thread is ending.
    pub(crate) fn is_closing(&self) -> bool {
        // ORDERING: is_closing. Relaxed: as for `started`.
        self.closing.load(order!(is_closing: Relaxed)) != 0
    }

    /// # Safety
    /// The returned value is the only one of this ring.
    pub(crate) unsafe fn answers(&self) -> Answers<'_> {
        Answers {
            queues: self,
            // SAFETY: passed on from the caller.
            queue: unsafe { self.uring.completion_shared() },
            taken: 0,
        }
    }

    /// Enters the kernel without a request, until there is an answer, or for `nanoseconds` at most.
    fn wait(&self, at_least: u32, nanoseconds: u32) {
        let time = Timespec::new().nsec(nanoseconds);
        let args = SubmitArgs::new().timespec(&time);
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let submitter = self.uring.submitter();
        // SAFETY: the argument is that of this flag, and points to a time that is still there. An
        // error, such as that the time has passed, only ends the wait.
        let _ = unsafe { submitter.enter(0, at_least, flags.bits(), Some(&args)) };
    }
}

impl AsFd for Queues {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is closed when `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(self.uring.as_raw_fd()) }
    }
}

/// The right to take a ring's answers.
pub(crate) struct Answers<'a> {
    queues: &'a Queues,
    queue: CompletionQueue<'a>,
    /// How many there were so far.
    taken: usize,
}

// SAFETY: the queue has pointers into the memory that is shared with the kernel, which any thread
// may use, one at a time.
unsafe impl Send for Answers<'_> {}

impl Answers<'_> {
    /// Passes each answer that there is to `each`, with the number that the request had.
    pub(crate) fn take_all(&mut self, mut each: impl FnMut(u64, i32)) {
        let mut before = 0;
        loop {
            // This also gives back to the kernel the places of the answers taken before.
            self.queue.sync();
            // If all places were in use, the kernel may have kept further answers, which it puts
            // into the queue when it is entered.
            if before + self.queue.len() >= self.queue.capacity() {
                self.queues.wait(0, 0);
            } else if self.queue.is_empty() {
                return;
            }
            before = 0;
            for entry in self.queue.by_ref() {
                before += 1;
                self.taken = self.taken.wrapping_add(1);
                // ORDERING: answered. Relaxed: a hint.
                (self.queues.answered).store(self.taken, order!(answered: Relaxed));
                each(entry.user_data(), entry.result());
            }
        }
    }

    /// Cancels everything, and waits until all requests have been answered.
    ///
    /// It waits for `nanoseconds` at a time, after which it also cancels what was started
    /// meanwhile.
    pub(crate) fn take_last(&mut self, nanoseconds: u32, mut each: impl FnMut(u64, i32)) {
        self.take_all(&mut each);
        while self.are_missing() {
            // An error says that there is nothing to cancel, or that it cannot be cancelled. The
            // answer comes all the same. A request that the kernel does not take is tried again.
            let _ = self.queues.submit();
            let _ = self.queues.cancel(CancelBuilder::any());
            self.take_all(&mut each);
            if self.are_missing() {
                self.queues.wait(1, nanoseconds);
            }
        }
    }

    /// Returns whether a request has no answer yet. If the ring's own thread counts one meanwhile,
    /// it wakes the server after that.
    fn are_missing(&self) -> bool {
        self.queues.started().wrapping_sub(self.taken) as isize > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io_uring::opcode;

    /// The kernel keeps answers for which there is no room, and gives them back.
    #[test]
    fn no_answer_is_lost_if_nobody_takes_them() {
        let Ok(queues) = Queues::new(8) else {
            return println!("skipped: there is no io_uring");
        };
        // SAFETY: it is the only one.
        let mut answers = unsafe { queues.answers() };
        for round in [1, 7, 8, 9, 1_000] {
            for number in 0..round {
                // SAFETY: this is the ring's own thread, and the entry has no pointer.
                let pushed = unsafe { queues.push(&opcode::Nop::new().build().user_data(number)) };
                assert!(pushed && queues.submit().unwrap() == 1);
            }
            let mut taken = Vec::new();
            answers.take_all(|number, answer| taken.push((number, answer)));
            let all: Vec<_> = (0..round).map(|number| (number, 0)).collect();
            assert_eq!(taken, all);
        }
    }
}
