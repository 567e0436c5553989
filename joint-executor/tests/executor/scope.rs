//! Scopes, through the public API: tasks that borrow, and what becomes of them when something goes
//! wrong. What must not compile stands in the documentation of `scope` and `async_scope`.

use joint_executor::Scope;

use crate::prelude::*;

/// As many as Miri runs in seconds.
const SOME: usize = if cfg!(miri) { 5 } else { 100 };
const MANY: usize = if cfg!(miri) { 10 } else { 10_000 };

/// Polls a future once, on behalf of the task that calls.
async fn poll_pending<F: Future>(mut future: Pin<&mut F>) {
    let is_pending = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending()));
    assert!(is_pending.await);
}

/// Looks at what it borrows when it is dropped: a task that outlives it is a use after free.
fn borrows(count: &AtomicUsize) -> OnDrop<impl FnMut()> {
    OnDrop(|| _ = count.fetch_add(1, Relaxed))
}

#[test]
fn tasks_that_the_end_of_the_executor_cancels_are_reported() {
    for (is_late, is_taken) in [(false, false), (false, true), (true, false), (true, true)] {
        let executor = || {
            let executor = executor(2);
            if !is_late {
                executor.shutdown_background();
            }
            executor
        };
        let blocking = || {
            let executor = executor();
            executor.scope(|s| {
                let child = s.spawn(pending::<()>());
                executor.shutdown_background();
                if is_taken {
                    assert!(block_on(child.result()).unwrap_err().is_cancelled());
                }
            });
        };
        let asynchronous = || {
            let executor = executor();
            executor.block_on(async_scope((), async |s| {
                let child = s.spawn(pending::<()>());
                executor.shutdown_background();
                if is_taken {
                    assert!(child.result().await.unwrap_err().is_cancelled());
                }
            }));
        };
        for door in [&blocking as &dyn Fn(), &asynchronous] {
            match is_taken {
                true => door(),
                false => assert!(panic_text(door).contains("its executor was shut down")),
            }
        }
    }
}

mod blocking {
    use super::*;

    /// Whoever starts a task may note its end before the scope does.
    #[test]
    fn a_task_starts_others_while_the_scope_waits() {
        let executor = executor(2);
        let rounds = if cfg!(miri) { 1 } else { 50 };
        for tasks in [SOME].repeat(rounds).into_iter().chain([MANY]) {
            let count = AtomicUsize::new(0);
            executor.scope(|s| {
                s.spawn(async {
                    for i in 0..tasks {
                        s.spawn(async { count.fetch_add(1, Relaxed) });
                        if i % 3 == 0 {
                            yield_now().await;
                        }
                    }
                });
            });
            assert_eq!(count.into_inner(), tasks);
        }
    }

    #[test]
    fn an_output_that_borrows_is_gone_before_the_scope_ends() {
        let executor = executor(2);
        for _ in 0..if cfg!(miri) { 2 } else { 500 } {
            let drops = AtomicUsize::new(0);
            executor.scope(|s| {
                s.spawn(async { borrows(&drops) });
                drop(s.spawn(async { borrows(&drops) }));
                let awaited = s.spawn(async { borrows(&drops) });
                let held = s.spawn(async { borrows(&drops) });
                s.spawn(async move {
                    yield_now().await;
                    drop(held);
                });
                drop(block_on(awaited));
            });
            assert_eq!(drops.into_inner(), 4);
        }
    }

    #[test]
    fn a_panic_of_a_task_is_the_scopes_once_all_have_ended() {
        let (executor, ended) = (executor(2), AtomicUsize::new(0));
        let text = panic_text(|| {
            executor.scope(|s| {
                s.spawn(async { panic!("child") });
                for _ in 0..10 {
                    s.spawn(async {
                        yield_now().await;
                        ended.fetch_add(1, Relaxed);
                    });
                }
            });
        });
        assert_eq!(text, "child");
        assert_eq!(ended.into_inner(), 10);
    }

    #[test]
    fn a_panic_of_the_closure_cancels_the_tasks_and_waits_for_them() {
        let (executor, drops) = (executor(2), AtomicUsize::new(0));
        let text = panic_text(|| {
            executor.scope(|s| {
                for _ in 0..10 {
                    s.spawn(hold(borrows(&drops)));
                }
                wait_until(|| executor.metrics().polls() >= 10);
                panic!("closure");
            });
        });
        assert_eq!((text.as_str(), drops.into_inner()), ("closure", 10));
    }

