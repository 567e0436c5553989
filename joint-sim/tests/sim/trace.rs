//! The trace of a run, its file for Perfetto, and the digest.

use std::collections::BTreeMap;

use joint::oneshot;
use joint_executor::{Priority, join_async};
use joint_flow::shared;
use joint_sim::{
    Trace,
    net::{TcpListener, TcpStream, UdpSocket},
};

use crate::{faults, prelude::*, services};

const HOUR: Duration = Duration::from_secs(3_600);

fn named<F>(name: &'static str, future: F) -> joint::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    TaskBuilder::new().name(name).spawn(future)
}

/// A writer that sleeps and sends, and a reader that waits for it.
async fn hands_over() {
    let (sender, receiver) = oneshot::channel();
    let reader = named("reader", async move { receiver.await.unwrap() });
    let writer = named("writer", async move {
        yield_now().await;
        sleep(3 * MILLI).await;
        sender.send(7).unwrap();
    });
    let never = named("never", pending::<()>());
    writer.await;
    assert_eq!(reader.await, 7);
    drop(never);
}

fn trace_of(future: impl Future<Output = ()>) -> Trace {
    let run = Builder::new(1).scheduler(Scheduler::RoundRobin).trace(true);
    run.run(future).unwrap().trace.unwrap()
}

#[test]
fn the_file_for_perfetto_is_json_and_its_arrows_are_paired() {
    let trace = trace_of(async {
        hands_over().await;
        let mut set = JoinSet::new();
        for n in 0..20 {
            set.spawn(sleep(n % 3 * MILLI));
        }
        while set.join_next().await.is_some() {}
    });
    let mut json = Vec::new();
    trace.write_perfetto(&mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let of = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    // Microseconds with three decimals, as whole nanoseconds.
    let nanos = |value: &serde_json::Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let mut slices = BTreeMap::new();
    for slice in of("X") {
        let (begins, length) = (nanos(&slice["ts"]), nanos(&slice["dur"]));
        assert!(length > 0);
        let track = slice["tid"].as_u64().unwrap();
        let before = slices.insert((track, begins), begins + length);
        assert!(before.is_none(), "one slice at a time");
    }
    let begins_a_slice = |event: &serde_json::Value| {
        let key = (event["tid"].as_u64().unwrap(), nanos(&event["ts"]));
        slices.contains_key(&key)
    };
    let mut arrows = BTreeMap::new();
    for start in of("s") {
        assert!(begins_a_slice(start), "{start}");
        let before = arrows.insert(start["id"].as_u64().unwrap(), nanos(&start["ts"]));
        assert!(before.is_none());
    }
    assert!(arrows.len() > 40);
    for end in of("f") {
        assert!(begins_a_slice(end), "{end}");
        let start = arrows.remove(&end["id"].as_u64().unwrap()).unwrap();
        assert!(start < nanos(&end["ts"]));
    }
    assert!(arrows.is_empty());
    let names: Vec<_> = of("M").map(|event| event["args"]["name"].clone()).collect();
    assert!(names.contains(&"timers".into()) && names.contains(&"task 1 reader".into()));
}

/// Wakes and spawns when it is dropped, which during a shutdown is an order that shows.
struct Last {
    executor: Arc<Executor>,
    depth: usize,
    wakes: Option<shared::Sender<()>>,
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(sender) = self.wakes.take() {
            sender.send(());
        }
        if self.depth > 0 {
            let next = Last {
                executor: self.executor.clone(),
                depth: self.depth - 1,
                wakes: None,
            };
            let high = self.executor.task().priority(Priority::High);
            high.spawn_detached(async move {
                let _next = next;
                sleep(HOUR).await;
            });
        }
    }
}

/// Uses whatever could let an address, a real time or the past of the thread into a decision.
async fn everything() {
    let (other, executor) = (executor(2), Arc::new(executor(3)));
    for n in 0..200_usize {
        let (wakes, woken) = shared::channel();
        let last = Last {
            executor: executor.clone(),
            depth: n % 5,
            wakes: Some(wakes),
        };
        let waits = async move {
            let _last = last;
            if n % 4 == 0 {
                sleep(Duration::from_millis(sim::random() % 8)).await;
            }
            sleep(HOUR).await;
        };
        let builder = match n % 3 {
            0 => other.task(),
            _ => TaskBuilder::new(),
        };
        let builder = match n % 4 {
            0 => builder.priority(Priority::High),
            1 => builder.on_worker(n % 2),
            _ => builder,
        };
        builder.spawn_detached(waits);
        spawn_detached(async move { _ = woken.await });
    }
    faults::program().await;
    services::repaired().await;
    let local = spawn(async { spawn_local(async { 2 }).await });
    let scope = async_scope(vec![1; 64], async |scope| {
        join(scope.env().iter().map(|_| scope.spawn(yield_now()))).await;
    });
    join_async(scope, local).await;
    drop(other);
    sleep(MILLI).await;
}

