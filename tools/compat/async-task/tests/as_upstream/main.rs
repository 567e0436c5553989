//! The same play on both stages: random scripts of the acts that are possible on a task, performed
//! on upstream's crate and on this one, and the two records of events compared word by word. Every
//! other task is a local one.
//!
//! There is one thread, so that a record is a sequence. The scripts avoid the differences that the
//! README lists.

#[macro_use]
mod stage;
mod record;
mod script;

use script::Dice;

stage!(here, async_task);
stage!(there, upstream);

/// A record without the differences that the README lists: whether the future is dropped at all
/// where upstream leaks it, and in which order a call drops the schedule function and the rest.
fn compared(record: &[String], upstream: &[String]) -> Vec<String> {
    let is_future = |event: &String| event == "future dropped";
    let leaked = !upstream.iter().any(is_future);
    let mut out = Vec::new();
    let mut freed = None;
    for event in record {
        if event.starts_with("- ") {
            out.extend(freed.take());
        }
        if event == "schedule function dropped" {
            freed = Some(event.clone());
        } else if !(leaked && is_future(event)) {
            out.push(event.clone());
        }
    }
    out.extend(freed);
    out
}

#[test]
fn every_event_is_upstreams() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let scripts = if cfg!(miri) { 50 } else { 100_000 };
    let mut differing = None::<(usize, String)>;
    for n in 0..scripts {
        let length = 1 + dice.roll(14);
        let script = dice.script(length);
        let propagate_panic = [None, Some(false), Some(true)][n % 3];
        let is_local = n % 2 == 0;
        let upstream = there::play(propagate_panic, is_local, &script);
        let found = compared(&here::play(propagate_panic, is_local, &script), &upstream);
        let expected = compared(&upstream, &upstream);
        if found != expected {
            let shortest = differing.as_ref().is_none_or(|(least, _)| length < *least);
            if shortest {
                let what = format!("{propagate_panic:?}\n  {expected:#?}\nbut here\n  {found:#?}");
                differing = Some((length, what));
            }
        }
    }
    let _ = std::panic::take_hook();
    if let Some((_, what)) = differing {
        panic!("with panics propagated: {what}");
    }
}
