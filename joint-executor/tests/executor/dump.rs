//! `Executor::dump`: which tasks there are, and what each waits for.

use futures_lite::future::poll_once;
use joint_executor::{Dump, TaskDump, WaitsFor, time, waiting_for};

use crate::prelude::*;

/// Returns a dump in which so many tasks have waited, and none is queued or running.
fn settled(executor: &Executor, tasks: usize) -> Dump {
    settled_when(executor, tasks, |_| true)
}

/// The same, in which something holds.
fn settled_when(executor: &Executor, tasks: usize, holds: impl Fn(&Dump) -> bool) -> Dump {
    loop {
        let dump = executor.dump();
        let is_settled = !dump.tasks().iter().any(TaskDump::is_runnable);
        if is_settled && dump.tasks().len() == tasks && holds(&dump) {
            return dump;
        }
        thread::yield_now();
    }
}

fn has_cycle(dump: &Dump) -> bool {
    !dump.cycles().is_empty()
}

/// Asserts what the only task waits for.
#[track_caller]
fn assert_waits(dump: &Dump, is_right: fn(&[WaitsFor]) -> bool) {
    assert!(is_right(dump.tasks()[0].waits_for()), "{dump}");
}

/// Returns an executor that records times, and what its tasks wait for.
fn recording() -> Executor {
    built(2, Builder::record_times)
}

fn named<'a>(dump: &'a Dump, name: &str) -> &'a TaskDump {
    let mut tasks = dump.tasks().iter();
    tasks
        .find(|task| task.name() == Some(name))
        .expect("the task has waited")
}

#[test]
fn a_chain_of_five_tasks_ends_at_the_timer() {
    let executor = executor(2);
    let deadline = Instant::now() + Duration::from_secs(3600);
    let mut last = executor.task().name("0").spawn(async move {
        time::sleep_until(deadline).await;
    });
    for link in 1..5 {
        last = executor.task().name(link.to_string()).spawn(last);
    }
    let dump = settled(&executor, 5);
    assert_eq!(dump.live(), 5);
    for link in 1..5 {
        let awaited = named(&dump, &(link - 1).to_string()).id();
        let task = named(&dump, &link.to_string());
        assert_eq!(task.waits_for(), [WaitsFor::Task(awaited)]);
        assert!(task.spawned().file().ends_with("dump.rs"));
    }
    let [WaitsFor::Timer(due)] = named(&dump, "0").waits_for() else {
        panic!("the last task waits for its timer alone: {dump}");
    };
    assert_eq!(*due, deadline);
    assert!(dump.cycles().is_empty());
    let text = dump.to_string();
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert_eq!(lines[0], "5 of 5 tasks have waited");
    assert!(lines[1].starts_with("task \"4\" ("), "{text}");
    assert_contains(lines[6], "waits for a timer that is due in 3");
    drop(last);
}

/// A task that awaits the handle that it is sent.
fn awaits_what_it_is_sent(
    executor: &Executor,
    name: &'static str,
) -> (JoinHandle<()>, oneshot::Sender<JoinHandle<()>>) {
    let (sender, receiver) = oneshot::channel();
    let future: Boxed<()> = Box::pin(async { receiver.await.expect("a handle is sent").await });
    (executor.task().name(name).spawn(future), sender)
}

#[test]
fn tasks_that_await_each_other_are_a_cycle() {
    let executor = executor(2);
    let (first, to_first) = awaits_what_it_is_sent(&executor, "first");
    let (second, to_second) = awaits_what_it_is_sent(&executor, "second");
    let (third, to_third) = awaits_what_it_is_sent(&executor, "third");
    let _free = executor.task().name("free").spawn(pending::<()>());
    let dump = settled(&executor, 4);
    assert!(dump.cycles().is_empty());
    let waits_for = named(&dump, "first").waits_for();
    assert_eq!(waits_for, [WaitsFor::Others(1)], "the channel");
    assert_eq!(named(&dump, "free").waits_for(), [], "nobody has its waker");
    to_first.send(second).unwrap();
    to_second.send(third).unwrap();
    to_third.send(first).unwrap();
    let dump = settled_when(&executor, 4, has_cycle);
    let cycles = dump.cycles();
    assert_eq!(cycles.len(), 1);
    let names: Vec<_> = cycles[0].iter().map(|task| task.name().unwrap()).collect();
    let begin = names.iter().position(|&name| name == "first").unwrap();
    let (before, after) = names.split_at(begin);
    assert_eq!([after, before].concat(), ["first", "second", "third"]);
    let text = dump.to_string();
    assert_eq!(text.matches("none will end\n").count(), 1, "{text}");
    assert_eq!(text.matches(": see above").count(), 1, "{text}");
    assert_contains(&text, "has no waker, and so waits for ever");
}