/// Runs out of the budget of its first poll, if there is one.
async fn many_at_once() {
    let mut ticks = interval(MILLI);
    ticks.tick().await;
    sleep(1000 * MILLI).await;
    for _ in 0..500 {
        ticks.tick().await;
    }
    spawn(yield_now()).await;
}

#[test]
fn a_run_does_not_depend_on_what_the_thread_did_before() {
    let steps = || Builder::new(1).run(many_at_once()).unwrap().steps;
    let first = std::thread::spawn(move || (steps(), steps()))
        .join()
        .unwrap();
    assert_eq!(first.0, first.1);
    // Another run leaves another rest of its last budget.
    sim::run(1, async { spawn(async { sleep(MILLI).await }).await });
    assert_eq!(steps(), first.0);
}

/// A program whose digest is compared on every machine that runs these tests.
async fn pinned() -> u64 {
    let mut sum = 0;
    let executor = executor(3);
    let mut set = JoinSet::new();
    for n in 0..30_u64 {
        set.spawn(async move {
            sleep(Duration::from_micros(sim::random() % 1_000)).await;
            yield_now().await;
            n
        });
        let high = executor.task().priority(Priority::High);
        high.spawn_detached(sleep(HOUR));
    }
    while let Some(n) = set.join_next().await {
        sum += n.unwrap();
    }
    let mut ticks = interval(MILLI);
    for _ in 0..3 {
        ticks.tick().await;
        sum += u64::from(timeout(MILLI, hands_over()).await.is_err());
    }
    drop(executor);
    sum
}

#[test]
fn digests_are_the_same_on_every_machine_and_in_every_build() {
    // If a change of the crate moves these on purpose, put the new ones here.
    let digest = |seed| Builder::new(seed).run(pinned()).unwrap().digest;
    let digests = [0, 1, 2].map(|seed| format!("{:016x}", digest(seed)));
    let expected = ["fe3023437ac7dd01", "6153a21a312653bc", "8c88f7c3fb0141b2"];
    assert_eq!(digests, expected);
}

#[test]
fn each_process_sees_the_same_events() {
    let print = || {
        for seed in 0..4 {
            let run = Builder::new(seed).trace(true).faults(Faults::all());
            let outcome = run.run(everything()).unwrap();
            println!("{}{:016x}", outcome.trace.unwrap(), outcome.digest);
        }
    };
    // Each process has another layout of its memory, and other random state.
    let events = |padding: usize| {
        let pads = |command: &mut Command| _ = command.env("JOINT_TEST_PADS", "x".repeat(padding));
        let text = in_process(pads, print)?;
        let events = text.lines().filter(|line| !line.starts_with("test result"));
        Some(events.map(str::to_owned).collect::<Vec<_>>())
    };
    let Some(first) = events(1) else { return };
    assert!(first.len() > 4_000, "{}", first.len());
    for again in [100, 5_000, 20_000].map(events).map(Option::unwrap) {
        let differs = first.iter().zip(&again).find(|(one, other)| one != other);
        assert_eq!(differs, None);
        assert_eq!(first.len(), again.len());
    }
}

/// The report of a failure without its last steps, and without the columns of places.
fn report(failure: &sim::Failure) -> Vec<String> {
    let report = failure.to_string();
    let told = report.lines().take_while(|line| *line != "the last steps:");
    let place = |line: &str| match line.split_once(file!()) {
        Some((before, after)) => {
            let after = after.split_once(", ").map_or("", |(_, after)| after);
            format!("{before}HERE, {after}")
        }
        None => line.to_owned(),
    };
    told.map(place).collect()
}

