//! Writes what the benches measured: every table, with a chart, into `docs/measured.md`, and into
//! the README ten rows and those in which another contestant takes less than joint.

use std::{env, fs, path::Path, thread};

use crate::{
    figures::{self, Figure, FigureTable, Figures},
    plot,
};

const BEGIN: &str = "<!-- measured: begin, written by `cargo xtask bench --readme` -->";
const END: &str = "<!-- measured: end -->";
const README: &str = "README.md";
const TABLES: &str = "docs/measured.md";
const PLOT: &str = "docs/measured.svg";

/// The rows that the README shows, by table and row. Whether joint is ahead or behind, each is what
/// some user does most.
const TEN: [(&str, &str); 10] = [
    ("tasks, two workers", "spawn and join"),
    ("tasks, two workers", "yield, 200 x 1,000"),
    ("tasks, two workers", "fib(20), one branch spawned"),
    ("tasks, two workers", "10k spawned outside, joined"),
    (
        "fork and join on the stack, two threads",
        "fib(25), per join",
    ),
    ("event loop, two workers", "4,096 tasks yield 16 times"),
    ("timers, one worker", "timeout round a yield"),
    (
        "a million timers, one worker",
        "a million tasks are woken by their timers",
    ),
    (
        "descriptors, two workers",
        "TCP echo, 100 x 1,000 messages of 64 bytes",
    ),
    (
        "bytes for each of a million tasks",
        "polled once, waiting: live heap",
    ),
];

