//! A child of a fork that uses an executor of its parent, whose threads it does not have. It panics
//! with the cause.
//!
//! A program of its own with one test, so that no other test's thread holds a lock of the process
//! at the fork.
#![cfg(unix)]

use crate::child::in_child;
use crate::prelude::*;

/// The number of seconds after which a child that hangs is ended.
const LIMIT: u32 = 10;

/// Runs a function in a child. It panics there, and the message names the fork.
fn panics_in_child(f: impl FnOnce()) -> Result<(), String> {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        in_child(|| {
            // SAFETY: it takes a number.
            unsafe { libc::alarm(LIMIT) };
            let message = panic_text(f);
            assert!(message.contains("fork"), "{message}");
        });
    }));
    ended.map_err(|payload| {
        payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default()
    })
}

#[test]
fn a_child_that_uses_its_parents_executor_panics() {
    crate::common::alone(|| {
        block_on(Executor::global().spawn(sleep(MILLI)));
        let inherited = executor(2);
        block_on(inherited.spawn(sleep(MILLI)));
        let outside = || block_on(sleep(MILLI));
        let cases: [(&str, &dyn Fn()); 8] = [
            ("a timer outside of an executor", &outside),
            ("a timer in a local executor", &|| {
                LocalExecutor::new().block_on(sleep(MILLI));
            }),
            ("a timer in the inherited executor", &|| {
                inherited.enter(outside);
            }),
            ("a spawn on the inherited executor", &|| {
                block_on(inherited.spawn(async {}));
            }),
            ("a detached spawn on the inherited executor", &|| {
                inherited.spawn_detached(async {});
            }),
            ("a spawn on the global executor", &|| {
                block_on(spawn(async {}));
            }),
            ("an install", &|| inherited.install(|| ())),
            ("a scope", &|| {
                inherited.scope(|scope| _ = scope.spawn(async {}));
            }),
        ];
        let failed: Vec<_> = cases
            .into_iter()
            .filter_map(|(name, case)| {
                let error = panics_in_child(case).err()?;
                Some(format!("{name}: {error}"))
            })
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
        // The parent goes on.
        block_on(inherited.spawn(sleep(MILLI)));
    });
}
