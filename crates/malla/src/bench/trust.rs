//! A simulated fleet with liars, judged by the product's own functions.

use malla_fetch::trust::world::{Nature, Setting, play};

use super::report::Report;

/// Plays it through and prints the figures.
pub(crate) fn run(setting: Setting, report: &mut Report) {
    let began = std::time::Instant::now();
    let outcome = play(setting);
    #[allow(clippy::cast_precision_loss)] // counts fit
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    #[allow(clippy::cast_precision_loss)] // counts fit
    let count = |number: u64| number as f64;
    let note = format!("{} devices, {} % liars, seed {}", setting.devices, setting.liars, setting.seed);
    report.line("results", count(outcome.results), "results", &note);
    let trials = format!("{} of them by a trusted device", outcome.trials);
    report.line("fetches for checks", share(outcome.checks, outcome.results), "%", &trials);
    let mut liars = 0;
    for (nature, fate) in outcome.fates.iter().filter(|(nature, _)| *nature != Nature::Honest) {
        liars += fate.devices;
        let mean = if fate.convicted == 0 { 0.0 } else { count(fate.forged_until) / count(fate.convicted) };
        let convicted = format!(
            "{} of {} convicted; at most {}; {} told to clients",
            fate.convicted, fate.devices, fate.forged_until_most, fate.told
        );
        report.line(&format!("{}: forged until convicted", nature.name()), mean, "results", &convicted);
    }
    let told = format!("{} of {} forged", outcome.forged_told, outcome.forged);
    report.line("forged results that reached a client", share(outcome.forged_told, outcome.forged), "%", &told);
    report.line("of all results", share(outcome.forged_told, outcome.results), "%", "");
    let held = format!("{} results: their device was on probation", outcome.held);
    report.line("told after their check", share(outcome.held, outcome.results), "%", &held);
    let strikes = format!("{liars} liars; {} strikes on honest devices", outcome.strikes_on_honest);
    report.line("false accusations", count(outcome.false_accusations), "devices", &strikes);
    report.line("time", began.elapsed().as_secs_f64(), "s", "");
}
