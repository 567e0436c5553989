//! Holds each operation against the tables that the proof prints (`verify/proof`).

use super::*;
use crate::waker::ThinWaker;
use alloc::{boxed::Box, format, string::String, sync::Arc, task::Wake, vec::Vec};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TABLES: &str = include_str!("../tables.txt");

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A word with its slot, and up to two wakers of another crate.
struct World {
    /// In a box, because the address of a slot is in its word.
    slotted: Box<Slotted>,
    wakers: [Arc<Woken>; 2],
    registration: Registration,
}

impl World {
    /// Brings a word of that name about.
    fn new(name: &str) -> Self {
        let mut world = Self {
            slotted: Box::default(),
            wakers: Default::default(),
            registration: Registration::new(),
        };
        match name {
            "PENDING" => {}
            "W1" => assert!(world.poll(0).is_pending()),
            "P1" => assert!(world.poll_slotted(0).is_pending()),
            // By the addresses that the header of `completion.rs` says, not by the constants.
            "DONE" => world.put(1),
            "DETACHED" => world.put(2),
            "ABANDONED" => world.put(3),
            _ => unreachable!(),
        }
        world
    }

    fn word(&self) -> &Completion {
        // SAFETY: the word is alive.
        unsafe { &*Slotted::word(&*self.slotted) }
    }

    fn put(&self, sentinel: usize) {
        let word = ptr::without_provenance_mut(sentinel);
        self.word().word.store(word, Relaxed);
    }

    fn waker(&self, index: usize) -> Waker {
        self.wakers[index].clone().into()
    }

    fn poll(&mut self, index: usize) -> Poll<Ended> {
        let waker = self.waker(index);
        // SAFETY: the word is alive, and no one has detached.
        unsafe { Completion::raw_poll(self.word(), &waker, &mut self.registration) }
    }

    fn poll_slotted(&mut self, index: usize) -> Poll<Ended> {
        let waker = self.waker(index);
        // SAFETY: as above.
        unsafe { Slotted::raw_poll(&*self.slotted, &waker, &mut self.registration, None) }
    }

    /// Returns whether a waker is in the word. Otherwise every clone of it is gone.
    fn is_registered(&self, index: usize) -> bool {
        let clones = Arc::strong_count(&self.wakers[index]) - 1;
        assert!(clones < 2, "W{} is leaked", index + 1);
        clones == 1
    }

    /// The name of the word now.
    fn name(&self) -> String {
        let word = self.word().glance().addr();
        match word {
            0 => "PENDING".into(),
            1 => "DONE".into(),
            2 => "DETACHED".into(),
            3 => "ABANDONED".into(),
            _ => {
                assert_ne!(self.is_registered(0), self.is_registered(1));
                let kind = if word & 2 != 0 { "P" } else { "W" };
                let number = if self.is_registered(0) { 1 } else { 2 };
                format!("{kind}{number}")
            }
        }
    }

    /// Says what happened to the first waker, which was called `before`.
    fn fate(&self, before: &str) -> Option<String> {
        match self.wakers[0].0.load(Relaxed) {
            0 if !before.ends_with('1') || self.is_registered(0) => None,
            0 => Some(format!("drop {before}")),
            1 => Some(format!("wake {before}")),
            _ => Some(format!("wake {before} again")),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.word().registered().is_some() {
            // SAFETY: the word is alive, and the waiter's last call.
            let _ = unsafe { Slotted::raw_detach(&*self.slotted) };
        }
        assert!(!self.is_registered(0) && !self.is_registered(1));
    }
}

/// The lines of one operation, on words of these names. It returns what is left to do.
fn lines(operation: &str, names: &[&str], act: impl Fn(&mut World, &str) -> String) -> Vec<String> {
    let line = |before: &&str| {
        let mut world = World::new(before);
        let left = act(&mut world, before);
        format!("{operation} | {before} | {} | {left}", world.name())
    };
    names.iter().map(line).collect()
}

fn end(ended: Ended) -> &'static str {
    match ended {
        Ended::Done => "DONE",
        Ended::Abandoned => "ABANDONED",
    }
}

fn polled(world: &World, before: &str, poll: Poll<Ended>) -> String {
    match (poll, world.fate(before)) {
        (Poll::Ready(ended), _) => format!("ready {}", end(ended)),
        (Poll::Pending, None) => "pending".into(),
        (Poll::Pending, Some(fate)) => format!("pending, {fate}"),
    }
}

