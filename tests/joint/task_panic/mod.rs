//! Panics of the user's code at every place where a task calls it, and re-entrance there: nothing
//! leaks, nothing is dropped twice, and the task is left whole for the others who know it. Panics
//! in the drops of the future and of the output are in `task::product`.

mod ends;
mod parts;
mod pass;
mod poll;
mod reenter;
mod schedule;
mod unwinding;
mod waker;
