//! What belongs to a whole process: its environment, its panic hook, its descriptors, its global
//! executor, and its end. Each test runs in a process of its own.

use joint_executor::task;

use crate::prelude::*;

#[test]
fn the_environment_sets_the_number_of_workers() {
    let rows: [(&str, &[&str]); 4] = [
        ("3", &["by default: Ok(3)"]),
        (
            "many",
            &[
                "`JOINT_WORKERS` is ",
                "many",
                "not a number of workers",
                "set: Ok(2)",
            ],
        ),
        ("0", &["an executor needs at least one worker"]),
        ("32768", &["at most 32767 workers"]),
    ];
    for (workers, expected) in rows {
        let said = in_process(
            |command| _ = command.env("JOINT_WORKERS", workers),
            || {
                let workers = |builder: Builder| builder.build().map(|built| built.workers());
                println!("by default: {:?}", workers(Executor::builder()));
                println!("set: {:?}", workers(Executor::builder().workers(2)));
            },
        );
        let Some(said) = said else { return };
        expected
            .iter()
            .for_each(|part| assert_contains(&said, part));
    }
}

#[test]
fn a_panic_names_its_task() {
    let said = in_process(
        |_| {},
        || {
            task::set_panic_hook();
            let named = TaskBuilder::new().name("flush");
            let named = named.spawn(async { panic!("one") });
            assert!(block_on(named.result()).is_err());
            assert!(block_on(spawn(async { panic!("two") }).result()).is_err());
            panics(|| panic!("three"));
        },
    );
    let Some(said) = said else { return };
    let lines: Vec<_> = said.lines().filter(|line| !line.is_empty()).collect();
    // The line before the one of the hook that was there before.
    let before = |message: &str| {
        let at = lines.iter().position(|line| *line == message);
        let hook = at.expect(&said) - 1;
        assert!(lines[hook].contains("panicked at"), "{said}");
        lines[hook - 1]
    };
    let is_named = before("one").starts_with("The task `flush` spawned at ");
    assert!(is_named && before("one").ends_with(" panics:"), "{said}");
    assert!(before("two").starts_with("The task spawned at "), "{said}");
    assert!(!before("three").contains("panics:"), "{said}");
}

/// The other end of the program's standard error, as which it keeps the bounds of writes.
#[cfg(unix)]
fn stderr_as_datagrams() -> std::os::unix::net::UnixDatagram {
    use std::os::fd::AsRawFd;

    let (here, stderr) = std::os::unix::net::UnixDatagram::pair().unwrap();
    // SAFETY: it asks for nothing.
    let duplicated = unsafe { libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) };
    assert_eq!(duplicated, libc::STDERR_FILENO);
    here
}

#[cfg(unix)]
#[test]
fn a_panic_names_its_task_in_one_write() {
    alone(|| {
        task::set_panic_hook();
        let stderr = stderr_as_datagrams();
        let named = TaskBuilder::new().name("flush");
        let named = named.spawn(async { panic!("one") });
        assert!(block_on(named.result()).is_err());
        let mut buffer = [0; 256];
        let count = stderr.recv(&mut buffer).unwrap();
        let line = std::str::from_utf8(&buffer[..count]).unwrap();
        assert!(line.starts_with("The task `flush` spawned at "), "{line}");
        assert!(line.ends_with(" panics:\n"), "{line}");
    });
}

#[test]
fn ids_begin_at_1() {
    alone(|| {
        let ids = [(); 3].map(|()| spawn(async {}).id().get().get());
        assert_eq!(ids, [1, 2, 3]);
    });
}

/// Each of two tasks waits for a task that is queued, and no worker is left to run one.
#[cfg(not(miri))]
#[test]
fn blocked_workers_are_reported_while_tasks_are_queued() {
    use std::{
        io::{BufRead, BufReader},
        process::Stdio,
    };

    let hang = || {
        let executor = executor(2);
        let both = Arc::new(Barrier::new(2));
        let waits = [(); 2].map(|()| {
            let (both, handle) = (both.clone(), executor.handle());
            let task = async move {
                both.wait();
                block_on(handle.spawn(async {}));
            };
            executor.task().name("waits").spawn(task)
        });
        waits.into_iter().for_each(block_on);
    };
    let Some(mut program) = own_process(&hang) else {
        return hang();
    };
    let program = program.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = program.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let report = lines.find_map(|line| line.ok().filter(|line| line.starts_with("joint: ")));
    child.kill().unwrap();
    child.wait().unwrap();
    let report = report.expect("the program hangs, and says why");
    for part in [
        "all workers (2) have been blocked",
        "by the task `waits` spawned at ",
        "process.rs:",
    ] {
        assert_contains(&report, part);
    }
}

/// The driver of the global executor, which nothing has used yet.
#[cfg(feature = "io")]
#[test]
fn the_driver_is_used_first_when_every_worker_is_blocked() {
    alone(|| {
        ends(|| {
            let workers = Executor::global().workers();
            let (begin, begun) = mpsc::channel();
            let block = |_| {
                let (sender, receiver) = oneshot::channel::<()>();
                let begin = begin.clone();
                let task = spawn(async move {
                    begin.send(()).unwrap();
                    receiver.blocking_recv().unwrap();
                });
                (sender, task)
            };
            let blocked: Vec<_> = (0..workers).map(block).collect();
            (0..workers).for_each(|_| begun.recv().unwrap());
            // No worker, so it is the global executor's.
            block_on(sleep(MILLI));
            for (sender, task) in blocked {
                sender.send(()).unwrap();
                block_on(task);
            }
        });
    });
}