#[test]
fn a_chain_of_many_tasks_is_written_without_recursion() {
    let executor = executor(1);
    let mut last = executor.spawn(pending::<()>());
    for _ in 1..20_000 {
        last = executor.spawn(last);
    }
    let text = settled(&executor, 20_000).to_string();
    assert_eq!(text.lines().count(), 20_002);
    drop(last);
}

#[test]
fn a_task_that_runs_is_not_said_to_wait() {
    let executor = executor(1);
    let (entered, is_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let mut polls = 0;
    let task = executor.spawn(poll_fn(move |cx| {
        polls += 1;
        if polls == 1 {
            let waker = cx.waker().clone();
            entered.send(waker).unwrap();
            return Poll::Pending;
        }
        may_leave.recv().unwrap();
        Poll::Ready(())
    }));
    let waker = is_entered.recv().unwrap();
    let dump = settled(&executor, 1);
    assert_eq!(dump.tasks()[0].waits_for(), [WaitsFor::Others(1)]);
    waker.wake();
    let dump = executor.dump();
    assert!(dump.tasks()[0].is_runnable());
    assert_eq!(dump.tasks()[0].waits_for(), []);
    assert!(dump.to_string().contains("is queued or running"));
    leave.send(()).unwrap();
    block_on(task);
}

/// A dump says what the descriptor is that a task waits for.
#[cfg(all(unix, feature = "io"))]
#[test]
fn a_dump_says_which_descriptor() {
    use joint_executor::io::{TcpListener, TcpStream, UdpSocket, pipe};

    let executor = executor(1);
    let (reader, _writer) = executor.enter(|| pipe().unwrap());
    let (listener, udp, client, peer, _server) = executor.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let client = TcpStream::connect(at).await.unwrap();
        let (server, peer) = listener.accept().await.unwrap();
        (listener, udp, client, peer, server)
    });
    let (at, udp_at) = (listener.local_addr().unwrap(), udp.local_addr().unwrap());
    let waits: [(&'static str, Boxed<()>); 4] = [
        (
            "pipe",
            Box::pin(async move { drop(reader.read(&mut [0]).await) }),
        ),
        (
            "listener",
            Box::pin(async move { drop(listener.accept().await) }),
        ),
        (
            "udp",
            Box::pin(async move { drop(udp.recv(&mut [0]).await) }),
        ),
        (
            "tcp",
            Box::pin(async move { drop(client.read(&mut [0]).await) }),
        ),
    ];
    let _tasks = waits.map(|(name, wait)| executor.task().name(name).spawn(wait));
    let dump = settled(&executor, 4);
    let is = |name| match named(&dump, name).waits_for() {
        [WaitsFor::Readable(number)] => dump.descriptor(*number),
        waits => panic!("{waits:?}"),
    };
    assert_eq!(is("listener"), Some(&*format!("TCP {at}")));
    assert_eq!(is("udp"), Some(&*format!("UDP {udp_at}")));
    assert_eq!(is("tcp"), Some(&*format!("TCP {peer} to {at}")));
    assert_contains(&dump, &format!(" (TCP {peer} to {at}) to be readable"));
    if cfg!(target_os = "linux") {
        assert!(is("pipe").unwrap().starts_with("pipe:["), "{dump}");
    }
    assert_eq!(dump.descriptor(u64::MAX), None);
}

#[cfg(all(unix, feature = "io", feature = "serde"))]
#[test]
fn a_dump_and_counts_are_json() {
    use joint_executor::io::UnixStream;
    use serde_json::{Value, json, to_value};
    use std::os::fd::AsRawFd;

    let executor = recording();
    let (reader, _writer) = executor.enter(|| UnixStream::pair().unwrap());
    let number = reader.as_raw_fd();
    let first = executor.task().name("first").spawn(async move {
        drop(time::timeout(HOUR, reader.read(&mut [0])).await);
    });
    let id = first.id().get().get();
    let last = executor.spawn(waiting_for("the end", first));
    let dump = settled(&executor, 2);
    let mut all = to_value(&dump).unwrap();
    assert_eq!(all["live"], 2);
    let tasks = all["tasks"].as_array_mut().unwrap();
    tasks.sort_by_key(|task| task["name"].is_null());
    let [first, second] = &mut tasks[..] else {
        panic!("two have waited")
    };
    let due_in = first["waits_for"][0]["timer"]["due_in"].take();
    assert!(
        (3500.0..=3600.0).contains(&due_in.as_f64().unwrap()),
        "{due_in}"
    );
    let is = json!({"descriptor": number, "is": "Unix socket"});
    let waits = json!([{"timer": {"due_in": null}}, {"readable": is}]);
    assert_eq!((&first["id"], &first["waits_for"]), (&json!(id), &waits));
    assert_eq!(
        (&first["name"], &first["is_runnable"]),
        (&json!("first"), &json!(false))
    );
    assert_contains(&first["spawned"], file!());
    assert_contains(&dump, ", polled once, ");
    assert_eq!(first["times"]["polls"], 1);
    assert!(first["times"]["spawned_ago"].as_f64() >= first["times"]["polled_ago"].as_f64());
    assert_contains(&second["waits_for"], "\"what\":\"the end\"");
    assert_eq!(
        to_value(&dump.tasks()[0]).unwrap()["name"],
        json!(dump.tasks()[0].name())
    );

    drop(last);
    let metrics: Value = to_value(executor.metrics()).unwrap();
    assert_eq!(metrics["spawned"], 2);
    assert_eq!(metrics["workers"].as_array().unwrap().len(), 2);
    assert!(metrics["workers"][0]["polls"].is_u64());
}

