//! Tasks with a name, a priority, a worker of their own, or a future that stays on its thread.

use std::{
    cell::Cell,
    future::{Future, pending, poll_fn},
    rc::Rc,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    task::{Poll, Waker},
    thread::{self, ThreadId},
};

use joint::{JoinError, JoinHandle, block_on, oneshot};
use joint_executor::{
    Executor, Priority, TaskBuilder, current_worker, spawn, spawn_local, yield_now,
};

use super::{built, executor, hold, wait_until};
use crate::common::{assert_cancelled, assert_contains, panic_text, panics};

/// Keeps a worker in one poll until it is dropped.
struct Busy(Option<mpsc::Sender<()>>, Option<JoinHandle<()>>);

impl Busy {
    fn on(executor: &Executor, worker: usize) -> Self {
        let (sender, receiver) = mpsc::channel::<()>();
        let (begins, has_begun) = mpsc::channel();
        let handle = executor.spawn_on(worker, async move {
            begins.send(()).unwrap();
            let _ = receiver.recv();
        });
        has_begun.recv().unwrap();
        Self(Some(sender), Some(handle))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.take());
        block_on(self.1.take().unwrap());
    }
}

/// The tasks that were run, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn task(&self, name: &'static str) -> impl Future<Output = ()> + Send + 'static {
        let log = self.clone();
        async move { log.0.lock().unwrap().push(name) }
    }

    /// A task that runs for ever, in the log each time, until `stop`.
    fn for_ever(
        &self,
        name: &'static str,
        stop: &Arc<AtomicBool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (log, stop) = (self.clone(), stop.clone());
        async move {
            while !stop.load(Relaxed) {
                log.0.lock().unwrap().push(name);
                yield_now().await;
            }
        }
    }

    fn spawn_both_kinds(&self) {
        for _ in 0..20 {
            spawn(self.task("normal")).detach();
            let high = TaskBuilder::new().priority(Priority::High);
            high.spawn(self.task("high")).detach();
        }
    }

    fn all(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }

    /// The most runs of others before the first, and from one run to the next.
    fn longest_wait(&self, name: &str) -> usize {
        let all = self.all();
        let waits = all.split(|&other| other == name).map(<[_]>::len);
        // What comes after the last run is no wait.
        let runs = all.iter().filter(|&&other| other == name).count();
        waits.take(runs).max().unwrap()
    }
}

#[test]
fn a_name_is_in_the_handle_and_in_the_panic() {
    let executor = executor(1);
    let handle = executor.task().name("loader").spawn(async { panic!("no") });
    assert_eq!(handle.name(), Some("loader"));
    assert_eq!(handle.spawned().file(), file!());
    let error: JoinError = block_on(handle.result()).unwrap_err();
    let JoinError::Panicked(payload) = error else {
        panic!("not a panic")
    };
    assert_eq!(payload.task_name(), Some("loader"));
}

#[test]
fn a_builder_without_an_executor_takes_the_task_s_own() {
    let executor = executor(2);
    let place = || (current_worker(), thread::current().name().map(String::from));
    let inside = executor.spawn(async move {
        let own = || TaskBuilder::new().on_worker(1).name("own");
        let (sender, receiver) = oneshot::channel();
        own().spawn_detached(async move { sender.send(place()).unwrap() });
        [
            own().spawn(async move { place() }).await,
            receiver.await.unwrap(),
        ]
    });
    let there = || (Some(1), Some("joint-1".into()));
    assert_eq!(block_on(inside), [there(), there()]);
}

#[test]
fn a_task_builder_of_another_executor_spawns_there() {
    let (here, there) = (executor(1), Arc::new(executor(3)));
    let worker = here.spawn({
        let there = there.clone();
        async move {
            let pinned = there.task().on_worker(2).spawn(async { current_worker() });
            let high = there.task().priority(Priority::High);
            high.spawn(async {}).await;
            pinned.await
        }
    });
    assert_eq!(block_on(worker), Some(2));
}

#[test]
fn a_builder_outside_of_executors_takes_the_global_one() {
    let name = TaskBuilder::new().name("x").spawn(async {
        let name = thread::current().name().map(String::from);
        name.unwrap()
    });
    assert!(block_on(name).starts_with("joint-global-"));
}

