//! Reads into memory that is not initialised.

use std::mem::MaybeUninit;

use futures_lite::{AsyncWrite, AsyncWriteExt};

use super::support::{bytes, connected, everywhere, waits};
use crate::prelude::*;

/// What a type under test has.
type Read<'a> = &'a (
        dyn for<'b> Fn(
    &mut Context<'_>,
    &'b mut [MaybeUninit<u8>],
) -> Poll<io::Result<&'b mut [u8]>>
            + Sync
    );

const UNTOUCHED: u8 = 0xEE;

/// Reads into a new buffer. Returns the bytes, and how many behind them are still as they were.
async fn once(read: Read<'_>, room: usize) -> io::Result<(Vec<u8>, usize)> {
    let mut buffer = vec![MaybeUninit::new(UNTOUCHED); room];
    let got = poll_fn(|cx| read(cx, &mut buffer).map_ok(|got| got.to_vec())).await?;
    // SAFETY: every byte was initialised at the beginning.
    let untouched = |byte: &MaybeUninit<u8>| unsafe { byte.assume_init() } == UNTOUCHED;
    let rest = buffer[got.len()..].iter();
    Ok((got, rest.filter(|byte| untouched(byte)).count()))
}

/// A read waits for bytes, gets what fits, leaves what is behind them alone, and finds the end.
async fn reads(read: Read<'_>, mut other: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut first = pin!(once(read, 16));
    waits(&mut first).await;
    other.write_all(b"hello").await?;
    assert_eq!(first.await?, (b"hello".to_vec(), 11));

    other.write_all(&bytes(100)).await?;
    let mut all = Vec::new();
    while all.len() < 100 {
        let (got, untouched) = once(read, 7).await?;
        assert_eq!(got.len() + untouched, 7);
        all.extend(got);
    }
    assert_eq!(all, bytes(100));

    let mut last = pin!(once(read, 16));
    waits(&mut last).await;
    other.close().await?;
    drop(other);
    assert_eq!(last.await?, (Vec::new(), 16));
    Ok(())
}

#[test]
fn each_type_reads_into_uninitialised_memory() {
    everywhere(async || {
        let (one, other) = connected().await?;
        reads(&|cx, buffer| one.poll_read_uninit(cx, buffer), other).await?;
        let (one, other) = connected().await?;
        let one = AsyncFd::new(one.into_std()?)?;
        reads(&|cx, buffer| one.poll_read_uninit(cx, buffer), other).await?;
        #[cfg(unix)]
        {
            let (one, other) = joint_executor::io::UnixStream::pair()?;
            reads(&|cx, buffer| one.poll_read_uninit(cx, buffer), other).await?;
            let (one, other) = joint_executor::io::pipe()?;
            reads(&|cx, buffer| one.poll_read_uninit(cx, buffer), other).await?;
        }
        Ok(())
    });
}
