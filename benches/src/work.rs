//! Work that shares nothing.

use std::{
    hint::{black_box, spin_loop},
    time::{Duration, Instant},
};

/// Computes for about a microsecond.
pub fn microsecond() {
    let mut state = black_box(1u64);
    for _ in 0..800 {
        state = state.wrapping_mul(6_364_136_223_846_793_005) ^ (state >> 33);
    }
    black_box(state);
}

/// Keeps this thread busy until the time has passed.
pub fn busy_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}