#[test]
fn a_worker_that_is_not_there_is_a_panic() {
    let executor = executor(2);
    let message = panic_text(|| executor.spawn_on(2, async {}));
    assert_eq!(
        message,
        "the executor has 2 workers, numbered from 0; there is no worker 2 to run the task"
    );
    let inside =
        executor.spawn(async { panic_text(|| TaskBuilder::new().on_worker(7).spawn(async {})) });
    assert!(block_on(inside).contains("no worker 7"));
    assert_eq!(executor.metrics().spawned, 1);
}

#[test]
fn a_priority_together_with_a_worker_is_a_panic() {
    let executor = executor(1);
    let both = executor.task().priority(Priority::High).on_worker(0);
    assert!(panic_text(|| both.spawn(async {})).contains("leave out `priority` or `on_worker`"));
}

#[test]
fn spawn_local_outside_of_a_worker_is_a_panic() {
    for message in [
        panic_text(|| spawn_local(async {})),
        panic_text(|| block_on(async { spawn_local(async {}).await })),
    ] {
        assert_contains(message, "outside of the executor's workers");
    }
}

#[test]
fn spawn_local_for_another_worker_is_a_panic() {
    let executors = Arc::new([executor(2), executor(1)]);
    let inside = executors[0].spawn_on(0, {
        let executors = executors.clone();
        async move {
            let other_worker = panic_text(|| TaskBuilder::new().on_worker(1).spawn_local(async {}));
            assert!(other_worker.contains("which is worker 0"), "{other_worker}");
            let other_executor = panic_text(|| executors[1].task().spawn_local(async {}));
            assert!(other_executor.contains("outside of"), "{other_executor}");
            TaskBuilder::new().on_worker(0).spawn_local(async {}).await;
        }
    });
    block_on(inside);
}

/// Spawned by a task, or by another thread. Then one of the others may have its turn before.
#[test]
fn high_tasks_run_before_normal_ones() {
    for from_outside in [false, true] {
        let executor = executor(1);
        let log = Log::default();
        if from_outside {
            let busy = Busy::on(&executor, 0);
            executor.enter(|| log.spawn_both_kinds());
            drop(busy);
        } else {
            let log = log.clone();
            block_on(executor.spawn(async move { log.spawn_both_kinds() }));
        }
        block_on(executor.spawn(async {}));
        let all = log.all();
        assert_eq!(all.len(), 40);
        let first = &all[..20 + usize::from(from_outside)];
        let high = first.iter().filter(|&&name| name == "high").count();
        assert_eq!(high, 20, "from outside: {from_outside}, {all:?}");
    }
}

#[test]
fn high_is_kept_over_waits() {
    let executor = executor(1);
    let log = Log::default();
    let (sender, receiver) = oneshot::channel::<()>();
    let late = {
        let after = log.task("high");
        let high = executor.task().priority(Priority::High);
        high.spawn(async move {
            receiver.await.unwrap();
            after.await;
        })
    };
    // It waits by now: it came first.
    block_on(executor.spawn(async {}));
    let inside = executor.spawn({
        let log = log.clone();
        async move {
            for _ in 0..10 {
                spawn(log.task("normal")).detach();
            }
            sender.send(()).unwrap();
        }
    });
    block_on(inside);
    block_on(late);
    block_on(executor.spawn(async {}));
    assert_eq!(log.all()[0], "high");
}

/// Most often the other worker sleeps when the turn of the local task comes, before that of the one
/// who yields.
#[test]
fn a_local_task_that_blocks_does_not_hold_up_the_task_that_it_overtook() {
    let executor = executor(2);
    for _ in 0..100 {
        let overtaken = executor.spawn(async {
            let (sender, receiver) = mpsc::channel::<()>();
            let blocks = Arc::new(AtomicBool::new(false));
            let begins = blocks.clone();
            spawn_local(async move {
                begins.store(true, Relaxed);
                receiver.recv().unwrap();
            })
            .detach();
            while !blocks.load(Relaxed) {
                yield_now().await;
            }
            sender.send(()).unwrap();
        });
        block_on(overtaken);
    }
}

