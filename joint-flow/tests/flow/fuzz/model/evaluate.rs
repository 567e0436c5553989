//! Expressions that run.

use std::{mem, sync::Arc};

use super::{
    super::{
        Event, Out, code, folded,
        program::{Expression, Fails, Kind, LOCKS, Take},
        real::{CLOSED, REFUSED, TAKEN},
    },
    Collection, Step, Stream, World,
    group::Member,
};

pub(super) struct Node {
    expression: Arc<Expression>,
    state: State,
    was_polled: bool,
}

enum State {
    /// Has nothing yet, or never.
    Plain,
    Pausing(u8),
    Group(Vec<Member>),
    /// Of a choice. Those that are not made yet are missing at the end.
    Branches(Vec<Node>),
    Sequence(Vec<u8>, Option<Box<Node>>),
    Queued(usize),
    Holding(usize, Box<Node>),
    Receiving(Vec<u8>),
    /// Waits for a change after so many.
    Unchanged(usize),
    Retrying(u8, Option<Box<Node>>),
    Beside(usize, Box<Node>),
    /// Waits for a task, after what was done beside it.
    Awaiting(usize, Option<Out>),
    Collecting(usize),
}

impl Node {
    pub(super) fn new(expression: &Arc<Expression>) -> Self {
        let state = match &expression.kind {
            Kind::Group(_, _, children) => {
                let members = children
                    .iter()
                    .map(|child| Member::Running(Node::new(child)));
                State::Group(members.collect())
            }
            _ => State::Plain,
        };
        Self {
            expression: expression.clone(),
            state,
            was_polled: false,
        }
    }

    fn boxed(expression: &Arc<Expression>) -> Box<Self> {
        Box::new(Self::new(expression))
    }

    pub(super) fn number(&self) -> usize {
        self.expression.number
    }
}

