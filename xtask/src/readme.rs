//! Writes what the benches found into the README, and draws it.

use std::{env, fs, path::Path, path::PathBuf, thread};

use super::{
    figures::{self, Figures, Table},
    plot,
    step::{root, say},
};

const BEGIN: &str = "<!-- measured: begin, written by `cargo xtask bench --readme` -->";
const END: &str = "<!-- measured: end -->";
const PLOT: &str = "docs/measured.svg";

/// The benches whose figures are shown, in the order of the tables.
pub(crate) const BENCHES: [&str; 4] = ["executor", "flow", "driver", "memory"];

/// Where the benches leave their figures.
pub(crate) fn folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
    root().join(target).join("bench")
}

/// Gives the status to exit with.
pub(crate) fn run() -> i32 {
    match write(&folder(), &root()) {
        Ok(()) => {
            say(&format!(
                "README.md and {PLOT} have the figures of the last runs"
            ));
            0
        }
        Err(why) => {
            say(&format!("bench --readme failed: {why}"));
            1
        }
    }
}

fn write(folder: &Path, root: &Path) -> Result<(), String> {
    let figures = figures::read(folder, &BENCHES)?;
    let readme = root.join("README.md");
    let before = fs::read_to_string(&readme)
        .map_err(|error| format!("cannot read {}: {error}", readme.display()))?;
    let after = replaced(&before, &section(&figures))?;
    let plot = root.join(PLOT);
    let written = plot.parent().map_or(Ok(()), fs::create_dir_all);
    written
        .and_then(|()| fs::write(&plot, plot::svg(&figures.tables)))
        .and_then(|()| fs::write(&readme, after))
        .map_err(|error| format!("cannot write {PLOT} or README.md: {error}"))
}

/// The README with another text between its marks.
fn replaced(readme: &str, section: &str) -> Result<String, String> {
    let missing = |mark| format!("README.md has no line `{mark}`: put it where the figures belong");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{section}{END}{after}"))
}

fn section(figures: &Figures) -> String {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let placements: Vec<_> = figures.placements.iter().map(String::as_str).collect();
    let mut text = format!(
        "\n![The best peer's time as a multiple of joint's, row by row]({PLOT})\n\n\
         On {} with {processors} processors, to each other: {}. The first column is a time or a size, the others are multiples\n\
         of it: above 1, joint takes less.\n",
        env::consts::ARCH,
        placements.join(", "),
    );
    for table in &figures.tables {
        if table.compares() {
            text += &comparison(table);
        } else if table.unit == "part" {
            text += &parts(table);
        }
    }
    text + "\n"
}

/// The first contestant's figures, and the others' ratios to it.
fn comparison(table: &Table) -> String {
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

/// Figures that are parts of something already.
fn parts(table: &Table) -> String {
    let contestants = table.contestants();
    with_head(table, &contestants, |n, row| {
        row.of(contestants[n])
            .map(|figure| format!("{:.2}", figure.value))
    })
}

fn with_head(
    table: &Table,
    columns: &[&str],
    cell: impl Fn(usize, &figures::Row) -> Option<String>,
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
    use super::{super::figures::tests::sample, *};

    #[test]
    fn the_text_between_the_marks_is_replaced() {
        let readme = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let once = replaced(&readme, "new\n").expect("both marks are there");
        assert_eq!(once, format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(replaced(&once, "new\n"), Ok(once));
    }

    #[test]
    fn a_missing_mark_is_named() {
        for (readme, culprit) in [
            ("".to_owned(), BEGIN),
            (format!("{END}\n"), BEGIN),
            (format!("{BEGIN}\n"), END),
            (format!("{END}\n{BEGIN}\n"), END),
        ] {
            let error = replaced(&readme, "new").expect_err(&readme);
            assert!(error.contains(culprit), "{error}");
        }
    }

    #[test]
    fn the_readme_has_the_marks() {
        let readme = fs::read_to_string(root().join("README.md")).expect("it is there");
        assert!(replaced(&readme, "").is_ok());
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
        assert!(text.contains("to each other: far, near."), "{text}");
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
    fn nothing_is_written_without_figures_or_marks() {
        let folder = env::temp_dir().join(format!("joint-readme-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("README.md"), "no marks").expect("a file");
        let error = write(&folder, &folder).expect_err("no figures");
        assert!(error.contains("cargo xtask bench executor"), "{error}");
        for bench in BENCHES {
            fs::write(folder.join(format!("{bench}.jsonl")), "").expect("a file");
        }
        let error = write(&folder, &folder).expect_err("no marks");
        assert!(error.contains(BEGIN), "{error}");
        assert!(!folder.join(PLOT).exists());
        fs::remove_dir_all(folder).expect("it is there");
    }
}