#[test]
fn tasks_of_no_kind_starve_beside_the_others() {
    for (kind, others, most) in [
        ("normal", ["high", "pinned"], 64),
        ("pinned", ["high", "normal"], 8),
        ("high", ["normal", "pinned"], 64),
    ] {
        let executor = executor(1);
        let (log, stop) = (Log::default(), Arc::new(AtomicBool::new(false)));
        let busy = Busy::on(&executor, 0);
        let spawn = |kind: &'static str| {
            let task = match kind {
                "high" => executor.task().priority(Priority::High),
                "pinned" => executor.task().on_worker(0),
                _ => executor.task(),
            };
            task.spawn(log.for_ever(kind, &stop))
        };
        let others = others.iter().flat_map(|other| [*other; 10]);
        let handles: Vec<_> = others.chain([kind]).map(spawn).collect();
        drop(busy);
        // A pinned one has the worker for itself at first.
        wait_until(|| log.0.lock().unwrap().len() >= 2_000);
        stop.store(true, Relaxed);
        handles.into_iter().for_each(block_on);
        let all = log.all();
        let waits = all.split(|&other| other == kind).map(<[_]>::len);
        let longest = waits.max().unwrap();
        assert!(longest <= most, "{kind}: {longest}");
    }
}

#[test]
fn pinned_tasks_have_a_share_of_one_in_eight() {
    let executor = executor(1);
    let (log, stop) = (Log::default(), Arc::new(AtomicBool::new(false)));
    let busy = Busy::on(&executor, 0);
    let mut handles = vec![executor.spawn_on(0, log.for_ever("pinned", &stop))];
    for _ in 0..3 {
        let high = executor.task().priority(Priority::High);
        handles.push(high.spawn(log.for_ever("high", &stop)));
        handles.push(executor.spawn(log.for_ever("normal", &stop)));
    }
    drop(busy);
    wait_until(|| log.0.lock().unwrap().len() >= 10_000);
    stop.store(true, Relaxed);
    handles.into_iter().for_each(block_on);
    let all = log.all();
    let share = |name| all.iter().filter(|&&other| other == name).count() * 8;
    assert!(share("pinned") >= all.len() - 1_000, "of {}", all.len());
    assert!(share("high") >= 3 * all.len(), "of {}", all.len());
}

#[test]
fn a_flood_of_tasks_from_outside_does_not_starve_a_normal_one() {
    for is_pinned in [false, true] {
        let executor = executor(1);
        let log = Log::default();
        let busy = Busy::on(&executor, 0);
        let task = || match is_pinned {
            false => executor.task().priority(Priority::High),
            true => executor.task().on_worker(0),
        };
        let flood = || (0..5_000).for_each(|_| task().spawn(log.task("flood")).detach());
        flood();
        executor.spawn(log.task("one")).detach();
        flood();
        drop(busy);
        wait_until(|| executor.metrics().live() == 0);
        let wait = log.longest_wait("one");
        assert!(wait <= 61, "of pinned ones: {is_pinned}, {wait}");
    }
}

#[test]
fn a_high_task_from_outside_does_not_starve_behind_many_high_ones() {
    let executor = executor(1);
    let stop = Arc::new(AtomicBool::new(false));
    let busy = Busy::on(&executor, 0);
    let log = Log::default();
    let for_ever = |task: TaskBuilder<'_>| task.spawn(log.for_ever("inside", &stop));
    // More of them than the worker takes at once.
    let mut handles: Vec<_> = (0..100)
        .map(|_| for_ever(executor.task().priority(Priority::High)))
        .collect();
    handles.push(for_ever(executor.task()));
    drop(busy);
    wait_until(|| log.all().len() >= 1_000);
    let outside = executor.task().priority(Priority::High);
    block_on(outside.spawn(async {}));
    stop.store(true, Relaxed);
    handles.into_iter().for_each(block_on);
}

#[test]
fn a_flood_of_normal_tasks_from_outside_does_not_starve_a_pinned_one() {
    let executor = executor(1);
    let log = Log::default();
    let busy = Busy::on(&executor, 0);
    let flood = || (0..5_000).for_each(|_| executor.spawn(log.task("flood")).detach());
    flood();
    let (begins, has_begun) = mpsc::channel();
    let (sender, receiver) = mpsc::channel::<()>();
    let middle = {
        let log = log.task("middle");
        executor.spawn(async move {
            log.await;
            begins.send(()).unwrap();
            let _ = receiver.recv();
        })
    };
    flood();
    drop(busy);
    has_begun.recv().unwrap();
    executor.spawn_on(0, log.task("one")).detach();
    drop(sender);
    block_on(middle);
    wait_until(|| executor.metrics().live() == 0);
    let all = log.all();
    let place = |name| all.iter().position(|&other| other == name).unwrap();
    let wait = place("one") - place("middle");
    assert!(wait <= 80, "{wait}");
}

