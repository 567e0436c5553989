//! The picture of the curves.

use plotters::prelude::*;

use crate::curves::{CORES, Figures};

const COLUMNS: usize = 3;
const PANEL: (usize, usize) = (300, 200);
/// Above the picture.
const SENTENCE: &str = "By cores, 1 is the best: the speed-up by the number of cores where the work is divided, \
                        else the time on one core by the time on all.";

/// The curves of one row.
pub struct Panel {
    /// The title of the row.
    pub title: &'static str,
    /// Whether the work is divided among the cores.
    pub is_divided: bool,
    /// The figures of each scheduler.
    pub curves: Vec<(&'static str, Figures)>,
}

impl Panel {
    /// The numbers of cores, each with how well they are used.
    fn points(&self, figures: &Figures) -> impl Iterator<Item = (f64, f64)> {
        let first = figures[0].median;
        CORES.into_iter().zip(figures).map(move |(cores, figure)| {
            let share = if self.is_divided { cores as f64 } else { 1.0 };
            (cores as f64, first / figure.median / share)
        })
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Drawn {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 10))
            .margin(6)
            .x_label_area_size(18)
            .y_label_area_size(30)
            .build_cartesian_2d((1.0..64.0).log_scale().base(2.0), 0.0..1.25)?;
        let cores = |cores: &f64| format!("{cores:.0}");
        chart
            .configure_mesh()
            .disable_x_mesh()
            .y_labels(6)
            .x_label_formatter(&cores)
            .draw()?;
        for (n, (name, figures)) in self.curves.iter().enumerate() {
            let colour = Palette99::pick(n).stroke_width(2);
            chart
                .draw_series(LineSeries::new(self.points(figures), colour))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        }
        chart.configure_series_labels().draw()?;
        Ok(())
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws all panels into a file.
pub fn draw(path: &str, panels: &[Panel]) -> Drawn {
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (COLUMNS * PANEL.0, rows * PANEL.1 + 30);
    let all = SVGBackend::new(path, (size.0 as u32, size.1 as u32)).into_drawing_area();
    all.fill(&WHITE)?;
    let below = all.titled(SENTENCE, ("sans-serif", 13))?;
    for (panel, area) in panels.iter().zip(below.split_evenly((rows, COLUMNS))) {
        panel.draw(&area)?;
    }
    Ok(all.present()?)
}
