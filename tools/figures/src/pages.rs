//! Writes what the benches measured between the marks of two pages: into `docs/measured.md`, and
//! into the README eight rows and a sentence on where joint is behind.
//!
//! `docs/measured.md` says itself what is shown. The first cell of a table is the title of a
//! bench's table, the first column has the titles of its rows, and the last one a note on each. A
//! new row is a line with these two cells. All that is written are the figures between them, and
//! the names of the contestants above.

use std::{env, fs, path::Path, thread};

use crate::figures::{Figure, Figures, Row, contestants};

const BEGIN: &str = "<!-- measured: begin, written by `cargo xtask bench --readme` -->";
const END: &str = "<!-- measured: end -->";
const README: &str = "README.md";
const TABLES: &str = "docs/measured.md";

/// The folder below that of the figures for those with mimalloc.
pub const MIMALLOC: &str = "mimalloc";

/// The heading of the tables of one processor.
const PROCESSOR: &str = "\n## On ";

/// The first cell of the table with two allocators, whose rows are `TABLE: ROW`.
const ALLOCATOR: &str = "allocator";

/// The most lines that the page may have, and that the README may have.
const MOST_LINES: usize = 450;
const MOST_IN_README: usize = 150;

/// The rows of the README, by table and row, with what they are called there. Whether joint is
/// ahead or behind, each is what some user does most.
const SHORT: &str = "\
oneshot, one thread | wait, Arc waker | a oneshot that is waited for
a task by hand, one thread | spawn, run, join, drop | a task without an executor: spawn, run, join
tasks, two workers | spawn and join | spawn a task and await it
tasks, two workers | yield, 200 x 1,000 | yield, among 200 tasks
tasks, two workers | fib(20), one branch spawned | a recursion that spawns a task for each call
tasks, two workers | 10k spawned outside, joined | spawn from another thread, and join
timers, one worker | timeout round a yield | a timeout that does not fire
descriptors, two workers | TCP echo, 100 x 1,000 messages of 64 bytes | echo 64 bytes over TCP";

/// Writes the figures that these benches left in a folder into the pages of the repository at
/// `root`, between their marks. The benches of `with_mimalloc` have left figures of the same names
/// in the folder [`MIMALLOC`] below.
///
/// Returns the names of the files, for a message.
///
/// # Errors
///
/// Says what is wrong. If a bench has left no figures, if the figures or a page cannot be read, if
/// a page has no marks, if there are no figures for a row or if the page becomes too long, nothing
/// is written. If a file cannot be written, the files before it have been.
pub fn write(
    root: &Path,
    folder: &Path,
    benches: &[&str],
    with_mimalloc: &[&str],
) -> Result<String, String> {
    let malloc = Figures::read(folder, "", benches)?;
    let mimalloc = Figures::read(&folder.join(MIMALLOC), "--mimalloc ", with_mimalloc)?;
    let [tables, readme] = [TABLES, README].map(|name| fs::read_to_string(root.join(name)));
    let unread = |name| move |error| format!("cannot read {name}: {error}");
    let (tables, readme) = (
        tables.map_err(unread(TABLES))?,
        readme.map_err(unread(README))?,
    );
    let [tables, readme] = pages(&tables, &readme, &processor(), &malloc, &mimalloc)?;
    let files = [
        (TABLES, tables, MOST_LINES),
        (README, readme, MOST_IN_README),
    ];
    for (name, text, most) in &files {
        let lines = text.lines().count();
        if lines > *most {
            return Err(format!("{name} would have {lines} lines, more than {most}"));
        }
    }
    for (name, text, _) in files {
        let written = fs::write(root.join(name), text);
        written.map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    Ok(format!("{README} and {TABLES}"))
}

/// Both pages with the figures of this processor.
fn pages(
    tables: &str,
    readme: &str,
    processor: &str,
    malloc: &Figures,
    mimalloc: &Figures,
) -> Result<[String; 2], String> {
    let [before, old, after] = parts(TABLES, tables)?;
    let layout = old.split(PROCESSOR).nth(1);
    let layout = layout.ok_or(format!("{TABLES} has no heading `{}`", PROCESSOR.trim()))?;
    let section = section(layout, processor, malloc, mimalloc)?;
    let tables = format!("{before}{section}{}{after}", other(old, processor));
    let [before, _, after] = parts(README, readme)?;
    let readme = format!("{before}{}{after}", short(layout, malloc)?);
    Ok([tables, readme])
}

/// A page up to its first mark, between the marks, and from the second one on.
fn parts<'a>(name: &str, page: &'a str) -> Result<[&'a str; 3], String> {
    let place = |mark| {
        let missing = || format!("{name} has no line `{mark}`; put it where the figures belong");
        page.find(mark).ok_or_else(missing)
    };
    let (begin, end) = (place(BEGIN)? + BEGIN.len() + 1, place(END)?);
    Ok([&page[..begin], &page[begin..end], &page[end..]])
}

