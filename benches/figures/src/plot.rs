//! The plot: for each row, the best peer's figure as a multiple of this crate's, on a logarithmic
//! scale.
//!
//! A bar to the right of the line says that joint takes less, and a hatched bar to the left that
//! the peer does. The picture follows the reader's choice of light or dark.

use std::fmt::Write as _;

use crate::figures::{Figure, FigureRow, FigureTable};

const WIDTH: f64 = 820.0;
/// Where the scale begins and ends. The titles of the rows are to the left of it, and the labels of
/// the longest bars to the right.
const LEFT: f64 = 270.0;
const RIGHT: f64 = 650.0;
const LINE: f64 = 19.0;
const BAR: f64 = 11.0;

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
    let tables: Vec<_> = tables.iter().filter(|table| table.compares()).collect();
    let rows = tables.iter().flat_map(|table| &table.rows);
    let ratios = rows.filter_map(FigureRow::best_peer).map(|peer| peer.ratio);
    let scale = Scale::around(ratios);
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
        8.0,
        LINE,
        "start",
        "",
        "Best peer's time or size, joint's being 1. Right of the line: joint takes less.",
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
        text(&mut out, 8.0, y - 5.0, "start", "head", &table.title);
        for row in &table.rows {
            y += LINE;
            text(&mut out, LEFT - 8.0, y - 5.0, "end", "", &row.title);
            if let Some(peer) = row.best_peer() {
                bar(&mut out, &scale, y, peer);
            }
        }
    }
    out + "</svg>\n"
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
    let label = format!("{:.2} {}", peer.ratio, peer.contestant);
    text(out, one.max(end) + 6.0, y - 5.0, "start", "", &label);
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
}

impl Scale {
    fn around(ratios: impl Iterator<Item = f64>) -> Self {
        let scale = Self { low: -1, high: 1 };
        ratios.fold(scale, |scale, ratio| Self {
            low: scale.low.min(ratio.log2().floor() as i32),
            high: scale.high.max(ratio.log2().ceil() as i32),
        })
    }

    fn x(&self, ratio: f64) -> f64 {
        let part = (ratio.log2() - f64::from(self.low)) / f64::from(self.high - self.low);
        LEFT + part * (RIGHT - LEFT)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 2f64.powi(power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::sample;

    #[test]
    fn each_row_has_a_bar_with_a_label() {
        let svg = svg(&sample().tables);
        assert_eq!(svg.matches("<rect ").count(), 3, "{svg}");
        assert_eq!(svg.matches("<rect class=\"more\"").count(), 1);
        for label in [">0.50 nio<", ">10.00 tokio<", ">1.25 monoio<", ">a &lt; b<"] {
            assert!(svg.contains(label), "{label}\n{svg}");
        }
    }

    #[test]
    fn the_scale_holds_all_and_has_equal_steps_for_equal_factors() {
        let scale = Scale::around([0.3, 10.0].into_iter());
        assert_eq!(
            scale.ticks().collect::<Vec<_>>(),
            [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
        );
        assert_eq!((scale.x(0.25), scale.x(16.0)), (LEFT, RIGHT));
        let step = |ratio| scale.x(2.0 * ratio) - scale.x(ratio);
        assert!((step(0.25) - step(8.0)).abs() < 1e-9);
    }

    #[test]
    fn a_table_without_a_comparison_is_left_out_of_the_plot() {
        let mut tables = sample().tables;
        tables.truncate(1);
        tables[0].unit = "part".to_owned();
        assert!(!svg(&tables).contains("<rect "));
    }
}
