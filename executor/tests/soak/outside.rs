//! Tasks that wait for what comes from outside of them: for times and for descriptors.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use joint::block_on;
use joint_executor::{
    io::UdpSocket,
    spawn,
    time::{MissedTicks, Sleep, Timer, interval, sleep, timeout},
    yield_now,
};

use crate::kinds::{Boxed, Choice, Round};

/// How many kinds there are here.
pub(crate) const KINDS: u64 = 8;

const MOST_SENT: usize = 200_000;

pub(crate) fn micros(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Bytes on their way from one end to the other.
#[cfg(unix)]
pub(crate) type Ends = (
    joint_executor::io::PipeReader,
    joint_executor::io::PipeWriter,
);

#[cfg(unix)]
pub(crate) async fn ends() -> std::io::Result<Ends> {
    joint_executor::io::pipe()
}

#[cfg(not(unix))]
pub(crate) type Ends = (joint_executor::io::TcpStream, joint_executor::io::TcpStream);

#[cfg(not(unix))]
pub(crate) async fn ends() -> std::io::Result<Ends> {
    use joint_executor::io::{TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let writer = TcpStream::connect(listener.local_addr()?).await?;
    Ok((listener.accept().await?.0, writer))
}

/// A sleep that has been polled once: armed, on the executor of whoever calls.
async fn armed(time: Duration) -> Sleep {
    let mut sleep = sleep(time);
    poll_fn(|cx| Poll::Ready(Pin::new(&mut sleep).poll(cx).is_ready())).await;
    sleep
}

impl Round {
    /// Waits forever where tasks need not end, and otherwise for a moment.
    async fn long(is_quiet: bool, n: u64) {
        match is_quiet {
            true => sleep(micros(n)).await,
            false => sleep(Duration::from_secs(3600 * n)).await,
        }
    }

    /// A task that waits, of some kind.
    pub(crate) fn waiting_task(self: &Arc<Self>, kind: u64, choice: &mut Choice) -> Boxed {
        let (n, m) = (choice.below(20), choice.below(300));
        let is_quiet = self.is_quiet;
        match kind {
            0 => Box::pin(async move {
                let due = Instant::now() + micros(m);
                sleep(micros(m)).await;
                assert!(Instant::now() >= due, "early");
                n
            }),
            1 => Box::pin(async move {
                // Most times the end is near, and sometimes nearer than the other's.
                let other = sleep(micros(10 * n));
                u64::from(timeout(micros(m), other).await.is_ok())
                    + u64::from(timeout(micros(n), pending::<()>()).await.is_ok())
            }),
            2 => Box::pin(async move {
                let mut timer = Timer::new(micros(n));
                for _ in 0..n {
                    (&mut timer).await;
                }
                let mut ticks = interval(micros(1 + m)).missed_ticks(MissedTicks::Skip);
                let first = ticks.tick().await;
                assert!(ticks.tick().await > first);
                n
            }),
            3 => Box::pin(async move {
                // Given up, or reset to be sooner.
                let mut long = armed(Duration::from_secs(3600)).await;
                timeout(micros(m), &mut long).await.unwrap_err();
                long.reset(Instant::now() + micros(n));
                long.await;
                n
            }),
            4 => {
                let guard = self.guard();
                Box::pin(async move {
                    // Armed here, and awaited by whoever runs that.
                    let sleep = armed(micros(m)).await;
                    let there = spawn(async move {
                        let _guard = guard;
                        sleep.await;
                        n
                    });
                    there.result().await.unwrap_or(1)
                })
            }
            5 => {
                let guard = self.guard();
                Box::pin(async move {
                    let Ok((mut reader, mut writer)) = ends().await else {
                        return n;
                    };
                    let length = MOST_SENT / (1 + n as usize);
                    let sent = spawn(async move {
                        let _guard = guard;
                        writer.write_all(&vec![7; length]).await?;
                        writer.close().await?;
                        drop(writer);
                        std::io::Result::Ok(())
                    });
                    let mut read = Vec::new();
                    let got = reader.read_to_end(&mut read).await;
                    if let Ok(sent) = sent.result().await {
                        sent.unwrap();
                        got.unwrap();
                        assert_eq!(read.len(), length);
                    }
                    n
                })
            }
            6 => Box::pin(async move {
                // What never comes, next to what comes after a while.
                let Ok((mut reader, _writer)) = ends().await else {
                    return n;
                };
                let waits = async { reader.read(&mut [0; 8]).await };
                timeout(micros(m), waits).await.unwrap_err();
                Self::long(is_quiet, 1 + n).await;
                n
            }),
            _ => Box::pin(async move {
                let Ok(socket) = UdpSocket::bind("127.0.0.1:0").await else {
                    return n;
                };
                let address = socket.local_addr().unwrap();
                for _ in 0..n {
                    socket.send_to(b"to myself", address).await.unwrap();
                    yield_now().await;
                    assert_eq!(socket.recv_from(&mut [0; 16]).await.unwrap().0, 9);
                }
                n
            }),
        }
    }

    /// Waits, on this thread, for what the executor serves.
    pub(crate) fn wait_for_its_timer_and_pipe(&self, n: u64) {
        let guard = self.guard();
        let made = self.executor.spawn(async move {
            let _guard = guard;
            (armed(micros(n)).await, ends().await)
        });
        let Ok((sleep, ends)) = block_on(made.result()) else {
            return;
        };
        block_on(sleep);
        let Ok((mut reader, mut writer)) = ends else {
            return;
        };
        let talk = async {
            let sent = async {
                sleep_a_moment(n).await;
                writer.write_all(&[1; 100]).await
            };
            let mut buffer = [0; 100];
            let got = reader.read_exact(&mut buffer);
            futures_lite::future::try_zip(sent, got).await
        };
        block_on(talk).unwrap();
    }
}

async fn sleep_a_moment(n: u64) {
    sleep(micros(n % 50)).await;
}