/// The tables of the last other processor.
fn other(old: &str, processor: &str) -> String {
    let mut sections = old.split(PROCESSOR).skip(1);
    let other = sections.find(|section| section.lines().next() != Some(processor));
    other.map_or(String::new(), |section| {
        format!("{}{}\n\n", PROCESSOR.trim_start(), section.trim_end())
    })
}

/// The vendor and model of this machine's processor, as far as the system says it.
fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = cpuinfo.lines();
    let name = lines.find_map(|line| line.strip_prefix("model name"));
    let name = name.map(|name| name.trim_matches([' ', '\t', ':']));
    name.unwrap_or("a processor without a known name")
        .to_owned()
}

/// The layout with the figures of this processor.
fn section(
    layout: &str,
    processor: &str,
    malloc: &Figures,
    mimalloc: &Figures,
) -> Result<String, String> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let placements: Vec<_> = malloc.placements.iter().map(String::as_str).collect();
    let rows = match malloc.is_quick || mimalloc.is_quick {
        true => "Quick: about a second for each row.",
        false => "Several seconds for each row.",
    };
    let mut text = format!(
        "{PROCESSOR}{processor}\n\n{rows} {} with {processors} processors, which were {} during the \
         runs.\n",
        env::consts::ARCH,
        placements.join(" and "),
    );
    // After the name of the processor, and the sentence above.
    for block in layout.trim_end().split("\n\n").skip(2) {
        text += "\n";
        text += &match Table::of(block) {
            None => block.to_owned() + "\n",
            Some(table) if table.title == ALLOCATOR => table.allocators(malloc, mimalloc)?,
            Some(table) => table.comparison(malloc)?,
        };
    }
    Ok(text + "\n")
}

/// A table of the page, without its figures.
struct Table<'a> {
    title: &'a str,
    /// What the last column says of the rows.
    what: &'a str,
    /// Their titles, each with its last cell.
    rows: Vec<[&'a str; 2]>,
}

impl<'a> Table<'a> {
    fn of(block: &'a str) -> Option<Self> {
        let ends = |line: &'a str| {
            let line = line.strip_prefix('|')?.strip_suffix('|')?;
            let (first, rest) = line.split_once('|')?;
            let last = rest.rsplit('|').next()?;
            Some([first.trim(), last.trim()])
        };
        let mut lines = block.lines();
        let [title, what] = ends(lines.next()?)?;
        let rows = lines.skip(1).filter_map(ends).collect();
        Some(Self { title, what, rows })
    }

    fn measured<'b>(&self, figures: &'b Figures) -> Result<Vec<&'b Row>, String> {
        let rows = self.rows.iter();
        rows.map(|[row, _]| figures.row(self.title, row)).collect()
    }

    /// Of times, the first contestant's and the others' multiples of it; of sizes and counts,
    /// everyone's own.
    fn comparison(&self, figures: &Figures) -> Result<String, String> {
        let rows = self.measured(figures)?;
        let contestants = contestants(&rows);
        let unit = rows.first().map_or("", |row| &row.unit);
        let mut text = format!(
            "| {} | {}, {unit} | {} | {} |\n|---|{}\n",
            self.title,
            contestants[0],
            contestants[1..].join(" | "),
            self.what,
            "---|".repeat(contestants.len() + 1),
        );
        for (row, [title, note]) in rows.iter().zip(&self.rows) {
            text += &format!("| {title} |");
            for (n, contestant) in contestants.iter().enumerate() {
                let cell = row.of(contestant).map(|figure| match n {
                    1.. if row.is_of_times() => multiple(figure.ratio),
                    _ => two_digits(figure.value),
                });
                text += &format!(" {} |", cell.unwrap_or_default());
            }
            text += &format!(" {note} |\n");
        }
        Ok(text)
    }

    /// The same row with malloc and with mimalloc.
    fn allocators(&self, malloc: &Figures, mimalloc: &Figures) -> Result<String, String> {
        let mut text = format!(
            "| {ALLOCATOR} | joint, malloc | best peer | joint, mimalloc | best peer |\n\
             |---|---|---|---|---|\n"
        );
        for [title, _] in &self.rows {
            let (table, row) = title.split_once(": ").unwrap_or((title, ""));
            text += &format!("| {title} |");
            for figures in [malloc, mimalloc] {
                let row = figures.row(table, row)?;
                text += &format!(" {} | {} |", own(row), best_peer(row));
            }
            text += "\n";
        }
        Ok(text)
    }
}

