//! `all`, `try_all` and `all_ready`.

use std::panic::panic_any;

use crate::prelude::*;

/// The others, ended or not, are dropped.
#[test]
fn the_rest_is_dropped_before_the_error_is_returned() {
    check(|| async {
        let log = Log::new();
        let running = log.on_drop("running");
        let ended = log.on_drop("value");
        let mut all = pin!(try_all((
            holding::<_, Result<(), &str>>(running),
            async move { Ok(ended) },
            after(1, Err::<(), _>("error")),
        )));
        // It is itself dropped after the caller has gone on.
        assert_eq!(all.as_mut().await.unwrap_err(), "error");
        assert_eq!(log.all(), ["running", "value"]);
    });
}

#[test]
fn all_ready_resumes_the_first_panic_when_all_have_ended() {
    let log = Log::new();
    let future = |polls, panics: bool, name: &'static str| {
        let (ended, dropped) = (log.clone(), log.on_drop(format!("{name} dropped")));
        async move {
            let _dropped = dropped;
            after(polls, ()).await;
            if panics {
                panic_any(name);
            }
            ended.add(name);
        }
    };
    let all = all_ready((
        future(2, true, "b"),
        future(1, true, "a"),
        future(3, false, "c"),
    ));
    let panic = catch_unwind(AssertUnwindSafe(|| joint::block_on(all))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "a");
    assert_eq!(log.all(), ["a dropped", "b dropped", "c", "c dropped"]);
}