    /// Never two at once, which would end the program.
    #[test]
    fn a_panic_that_nobody_takes_is_the_scopes() {
        type In<'a> = &'a dyn for<'s> Fn(&'s Scope<'s, '_>);
        let panics: [(&str, In<'_>, &str); 5] = [
            (
                "a task whose handle is dropped later",
                &|s| {
                    let handle = s.spawn(async { panic!("child") });
                    wait_until(|| handle.is_finished());
                },
                "child",
            ),
            (
                "a task whose handle is leaked",
                &|s| mem::forget(s.spawn(async { panic!("child") })),
                "child",
            ),
            (
                "the drop of a future",
                &|s| {
                    let mut left = Some(Panics);
                    s.spawn(poll_fn(move |_| {
                        let _ = &mut left;
                        Poll::Ready(())
                    }));
                },
                "dropped",
            ),
            (
                "the drop of an output",
                &|s| {
                    let (sender, receiver) = oneshot::channel::<()>();
                    drop(s.spawn(async {
                        let _ = receiver.await;
                        Panics
                    }));
                    drop(sender);
                },
                "dropped",
            ),
            (
                "drops of an output and of payloads while the closure's panic unwinds",
                &|s| {
                    let handle = s.spawn(async { Panics });
                    let payloads = [(); 2].map(|()| s.spawn(async { panic_any(Panics) }));
                    wait_until(|| handle.is_finished());
                    wait_until(|| payloads.iter().all(|one| one.is_finished()));
                    panic!("closure");
                },
                "closure",
            ),
        ];
        let executor = executor(1);
        for (name, panics, expected) in panics {
            let text = panic_text(|| executor.scope(|s| panics(s)));
            assert_eq!(text, expected, "{name}");
        }
    }

    #[test]
    fn scope_on_a_worker_of_its_executor_panics_with_advice() {
        let executor = Arc::new(executor(1));
        let inside = executor.clone();
        let error = executor.spawn(async move { inside.scope(|_| ()) });
        let error = block_on(error.result()).unwrap_err().to_string();
        for part in [
            "`scope` was called on a worker",
            "use `joint_executor::async_scope` inside",
        ] {
            assert!(error.contains(part), "{error}");
        }
        wait_until(|| Arc::strong_count(&executor) <= 1);
    }
}

mod asynchronous {
    use super::*;

    /// Tells what its count was when it was dropped.
    struct Env(AtomicUsize, mpsc::Sender<usize>);

    impl Drop for Env {
        fn drop(&mut self) {
            self.1.send(*self.0.get_mut()).unwrap();
        }
    }

    #[test]
    fn tasks_start_tasks_and_scopes_are_nested() {
        let executor = executor(2);
        let sum = executor.spawn(async_scope(AtomicUsize::new(0), async |s| {
            for _ in 0..10 {
                s.spawn(async move {
                    s.spawn(async move { s.env().fetch_add(1, Relaxed) });
                    let inner = async_scope(5, async |inner| {
                        inner.spawn(async move { *inner.env() }).await
                    });
                    s.env().fetch_add(inner.await, Relaxed);
                });
            }
            s.spawn(async move {
                while s.env().load(Relaxed) < 60 {
                    yield_now().await;
                }
            })
            .await;
            s.env().load(Relaxed)
        }));
        assert_eq!(block_on(sum), 60);
    }

    #[test]
    fn an_output_that_borrows_is_dropped_before_the_environment() {
        let executor = executor(2);
        let (sender, receiver) = mpsc::channel();
        let env = Env(AtomicUsize::new(0), sender);
        let waited = executor.spawn(async_scope(env, async |s| {
            s.spawn(async move { borrows(&s.env().0) });
            let awaited = s.spawn(async move { borrows(&s.env().0) });
            let held = s.spawn(async move { borrows(&s.env().0) });
            s.spawn(async move {
                yield_now().await;
                drop(held);
            });
            drop(awaited.await);
        }));
        block_on(waited);
        assert_eq!(receiver.recv(), Ok(3));
    }

