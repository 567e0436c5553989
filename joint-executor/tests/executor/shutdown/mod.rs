//! How an executor ends: what it drops, what happens while polls block its workers, and how long
//! shutdown waits. No thread waits forever.

mod blocked;
mod dropped;
mod limits;
