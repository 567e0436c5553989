//! [`Queues`]: one io_uring, and the number of the requests that were put into it.
//!
//! The kernel may be entered from any thread. What is not shared are the ends of the two queues:
//! the ring's own thread fills one, and the ring's server empties the other. Once the kernel has
//! refused requests, or nobody watches the ring any more, its [gate](Gate) is shut for good, and
//! the server takes back what the kernel has not taken.
//!
//! # The bell
//! The kernel rings an `eventfd` when there is an answer, and so wakes a worker, but only while the
//! server asks for that: if it waits for an answer, and the ring's own thread is not in the kernel,
//! after which it runs the server itself.

use core::cell::RefCell;
use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use io_uring::{
    CompletionQueue, EnterFlags, IoUring, opcode,
    squeue::Entry,
    types::{CancelBuilder, SubmitArgs, Timespec},
};
use joint_switch::{AtomicUsize, order};

use crate::{
    bell::asked,
    gate::{Gate, Inside},
};

/// The requests that fit into the submission queue.
const REQUESTS: u32 = 256;
/// The answers that fit into the completion queue. The kernel keeps further ones until there is
/// room.
pub(crate) const ANSWERS: u32 = 4096;
/// How often the end of a ring waits in `poll`, because the kernel refuses to be entered.
const REFUSALS: usize = 100;

pub(crate) struct Queues {
    uring: IoUring,
    bell: OwnedFd,
    /// 1 while the ring's own thread is in the kernel, after which it wakes the server.
    entering: AtomicUsize,
    /// 1 while the kernel rings the bell. Written by the server.
    watched: AtomicUsize,
    /// The number of requests so far. Written by the ring's own thread.
    started: AtomicUsize,
    /// The number of answers so far. Written by the server.
    answered: AtomicUsize,
    /// The name of each request that the kernel may not have taken, by the request's number.
    /// Written by the ring's own thread, inside the gate.
    names: Box<[AtomicUsize]>,
    pub(crate) gate: Gate,
}