/// One to wait, one to interrupt the wait, and one to end it at a deadline.
#[cfg(all(target_os = "linux", feature = "io"))]
#[test]
fn an_executor_with_descriptors_holds_three_of_its_own() {
    use std::{collections::BTreeMap, net::UdpSocket};

    /// How many of each kind this process has open, without the directory that is being read.
    fn open() -> BTreeMap<String, usize> {
        let mut open = BTreeMap::new();
        for fd in fs::read_dir("/proc/self/fd").unwrap() {
            let target = fs::read_link(fd.unwrap().path()).unwrap();
            let target = target.to_str().unwrap();
            // Sockets and pipes have numbers.
            let kind = target.replace(|char: char| char.is_ascii_digit(), "");
            if !target.starts_with("/proc/") {
                *open.entry(kind).or_default() += 1;
            }
        }
        open
    }

    alone(|| {
        let before = open();
        let executor = executor(2);
        block_on(executor.spawn(sleep(MILLI)));
        assert_eq!(open(), before, "none for tasks and timers alone");

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut expected = open();
        let socket = block_on(executor.spawn(async { AsyncFd::new(socket) })).unwrap();
        for kind in ["[eventpoll]", "[eventfd]", "[timerfd]"] {
            *expected.entry(format!("anon_inode:{kind}")).or_default() += 1;
        }
        assert_eq!(open(), expected);
        drop((socket, executor));
        assert_eq!(open(), before, "the executor has closed its own");
    });
}

#[cfg(all(feature = "io", not(miri)))]
#[test]
fn the_global_executor_is_not_built_by_a_host() {
    alone(|| {
        let entered = hosted::enter(Arc::<crate::strangers::scope::Refuses>::default());
        let global = Executor::global();
        drop(entered);
        assert_eq!(block_on(global.spawn(async { 5 })), 5);
    });
}

/// `exit` destroys the caller's thread-locals under the poll.
#[cfg(unix)]
#[test]
fn a_task_can_end_the_program() {
    use std::process::exit;

    use crate::child::in_child;

    thread_local! {
        static LOCAL: LocalExecutor = LocalExecutor::new();
        static EXECUTOR: Executor = executor(2);
        static WORKER: RefCell<Option<(Executor, BoundWorker)>> = const { RefCell::new(None) };
    }

    // With a local executor in a thread-local.
    let local: [fn(&LocalExecutor); 4] = [
        |local| {
            local.spawn_detached(async { exit(0) });
            local.block_on(pending::<()>());
        },
        |local| {
            local.block_on(async {
                yield_now().await;
                exit(0)
            })
        },
        |local| {
            local.spawn_detached(async { exit(0) });
            while local.try_tick() {}
        },
        // In a task that has run another one itself.
        |local| {
            local.spawn_detached(async {
                LOCAL.with(|local| local.spawn_detached(async {}));
                while LOCAL.with(|local| local.try_tick()) {}
                exit(0)
            });
            while local.try_tick() {}
        },
    ];
    // The caller's executor ends with the program, and its tasks with it.
    let threads: [fn(&Executor); 4] = [
        |_| block_on(async { exit(0) }),
        |executor| block_on(executor.spawn(async { exit(0) })),
        |executor| block_on(executor.spawn(async { spawn_local(async { exit(0) }).await })),
        |executor| executor.install(|| join(|| exit(0), || exit(0)).0),
    ];
    let hosted: [fn(&mut BoundWorker); 4] = [
        |worker| _ = worker.step(10, Waker::noop()),
        |worker| worker.take_queued(|_| exit(0)),
        |worker| worker.block_on(async { spawn_local(async { exit(0) }).await }),
        |worker| worker.enter(|| exit(0)),
    ];
    alone(|| {
        for way in local {
            in_child(|| {
                LOCAL.with(|local| {
                    local.spawn_detached(pending::<()>());
                    way(local);
                    unreachable!("the program has ended");
                });
            });
        }
        for way in threads {
            in_child(|| {
                EXECUTOR.with(|executor| {
                    executor.spawn_detached(pending::<()>());
                    way(executor);
                    unreachable!("the program has ended");
                });
            });
        }
        for way in hosted {
            in_child(|| {
                WORKER.with_borrow_mut(|worker| {
                    let (_, worker) = worker.insert(current_thread());
                    worker.enter(|| {
                        spawn_local(pending::<()>()).detach();
                        spawn_local(async { exit(0) }).detach();
                    });
                    way(worker);
                    unreachable!("the program has ended");
                });
            });
        }
        // On its own executor in a worker's thread-local.
        in_child(|| {
            block_on(executor(1).spawn(async {
                LOCAL.with(|local| {
                    local.spawn_detached(async { exit(0) });
                    local.block_on(pending::<()>());
                });
            }));
        });
    });
}
