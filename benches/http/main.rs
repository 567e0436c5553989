//! hyper 1 on joint and on tokio: requests a second and how long they take, at 64, 512 and 4,096
//! connections. Linux only. Each server is a process of its own with two workers, and runs in turn
//! with the other. One thread of this program puts the load on it.
//!
//! `-- serve joint` or `-- serve tokio` only serves, until its standard input ends, for other
//! tools.

#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod servers;

use joint_benches::allocator::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", name, ..] => servers::serve(name),
        _ => rounds::run(),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the bench `http` counts by means of Linux");
}
