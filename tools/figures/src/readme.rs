//! Writes what the benches measured: tables into `docs/measured.md`, and into the
//! README eight rows and a sentence on where joint is behind.

use std::{env, fs, path::Path, thread};

use crate::{
    figures::{self, FigureRow, FigureTable, Figures},
    page::{self, Shown, page},
};

const BEGIN: &str = "<!-- measured: begin, written by `cargo xtask bench --readme` -->";
const END: &str = "<!-- measured: end -->";
const README: &str = "README.md";
const TABLES: &str = "docs/measured.md";

/// The folder below that of the figures for those with mimalloc.
pub const MIMALLOC: &str = "mimalloc";

/// The heading of the tables of one processor.
const PROCESSOR: &str = "\n## On ";

/// The most lines that the page may have, and that the README may have.
const MOST_LINES: usize = 450;
const MOST_IN_README: usize = 150;

/// Writes the figures that these benches left in a folder into the pages of the repository at
/// `root`, between their marks. The benches of `with_mimalloc` have left
/// figures of the same names in the folder [`MIMALLOC`] below.
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
    let malloc = figures::read(folder, "", benches)?;
    let mimalloc = figures::read(&folder.join(MIMALLOC), "--mimalloc ", with_mimalloc)?;
    let section = section(&processor(), &malloc, &mimalloc)?;
    let tables = rewritten(root, TABLES, |old| beside(old, &section))?;
    let short = short(&malloc)?;
    let readme = rewritten(root, README, |_| short)?;
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
        fs::write(root.join(name), text)
            .map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    Ok(format!("{README} and {TABLES}"))
}

fn rewritten(
    root: &Path,
    name: &str,
    section: impl FnOnce(&str) -> String,
) -> Result<String, String> {
    let page = fs::read_to_string(root.join(name));
    let page = page.map_err(|error| format!("cannot read {name}: {error}"))?;
    replaced(name, &page, section)
}

/// A page with its text between the marks replaced.
fn replaced(
    name: &str,
    page: &str,
    section: impl FnOnce(&str) -> String,
) -> Result<String, String> {
    let missing = |mark| format!("{name} has no line `{mark}`; put it where the figures belong");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (old, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", section(old)))
}

/// The tables of one processor, and after them those of the last other one in the old text.
fn beside(old: &str, section: &str) -> String {
    let heading = |tables: &str| tables.lines().next().map(str::to_owned);
    let [new, other] = [section, old].map(|text| text.split(PROCESSOR).skip(1));
    let new: Vec<_> = new.collect();
    let other = other
        .into_iter()
        .find(|tables| heading(tables) != heading(new[0]));
    let kept = other.map_or(String::new(), |tables| {
        format!("{}{}\n\n", PROCESSOR.trim_start(), tables.trim_end())
    });
    format!("{section}{kept}")
}

/// The vendor and model of this machine's processor, as far as the system says it.
fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = name.map(|name| name.trim_matches([' ', '\t', ':']));
    name.unwrap_or("a processor without a known name")
        .to_owned()
}

/// A number with two significant digits.
pub(crate) fn two_digits(value: f64) -> String {
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

/// A multiple of joint's figure. Beyond a hundred the number says no more than that.
pub(crate) fn multiple(ratio: f64) -> String {
    match two_digits(ratio) {
        _ if ratio >= 99.5 => ">100".to_owned(),
        digits => digits,
    }
}

/// A figure with its unit.
fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", two_digits(value))
}

fn best_peer(row: &FigureRow) -> String {
    let peer = row.best_peer();
    peer.map_or(String::new(), |peer| {
        format!("{} {}", multiple(peer.ratio), peer.contestant)
    })
}

/// The README's section: eight rows, and a sentence on the rows in which joint is behind.
fn short(figures: &Figures) -> Result<String, String> {
    let mut text =
        "\n| one operation | joint | tokio | best peer |\n|---|---|---|---|\n".to_owned();
    for [table, row, name] in page::readme() {
        let (table, row) = figures.row(table, row)?;
        let own = with_unit(row.figures[0].value, &table.unit);
        let tokio = row.of("tokio");
        let tokio = tokio.map_or(String::new(), |tokio| multiple(tokio.ratio));
        text += &format!("| {name} | {own} | {tokio} | {} |\n", best_peer(row));
    }
    let sentence = paragraph(&behind(&shown_tables(figures)?));
    Ok(format!("{text}{sentence}\n"))
}

