//! A message as a datagram: a list of numbers, each of 8 bytes. The first one is the kind.

use super::{
    log::{Command, Entry, Position},
    message::{Id, Message, Operation, Request},
};

/// Returns the datagram.
pub(crate) fn encode(message: &Message) -> Vec<u8> {
    let numbers = match message {
        Message::RequestVote { term, last } => vec![0, *term, last.term, last.index],
        Message::Vote { term, granted } => vec![1, *term, u64::from(*granted)],
        Message::AppendEntries {
            term,
            previous,
            entries,
            leader_commit,
            round,
        } => {
            let Position {
                term: before,
                index,
            } = previous;
            let mut numbers = vec![2, *term, *before, *index, *leader_commit, *round];
            numbers.extend(entries.iter().flat_map(of_entry));
            numbers
        }
        Message::Appended {
            term,
            matched,
            round,
        } => match matched {
            Ok(index) => vec![3, *term, *round, *index],
            Err(index) => vec![4, *term, *round, *index],
        },
        Message::Request(request) => [&[5][..], &of_request(request)].concat(),
        Message::Done { serial, found } => vec![6, *serial, *found],
        Message::Elsewhere { serial, leader } => vec![7, *serial, leader.map_or(0, |Id(id)| id)],
    };
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Returns the message of a datagram, or `None` if it is not one.
pub(crate) fn decode(datagram: &[u8]) -> Option<Message> {
    let numbers = datagram.chunks(8).map(|bytes| bytes.try_into().ok());
    let numbers: Option<Vec<_>> = numbers.map(|n| n.map(u64::from_le_bytes)).collect();
    Some(match numbers?[..] {
        [0, term, before, index] => Message::RequestVote {
            term,
            last: Position {
                term: before,
                index,
            },
        },
        [1, term, granted] => Message::Vote {
            term,
            granted: granted == 1,
        },
        [2, term, before, index, leader_commit, round, ref rest @ ..] => Message::AppendEntries {
            term,
            previous: Position {
                term: before,
                index,
            },
            entries: rest.chunks(ENTRY).map(entry).collect::<Option<_>>()?,
            leader_commit,
            round,
        },
        [kind @ (3 | 4), term, round, index] => Message::Appended {
            term,
            matched: if kind == 3 { Ok(index) } else { Err(index) },
            round,
        },
        [5, ref rest @ ..] => Message::Request(request(rest.try_into().ok()?)),
        [6, serial, found] => Message::Done { serial, found },
        [7, serial, leader] => Message::Elsewhere {
            serial,
            leader: (leader > 0).then_some(Id(leader)),
        },
        _ => return None,
    })
}

/// The length of an entry, and of a request.
const ENTRY: usize = 1 + REQUEST;
const REQUEST: usize = 6;

fn of_entry(entry: &Entry) -> [u64; ENTRY] {
    let [client, serial, key, kind, one, other] = match &entry.command {
        Command::Nothing => [0; REQUEST],
        Command::Request(request) => of_request(request),
    };
    [entry.term, client, serial, key, kind, one, other]
}

fn entry(numbers: &[u64]) -> Option<Entry> {
    let (&term, rest) = numbers.split_first()?;
    let command = match <[u64; REQUEST]>::try_from(rest).ok()? {
        [0, ..] => Command::Nothing,
        numbers => Command::Request(request(numbers)),
    };
    Some(Entry { term, command })
}

fn of_request(request: &Request) -> [u64; REQUEST] {
    let Request {
        client,
        serial,
        key,
        operation,
    } = *request;
    let [kind, one, other] = match operation {
        Operation::Read => [0, 0, 0],
        Operation::Write(value) => [1, value, 0],
        Operation::Swap(expected, value) => [2, expected, value],
    };
    [client.0, serial, key, kind, one, other]
}

fn request([client, serial, key, kind, one, other]: [u64; REQUEST]) -> Request {
    Request {
        client: Id(client),
        serial,
        key,
        operation: match kind {
            0 => Operation::Read,
            1 => Operation::Write(one),
            _ => Operation::Swap(one, other),
        },
    }
}