/// Writes the figures that these benches left in a folder into the pages of the repository at
/// `root`, between their marks, and draws the chart. The tables are in the order of the benches.
///
/// Returns the names of the files, for a message.
///
/// # Errors
///
/// Says what is wrong. If a bench has left no figures, if the figures or a page cannot be read, if
/// a page has no marks or if there are no figures for a row of the README, nothing is written. If a
/// file cannot be written, the files before it have been.
pub fn write(root: &Path, folder: &Path, benches: &[&str]) -> Result<String, String> {
    let figures = figures::read(folder, benches)?;
    let files = [
        (TABLES, rewritten(root, TABLES, &section(&figures))?),
        (README, rewritten(root, README, &short(&figures)?)?),
        (PLOT, plot::svg(&figures.tables)),
    ];
    for (name, text) in files {
        fs::write(root.join(name), text)
            .map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    Ok(format!("{README}, {TABLES} and {PLOT}"))
}

fn rewritten(root: &Path, name: &str, section: &str) -> Result<String, String> {
    let page = fs::read_to_string(root.join(name));
    let page = page.map_err(|error| format!("cannot read {name}: {error}"))?;
    replaced(name, &page, section)
}

/// A page with its text between the marks replaced.
fn replaced(name: &str, page: &str, section: &str) -> Result<String, String> {
    let missing = |mark| format!("{name} has no line `{mark}`; put it where the figures belong");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{section}{END}{after}"))
}

/// The README's section: ten rows, and every row in which joint is behind.
fn short(figures: &Figures) -> Result<String, String> {
    let mut text =
        "\n| row | joint | tokio | best peer | floor |\n|---|---|---|---|---|\n".to_owned();
    for (title, row) in TEN {
        let table = figures.tables.iter().find(|table| table.title == title);
        let found = table.and_then(|table| {
            let row = table.rows.iter().find(|other| other.title == row)?;
            Some((table, row))
        });
        let (table, row) = found.ok_or_else(|| {
            format!("there is no row `{row}` in a table `{title}`; run all benches")
        })?;
        let tokio = row.of("tokio");
        let tokio = tokio.map_or(String::new(), |tokio| format!("{:.2}", tokio.ratio));
        let best = row.best_peer();
        let best = best.map_or(String::new(), |peer| {
            format!("{:.2} {}", peer.ratio, peer.contestant)
        });
        let own = format!("{:.1} {}", row.figures[0].value, table.unit);
        let floor = row.floor();
        let floor = floor.map_or(String::new(), |floor| format!("{:.2}", floor.ratio));
        text += &format!(
            "| {title}: {} | {own} | {tokio} | {best} | {floor} |\n",
            row.title
        );
    }
    text += "\n| joint is behind in | rows |\n|---|---|\n";
    let mut elsewhere = 0;
    for table in &figures.tables {
        let rows = table.rows.iter();
        let rows = rows.map(|row| (&row.title, behind(table, row)));
        let rows = rows.filter(|(_, faster)| !faster.is_empty());
        let rows = rows.map(|(title, faster)| format!("{title}: {faster}"));
        let rows: Vec<_> = rows.collect();
        match rows.len() {
            0 => {}
            some if is_of_another_part(table) => elsewhere += some,
            _ => text += &format!("| {} | {} |\n", table.title, rows.join("; ")),
        }
    }
    if elsewhere > 0 {
        text +=
            &format!("| `joint-flow` and `sim` | {elsewhere} rows of [their tables]({TABLES}) |\n");
    }
    Ok(text + "\n")
}

/// Whether a table is about the package `joint-flow` or about simulations, in which the README
/// counts the rows without naming them.
fn is_of_another_part(table: &FigureTable) -> bool {
    const SIMULATION: [&str; 3] = [
        "task switches, simulated",
        "a virtual day",
        "runs until a planted bug is found",
    ];
    table.title.starts_with("Flow: ") || SIMULATION.contains(&table.title.as_str())
}

fn hundredths(part: f64) -> f64 {
    (part * 100.0).round()
}

/// The peers, and joint's own other contestants, that take less than joint in a row, with how much
/// less.
fn behind(table: &FigureTable, row: &figures::FigureRow) -> String {
    let own = &row.figures[0];
    let is_own = |figure: &Figure| figure.contestant.starts_with("joint");
    // A floor is nothing that one could use instead.
    let others = row.figures[1..].iter();
    let others = others.filter(|other| other.is_peer || is_own(other));
    let others = others.map(|other| match table.shows_hundredths() {
        // As the table shows them, so that a difference that it does not show is none.
        true => (
            hundredths(other.value) / hundredths(own.value),
            &other.contestant,
        ),
        false => (other.ratio, &other.contestant),
    });
    let less = others.filter(|(ratio, _)| is_own(own) && (ratio * 100.0).round() < 100.0);
    let less = less.map(|(ratio, name)| format!("{ratio:.2} {name}"));
    less.collect::<Vec<_>>().join(", ")
}

fn section(figures: &Figures) -> String {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let placements: Vec<_> = figures.placements.iter().map(String::as_str).collect();
    let mut text = format!(
        "\n![The best peer's time as a multiple of joint's, row by row]({})\n\n\
         On {} with {processors} processors; their distance during the runs: {}. The first column is\n\
         joint's time or size. The other columns are multiples of it: above 1, joint takes less.\n",
        PLOT.rsplit('/').next().expect("a file"),
        env::consts::ARCH,
        placements.join(", "),
    );
    for table in &figures.tables {
        if table.compares() {
            text += &comparison(table);
        } else if table.has_own_figures() {
            text += &own_figures(table);
        }
    }
    text + "\n"
}

/// The first contestant's figures, and the others' ratios to it.
fn comparison(table: &FigureTable) -> String {
    let contestants = table.contestants();
    let (first, peers) = contestants.split_first().expect("it compares");
    let head = format!("{first}, {}", table.unit);
    with_head(table, &[&[&*head], peers].concat(), |contestant, row| {
        let own = &row.figures[0];
        match contestant {
            0 => Some(format!("{:.1}", own.value)),
            n => row
                .of(peers[n - 1])
                .map(|peer| format!("{:.2}", peer.ratio)),
        }
    })
}

/// Figures that are ratios already, or counts.
fn own_figures(table: &FigureTable) -> String {
    let contestants = table.contestants();
    let first = match &*table.unit {
        "part" => contestants[0].to_owned(),
        unit => format!("{}, {unit}", contestants[0]),
    };
    let columns = [&[&*first], &contestants[1..]].concat();
    with_head(table, &columns, |n, row| {
        let value = row.of(contestants[n])?.value;
        Some(match table.shows_hundredths() {
            true => format!("{value:.2}"),
            false => format!("{value:.0}"),
        })
    })
}

fn with_head(
    table: &FigureTable,
    columns: &[&str],
    cell: impl Fn(usize, &figures::FigureRow) -> Option<String>,
) -> String {
    let mut text = format!("\n| {} | {} |\n", table.title, columns.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(columns.len()));
    for row in &table.rows {
        let cells = (0..columns.len()).map(|n| cell(n, row).unwrap_or_default());
        let cells: Vec<_> = cells.collect();
        text += &format!("| {} | {} |\n", row.title, cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::sample;

    #[test]
    fn the_text_between_the_marks_is_replaced() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let once = replaced("a.md", &page, "new\n").expect("both marks are there");
        assert_eq!(once, format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(replaced("a.md", &once, "new\n"), Ok(once));
    }

    #[test]
    fn a_missing_mark_is_named() {
        for (page, culprit) in [
            ("".to_owned(), BEGIN),
            (format!("{END}\n"), BEGIN),
            (format!("{BEGIN}\n"), END),
            (format!("{END}\n{BEGIN}\n"), END),
        ] {
            let error = replaced("a.md", &page, "new").expect_err(&page);
            assert!(error.contains(culprit) && error.contains("a.md"), "{error}");
        }
    }

    fn page(name: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::read_to_string(root.join(name)).expect("the page can be read")
    }

    /// Returns the text between the marks of a page.
    fn between(page: &str) -> &str {
        let (_, rest) = page.split_once(BEGIN).expect("the first mark");
        rest.split_once(END).expect("the second mark").0
    }

    /// The figures that the tables of a page show, with the digits that they show.
    fn shown(page: &str) -> Figures {
        let mut figures = Figures::default();
        let mut columns: Vec<&str> = Vec::new();
        for line in between(page).lines() {
            let Some(cells) = line.strip_prefix("| ") else {
                if !line.starts_with('|') {
                    columns.clear();
                }
                continue;
            };
            let cells: Vec<_> = cells.split('|').map(str::trim).collect();
            if columns.is_empty() {
                let (first, unit) = cells[1].split_once(", ").unwrap_or((cells[1], "part"));
                columns = cells[1..].to_vec();
                columns[0] = first;
                figures.tables.push(FigureTable {
                    title: cells[0].to_owned(),
                    unit: unit.to_owned(),
                    rows: Vec::new(),
                });
                continue;
            }
            let table = figures.tables.last_mut().expect("a head");
            // Runs are not shown as ratios.
            let alike = |n: usize| {
                let (_, way) = columns[n].split_once(' ')?;
                let own = columns
                    .iter()
                    .position(|own| *own == format!("joint {way}"))?;
                cells[1 + own].parse::<f64>().ok()
            };
            let ratio = |n: usize, value: f64| match &*table.unit {
                "runs" => value / alike(n).unwrap_or(f64::INFINITY),
                _ if n == 0 => 1.0,
                _ => value,
            };
            let figure = |(n, cell): (usize, &&str)| {
                let value = cell.parse().ok()?;
                Some(Figure {
                    contestant: columns[n].to_owned(),
                    value,
                    ratio: ratio(n, value),
                    is_peer: !columns[n].starts_with("joint")
                        && !["plain recursion", "by hand", "floor"].contains(&columns[n]),
                })
            };
            table.rows.push(figures::FigureRow {
                title: cells[0].to_owned(),
                figures: cells[1..].iter().enumerate().filter_map(figure).collect(),
            });
        }
        figures
    }

    #[test]
    fn the_readme_shows_rows_of_the_tables_and_all_in_which_joint_is_behind() {
        let text = short(&shown(&page(TABLES))).expect("the ten rows");
        assert_eq!(
            between(&page(README)),
            format!("\n{text}"),
            "wanted:\n{text}"
        );
    }

    #[test]
    fn each_row_is_explained() {
        let tables = page(TABLES);
        let (_, after) = tables.split_once(END).expect("the second mark");
        for table in shown(&tables).tables {
            let head = format!("### {}\n", table.title);
            let (_, section) = after
                .split_once(&head)
                .unwrap_or_else(|| panic!("no {head}"));
            let section = section.split("\n### ").next().expect("a part");
            for row in table.rows {
                let start = format!("\n* **{}**", row.title);
                assert!(section.contains(&start), "{}: no {start}", table.title);
            }
        }
    }

    #[test]
    fn a_row_that_is_missing_is_named() {
        let error = short(&sample()).expect_err("it has none of the ten");
        assert!(error.contains("`spawn and join`"), "{error}");
    }

    #[test]
    fn every_peer_with_a_smaller_ratio_is_listed_as_ahead() {
        let mut table = sample().tables.remove(0);
        assert_eq!(behind(&table, &table.rows[0]), "0.50 nio");
        assert_eq!(behind(&table, &table.rows[1]), "");
        table.rows[1].figures[1].ratio = 0.996;
        assert_eq!(behind(&table, &table.rows[1]), "");
        table.unit = "part".to_owned();
        assert_eq!(behind(&table, &table.rows[0]), "0.50 nio");
        table.rows[0].figures[2].is_peer = false;
        assert_eq!(behind(&table, &table.rows[0]), "", "a floor");
        table.unit = "allocations".to_owned();
        for figure in &mut table.rows[0].figures {
            (figure.value, figure.is_peer) = (0.0, true);
        }
        assert_eq!(behind(&table, &table.rows[0]), "", "none and none");
    }

    #[test]
    fn the_table_has_the_first_ones_figure_and_the_others_ratios() {
        let text = section(&sample());
        for line in [
            "| one | joint, ns | tokio | nio |",
            "| a < b | 50.0 | 2.00 | 0.50 |",
            "| c | 8.2 | 10.00 |  |",
            "| two | joint queue, ns | monoio |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(text.contains("during the runs: far, near."), "{text}");
    }

    #[test]
    fn parts_are_shown_as_they_are() {
        let mut figures = sample();
        figures.tables[0].unit = "part".to_owned();
        let text = section(&figures);
        assert!(text.contains("| one | joint | tokio | nio |"), "{text}");
        assert!(
            text.contains("| a < b | 50.00 | 100.00 | 25.00 |"),
            "{text}"
        );
    }

    #[test]
    fn runs_are_shown_as_they_are_and_compared_with_those_of_the_same_way() {
        let figure = |contestant: &str, value, ratio| Figure {
            contestant: contestant.to_owned(),
            value,
            ratio,
            is_peer: !contestant.starts_with("joint"),
        };
        let row = |title: &str, figures| figures::FigureRow {
            title: title.to_owned(),
            figures,
        };
        let table = FigureTable {
            title: "bugs".to_owned(),
            unit: "runs".to_owned(),
            rows: vec![
                row(
                    "lost wake-up",
                    vec![
                        figure("joint random", 2.0, 1.0),
                        figure("peer PCT 2", 3.0, 0.0),
                    ],
                ),
                row(
                    "lost update",
                    vec![
                        figure("joint random", 20.0, 1.0),
                        figure("joint PCT 2", 8.0, 1.0),
                        figure("peer random", 40.0, 2.0),
                        figure("peer PCT 2", 6.0, 0.75),
                        figure("peer PCT 3", 5.0, 0.0),
                    ],
                ),
            ],
        };
        let behind = behind(&table, &table.rows[1]);
        assert_eq!(behind, "0.75 peer PCT 2, 0.00 peer PCT 3");
        let figures = Figures {
            tables: vec![table],
            ..Figures::default()
        };
        let text = section(&figures);
        for line in [
            "| bugs | joint random, runs | joint PCT 2 | peer random | peer PCT 2 | peer PCT 3 |",
            "| lost wake-up | 2 |  |  | 3 |  |",
            "| lost update | 20 | 8 | 40 | 6 | 5 |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert_eq!(shown(&format!("{BEGIN}{text}{END}")), figures);
    }

    #[test]
    fn nothing_is_written_without_figures_or_marks() {
        let folder = env::temp_dir().join(format!("joint-readme-{}", std::process::id()));
        fs::create_dir_all(folder.join("docs")).expect("a folder");
        fs::write(folder.join(TABLES), "no marks").expect("a file");
        let write = || write(&folder, &folder, &["executor"]);
        let error = write().expect_err("no figures");
        assert!(error.contains("cargo xtask bench executor"), "{error}");
        fs::write(folder.join("executor.jsonl"), "").expect("a file");
        let error = write().expect_err("no marks");
        assert!(error.contains(BEGIN), "{error}");
        assert!(!folder.join(PLOT).exists());
        fs::remove_dir_all(folder).expect("the folder can be removed");
    }
}
