//! A message as a datagram: a list of numbers, each of 8 bytes.

use super::{
    log::{Command, Entry, Position},
    message::{Id, Message, Operation, Request},
};

/// Returns the datagram.
pub(crate) fn encode(message: &Message) -> Vec<u8> {
    let mut numbers = Vec::with_capacity(16);
    message.put(&mut numbers);
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Returns the message of a datagram, or `None` if it is not one.
pub(crate) fn decode(datagram: &[u8]) -> Option<Message> {
    let numbers = datagram.chunks(8).map(|bytes| bytes.try_into().ok());
    let numbers: Option<Vec<_>> = numbers.map(|n| n.map(u64::from_le_bytes)).collect();
    let numbers = &mut numbers?.into_iter();
    let message = Message::take(numbers)?;
    numbers.next().is_none().then_some(message)
}

trait Wire: Sized {
    fn put(&self, to: &mut Vec<u64>);
    fn take(from: &mut dyn Iterator<Item = u64>) -> Option<Self>;
}

impl Wire for Message {
    fn put(&self, to: &mut Vec<u64>) {
        match self {
            Self::RequestVote { term, last } => {
                to.extend([0, *term]);
                last.put(to);
            }
            Self::Vote { term, granted } => to.extend([1, *term, u64::from(*granted)]),
            Self::AppendEntries {
                term,
                previous,
                entries,
                leader_commit,
                round,
            } => {
                to.extend([2, *term]);
                previous.put(to);
                to.extend([*leader_commit, *round, entries.len() as u64]);
                entries.iter().for_each(|entry| entry.put(to));
            }
            Self::Appended {
                term,
                matched,
                round,
            } => {
                let (kind, index) = match *matched {
                    Ok(index) => (0, index),
                    Err(index) => (1, index),
                };
                to.extend([3, *term, kind, index, *round]);
            }
            Self::Request(request) => {
                to.push(4);
                request.put(to);
            }
            Self::Done { serial, found } => to.extend([5, *serial, *found]),
            Self::Elsewhere { serial, leader } => {
                to.extend([6, *serial]);
                to.extend(leader.map(|Id(leader)| leader));
            }
        }
    }

    fn take(from: &mut dyn Iterator<Item = u64>) -> Option<Self> {
        Some(match from.next()? {
            0 => Self::RequestVote {
                term: from.next()?,
                last: Position::take(from)?,
            },
            1 => Self::Vote {
                term: from.next()?,
                granted: from.next()? == 1,
            },
            2 => {
                let (term, previous) = (from.next()?, Position::take(from)?);
                let (leader_commit, round, count) = (from.next()?, from.next()?, from.next()?);
                let entries = (0..count).map(|_| Entry::take(from));
                Self::AppendEntries {
                    term,
                    previous,
                    entries: entries.collect::<Option<_>>()?,
                    leader_commit,
                    round,
                }
            }
            3 => Self::Appended {
                term: from.next()?,
                matched: match (from.next()?, from.next()?) {
                    (0, index) => Ok(index),
                    (_, index) => Err(index),
                },
                round: from.next()?,
            },
            4 => Self::Request(Request::take(from)?),
            5 => Self::Done {
                serial: from.next()?,
                found: from.next()?,
            },
            6 => Self::Elsewhere {
                serial: from.next()?,
                leader: from.next().map(Id),
            },
            _ => return None,
        })
    }
}

impl Wire for Position {
    fn put(&self, to: &mut Vec<u64>) {
        to.extend([self.term, self.index]);
    }

    fn take(from: &mut dyn Iterator<Item = u64>) -> Option<Self> {
        Some(Self {
            term: from.next()?,
            index: from.next()?,
        })
    }
}

impl Wire for Entry {
    fn put(&self, to: &mut Vec<u64>) {
        to.push(self.term);
        match self.command {
            Command::Nothing => to.push(0),
            Command::Request(request) => {
                to.push(1);
                request.put(to);
            }
        }
    }

    fn take(from: &mut dyn Iterator<Item = u64>) -> Option<Self> {
        Some(Self {
            term: from.next()?,
            command: match from.next()? {
                0 => Command::Nothing,
                _ => Command::Request(Request::take(from)?),
            },
        })
    }
}

impl Wire for Request {
    fn put(&self, to: &mut Vec<u64>) {
        to.extend([self.client.0, self.serial, self.key]);
        match self.operation {
            Operation::Read => to.push(0),
            Operation::Write(value) => to.extend([1, value]),
            Operation::Swap(expected, value) => to.extend([2, expected, value]),
        }
    }

    fn take(from: &mut dyn Iterator<Item = u64>) -> Option<Self> {
        Some(Self {
            client: Id(from.next()?),
            serial: from.next()?,
            key: from.next()?,
            operation: match from.next()? {
                0 => Operation::Read,
                1 => Operation::Write(from.next()?),
                _ => Operation::Swap(from.next()?, from.next()?),
            },
        })
    }
}
