//! Timers and descriptors of workers that the tests drive.

use super::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_step_says_when_the_next_timer_is_due_and_fires_it() {
    let (executor, mut worker) = bound();
    let far = executor.spawn(sleep_until(Instant::now() + LONG));
    // A slow system may take longer for the step.
    let mut delay = Duration::from_millis(5);
    let (deadline, task) = loop {
        let deadline = Instant::now() + delay;
        let task = executor.spawn(sleep_until(deadline));
        if exhaust(&mut worker) == Step::Until(deadline) {
            break (deadline, task);
        }
        assert!(Instant::now() >= deadline, "the step has missed the timer");
        delay *= 2;
    };
    thread::sleep(deadline.saturating_duration_since(Instant::now()));
    assert!(matches!(exhaust(&mut worker), Step::Until(time) if time > deadline + LONG / 2));
    assert!(task.is_finished() && !far.is_finished());
}

#[test]
fn an_earlier_timer_of_another_thread_wakes_the_waker() {
    let (executor, mut worker) = bound();
    let (wakes, waker) = counting();
    let far = executor.spawn(sleep(LONG));
    while worker.step(9, &waker) == Step::Ready {}
    let before = wakes.count();
    executor.enter(|| {
        let near = std::pin::pin!(sleep(Duration::from_millis(1)));
        let is_pending = crate::common::poll_with(&mut { near }, Waker::noop()).is_pending();
        assert!(is_pending);
    });
    assert_eq!(wakes.count(), before + 1);
    drop(far);
}

#[test]
fn a_wait_ends_with_a_timer_a_descriptor_a_push_and_a_limit() {
    let (executor, mut worker) = bound();
    let mut finish = |task: joint::JoinHandle<()>| {
        while !task.is_finished() {
            if worker.step(1, Waker::noop()) != Step::Ready {
                worker.wait(None);
            }
        }
    };
    finish(executor.spawn(sleep(Duration::from_millis(1))));

    finish(executor.spawn(datagram()));

    let (sender, receiver) = oneshot::channel::<()>();
    let other = thread::spawn(|| drop(sender));
    finish(executor.spawn(async { assert!(receiver.await.is_err()) }));
    other.join().unwrap();

    exhaust(&mut worker);
    worker.wait(Some(Duration::from_millis(1)));
    worker.wait(Some(Duration::ZERO));
}

#[test]
fn an_owner_that_chooses_serves_the_timers() {
    let armed = Arc::new(Mutex::new(Vec::new()));
    let on_timer = armed.clone();
    let (executor, worker) = chosen::scheduled_with(|builder| {
        builder.on_timer(move |deadline| on_timer.lock().unwrap().push(deadline))
    });
    let deadline = Instant::now() + LONG;
    let task = executor.spawn(sleep_until(deadline));
    let run_all = || {
        for task in chosen::all(&worker) {
            assert!(worker.run_task(task).is_none());
        }
    };
    assert_eq!(worker.next_deadline(), None);
    run_all();
    assert_eq!(worker.next_deadline(), Some(deadline));
    assert_eq!(*armed.lock().unwrap(), [deadline]);
    let mut wakers = Vec::new();
    worker.take_due(deadline - Duration::from_nanos(1), &mut wakers);
    assert!(wakers.is_empty());
    worker.take_due(deadline, &mut wakers);
    assert_eq!((wakers.len(), worker.next_deadline()), (1, None));
    let before = host::update(|host| host.now = Some(deadline));
    wakers.pop().unwrap().wake();
    run_all();
    host::set(before);
    assert!(task.is_finished());
}
