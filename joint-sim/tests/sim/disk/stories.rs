//! Random stories of files, and what a power cut at their end leaves, against a model of a file
//! system with a journal.
//!
//! The model knows nothing of how the simulated disk is made. It keeps every state that names and
//! files have had, and says of what a power cut left whether a file system may show it.

use std::collections::BTreeMap;

use joint_sim::fs::{self, File};

use crate::prelude::*;

const SECTOR: usize = 512;
const PATHS: [&str; 6] = ["a", "./b", "x/a", "x/b", "x/c", "y/a"];
const FOLDERS: [&str; 3] = [".", "x", "y"];

/// What made a version of a file.
#[derive(Clone)]
enum Step {
    /// It was on the disk.
    Synced,
    Write(usize, usize),
    Length(usize),
}

#[derive(Clone)]
struct Version {
    bytes: Vec<u8>,
    step: Step,
}

impl Version {
    /// Returns the length from which on the file is another one on the disk, if that is so.
    fn cuts(&self, before: &Self) -> Option<usize> {
        match self.step {
            Step::Length(length) => Some(length.min(before.bytes.len())),
            _ => None,
        }
    }
}

/// All versions of a file, from the one on.
type Versions = Vec<Version>;

fn synced(bytes: Vec<u8>) -> Versions {
    let step = Step::Synced;
    Vec::from([Version { bytes, step }])
}

/// A sector of a file, as it is with zeros behind the end.
fn sector(bytes: &[u8], at: usize) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let from = bytes.get(at * SECTOR..).unwrap_or_default();
    let count = from.len().min(SECTOR);
    sector[..count].copy_from_slice(&from[..count]);
    sector
}

/// Whether a power cut may leave this of a file.
fn may_be_left(all: &Versions, left: &[u8]) -> bool {
    let lengths = all.iter().enumerate();
    let lengths = lengths.filter_map(|(at, one)| match one.step {
        Step::Length(length) => Some((at, length)),
        _ => None,
    });
    let lengths: Vec<_> = lengths.collect();
    (0..=lengths.len()).any(|kept| {
        let (kept, lost) = lengths.split_at(kept);
        // Of a sector behind what was lost, nothing later is on the disk.
        let is_possible = |at: usize, sector: usize| {
            let mut before = lost.iter().filter(|(cut, _)| *cut <= at);
            before.all(|&(cut, _)| {
                let from = all[cut].cuts(&all[cut - 1]);
                from.is_none_or(|from| sector < from.div_ceil(SECTOR))
            })
        };
        let (last, least) = kept.last().copied().unwrap_or((0, all[0].bytes.len()));
        let ends = all.iter().enumerate().skip(last);
        let mut ends = ends.flat_map(|(at, one)| {
            let (from, end) = match one.step {
                Step::Write(from, end) => (from, end),
                _ => (0, 0),
            };
            let sectors =
                (from / SECTOR..end.div_ceil(SECTOR)).filter(move |own| is_possible(at, *own));
            sectors.map(move |own| end.min((own + 1) * SECTOR))
        });
        if left.len() != least && !ends.any(|end| end == left.len()) || left.len() < least {
            return false;
        }
        (0..left.len().div_ceil(SECTOR)).all(|own| {
            let mut times = (0..all.len()).filter(|&at| is_possible(at, own));
            times.any(|at| {
                let mut then = sector(&all[at].bytes, own);
                for &(_, length) in kept.iter().filter(|(cut, _)| *cut > at) {
                    then[length.saturating_sub(own * SECTOR).min(SECTOR)..].fill(0);
                }
                sector(left, own)[..(left.len() - own * SECTOR).min(SECTOR)]
                    == then[..(left.len() - own * SECTOR).min(SECTOR)]
            })
        })
    })
}

type Names = BTreeMap<PathBuf, usize>;

#[derive(Clone)]
struct Model {
    /// All states of the names, from the one that is on the disk on, and the paths that led there.
    names: Vec<(Names, Vec<PathBuf>)>,
    files: Vec<Versions>,
}

/// A path as the disk shows it.
fn shown(path: &str) -> PathBuf {
    path.trim_start_matches("./").into()
}

impl Model {
    fn new(left: Vec<(PathBuf, Vec<u8>)>) -> Self {
        let names = left
            .iter()
            .zip(0..)
            .map(|((path, _), file)| (path.clone(), file));
        Self {
            names: Vec::from([(names.collect(), Vec::new())]),
            files: left.into_iter().map(|(_, bytes)| synced(bytes)).collect(),
        }
    }

    fn names(&self) -> &Names {
        &self.names.last().unwrap().0
    }

    fn find(&self, path: &str) -> Option<usize> {
        self.names().get(&shown(path)).copied()
    }

    fn rename(&mut self, changes: &[(&str, Option<usize>)]) {
        let mut names = self.names().clone();
        for (path, file) in changes {
            match file {
                Some(file) => names.insert(shown(path), *file),
                None => names.remove(&shown(path)),
            };
        }
        let paths = changes.iter().map(|(path, _)| shown(path));
        self.names.push((names, paths.collect()));
    }

    fn change(&mut self, file: usize, step: Step, to: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.files[file].last().unwrap().bytes.clone();
        to(&mut bytes);
        self.files[file].push(Version { bytes, step });
    }

    fn sync_dir(&mut self, folder: &str) {
        let folder = shown(folder.trim_matches('.'));
        let in_folder = |path: &PathBuf| path.parent() == Some(&folder);
        let last = self
            .names
            .iter()
            .rposition(|(_, paths)| paths.iter().any(in_folder));
        drop(self.names.drain(..last.unwrap_or(0)));
    }