impl World<'_> {
    /// Drops an expression that has not ended, with what it has.
    pub(super) fn cancel(&mut self, node: Node) -> Step {
        self.expect(Event::Cancelled(node.number()))?;
        match (node.state, &node.expression.kind) {
            (State::Group(members), _) => self.cancel_members(members)?,
            (State::Branches(branches), _) => {
                branches
                    .into_iter()
                    .try_for_each(|branch| self.cancel(branch))?;
            }
            (State::Sequence(_, Some(child)) | State::Retrying(_, Some(child)), _) => {
                self.cancel(*child)?;
            }
            (State::Queued(ticket), Kind::Lock(_, lock, ..)) => self.leave(*lock, ticket),
            (State::Holding(ticket, body), Kind::Lock(_, lock, ..)) => {
                self.cancel(*body)?;
                self.leave(*lock, ticket);
            }
            (State::Receiving(_), Kind::Receive(stream, _)) => {
                let stream = &mut self.streams[*stream];
                stream.items.clear();
                stream.end = Some(None);
            }
            (State::Beside(task, child), _) => {
                self.cancel(*child)?;
                self.release(task)?;
            }
            (State::Awaiting(task, _), _) => self.release(task)?,
            (State::Collecting(collection), _) => self.cancel_children(collection)?,
            _ => {}
        }
        Ok(())
    }

    fn leave(&mut self, lock: usize, ticket: usize) {
        self.locks[lock].leave(ticket, LOCKS[lock]);
    }

    pub(super) fn poll(&mut self, node: &mut Node) -> Step<Option<Out>> {
        self.expect(Event::Polled(node.number()))?;
        let is_first = !mem::replace(&mut node.was_polled, true);
        if self.is_settled && is_first {
            return Err(format!(
                "{} could begin, but nobody was woken",
                node.number()
            ));
        }
        let polled = self.evaluate(node, is_first)?;
        if let Some(out) = polled {
            self.expect(Event::Ended(node.number(), out))?;
            self.expect(Event::Dropped(node.number()))?;
        }
        Ok(polled)
    }

    fn evaluate(&mut self, node: &mut Node, is_first: bool) -> Step<Option<Out>> {
        let expression = node.expression.clone();
        let state = &mut node.state;
        Ok(Some(match &expression.kind {
            Kind::Value(out) => *out,
            Kind::Pause(polls) => {
                let left = match state {
                    State::Pausing(left) => *left,
                    _ => *polls,
                };
                match left {
                    0 => Ok(*polls),
                    _ if self.is_settled => return Err("a pause goes on, unpolled".to_owned()),
                    _ => {
                        *state = State::Pausing(left - 1);
                        return Ok(None);
                    }
                }
            }
            Kind::Wait(gate) => match self.gates[*gate] {
                None => return Ok(None),
                Some(out) => out.unwrap_or(Err(CLOSED)),
            },
            Kind::Open(gate, out) => {
                self.open(*gate, *out);
                Ok(1)
            }
            Kind::Group(group, ..) => {
                let State::Group(members) = state else {
                    unreachable!("a group")
                };
                return self.group(*group, members, is_first);
            }
            Kind::Choose(fails, all) => return self.choose(*fails, all, state),
            Kind::Sequence(children) => return self.sequence(children, state),
            Kind::Lock(Take::Try, lock, amount, _)
                if matches!(state, State::Plain)
                    && !self.locks[*lock].is_closed
                    && !self.locks[*lock].is_free(*amount, LOCKS[*lock]) =>
            {
                Err(REFUSED)
            }
            Kind::Lock(_, lock, amount, body) => return self.lock(*lock, *amount, body, state),
            Kind::Close(lock) => {
                self.locks[*lock].close();
                Ok(2)
            }
            Kind::Send(stream, _) | Kind::End(stream, _) if self.streams[*stream].is_broken => {
                Err(TAKEN)
            }
            Kind::Send(stream, value) => match &mut self.streams[*stream] {
                Stream { end: Some(_), .. } => Err(*value),
                stream => {
                    stream.items.push_back(*value);
                    Ok(3)
                }
            },
            Kind::End(stream, error) => {
                let end = &mut self.streams[*stream].end;
                let ends = end.is_none();
                end.get_or_insert(*error);
                match error {
                    Some(error) if !ends => Err(*error),
                    Some(_) => Ok(4),
                    None => Ok(u8::from(ends)),
                }
            }
            Kind::Break(stream) => {
                let stream = &mut self.streams[*stream];
                stream.is_broken = true;
                stream.end.get_or_insert(Some(CLOSED));
                Ok(10)
            }
            Kind::Set(value) => {
                let is_change = mem::replace(&mut self.variable, *value) != *value;
                self.changes += usize::from(is_change);
                Ok(u8::from(is_change))
            }
            Kind::Reach(least) if self.variable < *least => return Ok(None),
            Kind::Reach(_) => Ok(self.variable),
            Kind::Change => {
                if let State::Plain = state {
                    *state = State::Unchanged(self.changes);
                }
                if matches!(state, State::Unchanged(changes) if *changes == self.changes) {
                    return Ok(None);
                }
                Ok(11)
            }
            Kind::Receive(stream, count) => return Ok(self.receive(*stream, *count, state)),
            Kind::Retry(tries, body) => return self.retry(*tries, body, state),
            Kind::Join(start, body, beside) => {
                if is_first {
                    let task = self.spawn(*start, body, None)?;
                    *state = State::Beside(task, Node::boxed(beside));
                }
                if let State::Beside(task, beside) = state {
                    let Some(out) = self.poll(beside)? else {
                        return Ok(None);
                    };
                    *state = State::Awaiting(*task, Some(out));
                }
                return self.awaited(state);
            }
            Kind::Start(slot, start, body) => {
                let task = self.spawn(*start, body, None)?;
                let before = self.slots[*slot].replace(task);
                before.map_or(Ok(()), |before| self.release(before))?;
                Ok(5)
            }
            Kind::Cancel(slot) => {
                self.cancel_slot(*slot)?;
                Ok(6)
            }
            Kind::Drop(slot) => {
                self.drop_slot(*slot)?;
                Ok(7)
            }
            Kind::Settle => {
                // The clock is not here.
                if !self.is_next(Event::Ended(expression.number, Ok(9))) {
                    return Ok(None);
                }
                self.settle()?;
                Ok(9)
            }
            Kind::Await(slot) => {
                if is_first {
                    let Some(task) = self.slots[*slot] else {
                        return Ok(Some(Err(TAKEN)));
                    };
                    self.tasks[task].handles += 1;
                    *state = State::Awaiting(task, None);
                }
                return self.awaited(state);
            }
            Kind::Collect(until_empty, children) => {
                if is_first {
                    *state = State::Collecting(self.collect(*until_empty, children)?);
                }
                let State::Collecting(collection) = *state else {
                    unreachable!("a collection")
                };
                let Some(decision) = self.collections[collection].decision else {
                    return Ok(None);
                };
                self.cancel_children(collection)?;
                decision
            }
        }))
    }

    fn sequence(&mut self, children: &[Arc<Expression>], state: &mut State) -> Step<Option<Out>> {
        if let State::Plain = state {
            *state = State::Sequence(Vec::new(), None);
        }
        let State::Sequence(values, child) = state else {
            unreachable!("a sequence")
        };
        while let Some(next) = children.get(values.len()) {
            match self.poll(child.get_or_insert_with(|| Node::boxed(next)))? {
                None => return Ok(None),
                Some(Err(error)) => return Ok(Some(Err(error))),
                Some(Ok(value)) => values.push(value),
            }
            *child = None;
        }
        Ok(Some(Ok(folded(mem::take(values)))))
    }

    fn collect(&mut self, until_empty: bool, children: &[Arc<Expression>]) -> Step<usize> {
        let collection = self.collections.len();
        self.collections.push(Collection {
            children: Vec::new(),
            left: children.len(),
            until_empty,
            decision: None,
        });
        for child in children {
            let task = self.spawn(super::Start::Cancellable, child, Some(collection))?;
            self.collections[collection].children.push(task);
        }
        Ok(collection)
    }

    fn awaited(&mut self, state: &mut State) -> Step<Option<Out>> {
        let State::Awaiting(task, beside) = *state else {
            unreachable!("it waits for a task")
        };
        let Some(output) = self.tasks[task].output else {
            return Ok(None);
        };
        self.release(task)?;
        let with = |beside| Ok(folded([code(beside), code(output)]));
        Ok(Some(beside.map_or(output, with)))
    }

    fn lock(
        &mut self,
        lock: usize,
        amount: usize,
        body: &Arc<Expression>,
        state: &mut State,
    ) -> Step<Option<Out>> {
        if let State::Plain = state {
            if self.locks[lock].is_closed {
                return Ok(Some(Err(CLOSED)));
            }
            *state = State::Queued(self.locks[lock].enter(amount, LOCKS[lock]));
        }
        if let State::Queued(ticket) = *state {
            match self.locks[lock].is_granted(ticket) {
                true => *state = State::Holding(ticket, Node::boxed(body)),
                false if self.locks[lock].is_closed => return Ok(Some(Err(CLOSED))),
                false => return Ok(None),
            }
        }
        let State::Holding(ticket, body) = state else {
            unreachable!("it has the permits")
        };
        let polled = self.poll(body)?;
        if polled.is_some() {
            self.leave(lock, *ticket);
        }
        Ok(polled)
    }

    fn receive(&mut self, stream: usize, count: u8, state: &mut State) -> Option<Out> {
        let stream = &mut self.streams[stream];
        if let State::Plain = state {
            if mem::replace(&mut stream.is_taken, true) {
                return Some(Err(TAKEN));
            }
            *state = State::Receiving(Vec::new());
        }
        let State::Receiving(values) = state else {
            unreachable!("it receives")
        };
        while values.len() < usize::from(count) && !stream.is_over {
            match (stream.items.pop_front(), stream.end) {
                (Some(item), _) => values.push(item),
                (None, None) => return None,
                (None, Some(end)) => {
                    stream.is_over = true;
                    stream.end = Some(None);
                    values.extend(end.map(|error| code(Err(error))));
                }
            }
        }
        stream.is_taken = false;
        Some(Ok(folded(mem::take(values))))
    }

    fn retry(&mut self, tries: u8, body: &Arc<Expression>, state: &mut State) -> Step<Option<Out>> {
        if let State::Plain = state {
            *state = State::Retrying(tries, None);
        }
        let State::Retrying(left, node) = state else {
            unreachable!("it retries")
        };
        let polled = self.poll(node.get_or_insert_with(|| Node::boxed(body)))?;
        match polled {
            Some(Err(_)) if *left > 1 => {
                // The policy waits.
                *state = State::Retrying(*left - 1, None);
                Ok(None)
            }
            polled => Ok(polled),
        }
    }

    /// Polls the branches in order, and makes each when its turn comes.
    fn choose(
        &mut self,
        fails: Fails,
        all: &[Arc<Expression>],
        state: &mut State,
    ) -> Step<Option<Out>> {
        if let State::Plain = state {
            *state = State::Branches(Vec::new());
        }
        let State::Branches(branches) = state else {
            unreachable!("a choice")
        };
        for (index, branch) in all.iter().enumerate() {
            if branches.len() == index {
                branches.push(Node::new(branch));
            }
            if let Some(out) = self.poll(&mut branches[index])? {
                branches.remove(index);
                let losers = mem::take(branches);
                losers
                    .into_iter()
                    .try_for_each(|loser| self.cancel(loser))?;
                let out = match fails {
                    Fails::Any => out,
                    Fails::None => Ok(code(out)),
                };
                return Ok(Some(out.map(|value| folded([index as u8, value]))));
            }
        }
        Ok(None)
    }
}
