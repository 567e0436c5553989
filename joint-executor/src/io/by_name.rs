//! The functions of streams and pipes that need no trait: what most programs read and write with.

/// Returns what tells whether fewer bytes were moved than `asked`, but some, if that is `counted`.
pub(super) fn short(counted: bool, asked: usize) -> impl Fn(&usize) -> bool + Copy {
    let asked = if counted { asked } else { 0 };
    move |count| (1..asked).contains(count)
}

/// Implements reading for the value `$this`, whose descriptor is `$fd`. `$counted` is as for the
/// macro `reads`.
macro_rules! reads_by_name {
    ($this:ident by $fd:expr, counted: $counted:expr) => {
        /// Reads bytes once there are any, and returns their number: 0 at the end, or if `buffer`
        /// is empty. Any number of tasks may read by reference, and each byte goes to one of them.
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, nothing has been read.
        ///
        /// # Errors
        /// Returns the system's error. If it has to wait and the executor that serves the
        /// descriptor is gone, returns an error that says so.
        ///
        /// # Example
        /// See [`TcpStream`](crate::io::TcpStream).
        pub async fn read(&$this, buffer: &mut [u8]) -> std::io::Result<usize> {
            if buffer.is_empty() {
                return Ok(0);
            }
            let fell_short = short($counted, buffer.len());
            $fd.done(Way::Read, |mut inner| Read::read(&mut inner, buffer), fell_short).await
        }

        /// Reads until `buffer` is full.
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, some bytes may have been read, and are lost
        /// unless you look at `buffer`. To go on after a timeout, call [`read`](Self::read) in a
        /// loop of your own.
        ///
        /// # Errors
        /// As for [`read`](Self::read), or
        /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the end comes first. Some bytes
        /// may have been read.
        pub async fn read_exact(&$this, mut buffer: &mut [u8]) -> std::io::Result<()> {
            while !buffer.is_empty() {
                match $this.read(buffer).await? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => buffer = &mut buffer[count..],
                }
            }
            Ok(())
        }
    };
}

/// Implements reading to the end, as [`reads_by_name`] does reading.
macro_rules! reads_to_end {
    ($this:ident by $fd:expr, counted: $counted:expr) => {
        /// Reads until the end, and appends the bytes to `buffer`. Returns their number.
        ///
        /// The memory that they are read into is not zeroed before, as it is by the functions of
        /// this name in `futures-lite` and `futures-util`. If `buffer` has room for all of the
        /// bytes, it hardly grows.
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, the bytes that have been read are in
        /// `buffer`.
        ///
        /// # Errors
        /// Returns the system's error, as a read does. The bytes that have been read are in
        /// `buffer`.
        ///
        /// # Example
        /// See [`TcpStream`](crate::io::TcpStream).
        pub async fn read_to_end(
            &$this,
            buffer: &mut alloc::vec::Vec<u8>,
        ) -> std::io::Result<usize> {
            let (before, given) = (buffer.len(), buffer.capacity());
            loop {
                let room = crate::io::uninit::room(buffer, given);
                let fell_short = short($counted, room.len());
                let count = $fd.done(Way::Read, |inner| inner.read_uninit(room), fell_short).await?;
                if count == 0 {
                    return Ok(buffer.len() - before);
                }
                // SAFETY: the read has initialised the next `count` bytes.
                unsafe { buffer.set_len(buffer.len() + count) };
            }
        }
    };
}

/// Implements writing, as [`reads_by_name`] does reading.
macro_rules! writes_by_name {
    ($this:ident by $fd:expr, counted: $counted:expr) => {
        /// Writes some of the bytes once there is room, and returns their number.
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, nothing has been written.
        ///
        /// # Errors
        /// Returns the system's error. If it has to wait and the executor that serves the
        /// descriptor is gone, returns an error that says so.
        ///
        /// # Example
        /// See [`TcpStream`](crate::io::TcpStream).
        pub async fn write(&$this, bytes: &[u8]) -> std::io::Result<usize> {
            let fell_short = short($counted, bytes.len());
            $fd.done(Way::Write, |mut inner| Write::write(&mut inner, bytes), fell_short).await
        }

        /// Writes all of the bytes. If several tasks do so by reference at the same time, their
        /// bytes may be mixed.
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, some bytes may have been written, and it is
        /// not known how many. To go on after a timeout, call [`write`](Self::write) in a loop of
        /// your own.
        ///
        /// # Errors
        /// As for [`write`](Self::write), or [`WriteZero`](std::io::ErrorKind::WriteZero) if the
        /// system takes no more bytes. Some bytes may have been written.
        pub async fn write_all(&$this, mut bytes: &[u8]) -> std::io::Result<()> {
            while !bytes.is_empty() {
                match $this.write(bytes).await? {
                    0 => return Err(std::io::ErrorKind::WriteZero.into()),
                    count => bytes = &bytes[count..],
                }
            }
            Ok(())
        }
    };
}

pub(super) use {reads_by_name, reads_to_end, writes_by_name};
