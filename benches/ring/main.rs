//! io_uring beside threads and beside epoll: files that tasks read, and connections that echo, on
//! one processor. Each contestant does the same with buffers of its own. Linux only.

#[cfg(target_os = "linux")]
mod contestants;

#[cfg(target_os = "linux")]
fn main() {
    use joint_benches::{processors::Processors, table};
    use std::time::Duration;

    if let Err(error) = joint_ring::Ring::new() {
        println!("skipped: {error}");
        return;
    }
    let processors = Processors::of_this_process();
    let table = table::Table::new("io_uring, one worker", Duration::from_secs(5));
    let table = processors.on_first(1, || contestants::all(table));
    table::main("ring", &[table.on_first_of(processors)], |_, _| ());
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: only Linux has io_uring");
}
