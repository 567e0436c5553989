//! Expressions that run.

use std::{mem, sync::Arc};

use super::{
    super::{
        Event, Out, code, folded,
        program::{Expression, Fails, Kind, LOCKS, Take},
        real::{CLOSED, REFUSED, TAKEN},
    },
    Collection, Step, Stop, Stream, World, difference,
    group::Member,
};

pub(super) struct Node {
    expression: Arc<Expression>,
    state: State,
    was_polled: bool,
}

enum State {
    /// Has nothing.
    Plain,
    /// How many polls are left.
    Pausing(u8),
    /// With the first panic, if the others run on after it.
    Group(Vec<Member>, Option<u8>),
    /// Of a choice. Those that are not made yet are missing at the end.
    Branches(Vec<Node>),
    Sequence(Vec<u8>, Option<Box<Node>>),
    Queued(usize),
    Holding(usize, Box<Node>),
    Receiving(Vec<u8>),
    /// Waits for the next change, after this many changes were seen.
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
                State::Group(members.collect(), None)
            }
            Kind::Pause(polls) => State::Pausing(*polls),
            Kind::Choose(..) => State::Branches(Vec::new()),
            Kind::Sequence(_) => State::Sequence(Vec::new(), None),
            Kind::Retry(tries, _) => State::Retrying(*tries, None),
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

    /// Whether it is a combinator, which keeps its children if one of them panics. All others are
    /// functions, which drop theirs.
    fn is_combinator(&self) -> bool {
        matches!(self.expression.kind, Kind::Group(..) | Kind::Choose(..))
    }
}