/// A future that says on which workers it was polled, and waits for many wake-ups.
fn polled_on(
    wakers: &Arc<Mutex<Option<Waker>>>,
    times: usize,
) -> impl Future<Output = Vec<usize>> + Send + 'static {
    let wakers = wakers.clone();
    let mut workers = Vec::new();
    poll_fn(move |cx| {
        workers.push(current_worker().unwrap());
        if workers.len() == times {
            return Poll::Ready(std::mem::take(&mut workers));
        }
        *wakers.lock().unwrap() = Some(cx.waker().clone());
        Poll::Pending
    })
}

fn wake_until_ended<T>(handle: &JoinHandle<T>, wakers: &Mutex<Option<Waker>>) {
    while !handle.is_finished() {
        let waker = wakers.lock().unwrap().take();
        match waker {
            Some(waker) => waker.wake(),
            None => thread::yield_now(),
        }
    }
}

#[test]
fn a_pinned_task_stays_wherever_it_is_woken_from() {
    let executor = Arc::new(executor(3));
    let other = self::executor(1);
    for worker in 0..3 {
        for from in 0..3 {
            let wakers = Arc::default();
            let handle = Arc::new(executor.spawn_on(worker, polled_on(&wakers, 100)));
            let wake = {
                let (handle, wakers) = (handle.clone(), wakers.clone());
                move || {
                    wake_until_ended(&handle, &wakers);
                    drop(handle);
                }
            };
            match from {
                0 => wake(),
                1 => block_on(executor.spawn_on((worker + 1) % 3, async move { wake() })),
                _ => block_on(other.spawn(async move { wake() })),
            }
            let handle = Arc::into_inner(handle).unwrap();
            assert_eq!(block_on(handle), [worker; 100]);
        }
    }
}

#[test]
fn a_pinned_task_is_not_stolen_from_a_busy_worker() {
    let executor = executor(2);
    let busy = Busy::on(&executor, 0);
    let pinned = [(); 100].map(|()| executor.spawn_on(0, async { current_worker() }));
    // The other worker has nothing to do but to look round.
    for _ in 0..100 {
        block_on(executor.spawn_on(1, yield_now()));
    }
    assert!(pinned.iter().all(|handle| !handle.is_finished()));
    drop(busy);
    for handle in pinned {
        assert_eq!(block_on(handle), Some(0));
    }
}

/// Where guards were made and dropped.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<(usize, usize, usize)>>);

/// Not to be sent.
struct Guard(Threads, ThreadId, Rc<Cell<u32>>);

impl Threads {
    fn guard(&self) -> Guard {
        self.0.lock().unwrap().0 += 1;
        Guard(self.clone(), thread::current().id(), Rc::default())
    }

    fn never(&self) -> impl Future<Output = ()> + 'static {
        hold(self.guard())
    }

    #[track_caller]
    fn assert_all_at_home(&self, made: Option<usize>) {
        let (all, home, elsewhere) = *self.0.lock().unwrap();
        assert_eq!(elsewhere, 0, "guards dropped elsewhere");
        assert_eq!(home, all, "guards dropped at home, of all");
        assert_eq!(all, made.unwrap_or(all), "guards made");
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock().unwrap();
        if thread::current().id() == self.1 {
            counts.1 += 1;
        } else {
            counts.2 += 1;
        }
    }
}

#[test]
fn a_local_task_need_not_be_send() {
    let executor = executor(2);
    let threads = Threads::default();
    let inside = executor.spawn({
        let threads = threads.clone();
        async move {
            let count = |i| {
                let guard = threads.guard();
                spawn_local(async move {
                    for _ in 0..10 {
                        yield_now().await;
                        guard.2.set(guard.2.get() + 1);
                    }
                    guard.2.get() + i
                })
            };
            let handles: Vec<_> = (0..100).map(count).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            sum
        }
    });
    assert_eq!(block_on(inside), 1_000 + 4_950);
    threads.assert_all_at_home(Some(100));
}

#[test]
fn an_output_that_is_not_send_stays_with_local_tasks() {
    let executor = executor(2);
    let outer = || spawn_local(async { *spawn_local(async { Rc::new(41) }).await + 1 });
    assert_eq!(block_on(executor.spawn(async move { outer().await })), 42);
}

