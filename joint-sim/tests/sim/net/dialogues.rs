//! Random dialogues of two ends of a connection, each once on real sockets and once on simulated
//! ones: every result is the same.
//!
//! After each act both ends wait until what it causes has arrived. On real sockets that is known by
//! what the dialogue has done so far, and seen by operations that change nothing.

use joint_executor::io::{Interest, TcpListener, TcpStream};

use crate::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Act {
    Accept,
    Write(usize),
    Read(usize),
    Peek,
    Shutdown(Shutdown),
    PeerAddr,
    LocalAddr,
    ResetAtEnd,
    Drop,
}

/// Returns the acts of a dialogue, each with the end that does it.
fn dialogue(number: u64) -> Vec<(usize, Act)> {
    let mut state = number;
    let mut below = |bound: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % bound
    };
    let accepted = if below(4) == 0 { below(6) } else { 0 };
    let mut acts = Vec::new();
    for n in 0..3 + below(14) {
        if n == accepted {
            acts.push((1, Act::Accept));
        }
        let act = match below(20) {
            0..=4 => Act::Write(below(300) as usize),
            5..=9 => Act::Read(1 + below(400) as usize),
            10 => Act::Peek,
            11 => Act::Shutdown(Shutdown::Read),
            12 | 13 => Act::Shutdown(Shutdown::Write),
            14 => Act::Shutdown(Shutdown::Both),
            15 | 16 => Act::PeerAddr,
            17 => Act::LocalAddr,
            18 => Act::ResetAtEnd,
            _ => Act::Drop,
        };
        acts.push((below(2) as usize, act));
    }
    acts
}

/// What is known of an end from what both have done.
#[derive(Default)]
struct Known {
    is_dropped: bool,
    has_ended_writing: bool,
    has_ended_reading: bool,
    resets_at_end: bool,
    is_reset: bool,
    /// The number of bytes to be read.
    unread: usize,
}

#[derive(Default)]
struct Ends {
    streams: [Option<TcpStream>; 2],
    known: [Known; 2],
}

impl Ends {
    fn is_over(&self, end: usize) -> bool {
        let has_ended = self.known.iter().all(|known| known.has_ended_writing);
        self.known[end].is_reset || has_ended
    }

    /// Whether a read does not wait.
    fn is_readable(&self, end: usize) -> bool {
        let own = &self.known[end];
        let ends = own.has_ended_reading || self.known[1 - end].has_ended_writing;
        ends || own.unread > 0 || self.is_over(end)
    }

    fn has_written(&mut self, end: usize, bytes: usize) {
        let peer = &mut self.known[1 - end];
        // Nobody will read it.
        let is_refused = peer.is_dropped || peer.has_ended_reading && peer.has_ended_writing;
        if is_refused && bytes > 0 {
            self.known
                .iter_mut()
                .for_each(|known| known.is_reset = true);
        } else {
            peer.unread += bytes;
        }
    }

    fn drop(&mut self, end: usize) {
        let is_over = self.is_over(end);
        let own = &mut self.known[end];
        own.is_dropped = true;
        if !is_over && (own.unread > 0 || own.resets_at_end) {
            self.known[1 - end].is_reset = true;
        } else if !is_over {
            own.has_ended_writing = true;
        }
        self.streams[end] = None;
    }

    /// Waits until all that was done has arrived.
    async fn settle(&self) {
        if sim::is_simulated() {
            return sleep(SECOND).await;
        }
        for end in 0..2 {
            let Some(stream) = &self.streams[end] else {
                continue;
            };
            let (own, peer) = (&self.known[end], &self.known[1 - end]);
            if self.is_over(end) {
                while stream.peer_addr().is_ok() {
                    yield_now().await;
                }
                continue;
            }
            let mut buffer = [0; 8_192];
            while own.unread > 0 && stream.peek(&mut buffer).await.unwrap() < own.unread {
                yield_now().await;
            }
            let ends = peer.has_ended_writing && !own.has_ended_reading;
            while ends
                && !stream
                    .ready(Interest::READABLE)
                    .await
                    .unwrap()
                    .is_read_closed()
            {
                yield_now().await;
            }
        }
    }

    async fn act(&mut self, end: usize, act: Act) -> Result<usize, ErrorKind> {
        let is_readable = self.is_readable(end);
        let Some(stream) = &self.streams[end] else {
            return Ok(0);
        };
        let own = &mut self.known[end];
        let count = match act {
            Act::Accept => Ok(0),
            Act::Write(bytes) => stream.write(&[7; 300][..bytes]).await,
            Act::Read(_) | Act::Peek if !is_readable => Err(ErrorKind::WouldBlock.into()),
            Act::Read(bytes) => stream.read(&mut [0; 400][..bytes]).await,
            Act::Peek => stream.peek(&mut [0; 8_192]).await,
            Act::Shutdown(how) => stream.shutdown(how).map(|()| 0),
            Act::PeerAddr => stream.peer_addr().map(|_| 0),
            Act::LocalAddr => stream.local_addr().map(|_| 0),
            Act::ResetAtEnd => stream.set_linger(Some(Duration::ZERO)).map(|()| 0),
            Act::Drop => Ok(0),
        };
        let count = count.map_err(|error| error.kind())?;
        match act {
            Act::Write(_) => self.has_written(end, count),
            Act::Read(_) => own.unread -= count,
            Act::Shutdown(how) => {
                own.has_ended_reading |= how != Shutdown::Write;
                own.has_ended_writing |= how != Shutdown::Read;
            }
            Act::ResetAtEnd => own.resets_at_end = true,
            Act::Drop => self.drop(end),
            _ => {}
        }
        Ok(count)
    }
}

/// Returns the results of the acts.
async fn hold(number: u64) -> Vec<Result<usize, ErrorKind>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut ends = Ends::default();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await;
    ends.streams[0] = Some(client.unwrap());
    let mut results = Vec::new();
    for (end, act) in dialogue(number) {
        if let Act::Accept = act {
            ends.streams[1] = Some(listener.accept().await.unwrap().0);
        }
        results.push(ends.act(end, act).await);
        ends.settle().await;
    }
    results
}

/// The same number on all machines whose sockets are those of Linux.
#[test]
fn a_dialogue_has_the_same_results_on_real_sockets() {
    let mut errors = BTreeSet::new();
    for number in 0..1_200 {
        let simulated = sim::run(number, hold(number));
        let failed = simulated.iter().filter_map(|result| result.err());
        errors.extend(failed.map(|kind| format!("{kind:?}")));
        if cfg!(target_os = "linux") {
            let real = block_on(timeout(60 * SECOND, hold(number)));
            let acts = dialogue(number);
            assert_eq!(Ok(simulated), real, "dialogue {number}: {acts:?}");
        }
    }
    let all = [
        "BrokenPipe",
        "ConnectionReset",
        "NotConnected",
        "WouldBlock",
    ];
    assert!(errors.iter().eq(all), "{errors:?}");
}
