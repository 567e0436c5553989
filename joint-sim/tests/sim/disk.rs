//! The files of hosts, and what survives a power cut.

mod stories;

use std::io::ErrorKind::{FileTooLarge, InvalidInput};

use joint_sim::fs::{self, File};

use crate::prelude::*;

/// More than a sector.
const LONG: usize = 2_000;

#[test]
fn what_is_not_synced_is_kept_or_torn_or_lost_or_reordered() {
    let survives = |seed| {
        sim::run(seed, async {
            let host = Host::new("a");
            let write = || async {
                let file = File::create("log").await.unwrap();
                fs::sync_dir("").await.unwrap();
                file.write_all_at(&[1; 512], 0).await.unwrap();
                file.write_all_at(&[2; 1024], 512).await.unwrap();
            };
            on_host(&host, write).await;
            host.cut_power();
            on_host(&host, || async { fs::read("log").await.ok() }).await
        })
    };
    let survived: BTreeSet<_> = (0..200).map(survives).collect();
    let parts = |parts: [u8; 3]| Some(parts.map(|part| [part; 512]).concat());
    assert!(survived.contains(&parts([1, 2, 2])), "all is kept");
    assert!(survived.contains(&Some(Vec::new())), "all is lost");
    let torn = Some([[1; 512], [2; 512]].concat());
    assert!(survived.contains(&torn), "the second write is torn");
    assert!(survived.contains(&parts([0, 2, 2])), "the first is lost");
    assert!(survived.contains(&parts([1, 0, 2])), "its end comes first");
    // No sector is torn, and every file is there.
    let whole = |survived: &Option<Vec<u8>>| survived.as_ref().unwrap().len() % 512 == 0;
    assert!(survived.iter().all(whole));
}

#[test]
fn offsets_are_limited_as_on_linux() {
    const LONGEST: u64 = 0xfff_ffff_f000;
    const MOST: u64 = i64::MAX as u64;
    let kind = |result: io::Result<usize>| result.map_err(|error| error.kind());
    sim::run(1, async {
        let file = File::create("log").await.unwrap();
        let write = async |bytes, at| kind(file.write_at(bytes, at).await);
        for (at, empty, one, ten) in [
            (1 << 40, Ok(0), Ok(1), Ok(10)),
            (LONGEST - 1, Ok(0), Ok(1), Ok(1)),
            (LONGEST, Ok(0), Err(FileTooLarge), Err(FileTooLarge)),
            (MOST - 1, Ok(0), Err(FileTooLarge), Err(InvalidInput)),
            (MOST, Ok(0), Err(InvalidInput), Err(InvalidInput)),
            (
                u64::MAX,
                Err(InvalidInput),
                Err(InvalidInput),
                Err(InvalidInput),
            ),
        ] {
            assert_eq!(write(b"", at).await, empty);
            assert_eq!(file.len().await.unwrap(), 0, "nothing was written");
            assert_eq!(write(b"1", at).await, one);
            assert_eq!(write(b"0123456789", at).await, ten);
            let mut buffer = [7; 10];
            let read = kind(file.read_at(&mut buffer, at).await);
            match ten {
                Ok(_) => assert_eq!(read, ten),
                Err(_) if at == LONGEST => assert_eq!(read, Ok(0)),
                Err(_) => assert_eq!(read, Err(InvalidInput)),
            }
            let length = kind(file.set_len(at).await.map(|()| 0));
            match at {
                at if at <= LONGEST => assert_eq!(length, Ok(0)),
                ..=MOST => assert_eq!(length, Err(FileTooLarge)),
                _ => assert_eq!(length, Err(InvalidInput)),
            }
            file.set_len(0).await.unwrap();
        }
    });
}

#[test]
fn a_full_disk_takes_a_part_and_has_room_again_later() {
    let mut written = BTreeSet::new();
    for seed in 0..100 {
        let faults = Faults::none().full_disks(0.5);
        let run = Builder::new(seed).faults(faults).run(async {
            let file = File::create("log").await.unwrap();
            let first = file.write_all_at(&[1; LONG], 0).await;
            let length = file.len().await.unwrap();
            if let Err(error) = &first {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
            }
            // What is there can be overwritten.
            file.write_all_at(&vec![2; length as usize], 0)
                .await
                .unwrap();
            while file.write_all_at(&[3; LONG], 0).await.is_err() {
                sleep(Duration::from_secs(1)).await;
            }
            assert_eq!(file.len().await.unwrap(), LONG as u64);
            length
        });
        written.insert(run.unwrap().output);
    }
    assert!(written.contains(&0) && written.contains(&(LONG as u64)));
    assert!(written.len() > 2, "{written:?}");
}

#[test]
fn hosts_have_disks_of_their_own_which_survive_the_program() {
    sim::run(1, async {
        let file = File::create("log").await.unwrap();
        file.write_all_at(b"main", 0).await.unwrap();
        let host = Host::new("a");
        let opened = on_host(&host, || File::open("log")).await;
        assert_eq!(kind(opened), ErrorKind::NotFound);
        assert_eq!(fs::read("log").await.unwrap(), b"main");
        let write = || async {
            let file = File::create("log").await.unwrap();
            file.write_all_at(b"hello", 0).await.unwrap();
        };
        on_host(&host, write).await;
        assert_eq!(on_host(&host, || fs::read("log")).await.unwrap(), b"hello");
        let start = now();
        file.sync_all().await.unwrap();
        assert!(now() - start < Duration::from_millis(11));
    });
    assert_eq!(kind(block_on(File::create("log"))), ErrorKind::Unsupported);
}
