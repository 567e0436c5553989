//! The names that several of these tests use.

pub(crate) use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, Location, catch_unwind, panic_any, resume_unwind},
    pin::{Pin, pin},
    ptr::{self, NonNull},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
    thread,
    time::{Duration, Instant},
};

pub(crate) use joint::{
    Completion, JoinError, JoinHandle,
    completion::{Ended, Registration, WakerSlot},
    host::{self, OnPanic},
    oneshot::{self, Receiver, RecvTimeoutError, channel},
    park::Parker,
    task::{
        self, Builder, EndedTask, JoinResult, PanicPayload, PendingTask, Polled, Runnable,
        Schedule, ScheduleInfo, TaskEnd, TaskPool, TaskStorage,
    },
    waker::ThinWaker,
};

pub(crate) use crate::{
    common::counting,
    counting::{Bomb, COUNT},
    hooked::{At, hooked},
    support::{
        CALLS, Count, Dropped, OnDrop, PanicsInDrop, Place, Queue, frees, guarded, is_cancelled,
        is_panicked, keeping, pending_once, poll, ready, waker_that, with_its_handle,
    },
};