/// Local tasks that wait for ever, on some worker: their handles and their wakers.
fn local_tasks(
    executor: &Executor,
    worker: usize,
    count: usize,
    threads: &Threads,
) -> (Vec<JoinHandle<()>>, Vec<Waker>) {
    let threads = threads.clone();
    let (sender, wakers) = mpsc::channel();
    let handles = executor.spawn_on(worker, async move {
        let spawn = |_| {
            let guard = threads.guard();
            let mut sender = Some(sender.clone());
            spawn_local(poll_fn(move |cx| {
                let _guard = &guard;
                if let Some(sender) = sender.take() {
                    sender.send(cx.waker().clone()).unwrap();
                }
                Poll::Pending
            }))
        };
        (0..count).map(spawn).collect::<Vec<_>>()
    });
    (block_on(handles), wakers.iter().take(count).collect())
}

#[test]
fn a_local_task_that_is_cancelled_from_elsewhere_is_dropped_at_home() {
    let executor = executor(2);
    let threads = Threads::default();
    let (mut handles, _wakers) = local_tasks(&executor, 1, 30, &threads);
    for handle in handles.drain(..10) {
        assert_eq!(block_on(handle.cancel()), None);
    }
    drop(handles.drain(..10));
    let rest = executor.spawn_on(0, async move { drop(handles) });
    block_on(rest);
    wait_until(|| executor.metrics().live() == 0);
    threads.assert_all_at_home(Some(30));
}

#[test]
fn local_tasks_that_wait_are_dropped_at_home_by_the_end() {
    let executor = executor(3);
    let threads = Threads::default();
    let (handles, wakers) = local_tasks(&executor, 2, 100, &threads);
    drop(executor);
    threads.assert_all_at_home(Some(100));
    handles.into_iter().for_each(assert_cancelled);
    wakers.into_iter().for_each(Waker::wake);
}

#[test]
fn local_tasks_that_are_queued_are_dropped_at_home_by_the_end() {
    let threads = Threads::default();
    let executor = executor(2);
    let (sender, receiver) = mpsc::channel::<Executor>();
    let (done, is_done) = mpsc::channel();
    let inside = executor.spawn({
        let threads = threads.clone();
        async move {
            let executor = receiver.recv().unwrap();
            for _ in 0..100 {
                spawn_local(threads.never()).detach();
            }
            // By one of its own tasks: those of this worker are dropped after.
            drop(executor);
            done.send(()).unwrap();
        }
    });
    sender.send(executor).unwrap();
    is_done.recv().unwrap();
    let _ = block_on(inside.result());
    wait_until(|| threads.0.lock().unwrap().1 >= 100);
    threads.assert_all_at_home(Some(100));
}

#[test]
fn a_local_future_may_spawn_local_ones_when_it_is_dropped() {
    struct Spawns(Threads, u32);
    impl Drop for Spawns {
        fn drop(&mut self) {
            if self.1 > 0 {
                let next = Spawns(self.0.clone(), self.1 - 1);
                spawn_local(hold((self.0.guard(), next))).detach();
                // Also one that any worker may drop.
                spawn(pending::<()>()).detach();
            }
        }
    }
    for _ in 0..50 {
        let threads = Threads::default();
        let executor = executor(3);
        for worker in 0..3 {
            let spawns = Spawns(threads.clone(), 10);
            block_on(executor.spawn_on(worker, async move { spawn_local(hold(spawns)).detach() }));
        }
        drop(executor);
        threads.assert_all_at_home(Some(30));
    }
}

#[test]
fn local_tasks_are_dropped_at_home_while_foreign_threads_wake_them() {
    for round in 0..200 {
        let threads = Threads::default();
        let executor = executor(2);
        let (mut handles, mut wakers) = local_tasks(&executor, 0, 20, &threads);
        let (more_handles, more_wakers) = local_tasks(&executor, 1, 20, &threads);
        handles.extend(more_handles);
        wakers.extend(more_wakers);
        let other = self::executor(1);
        let start = Arc::new(Barrier::new(4));
        let wake = |step: usize| {
            let (wakers, start) = (wakers.clone(), start.clone());
            move || {
                start.wait();
                for turn in 0..20 * step {
                    wakers[(turn * step + round) % wakers.len()].wake_by_ref();
                }
            }
        };
        let wakers_of_other = other.spawn({
            let wake = wake(3);
            async move { wake() }
        });
        thread::scope(|scope| {
            scope.spawn(wake(7));
            scope.spawn({
                let start = start.clone();
                move || {
                    start.wait();
                    // Cancels some, lets the others go.
                    for (i, handle) in handles.into_iter().enumerate() {
                        match i % 2 {
                            0 => drop(handle),
                            _ => handle.detach(),
                        }
                    }
                }
            });
            start.wait();
            drop(executor);
            threads.assert_all_at_home(Some(40));
        });
        block_on(wakers_of_other);
    }
}

