//! Models of the task on its real source: each is a race between two or three of those that hold a
//! part of the task.
//!
//! Every model runs with a schedule function of size zero and with one that is stored in the task.
//! At the end of each run of a model, all futures and outputs have been dropped once, no runnable
//! is left, and all memory has been given back once, which the model's heap checks.

/// Each model as two tests, one for each way to keep the schedule function.
macro_rules! tests {
    ($($model:ident)*) => {$(
        mod $model {
            use crate::task::world::Schedule;

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

/// Each row as a model, which is called with the schedule function.
macro_rules! scheduled {
    ($($(#[$doc:meta])* $name:ident: $model:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(how: crate::task::world::Schedule) {
                $model(how);
            }
        )*

        tests! { $($name)* }
    };
}

/// Each race as a model.
macro_rules! races {
    ($(#[$doc:meta])* $name:ident: $($rest:tt)*) => {
        races! { tests; $(#[$doc])* $name: $($rest)* }
    };
    ($tests:ident; $($(#[$doc:meta])* $name:ident: $race:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(how: crate::task::world::Schedule) {
                $race.explore(how);
            }
        )*

        $tests! { $($name)* }
    };
}

mod borrow;
mod cancel;
mod cost;
mod detached;
mod id;
mod itself;
mod join;
mod limit;
mod metadata;
mod panic;
mod race;
mod register;
mod release;
mod storage;
mod wake;
mod world;
