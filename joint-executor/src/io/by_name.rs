//! The functions of streams and pipes that need no trait: what most programs read and write with.

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
            let asked = if $counted { buffer.len() } else { 0 };
            let fell_short = |count: &usize| (1..asked).contains(count);
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
            let asked = if $counted { bytes.len() } else { 0 };
            let fell_short = |count: &usize| (1..asked).contains(count);
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

pub(super) use {reads_by_name, writes_by_name};
