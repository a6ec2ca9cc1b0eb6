//! Plots, drawn here as SVG: bars or lines over time, with axes, in the colours of the states.

use maud::{Markup, html};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 190.0;
/// Around what is drawn: numbers stand on the left, times below.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 24.0;
/// Lines across, the one at zero apart.
const LINES: u32 = 4;
/// Times below at most.
const LABELS_MAX: usize = 6;

pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    /// The state whose colour it has.
    pub(crate) tone: &'a str,
    /// One for each place on the axis; `None` leaves a gap.
    pub(crate) values: Vec<Option<f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One series on top of the other.
    Bars,
    Lines,
}

pub(crate) struct Plot<'a> {
    /// Unique in its page.
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// What is to be seen, for those who do not see it.
    pub(crate) description: String,
    pub(crate) shape: Shape,
    pub(crate) series: Vec<Series<'a>>,
    /// The names of the places on the axis.
    pub(crate) places: Vec<String>,
    /// How a number on the axis is written.
    pub(crate) number: fn(f64) -> String,
}

impl Plot<'_> {
    /// The plot with its name and its legend.
    pub(crate) fn card(&self) -> Markup {
        html! {
            section.card.plot-card {
                div.card-head {
                    h2 { (self.title) }
                    @if self.series.len() > 1 {
                        ul.legend aria-hidden="true" {
                            @for series in &self.series { li { span class={ "dot s-" (series.tone) } {} (series.name) } }
                        }
                    }
                }
                (self.drawing())
            }
        }
    }

    /// The plot alone.
    pub(crate) fn drawing(&self) -> Markup {
        let top = nice(self.highest());
        let (title, description) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        html! {
            svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                aria-labelledby={ (title) " " (description) } {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (self.grid(top))
                (self.times())
                @match self.shape {
                    Shape::Bars => (self.bars(top)),
                    Shape::Lines => (self.lines(top)),
                }
            }
        }
    }

    fn highest(&self) -> f64 {
        let at =
            |place: usize| self.series.iter().filter_map(move |series| series.values.get(place).copied().flatten());
        let height = |place| match self.shape {
            Shape::Bars => at(place).sum(),
            Shape::Lines => at(place).fold(0.0, f64::max),
        };
        (0..self.places.len()).map(height).fold(0.0, f64::max)
    }

    fn grid(&self, top: f64) -> Markup {
        html! {
            @for step in 0..=LINES {
                @let value = top * f64::from(step) / f64::from(LINES);
                @let y = y_of(value, top);
                line.axis[step == 0].across[step > 0] x1=(LEFT) x2=(WIDTH - RIGHT) y1=(short(y)) y2=(short(y)) {}
                text.number x=(LEFT - 6.0) y=(short(y + 4.0)) { ((self.number)(value)) }
            }
        }
    }

    fn times(&self) -> Markup {
        let every = self.places.len().div_ceil(LABELS_MAX).max(1);
        html! {
            @for (place, name) in self.places.iter().enumerate().step_by(every) {
                text.time x=(short(self.x_of(place) + self.step() / 2.0)) y=(HEIGHT - 6.0) { (name) }
            }
        }
    }

    fn bars(&self, top: f64) -> Markup {
        let gap = (self.step() * 0.2).min(6.0);
        let mut bars = Vec::new();
        for place in 0..self.places.len() {
            let mut below = 0.0;
            for series in &self.series {
                let value = series.values.get(place).copied().flatten().unwrap_or(0.0);
                if value > 0.0 {
                    let (y, base) = (y_of(below + value, top), y_of(below, top));
                    bars.push((series, self.x_of(place) + gap / 2.0, y, base - y, place, value));
                    below += value;
                }
            }
        }
        html! {
            @for (series, x, y, height, place, value) in bars {
                rect class={ "s-" (series.tone) } x=(short(x)) y=(short(y)) width=(short(self.step() - gap))
                    height=(short(height)) {
                    title { (self.places[place]) ": " ((self.number)(value)) " " (series.name) }
                }
            }
        }
    }

    fn lines(&self, top: f64) -> Markup {
        html! {
            @for series in &self.series {
                @let (path, dots) = self.line(series, top);
                path class={ "line s-" (series.tone) } d=(path) {}
                @for (x, y) in dots { circle class={ "s-" (series.tone) } cx=(short(x)) cy=(short(y)) r="2.5" {} }
            }
            (self.strips())
        }
    }

    /// Lines are thin: the whole height of a place tells its values under the pointer.
    fn strips(&self) -> Markup {
        html! {
            @for (place, name) in self.places.iter().enumerate() {
                @let told = self.told(place);
                @if !told.is_empty() {
                    rect.strip x=(short(self.x_of(place))) y=(TOP) width=(short(self.step())) height=(short(HEIGHT - TOP - BOTTOM)) {
                        title { (name) ": " (told.join(", ")) }
                    }
                }
            }
        }
    }

    /// Each series with its value at this place.
    fn told(&self, place: usize) -> Vec<String> {
        let told = |series: &Series<'_>| {
            let value = series.values.get(place).copied().flatten()?;
            Some(format!("{} {}", series.name, (self.number)(value)))
        };
        self.series.iter().filter_map(told).collect()
    }

    /// The way of the pen, lifted over gaps; and the points that stand alone, which no line shows.
    fn line(&self, series: &Series<'_>, top: f64) -> (String, Vec<(f64, f64)>) {
        let (mut path, mut alone) = (String::new(), Vec::new());
        let value = |place: usize| series.values.get(place).copied().flatten();
        for place in 0..self.places.len() {
            let Some(here) = value(place) else { continue };
            let (x, y) = (self.x_of(place) + self.step() / 2.0, y_of(here, top));
            let drawn = place > 0 && value(place - 1).is_some();
            path.push_str(&format!("{}{} {}", if drawn { "L" } else { "M" }, short(x), short(y)));
            if !drawn && value(place + 1).is_none() {
                alone.push((x, y));
            }
        }
        (path, alone)
    }

    /// The width of a place on the axis.
    fn step(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.places.len().max(1) as f64
    }

    fn x_of(&self, place: usize) -> f64 {
        LEFT + self.step() * place as f64
    }
}