const BEFORE_END: &[&str] = &["PENDING", "W1", "DETACHED"];
const OF_WAITER: &[&str] = &["PENDING", "W1", "DONE", "ABANDONED"];

/// The operations of the word itself.
fn plain() -> Vec<String> {
    let nothing = || String::from("nothing");
    let mut made = Vec::new();
    for how in [Ended::Done, Ended::Abandoned] {
        let name = format!("finish {}", end(how));
        made.extend(lines(&name, BEFORE_END, |world, before| {
            let word = world.word();
            let completed = match how {
                // SAFETY: the word is alive, and this is the completer's one call.
                Ended::Done => unsafe { Completion::raw_complete(word) },
                // SAFETY: as above.
                Ended::Abandoned => unsafe { Completion::raw_abandon(word) },
            };
            match completed {
                Completed::Unobserved => nothing(),
                Completed::Wake(waker) => {
                    waker.wake();
                    world.fate(before).unwrap()
                }
                Completed::Detached => "own".into(),
            }
        }));
    }
    made.extend(lines("register W2", OF_WAITER, |world, before| {
        let (waker, mut registration) = (world.waker(1), Registration::new());
        let word = world.word();
        // SAFETY: the word is alive, and no one has detached.
        let poll = unsafe { word.register(waker, &mut registration, ThinWaker::from) };
        let is_dropped = poll.is_ready() && !world.is_registered(1);
        polled(world, before, poll) + if is_dropped { ", drop W2" } else { "" }
    }));
    made.extend(lines("poll W1", &OF_WAITER[1..], |world, before| {
        let poll = world.poll(0);
        polled(world, before, poll)
    }));
    made.extend(lines("poll W2", OF_WAITER, |world, before| {
        let poll = world.poll(1);
        polled(world, before, poll)
    }));
    made.extend(lines("detach", OF_WAITER, |world, before| {
        // SAFETY: the word is alive, and this is the waiter's last call.
        match unsafe { Completion::raw_detach(world.word()) } {
            Detached::Pending(waker) => {
                drop(waker);
                world.fate(before).unwrap_or_else(nothing)
            }
            Detached::Finished(ended) => format!("own {}", end(ended)),
        }
    }));
    let all = ["PENDING", "W1", "DETACHED", "DONE", "ABANDONED"];
    made.extend(lines("ended", &all, |world, _| {
        // SAFETY: the word is alive.
        let ended = unsafe { Completion::raw_ended(world.word()) };
        ended.map_or("none", end).into()
    }));
    made.extend(lines("is_detached", BEFORE_END, |world, _| {
        // SAFETY: the word is alive, and the completer has not finished.
        let is_detached = unsafe { Completion::raw_is_detached(world.word()) };
        if is_detached { "yes" } else { "no" }.into()
    }));
    made
}

/// Those of a word with a slot.
fn slotted() -> Vec<String> {
    let nothing = || String::from("nothing");
    let mut made = Vec::new();
    for how in [Ended::Done, Ended::Abandoned] {
        let name = format!("slotted finish {}", end(how));
        let names = [BEFORE_END, &["P1"]].concat();
        made.extend(lines(&name, &names, |world, before| {
            // SAFETY: the word is alive, and this is the completer's one call.
            match unsafe { Slotted::raw_finish(&*world.slotted, how) } {
                true => "own".into(),
                false => world.fate(before).unwrap_or_else(nothing),
            }
        }));
    }
    let names = [OF_WAITER, &["P1"]].concat();
    made.extend(lines("slotted poll W2", &names, |world, before| {
        let poll = world.poll_slotted(1);
        polled(world, before, poll)
    }));
    made.extend(lines("slotted detach", &names, |world, before| {
        // SAFETY: the word is alive, and this is the waiter's last call unless it returns an end.
        match unsafe { Slotted::raw_detach(&*world.slotted) } {
            Some(ended) => format!("own {}", end(ended)),
            None => world.fate(before).unwrap_or_else(nothing),
        }
    }));
    made
}

#[test]
fn the_operations_are_those_of_the_proof() {
    let made = [plain(), slotted()].concat();
    let mut parts = TABLES.split("# ");
    let proven = parts.find_map(|part| part.strip_prefix("src/completion.rs\n"));
    let proven: Vec<_> = proven.unwrap().lines().collect();
    for (made, proven) in made.iter().zip(&proven) {
        assert_eq!(made, proven, "the code, and the proof");
    }
    assert_eq!(made.len(), proven.len());
}
