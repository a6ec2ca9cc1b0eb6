//! A small drawing of the last hour: bars of what was done and what failed, a line for what came.

use maud::{Markup, html};

use crate::pulse::{Hour, MINUTES};
use crate::words;

const HEIGHT: f64 = 32.0;
/// Of a minute.
const WIDTH: f64 = 4.0;

pub(crate) fn spark(name: &str, hour: &Hour) -> Markup {
    let most = hour.iter().map(|beat| beat.came.max(beat.done + beat.failed)).max().unwrap_or(0).max(1);
    let tall = |n: u64| HEIGHT * n as f64 / most as f64;
    let sum = |of: fn(&crate::pulse::Beat) -> u64| -> u64 { hour.iter().map(of).sum() };
    let told = say!(
        "{name} in the last hour: {} came, {} done, {} failed",
        name,
        words::count(sum(|beat| beat.came)),
        words::count(sum(|beat| beat.done)),
        words::count(sum(|beat| beat.failed))
    );
    let line: Vec<String> = hour
        .iter()
        .enumerate()
        .map(|(nth, beat)| format!("{:.1} {:.1}", (nth as f64 + 0.5) * WIDTH, HEIGHT - tall(beat.came).max(0.5)))
        .collect();
    html! {
        svg.spark viewBox={ "0 0 " (MINUTES as f64 * WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(told) {
            title { (told) }
            @for (nth, beat) in hour.iter().enumerate() {
                @let x = format!("{:.1}", nth as f64 * WIDTH + 0.5);
                @if beat.done > 0 { (bar("succeeded", &x, HEIGHT - tall(beat.done), tall(beat.done))) }
                @if beat.failed > 0 { (bar("failed", &x, HEIGHT - tall(beat.done + beat.failed), tall(beat.failed))) }
            }
            path.came d={ "M" (line.join("L")) } {}
        }
    }
}

fn bar(tone: &str, x: &str, y: f64, height: f64) -> Markup {
    html! {
        rect class={ "s-" (tone) } x=(x) y=(format!("{y:.1}")) width=(WIDTH - 1.0) height=(format!("{:.1}", height.max(0.8))) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pulse::Beat;

    #[test]
    fn the_drawing_says_what_it_shows_and_fits() {
        let mut hour = [Beat::default(); MINUTES];
        hour[59] = Beat { came: 4, done: 2, failed: 1 };
        let text = spark("Fetch", &hour).into_string();
        assert!(text.contains("Fetch in the last hour: 4 came, 2 done, 1 failed"), "{text}");
        assert!(text.contains("s-succeeded") && text.contains("s-failed"), "{text}");
        let quiet = spark("Wiki", &[Beat::default(); MINUTES]).into_string();
        assert!(quiet.contains("0 came") && !quiet.contains("<rect"), "{quiet}");
    }
}
