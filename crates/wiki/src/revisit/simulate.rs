//! A rule, played on recorded edits: the last year of them, hour by hour.

use std::io::{BufRead, Read, Write};

use malla_pulse::Seen;
use malla_queue::{Error, Result, UnixMs};
use serde::{Deserialize, Serialize};

use super::Rule;
use super::rules;
use crate::page::Pulse;

const HOUR: i64 = 3_600;
const HOURS: i64 = 365 * 24;
/// Bytes of a line: some millions of edits.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// How a rule did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub visits: u64,
    /// The share of the time, over all pages, in which a page's newest revision was known.
    pub fresh: f64,
    /// From an edit to the visit that sees it, on average; to the end of the year if none does.
    pub mean_delay_h: f64,
}

/// A page and its edits, as they were recorded, in seconds since 1970.
#[derive(Debug, Clone, Deserialize)]
struct Recorded {
    page: serde_json::Value,
    timestamps: Vec<i64>,
}

#[derive(Serialize)]
struct Visit<'p> {
    at: i64,
    page: &'p serde_json::Value,
}

/// Reads lines of `{"page":id,"timestamps":[…]}` and plays the year up to the newest of them with the pages that have two
/// earlier revisions at least. `budget` is the number of visits a day, which the original rule does not heed. Each visit goes
/// to `visits` as `{"at":…,"page":id}`, in the order in which they are made.
pub fn simulate(input: impl BufRead, rule: Rule, budget: u64, mut visits: Option<&mut dyn Write>) -> Result<Judged> {
    let recorded = read(input)?;
    let histories: Vec<&[i64]> = recorded.iter().map(|recorded| recorded.timestamps.as_slice()).collect();
    let mut game = Game::new(&histories)?;
    game.play(rule, budget, |at, page| {
        let Some(out) = &mut visits else { return Ok(()) };
        let written =
            serde_json::to_writer(&mut *out, &Visit { at, page: &recorded[page].page }).map_err(std::io::Error::from);
        written
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| Error::Invalid(format!("cannot write the visits: {error}")))
    })?;
    Ok(game.judge())
}

fn read(mut input: impl BufRead) -> Result<Vec<Recorded>> {
    let mut all = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        let wrong = |why: &dyn std::fmt::Display| {
            let shape = "{\"page\":id,\"timestamps\":[seconds since 1970, …]}";
            Error::Invalid(format!("line {number} is not {shape}: {why}"))
        };
        line.clear();
        let length = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(|error| wrong(&error))?;
        if length == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES_MAX {
            return Err(wrong(&format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let mut recorded: Recorded = serde_json::from_slice(&line).map_err(|error| wrong(&error))?;
        recorded.timestamps.sort_unstable();
        all.push(recorded);
    }
    Ok(all)
}

/// A page in the game.
struct Player<'h> {
    /// Its place in what was recorded.
    page: usize,
    edits: &'h [i64],
    /// How many of them are known.
    known: usize,
    visited_at: i64,
}

impl Player<'_> {
    fn pulse(&self) -> Pulse {
        let length = rules::pulse_length(self.known);
        let at = |edit: usize| UnixMs(self.edits[edit] * 1_000);
        Pulse { edits: length as u64, first: at(self.known - length), last: at(self.known - 1) }
    }

    fn seen(&self) -> Seen {
        Seen { pulse: Some(self.pulse()), visited_at: self.visited_at * 1_000 }
    }
}

pub(super) struct Game<'h> {
    players: Vec<Player<'h>>,
    start: i64,
    end: i64,
    visits: u64,
    /// Seconds in which a page's newest revision was not known.
    stale_s: i64,
    delay_s: i64,
    edits: u64,
}