/// The README's section: eight rows, and a sentence on the rows in which joint is behind.
fn short(layout: &str, figures: &Figures) -> Result<String, String> {
    let mut text =
        "\n| one operation | joint | tokio | best peer |\n|---|---|---|---|\n".to_owned();
    for line in SHORT.lines() {
        let mut cells = line.split(" | ");
        let [table, row, name] = [(); 3].map(|()| cells.next().expect("three cells"));
        let row = figures.row(table, row)?;
        let tokio = row.of("tokio").map(|tokio| multiple(tokio.ratio));
        let (own, tokio) = (own(row), tokio.unwrap_or_default());
        text += &format!("| {name} | {own} | {tokio} | {} |\n", best_peer(row));
    }
    let blocks = layout.split("\n\n").filter_map(Table::of);
    let tables = blocks.filter(|table| table.title != ALLOCATOR);
    let rows = tables.map(|table| Ok((table.title, table.measured(figures)?)));
    let sentence = behind(&rows.collect::<Result<Vec<_>, String>>()?);
    Ok(format!("{text}\n{}\n\n", wrapped(&sentence)))
}

/// A sentence on how many rows of each table there are in which a peer takes less than joint.
fn behind(tables: &[(&str, Vec<&Row>)]) -> String {
    let (mut all, mut count, mut parts) = (0, 0, Vec::new());
    for (title, rows) in tables {
        let peers = || rows.iter().filter_map(|row| row.best_peer());
        // As the tables show it, so that a difference that they do not show is none.
        let is_ahead = |peer: &&Figure| (peer.ratio * 100.0).round() < 100.0;
        let ahead = peers().filter(is_ahead).count();
        all += peers().count();
        count += ahead;
        if ahead > 0 {
            parts.push(format!("{ahead} of *{title}*"));
        }
    }
    let page = format!("{all} rows of [{TABLES}]({TABLES})");
    match count {
        0 => format!("No peer takes less than joint in any of the {page}."),
        _ => format!(
            "A peer takes less than joint in {count} of the {page}: {}.",
            parts.join(", ")
        ),
    }
}

/// Words in lines of the page's width.
fn wrapped(words: &str) -> String {
    const WIDTH: usize = 120;
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Joint's figure, with its unit.
fn own(row: &Row) -> String {
    format!("{} {}", two_digits(row.figures[0].value), row.unit)
}

fn best_peer(row: &Row) -> String {
    let peer = row.best_peer();
    peer.map_or(String::new(), |peer| {
        format!("{} {}", multiple(peer.ratio), peer.contestant)
    })
}

/// A multiple of joint's figure. Beyond a hundred the number says no more than that.
fn multiple(ratio: f64) -> String {
    match ratio {
        99.5.. => ">100".to_owned(),
        _ => two_digits(ratio),
    }
}

/// A number with two significant digits.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded first: 9.96 has as many digits before the point as 10.
    let rounded: f64 = format!("{value:.1e}").parse().expect("a number");
    let power = rounded.abs().log10().floor() as i32;
    let decimals = usize::try_from(1 - power).unwrap_or(0);
    let digits = format!("{rounded:.decimals$}");
    match digits.len() {
        4.. if decimals == 0 => grouped(&digits),
        _ => digits,
    }
}

/// A whole number with a comma between each three digits.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn numbers_have_two_digits() {
        for (value, digits) in [
            (0.0, "0"),
            (0.0456, "0.046"),
            (0.32, "0.32"),
            (0.999, "1.0"),
            (8.25, "8.2"),
            (9.96, "10"),
            (56.4, "56"),
            (99.7, "100"),
            (113.7, "110"),
            (1159.6, "1,200"),
            (2_345_678.0, "2,300,000"),
        ] {
            assert_eq!(two_digits(value), digits, "{value}");
        }
        assert_eq!([7.56, 99.4, 19_502.0].map(multiple), ["7.6", "99", ">100"]);
    }

    /// Adds the figures of contestants with these ratios, the first of which is joint.
    fn add(figures: &mut Figures, unit: &str, table: &str, row: &str, others: &[(&str, f64)]) {
        let place = Place {
            table,
            row,
            unit,
            placement: "near",
            is_quick: true,
        };
        for (name, ratio) in [("joint", 1.0)].iter().chain(others) {
            let line = Figure::new(name, 56.4 * ratio, *ratio).line(&place);
            figures.add(&line).expect("it is well formed");
        }
    }

    const OLD: &str = "
## On one

