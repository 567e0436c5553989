//! Holds each transition against the tables that the proof prints (`verify/proof`).

use super::*;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

const TABLES: &str = include_str!("../../tables.txt");

/// `4q-1` is one less than the limit of wake-ups, of which `q` is a quarter.
fn number(count: Word) -> String {
    let quarter = wake_limit() / 4;
    let quarters = (count + 50) / quarter;
    let base = quarters * quarter;
    match (quarters, count) {
        (0, _) => count.to_string(),
        _ if count < base => format!("{quarters}q-{}", base - count),
        _ if count > base => format!("{quarters}q+{}", count - base),
        _ => format!("{quarters}q"),
    }
}

fn text(word: Word) -> String {
    let flag = |flag: Word, name| if word & flag != 0 { name } else { "-" };
    let (handle, cancelled) = (flag(HANDLE, "H"), flag(CANCELLED, "C"));
    let (finished, panicked) = (flag(FINISHED, "F"), flag(PANICKED, "P"));
    let (refs, wakes) = (Snapshot(word).refs(), Snapshot(word).wakes());
    format!(
        "{handle}{cancelled}{finished}{panicked} {} {}",
        number(refs),
        number(wakes)
    )
}

/// The words of the tables: a flag but `HANDLE` comes with a wake-up.
fn words() -> Vec<Word> {
    let most = wake_limit();
    let mut words = Vec::new();
    // In the order of the proof: the flags from the lowest, each first clear and then set.
    for flags in 0..16 {
        let bit = |place: u32, flag: Word| if flags >> place & 1 == 1 { flag } else { 0 };
        let flags = bit(3, HANDLE) + bit(2, CANCELLED) + bit(1, FINISHED) + bit(0, PANICKED);
        for refs in 0..3 {
            for wakes in [0, 1, 2, most - 1, most] {
                let is_legal = match flags & PANICKED != 0 {
                    true => wakes == 1,
                    false => wakes > 0 || flags & (CANCELLED + FINISHED) == 0,
                };
                if is_legal {
                    words.push(flags + refs * REF + wakes * WAKE);
                }
            }
        }
    }
    words
}

/// The lines of one operation, for the words on which it may be called.
fn lines<R: fmt::Debug>(
    name: &str,
    may: impl Fn(Snapshot) -> bool,
    transition: impl Fn(&State) -> R,
) -> Vec<String> {
    let words = words().into_iter().filter(|&word| may(Snapshot(word)));
    let line = |before: Word| {
        let state = State(AtomicWord::new(before));
        let left = match format!("{:?}", transition(&state)).to_lowercase().as_str() {
            "()" => "nothing".to_string(),
            left => left.to_string(),
        };
        let after = text(state.snapshot().0);
        format!("{name} | {} | {after} | {left}", text(before))
    };
    words.map(line).collect()
}

#[test]
fn the_transitions_are_those_of_the_proof() {
    let always = |_: Snapshot| true;
    let has_waker = |word: Snapshot| word.refs() > 0;
    let runs = |word: Snapshot| !word.is_finished() && word.wakes() > 0;
    let mut made = Vec::new();
    for has_handle in [false, true] {
        let word = text(State::new(has_handle).snapshot().0);
        made.push(format!("new |  | {word} | schedule"));
    }
    for with_waker in [false, true] {
        let state = State(AtomicWord::new(0));
        state.revive_orphan(with_waker);
        let word = text(state.snapshot().0);
        made.push(format!("revive |  | {word} | schedule"));
    }
    made.extend(lines("add_waker", always, State::add_waker));
    made.extend(lines("wake", always, State::wake));
    made.extend(lines("wake_by_value", has_waker, State::wake_by_value));
    made.extend(lines("drop_waker", has_waker, State::drop_waker));
    made.extend(lines("detach", Snapshot::has_handle, State::detach));
    made.extend(lines("cancel", Snapshot::has_handle, State::cancel));
    made.extend(lines("abort", always, State::abort));
    let is_new = |word: Snapshot| runs(word) && !word.is_panicked();
    made.extend(lines("set_panicked", is_new, State::set_panicked));
    made.extend(lines("finish runner", runs, |state| {
        state.finish(Finisher::Runner)
    }));
    let has_handle = |word: Snapshot| runs(word) && word.has_handle();
    made.extend(lines("finish handle", has_handle, |state| {
        state.finish(Finisher::Handle)
    }));
    let limit = wake_limit();
    for consumed in [0, 1, 2, limit / 2 - 1, limit / 2, limit - 1] {
        let may = |word: Snapshot| runs(word) && word.wakes() >= consumed;
        let seen = Snapshot(consumed * WAKE);
        let name = format!("idle {}", number(consumed));
        made.extend(lines(&name, may, |state| state.idle(seen)));
    }
    let mut parts = TABLES.split("# ");
    let proven = parts.find_map(|part| part.strip_prefix("src/task/state.rs\n"));
    let proven: Vec<_> = proven.unwrap().lines().collect();
    for (made, proven) in made.iter().zip(&proven) {
        assert_eq!(made, proven, "the code, and the proof");
    }
    assert_eq!(made.len(), proven.len());
}

/// Each waker that was made below the limit may still wake by value, and threads that are about to
/// take theirs back have added one, too.
#[test]
fn the_counters_have_room_above_their_limits() {
    let threads = 4_000;
    let most = wake_limit() - 1 + REF_LIMIT + threads;
    assert!(most <= Snapshot(Word::MAX).wakes());
    assert!(REF_LIMIT + threads <= Snapshot(Word::MAX).refs());
}
