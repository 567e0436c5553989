//! Names of places that stay the same when lines are added above them: the file, the function, the
//! operation, and a number if the function has several of it. A place can have a name of its own.

use std::{collections::BTreeMap, fs, path::Path};

use joint_mutants::place::Place;

#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) place: Place,
    /// `src/lib.rs notify swap`, or `src/lib.rs notify swap 2`.
    pub(crate) name: String,
}

/// Names the places, which are in the order of the source. Their files are below `root`.
pub(crate) fn named(places: Vec<Place>, root: &Path) -> Vec<Named> {
    let mut texts = BTreeMap::new();
    let names: Vec<_> = (places.iter())
        .map(|place| {
            if let Some(name) = place.name() {
                return name.to_owned();
            }
            let text = texts.entry(&place.file).or_insert_with(|| {
                // If the file cannot be read, the name has the line.
                fs::read_to_string(root.join(&place.file)).unwrap_or_default()
            });
            let function = function(text, place.line as usize);
            let function = function.unwrap_or_else(|| format!("line-{}", place.line));
            format!("{} {function} {}", place.file, place.operation)
        })
        .collect();
    let mut seen = BTreeMap::new();
    let numbered = names.iter().map(|name| {
        let n = seen.entry(name).and_modify(|n| *n += 1).or_insert(1);
        match names.iter().filter(|other| *other == name).count() {
            1 => name.clone(),
            _ => format!("{name} {n}"),
        }
    });
    let numbered = numbered.collect::<Vec<_>>();
    let named = places.into_iter().zip(numbered);
    named.map(|(place, name)| Named { place, name }).collect()
}

/// The name of the function that a line is in: the last `fn` above it that stands further left than
/// everything in between, so not that of a function which has ended.
fn function(text: &str, line: usize) -> Option<String> {
    let above: Vec<_> = text.lines().take(line).collect();
    let mut left = usize::MAX;
    above.iter().rev().find_map(|line| {
        let code = line.split("//").next()?.trim_end();
        let indent = code.len() - code.trim_start().len();
        // The last lines of a long signature.
        let is_end = [")", "->", "where", "{"]
            .iter()
            .any(|word| code.trim_start().starts_with(word));
        if code.is_empty() || indent >= left || is_end {
            return None;
        }
        left = indent;
        let mut words = code.split_whitespace().skip_while(|word| *word != "fn");
        let name = words.nth(1)?.chars();
        let name: String = name
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "impl A {
    pub(crate) fn notify<T>(&self) {
        // a fn that is in a comment
        fn inner(it: &T) {
            it.swap(0, Acquire);
        }
        self.0.swap(1, AcqRel);
        if x { self.0.swap(2, AcqRel) }
    }
    const unsafe fn take<F>(
        f: F,
    ) -> u8
    where
        F: Fn(),
    {
        let g: fn(u8) = h;
        self.0.swap(3, AcqRel)
    }
}";

    #[test]
    fn a_place_is_named_by_its_function_and_numbered() {
        let folder = std::env::temp_dir();
        let file = format!("ordering-names-{}.rs", std::process::id());
        fs::write(folder.join(&file), TEXT).expect("it can be written");
        let at = |line| {
            format!("{file}:{line}:16 swap(AcqRel)")
                .parse()
                .expect("a place")
        };
        let places = [5, 7, 8, 17].map(at);
        let named = named(places.to_vec(), &folder);
        fs::remove_file(folder.join(&file)).expect("it is there");
        let names: Vec<_> = named
            .iter()
            .map(|one| one.name.trim_start_matches(&file))
            .collect();
        assert_eq!(
            names,
            [
                " inner swap",
                " notify swap 1",
                " notify swap 2",
                " take swap"
            ]
        );
    }

    #[test]
    fn without_the_file_the_line_is_the_name() {
        let place: Place = "no/such.rs:7:1 fence(SeqCst)".parse().expect("a place");
        let named = named(vec![place], Path::new("/"));
        assert_eq!(named[0].name, "no/such.rs line-7 fence");
    }
}
