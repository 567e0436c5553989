//! Adds up the bytes of files, 64 blocks at a time: by io_uring, or where that is refused by
//! threads that block.
//!
//! `cargo run -p joint-ring --example sums FILE...`

#[cfg(target_os = "linux")]
#[path = "../../joint-executor/examples/options/mod.rs"]
mod options;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("only Linux has io_uring");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    const HELP: &str = "\
Adds up the bytes of files, by io_uring where it can.

Usage: sums FILE...

  -h, --help     print this
  -V, --version  print the version
";
    options::run("sums", HELP, |mut options| {
        let mut paths = Vec::new();
        while let Some(word) = options.next()? {
            match word {
                lexopt::Arg::Value(path) => paths.push(path),
                word => return Err(word.unexpected().into()),
            }
        }
        for path in paths {
            let sum = joint_executor::block_on(sums::of(std::fs::File::open(&path)?))?;
            println!("{sum:>16} {}", path.to_string_lossy());
        }
        Ok(())
    })
}

#[cfg(target_os = "linux")]
mod sums {
    use std::{fs, io, os::unix::fs::FileExt, sync::Arc};

    use joint_executor::{JoinSet, spawn_blocking};
    use joint_ring::{File, Ring};

    const BLOCK: usize = 64 << 10;
    const AT_ONCE: usize = 64;

    /// How a file is read.
    #[derive(Clone)]
    enum Reader {
        Ring(Arc<File>),
        Threads(Arc<fs::File>),
    }

    impl Reader {
        fn new(file: fs::File) -> Self {
            match Ring::new() {
                Ok(_) => Self::Ring(Arc::new(file.into())),
                Err(error) => {
                    eprintln!("reading by threads: {error}");
                    Self::Threads(Arc::new(file))
                }
            }
        }

        /// Reads once, and returns the buffer with the bytes that were read.
        async fn read(&self, mut buffer: Vec<u8>, offset: u64) -> io::Result<Vec<u8>> {
            match self {
                Self::Ring(file) => {
                    let (count, buffer) = file.read_at(buffer, offset).await;
                    count.map(|_| buffer)
                }
                Self::Threads(file) => {
                    let file = file.clone();
                    let read = spawn_blocking(move || {
                        buffer.resize(BLOCK, 0);
                        let count = file.read_at(&mut buffer, offset)?;
                        buffer.truncate(count);
                        Ok(buffer)
                    });
                    read.await
                }
            }
        }

        /// Returns the sum of the bytes of one block.
        async fn sum(self, offset: u64) -> io::Result<u64> {
            let mut buffer = Vec::with_capacity(BLOCK);
            let (mut sum, mut read) = (0, 0);
            while read < BLOCK {
                buffer.clear();
                buffer = self.read(buffer, offset + read as u64).await?;
                let missing = BLOCK - read;
                let block = &buffer[..buffer.len().min(missing)];
                if block.is_empty() {
                    break;
                }
                sum += block.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                read += block.len();
            }
            Ok(sum)
        }
    }

    /// Returns the sum of the bytes of a file.
    pub(super) async fn of(file: fs::File) -> io::Result<u64> {
        let length = file.metadata()?.len();
        let reader = Reader::new(file);
        let (mut blocks, mut sum) = (JoinSet::new(), 0);
        for offset in (0..length).step_by(BLOCK) {
            if blocks.len() == AT_ONCE {
                let block = blocks.join_next().await.expect("some are running");
                sum += block.map_err(io::Error::other)??;
            }
            blocks.spawn(reader.clone().sum(offset));
        }
        while let Some(block) = blocks.join_next().await {
            sum += block.map_err(io::Error::other)??;
        }
        Ok(sum)
    }
}
