//! The scripts: the acts on a task, and what its future does.

/// The next act. An act whose object does not exist is skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Run(Poll),
    DropRunnable,
    Reschedule,
    TakeWaker,
    CloneWaker,
    Wake,
    WakeByRef,
    DropWaker,
    /// Polls the handle, with one of two wakers.
    Await(usize),
    DropTask,
    Detach,
    MakeFallible,
    Cancel,
    IsFinished,
}

/// The act of the future in a poll.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Poll {
    Pending,
    /// Keeps a waker, for the acts on wakers.
    KeepWaker,
    WakeItself,
    Ready,
    Panic,
    /// Drops its own task's handle, and is ready or not.
    DropTask(bool),
    /// Starts to cancel its own task, and is ready or not.
    Cancel(bool),
    CancelThenPanic,
}

pub(crate) const POLLS: [Poll; 10] = [
    Poll::Pending,
    Poll::KeepWaker,
    Poll::KeepWaker,
    Poll::WakeItself,
    Poll::Ready,
    Poll::Panic,
    Poll::DropTask(false),
    Poll::DropTask(true),
    Poll::Cancel(true),
    Poll::CancelThenPanic,
];

pub(crate) const ACTS: [Act; 16] = [
    Act::DropRunnable,
    Act::Reschedule,
    Act::TakeWaker,
    Act::CloneWaker,
    Act::Wake,
    Act::Wake,
    Act::WakeByRef,
    Act::DropWaker,
    Act::Await(0),
    Act::Await(0),
    Act::Await(1),
    Act::DropTask,
    Act::Detach,
    Act::MakeFallible,
    Act::Cancel,
    Act::IsFinished,
];

/// The numbers of a script: the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// One act in three is a run.
    pub(crate) fn script(&mut self, acts: usize) -> Vec<Act> {
        let act = |dice: &mut Self| match dice.roll(3) {
            0 => Act::Run(POLLS[dice.roll(POLLS.len())]),
            _ => ACTS[dice.roll(ACTS.len())],
        };
        (0..acts).map(|_| act(self)).collect()
    }
}
