//! Programs that compile with upstream compile here: each function is written once, and compiled
//! with either crate.

macro_rules! compiles_with {
    ($stage:ident, $crate_name:ident) => {
        mod $stage {
            use std::{
                cell::Cell,
                fmt::Debug,
                marker::PhantomData,
                panic::{RefUnwindSafe, UnwindSafe},
                rc::Rc,
            };

            use $crate_name::{
                Builder, FallibleTask, Runnable, Schedule, ScheduleInfo, Task, WithInfo,
            };

            fn send<T: Send>() {}
            fn sync<T: Sync>() {}
            fn calm<T: Unpin + UnwindSafe + RefUnwindSafe>() {}
            fn debug<T: Debug>() {}
            fn plain<T: Copy + Debug>() {}

            /// Neither `Send` nor `Sync` nor `Debug`.
            type Local = PhantomData<(Rc<()>, Cell<dyn Fn()>)>;

            fn handles_and_runnables<T: Send, M: Debug + Send + Sync>() {
                send::<Task<T, M>>();
                sync::<Task<Local, M>>();
                calm::<Task<T, M>>();
                debug::<Task<Local, M>>();
                send::<FallibleTask<T, M>>();
                sync::<FallibleTask<Local, M>>();
                calm::<FallibleTask<T, M>>();
                debug::<FallibleTask<Local, M>>();
                send::<Runnable<M>>();
                sync::<Runnable<M>>();
                debug::<Runnable<M>>();
                debug::<Builder<M>>();
                plain::<ScheduleInfo>();
            }

            fn unwind_safe<M: Unpin>() {
                calm::<Runnable<M>>();
            }

            fn schedule_functions<M, S: Schedule<M>>(_: S) {}

            #[test]
            fn schedule_functions_are_closures_and_more() {
                schedule_functions::<u8, _>(|_: Runnable<u8>| {});
                schedule_functions::<u8, _>(drop::<Runnable<u8>>);
                let with_info =
                    |_: Runnable, info: ScheduleInfo| assert!(!info.woken_while_running);
                let schedule = WithInfo::from(with_info);
                schedule_functions::<(), _>(schedule);
                let boxed: Box<dyn Fn(Runnable) + Send + Sync> = Box::new(drop);
                let (runnable, task) = $crate_name::spawn(async {}, boxed);
                runnable.schedule();
                assert!(task.is_finished());
                let _ = (handles_and_runnables::<u8, u8>, unwind_safe::<u8>);
            }

            #[test]
            fn metadata_may_stay_on_its_thread_or_borrow() {
                let shared = Rc::new(5);
                let (runnable, task) = Builder::new().metadata(shared).spawn(|_| async {}, |_| {});
                assert_eq!((**runnable.metadata(), **task.metadata()), (5, 5));
                let text = String::from("text");
                let builder = Builder::new().metadata(&*text);
                let (runnable, _task) = builder.spawn_local(|_| async {}, |_| {});
                assert_eq!(*runnable.metadata(), "text");
                assert!(!runnable.run());
                let (runnable, _task) = Builder::<u8>::default().spawn(|_| async {}, |_| {});
                assert_eq!(*runnable.metadata(), 0);
            }
        }
    };
}

compiles_with!(here, async_task);
compiles_with!(there, upstream);
