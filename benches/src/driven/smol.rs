//! smol: async-executor, with threads that run it in `async_io::block_on`. This is how they drive
//! async-io's reactor.
//!
//! That reactor is the only one of the program. These threads take part in it only while this pool
//! runs, and so do not disturb the others.

use std::{
    io,
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::mpsc,
    thread,
    time::Duration,
};

use async_executor::{Executor, StaticExecutor, Task};
use async_io::{Async, Timer};
use futures_lite::{AsyncReadExt, future::or};
use joint::oneshot::{self, Receiver};

use super::{Driven, Io};
use crate::runtime::{Pool, Runtime, Work, leak};

/// Threads that run one executor and drive the reactor.
pub struct Smol {
    executor: &'static StaticExecutor,
    /// Each worker runs the executor until the receiver that it is sent has its answer.
    workers: Vec<mpsc::Sender<Receiver<()>>>,
}

impl Pool for Smol {
    fn start(workers: usize) -> &'static Self {
        let executor = Executor::new().leak();
        let worker = |_| {
            let (sender, turns) = mpsc::channel();
            thread::spawn(move || {
                for end in turns {
                    let _ended = async_io::block_on(executor.run(end));
                }
            });
            sender
        };
        leak(Self {
            executor,
            workers: (0..workers).map(worker).collect(),
        })
    }
}

impl Runtime for Smol {
    type Handle<T: Send + 'static> = Task<T>;

    fn spawn<F: Work>(&'static self, future: F) -> Task<F::Output> {
        self.executor.spawn(future)
    }

    cancelled_by_drop!(Task);

    fn run<F: Work>(&'static self, future: F) -> F::Output {
        let start = |worker: &mpsc::Sender<_>| {
            let (end, ended) = oneshot::channel();
            worker.send(ended).expect("the thread of the worker lives");
            end
        };
        let _ends: Vec<_> = self.workers.iter().map(start).collect();
        joint::block_on(self.executor.spawn(future))
    }
}

impl Driven for Smol {
    type Sleep = Timer;
    type Listener = Async<TcpListener>;
    type Stream = Io<Async<TcpStream>>;
    type Datagrams = Async<UdpSocket>;
    #[cfg(unix)]
    type Reader = Io<Async<std::fs::File>>;
    #[cfg(unix)]
    type Writer = Io<Async<std::fs::File>>;

    fn sleep(duration: Duration) -> Timer {
        Timer::after(duration)
    }

    async fn timeout<F>(limit: Duration, future: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        or(async { Some(future.await) }, async {
            Timer::after(limit).await;
            None
        })
        .await
    }

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.get_ref().local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &mut Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(Io(stream))
    }

    async fn connect(address: SocketAddr) -> io::Result<Self::Stream> {
        let stream = Async::<TcpStream>::connect(address).await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(Io(stream))
    }

    async fn rest(stream: &mut Self::Stream, bytes: &mut Vec<u8>) -> io::Result<usize> {
        stream.0.read_to_end(bytes).await
    }

    async fn end(stream: &mut Self::Stream) -> io::Result<()> {
        stream.0.get_ref().shutdown(Shutdown::Write)
    }

    async fn datagrams() -> io::Result<(Self::Datagrams, SocketAddr)> {
        let socket = Async::<UdpSocket>::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = socket.get_ref().local_addr()?;
        Ok((socket, address))
    }

    async fn answer(socket: &mut Self::Datagrams, room: &mut [u8]) -> io::Result<usize> {
        let (count, client) = socket.recv_from(room).await?;
        socket.send_to(&room[..count], client).await
    }

    #[cfg(unix)]
    fn pipe() -> io::Result<(Self::Reader, Self::Writer)> {
        let (reader, writer) = rustix::pipe::pipe()?;
        let io = |end| Async::new(std::fs::File::from(end)).map(Io);
        Ok((io(reader)?, io(writer)?))
    }
}
