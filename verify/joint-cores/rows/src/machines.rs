//! The machines, from what was measured by one thread, and from published tables. How it was
//! measured is in `docs/cores.md`.

use loom::{Costs, Waits};

/// The machine of the measured rows: an AMD EPYC of family 25, model 17 (Zen 4), a virtual machine
/// with two processors. All but `near` and `far` was measured by one thread, or by two on one
/// processor:
///
/// | measured | ns | used as |
/// |---|---|---|
/// | a load | 0.54 | `hit` |
/// | a read-modify-write | 2.03 | `hit` and `exchange` |
/// | a store and a fence | 2.00 | `hit` and `fence` |
/// | a pause | 24.4 | `pause` |
/// | a look at the clock | 23.0 | `clock` |
/// | `FUTEX_WAKE` that wakes nobody | 235 | `call` |
/// | `sched_yield` | 495 | `yields` |
/// | `FUTEX_WAKE` of a thread on the same processor | 971 | `wake` |
/// | a turn of two threads that wake each other on one processor | 2187 | `wake`, `call` and `switch` |
/// | by how much a sleep of 100 us is late | 28162 | `latency` |
/// | to start and join a thread on one processor | 43722 | half of it is `start` |
///
/// `near` is the middle of 10.3 to 21.0 ns between two cores of one complex of an AMD Ryzen 9 7950X
/// (Zen 4), in the table of core-to-core-latency (Viennot, results/AMD Ryzen 9 7950X.csv). The two
/// processors share a cache of the third level, by what the system says.
pub const HERE: Costs = Costs {
    work: 0.0,
    hit: 0.5,
    exchange: 1.5,
    fence: 1.5,
    pause: 24.4,
    clock: 23.0,
    call: 235.0,
    yields: 495.0,
    wake: 971.0,
    latency: 28_162.0,
    switch: 981.0,
    start: 21_861.0,
    slice: 3e6,
    near: 15.7,
    far: 70.0,
    cluster: 8,
    waits: Waits::Looks,
};

/// The 64 cores of the published points, of which it is not said what they are: eight to a complex,
/// 22 ns within one and 109 ns between two, as an AMD EPYC 7R13 (Zen 3) in the same table. What the
/// kernel does, and what is done between two accesses, takes as long as here. The rows of other
/// numbers of cores are run on this machine.
pub const SERVER: Costs = Costs {
    near: 22.0,
    far: 109.0,
    ..HERE
};

/// Apple's M1 Max: ten cores, four to a cluster, 40 ns within one and 145 ns between two, as an M1
/// Pro in the same table. The rest as here, also the two slow cores.
pub const M1_MAX: Costs = Costs {
    near: 40.0,
    far: 145.0,
    cluster: 4,
    ..HERE
};