impl Queues {
    /// Asks the system for a ring with room for a number of answers, and tries it.
    ///
    /// # Errors
    /// The system's error: `EINVAL` also if the kernel cannot cancel as this package needs it.
    pub(crate) fn new(answers: u32) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        let mut uring = builder.setup_cqsize(answers).build(REQUESTS.min(answers))?;
        let nothing = opcode::Nop::new().build();
        // SAFETY: it has no pointer.
        let is_pushed = unsafe { uring.submission().push(&nothing) }.is_ok();
        uring.submit()?;
        let is_answered = uring.completion().next().is_some();
        if !(is_pushed && is_answered) {
            return Err(io::Error::other(
                "the kernel takes no request of a new ring",
            ));
        }
        let bell = bell()?;
        uring.submitter().register_eventfd(bell.as_raw_fd())?;
        uring.completion().disable_eventfd();
        let queues = Self {
            bell,
            entering: AtomicUsize::new(0),
            watched: AtomicUsize::new(0),
            names: (0..uring.params().sq_entries())
                .map(|_| AtomicUsize::new(0))
                .collect(),
            uring,
            started: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            gate: Gate::new(),
        };
        match queues.cancel(CancelBuilder::any()) {
            Err(error) if is_refusal(&error) => Err(error),
            _ => Ok(queues),
        }
    }

    /// Puts a request into the queue, and counts it. Returns false if there is no room. For the
    /// ring's own thread, which wakes the server after it has submitted the request.
    ///
    /// # Safety
    /// The caller is the ring's own thread. What the entry points to stays valid until the answer.
    pub(crate) unsafe fn push(&self, _inside: &Inside<'_>, entry: &Entry) -> bool {
        // SAFETY: only the ring's own thread does this, and it calls nothing while this exists. The
        // server does it only if nobody is inside.
        let mut queue = unsafe { self.uring.submission_shared() };
        // SAFETY: passed on from the caller.
        if unsafe { queue.push(entry) }.is_err() {
            return false;
        }
        drop(queue);
        let started = self.started();
        let name = entry.get_user_data() as usize;
        // ORDERING: name. Relaxed: the server reads it after this thread has left the gate.
        self.name(started).store(name, order!(name: Relaxed));
        // ORDERING: count. Relaxed: only this thread writes it, and it is published to the server
        // by the wake-up that follows.
        self.started
            .store(started.wrapping_add(1), order!(count: Relaxed));
        true
    }

    fn name(&self, request: usize) -> &AtomicUsize {
        &self.names[request % self.names.len()]
    }

    /// Hands what has been pushed to the kernel. Returns the number of requests that it has taken.
    ///
    /// # Errors
    /// The system's error, and `EAGAIN` if it has taken none and some are left, as far as the
    /// ring's own thread can tell. The requests are still in the queue.
    pub(crate) fn submit(&self, inside: &Inside<'_>, is_own: bool) -> io::Result<usize> {
        #[cfg(test)]
        tests::CALLS.set(tests::CALLS.get() + 1);
        match self.uring.submit() {
            // SAFETY: this is the ring's own thread, inside the gate.
            Ok(0) if is_own && unsafe { self.untaken(Some(inside)) } > 0 => {
                Err(io::Error::from_raw_os_error(libc::EAGAIN))
            }
            submitted => submitted,
        }
    }

    /// Returns how many requests the kernel has not taken.
    ///
    /// # Safety
    /// The caller is the ring's own thread, or else nobody is inside the gate any more.
    unsafe fn untaken(&self, _inside: Option<&Inside<'_>>) -> usize {
        // SAFETY: it is the only one, as the caller promises.
        unsafe { self.uring.submission_shared() }.len()
    }

    /// For the ring's own thread, which wakes the server after it has left the kernel.
    pub(crate) fn set_entering(&self, is_entering: bool) {
        // ORDERING: entering. Relaxed: the wake-up that follows makes the edge.
        (self.entering).store(usize::from(is_entering), order!(entering: Relaxed));
    }

    /// Returns whether the kernel rings the bell.
    pub(crate) fn is_watched(&self) -> bool {
        // ORDERING: is_watched. Relaxed: a hint.
        self.watched.load(order!(is_watched: Relaxed)) != 0
    }

    /// Counts an answer. For the server.
    fn count(&self, taken: &mut usize) {
        *taken = taken.wrapping_add(1);
        // ORDERING: answered. Relaxed: a hint.
        self.answered.store(*taken, order!(answered: Relaxed));
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
    /// The system's error, which says that there are none, or that some go on, or that it refuses.
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

    /// # Safety
    /// The returned value is the only one of this ring.
    pub(crate) unsafe fn answers(&self) -> Answers<'_> {
        Answers {
            queues: self,
            // SAFETY: passed on from the caller.
            queue: unsafe { self.uring.completion_shared() },
            taken: 0,
            has_taken_back: false,
        }
    }

    /// Enters the kernel without a request, until there is an answer, or for `nanoseconds` at most.
    /// Returns whether that time is over.
    fn wait(&self, at_least: u32, nanoseconds: u32) -> bool {
        let time = Timespec::new().nsec(nanoseconds);
        let args = SubmitArgs::new().timespec(&time);
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let submitter = self.uring.submitter();
        // SAFETY: the argument is that of this flag, and points to a time that is still there.
        let waited = unsafe { submitter.enter(0, at_least, flags.bits(), Some(&args)) };
        waited.is_err_and(|error| error.raw_os_error() == Some(libc::ETIME))
    }
}

/// Whether an error of `cancel` says that the kernel does not try, instead of what came of it.
fn is_refusal(error: &io::Error) -> bool {
    let outcomes = [libc::ENOENT, libc::EALREADY, libc::ETIME];
    !error
        .raw_os_error()
        .is_some_and(|error| outcomes.contains(&error))
}

