//! Pages that somebody wants: jobs over the demo's sites, a few pages at a time.

use std::sync::Arc;

use malla_protocol::FetchPages;

use super::stage::{Stage, rest, tried};
use crate::dice::Dice;

/// From one job to the next.
const APART_MS: (u64, u64) = (12_000, 24_000);

pub(super) async fn run(stage: Arc<Stage>) {
    let mut dice = Dice::new(stage.now_s().unsigned_abs());
    for turn in 0_u64.. {
        let urls = wanted(&stage, &mut dice, turn);
        // What is kept is good enough most of the time.
        let cached = dice.one_in(4).then_some(false);
        tried(
            "ask for pages",
            stage.client.start_fetch(&FetchPages { urls, cached, group: None, verified: None }).await,
        );
        rest(dice.within(APART_MS.0, APART_MS.1)).await;
    }
}

/// The pages of a job.
fn wanted(stage: &Stage, dice: &mut Dice, turn: u64) -> Vec<String> {
    let town = &stage.town;
    let some = |dice: &mut Dice, site: &str, path: &str, from: u64, to: u64, many: u64| -> Vec<String> {
        (0..many).map(|_| town.url(site, &format!("{path}{}", dice.within(from, to)))).collect()
    };
    let mut urls = vec![town.url("news", "/")];
    match turn % 4 {
        0 => {
            urls.extend(some(dice, "news", "/story/", 1, 12, 5));
            urls.push(town.url("news", "/drafts/7"));
            urls.push(town.url("shop", "/sale"));
        }
        1 => {
            urls.push(town.url("shop", "/"));
            urls.extend(some(dice, "shop", "/item/", 1, 13, 6));
            urls.push(town.url("shop", "/basket"));
        }
        2 => urls.extend(some(dice, "archive", "/year/", 1890, 1901, 4)),
        _ => {
            for path in ["/", "/broken", "/gone", "/loop", "/busy", "/cut", "/elsewhere"] {
                urls.push(town.url("attic", path));
            }
            if dice.one_in(3) {
                urls.push(town.url("attic", "/never"));
            }
            // A name without anybody behind it.
            urls.push("http://closed.localhost:9/".into());
            urls.push(town.url("news", "/old/4"));
        }
    }
    urls.sort();
    urls.dedup();
    urls
}
