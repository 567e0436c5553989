//! How far apart the processors are: the round trip of a cache line between two threads.
//!
//! On a virtual machine the host moves the processors, which changes tenfold what two workers cost
//! each other.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release},
    thread,
    time::{Duration, Instant},
};

const TRIPS: u32 = 100;
/// Round trips are counted for this time, and at least one is.
const BUDGET: Duration = Duration::from_millis(10);

/// Ends the game.
const OVER: u32 = u32::MAX;

/// Round trips longer than this many nanoseconds are far.
const FAR: f64 = 150.0;
/// No distance makes a round trip this long: something else runs on one of the processors.
const BUSY: f64 = 5_000.0;

/// The median round trip in nanoseconds, or `None` if there is only one processor.
#[derive(Clone, Copy, Debug)]
pub struct Placement(Option<f64>);

#[repr(align(128))]
struct Ball(AtomicU32);

impl Ball {
    /// Whether the game goes on.
    fn wait_for(&self, turn: u32) -> bool {
        for spins in 1u32.. {
            match self.0.load(Acquire) {
                OVER => return false,
                now if now == turn => return true,
                _ => spin_loop(),
            }
            // The other thread may need this processor.
            if spins % 1_000 == 0 {
                thread::yield_now();
            }
        }
        unreachable!("no wait takes this long");
    }
}

impl Placement {
    /// Plays ping-pong between two threads for ten milliseconds.
    pub fn probe() -> Self {
        if thread::available_parallelism().map_or(1, usize::from) == 1 {
            return Self(None);
        }
        let ball = Ball(AtomicU32::new(0));
        let mut trips = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut turn = 1;
                while ball.wait_for(turn) {
                    ball.0.store(turn + 1, Release);
                    turn += 2;
                }
            });
            let mut turn = 1;
            let begin = Instant::now();
            while trips.is_empty() || begin.elapsed() < BUDGET {
                let start = Instant::now();
                for _ in 0..TRIPS {
                    ball.0.store(turn, Release);
                    ball.wait_for(turn + 1);
                    turn += 2;
                }
                trips.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(TRIPS));
            }
            ball.0.store(OVER, Release);
        });
        trips.sort_by(f64::total_cmp);
        Self(Some(trips[trips.len() / 2]))
    }

    /// Returns `near`, `far`, `busy` or `alone`.
    pub fn name(self) -> &'static str {
        match self.0 {
            None => "alone",
            Some(trip) if trip > BUSY => "busy",
            Some(trip) if trip > FAR => "far",
            Some(_) => "near",
        }
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("one processor"),
            Some(trip) => write!(f, "{} ({trip:.0} ns round trip)", self.name()),
        }
    }
}
