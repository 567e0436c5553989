//! Models of the task on its real source: each a race between two or three of those who hold a part of it.
//!
//! Every model runs with a schedule function without size and with one that is stored in the task, those of `copied` with one that
//! is copied out of it. A run of a model ends with
//! all futures and outputs dropped once, no runnable left and, as the model's heap sees to, all memory given back once.
#![cfg(joint_loom)]

/// Each model as two tests, one for each way to keep the schedule function.
macro_rules! tests {
    ($($model:ident)*) => {$(
        mod $model {
            use crate::world::Schedule;

            #[test]
            fn zero_sized() {
                super::$model(Schedule::ZeroSized);
            }

            #[test]
            fn stored() {
                super::$model(Schedule::Stored);
            }
        }
    )*};
}

mod cancel;
mod copied;
mod cost;
mod detached;
mod join;
mod limit;
mod metadata;
mod orderings;
mod panic;
mod register;
mod release;
mod wake;
mod world;
