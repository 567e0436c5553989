//! Reading and writing without a trait, and what the budget counts of a loop that waits and tries.

use futures_lite::future::try_zip;
use joint_executor::io::Interest;

use super::support::{bytes, connected, everywhere, waits};
use crate::prelude::*;

/// Everything that two ends of one direction promise. They have no trait in common.
macro_rules! moves_bytes {
    ($ends:expr) => {{
        let (reader, writer) = $ends;
        assert_eq!(reader.read(&mut []).await?, 0);
        reader.read_exact(&mut []).await?;
        writer.write_all(&[]).await?;
        // A read that is dropped has read nothing.
        waits(&mut pin!(reader.read(&mut [0; 8]))).await;
        // Of two that wait by reference, each gets one byte.
        let (mut one, mut other) = ([0], [0]);
        let both = try_zip(reader.read_exact(&mut one), reader.read_exact(&mut other));
        let later = async {
            yield_now().await;
            assert_eq!(writer.write(b"ab").await?, 2);
            Ok(())
        };
        try_zip(both, later).await?;
        assert_eq!(one[0].max(other[0]), b'b');
        assert_eq!(one[0].min(other[0]), b'a');
        // More than there is room for.
        let block = bytes(8_000_000);
        let mut received = vec![0; block.len()];
        try_zip(writer.write_all(&block), reader.read_exact(&mut received)).await?;
        assert!(received == block);
        writer.write_all(b"xyz").await?;
        drop(writer);
        let early = reader.read_exact(&mut [0; 4]).await.unwrap_err();
        assert_eq!(early.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(reader.read(&mut [0; 4]).await?, 0);
        let (reader, writer) = $ends;
        drop(reader);
        assert!(writer.write_all(&block).await.is_err());
        // To the end, behind what is there. What a dropped read has read is there as well.
        #[allow(unused_mut, reason = "a half is read to its end by `&mut`")]
        let (mut reader, writer) = $ends;
        let mut received = Vec::with_capacity(2 + block.len());
        received.push(b'<');
        writer.write_all(b"a").await?;
        waits(&mut pin!(reader.read_to_end(&mut received))).await;
        assert_eq!(received, b"<a");
        let write = async {
            writer.write_all(&block).await?;
            drop(writer);
            io::Result::Ok(())
        };
        let (count, ()) = try_zip(reader.read_to_end(&mut received), write).await?;
        assert!(count == block.len() && received[2..] == block);
        assert!(received.capacity() < received.len() + 4_096);
        let mut nothing = Vec::new();
        assert_eq!(reader.read_to_end(&mut nothing).await?, 0);
    }};
}

#[test]
fn bytes_are_moved_without_a_trait() {
    everywhere(async || {
        moves_bytes!(connected().await?);
        moves_bytes!({
            let (one, other) = connected().await?;
            (one.into_split().0, other.into_split().1)
        });
        #[cfg(unix)]
        {
            use joint_executor::io::{UnixStream, pipe};
            use std::os::unix::net;

            moves_bytes!(UnixStream::pair()?);
            moves_bytes!(pipe()?);
            moves_bytes!({
                let (one, other) = net::UnixStream::pair()?;
                (AsyncFd::new(one)?, AsyncFd::new(other)?)
            });
        }
        Ok(())
    });
}

/// How many times in one poll an operation can be waited for and tried, at most 1,000.
async fn times(wait_and_try: impl Fn(&mut Context<'_>) -> bool) -> usize {
    yield_now().await;
    let is_over = |cx: &mut Context<'_>| (0..1000).position(|_| !wait_and_try(cx));
    poll_fn(|cx| Poll::Ready(is_over(cx).unwrap_or(1000))).await
}

#[test]
fn the_budget_counts_what_is_tried_and_not_the_wait_for_it() {
    everywhere(async || {
        let (one, _other) = connected().await?;
        let fd = AsyncFd::new(std::net::UdpSocket::bind("127.0.0.1:0")?)?;
        let to = fd.get_ref().local_addr()?;
        let is_ready = |cx: &mut Context<'_>| pin!(one.writable()).poll(cx).is_ready();
        let guard = |cx: &mut Context<'_>| match pin!(fd.writable()).poll(cx) {
            Poll::Ready(guard) => guard.ok(),
            Poll::Pending => None,
        };
        let send = |socket: &std::net::UdpSocket| socket.send_to(b"x", to);

        let waits = [
            times(is_ready).await,
            times(|cx| guard(cx).is_some()).await,
            times(|cx| one.poll_write_ready(cx).is_ready()).await,
            times(|cx| fd.poll_write_ready(cx).is_ready()).await,
            times(|cx| pin!(one.ready(Interest::WRITABLE)).poll(cx).is_ready()).await,
        ];
        assert_eq!(waits, [1000; 5]);
        // A refusal would say that the system would block.
        let only_tried = [
            times(|_| one.try_write(b"x").is_ok()).await,
            times(|_| fd.try_io(Interest::WRITABLE, send).is_ok()).await,
        ];
        assert_eq!(only_tried, [1000; 2]);
        let tries = [
            times(|cx| is_ready(cx) && one.try_write(b"x").is_ok()).await,
            times(|cx| is_ready(cx) && one.try_io(Interest::WRITABLE, || Ok(())).is_ok()).await,
            times(|cx| guard(cx).is_some_and(|mut g| g.try_io(|fd| send(fd.get_ref())).is_ok()))
                .await,
            times(|cx| guard(cx).map(|mut guard| guard.retain_ready()).is_some()).await,
            times(|cx| guard(cx).is_some() && fd.try_io(Interest::WRITABLE, send).is_ok()).await,
        ];
        // Once the budget is used up, one in 64 is let through by chance.
        let counted = |times: &usize| (128..500).contains(times);
        assert!(tries.iter().all(counted), "{tries:?}");
        Ok(())
    });
}