impl<'h> Game<'h> {
    /// The histories are in order.
    pub(super) fn new(histories: &[&'h [i64]]) -> Result<Self> {
        let nobody = || {
            Error::Invalid("no page has two revisions that are older than a year: there is nothing to play with".into())
        };
        let end = histories.iter().filter_map(|edits| edits.last()).copied().max().ok_or_else(nobody)?;
        let start = end - HOURS * HOUR;
        let player = |(page, edits): (usize, &&'h [i64])| {
            let known = edits.partition_point(|at| *at <= start);
            (known >= 2).then_some(Player { page, edits, known, visited_at: start })
        };
        let players: Vec<_> = histories.iter().enumerate().filter_map(player).collect();
        if players.is_empty() {
            return Err(nobody());
        }
        Ok(Self { players, start, end, visits: 0, stale_s: 0, delay_s: 0, edits: 0 })
    }

    pub(super) fn play(
        &mut self,
        rule: Rule,
        budget: u64,
        mut told: impl FnMut(i64, usize) -> Result<()>,
    ) -> Result<()> {
        let mut turn = 0;
        let mut scores = Vec::with_capacity(self.players.len());
        for hour in 0..HOURS {
            let now = self.start + hour * HOUR;
            let due = |hour: i64| u128::from(budget) * hour as u128 / 24;
            let room = usize::try_from(due(hour + 1) - due(hour)).unwrap_or(usize::MAX).min(self.players.len());
            let chosen: Vec<usize> = match rule {
                Rule::Original if hour % 24 == 0 => self.silent(now),
                Rule::Original => Vec::new(),
                Rule::Uniform => {
                    let from = turn;
                    turn = (turn + room) % self.players.len();
                    (from..from + room).map(|place| place % self.players.len()).collect()
                }
                Rule::Adaptive => self.most_urgent(now, room, &mut scores),
            };
            for place in chosen {
                self.visit(place, now);
                told(now, self.players[place].page)?;
            }
        }
        Ok(())
    }

    fn silent(&self, now: i64) -> Vec<usize> {
        let is_due = |player: &Player<'_>| rules::original_is_due(now * 1_000, Some(player.pulse()));
        (0..self.players.len()).filter(|place| is_due(&self.players[*place])).collect()
    }

    fn most_urgent(&self, now: i64, room: usize, scores: &mut Vec<(f64, usize)>) -> Vec<usize> {
        scores.clear();
        let score = |(place, player): (usize, &Player<'_>)| (malla_pulse::urgency(now * 1_000, player.seen()), place);
        scores.extend(self.players.iter().enumerate().map(score).filter(|(urgency, _)| *urgency > 0.0));
        let room = room.min(scores.len());
        if room < scores.len() {
            scores.select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        scores[..room].iter().map(|(_, place)| *place).collect()
    }

    fn visit(&mut self, place: usize, now: i64) {
        self.visits += 1;
        self.see(place, now);
    }

    /// What happened on a page since the last visit is known from now on.
    fn see(&mut self, place: usize, now: i64) {
        let player = &mut self.players[place];
        let missed = &player.edits[player.known..];
        let missed = &missed[..missed.partition_point(|at| *at <= now)];
        self.stale_s += missed.first().map_or(0, |first| now - first);
        self.delay_s += missed.iter().map(|at| now - at).sum::<i64>();
        self.edits += missed.len() as u64;
        player.known += missed.len();
        player.visited_at = now;
    }

    /// The year is over.
    pub(super) fn judge(mut self) -> Judged {
        (0..self.players.len()).for_each(|place| self.see(place, self.end));
        let page_time = (self.end - self.start) as f64 * self.players.len() as f64;
        Judged {
            visits: self.visits,
            fresh: 1.0 - self.stale_s as f64 / page_time,
            mean_delay_h: self.delay_s as f64 / (self.edits.max(1) as f64 * HOUR as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;

    const DAY: i64 = 24 * HOUR;
    const END: i64 = 2_000 * DAY;
    const START: i64 = END - 365 * DAY;

    fn lines(histories: &[(i64, Vec<i64>)]) -> String {
        let line = |(page, timestamps): &(i64, Vec<i64>)| {
            serde_json::json!({ "page": page, "timestamps": timestamps }).to_string() + "\n"
        };
        histories.iter().map(line).collect()
    }

    fn played(histories: &[(i64, Vec<i64>)], rule: Rule, budget: u64) -> (Judged, Vec<(i64, i64)>) {
        let mut out = Vec::new();
        let judged = simulate(lines(histories).as_bytes(), rule, budget, Some(&mut out)).expect("played");
        let visit = |line: &str| {
            let visit: serde_json::Value = serde_json::from_str(line).expect("a line");
            (visit["at"].as_i64().expect("at"), visit["page"].as_i64().expect("page"))
        };
        (judged, String::from_utf8(out).expect("text").lines().map(visit).collect())
    }

    /// What the visits are worth, counted the slow way.
    fn recount(histories: &[(i64, Vec<i64>)], visits: &[(i64, i64)]) -> (f64, f64) {
        let (mut stale, mut delay, mut edits, mut pages) = (0, 0, 0, 0);
        for (page, timestamps) in histories {
            if timestamps.iter().filter(|at| **at <= START).count() < 2 {
                continue;
            }
            pages += 1;
            let seen_at = |edit: i64| {
                let of_page = visits.iter().filter(|(at, of)| of == page && *at >= edit).map(|(at, _)| *at);
                of_page.min().unwrap_or(END)
            };
            let mut stale_until = START;
            for edit in timestamps.iter().filter(|at| **at > START) {
                let seen = seen_at(*edit);
                stale += seen - (*edit).max(stale_until).min(seen);
                stale_until = stale_until.max(seen);
                delay += seen - edit;
                edits += 1;
            }
        }
        (1.0 - stale as f64 / (365 * DAY * pages) as f64, delay as f64 / (f64::from(edits) * HOUR as f64))
    }

    fn some_pages() -> Vec<(i64, Vec<i64>)> {
        vec![
            (7, vec![START - 9 * DAY, START - 5 * DAY, START + 10 * DAY + 1, START + 10 * DAY + 5_000, END - 30]),
            (8, vec![START - 90 * DAY, START]),
            (9, vec![START + 5, START + 9, END]),
            (10, (0..60).map(|n| START - 100 * DAY + n * 5 * DAY).collect()),
        ]
    }

    #[test]
    fn every_rule_is_judged_by_what_its_visits_saw() {
        for (rule, budget) in [(Rule::Original, 0), (Rule::Uniform, 2), (Rule::Adaptive, 2), (Rule::Adaptive, 50)] {
            let (judged, visits) = played(&some_pages(), rule, budget);
            let (fresh, delay) = recount(&some_pages(), &visits);
            assert_eq!(judged.visits, visits.len() as u64, "{rule}");
            assert!((judged.fresh - fresh).abs() < 1e-9, "{rule}: {} {fresh}", judged.fresh);
            assert!((judged.mean_delay_h - delay).abs() < 1e-6, "{rule}: {} {delay}", judged.mean_delay_h);
            assert!(visits.iter().all(|(at, page)| (START..=END).contains(at) && *page != 9), "{rule}");
            assert!(visits.is_sorted_by_key(|(at, _)| *at), "{rule}");
        }
    }

    #[test]
    fn a_budget_is_kept_each_day_and_a_page_is_seen_once_an_hour_at_most() {
        for rule in [Rule::Uniform, Rule::Adaptive] {
            for budget in [0, 1, 5, 30] {
                let (_, visits) = played(&some_pages(), rule, budget);
                let on = |day: i64| visits.iter().filter(|(at, _)| (at - START) / DAY == day).count() as u64;
                assert!((0..365).all(|day| on(day) <= budget), "{rule} {budget}");
                assert!((1..365).all(|day| on(day) == budget), "{rule} {budget}");
                let mut each = visits.clone();
                each.sort_unstable();
                each.dedup();
                assert_eq!(each.len(), visits.len(), "{rule} {budget}");
            }
        }
    }

    #[test]
    fn the_original_takes_what_it_takes_once_a_day() {
        let (judged, visits) = played(&some_pages(), Rule::Original, 3);
        assert!(visits.iter().all(|(at, _)| (at - START) % DAY == 0));
        assert!(judged.visits > 365 && judged.visits < 3 * 365, "{}", judged.visits);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, words) in [
            ("", "nothing to play with"),
            ("{\"page\":1,\"timestamps\":[5]}\n", "nothing to play with"),
            ("{\"page\":1,\"timestamps\":[1,2]}\n\nnonsense\n", "line 3 is not"),
            ("{\"page\":1}\n", "timestamps"),
        ] {
            let error = simulate(text.as_bytes(), Rule::Uniform, 1, None).expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn adaptive_is_fresher_and_quicker_than_the_others_with_as_many_visits() {
        for seed in 1..=4 {
            let histories = generate::histories(seed, 300);
            let slices: Vec<&[i64]> = histories.iter().map(Vec::as_slice).collect();
            let judge = |rule, budget| {
                let mut game = Game::new(&slices).expect("players");
                game.play(rule, budget, |_, _| Ok(())).expect("played");
                game.judge()
            };
            let original = judge(Rule::Original, 0);
            let budget = original.visits / 365;
            let (uniform, adaptive) = (judge(Rule::Uniform, budget), judge(Rule::Adaptive, budget));
            assert!(adaptive.visits <= original.visits, "{seed}");
            for other in [original, uniform] {
                assert!(adaptive.fresh > other.fresh, "{seed}: {adaptive:?} {other:?}");
                assert!(adaptive.mean_delay_h < other.mean_delay_h, "{seed}: {adaptive:?} {other:?}");
            }
            assert!(adaptive.mean_delay_h < 0.5 * original.mean_delay_h, "{seed}: {adaptive:?} {original:?}");
        }
    }
}
