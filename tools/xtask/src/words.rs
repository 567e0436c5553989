//! The user's request: the words after `cargo xtask`, read by the usage of each command.

use std::collections::BTreeMap;

/// The words after the name of a command.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Words {
    /// The options that are given, each with its value or with nothing.
    options: BTreeMap<String, String>,
    rest: Vec<String>,
}

impl Words {
    /// Reads the words, if they begin with the name of the command. In its usage, `[--a]` is a
    /// switch, `[--a B]` an option with a value, `[B]` a word that may be left out, and `B` is its
    /// name.
    pub(crate) fn read(usage: &str, words: &[String]) -> Option<Result<Self, String>> {
        let mut parts = usage.split(" [").map(|part| part.trim_end_matches(']'));
        let name: Vec<_> = parts.next()?.split(' ').collect();
        let rest = words.get(name.len()..)?;
        (words[..name.len()] == name).then(|| Self::of(&parts.collect::<Vec<_>>(), rest))
    }

    fn of(parts: &[&str], words: &[String]) -> Result<Self, String> {
        let most = parts.iter().filter(|part| !part.starts_with('-')).count();
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let of_word = |part: &&&str| part.split(' ').next() == Some(word);
            if let Some(part) = parts.iter().find(of_word).filter(|_| word.starts_with('-')) {
                let value = match part.split_once(' ') {
                    None => String::new(),
                    Some(_) => (words.next().cloned()).ok_or(format!("{word} needs a value"))?,
                };
                read.options.insert(word.clone(), value);
            } else if word.starts_with('-') || read.rest.len() == most {
                return Err(format!("it does not take {word}"));
            } else {
                read.rest.push(word.clone());
            }
        }
        Ok(read)
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The first word, or a later one.
    pub(crate) fn word(&self, n: usize) -> Option<&str> {
        self.rest.get(n).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "lab matrix [--json FILE] [--full] [NAME]";

    fn read(line: &str) -> Option<Result<Words, String>> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Words::read(USAGE, &words)
    }

    #[test]
    fn switches_options_and_words_come_in_any_order() {
        for line in ["--full x --json a", "--json a x --full"] {
            let words = read(&format!("lab matrix {line}"));
            let words = words.expect("its name").expect("its words");
            let found = (words.has("--full"), words.option("--json"), words.word(0));
            assert_eq!(found, (true, Some("a"), Some("x")));
        }
        assert_eq!(read("lab matrix"), Some(Ok(Words::default())));
        assert!(read("lab").is_none() && read("lab page").is_none());
    }

    #[test]
    fn bad_input_is_one_line_that_names_it() {
        for (line, culprit) in [
            ("--ful", "--ful"),
            ("x y", "y"),
            ("--json", "--json"),
            ("x N", "N"),
        ] {
            let read = read(&format!("lab matrix {line}")).expect("its name");
            let error = read.expect_err(line);
            assert!(
                error.contains(culprit) && error.lines().count() == 1,
                "{error}"
            );
        }
    }
}
