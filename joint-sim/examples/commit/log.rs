//! A log on a disk, which survives crashes and power cuts.
//!
//! A record is in the log once it is synced. A crash may leave the beginning of one, which its
//! check sum tells.

use std::io;

use joint_sim::fs::{self, File};

use crate::Bug;

const NAME: &str = "log";
const NEW: &str = "log.new";

/// The length of a record in bytes: the transaction, what has happened to it, and a check sum.
const LENGTH: usize = 17;

/// What happens to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Prepared,
    Aborted,
    Committed,
}

#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    end: u64,
    bug: Option<Bug>,
}

impl Log {
    /// Opens the log, and returns what it has.
    ///
    /// What is read may not be on the disk, because the program may have ended before a sync, or
    /// after one that has failed. So it is written to a new file, which takes the place of the old
    /// one.
    ///
    /// # Errors
    /// As those of the disk. The log is as it was.
    pub(crate) async fn open(bug: Option<Bug>) -> io::Result<(Self, Vec<(u64, Step)>)> {
        let bytes = match fs::read(NAME).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let records: Vec<_> = bytes.chunks(LENGTH).map_while(decode).collect();
        let end = (records.len() * LENGTH) as u64;
        let file = match bug {
            Some(Bug::TrustCache) if !bytes.is_empty() => File::open(NAME).await?,
            _ => {
                let file = File::create(NEW).await?;
                file.write_all_at(&bytes[..end as usize], 0).await?;
                file.sync_all().await?;
                fs::rename(NEW, NAME).await?;
                fs::sync_dir("").await?;
                file
            }
        };
        Ok((Self { file, end, bug }, records))
    }

    /// Appends a record, and syncs it.
    ///
    /// # Errors
    /// As those of the disk. Nothing may be appended after that, because it is not known whether
    /// the record is in the log: open it again.
    pub(crate) async fn append(&mut self, transaction: u64, step: Step) -> io::Result<()> {
        let record = encode(transaction, step);
        self.file.write_all_at(&record, self.end).await?;
        if self.bug != Some(Bug::NoSync) {
            self.file.sync_all().await?;
        }
        self.end += LENGTH as u64;
        Ok(())
    }
}

fn encode(transaction: u64, step: Step) -> [u8; LENGTH] {
    let mut record = [0; LENGTH];
    record[..8].copy_from_slice(&transaction.to_le_bytes());
    record[8] = step as u8;
    let sum = sum(&record[..9]);
    record[9..].copy_from_slice(&sum.to_le_bytes());
    record
}

fn decode(record: &[u8]) -> Option<(u64, Step)> {
    let (transaction, rest) = record.split_first_chunk()?;
    let transaction = u64::from_le_bytes(*transaction);
    let steps = [Step::Prepared, Step::Aborted, Step::Committed];
    let &step = steps.get(usize::from(*rest.first()?))?;
    (encode(transaction, step) == *record).then_some((transaction, step))
}

/// FNV-1a, which is not 0 for bytes that are 0.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
