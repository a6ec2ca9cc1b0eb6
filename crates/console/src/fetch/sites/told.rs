//! How a site stands, in sentences.

use malla_fetch::{Site, SiteState, Standing};
use malla_queue::{Lane, UnixMs};

use super::super::milliseconds;
use super::Shown;
use crate::words;

/// One sentence after the other, the most important first.
pub(super) fn standing(now: UnixMs, shown: &Shown) -> Vec<String> {
    let Shown { lane, state, .. } = shown;
    let mut told = Vec::new();
    if lane.paused {
        told.push(t!("Paused by an operator: nothing is asked of it.").to_owned());
    }
    told.push(pace(lane, state));
    if state.failures > 0 {
        told.push(match state.failures {
            1 => t!("It gave no answer once.").to_owned(),
            n => say!("It gave no answer {} times in a row.", n),
        });
    }
    if let Some(until) = state.rest_until.filter(|_| state.rests(now)) {
        told.push(say!("It is left alone until {} ({}).", words::full(until), words::relative(now, until)));
    }
    if let Some(ms) = state.page_ms {
        told.push(say!("A page takes {} on average.", milliseconds(ms)));
    }
    told
}

/// `Asked every 3 s: slowed by 2 s because it answered 429 or 503.`
fn pace(lane: &Lane, state: &SiteState) -> String {
    let every = match lane.settings.gap_ms {
        0 => t!("Asked without a pause between two pages").to_owned(),
        ms => say!("Asked every {}", milliseconds(ms)),
    };
    let at_once = match lane.settings.ceiling {
        1 => String::new(),
        n => say!(", {n} pages at once", n),
    };
    match state.slowed_ms {
        0 => format!("{every}{at_once}."),
        ms => say!("{every}{at_once}: slowed by {} because it answered 429 or 503.", every, at_once, milliseconds(ms)),
    }
}

/// What its robots.txt means for its pages.
pub(super) fn robots(status: u16, standing: &Standing) -> String {
    let status = match status {
        malla_fetch::NO_ANSWER => t!("no answer").to_owned(),
        status => say!("status {status}", status),
    };
    match standing {
        Standing::Rules(_) => t!("These are its rules.").to_owned(),
        Standing::AllowAll => say!("It has none ({status}): every page may be fetched.", status),
        Standing::DisallowAll => say!("It could not be fetched ({status}): no page is fetched until it can.", status),
    }
}

/// Whether a page may be fetched, and by which rule.
pub(super) fn verdict(site: &Site, path: &str, verdict: &malla_fetch::Verdict) -> String {
    let may = if verdict.allowed { t!("may fetch") } else { t!("may not fetch") };
    let why = match &verdict.rule {
        Some(rule) => say!("the rule is {rule}", rule),
        None if verdict.allowed => t!("no rule speaks of it").to_owned(),
        None => t!("its robots.txt could not be fetched").to_owned(),
    };
    format!("{} {may} {site}{path}: {why}.", super::super::AGENT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use malla_fetch::PageUrl;
    use malla_queue::{LaneSettings, StateCounts};

    use super::*;

    const NOW: UnixMs = UnixMs(1_800_000_000_000);

    fn shown(gap_ms: u64, ceiling: u32, paused: bool, state: SiteState) -> Shown {
        let site = PageUrl::parse("https://example.org/").expect("a URL").site();
        let settings = LaneSettings { ceiling, gap_ms };
        let lane =
            Lane { key: site.lane(), group: None, settings, paused, ready_at: None, counts: StateCounts::default() };
        Shown { lane, site, state, robots: None }
    }

    #[test]
    fn a_site_is_told_in_sentences() {
        let calm = SiteState::new(1_000);
        let slowed = SiteState { slowed_ms: 2_000, page_ms: Some(120), ..calm };
        let away = SiteState { failures: 3, rest_until: Some(NOW.plus(Duration::from_secs(4))), ..calm };
        let rested = SiteState { failures: 1, rest_until: Some(NOW), ..calm };
        check(&shown(1_000, 1, false, calm), &["Asked every 1 s."]);
        check(
            &shown(0, 2, true, calm),
            &[
                "Paused by an operator: nothing is asked of it.",
                "Asked without a pause between two pages, 2 pages at once.",
            ],
        );
        check(
            &shown(3_000, 1, false, slowed),
            &["Asked every 3 s: slowed by 2 s because it answered 429 or 503.", "A page takes 120 ms on average."],
        );
        check(
            &shown(1_000, 1, false, away),
            &[
                "Asked every 1 s.",
                "It gave no answer 3 times in a row.",
                "It is left alone until 2027-01-15 08:00:04.000 UTC (now).",
            ],
        );
        check(&shown(1_000, 1, false, rested), &["Asked every 1 s.", "It gave no answer once."]);
    }

    #[track_caller]
    fn check(shown: &Shown, expected: &[&str]) {
        assert_eq!(standing(NOW, shown), expected);
    }

    #[test]
    fn robots_are_told_with_their_consequence() {
        for (status, words) in [(200, "its rules"), (404, "none (status 404): every"), (580, "(no answer): no page")] {
            let told = robots(status, &Standing::of_answer(status, b""));
            assert!(told.contains(words), "{told}");
        }
    }
}