/// The tables of the page with the rows that it shows.
fn shown_tables(figures: &Figures) -> Result<Vec<FigureTable>, String> {
    let table = |shown: &Shown| {
        let rows = shown
            .rows
            .iter()
            .map(|[row, _]| figures.row(shown.title, row));
        let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
        Ok(FigureTable {
            title: shown.title.to_owned(),
            unit: rows[0].0.unit.clone(),
            rows: rows.into_iter().map(|(_, row)| row.clone()).collect(),
        })
    };
    page().iter().map(table).collect()
}

/// A sentence on the rows in which a peer takes less than joint. Of each table it names the row
/// with the largest difference.
fn behind(tables: &[FigureTable]) -> String {
    let rows = tables.iter().flat_map(|table| &table.rows);
    let all = rows.filter(|row| row.best_peer().is_some()).count();
    let mut count = 0;
    let mut parts = Vec::new();
    for table in tables {
        let rows = table
            .rows
            .iter()
            .filter_map(|row| Some((row, row.best_peer()?)));
        // As the tables show it, so that a difference that they do not show is none.
        let mut rows: Vec<_> = rows
            .filter(|(_, peer)| (peer.ratio * 100.0).round() < 100.0)
            .collect();
        count += rows.len();
        rows.sort_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
        let Some((row, peer)) = rows.first() else {
            continue;
        };
        let more = match rows.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let ratio = two_digits(peer.ratio);
        let (title, row) = (&table.title, &row.title);
        parts.push(format!(
            "*{title}*: {row} ({} {ratio}){more}",
            peer.contestant
        ));
    }
    match count {
        0 => format!(
            "No peer takes less than joint in any of the {all} rows of [{TABLES}]({TABLES})."
        ),
        _ => format!(
            "A peer takes less than joint in {count} of the {all} rows of [{TABLES}]({TABLES}): {}.",
            parts.join("; ")
        ),
    }
}

/// The tables of this processor.
fn section(processor: &str, malloc: &Figures, mimalloc: &Figures) -> Result<String, String> {
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
    for (shown, table) in page().iter().zip(shown_tables(malloc)?) {
        text += &paragraph(&shown.note);
        text += &comparison(&table, &shown.rows);
    }
    text += &allocators(malloc, mimalloc)?;
    Ok(text + "\n")
}

/// A paragraph with an empty line before it, in lines of the page's width.
fn paragraph(words: &str) -> String {
    const WIDTH: usize = 120;
    let mut text = String::new();
    let mut column = WIDTH;
    for word in words.split_whitespace() {
        if column + 1 + word.len() > WIDTH {
            text += if text.is_empty() { "\n" } else { "" };
            text += "\n";
            column = 0;
        } else {
            text += " ";
            column += 1;
        }
        text += word;
        column += word.len();
    }
    match text.strip_prefix('\n') {
        Some(text) => format!("{text}\n"),
        None => text,
    }
}

/// A table: of times, the first contestant's and the others' multiples of it; of sizes and counts,
/// everyone's own. The last column explains the row.
fn comparison(table: &FigureTable, what: &[[&str; 2]]) -> String {
    let contestants = table.contestants();
    let is_of_times = table.is_of_times();
    let (some, none): (Vec<_>, Vec<_>) = (table.rows.iter().zip(what))
        .partition(|(row, _)| row.figures.iter().any(|figure| figure.value != 0.0));
    let mut text = format!(
        "\n| {} | {}, {} | {} | {} |\n|---|{}\n",
        table.title,
        contestants[0],
        table.unit,
        contestants[1..].join(" | "),
        if is_of_times {
            "one operation"
        } else {
            "what is counted"
        },
        "---|".repeat(contestants.len() + 1),
    );
    for (row, [_, what]) in some {
        let cells = contestants.iter().enumerate().map(|(n, contestant)| {
            row.of(contestant).map_or(String::new(), |figure| match n {
                1.. if is_of_times => multiple(figure.ratio),
                _ => two_digits(figure.value),
            })
        });
        let cells: Vec<_> = cells.collect();
        text += &format!("| {} | {} | {what} |\n", row.title, cells.join(" | "));
    }
    let none: Vec<_> = none.iter().map(|(row, _)| row.title.as_str()).collect();
    match none.join(", ") {
        titles if titles.is_empty() => text,
        titles => text + &paragraph(&format!("It is 0 for all of them in: {titles}.")),
    }
}

