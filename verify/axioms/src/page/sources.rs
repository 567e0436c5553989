//! What the checker in the page was compiled from: a line for each source file, with a hash of its
//! code. Comments do not count.

use std::{fs, io, path::Path};

/// What the checker needs nothing of.
const OTHERS: [&str; 3] = ["src/completion.rs", "src/main.rs", "src/page"];

/// The lines for the checker's sources in the crate that is in `folder`.
///
/// # Errors
/// If a file cannot be read.
pub fn sources(folder: &Path) -> io::Result<String> {
    let mut lines = vec![line(folder, "examples/page_checker.rs")?];
    let mut folders = vec!["src".to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let name = format!("{inner}/{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                _ if OTHERS.contains(&name.as_str()) => {}
                true => folders.push(name),
                false => lines.push(line(folder, &name)?),
            }
        }
    }
    lines.sort_unstable_by(|a, b| a[17..].cmp(&b[17..]));
    Ok(lines.concat())
}

fn line(folder: &Path, name: &str) -> io::Result<String> {
    let text = fs::read_to_string(folder.join(name))?;
    Ok(format!("{:016x} {name}\n", hash(&text)))
}

/// The names of the files whose lines are not the same in both.
pub fn differing<'l>(one: &'l str, other: &'l str) -> Vec<&'l str> {
    let only = |one: &'l str, other: &'l str| {
        one.lines()
            .filter(move |line| !other.lines().any(|same| same == *line))
    };
    let lines = only(one, other).chain(only(other, one));
    let mut names: Vec<_> = lines
        .filter_map(|line| Some(line.split_once(' ')?.1))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// FNV-1a over the lines of code.
fn hash(text: &str) -> u64 {
    let code = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"));
    let bytes = code.flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{differing, hash};

    #[test]
    fn a_changed_comment_does_not_change_the_hash() {
        assert_eq!(
            hash("// one\nfn a() {}\n"),
            hash("fn a() {} \n    /// two\n")
        );
        assert_ne!(hash("fn a() {}"), hash("fn b() {}"));
    }

    #[test]
    fn changed_added_and_removed_files_are_named() {
        let (before, after) = ("1 a.rs\n2 b.rs\n3 c.rs\n", "1 a.rs\n4 b.rs\n5 d.rs\n");
        assert_eq!(differing(before, after), ["b.rs", "c.rs", "d.rs"]);
        assert!(differing(after, after).is_empty());
    }
}
