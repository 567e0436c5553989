//! The combinators.

use std::mem;

use super::{
    super::{Event, Out, code, folded, optional, program::Group},
    Step, Stop, World,
    evaluate::Node,
};

pub(super) enum Member {
    Running(Node),
    Ended(Out),
    Panicked,
}

impl Member {
    fn out(&self) -> Option<Out> {
        match self {
            Self::Running(_) | Self::Panicked => None,
            Self::Ended(out) => Some(*out),
        }
    }
}

impl World<'_> {
    /// Polls all children if they are few or if this is the first time, and otherwise those that
    /// the record names.
    pub(super) fn group(
        &mut self,
        group: Group,
        members: &mut Vec<Member>,
        panic: &mut Option<u8>,
        is_first: bool,
    ) -> Step<Option<Out>> {
        let polls_all = is_first || members.len() <= 3 || self.is_settled;
        let mut decided = decision(group, members, None);
        for index in 0..members.len() {
            if decided.is_some() {
                break;
            }
            let Member::Running(node) = &mut members[index] else {
                continue;
            };
            if polls_all || self.is_next(Event::Polled(node.number())) {
                match self.poll(node) {
                    Ok(None) => {}
                    Ok(Some(out)) => {
                        members[index] = Member::Ended(out);
                        decided = decision(group, members, Some((index, out)));
                    }
                    // The others run on.
                    Err(Stop::Panic(code)) if group == Group::AllReady => {
                        let panicked = mem::replace(&mut members[index], Member::Panicked);
                        self.cancel_members(vec![panicked])?;
                        panic.get_or_insert(code);
                    }
                    Err(stop) => return Err(stop),
                }
            }
        }
        if decided.is_some() {
            self.cancel_members(mem::take(members))?;
        }
        let is_running = |member: &Member| matches!(member, Member::Running(_));
        match *panic {
            Some(code) if !members.iter().any(is_running) => Err(Stop::Panic(code)),
            _ => Ok(decided),
        }
    }

    pub(super) fn cancel_members(&mut self, members: Vec<Member>) -> Step {
        members.into_iter().try_for_each(|member| match member {
            Member::Running(node) => self.cancel(node),
            Member::Ended(_) | Member::Panicked => Ok(()),
        })
    }
}

/// What a combinator returns once this child has ended, or before any has.
fn decision(group: Group, members: &[Member], last: Option<(usize, Out)>) -> Option<Out> {
    let outs: Vec<_> = members.iter().map(Member::out).collect();
    let each =
        |part: fn(Out) -> Option<u8>| folded(outs.iter().map(|out| optional(out.and_then(part))));
    let whole = || outs.iter().copied().collect::<Option<Vec<_>>>();
    let ended = || outs.iter().flatten();
    let successes = ended().filter(|out| out.is_ok()).count();
    let failures = ended().count() - successes;
    match (group, last) {
        (Group::Race, _) => last.map(|(_, out)| out),
        (Group::TryAll, Some((_, Err(error)))) => Some(Err(error)),
        (Group::All | Group::AllReady | Group::TryAll, _) => {
            whole().map(|all| Ok(folded(all.into_iter().map(code))))
        }
        (Group::Any, Some((index, Ok(value)))) => Some(Ok(folded([index as u8, value]))),
        (Group::Any, _) => whole().map(|all| Err(folded(all.into_iter().filter_map(Result::err)))),
        (Group::Quorum(n), _) if n > outs.len() || failures > outs.len() - n => {
            Some(Err(each(Result::err)))
        }
        (Group::Strict(_), Some((_, Err(error)))) => Some(Err(error)),
        (Group::Quorum(n) | Group::Strict(n), _) => (successes >= n).then(|| Ok(each(Result::ok))),
    }
}
