//! Pipes, and how they end.

use std::os::fd::OwnedFd;

use joint_executor::io::{PipeReader, PipeWriter, pipe};

use super::support::{data_then_end, end_while_waiting, everywhere, waits};
use crate::prelude::*;

#[test]
fn the_ends_go_to_descriptors_and_back() {
    everywhere(async || {
        let (reader, writer) = pipe()?;
        let (reader, writer) = (reader.into_owned_fd()?, writer.into_owned_fd()?);
        std::fs::File::from(writer.try_clone()?).write_all(b"through")?;
        let mut buffer = [0; 7];
        std::fs::File::from(reader.try_clone()?).read_exact(&mut buffer)?;
        assert_eq!(&buffer, b"through");
        let (reader, writer) = (PipeReader::try_from(reader)?, PipeWriter::try_from(writer)?);
        assert!(format!("{reader:?}").starts_with("PipeReader"));
        end_while_waiting(&reader, writer).await
    });
}

#[test]
fn an_end_of_the_wrong_direction_is_refused() {
    everywhere(async || {
        let (reader, writer) = pipe()?;
        let (reader, writer) = (reader.into_owned_fd()?, writer.into_owned_fd()?);
        let error = PipeReader::try_from(writer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("PipeWriter"), "{error}");
        let error = PipeWriter::try_from(reader).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("PipeReader"), "{error}");
        // What goes both ways can be either.
        let (one, other) = std::os::unix::net::UnixStream::pair()?;
        let reader = PipeReader::try_from(OwnedFd::from(one))?;
        let writer = PipeWriter::try_from(OwnedFd::from(other))?;
        data_then_end(reader, writer).await
    });
}

/// A terminal's end is not its last: what is read there, 0 bytes, is given on as it is.
#[test]
#[cfg(target_os = "linux")]
fn the_end_of_what_is_no_fifo_is_given_on() {
    everywhere(async || {
        let (user, terminal) = terminal();
        let mut user = fs::File::from(user);
        let reader = PipeReader::try_from(terminal)?;
        let mut buffer = [0; 16];
        for _ in 0..2 {
            // Control-D.
            user.write_all(b"text\n\x04")?;
            assert_eq!(reader.read(&mut buffer).await?, 5);
            assert_eq!(reader.read(&mut buffer).await?, 0);
        }
        Ok(())
    });
}

/// The user's side of a terminal, and the side that a program reads.
#[cfg(target_os = "linux")]
fn terminal() -> (OwnedFd, OwnedFd) {
    use std::{os::fd::FromRawFd, ptr};

    let (mut user, mut terminal) = (-1, -1);
    // SAFETY: there is room for two numbers, and no name, mode or size is asked for.
    let made = unsafe {
        libc::openpty(
            &raw mut user,
            &raw mut terminal,
            ptr::null_mut(),
            ptr::null(),
            ptr::null(),
        )
    };
    assert_eq!(made, 0);
    let owned = |fd| {
        // SAFETY: it was made just now, and nobody else has it.
        unsafe { OwnedFd::from_raw_fd(fd) }
    };
    (owned(user), owned(terminal))
}

/// A read gives one packet, however much room there is, and another may be there already.
#[test]
#[cfg(target_os = "linux")]
fn packets_stay_apart() {
    use rustix::pipe::{PipeFlags, pipe_with};

    everywhere(async || {
        let (reader, writer) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC)?;
        let (reader, writer) = (PipeReader::try_from(reader)?, PipeWriter::try_from(writer)?);
        let mut buffer = [0; 64];
        {
            let mut read = pin!(reader.read(&mut buffer));
            waits(&mut read).await;
            for packet in [&b"first"[..], b"two"] {
                assert_eq!(writer.write(packet).await?, packet.len());
            }
            assert_eq!(read.await?, 5);
        }
        assert_eq!(reader.read(&mut buffer).await?, 3);
        assert_eq!(&buffer[..3], b"two");
        Ok(())
    });
}