#[test]
fn local_tasks_of_two_workers_that_wake_each_other_by_their_drops() {
    struct Wakes(Arc<Mutex<Vec<Waker>>>);
    impl Drop for Wakes {
        fn drop(&mut self) {
            let wakers = self.0.lock().unwrap().clone();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
    for _ in 0..100 {
        let threads = Threads::default();
        let executor = executor(2);
        let wakers = Arc::<Mutex<Vec<Waker>>>::default();
        for worker in [0, 1] {
            let (threads, wakers) = (threads.clone(), wakers.clone());
            let spawned = executor.spawn_on(worker, async move {
                for _ in 0..10 {
                    let (guard, wakes) = (threads.guard(), Wakes(wakers.clone()));
                    let mut polled = false;
                    spawn_local(poll_fn(move |cx| {
                        let (_guard, wakes) = (&guard, &wakes);
                        if !std::mem::replace(&mut polled, true) {
                            wakes.0.lock().unwrap().push(cx.waker().clone());
                        }
                        Poll::<()>::Pending
                    }))
                    .detach();
                }
            });
            block_on(spawned);
        }
        wait_until(|| wakers.lock().unwrap().len() >= 20);
        drop(executor);
        threads.assert_all_at_home(Some(20));
        wakers.lock().unwrap().clear();
    }
}

#[test]
fn a_pinned_task_for_a_worker_that_has_left_is_dropped() {
    let (left, has_left) = mpsc::channel();
    let executor = built(2, |builder| {
        builder.on_thread_stop(move |worker| left.send(worker).unwrap_or_default())
    });
    let (give, given) = mpsc::channel::<Executor>();
    let spawns = executor.spawn_on(0, async move {
        // The others leave without this worker, whose poll waits for them.
        drop(given.recv().unwrap());
        assert_eq!(has_left.recv(), Ok(1));
        [TaskBuilder::new().on_worker(1).spawn(async {})]
    });
    give.send(executor).unwrap();
    block_on(spawns).into_iter().for_each(assert_cancelled);
}

#[test]
fn an_executor_that_cannot_be_started_drops_what_its_first_workers_were_given() {
    let threads = Threads::default();
    let (given, is_given) = mpsc::channel();
    let is_given = Mutex::new(is_given);
    let builder = Executor::builder()
        .workers(3)
        .thread_name(move |worker| {
            if worker == 2 {
                // The first two have begun, and have tasks.
                let is_given = is_given.lock().unwrap();
                (0..2).for_each(|_| is_given.recv().unwrap());
                return "not\0a name".into();
            }
            "a name".into()
        })
        .on_thread_start({
            let threads = threads.clone();
            move |_| {
                spawn_local(threads.never()).detach();
                // For one that will never come.
                TaskBuilder::new()
                    .on_worker(2)
                    .spawn(pending::<()>())
                    .detach();
                let high = TaskBuilder::new().priority(Priority::High);
                high.spawn(pending::<()>()).detach();
                given.send(()).unwrap();
            }
        });
    panics(|| builder.build());
    threads.assert_all_at_home(Some(2));
    // Nothing is left that holds the hook.
    assert_eq!(Arc::strong_count(&threads.0), 1);
}

#[test]
fn pinned_tasks_are_spawned_and_woken_from_all_sides() {
    let executor = executor(3);
    thread::scope(|scope| {
        for worker in 0..3 {
            let executor = &executor;
            scope.spawn(move || {
                for i in 0..2_000 {
                    let (sender, receiver) = oneshot::channel();
                    let pinned = executor.spawn_on(worker, async move {
                        let got: usize = receiver.await.unwrap();
                        (got, current_worker().unwrap())
                    });
                    let sends =
                        executor.spawn_on((worker + i) % 3, async move { sender.send(i).unwrap() });
                    assert_eq!(block_on(pinned), (i, worker));
                    block_on(sends);
                }
            });
        }
    });
    assert_eq!(executor.metrics().finished, 12_000);
}

#[test]
#[cfg_attr(miri, ignore = "the queues of another crate make pointers of integers")]
fn a_task_knows_the_line_of_its_caller() {
    let executor = executor(1);
    let handle = executor.spawn(pending::<()>());
    assert_eq!(handle.spawned().line(), line!() - 1);
    block_on(executor.spawn(async {
        let handle = spawn(pending::<()>());
        assert_eq!(handle.spawned().line(), line!() - 1);
    }));
}
