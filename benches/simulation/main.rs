//! Simulations beside shuttle's: how many runs they need until they find a planted bug, and how
//! fast they run. tokio with a paused clock, which has virtual time and no schedules, takes part in
//! the rows of speed. `cargo bench` needs `--features sim` for it.

#[allow(dead_code, reason = "the tests of joint-sim check more of them")]
#[path = "../../joint-sim/tests/sim/bugs/mod.rs"]
mod bugs;
mod found;
mod runtimes;
#[cfg(joint_peers)]
mod shuttle;
mod speed;

use joint_benches::{allocator::Allocator, options::Options};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() {
    let tables = [speed::switches(&Options::read())];
    joint_benches::table::main("simulation", &tables, |options, report| {
        speed::print_day(options, report);
        found::print(options, report);
    });
}