fn y_of(value: f64, top: f64) -> f64 {
    let room = HEIGHT - TOP - BOTTOM;
    TOP + room - room * value / top
}

/// A number that divides well and is not lower: the end of the axis.
fn nice(highest: f64) -> f64 {
    if !highest.is_finite() || highest <= 0.0 {
        return f64::from(LINES);
    }
    let power = 10f64.powf(highest.log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0].map(|times| times * power).into_iter().find(|end| *end >= highest).unwrap_or(highest)
}

/// Coordinates need no more digits.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(shape: Shape, values: Vec<Option<f64>>) -> String {
        let places = (0..values.len()).map(|place| format!("12:{place:02}")).collect();
        let series = vec![Series { name: "delivered", tone: "succeeded", values }];
        let number = |value: f64| format!("{value}");
        let description = "what <b>was</b>".into();
        Plot { id: "p", title: "Deliveries", description, shape, series, places, number }.card().into_string()
    }

    #[test]
    fn the_axis_ends_at_a_number_that_divides_well() {
        for (highest, end) in [(0.0, 4.0), (1.0, 1.0), (3.0, 4.0), (5.0, 8.0), (9.5, 10.0), (1_234.0, 2_000.0)] {
            assert!((nice(highest) - end).abs() < 1e-9, "{highest}: {}", nice(highest));
        }
        assert!(nice(f64::NAN).is_finite() && nice(f64::INFINITY).is_finite());
    }

    #[test]
    fn bars_stand_on_the_axis_in_proportion() {
        let text = plot(Shape::Bars, vec![Some(4.0), None, Some(2.0)]);
        let full = HEIGHT - TOP - BOTTOM;
        assert!(text.contains(&format!("height=\"{}\"", short(full))), "{text}");
        assert!(text.contains(&format!("height=\"{}\"", short(full / 2.0))), "{text}");
        assert_eq!(text.matches("<rect").count(), 2);
        assert!(text.contains("role=\"img\"") && text.contains("<title id=\"p-title\">Deliveries</title>"), "{text}");
        assert!(text.contains("what &lt;b&gt;was") && !text.contains("style="), "{text}");
    }

    #[test]
    fn a_line_is_lifted_over_a_gap_and_a_lone_point_is_seen() {
        let text = plot(Shape::Lines, vec![Some(1.0), Some(2.0), None, Some(3.0), None]);
        let path = text.split(" d=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a path");
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
        assert_eq!(text.matches("<circle").count(), 1);
    }

    #[test]
    fn nothing_is_drawn_without_a_break() {
        let text = plot(Shape::Bars, Vec::new());
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
