//! What the environment asks of this process:
//!
//! * `ORDERING_MUTANT="src/lib.rs:12:20 swap(AcqRel) acquire"` changes one place;
//! * `ORDERING_PLACES=FILE` appends to the file a line for each place that is reached, and
//!   [`LEFT_OUT`] for a test that is to be left out.
//!
//! Both are read once, at the first operation.

use core::{panic::Location, sync::atomic::Ordering};
use std::{
    collections::{HashMap, HashSet},
    env,
    ffi::OsString,
    fs::OpenOptions,
    io::Write as _,
    process,
    sync::{LazyLock, Mutex, PoisonError},
};

use crate::place::{Change, LEFT_OUT, Place};

const MUTANT: &str = "ORDERING_MUTANT";
const PLACES: &str = "ORDERING_PLACES";

static REQUEST: LazyLock<Option<Request>> = LazyLock::new(Request::read);

struct Request {
    mutant: Option<(String, Change)>,
    /// Where to report places.
    places: Option<OsString>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What to change at each place, found by comparing text once. Generic code is compiled several
    /// times, so one place can have several addresses.
    changes: HashMap<Key, Option<Change>>,
    reported: HashSet<String>,
}

/// The address of the location, the kind and the name of the operation, and its orderings.
type Key = (usize, [&'static str; 2], [Option<Ordering>; 2]);

impl Request {
    fn read() -> Option<Self> {
        let mutant = env::var(MUTANT).ok().map(|text| {
            understood(&text).unwrap_or_else(|| {
                // Not a panic, because a panic is how a test reports that it has found the change.
                eprintln!("{MUTANT}={text} is not understood");
                process::exit(2)
            })
        });
        let places = env::var_os(PLACES);
        (mutant.is_some() || places.is_some()).then(|| Self {
            mutant,
            places,
            seen: Mutex::default(),
        })
    }

    fn change(&self, at: &'static Location<'static>, key: Key) -> Option<Change> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { changes, reported } = &mut *seen;
        *changes.entry(key).or_insert_with(|| {
            let (_, operation, [ordering, failure]) = key;
            let place = Place {
                file: at.file().replace('\\', "/"),
                line: at.line(),
                column: at.column(),
                operation: operation.concat(),
                ordering,
                failure,
            };
            let place = place.to_string();
            let change = match &self.mutant {
                Some((own, change)) if *own == place => Some(*change),
                _ => None,
            };
            if reported.insert(place.clone()) {
                self.report(&place);
            }
            change
        })
    }

    fn report(&self, line: &str) {
        let Some(file) = &self.places else {
            return;
        };
        let file = OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("{PLACES}: {error}");
            process::exit(2);
        }
    }
}

fn understood(text: &str) -> Option<(String, Change)> {
    let (place, change) = text.rsplit_once(' ')?;
    place.parse::<Place>().ok()?;
    Some((place.to_owned(), change.parse().ok()?))
}

/// Returns what the caller's operation is to do instead, if anything. It has a kind, with a name
/// for some of them, and an ordering and one for its failure.
#[track_caller]
pub(crate) fn change(
    operation: [&'static str; 2],
    orderings: [Option<Ordering>; 2],
) -> Option<Change> {
    let request = REQUEST.as_ref()?;
    let at = Location::caller();
    let key = (std::ptr::from_ref(at).addr(), operation, orderings);
    request.change(at, key)
}

/// Leaves the running test out of the search for one that finds a change, because it changes
/// operations by itself or expects a model to fail. Returns whether this process belongs to such a
/// search, so that the test can end at once.
///
/// `cargo ordering-mutants` leaves out tests with `#[should_panic]` by itself.
pub fn leave_out() -> bool {
    let Some(request) = REQUEST.as_ref() else {
        return false;
    };
    request.report(LEFT_OUT);
    true
}
