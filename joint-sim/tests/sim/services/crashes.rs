//! What is on a disk after a crash.

use super::*;
use crate::prelude::Version::{self, Planted, Repaired};

/// A server that adds a record for each request, and answers how many it has.
pub(super) fn acknowledged_before_sync(version: Version) -> Service {
    let told = Rc::new(Cell::new(0));
    let server = sharing(&told, move |told| async move {
        let file = open("log").await?;
        let mut count = file.len().await?;
        let known = told.get();
        assert!(count >= known, "{count} of {known} records are left");
        serve("0.0.0.0:1", async |[record]: [u8; 1]| {
            if version == Planted {
                file.sync_all().await?;
            }
            file.write_all_at(&[record], count).await?;
            if version == Repaired {
                file.sync_all().await?;
            }
            count += 1;
            Ok(count.to_le_bytes().into())
        })
        .await
    });
    service().may_crash("log", server).client(async move {
        for record in 1..5 {
            told.set(u64::from_le_bytes(ask("log:1", &[record]).await));
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    NoSync,
    TrustsCache,
}

/// Writes records to a log, and tells how many it has, until its disk or its host fails.
async fn log(told: Rc<Cell<u64>>, mistake: Option<Mistake>) -> io::Result<()> {
    let bytes = read("log").await?;
    // The first record is 1. What was lost is 0, or the end.
    let is_next = |(number, record): &(u64, &[u8])| *record == number.to_le_bytes();
    let known = (1..).zip(bytes.chunks(8)).take_while(is_next);
    let mut count = known.count() as u64;
    let has_told = told.get();
    assert!(count >= has_told, "{count} of {has_told} records are left");
    let file = match mistake {
        Some(Mistake::TrustsCache) if count > 0 => File::open("log").await?,
        _ => {
            // What was read may be in the cache only, if the last start ended before its sync.
            let file = File::create("new").await?;
            file.write_all_at(&bytes[..8 * count as usize], 0).await?;
            file.sync_all().await?;
            fs::rename("new", "log").await?;
            fs::sync_dir("").await?;
            file
        }
    };
    loop {
        told.set(count);
        sleep(SECOND / 20).await;
        let record = (count + 1).to_le_bytes();
        file.write_all_at(&record, 8 * count).await?;
        if mistake != Some(Mistake::NoSync) {
            file.sync_all().await?;
        }
        count += 1;
    }
}

fn log_with(mistake: Option<Mistake>) -> Service {
    let service = service().trouble(SECOND / 2).quiet(SECOND / 10);
    let log = sharing(&Rc::default(), move |told| log(told, mistake));
    service.may_crash("log", log)
}

pub(super) fn record_without_sync(version: Version) -> Service {
    log_with((version == Planted).then_some(Mistake::NoSync))
}

pub(super) fn trusted_cache(version: Version) -> Service {
    log_with((version == Planted).then_some(Mistake::TrustsCache))
}

/// A host that writes records of two sectors, each of one byte all over.
pub(super) fn torn_record(version: Version) -> Service {
    let writer = move || async move {
        let record = read("record").await?;
        let first = record.first().copied().unwrap_or(0);
        let is_whole = record.iter().all(|byte| *byte == first);
        assert!(is_whole, "half of the record is another one");
        for byte in first + 1..first + 4 {
            let path = if version == Planted { "record" } else { "new" };
            let file = open(path).await?;
            file.write_all_at(&[byte; 1024], 0).await?;
            file.sync_all().await?;
            if version == Repaired {
                fs::rename("new", "record").await?;
                fs::sync_dir("").await?;
            }
        }
        Ok::<(), io::Error>(())
    };
    service().trouble(SECOND).may_crash("writer", writer)
}

/// A host that replaces a file by a newer one, and tells of it.
pub(super) fn rename_without_folder(version: Version) -> Service {
    let told = Rc::new(Cell::new(0));
    let writer = sharing(&told, move |told| async move {
        let state = read("state").await?.first().copied().unwrap_or(0);
        let known = told.get();
        assert!(state >= known, "{known} is told, and {state} is there");
        let file = File::create("new").await?;
        file.write_all_at(&[state + 1], 0).await?;
        file.sync_all().await?;
        fs::rename("new", "state").await?;
        if version == Repaired {
            fs::sync_dir("").await?;
        }
        told.set(state + 1);
        sleep(SECOND).await;
        Err::<(), _>(io::Error::other("once more"))
    });
    let service = service().trouble(20 * SECOND);
    service.may_crash("writer", writer)
}

/// A host that does not give up when a sync fails.
pub(super) fn sync_tried_again(version: Version) -> Service {
    let told = Rc::new(Cell::new(0));
    let writer = sharing(&told, move |told| async move {
        let file = open("log").await?;
        let bytes = fs::read("log").await?;
        let is_there = bytes.get(..told.get()).map(|told| !told.contains(&0));
        assert_eq!(is_there, Some(true), "of {} records: {bytes:?}", told.get());
        for at in told.get()..64 {
            loop {
                file.write_all_at(&[1], at as u64).await?;
                let is_synced = file.sync_all().await.is_ok();
                if is_synced || version == Planted && file.sync_all().await.is_ok() {
                    break;
                }
            }
            told.set(at + 1);
        }
        Ok::<(), io::Error>(())
    });
    service().trouble(SECOND).may_crash("log", writer)
}

/// A server that adds 1 for each request, once.
pub(super) fn exactly_once(version: Version) -> Service {
    let server = move || async move {
        let file = open("count").await?;
        // The count and the number of the last request, in one byte, which no crash tears.
        let mut state = [0];
        file.read_at(&mut state, 0).await?;
        let (mut count, mut last) = (state[0] >> 4, state[0] & 15);
        if version == Planted {
            last = 0;
        }
        serve("0.0.0.0:1", async |[request]: [u8; 1]| {
            if request > last {
                (count, last) = (count + 1, request);
                assert!(count <= request, "request {request} is done again");
                file.write_all_at(&[count << 4 | last], 0).await?;
                file.sync_all().await?;
            }
            Ok(vec![request])
        })
        .await
    };
    service().may_crash("counter", server).client(async {
        for request in 1..6 {
            ask("counter:1", &[request]).await;
        }
    })
}
