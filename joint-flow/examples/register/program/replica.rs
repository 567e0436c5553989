//! A replica: answers each request from its disk.

use std::{convert::Infallible, io};

use futures_lite::AsyncWriteExt;
use joint_executor::yield_now;
use joint_flow::{Collection, lock::FlowLock};

use super::{TcpListener, TcpStream};
use crate::{disk::Disk, message::Version};

/// Serves until it is dropped, which closes all connections.
pub(crate) async fn serve(listener: &TcpListener, disk: Disk) -> Infallible {
    let replica = Replica {
        disk,
        writes: FlowLock::new(1),
    };
    // Nothing awaits the collection, because no connection fails the replica.
    let connections = Collection::<Infallible>::new();
    loop {
        // Whatever has become of one connection, the next one may be better.
        let Ok((stream, _)) = listener.accept().await else {
            yield_now().await;
            continue;
        };
        let replica = replica.clone();
        connections.add(async move {
            // A client that no longer waits closes its connection, which is an error here.
            let _ = replica.answer(stream).await;
            Ok(())
        });
    }
}

#[derive(Clone, Debug)]
struct Replica {
    disk: Disk,
    /// Makes the look at the disk and the write one step.
    writes: FlowLock,
}

impl Replica {
    /// Answers the one request of a connection.
    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut request = [[0; 8]; 3];
        stream.read_exact(request.as_flattened_mut()).await?;
        self.store(Version::decode(request)).await;
        let answer = self.disk.read().encode();
        stream.write_all(answer.as_flattened()).await?;
        stream.close().await
    }

    /// Returns when this version, or a later one, is on the disk. An answer before that would count
    /// towards a majority, and be forgotten in a crash.
    async fn store(&self, version: Version) {
        let is_later = || self.disk.read().tag < version.tag;
        if is_later() {
            let permit = self.writes.take(1).await;
            let _permit = permit.expect("the lock is never closed");
            if is_later() {
                self.disk.write(version).await;
            }
        }
    }
}
