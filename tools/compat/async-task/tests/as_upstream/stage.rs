//! The stage and the play, for any crate with this API.

/// The stage and the play, with the crate under the name `$crate_name`.
macro_rules! stage {
    ($stage:ident, $crate_name:ident) => {
        mod $stage {
            use std::{
                cell::{Cell, RefCell},
                panic::{AssertUnwindSafe, catch_unwind},
                pin::Pin,
                sync::Arc,
                task::{Context, Poll, Waker},
            };

            use $crate_name::{Builder, FallibleTask, Runnable, ScheduleInfo, Task, WithInfo};

            use crate::{
                record::{Awaiter, Dropped, NEXT_POLL, RECORD, record},
                script::{Act, Poll as Does},
            };

            type Output = Dropped;
            type Cancelling = Pin<Box<dyn Future<Output = Option<Output>>>>;

            #[derive(Default)]
            enum Handle {
                #[default]
                Gone,
                Task(Task<Output, u8>),
                Fallible(FallibleTask<Output, u8>),
                Cancelling(Cancelling),
            }

            thread_local! {
                static RUNNABLE: Cell<Option<Runnable<u8>>> = const { Cell::new(None) };
                static WAKERS: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
                static HANDLE: Cell<Handle> = const { Cell::new(Handle::Gone) };
                /// Whether the handle has been polled and is pending.
                static AWAITED: Cell<bool> = const { Cell::new(false) };
            }

            fn schedule(runnable: Runnable<u8>, info: ScheduleInfo) {
                record(format_args!("scheduled, {}", info.woken_while_running));
                assert!(RUNNABLE.replace(Some(runnable)).is_none(), "two runnables");
            }

            struct Played(#[allow(dead_code, reason = "only its drop matters")] Dropped);

            impl Future for Played {
                type Output = Output;

                fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
                    poll(cx)
                }
            }

            fn poll(cx: &mut Context<'_>) -> Poll<Output> {
                let does = NEXT_POLL.get();
                record(format_args!("polled: {does:?}"));
                match does {
                    Does::Pending => {}
                    Does::KeepWaker => keep(Some(cx.waker().clone())),
                    Does::WakeItself => cx.waker().wake_by_ref(),
                    Does::DropTask(_) => drop_task(),
                    Does::Cancel(_) | Does::CancelThenPanic => cancel(),
                    Does::Ready | Does::Panic => {}
                }
                match does {
                    Does::Panic | Does::CancelThenPanic => panic!("on purpose"),
                    Does::Ready | Does::DropTask(true) | Does::Cancel(true) => {
                        Poll::Ready(Dropped("output"))
                    }
                    _ => Poll::Pending,
                }
            }

            fn outcome(poll: Poll<Option<Output>>) {
                record(match &poll {
                    Poll::Pending => "awaited: pending",
                    Poll::Ready(Some(_)) => "awaited: output",
                    Poll::Ready(None) => "awaited: none",
                });
            }

            /// Polls the handle once. Returns false if it must not be polled again.
            fn poll_handle(handle: &mut Handle, cx: &mut Context<'_>) -> bool {
                match handle {
                    Handle::Gone => {}
                    Handle::Task(task) => outcome(Pin::new(task).poll(cx).map(Some)),
                    Handle::Fallible(task) => outcome(Pin::new(task).poll(cx)),
                    Handle::Cancelling(cancelling) => {
                        let poll = cancelling.as_mut().poll(cx);
                        let ended = poll.is_ready();
                        outcome(poll);
                        return !ended;
                    }
                }
                true
            }

            fn wait(waker: usize) {
                let waker = Waker::from(Arc::new(Awaiter(waker)));
                let mut cx = Context::from_waker(&waker);
                let mut handle = HANDLE.take();
                let polled = catch_unwind(AssertUnwindSafe(|| poll_handle(&mut handle, &mut cx)));
                let again = polled.unwrap_or_else(|_| {
                    record("awaiting panicked");
                    !matches!(handle, Handle::Cancelling(_))
                });
                if again {
                    HANDLE.set(handle);
                }
                AWAITED.set(true);
            }

            fn cancel() {
                HANDLE.set(match HANDLE.take() {
                    Handle::Task(task) => Handle::Cancelling(Box::pin(task.cancel())),
                    Handle::Fallible(task) => Handle::Cancelling(Box::pin(task.cancel())),
                    other => other,
                });
                wait(0);
            }

            fn drop_task() {
                match HANDLE.take() {
                    // Its awaiter is a difference that the README lists.
                    cancelling @ Handle::Cancelling(_) => HANDLE.set(cancelling),
                    other => drop(other),
                }
            }

            fn keep(waker: Option<Waker>) {
                WAKERS.with_borrow_mut(|wakers| wakers.extend(waker));
            }

            fn last_waker() -> Option<Waker> {
                WAKERS.with_borrow(|wakers| wakers.last().cloned())
            }

            fn pop_waker() -> Option<Waker> {
                WAKERS.with_borrow_mut(Vec::pop)
            }

            fn handle(act: impl FnOnce(Handle) -> Handle) {
                HANDLE.set(act(HANDLE.take()));
            }

            fn run(does: Does) {
                let Some(runnable) = RUNNABLE.take() else {
                    return;
                };
                NEXT_POLL.set(does);
                match catch_unwind(AssertUnwindSafe(|| runnable.run())) {
                    Ok(again) => record(format_args!("run: {again}")),
                    Err(_) => record("run panicked"),
                }
            }

            fn perform(act: Act) {
                match act {
                    Act::Run(does) => run(does),
                    Act::DropRunnable => drop(RUNNABLE.take()),
                    Act::Reschedule => _ = RUNNABLE.take().map(Runnable::schedule),
                    Act::TakeWaker => {
                        let runnable = RUNNABLE.take();
                        keep(runnable.as_ref().map(Runnable::waker));
                        RUNNABLE.set(runnable);
                    }
                    Act::CloneWaker => keep(last_waker()),
                    Act::Wake => _ = pop_waker().map(Waker::wake),
                    Act::WakeByRef => _ = last_waker().as_ref().map(Waker::wake_by_ref),
                    Act::DropWaker => drop(pop_waker()),
                    Act::Await(waker) => wait(waker),
                    Act::DropTask => drop_task(),
                    // An awaiter of a detached task is a difference that the README lists.
                    Act::Detach if AWAITED.get() => {}
                    Act::Detach => match HANDLE.take() {
                        Handle::Task(task) => task.detach(),
                        Handle::Fallible(task) => task.detach(),
                        other => HANDLE.set(other),
                    },
                    Act::MakeFallible => handle(|handle| match handle {
                        Handle::Task(task) => Handle::Fallible(task.fallible()),
                        other => other,
                    }),
                    Act::Cancel => cancel(),
                    Act::IsFinished => handle(|handle| {
                        match &handle {
                            Handle::Task(task) => record(task.is_finished()),
                            Handle::Fallible(task) => record(task.is_finished()),
                            _ => {}
                        }
                        handle
                    }),
                }
            }

            pub(super) fn play(
                propagate_panic: Option<bool>,
                is_local: bool,
                script: &[Act],
            ) -> Vec<String> {
                AWAITED.set(false);
                let dropped = Dropped("schedule function");
                let schedule = move |runnable, info| {
                    let _ = &dropped;
                    schedule(runnable, info);
                };
                let builder = match propagate_panic {
                    Some(propagate_panic) => Builder::new().propagate_panic(propagate_panic),
                    None => Builder::new(),
                };
                let future = Played(Dropped("future"));
                let (builder, schedule) = (builder.metadata(0u8), WithInfo(schedule));
                let (runnable, task) = match is_local {
                    true => builder.spawn_local(|_| future, schedule),
                    false => builder.spawn(|_| future, schedule),
                };
                RUNNABLE.set(Some(runnable));
                HANDLE.set(Handle::Task(task));
                for &act in script {
                    record(format_args!("- {act:?}"));
                    perform(act);
                }
                record("- curtain");
                drop(RUNNABLE.take());
                drop(HANDLE.take());
                drop(RUNNABLE.take());
                while let Some(waker) = pop_waker() {
                    drop(waker);
                }
                // The last waker of a task without a handle schedules it once more.
                drop(RUNNABLE.take());
                RECORD.take()
            }
        }
    };
}