/// Returns the table of figures with malloc and with mimalloc.
fn allocators(malloc: &Figures, mimalloc: &Figures) -> Result<String, String> {
    let mut text = "\n| allocator | joint, malloc | best peer | joint, mimalloc | best peer |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for [table, row] in page::allocators() {
        text += &format!("| {table}: {row} |");
        for figures in [malloc, mimalloc] {
            let (table, row) = figures.row(table, row)?;
            let own = with_unit(row.figures[0].value, &table.unit);
            text += &format!(" {own} | {} |", best_peer(row));
        }
        text += "\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Figure, tests::sample};

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
            (120_998.0, "120,000"),
            (2_345_678.0, "2,300,000"),
        ] {
            assert_eq!(two_digits(value), digits, "{value}");
        }
        assert_eq!(multiple(7.56), "7.6");
        assert_eq!(multiple(99.4), "99");
        assert_eq!(multiple(19_502.0), ">100");
    }

    #[test]
    fn paragraphs_are_broken_into_lines() {
        assert_eq!(paragraph(""), "");
        assert_eq!(paragraph("a b"), "\na b\n");
        let words = "word ".repeat(40);
        let text = paragraph(&words);
        assert_eq!(text.split_whitespace().count(), 40);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    }

    /// A figure for each row that is shown anywhere. In `slower` of them a peer takes less.
    fn complete(slower: usize) -> Figures {
        let mut left = slower;
        let mut tables: Vec<FigureTable> = Vec::new();
        for shown in page() {
            let rows = shown.rows.iter().map(|[title, _]| {
                let ratio = match left {
                    0 => 7.56,
                    _ => 0.5,
                };
                left = left.saturating_sub(1);
                FigureRow {
                    title: (*title).to_owned(),
                    figures: vec![
                        Figure::new("joint", 56.4, 1.0),
                        Figure::new("tokio", 426.4, ratio),
                    ],
                }
            });
            tables.push(FigureTable {
                title: shown.title.to_owned(),
                unit: "ns".to_owned(),
                rows: rows.collect(),
            });
        }
        Figures {
            tables,
            ..Figures::default()
        }
    }

    #[test]
    fn the_readme_has_eight_rows_and_a_sentence() {
        let text = short(&complete(0)).expect("all rows are there");
        assert_eq!(text.matches("\n| ").count(), 9, "{text}");
        assert!(text.contains("| 56 ns | 7.6 | 7.6 tokio |\n"), "{text}");
        let sentence = "\nNo peer takes less than joint in any of the ";
        assert!(text.contains(sentence), "{text}");

        let text = short(&complete(8)).expect("all rows are there");
        let text = text.replace('\n', " ");
        let sentence = " A peer takes less than joint in 8 of the ";
        assert!(text.contains(sentence), "{text}");
        let (title, row) = (page()[0].title, page()[0].rows[0][0]);
        let first = format!(": *{title}*: {row} (tokio 0.50) and 6 more; ");
        assert!(text.contains(&first), "{text}");
    }

    #[test]
    fn behind_is_what_the_tables_show() {
        let mut tables = sample().tables;
        let sentence = behind(&tables);
        assert!(sentence.contains(" in 1 of the 3 rows "), "{sentence}");
        assert!(
            sentence.contains(": *one*: a < b (nio 0.50)."),
            "{sentence}"
        );
        tables[0].rows[0].figures[2].ratio = 0.996;
        assert!(behind(&tables).starts_with("No peer "));
        tables[0].rows[0].figures[2].ratio = 0.5;
        tables[0].rows[0].figures[2].is_peer = false;
        assert!(behind(&tables).starts_with("No peer "), "a floor");
    }

    #[test]
    fn times_are_shown_as_multiples_and_sizes_as_they_are() {
        let mut table = sample().tables.remove(0);
        let what = [["a < b", "this"], ["c", "that"]];
        let text = comparison(&table, &what);
        for line in [
            "| one | joint, ns | tokio | nio | one operation |",
            "|---|---|---|---|---|",
            "| a < b | 50 | 2.0 | 0.50 | this |",
            "| c | 8.2 | 10 |  | that |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        table.unit = "bytes".to_owned();
        let text = comparison(&table, &what);
        assert!(text.contains("| a < b | 50 | 100 | 25 | this |"), "{text}");
    }

    #[test]
    fn rows_of_zeros_become_a_sentence() {
        let mut table = sample().tables.remove(0);
        table.unit = "wake-ups".to_owned();
        for figure in &mut table.rows[1].figures {
            figure.value = 0.0;
        }
        let text = comparison(&table, &[["a < b", "this"], ["c", "that"]]);
        assert!(!text.contains("| c |"), "{text}");
        assert!(
            text.ends_with("\n\nIt is 0 for all of them in: c.\n"),
            "{text}"
        );
    }

    #[test]
    fn the_page_has_every_table_and_the_allocators_and_is_short() {
        let mut figures = complete(3);
        figures.is_quick = true;
        let text = section("one", &figures, &complete(0)).expect("all rows are there");
        for shown in page() {
            let head = format!(
                "\n| {} | joint, ns | tokio | one operation |\n",
                shown.title
            );
            assert!(text.contains(&head), "{head}\n{text}");
        }
        let line = "| tasks, two workers: spawn and join | 56 ns | 7.6 tokio | 56 ns | 7.6 tokio |";
        assert!(text.lines().any(|other| other == line), "{text}");
        assert!(
            text.contains("\nQuick: about a second for each row."),
            "{text}"
        );
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = rewritten(&root, TABLES, |old| beside(old, &text)).expect("the page has marks");
        let lines = page.lines().count();
        assert!(lines <= MOST_LINES, "{lines} lines");
        let readme = short(&complete(15)).expect("all rows are there");
        let readme = rewritten(&root, README, |_| readme).expect("the page has marks");
        let lines = readme.lines().count();
        assert!(lines <= MOST_IN_README, "{lines} lines");
    }

    #[test]
    fn the_tables_of_the_last_other_processor_stay() {
        let [one, two, three] =
            ["one", "two", "three"].map(|name| format!("{PROCESSOR}{name}\n\ntable\n\n"));
        assert_eq!(beside("", &one), one);
        assert_eq!(beside(&one, &one), one);
        let both = beside(&one, &two);
        assert_eq!(both, format!("{two}{}", &one[1..]));
        assert_eq!(beside(&format!("\n{both}"), &two), both);
        assert_eq!(beside(&both, &three), format!("{three}{}", &two[1..]));
    }

    #[test]
    fn nothing_is_written_without_figures_or_marks() {
        let folder = env::temp_dir().join(format!("joint-readme-{}", std::process::id()));
        fs::create_dir_all(folder.join("docs")).expect("a folder");
        fs::create_dir_all(folder.join(MIMALLOC)).expect("a folder");
        fs::write(folder.join(TABLES), "no marks").expect("a file");
        let write = || write(&folder, &folder, &["executor"], &["task"]);
        let error = write().expect_err("no figures");
        assert!(error.contains("`cargo xtask bench executor`"), "{error}");
        fs::write(folder.join("executor.jsonl"), lines(&complete(0))).expect("a file");
        let error = write().expect_err("no figures with mimalloc");
        assert!(
            error.contains("`cargo xtask bench --mimalloc task`"),
            "{error}"
        );
        let file = folder.join(MIMALLOC).join("task.jsonl");
        fs::write(file, lines(&complete(0))).expect("a file");
        let error = write().expect_err("no marks");
        assert!(error.contains(BEGIN), "{error}");
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        for name in [TABLES, README] {
            fs::write(folder.join(name), &page).expect("a file");
        }
        write().expect("all is there");
        let written = fs::read_to_string(folder.join(README)).expect("a file");
        let section = short(&complete(0)).expect("all rows are there");
        assert_eq!(written, format!("a\n{BEGIN}\n{section}{END}\nb\n"));
        let long = page + &"line\n".repeat(MOST_LINES);
        fs::write(folder.join(TABLES), long).expect("a file");
        let error = write().expect_err("a long page");
        assert!(error.contains("more than 450"), "{error}");
        fs::remove_dir_all(folder).expect("the folder can be removed");
    }

    /// The lines that the benches would have left.
    fn lines(figures: &Figures) -> String {
        let mut text = String::new();
        for table in &figures.tables {
            for row in &table.rows {
                let place = figures::Place {
                    bench: "b",
                    table: &table.title,
                    row: &row.title,
                    unit: &table.unit,
                    placement: "near",
                };
                for figure in &row.figures {
                    text += &(figure.line(&place) + "\n");
                }
            }
        }
        text
    }
}
