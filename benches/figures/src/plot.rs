//! The plot: for each row, the best peer's figure as a multiple of this crate's, on a logarithmic
//! scale.
//!
//! A bar to the right of the line says that joint takes less, and a hatched bar to the left that
//! the peer does. The picture follows the reader's choice of light or dark.

use std::fmt::Write as _;

use crate::{
    figures::{Figure, FigureRow, FigureTable},
    readme::multiple,
};

const WIDTH: f64 = 900.0;
/// Between the frame and what is next to it, and between a title and its bar.
const GAP: f64 = 8.0;
const LINE: f64 = 19.0;
const BAR: f64 = 11.0;
/// The size of the font.
const SIZE: f64 = 12.0;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.head { font-weight: bold }
.scale { stroke: #8c959f; stroke-width: 0.5 }
.one { stroke: #1f2328; stroke-width: 1.5 }
.less { fill: #2f6fb3 }
.more { fill: url(#hatch); stroke: #b35900 }
.hatch { stroke: #b35900; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .one { stroke: #e6edf3 }
  .less { fill: #6cb6ff }
  .more { stroke: #f0a35e }
  .hatch { stroke: #f0a35e }
}
";

/// The whole picture.
pub(crate) fn svg(tables: &[FigureTable]) -> String {
    let tables: Vec<_> = (tables.iter())
        .filter(|table| table.is_of_times())
        .collect();
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let scale = Scale::around(
        rows()
            .filter_map(FigureRow::best_peer)
            .map(|peer| peer.ratio),
        longest(rows().map(|row| row.title.clone())),
        longest(rows().filter_map(FigureRow::best_peer).map(label)),
    );
    let lines: usize = tables.iter().map(|table| 1 + table.rows.len()).sum();
    let bottom = (lines + 2) as f64 * LINE;

    let mut out = String::new();
    let height = bottom + LINE;
    _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\">\n\
         <title>The best peer as a multiple of joint</title>\n<style>\n{STYLE}</style>\n\
         <defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <line class=\"hatch\" y2=\"5\"/></pattern></defs>"
    );
    text(
        &mut out,
        GAP,
        LINE,
        "start",
        "",
        "The best peer's time, joint's being 1. Right of the line: joint takes less.",
    );
    for tick in scale.ticks() {
        let (x, class) = (scale.x(tick), if tick == 1.0 { "one" } else { "scale" });
        _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>",
            1.5 * LINE,
        );
        text(
            &mut out,
            x,
            bottom + 0.7 * LINE,
            "middle",
            "",
            &tick.to_string(),
        );
    }
    let mut y = 2.0 * LINE;
    for table in tables {
        y += LINE;
        text(&mut out, GAP, y - 5.0, "start", "head", &table.title);
        for row in &table.rows {
            y += LINE;
            text(&mut out, scale.left - GAP, y - 5.0, "end", "", &row.title);
            if let Some(peer) = row.best_peer() {
                bar(&mut out, &scale, y, peer);
            }
        }
    }
    out + "</svg>\n"
}

/// How much room a text takes at most: in DejaVu Sans, which is wider than the fonts that most
/// systems have for `system-ui`.
fn width(text: &str) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | ' ' | ',' | '.' | '\'' | ':' | '|' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '>' | '<' | '%' => 0.99,
        'A'..='Z' => 0.78,
        _ => 0.64,
    };
    text.chars().map(em).sum::<f64>() * SIZE
}

fn longest(texts: impl Iterator<Item = String>) -> f64 {
    texts.map(|text| width(&text)).fold(0.0, f64::max)
}

/// Returns the label of a bar.
fn label(peer: &Figure) -> String {
    format!("{} {}", multiple(peer.ratio), peer.contestant)
}

fn bar(out: &mut String, scale: &Scale, y: f64, peer: &Figure) {
    let (one, end) = (scale.x(1.0), scale.x(peer.ratio));
    let class = if peer.ratio < 1.0 { "more" } else { "less" };
    let (x, width) = (one.min(end), (end - one).abs());
    let top = y - LINE + (LINE - BAR) / 2.0;
    _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\"/>"
    );
    text(out, one.max(end) + GAP, y - 5.0, "start", "", &label(peer));
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// From one power of two to another, with 1 between them.
struct Scale {
    low: i32,
    high: i32,
    /// Where it begins and ends. The titles of the rows are to the left of it, and the label of the
    /// longest bar to the right.
    left: f64,
    right: f64,
}

impl Scale {
    /// Holds these ratios, and leaves so much room for titles and for labels.
    fn around(ratios: impl Iterator<Item = f64>, titles: f64, labels: f64) -> Self {
        let scale = Self {
            low: -1,
            high: 1,
            left: titles + 2.0 * GAP,
            right: WIDTH - labels - 2.0 * GAP,
        };
        ratios.fold(scale, |scale, ratio| Self {
            low: scale.low.min(ratio.log2().floor() as i32),
            high: scale.high.max(ratio.log2().ceil() as i32),
            ..scale
        })
    }

    fn x(&self, ratio: f64) -> f64 {
        let part = (ratio.log2() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.left + part * (self.right - self.left)
    }

    /// Powers of two with 1 among them, so far apart that their labels do not touch.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let tick = |power: i32| 2f64.powi(power);
        let step = self.x(2.0) - self.x(1.0);
        let widest = longest((self.low..=self.high).map(|power| tick(power).to_string()));
        let each = ((widest + GAP) / step).ceil() as i32;
        (self.low..=self.high)
            .filter(move |power| power % each == 0)
            .map(tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{figures::tests::sample, page::PAGE};

    #[test]
    fn each_row_has_a_bar_with_a_label() {
        let svg = svg(&sample().tables);
        assert_eq!(svg.matches("<rect ").count(), 3, "{svg}");
        assert_eq!(svg.matches("<rect class=\"more\"").count(), 1);
        for label in [">0.50 nio<", ">10 tokio<", ">1.2 monoio<", ">a &lt; b<"] {
            assert!(svg.contains(label), "{label}\n{svg}");
        }
    }

    #[test]
    fn the_scale_holds_all_and_has_equal_steps_for_equal_factors() {
        let scale = Scale::around([0.3, 10.0].into_iter(), 200.0, 50.0);
        assert_eq!(
            scale.ticks().collect::<Vec<_>>(),
            [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
        );
        assert_eq!((scale.x(0.25), scale.x(16.0)), (scale.left, scale.right));
        let step = |ratio| scale.x(2.0 * ratio) - scale.x(ratio);
        assert!((step(0.25) - step(8.0)).abs() < 1e-9);
    }

    /// Where each text of a picture begins and ends, and its height.
    fn extents(svg: &str) -> Vec<(f64, f64, f64)> {
        let texts = svg.lines().filter(|line| line.starts_with("<text "));
        let extent = |line: &str| {
            let word = |key: &str| {
                let (_, rest) = line.split_once(&format!("{key}=\"")).expect(key);
                rest.split('"').next().expect("a value").to_owned()
            };
            let number = |key| word(key).parse::<f64>().expect("a number");
            let (_, text) = line.split_once('>').expect("its text");
            let text = text.trim_end_matches("</text>").replace("&lt;", "<");
            let (x, width) = (number(" x"), width(&text));
            let start = match &*word("text-anchor") {
                "start" => x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            (start, start + width, number(" y"))
        };
        texts.map(extent).collect()
    }

    /// The page's rows with the longest names, and ratios that differ a thousandfold.
    fn wide() -> Vec<FigureTable> {
        let mut n = 0;
        let tables = PAGE.iter().map(|shown| FigureTable {
            title: shown.title.to_owned(),
            unit: "ns".to_owned(),
            rows: (shown.rows.iter())
                .map(|(row, _)| FigureRow {
                    title: (*row).to_owned(),
                    figures: vec![Figure {
                        contestant: "async-executor static".to_owned(),
                        value: 1.0,
                        ratio: {
                            n += 1;
                            2f64.powi(n % 14 - 4)
                        },
                        is_peer: true,
                    }],
                })
                .collect(),
        });
        tables.collect()
    }

    #[test]
    fn no_text_leaves_the_frame_or_touches_another() {
        let extents = extents(&svg(&wide()));
        assert!(extents.len() > 100, "{}", extents.len());
        for (n, one) in extents.iter().enumerate() {
            assert!(0.0 <= one.0 && one.1 <= WIDTH, "{one:?}");
            for other in extents[..n].iter().filter(|other| other.2 == one.2) {
                assert!(other.1 < one.0 || one.1 < other.0, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn what_is_no_time_is_left_out() {
        let mut tables = sample().tables;
        tables.truncate(1);
        tables[0].unit = "bytes".to_owned();
        assert!(!svg(&tables).contains("<rect "));
    }
}
