//! What bad neighbours do to a healthy subscriber.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::super::report::{CpuTime, Report};
use super::super::wire::{Manners, Receiver};
use super::{Arrivals, Bench, Load, percentiles};

/// Between two turns: what waited for the last one's is thrown away, and the log is folded.
const REST: Duration = Duration::from_millis(1_500);

/// Those beside whom a subscriber is served.
#[derive(Clone, Copy)]
struct Company {
    name: &'static str,
    others: &'static [Other],
}

type Other = (&'static str, fn() -> Manners);

const COMPANY: [Company; 3] = [
    Company { name: "alone", others: &[] },
    Company { name: "among", others: &[("one", takes_all), ("other", takes_all)] },
    Company { name: "beside", others: &[("hanging", || Manners::Hangs), ("failing", || Manners::Fails)] },
];

fn takes_all() -> Manners {
    Manners::Takes(Arc::new(|_| {}))
}

/// One turn of a subscriber in some company.
struct Turn {
    arrivals: Arc<Arrivals>,
    /// The share of the processor's time that other machines on the same hardware took.
    stolen: f64,
}

impl Bench {
    /// A healthy subscriber alone, beside two that are healthy too, and beside one that hangs and one that fails. Each for a
    /// short time and in turn, each as often first as last: what the disk and other machines on the same hardware do changes
    /// from one moment to the next, and so all get their share of it. Of each company the half of the turns counts in which
    /// other machines took the least time of the processors (all, if they took none): what they take tells nothing of us.
    /// Against the first it tells what two more notifications an event cost, against the second what bad neighbours do.
    pub(super) async fn isolation(&self, load: Load, report: &mut Report) -> Result<()> {
        let mut turns: [Vec<Turn>; 3] = Default::default();
        for round in 0..load.rounds {
            for turn in 0..COMPANY.len() {
                let which = (round + turn) % COMPANY.len();
                turns[which].push(self.in_company(COMPANY[which], round, load.round_for).await?);
            }
        }
        turns.iter_mut().for_each(|turns| turns.sort_by(|a, b| a.stolen.total_cmp(&b.stolen)));
        let quiet = turns.each_ref().map(|turns| quieter_half(turns));
        let p99 = quiet.map(middle_p99_ms);
        let what = format!("500 events/s: post to delivery, middle p99 of {} turns", quiet[0].len());
        report.line(&what, p99[0], "ms", &note(quiet[0], &turns[0]));
        let text = format!("{:.2} × alone; {}", p99[1] / p99[0], note(quiet[1], &turns[1]));
        report.line("the same beside two that are healthy too", p99[1], "ms", &text);
        let [alone, among] = [p99[0], p99[1]].map(|other| p99[2] / other);
        let text = format!("{alone:.2} × alone, {among:.2} × beside healthy ones; {}", note(quiet[2], &turns[2]));
        report.line("the same beside one that hangs and one that fails", p99[2], "ms", &text);
        Ok(())
    }

    /// One turn of a healthy subscriber beside these. Afterwards they are gone, with what waited for them.
    async fn in_company(&self, company: Company, round: usize, lasts: Duration) -> Result<Turn> {
        let endpoint = format!("{}-{round}", company.name);
        let mut others = Vec::new();
        for (name, manners) in company.others {
            others.push((*name, Receiver::start(manners()).await?));
        }
        let addresses: Vec<_> = others.iter().map(|(name, receiver)| (*name, receiver.address)).collect();
        let before = CpuTime::now();
        let arrivals = self.paced(&endpoint, 500, lasts, &addresses).await?;
        let stolen = CpuTime::now().stolen_since(before);
        let mut caller = self.server.caller().await?;
        for name in others.iter().map(|(name, _)| *name).chain(["healthy"]) {
            let path = format!("/api/v1/subscriptions/{endpoint}-{name}");
            caller.ask("PATCH", &path, &json!({ "state": "disabled" })).await?;
        }
        drop(others);
        tokio::time::sleep(REST).await;
        Ok(Turn { arrivals, stolen })
    }
}

/// The half from which least was taken, and all from which no more was: where nobody took anything, that is all of them.
fn quieter_half(turns: &[Turn]) -> &[Turn] {
    let most = turns.get(turns.len().saturating_sub(1) / 2).map_or(0.0, |turn| turn.stolen);
    &turns[..turns.partition_point(|turn| turn.stolen <= most)]
}

/// A hiccup of the machine spoils the turn it falls into, not the one in the middle.
fn middle_p99_ms(turns: &[Turn]) -> f64 {
    let p99 = |turn: &Turn| percentiles(std::slice::from_ref(&turn.arrivals)).1.p99_ms();
    let mut p99s: Vec<f64> = turns.iter().map(p99).collect();
    p99s.sort_by(f64::total_cmp);
    p99s.get(p99s.len() / 2).copied().unwrap_or_default()
}

fn note(quiet: &[Turn], all: &[Turn]) -> String {
    let rounds = |turns: &[Turn]| turns.iter().map(|turn| turn.arrivals.clone()).collect::<Vec<_>>();
    let (accepted, delivered) = percentiles(&rounds(quiet));
    let taken = quiet.last().map_or(0.0, |turn| turn.stolen * 100.0);
    format!(
        "together {delivered}, accepted p99 {:.2}; up to {taken:.1} % of the time taken by other machines; all {} turns: {}",
        accepted.p99_ms(),
        all.len(),
        percentiles(&rounds(all)).1
    )
}