#[test]
fn a_wait_that_is_told_is_shown_until_it_is_over() {
    let executor = executor(1);
    let (sender, receiver) = oneshot::channel::<()>();
    let (to_second, second) = oneshot::channel::<()>();
    let task = executor.spawn(async {
        waiting_for("the first", receiver).await.unwrap();
        waiting_for("the second", second).await.unwrap();
        pending::<()>().await;
    });
    let dump = settled(&executor, 1);
    let [WaitsFor::Told("the first", place)] = dump.tasks()[0].waits_for() else {
        panic!("the task has told it: {dump}");
    };
    assert_contains(&dump, &format!("waits for the first, at {place}"));
    sender.send(()).unwrap();
    wait_until(|| executor.dump().to_string().contains("the second"));
    assert!(!executor.dump().to_string().contains("the first"));
    to_second.send(()).unwrap();
    wait_until(|| executor.dump().tasks()[0].waits_for().is_empty());
    drop(task);
}

/// Spawns a task that waits for a lock a second time, and keeps its first wait.
fn waits_again(executor: &Executor) -> (JoinHandle<()>, async_lock::MutexGuardArc<()>) {
    let lock = Arc::new(async_lock::Mutex::new(()));
    let held = lock.try_lock_arc().unwrap();
    let (aside, is_aside) = mpsc::channel();
    let task = executor.spawn(async move {
        let mut first = Box::pin(waiting_for("first", lock.lock()));
        assert!(poll_once(&mut first).await.is_none());
        aside.send(()).unwrap();
        lock.lock().await;
    });
    is_aside.recv().unwrap();
    (task, held)
}

/// A lock is handed to a wait that its own task has put aside (the futurelock of RFD 609).
#[test]
fn a_future_that_was_woken_and_put_aside_snoozes() {
    let executor = executor(2);
    let (task, held) = waits_again(&executor);
    let dump = settled(&executor, 1);
    assert_waits(&dump, |waits| {
        matches!(waits, [WaitsFor::Told("first", _), WaitsFor::Others(1)])
    });
    drop(held);
    let snoozes = |dump: &Dump| dump.to_string().contains("snoozes");
    let dump = settled_when(&executor, 1, snoozes);
    assert_waits(&dump, |waits| {
        matches!(waits, [WaitsFor::Snoozing("first", _), WaitsFor::Others(1)])
    });
    drop(task);
}

/// The next task is likely to get the memory of the one that has waited.
#[test]
fn a_wait_that_outlives_its_task_is_not_shown_with_another_one() {
    async fn hand_out(wait: Option<Boxed<()>>) -> Boxed<()> {
        let Some(mut wait) = wait else {
            return pending().await;
        };
        assert!(poll_once(&mut wait).await.is_none());
        wait
    }
    let executor = executor(1);
    let (sender, receiver) = oneshot::channel();
    let wait: Boxed<()> = Box::pin(waiting_for("a message", async { receiver.await.unwrap() }));
    let wait = block_on(executor.spawn(hand_out(Some(wait))));
    sender.send(()).unwrap();
    let tasks: Vec<_> = (0..8).map(|_| executor.spawn(hand_out(None))).collect();
    let dump = settled(&executor, tasks.len());
    let waits = dump.tasks().iter().flat_map(TaskDump::waits_for);
    assert_eq!(waits.count(), 0, "{dump}");
    block_on(wait);
}

/// Polls a future with a waker of a combinator, as `FuturesUnordered` has it.
async fn combined<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let waker = cx.waker().clone();
        let waker = waker_that(move || waker.wake());
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}