#[test]
fn a_deadlock_names_executors_and_blocked_workers() {
    let failure = Builder::new(1).scheduler(Scheduler::RoundRobin).run(async {
        let executor = executor(1);
        let blocks = async {
            sleep(MILLI).await;
            block_on(spawn(async { 1 }))
        };
        let blocks = executor.task().name("blocks").spawn(blocks);
        let joins = named("joins", blocks);
        named("other", pending::<()>()).detach();
        joins.await
    });
    let expected = [
        "the simulation with seed 1 failed in step 5, at 1ms: deadlock: nothing can run, and no \
         timer is armed",
        "the main future waits since 0ns for task 2 to end",
        "the tasks that have not ended:",
        "  task 2 \"joins\" of executor 0, spawned at HERE, waits since 0ns for task 1 to end; \
         it ran last in step 2, woken by main",
        "  task 1 \"blocks\" of executor 1, spawned at HERE, waits since 1ms; \
         it ran last in step 5, woken by a timer",
        "  task 4 of executor 1, spawned at HERE, is ready, but each worker that may run it is \
         blocked, since 1ms; it has never run",
        "  worker 0 of executor 1 is blocked in a poll of task 1",
        "the simulation does not wait for what is outside of it: threads of `std`, executors that \
         were made outside, and descriptors",
    ];
    assert_eq!(report(&failure.unwrap_err()), expected);
}

#[test]
fn neither_a_trace_nor_a_note_is_in_the_digest() {
    let run = |traces, is_noted: bool| {
        let run = Builder::new(1).trace(traces).run(async move {
            hands_over().await;
            spawn(async move {
                if is_noted {
                    sim::note("elected");
                }
            })
            .await;
        });
        run.unwrap()
    };
    let (noted, plain, without) = (run(true, true), run(true, false), run(false, false));
    assert!(without.trace.is_none());
    assert_eq!([noted.digest, without.digest], [plain.digest; 2]);
    says(noted.trace.unwrap(), " noted: elected\n");
    let failure = Builder::new(1).run(async {
        sim::note(String::from("waits"));
        pending::<()>().await;
    });
    says(failure.unwrap_err(), "main noted: waits");
}

#[test]
fn a_report_names_the_hosts_of_tasks() {
    let failure = Builder::new(1).run(async {
        let host = sim::Host::new("store");
        host.run(|| async {
            named("flush", pending::<()>()).detach();
            let reads = || {
                block_on(sleep(SECOND));
                block_on(pending::<()>());
            };
            spawn_blocking(reads).await;
        });
        pending::<()>().await;
    });
    let failure = failure.unwrap_err();
    says(&failure, "task 1 \"store\" of host `store`, spawned at ");
    let place = " of host `store`, spawned at joint-sim/tests/sim/trace.rs:";
    says(&failure, place);
    says(&failure, ", waits since 1s");
}

#[test]
fn events_of_the_network_name_hosts_and_ports() {
    let trace = trace_of(async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        Host::new("client").run(|| async {
            let stream = TcpStream::connect("main:80").await.unwrap();
            stream.write_all(b"hello").await.unwrap();
            let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
            socket.send_to(b"hi", "main:53").await.unwrap();
            let long = [b"\0\xff\"".as_slice(), &[b'a'; 14]].concat();
            socket.send_to(&long, "main:9").await.unwrap();
            sleep(HOUR).await;
        });
        let (stream, _) = listener.accept().await.unwrap();
        let end = Host::find("client").unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        socket.recv(&mut [0; 2]).await.unwrap();
        sleep(2 * MILLI).await;
        end.kill_program();
    });
    let trace = trace.to_string();
    for event in [
        ": host `client` started\n",
        ": client:49152 connected to main:80\n",
        ": client:49152 sent 5 bytes to main:80: b\"hello\"\n",
        " bytes from client:49152: b\"",
        ": client:7 sent 2 bytes to main:53: b\"hi\"\n",
        ": main:53 received 2 bytes from client:7: b\"hi\"\n",
        ": client:7 sent 17 bytes to main:9: b\"\\x00\\xff\\\"aaaaaaaaaaaaa\"..\n",
        ": 17 bytes from client:7 to main:9 were lost: b\"\\x00\\xff\\\"aaaaaaaaaaaaa\"..\n",
        ": host `client` stopped\n",
    ] {
        says(&trace, event);
    }
    assert!(!trace.contains("10.0."), "{trace}");
}
