//! Lesson 5: what each half of each exchange is for, and the look that needs no exchange.

use std::sync::Arc;

use lessons::{
    cell::UnsafeCell,
    name_thread, spawn,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::exercise::{
    Verdict, Wrong, demand, exercise, none_is, only_reads, operations, require, the_model,
};

const PENDING: usize = 0;
const DONE: usize = 1;

struct Shared {
    word: AtomicUsize,
    result: UnsafeCell<u32>,
}

// SAFETY: the word says who may use the result. The model shows whether it does.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

fn check_a_look(look: fn(&AtomicUsize) -> bool) {
    name_thread("waiter");
    let shared = Arc::new(Shared {
        word: AtomicUsize::new(PENDING).named("word"),
        result: UnsafeCell::new(0).named("result"),
    });
    let completers = shared.clone();
    spawn("completer", move || {
        // SAFETY: the word does not say DONE yet.
        completers.result.with_mut(|place| unsafe { *place = 7 });
        completers.word.swap(DONE, Ordering::AcqRel);
    });
    if look(&shared.word) {
        // SAFETY: the word says DONE.
        assert_eq!(shared.result.with(|place| unsafe { *place }), 7);
    }
}

fn look(word: &AtomicUsize) -> bool {
    word.load(Ordering::Relaxed) == DONE
}

fn look_with_a_fence(word: &AtomicUsize) -> bool {
    word.load(Ordering::Relaxed) == DONE
}

type Look = fn(&AtomicUsize) -> bool;

/// What a look at a word with this value does.
fn operations_of(look: Look, value: usize) -> Result<Vec<String>, Wrong> {
    operations("looks", move || {
        let word = Arc::new(AtomicUsize::new(value).named("word"));
        let looks = spawn("looks", move || assert_eq!(look(&word), value == DONE));
        looks.join().unwrap();
    })
}

fn judge_a_look(name: &str, look: Look) -> Result<[Vec<String>; 2], Wrong> {
    demand(
        &format!("`{name}` must return whether the word says DONE"),
        move || {
            assert!(look(&AtomicUsize::new(DONE)));
            assert!(!look(&AtomicUsize::new(PENDING)));
        },
    )?;
    let done = operations_of(look, DONE)?;
    only_reads(&done)?;
    the_model(
        &format!(
            "`{name}` says DONE, and the waiter reads a result that does not have to be there yet"
        ),
        |failure| {
            let missing = failure.missing();
            missing.len() == 1 && missing[0].1 == "acquire"
        },
        move || check_a_look(look),
    )?;
    let says = format!("`{name}` is right, but stronger than it has to be");
    none_is(&["SeqCst", "AcqRel"], &done, &says)?;
    Ok([done, operations_of(look, PENDING)?])
}

fn judge(look: Look, look_with_a_fence: Look) -> Verdict {
    let [done, _] = judge_a_look("look", look)?;
    require(done == ["load(Acquire)"], || {
        format!(
            "`look` is right, but one load with the right ordering is enough; it makes {done:?}"
        )
    })?;
    let [done, pending] = judge_a_look("look_with_a_fence", look_with_a_fence)?;
    require(done == ["load(Relaxed)", "fence(Acquire)"], || {
        format!("`look_with_a_fence` is right, but the load is to stay relaxed; it makes {done:?}")
    })?;
    require(pending == ["load(Relaxed)"], || {
        "`look_with_a_fence` is right, but pays for the fence if nothing is there as well"
            .to_owned()
    })
}

#[test]
fn exercise_5() {
    exercise(5, || judge(look, look_with_a_fence));
}

#[path = "solutions/halves.rs"]
mod solution;
