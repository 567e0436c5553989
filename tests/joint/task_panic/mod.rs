//! Panics of the user's code at every place where a task calls it, and re-entrance there: nothing
//! leaks, nothing is dropped twice, and the task is left whole for the others who know it.

mod dropped;
mod ends;
mod parts;
mod pass;
mod poll;
mod reenter;
mod schedule;
mod unwinding;
mod waker;