words

A note.

| some | joint, ns | gone | one operation |
|---|---|---|---|
| a < b | 1 | 2 | this |
| c | that |

| sizes | what is counted |
|---|---|
| d | bytes |

| allocator | last |
|---|---|
| some: a < b | |

";

    #[test]
    fn the_page_keeps_its_words_and_gets_the_figures() {
        let mut figures = Figures::default();
        add(
            &mut figures,
            "ns",
            "some",
            "a < b",
            &[("tokio", 2.0), ("nio", 0.5)],
        );
        add(&mut figures, "ns", "some", "c", &[("tokio", 10.0)]);
        add(&mut figures, "bytes", "sizes", "d", &[("tokio", 2.0)]);
        let mut mimalloc = Figures::default();
        add(&mut mimalloc, "ns", "some", "a < b", &[("nio", 3.0)]);
        let layout = OLD.split(PROCESSOR).nth(1).expect("a section");
        let new = section(layout, "two", &figures, &mimalloc).expect("all rows are there");
        let (head, tables) = new.split_once("\n\nA note.\n\n").expect("the note stays");
        assert!(head.starts_with("\n## On two\n\nQuick: "), "{head}");
        assert!(
            head.ends_with(" which were near during the runs."),
            "{head}"
        );
        let expected = "\
| some | joint, ns | tokio | nio | one operation |
|---|---|---|---|---|
| a < b | 56 | 2.0 | 0.50 | this |
| c | 56 | 10 |  | that |

| sizes | joint, bytes | tokio | what is counted |
|---|---|---|---|
| d | 56 | 110 | bytes |

| allocator | joint, malloc | best peer | joint, mimalloc | best peer |
|---|---|---|---|---|
| some: a < b | 56 ns | 0.50 nio | 56 ns | 3.0 nio |

";
        assert_eq!(tables, expected);
        // The other processor's tables stay behind those of this one.
        assert_eq!(other(OLD, "one"), "");
        assert_eq!(other(OLD, "two"), OLD[1..]);
        assert_eq!(other(&format!("{new}{}", &OLD[1..]), "two"), OLD[1..]);
        let missing = section(layout, "two", &mimalloc, &mimalloc).expect_err("no row c");
        assert!(missing.contains("`c` in a table `some`"), "{missing}");
    }

    #[test]
    fn the_sentence_says_where_a_peer_is_ahead() {
        let mut figures = Figures::default();
        add(
            &mut figures,
            "ns",
            "t",
            "a",
            &[("tokio", 0.7), ("nio", 0.5)],
        );
        add(
            &mut figures,
            "ns",
            "t",
            "b",
            &[("nio", 0.9), ("joint by hand", 0.1)],
        );
        add(&mut figures, "ns", "t", "c", &[("nio", 0.996)]);
        let said = |rows: &[Row]| behind(&[("t", rows.iter().collect())]);
        let sentence = said(&figures.rows);
        assert!(sentence.contains(" in 2 of the 3 rows "), "{sentence}");
        assert!(sentence.ends_with(": 2 of *t*."), "{sentence}");
        assert!(said(&figures.rows[2..]).starts_with("No peer "));
        let lines = wrapped(&sentence.repeat(9));
        assert!(lines.lines().all(|line| line.len() <= 120), "{lines}");
        assert_eq!(lines.replace('\n', " "), sentence.repeat(9));
    }

    #[test]
    fn the_pages_of_the_repository_can_be_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let [tables, readme] =
            [TABLES, README].map(|name| fs::read_to_string(root.join(name)).expect("a page"));
        let [_, old, _] = parts(TABLES, &tables).expect("marks");
        let layout = old.split(PROCESSOR).nth(1).expect("a section");
        let mut figures = Figures::default();
        let shown = layout.split("\n\n").filter_map(Table::of);
        let shown: Vec<_> = shown.filter(|table| table.title != ALLOCATOR).collect();
        assert!(shown.len() >= 20, "{} tables", shown.len());
        for table in &shown {
            for [row, note] in &table.rows {
                assert!(!note.is_empty(), "{row} of {} has no note", table.title);
                add(&mut figures, "ns", table.title, row, &[("tokio", 2.0)]);
            }
        }
        let written = pages(&tables, &readme, "two", &figures, &figures).expect("all rows");
        let again = pages(&written[0], &written[1], "two", &figures, &figures);
        assert_eq!(again.as_ref(), Ok(&written));
        assert!(written[0].lines().count() <= MOST_LINES);
        assert!(written[1].lines().count() <= MOST_IN_README);
        assert!(parts("page", &readme.replace(BEGIN, "")).is_err());
    }
}
