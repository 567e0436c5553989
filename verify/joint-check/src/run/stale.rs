//! Finds the load whose old value keeps a thread waiting, and what would have forbidden it.

use core::sync::atomic::Ordering;

use super::{
    Status,
    show::{Show, value},
};
use crate::graph::{Event, Id, Kind};

impl Show<'_> {
    /// Says which load has read an old value, and what would have made it read the new one. The
    /// last load of a thread that waits comes first, and then those of the others, who should have
    /// woken it.
    pub(super) fn old_value(&self) -> Option<String> {
        let waits = |thread: u8| {
            let status = self.run.lanes[usize::from(thread)].status;
            matches!(status, Status::Waiting | Status::Spinning)
        };
        let newest_first = || self.order.iter().rev().copied();
        let of_waiting = newest_first().filter(|id| waits(id.thread));
        let of_others = newest_first().filter(|id| !waits(id.thread));
        let mut all = of_waiting.chain(of_others);
        all.find_map(|load| self.old_value_of(load))
    }

    fn old_value_of(&self, load: Id) -> Option<String> {
        let graph = self.graph();
        let event = graph.at(load);
        if !event.kind.is_read() || event.takes() || event.outcome().0.is_some() {
            return None;
        }
        let passed = graph.order(event.place).rev();
        let passed = passed.take_while(|&write| Some(write) != event.source);
        let mut passed = passed.filter(|&write| !load.is_in(&graph.at(write).porf));
        passed.find_map(|write| {
            let why = self.forbids(event, write)?;
            let place = self.place(event.place);
            let [old, new] = [event.value, graph.at(write).written].map(value);
            let [load, write] = [load, write].map(|id| self.operation(id));
            Some(format!(
                "step {load} read {old} from {place}, and not {new}, because step {write} was not \
                 visible to it. {why}"
            ))
        })
    }

    /// What would have kept a load from passing over a write: an edge between them, or an order of
    /// their threads.
    fn forbids(&self, load: &Event, write: Id) -> Option<String> {
        let graph = self.graph();
        if let Some(found) = graph.missing(write, load.id) {
            return Some(self.lacking(&found));
        }
        let is_older = |read: &&Event, than: Id| {
            let mut order = graph.order(read.place);
            read.kind.is_read()
                && order.find(|&other| Some(other) == read.source || other == than) == read.source
                && read.source != Some(than)
        };
        // Both threads write, and then load what the other one has written.
        let own = &graph.threads[usize::from(load.id.thread)];
        let before = own[..usize::from(load.id.index)].iter().rev();
        let later = graph.threads[usize::from(write.thread)].iter();
        let later = later.skip(usize::from(write.index) + 1);
        for announced in before.filter(|own| own.kind.is_write() && own.place != own.id) {
            let mut later = later.clone().filter(|read| read.place == announced.place);
            let Some(read) = later.find(|read| is_older(read, announced.id)) else {
                continue;
            };
            let sides = [(announced.id, load.id), (write, read.id)];
            let without = sides.into_iter().filter(|&side| !self.has_fence(side));
            let between = without.map(|(first, second)| {
                let thread = self.thread(first.thread);
                let [first, second] = [first, second].map(|id| self.step(id));
                format!("between steps {first} and {second} of {thread}")
            });
            let between = between.collect::<Vec<_>>().join(" and one ");
            let steps = [announced.id, load.id, write, read.id].map(|id| self.step(id));
            let [a, b, c, d] = steps;
            return Some(format!(
                "A `SeqCst` fence {between}, or `SeqCst` for all of steps {a}, {b}, {c} and {d}, \
                 forbids that both {b} and {d} read an old value."
            ));
        }
        None
    }

    fn has_fence(&self, (first, second): (Id, Id)) -> bool {
        let events = &self.graph().threads[usize::from(first.thread)];
        let between = &events[usize::from(first.index)..usize::from(second.index)];
        let is_sc =
            |event: &Event| matches!(event.kind, Kind::Fence) && event.ordering == Ordering::SeqCst;
        between.iter().any(is_sc)
    }
}
