//! noraft 0.7.1: a cluster of which nodes crash and come back, over a network that loses, doubles
//! and reorders messages.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use joint_executor::{
    spawn,
    time::{now, sleep},
};
use noraft::{
    Action, ClusterConfig, LogEntry, LogIndex, LogPosition, Message, Node, NodeId, Role, Term,
};

use crate::world::{below, programs};

programs![cluster::<false>, cluster::<true>];

const MS: Duration = Duration::from_millis(1);
const NODES: u64 = 4;
const VOTERS: u64 = 3;

/// What all nodes share: the network, and what has been seen.
#[derive(Default)]
struct Shared {
    inboxes: [Vec<(Instant, Letter)>; NODES as usize],
    leaders: BTreeMap<Term, NodeId>,
    committed: BTreeMap<LogIndex, (Term, LogEntry)>,
    is_calm: bool,
    has_ended: bool,
}

#[derive(Clone)]
enum Letter {
    Message(Message),
    /// The state up to this position.
    Snapshot(LogPosition, ClusterConfig),
}

impl Shared {
    fn send(&mut self, to: NodeId, letter: Letter) {
        let copies = match below(20) {
            0 if !self.is_calm => 0,
            1 if !self.is_calm => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let delay = match self.is_calm {
                true => MS,
                false => MS * (1 << below(9)),
            };
            self.inboxes[to.get() as usize].push((now() + delay, letter.clone()));
        }
    }

    /// Takes the letters that have arrived.
    fn take(&mut self, id: NodeId) -> Vec<Letter> {
        let inbox = &mut self.inboxes[id.get() as usize];
        let arrived = inbox.extract_if(.., |(at, _)| *at <= now());
        arrived.map(|(_, letter)| letter).collect()
    }

    /// One leader for each term, and one entry for each index that was committed.
    fn look(&mut self, node: &Node, from: LogIndex) {
        if node.role() == Role::Leader {
            let leader = *self.leaders.entry(node.current_term()).or_insert(node.id());
            assert_eq!(
                leader,
                node.id(),
                "two leaders in {:?}",
                node.current_term()
            );
        }
        for (position, entry) in node.log().entries().iter_with_positions() {
            if position.index <= from || position.index > node.commit_index() {
                continue;
            }
            let ours = (position.term, entry);
            let seen = self
                .committed
                .entry(position.index)
                .or_insert_with(|| ours.clone());
            assert_eq!(
                *seen, ours,
                "two entries are committed at {:?}",
                position.index
            );
        }
    }
}

/// A disk, in which everything is saved before anything is sent.
#[derive(Clone)]
struct Disk {
    term: Term,
    voted_for: Option<NodeId>,
    log: noraft::Log,
}

impl Disk {
    fn of(node: &Node) -> Self {
        Self {
            term: node.current_term(),
            voted_for: node.voted_for(),
            log: node.log().clone(),
        }
    }
}

async fn run(id: NodeId, shared: Arc<Mutex<Shared>>, snapshots: bool) {
    let mut node = Node::start(id);
    if id.get() == 0 {
        let voters: Vec<_> = (0..VOTERS).map(NodeId::new).collect();
        assert_ne!(node.create_cluster(&voters), LogPosition::INVALID);
    }
    let mut disk = Disk::of(&node);
    let mut deadline = now() + 1000 * MS;
    let mut looked = LogIndex::ZERO;
    loop {
        sleep(10 * MS).await;
        let mut shared = shared.lock().unwrap();
        if shared.has_ended {
            return;
        }
        if !shared.is_calm && below(100) == 0 {
            node = Node::restart(id, disk.term, disk.voted_for, disk.log.clone());
            looked = LogIndex::ZERO;
        }
        for letter in shared.take(id) {
            match letter {
                Letter::Message(message) => node.handle_message(&message).expect("a valid message"),
                Letter::Snapshot(position, config) => {
                    node.handle_snapshot_installed(position, config);
                }
            }
        }
        if now() >= deadline {
            node.handle_election_timeout();
        }
        if node.role() == Role::Leader {
            act(&mut node, shared.is_calm);
        }
        if snapshots && below(20) == 0 {
            let to = LogIndex::new(node.commit_index().get());
            if let Some((position, config)) = node.log().get_position_and_config(to) {
                let config = config.clone();
                node.handle_snapshot_installed(position, config);
            }
        }
        if node.commit_index() != looked || node.role() == Role::Leader {
            shared.look(&node, looked);
            looked = node.commit_index();
        }
        let (role, peers) = (node.role(), node.peers().collect::<Vec<_>>());
        if !node.actions().is_empty() {
            disk = Disk::of(&node);
        }
        for action in node.actions_mut() {
            match action {
                Action::SetElectionTimeout => {
                    let wait = match role {
                        Role::Leader => 50,
                        _ => 200 + below(400) as u32,
                    };
                    deadline = now() + wait * MS;
                }
                // `disk` is what is saved.
                Action::SaveCurrentTerm | Action::SaveVotedFor | Action::AppendLogEntries(_) => {}
                Action::BroadcastMessage(message) => {
                    for &peer in &peers {
                        shared.send(peer, Letter::Message(message.clone()));
                    }
                }
                Action::SendMessage(peer, message) => {
                    shared.send(peer, Letter::Message(message));
                }
                Action::InstallSnapshot(peer) => {
                    let config = disk.log.snapshot_config().clone();
                    shared.send(peer, Letter::Snapshot(disk.log.snapshot_position(), config));
                }
            }
        }
    }
}

/// A leader proposes commands, and changes the configuration.
fn act(node: &mut Node, is_calm: bool) {
    match below(64) {
        0..4 => {
            node.propose_command();
        }
        4..6 if !is_calm => {
            let (one, other) = (NodeId::new(below(NODES)), NodeId::new(below(NODES)));
            let config = node.config().to_joint_consensus(&[one], &[other]);
            if !config.new_voters.is_empty() {
                node.propose_config(config);
            }
        }
        _ => {}
    }
}

async fn cluster<const SNAPSHOTS: bool>() {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let nodes: Vec<_> = (0..NODES)
        .map(|id| spawn(run(NodeId::new(id), shared.clone(), SNAPSHOTS)))
        .collect();
    sleep(3000 * MS).await;
    let before = {
        let mut shared = shared.lock().unwrap();
        shared.is_calm = true;
        shared.committed.len()
    };
    sleep(10_000 * MS).await;
    assert!(
        shared.lock().unwrap().committed.len() > before,
        "no progress in calm times"
    );
    shared.lock().unwrap().has_ended = true;
    for node in nodes {
        node.await;
    }
}