    #[test]
    fn the_last_task_of_a_dropped_scope_drops_the_environment() {
        let executor = executor(2);
        let (sender, receiver) = mpsc::channel();
        let env = Env(AtomicUsize::new(0), sender);
        let mut future = Box::pin(async_scope(env, async |s| {
            for _ in 0..10 {
                s.spawn(hold(borrows(&s.env().0)));
            }
            pending::<()>().await;
        }));
        // Polled on a worker, so that the tasks are this executor's.
        let polled = executor.spawn(async move {
            poll_pending(future.as_mut()).await;
            yield_now().await;
            drop(future);
        });
        block_on(polled);
        assert_eq!(receiver.recv(), Ok(10));
    }

    /// The tasks go on, and what they borrow stays.
    #[test]
    fn a_leaked_async_scope_keeps_the_environment_for_its_tasks() {
        let executor = executor(1);
        let (sender, receiver) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        let env = Arc::new(AtomicUsize::new(0));
        let seen = env.clone();
        let leaked = executor.spawn(async move {
            let mut future = Box::pin(async_scope(seen, async |s| {
                s.spawn(async move {
                    let borrowed: &AtomicUsize = s.env();
                    let _ = receiver.await;
                    borrowed.fetch_add(1, Relaxed);
                    done.send(()).unwrap();
                })
                .await;
            }));
            poll_pending(future.as_mut()).await;
            // As good as forgotten, and no leak to those who look for leaks.
            static FORGOTTEN: Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>> =
                Mutex::new(Vec::new());
            FORGOTTEN.lock().unwrap().push(future);
        });
        block_on(leaked);
        sender.send(()).unwrap();
        assert!(block_on(ended).is_ok());
        assert_eq!(env.load(Relaxed), 1);
        drop(executor);
        let shares = Arc::strong_count(&env);
        assert_eq!(shares, 2, "the scope's is leaked with it");
    }

    #[test]
    fn a_panic_through_the_closure_cancels_the_other_tasks() {
        let executor = executor(2);
        let env = Arc::new(AtomicUsize::new(0));
        let scope = executor.spawn(async_scope(env.clone(), async |s| {
            for _ in 0..10 {
                s.spawn(hold(borrows(s.env())));
            }
            s.spawn(async { panic_any("child") }).await
        }));
        let error = block_on(scope.result()).unwrap_err();
        assert!(error.to_string().ends_with("panicked: child"), "{error}");
        assert_eq!(env.load(Relaxed), 10, "it went on before all had ended");
    }
}

/// At each door, and hooks are called after that.
#[test]
fn a_panicking_future_is_dropped_while_its_panic_unwinds() {
    let (seen, in_hook) = (Unwound::default(), Unwound::default());
    let hook = in_hook.clone();
    let executor = built(1, |builder| {
        builder.on_end(move |_, _| hook.lock().unwrap().push(thread::panicking()))
    });
    let (body, child, local) = (seen.clone(), seen.clone(), LocalExecutor::new());
    let doors: [&mut dyn FnMut(); 7] = [
        &mut || block_on(executor.spawn(panicking(&seen))),
        &mut || local.block_on(local.spawn(panicking(&seen))),
        &mut || local.block_on(panicking(&seen)),
        &mut || block_on(local.run(panicking(&seen))),
        &mut || executor.scope(|s| drop(s.spawn(panicking(&seen)))),
        &mut || {
            let body = body.clone();
            executor.block_on(async_scope((), async |_| panicking(&body).await));
        },
        &mut || {
            let child = child.clone();
            executor.block_on(async_scope((), async |s| drop(s.spawn(panicking(&child)))));
        },
    ];
    for door in doors {
        assert_eq!(panics(door).downcast_ref(), Some(&"in poll"));
    }
    assert_eq!(*seen.lock().unwrap(), [true; 7]);
    // Of the tasks of the executor.
    assert_eq!(*in_hook.lock().unwrap(), [false; 3]);
    // The first panic is the result.
    executor.scope(|s| {
        let drops = OnDrop(|| panic!("in the future's drop"));
        let error = block_on(s.spawn(Panicking(drops)).result()).unwrap_err();
        assert!(error.to_string().ends_with("panicked: in poll"), "{error}");
    });
}
