//! A walk through the vocabulary: each part does one thing and says what came of it.
//!
//! ```text
//! cargo run -p joint-flow --example flow_guide
//! ```
//!
//! The lines are the same on any number of workers, and in a simulation.

use std::{future::ready, pin::pin, sync::Arc, time::Duration};

use joint::oneshot;
use joint_flow::{
    Closed, Collection, OneOf2, all, any,
    choice::choose,
    generator::{StreamExt, stream as generate},
    lock::FlowLock,
    promise::{self, never},
    quorum, race,
    retry::{Backoff, retry},
    spawn, stream,
    time::{delay, timeout},
    try_all, uncancellable,
    variable::AsyncVar,
};

const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(3600 * 24 * 365);

fn main() {
    for line in joint::block_on(walk()) {
        println!("{line}");
    }
}

/// Returns the lines.
pub async fn walk() -> Vec<String> {
    let mut lines = Vec::new();
    for (part, line) in [
        ("promise", one_promise_many_waiters().await),
        ("cancellation", the_last_handle_cancels().await),
        ("uncancellable", it_runs_on().await),
        ("race", the_first_wins().await),
        ("choice", later_branches_are_not_made().await),
        ("all", all_or_the_first_error().await),
        ("quorum", two_of_three_replicas().await),
        ("any", the_first_mirror_that_answers().await),
        ("collection", the_first_error_stops_the_server().await),
        ("stream", a_stream_of_promises().await),
        ("generator", an_async_generator().await),
        ("lock", two_permits().await),
        ("variable", a_change().await),
        ("retry", the_third_try().await),
        ("timeout", too_slow().await),
    ] {
        lines.push(format!("{part}: {line}"));
    }
    lines
}

async fn one_promise_many_waiters() -> String {
    let (sender, future) = promise::channel();
    let waiters = [1, 2, 3].map(|factor| {
        let future = future.clone();
        spawn(async move { future.await.map(|n: u32| n * factor) })
    });
    sender.send(7);
    let products = all(waiters).await.map(|product| product.unwrap().unwrap());
    format!("three waiters got {products:?}")
}

/// Says by a promise that it was dropped.
struct SaysSo(Option<oneshot::Sender<&'static str>>);

impl Drop for SaysSo {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            // Nobody needs to listen.
            let _ = sender.send("its destructor has run");
        }
    }
}

async fn the_last_handle_cancels() -> String {
    let (sender, dropped) = oneshot::channel();
    let says_so = SaysSo(Some(sender));
    let task = spawn(async move {
        let _says_so = says_so;
        never::<()>().await;
    });
    let other = task.clone();
    drop(task);
    drop(other);
    format!(
        "the last handle was dropped, and {}",
        dropped.await.unwrap()
    )
}

async fn it_runs_on() -> String {
    let (sender, written) = oneshot::channel();
    drop(uncancellable(async move {
        delay(SOON).await;
        // The receiver is awaited below.
        sender.send("written").unwrap();
    }));
    format!(
        "nobody holds the task, and its file is {}",
        written.await.unwrap()
    )
}

async fn the_first_wins() -> String {
    match race((delay(LATE), ready("the answer"))).await {
        OneOf2::A(()) => "the timer won".to_owned(),
        OneOf2::B(answer) => format!("{answer} came before the timer"),
    }
}

async fn later_branches_are_not_made() -> String {
    choose()
        .when(|| ready(1), |n| format!("branch {n} is ready"))
        .when(
            || -> std::future::Ready<u32> { unreachable!("an earlier branch is ready") },
            |n| format!("branch {n}"),
        )
        .await
}

async fn all_or_the_first_error() -> String {
    let both = try_all((ready(Ok::<_, &str>(1)), ready(Ok("two")))).await;
    let fails = try_all((never::<Result<(), _>>(), ready(Err::<(), _>("disk")))).await;
    format!("{both:?}, and {fails:?} without waiting for the other")
}

async fn two_of_three_replicas() -> String {
    let replicas = [ready(Ok(7)), ready(Err("down")), ready(Ok(7))];
    let reached = quorum(2, replicas.clone()).await;
    let strict = quorum(2, replicas).strict().await;
    format!("{reached:?}, strictly {strict:?}")
}

async fn the_first_mirror_that_answers() -> String {
    let up = any([ready(Err("down")), ready(Ok("page"))]).await;
    let down = any([ready(Err::<(), _>("down")), ready(Err("gone"))]).await;
    format!("{up:?}, or {down:?}")
}

async fn the_first_error_stops_the_server() -> String {
    let (sender, dropped) = oneshot::channel();
    let (says_so, server) = (SaysSo(Some(sender)), Collection::new());
    server.add(async move {
        let _says_so = says_so;
        never().await
    });
    server.add(async { Err("the disk is full") });
    let error = server.await.unwrap_err();
    format!("{error}; of the other part, {}", dropped.await.unwrap())
}

async fn a_stream_of_promises() -> String {
    let (sender, mut receiver) = stream::channel::<u32, Closed>();
    (1..=3).for_each(|n| sender.send(n).unwrap());
    drop(sender);
    let mut items = Vec::new();
    let end = loop {
        match receiver.next().await {
            Some(Ok(item)) => items.push(item),
            end => break end,
        }
    };
    format!("{items:?}, and then {end:?}")
}

async fn an_async_generator() -> String {
    let powers = generate! {
        let mut power = 1_u32;
        loop {
            delay(SOON).await;
            yield power;
            power *= 2;
        }
    };
    let large: Vec<_> = pin!(powers.filter(|power| *power > 10).take(4))
        .collect()
        .await;
    format!("powers of two beyond 10: {large:?}")
}

async fn two_permits() -> String {
    let lock = FlowLock::new(2);
    let tasks = (0..6).map(|n| {
        let lock = lock.clone();
        spawn(async move {
            let _permit = lock.take(1).await.unwrap();
            delay(SOON).await;
            assert!(lock.taken() <= 2);
            n
        })
    });
    let done = all(tasks.collect::<Vec<_>>()).await;
    let sum: u32 = done.into_iter().map(Result::unwrap).sum();
    format!("tasks 0 to 5, two at a time: their sum is {sum}")
}

async fn a_change() -> String {
    let level = Arc::new(AsyncVar::new(1));
    let watcher = {
        let (changed, level) = (level.on_change(), level.clone());
        spawn(async move {
            changed.await.unwrap();
            level.get()
        })
    };
    let same = level.set(1);
    let other = level.set(2);
    let seen = watcher.await.unwrap();
    format!("changed by 1: {same}, by 2: {other}; the watcher saw {seen}")
}

async fn the_third_try() -> String {
    let mut tries = 0;
    let connected = retry(Backoff::new(SOON).tries(5), || {
        tries += 1;
        ready(if tries == 3 {
            Ok("connected")
        } else {
            Err("refused")
        })
    });
    let outcome = connected.await;
    format!("{outcome:?} after {tries} tries")
}

async fn too_slow() -> String {
    let expired = timeout(SOON, never::<()>()).await.is_err();
    let tie = timeout(Duration::ZERO, ready("operation")).await;
    format!("expired: {expired}; a tie goes to the {}", tie.unwrap())
}