impl World<'_> {
    /// Drops an expression that has not ended, with what it has.
    pub(super) fn cancel(&mut self, node: Node) -> Step {
        self.expect(Event::Cancelled(node.number()))?;
        self.drop_state(node.state, &node.expression.kind)
    }

    fn drop_state(&mut self, state: State, kind: &Kind) -> Step {
        match (state, kind) {
            (State::Group(members, _), _) => self.cancel_members(members)?,
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
            return difference(format!("{} could begin, unwoken", node.number()));
        }
        let polled = match self.evaluate(node, is_first) {
            Err(Stop::Panic(code)) if !node.is_combinator() => {
                let state = mem::replace(&mut node.state, State::Plain);
                self.drop_state(state, &node.expression.kind)?;
                return Err(Stop::Panic(code));
            }
            polled => polled?,
        };
        if let Some(out) = polled {
            self.expect(Event::Ended(node.number(), out))?;
            self.expect(Event::Dropped(node.number()))?;
        }
        Ok(polled)
    }

    /// Does what an expression does at its first poll alone. Returns its output if that is all.
    fn begin(&mut self, node: &mut Node) -> Step<Option<Out>> {
        node.state = match &node.expression.kind {
            Kind::Lock(take, lock, amount, _) => {
                let (lock, permits) = (&mut self.locks[*lock], LOCKS[*lock]);
                if lock.is_closed {
                    return Ok(Some(Err(CLOSED)));
                }
                if *take == Take::Try && !lock.is_free(*amount, permits) {
                    return Ok(Some(Err(REFUSED)));
                }
                State::Queued(lock.enter(*amount, permits))
            }
            Kind::Receive(stream, _) => {
                if mem::replace(&mut self.streams[*stream].is_taken, true) {
                    return Ok(Some(Err(TAKEN)));
                }
                State::Receiving(Vec::new())
            }
            Kind::Change => State::Unchanged(self.changes),
            Kind::Join(start, body, beside) => {
                let task = self.spawn(*start, body, None)?;
                State::Beside(task, Node::boxed(beside))
            }
            Kind::Await(slot) => {
                let Some(task) = self.slots[*slot] else {
                    return Ok(Some(Err(TAKEN)));
                };
                self.tasks[task].handles += 1;
                State::Awaiting(task, None)
            }
            Kind::Collect(until_empty, children) => {
                State::Collecting(self.collect(*until_empty, children)?)
            }
            _ => return Ok(None),
        };
        Ok(None)
    }

    fn evaluate(&mut self, node: &mut Node, is_first: bool) -> Step<Option<Out>> {
        if is_first {
            if let Some(out) = self.begin(node)? {
                return Ok(Some(out));
            }
        }
        let expression = node.expression.clone();
        Ok(Some(match (&expression.kind, &mut node.state) {
            (Kind::Value(out), _) => *out,
            (Kind::Pause(polls), State::Pausing(0)) => Ok(*polls),
            (Kind::Panic(code), _) => return Err(Stop::Panic(*code)),
            // The clock is not here.
            (Kind::Delay(_), _) if self.is_settled => return difference("a delay has no end"),
            (Kind::Delay(seconds), _) => {
                match self.is_next(Event::Ended(node.number(), Ok(*seconds))) {
                    true if !is_first => Ok(*seconds),
                    _ => return Ok(None),
                }
            }
            (_, State::Pausing(_)) if self.is_settled => {
                return difference("a pause goes on, unpolled");
            }
            (_, State::Pausing(left)) => {
                *left -= 1;
                return Ok(None);
            }
            (Kind::Wait(gate), _) => match self.gates[*gate] {
                None => return Ok(None),
                Some(out) => out.unwrap_or(Err(CLOSED)),
            },
            (Kind::Open(gate, out), _) => {
                self.open(*gate, *out);
                Ok(1)
            }
            (Kind::Group(group, ..), State::Group(members, panic)) => {
                return self.group(*group, members, panic, is_first);
            }
            (Kind::Choose(fails, all), State::Branches(branches)) => {
                return self.choose(*fails, all, branches);
            }
            (Kind::Sequence(children), State::Sequence(values, child)) => {
                return self.sequence(children, values, child);
            }
            (Kind::Lock(take, lock, amount, body), state) => {
                let back = if *take == Take::Wait { amount / 2 } else { 0 };
                return self.lock(*lock, back, body, state);
            }
            (Kind::Close(lock), _) => {
                self.locks[*lock].close();
                Ok(2)
            }
            (Kind::Send(stream, _) | Kind::End(stream, _), _)
                if self.streams[*stream].is_broken =>
            {
                Err(TAKEN)
            }
            (Kind::Send(stream, value), _) => match &mut self.streams[*stream] {
                Stream { end: Some(_), .. } => Err(*value),
                stream => {
                    stream.items.push_back(*value);
                    Ok(3)
                }
            },
            (Kind::End(stream, error), _) => {
                let end = &mut self.streams[*stream].end;
                let ends = end.is_none();
                end.get_or_insert(*error);
                match error {
                    Some(error) if !ends => Err(*error),
                    Some(_) => Ok(4),
                    None => Ok(u8::from(ends)),
                }
            }
            (Kind::Break(stream), _) => {
                let stream = &mut self.streams[*stream];
                stream.is_broken = true;
                stream.end.get_or_insert(Some(CLOSED));
                Ok(10)
            }
            (Kind::Receive(stream, count), State::Receiving(values)) => {
                return Ok(self.receive(*stream, *count, values));
            }
            (Kind::Set(value), _) => {
                let is_change = mem::replace(&mut self.variable, *value) != *value;
                // The third way to set it notifies in any case.
                self.changes += usize::from(is_change || expression.number % 3 == 2);
                Ok(u8::from(is_change))
            }
            (Kind::Reach(least), _) if self.variable < *least => return Ok(None),
            (Kind::Reach(_), _) => Ok(self.variable),
            (_, State::Unchanged(changes)) if *changes == self.changes => return Ok(None),
            (_, State::Unchanged(_)) => Ok(11),
            (Kind::Retry(tries, body), State::Retrying(left, child)) => {
                let number = expression.number;
                let is_timed = number % 2 == 0;
                // Each try that has failed is followed by a wait: 1 second, and then 2.
                let failed = tries - *left;
                let wait = (is_timed && failed > 0).then(|| Event::Waited(number, failed.into()));
                return self.retry(body, is_timed, wait, left, child);
            }
            (_, State::Beside(task, beside)) => {
                let task = *task;
                let Some(out) = self.poll(beside)? else {
                    return Ok(None);
                };
                node.state = State::Awaiting(task, Some(out));
                return self.awaited(task, Some(out));
            }
            (_, State::Awaiting(task, beside)) => return self.awaited(*task, *beside),
            (Kind::Start(slot, start, body), _) => {
                let task = self.spawn(*start, body, None)?;
                let before = self.slots[*slot].replace(task);
                before.map_or(Ok(()), |before| self.release(before))?;
                Ok(5)
            }
            (Kind::Cancel(slot), _) => {
                self.cancel_slot(*slot)?;
                Ok(6)
            }
            (Kind::Drop(slot), _) => {
                self.drop_slot(*slot)?;
                Ok(7)
            }
            (Kind::Settle, _) => {
                // The clock is not here.
                if !self.is_next(Event::Ended(expression.number, Ok(9))) {
                    return Ok(None);
                }
                self.settle()?;
                Ok(9)
            }
            (_, State::Collecting(collection)) => {
                let collection = *collection;
                let Some(decision) = self.collections[collection].decision else {
                    return Ok(None);
                };
                // A panic drops them on its way.
                let out = decision.map_err(Stop::Panic)?;
                self.cancel_children(collection)?;
                out
            }
            _ => unreachable!("each kind has its state"),
        }))
    }

    fn sequence(
        &mut self,
        children: &[Arc<Expression>],
        values: &mut Vec<u8>,
        child: &mut Option<Box<Node>>,
    ) -> Step<Option<Out>> {
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

    fn awaited(&mut self, task: usize, beside: Option<Out>) -> Step<Option<Out>> {
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
        back: usize,
        body: &Arc<Expression>,
        state: &mut State,
    ) -> Step<Option<Out>> {
        if let State::Queued(ticket) = *state {
            match self.locks[lock].is_granted(ticket) {
                true => {
                    self.locks[lock].give_back(ticket, back, LOCKS[lock]);
                    *state = State::Holding(ticket, Node::boxed(body));
                }
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

    fn receive(&mut self, stream: usize, count: u8, values: &mut Vec<u8>) -> Option<Out> {
        let stream = &mut self.streams[stream];
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

    fn retry(
        &mut self,
        body: &Arc<Expression>,
        is_timed: bool,
        wait: Option<Event>,
        left: &mut u8,
        child: &mut Option<Box<Node>>,
    ) -> Step<Option<Out>> {
        if let (Some(wait), None) = (wait, &child) {
            // The clock is not here.
            if self.is_settled {
                return difference("a retry has no end");
            }
            if !self.is_next(wait) {
                return Ok(None);
            }
            self.expect(wait)?;
        }
        let polled = self.poll(child.get_or_insert_with(|| Node::boxed(body)))?;
        match polled {
            Some(Err(error)) if *left > 1 && !(is_timed && error % 4 == 0) => {
                // The policy waits.
                *left -= 1;
                *child = None;
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
        branches: &mut Vec<Node>,
    ) -> Step<Option<Out>> {
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
