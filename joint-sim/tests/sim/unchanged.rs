//! Programs that name nothing of the simulation run in one as they are.

use std::future::poll_fn;

use joint::oneshot;
use joint_executor::chance::{fault, random};

use crate::prelude::*;

/// Writes a text, to a disk that may be full.
fn write(text: &str) -> Result<usize, &'static str> {
    match fault("the disk is full") {
        true => Err("full"),
        false => Ok(text.len()),
    }
}

#[test]
fn a_program_fails_as_the_seed_says_and_never_outside() {
    let draws = |seed| sim::run(seed, async { [random(), random()] });
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
    let written = |faults| Builder::new(1).faults(faults).run(async { write("abc") });
    assert_eq!(written(Faults::none()).unwrap().output, Ok(3));
    assert_eq!(
        written(Faults::none().sites(1.0)).unwrap().output,
        Err("full")
    );
    assert!((0..1000).all(|_| write("abc") == Ok(3)));
    assert_ne!(random(), random());
}

type Waited = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a task that awaits what is made on a thread of `std`, where the global executor is the real
/// one. What is made waits for a message, which is sent once the task waits.
fn report_of(astray: fn(mpsc::Receiver<()>) -> Waited) -> String {
    let failure = Builder::new(1).run(async {
        let (go, gone) = mpsc::channel();
        let mut waited = thread::spawn(move || astray(gone)).join().unwrap();
        let polls = Arc::new(AtomicUsize::new(0));
        let own = polls.clone();
        let waits = spawn(poll_fn(move |cx| {
            own.fetch_add(1, Relaxed);
            waited.as_mut().poll(cx)
        }));
        while polls.load(Relaxed) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        go.send(()).unwrap();
        while !waits.is_finished() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    failure.unwrap_err().to_string()
}

#[test]
fn a_task_that_waits_for_a_real_thread_fails_the_run() {
    let report = report_of(|gone| {
        let task = spawn(async move { gone.recv().unwrap() });
        Box::pin(task)
    });
    says(&report, "was woken from outside");
    says(&report, "instead of `std::thread::spawn`");
}

#[test]
fn a_real_task_of_a_std_thread_that_wakes_a_task_is_named() {
    let report = report_of(|gone| {
        let (sender, receiver) = oneshot::channel();
        let astray = TaskBuilder::new().name("astray");
        astray.spawn_detached(async move {
            gone.recv().unwrap();
            sender.send(()).unwrap();
        });
        Box::pin(async { receiver.await.unwrap() })
    });
    says(&report, "by the task \"astray\", spawned at ");
    says(&report, "unchanged.rs");
}

#[test]
fn real_executors_of_other_tests_are_no_failure() {
    let real = executor(1);
    let busy = real.spawn(async {
        for _ in 0..10_000 {
            yield_now().await;
        }
    });
    for seed in 0..20 {
        let waits = sim::run(seed, async { spawn(async { 7 }).await });
        assert_eq!(waits, 7);
    }
    joint::block_on(busy);
}
