//! The solution of exercise 6, and repairs that are wrong or use `SeqCst`.

use lessons::sync::atomic::{Ordering::*, fence};

use super::*;
use crate::{exercise::refused, join::passes};

struct OneWord(AtomicBool);

impl Prize for OneWord {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn take(&self, _me: usize) -> bool {
        !self.0.swap(true, atomic::Ordering::AcqRel)
    }
}

#[test]
fn exercise_6_is_solved() {
    judge_repair::<OneWord>().unwrap();
}

/// Makes a prize that is taken otherwise.
macro_rules! take {
    ($name:ident, |$flags:ident, $me:ident| $take:expr) => {
        struct $name([AtomicBool; 2]);

        impl Prize for $name {
            fn new() -> Self {
                Self([AtomicBool::new(false), AtomicBool::new(false)])
            }

            fn take(&self, $me: usize) -> bool {
                let $flags = &self.0;
                $take
            }
        }
    };
}

take!(TwoFlagsInOneOrder, |flags, me| {
    flags[me].store(true, SeqCst);
    !flags[1 - me].load(SeqCst)
});

/// Right, although the exercise asks for something else.
#[test]
fn two_flags_in_one_order_are_never_both_missed() {
    passes(check::<TwoFlagsInOneOrder>);
    passes(check::<TwoFlagsAndFences>);
}

take!(TwoFlagsAndFences, |flags, me| {
    flags[me].store(true, Relaxed);
    fence(SeqCst);
    !flags[1 - me].load(Relaxed)
});

take!(Nobody, |_flags, _me| false);

take!(TheFirstThread, |flags, me| me == 0
    && !flags[0].swap(true, AcqRel));

take!(LookThenStore, |flags, _me| {
    let taken = flags[0].load(Acquire);
    flags[0].store(true, Release);
    !taken
});

take!(WeakerFences, |flags, me| {
    flags[me].store(true, Relaxed);
    fence(AcqRel);
    !flags[1 - me].load(Relaxed)
});

#[test]
fn wrong_repairs_of_exercise_6_are_refused() {
    refused(judge_repair::<TwoFlagsInOneOrder>(), "without SeqCst");
    refused(judge_repair::<TwoFlagsAndFences>(), "without SeqCst");
    refused(judge_repair::<Nobody>(), "comes alone");
    refused(judge_repair::<TheFirstThread>(), "comes alone");
    refused(judge_repair::<LookThenStore>(), "both threads");
    refused(judge_repair::<WeakerFences>(), "both threads");
}