fn bell() -> io::Result<OwnedFd> {
    // SAFETY: the call has no conditions.
    let raw = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just opened it, and nobody else closes it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// The bell.
impl AsFd for Queues {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// The right to take a ring's answers.
pub(crate) struct Answers<'a> {
    queues: &'a Queues,
    queue: CompletionQueue<'a>,
    /// How many there were so far, with those that were taken back.
    taken: usize,
    has_taken_back: bool,
}

// SAFETY: the queue has pointers into the memory that is shared with the kernel, which any thread
// may use, one at a time.
unsafe impl Send for Answers<'_> {}

impl Answers<'_> {
    /// Passes each answer that there is to `each`, with the name that the request had. Once the
    /// gate is shut, the requests that the kernel has not taken are answered with its error.
    pub(crate) fn take_all(&mut self, mut each: impl FnMut(u64, i32)) {
        self.take_back(&mut each);
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
                self.queues.count(&mut self.taken);
                each(entry.user_data(), entry.result());
            }
        }
    }

    /// Asks the kernel to ring the bell at the next answer, if the server has to wait for it. Call
    /// this before the server waits. Returns whether answers have arrived meanwhile.
    pub(crate) fn watch(&mut self) -> bool {
        // ORDERING: entering_look. Relaxed: if the thread has left the kernel since, its wake-up
        // leads to another run, which sees that.
        let entering = self.queues.entering.load(order!(entering_look: Relaxed)) != 0;
        let watches = self.are_missing() && !entering;
        if watches == self.queues.is_watched() {
            return false;
        }
        // ORDERING: watched. Relaxed: a hint for others.
        let watched = usize::from(watches);
        (self.queues.watched).store(watched, order!(watched: Relaxed));
        if !watches {
            self.queue.disable_eventfd();
            return false;
        }
        let queue = RefCell::new(&mut self.queue);
        asked(
            || queue.borrow().enable_eventfd(),
            || {
                let mut queue = queue.borrow_mut();
                queue.sync();
                !CompletionQueue::is_empty(&queue)
            },
        )
    }

    /// Answers what the kernel has not taken and never will.
    fn take_back(&mut self, each: &mut impl FnMut(u64, i32)) {
        let Some(error) = self.queues.gate.given_back() else {
            return;
        };
        if !mem::replace(&mut self.has_taken_back, true) {
            let end = self.queues.started();
            // SAFETY: nobody is inside the gate any more.
            let untaken = unsafe { self.queues.untaken(None) };
            for request in (1..=untaken).rev() {
                // ORDERING: name_look. Relaxed: the gate makes the edge.
                let name = self.queues.name(end.wrapping_sub(request));
                let name = name.load(order!(name_look: Relaxed));
                self.queues.count(&mut self.taken);
                each(name as u64, -error);
            }
        }
    }

    /// Shuts the gate, cancels everything, and waits until all requests have been answered.
    /// Returns false if the kernel refuses to cancel, or does not hand over the answers: then those
    /// requests are the kernel's for as long as it likes.
    ///
    /// It waits for `nanoseconds` at a time, after which it cancels again.
    pub(crate) fn take_last(&mut self, nanoseconds: u32, mut each: impl FnMut(u64, i32)) -> bool {
        self.queues.gate.shut(libc::ECANCELED);
        let mut refusals = 0;
        loop {
            self.take_all(&mut each);
            if !self.are_missing() {
                return true;
            }
            let cancelled = self.queues.cancel(CancelBuilder::any());
            let is_refused = cancelled.is_err_and(|error| is_refusal(&error));
            self.take_all(&mut each);
            if is_refused || refusals == REFUSALS {
                return !self.are_missing();
            }
            if self.are_missing() && !self.wait(nanoseconds) {
                refusals += 1;
            }
        }
    }

    /// Waits for an answer. Returns false if the kernel refuses, after a wait in `poll`.
    fn wait(&mut self, nanoseconds: u32) -> bool {
        let is_over = self.queues.wait(1, nanoseconds);
        self.queue.sync();
        if is_over || !self.queue.is_empty() {
            return true;
        }
        let mut fd = libc::pollfd {
            fd: self.queues.uring.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: it is one descriptor.
        unsafe { libc::poll(&raw mut fd, 1, (nanoseconds / 1_000_000) as i32) };
        false
    }

    /// Returns whether the gate is shut and no request is without an answer any more.
    pub(crate) fn are_over(&self) -> bool {
        self.queues.gate.given_back().is_some() && !self.are_missing()
    }

    /// Returns whether a request has no answer yet. If the ring's own thread counts one meanwhile,
    /// it wakes the server after that.
    fn are_missing(&self) -> bool {
        self.queues.started().wrapping_sub(self.taken) as isize > 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    std::thread_local! {
        /// How often this thread has entered the kernel with requests.
        pub(crate) static CALLS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

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
                let inside = queues.gate.enter().unwrap();
                let nothing = opcode::Nop::new().build().user_data(number);
                // SAFETY: this is the ring's own thread, and the entry has no pointer.
                let pushed = unsafe { queues.push(&inside, &nothing) };
                assert!(pushed && queues.submit(&inside, true).unwrap() == 1);
            }
            let mut taken = Vec::new();
            answers.take_all(|number, answer| taken.push((number, answer)));
            let all: Vec<_> = (0..round).map(|number| (number, 0)).collect();
            assert_eq!(taken, all);
        }
    }
}
