//! Records that count as written before they are on the disk.

use std::{
    cell::Cell,
    io::{self, ErrorKind},
    rc::Rc,
    time::Duration,
};

use joint_executor::time::sleep;
use joint_sim::{
    self as sim, Host,
    fs::{self, File},
};

use super::{Runtime, Version};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    NoSync,
    TrustsCache,
}

async fn some_time() {
    sleep(Duration::from_micros(sim::random() % 20_000)).await;
}

/// Writes records to a log, and tells how many it has, until its disk or its host fails.
async fn log(told: &Cell<u64>, mistake: Option<Mistake>) -> io::Result<()> {
    let bytes = match fs::read("log").await {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        bytes => bytes?,
    };
    // The first record is 1. What was lost is 0, or the end.
    let is_next = |(number, record): &(u64, &[u8])| *record == number.to_le_bytes();
    let known = (1..).zip(bytes.chunks(8)).take_while(is_next);
    let mut count = known.count() as u64;
    assert!(count >= told.get(), "a record is lost that was told of");
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
        some_time().await;
        let record = (count + 1).to_le_bytes();
        file.write_all_at(&record, 8 * count).await?;
        if mistake != Some(Mistake::NoSync) {
            file.sync_all().await?;
        }
        count += 1;
    }
}

async fn run(mistake: Option<Mistake>) {
    let (host, told) = (Host::new("log"), Rc::new(Cell::new(0)));
    host.run(move || {
        let told = told.clone();
        async move { _ = log(&told, mistake).await }
    });
    for _ in 0..8 {
        some_time().await;
        match sim::random() % 2 {
            0 => host.kill_program(),
            _ => host.cut_power(),
        }
        host.restart();
    }
    sleep(Duration::from_secs(1)).await;
}

pub(crate) async fn record_without_sync<R: Runtime>(version: Version) {
    run((version == Version::Planted).then_some(Mistake::NoSync)).await;
}

pub(crate) async fn trusted_cache<R: Runtime>(version: Version) {
    run((version == Version::Planted).then_some(Mistake::TrustsCache)).await;
}