    fn may_leave(&self, left: &[(PathBuf, Vec<u8>)]) -> bool {
        self.names.iter().any(|(names, _)| {
            names.len() == left.len()
                && left.iter().all(|(path, bytes)| {
                    let file = names.get(path);
                    file.is_some_and(|&file| may_be_left(&self.files[file], bytes))
                })
        })
    }
}

fn below(bound: usize) -> usize {
    sim::random() as usize % bound
}

fn kind<R>(result: io::Result<R>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// Does something to a file, and tells the model.
async fn act(model: &RefCell<Model>, number: u8) {
    // Mostly one of the first ones, so that much happens to a file.
    let one = PATHS[below(PATHS.len()).min(below(PATHS.len()))];
    let found = model.borrow().find(one);
    let missing = found.is_none().then_some(ErrorKind::NotFound);
    let what = below(16);
    match (what, found) {
        (0..=2, found) => {
            match found {
                Some(file) => {
                    let mut model = model.borrow_mut();
                    model.change(file, Step::Length(0), Vec::clear);
                }
                None => {
                    let mut model = model.borrow_mut();
                    let file = model.files.len();
                    model.files.push(synced(Vec::new()));
                    model.rename(&[(one, Some(file))]);
                }
            }
            File::create(one).await.unwrap();
        }
        (3..=5, found) => {
            let other = PATHS[below(PATHS.len())];
            if let Some(file) = found.filter(|_| one != other) {
                let mut model = model.borrow_mut();
                model.rename(&[(one, None), (other, Some(file))]);
            }
            assert_eq!(kind(fs::rename(one, other).await), missing);
        }
        (6, found) => {
            if found.is_some() {
                model.borrow_mut().rename(&[(one, None)]);
            }
            assert_eq!(kind(fs::remove_file(one).await), missing);
        }
        (7..=8, _) => {
            let folder = FOLDERS[below(FOLDERS.len())];
            fs::sync_dir(folder).await.unwrap();
            model.borrow_mut().sync_dir(folder);
        }
        (_, None) => assert_eq!(kind(File::open(one).await), missing),
        (what, Some(file)) => {
            let opened = File::open(one).await.unwrap();
            match what {
                9..=11 => {
                    let (at, length) = (below(1_500), below(1_200));
                    let end = at + length;
                    if length > 0 {
                        model
                            .borrow_mut()
                            .change(file, Step::Write(at, end), |bytes| {
                                bytes.resize(bytes.len().max(end), 0);
                                bytes[at..end].fill(number);
                            });
                    }
                    opened
                        .write_all_at(&vec![number; length], at as u64)
                        .await
                        .unwrap();
                }
                12..=14 => {
                    let length = below(2_000);
                    let step = Step::Length(length);
                    model
                        .borrow_mut()
                        .change(file, step, |bytes| bytes.resize(length, 0));
                    opened.set_len(length as u64).await.unwrap();
                }
                _ => {
                    opened.sync_all().await.unwrap();
                    let mut model = model.borrow_mut();
                    let last = model.files[file].pop().unwrap();
                    model.files[file] = synced(last.bytes);
                }
            }
        }
    }
}

/// Returns all files, with their paths and bytes.
async fn all_files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        for path in fs::read_dir(folder).await.unwrap() {
            let bytes = fs::read(&path).await.unwrap();
            all.push((path, bytes));
        }
    }
    all
}

#[derive(Default, Debug)]
struct Seen {
    stories: usize,
    nothing_lost: usize,
    names_lost: usize,
    bytes_lost: usize,
    torn: usize,
}

impl Seen {
    fn note(&mut self, model: &Model, left: &[(PathBuf, Vec<u8>)]) {
        self.stories += 1;
        let is_left = |(path, _): &(PathBuf, Vec<u8>)| model.names().contains_key(path);
        let keeps_names = left.len() == model.names().len() && left.iter().all(is_left);
        self.names_lost += usize::from(!keeps_names);
        let (mut loses_bytes, mut is_torn) = (false, false);
        for (path, bytes) in left.iter().filter(|one| is_left(one)) {
            let versions = &model.files[model.names()[path]];
            loses_bytes |= versions.last().unwrap().bytes != *bytes;
            is_torn |= versions.iter().all(|one| one.bytes != *bytes);
        }
        self.bytes_lost += usize::from(loses_bytes);
        self.torn += usize::from(is_torn);
        self.nothing_lost += usize::from(keeps_names && !loses_bytes);
    }
}

#[test]
fn a_power_cut_leaves_what_a_journal_allows() {
    let mut seen = Seen::default();
    for seed in 0..250 {
        sim::run(seed, async {
            let host = Host::new("a");
            let mut model = Model::new(Vec::new());
            for _ in 0..4 {
                let (before, kept) = (Rc::new(RefCell::new(model)), Rc::new(Cell::new(None)));
                let (after, last) = (before.clone(), kept.clone());
                on_host(&host, move || async move {
                    for number in 1..2 + below(12) as u8 {
                        act(&after, number).await;
                    }
                    last.set(Some(after.borrow().clone()));
                    // The power is cut in this one.
                    let _ = futures_lite::future::poll_once(act(&after, 99)).await;
                })
                .await;
                host.cut_power();
                let left = on_host(&host, all_files).await;
                let (after, before) = (before.borrow(), kept.take().unwrap());
                let is_right = before.may_leave(&left) || after.may_leave(&left);
                assert!(is_right, "seed {seed}: {left:?}");
                seen.note(&before, &left);
                model = Model::new(left);
            }
        });
    }
    let rare = [
        seen.nothing_lost,
        seen.names_lost,
        seen.bytes_lost,
        seen.torn,
    ];
    let is_seen = rare.iter().all(|&count| count > seen.stories / 25);
    assert!(is_seen && seen.stories == 1_000, "{seen:?}");
}