/// A set of futures polls its futures with wakers of its own.
#[test]
fn a_wait_through_a_combinators_waker_is_shown_with_its_task() {
    let executor = recording();
    let (_sender, receiver) = oneshot::channel::<()>();
    let told = executor.spawn(combined(waiting_for("a message", pending::<()>())));
    assert_waits(&settled(&executor, 1), |waits| {
        matches!(waits, [WaitsFor::Told("a message", _), WaitsFor::Others(1)])
    });
    block_on(told.cancel());
    let task = executor.spawn(combined(receiver));
    assert_waits(&settled(&executor, 1), |waits| {
        matches!(waits, [WaitsFor::Oneshot(_), WaitsFor::Others(1)])
    });
    drop(task);
}

/// A dump cannot tell a join from a select, whose task the timer may wake.
#[test]
fn a_cycle_whose_task_has_another_wait_is_not_said_to_last() {
    let executor = executor(1);
    let (first, to_first) = awaits_what_it_is_sent(&executor, "first");
    let second: Boxed<()> =
        Box::pin(async { _ = time::timeout(Duration::from_secs(3600), first).await });
    let second = executor.task().name("second").spawn(second);
    to_first.send(second).unwrap();
    let dump = settled_when(&executor, 2, has_cycle);
    let text = dump.to_string();
    assert_contains(
        &text,
        "none will end unless one goes on by what else it waits for",
    );
}

#[test]
fn a_task_that_waits_for_a_join_set_awaits_each_task_of_it() {
    let executor = recording();
    let (first, to_first) = awaits_what_it_is_sent(&executor, "first");
    let second = executor.task().name("second").spawn(first);
    let third = executor.task().name("third").spawn(pending());
    let (detach, may_detach) = oneshot::channel::<()>();
    let server = executor.task().name("server").spawn(async {
        let mut set = JoinSet::from_iter([second, third]);
        let next = async { _ = set.join_next().await };
        let end = async { _ = waiting_for("the end", may_detach).await };
        let mut kept = Vec::new();
        let other = poll_fn(move |cx| {
            kept.clear();
            kept.push(cx.waker().clone());
            Poll::Pending
        });
        futures_lite::future::or(other, futures_lite::future::or(next, end)).await;
        set.detach_all();
        pending::<()>().await;
    });
    let dump = settled(&executor, 4);
    let [first, second, third, waits] =
        ["first", "second", "third", "server"].map(|name| named(&dump, name));
    assert_eq!(second.waits_for(), [WaitsFor::Task(first.id())]);
    let [
        WaitsFor::Task(one),
        WaitsFor::Task(other),
        WaitsFor::Told("the end", _),
        WaitsFor::Oneshot(_),
        WaitsFor::Others(1),
    ] = waits.waits_for()
    else {
        panic!("the set, the end and another have a waker of its each: {dump}");
    };
    assert!([(second.id(), third.id()), (third.id(), second.id())].contains(&(*one, *other)));
    assert!(dump.cycles().is_empty());

    detach.send(()).unwrap();
    wait_until(|| {
        let dump = executor.dump();
        let server = named(&dump, "server");
        !server.is_runnable() && server.waits_for().is_empty()
    });
    drop(to_first);
    drop(server);
}

#[test]
fn a_task_names_the_oneshot_that_it_waits_for_until_it_goes_on() {
    let executor = recording();
    let (sender, receiver) = oneshot::channel::<u32>();
    let (mut to_nobody, closes) = oneshot::channel::<u64>();
    let task = executor.spawn(async move {
        receiver.await.unwrap();
        to_nobody.closed().await;
        // One that is polled, and given up.
        let (_open, mut given_up) = oneshot::channel::<()>();
        assert!(poll_once(&mut given_up).await.is_none());
        drop(given_up);
        pending::<()>().await;
    });
    let waits_at = |poll: u64| {
        let polls = |dump: &Dump| dump.tasks()[0].times().unwrap().polls;
        settled_when(&executor, 1, |dump| polls(dump) == poll)
    };
    let names = |poll: u64, end: &str| {
        let dump = waits_at(poll);
        let [WaitsFor::Oneshot(name)] = dump.tasks()[0].waits_for() else {
            panic!("it waits for a oneshot: {dump}");
        };
        assert!(name.ends_with(end), "{name}");
        let line = format!("waits for the other end of a {name}\n");
        assert_contains(&dump, &line);
    };
    names(1, "Receiver<u32>");
    sender.send(1).unwrap();
    names(2, "Sender<u64>");
    drop(closes);
    assert_eq!(waits_at(3).tasks()[0].waits_for(), []);
    drop(task);
}
