//! A client: the register of Attiya, Bar-Noy and Dolev, with several writers (Lynch and
//! Shvartsman).
//!
//! An operation has two phases. Each asks all replicas and is over when a majority has answered.
//! Any two majorities have a replica in common. So the first phase of an operation finds every
//! version that the second phase of an earlier operation has stored.

use std::{future::Future, io, net::SocketAddr, time::Duration};

use joint_flow::{
    quorum, race,
    retry::{Backoff, retry},
    time::{delay, timeout},
    variable::Trigger,
};
use joint_sim::random;

use super::TcpStream;
use crate::message::{Tag, Version};

/// How long a query waits for the replicas that it asks first, before it asks the others too.
const HEDGE: Duration = Duration::from_millis(5);
/// How long a majority is waited for, before all replicas are asked again.
const PATIENCE: Duration = Duration::from_millis(150);
/// The shortest and the longest time between two tries, and the number of tries.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
const TRIES: u32 = 8;

/// The version before all writes, which changes nothing where it is stored.
const QUERY: Version = Version {
    tag: Tag {
        count: 0,
        writer: 0,
    },
    value: 0,
};

#[derive(Debug)]
pub(crate) struct Client {
    replicas: Vec<SocketAddr>,
    /// The last tag that it has used. An attempt that has failed may have stored it somewhere, so
    /// it is never used for another value.
    last: Tag,
}

impl Client {
    /// The number of a writer must never have been used before, not even by a client that has
    /// crashed.
    pub(crate) fn new(writer: u64, replicas: &[SocketAddr]) -> Self {
        Self {
            replicas: replicas.to_vec(),
            last: Tag { count: 0, writer },
        }
    }

    /// # Errors
    /// If no majority answers.
    pub(crate) async fn read(&self) -> io::Result<u64> {
        let found = self.ask_a_majority(QUERY).await?;
        let newest = newest(&found);
        // The write of this version may not have reached a majority yet, and may never do. A later
        // read must not find an older one. If the majority agrees, it has reached one.
        if found.iter().any(|version| *version != newest) {
            self.ask_a_majority(newest).await?;
        }
        Ok(newest.value)
    }

    /// # Errors
    /// If no majority answers. The value may have been written all the same, or may be later.
    pub(crate) async fn write(&mut self, value: u64) -> io::Result<()> {
        let found = self.ask_a_majority(QUERY).await?;
        self.last.count = self.last.count.max(newest(&found).tag.count) + 1;
        let tag = self.last;
        // Each try stores the same version. A new tag would write the value twice, and the second
        // time perhaps over a later one.
        self.ask_a_majority(Version { tag, value }).await?;
        Ok(())
    }

    /// Sends a request to the replicas, again and again if necessary. Returns the answers of a
    /// majority.
    async fn ask_a_majority(&self, request: Version) -> io::Result<Vec<Version>> {
        let (first, longest) = PAUSE;
        let backoff = Backoff::new(first)
            .max(longest)
            .tries(TRIES)
            .jitter(random());
        retry(backoff, || timed(self.ask_once(request))).await
    }

    /// Sends a request to the replicas, until a majority has answered. The requests that are not
    /// needed any more are cancelled then.
    async fn ask_once(&self, request: Version) -> io::Result<Vec<Version>> {
        let count = self.replicas.len();
        let majority = count / 2 + 1;
        // A query leaves the others alone if a majority answers soon. A version is to be stored
        // everywhere.
        let asked_first = match request {
            QUERY => majority,
            _ => count,
        };
        let start = random() as usize % count;
        let failed = Trigger::new();
        let asked = (0..count).map(|nth| {
            let replica = self.replicas[(start + nth) % count];
            let hedge = (nth >= asked_first).then(|| (failed.on_fire(), delay(HEDGE)));
            let failed = &failed;
            async move {
                if let Some(hedge) = hedge {
                    race(hedge).await;
                }
                ask(replica, request).await.inspect_err(|_| failed.fire())
            }
        });
        let answers = quorum(majority, asked.collect::<Vec<_>>()).await;
        let some = |errors: Vec<_>| errors.into_iter().flatten().next();
        match answers {
            Ok(answers) => Ok(answers.into_iter().flatten().collect()),
            Err(errors) => Err(some(errors).expect("a majority is not more than all")),
        }
    }
}

/// Sends a request to a replica, on a connection of its own. If this is dropped, the connection is
/// closed, so that no late answer is taken for that of another request.
async fn ask(replica: SocketAddr, request: Version) -> io::Result<Version> {
    let stream = TcpStream::connect(replica).await?;
    stream.set_nodelay(true)?;
    stream.write_all(request.encode().as_flattened()).await?;
    let mut answer = [[0; 8]; 3];
    stream.read_exact(answer.as_flattened_mut()).await?;
    Ok(Version::decode(answer))
}

async fn timed<T>(operation: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, operation).await?
}

fn newest(found: &[Version]) -> Version {
    let newest = found.iter().max_by_key(|version| version.tag);
    *newest.expect("a majority is not empty")
}
