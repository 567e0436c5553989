//! The program: a coordinator and participants, which agree on the outcome of each transaction.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    time::Duration,
};

use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use joint_executor::{
    chance::random,
    io::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    Bug,
    log::{Log, Step},
    observer::Observer,
};

pub(crate) const COORDINATOR: &str = "coordinator";
pub(crate) const PARTICIPANTS: [&str; 2] = ["one", "other"];

const PORT: u16 = 7000;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a participant asks for the outcome of a transaction.
const BETWEEN: Duration = Duration::from_millis(300);

/// Questions.
const PREPARE: u8 = 1;
const COMMIT: u8 = 2;
const ABORT: u8 = 3;
const OUTCOME: u8 = 4;

/// Answers.
const YES: u8 = 1;
const NO: u8 = 2;
const LATER: u8 = 3;

/// Asks a host, and returns its answer.
async fn ask(host: &str, question: u8, transaction: u64) -> io::Result<u8> {
    let answer = async {
        let mut stream = TcpStream::connect((host, PORT)).await?;
        let mut message = [question; 9];
        message[1..].copy_from_slice(&transaction.to_le_bytes());
        stream.write_all(&message).await?;
        let mut answer = [0];
        stream.read_exact(&mut answer).await?;
        Ok(answer[0])
    };
    timeout(PATIENCE, answer).await?
}

/// Reads the question of a connection.
async fn question(mut stream: &TcpStream) -> io::Result<(u8, u64)> {
    let mut message = [0; 9];
    timeout(PATIENCE, stream.read_exact(&mut message)).await??;
    let [question, transaction @ ..] = message;
    Ok((question, u64::from_le_bytes(transaction)))
}

async fn listen() -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], PORT))).await
}

/// The coordinator: it begins transactions, decides them, and tells the outcome to those that ask.
///
/// # Errors
/// If its disk fails. It has to be started again.
pub(crate) async fn coordinate(observer: &Observer, bug: Option<Bug>) -> io::Result<()> {
    let (log, records) = Log::open(bug).await?;
    let coordinator = Coordinator {
        committed: RefCell::new(records.into_iter().map(|(own, _)| own).collect()),
        open: RefCell::default(),
    };
    let listener = listen().await?;
    let answers = coordinator.answer(&listener);
    future::or(answers, coordinator.decide_all(log, observer)).await
}

struct Coordinator {
    /// What is in the log. All else is aborted, unless it is open.
    committed: RefCell<BTreeSet<u64>>,
    /// What is not decided yet.
    open: RefCell<BTreeSet<u64>>,
}

impl Coordinator {
    async fn decide_all(&self, mut log: Log, observer: &Observer) -> io::Result<()> {
        while let Some(transaction) = observer.begin() {
            self.open.borrow_mut().insert(transaction);
            let mut all_agree = true;
            for participant in PARTICIPANTS {
                let answer = ask(participant, PREPARE, transaction).await;
                all_agree &= matches!(answer, Ok(YES));
            }
            if all_agree {
                log.append(transaction, Step::Committed).await?;
                self.committed.borrow_mut().insert(transaction);
            }
            self.open.borrow_mut().remove(&transaction);
            observer.decided(transaction, all_agree);
            let outcome = if all_agree { COMMIT } else { ABORT };
            for participant in PARTICIPANTS {
                // One that does not hear it asks later.
                let _ = ask(participant, outcome, transaction).await;
            }
        }
        future::pending().await
    }

    async fn answer(&self, listener: &TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            if let Ok((_outcome, transaction)) = question(&stream).await {
                let answer = match self.committed.borrow().contains(&transaction) {
                    true => YES,
                    false if self.open.borrow().contains(&transaction) => LATER,
                    false => NO,
                };
                let _ = (&stream).write_all(&[answer]).await;
            }
        }
    }
}

/// A participant: it prepares transactions, and learns their outcome.
///
/// # Errors
/// If its disk fails. It has to be started again.
pub(crate) async fn participate(observer: &Observer, bug: Option<Bug>) -> io::Result<()> {
    let (log, records) = Log::open(bug).await?;
    let mut participant = Participant {
        log,
        steps: records.into_iter().collect(),
        observer,
    };
    let listener = listen().await?;
    loop {
        observer.waits(participant.prepared().is_some());
        let accepted = async { Some(listener.accept().await) };
        let late = async {
            sleep(BETWEEN).await;
            None
        };
        match future::or(accepted, late).await {
            Some(accepted) => {
                let (stream, _) = accepted?;
                if let Ok((question, transaction)) = question(&stream).await {
                    let answer = participant.answer(question, transaction).await?;
                    let _ = (&stream).write_all(&[answer]).await;
                }
            }
            None => participant.resolve().await?,
        }
    }
}

struct Participant<'a> {
    log: Log,
    /// The last step of each transaction.
    steps: BTreeMap<u64, Step>,
    observer: &'a Observer,
}

impl Participant<'_> {
    /// Returns a transaction whose outcome is not known.
    fn prepared(&self) -> Option<u64> {
        let mut steps = self.steps.iter();
        let (&transaction, _) = steps.find(|(_, step)| **step == Step::Prepared)?;
        Some(transaction)
    }

    async fn step(&mut self, transaction: u64, step: Step) -> io::Result<()> {
        self.log.append(transaction, step).await?;
        self.steps.insert(transaction, step);
        Ok(())
    }

    async fn answer(&mut self, question: u8, transaction: u64) -> io::Result<u8> {
        let is_known = self.steps.contains_key(&transaction);
        match question {
            PREPARE if is_known || random() % 8 == 0 => return Ok(NO),
            PREPARE => self.step(transaction, Step::Prepared).await?,
            _ => self.end(transaction, question == COMMIT).await?,
        }
        Ok(YES)
    }

    async fn end(&mut self, transaction: u64, commits: bool) -> io::Result<()> {
        match self.steps.get(&transaction) {
            Some(Step::Prepared) => {
                let step = if commits {
                    Step::Committed
                } else {
                    Step::Aborted
                };
                self.step(transaction, step).await?;
                self.observer.decided(transaction, commits);
            }
            // What was never prepared here cannot be committed.
            None => assert!(!commits, "a promise to commit {transaction:x} is forgotten"),
            Some(_) => {}
        }
        Ok(())
    }

    /// Asks for the outcome of a transaction of which it has not heard.
    async fn resolve(&mut self) -> io::Result<()> {
        let Some(transaction) = self.prepared() else {
            return Ok(());
        };
        match ask(COORDINATOR, OUTCOME, transaction).await {
            Ok(YES) => self.end(transaction, true).await,
            Ok(NO) => self.end(transaction, false).await,
            _ => Ok(()),
        }
    }
}
