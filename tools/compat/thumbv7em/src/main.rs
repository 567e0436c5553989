//! An executor for a microcontroller: its tasks are in static storage, and the interrupt of a timer
//! wakes them. Nothing allocates.
#![no_std]
#![no_main]

mod board;
#[path = "../../../../examples/microcontroller/queue.rs"]
mod queue;

use core::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, Waker},
};

use board::{Shared, print, sleep_unless};
use joint::{
    JoinHandle,
    task::{Full, TaskPool},
};
use queue::{DUE, run, schedule};

static TASKS: TaskPool<256, 3> = TaskPool::new();
static TIMERS: Shared<Timers> = Shared::new(Timers {
    now: 0,
    waiting: [const { None }; 4],
});

fn spawn<F>(future: F) -> Result<JoinHandle<F::Output>, Full<F>>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (runnable, handle) = TASKS.spawn(future, schedule)?;
    runnable.schedule();
    Ok(handle)
}

struct Timers {
    /// Milliseconds since the start.
    now: u32,
    waiting: [Option<(u32, Waker)>; 4],
}

/// The interrupt of each millisecond.
fn tick() {
    TIMERS.with(|timers| {
        timers.now += 1;
        let now = timers.now;
        for place in &mut timers.waiting {
            if let Some((_, waker)) = place.take_if(|(deadline, _)| *deadline <= now) {
                waker.wake();
            }
        }
        assert!(now < 10_000, "a wake-up was lost");
    });
}

/// Waits for a number of milliseconds.
fn sleep(milliseconds: u32) -> impl Future<Output = ()> + Send {
    let mut deadline = None;
    poll_fn(move |cx| {
        TIMERS.with(|timers| {
            let deadline = *deadline.get_or_insert(timers.now + milliseconds);
            if deadline <= timers.now {
                return Poll::Ready(());
            }
            let free = timers.waiting.iter_mut().find(|place| place.is_none());
            *free.expect("a timer for each task") = Some((deadline, cx.waker().clone()));
            Poll::Pending
        })
    })
}

async fn blink(text: &'static core::ffi::CStr, period: u32, times: u32) -> u32 {
    for _ in 0..times {
        sleep(period).await;
        print(text);
    }
    times
}

/// Awaits two tasks.
async fn sum(first: JoinHandle<u32>, second: JoinHandle<u32>) -> u32 {
    first.await + second.await
}

/// Runs until the task has ended, and returns its output.
fn block_on<T>(mut handle: JoinHandle<T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        run();
        if handle.is_finished() {
            // It is not polled before, because there is no memory for this waker.
            if let Poll::Ready(output) = Pin::new(&mut handle).poll(&mut cx) {
                return output;
            }
        }
        sleep_unless(|| !DUE.load(Relaxed).is_null());
    }
}

fn main() {
    let (Ok(ticks), Ok(tocks)) = (
        spawn(blink(c"tick\n", 10, 3)),
        spawn(blink(c"tock\n", 16, 2)),
    ) else {
        panic!("an empty pool is full");
    };
    let Ok(sum) = spawn(sum(ticks, tocks)) else {
        panic!("a pool of three is full with two");
    };
    let Err(Full(late)) = spawn(blink(c"late\n", 5, 1)) else {
        panic!("a pool of three has room for four");
    };
    print(c"full\n");
    assert!(block_on(sum) == 5);
    // The two tasks have left their slots.
    let Ok(late) = spawn(late) else {
        panic!("a slot was not given back");
    };
    assert!(block_on(late) == 1);
    print(c"done\n");
}
