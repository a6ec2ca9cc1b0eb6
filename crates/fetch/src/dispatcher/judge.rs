//! What an answer means: to those who wait, to the cache, to the site and to the task. Pure.

use std::time::Duration;

use malla_queue::{Failure, Leased, NextTry, Outcome, UnixMs, Verdict};
use malla_reach::retry_after;

use crate::site::RETRY_AFTER_MAX;
use crate::{
    Answer, CheckedBody, KnownRobots, NO_ANSWER, NewPage, PageTask, PageUrl, Renewal, Seen, Settled, Settlement, Shelf,
    Site, Standing, Stored, Trouble, TroubleKind,
};

/// Redirects that are followed, one after the other.
pub(crate) const HOPS_MAX: u32 = 10;
/// For a robots.txt, fewer.
const ROBOTS_HOPS_MAX: u32 = 5;

/// How much later than it was sent a request may reach a site.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// What the judge needs to know besides the answer.
pub(crate) struct Case<'c> {
    pub(crate) leased: &'c Leased,
    pub(crate) task: &'c PageTask,
    /// The site's gap as the device kept it.
    pub(crate) gap_ms: u64,
    /// How long ago the site spoke last.
    pub(crate) quiet_ms: u64,
    pub(crate) now: UnixMs,
    pub(crate) device: Option<&'c str>,
    pub(crate) rules: &'c Rules,
}

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The name by which robots.txt knows us.
    pub agent: String,
    /// The gap of a site that asks for none.
    pub gap_ms: u64,
    /// How long a page is fresh that says nothing about it.
    pub fresh_for: Duration,
}

impl Case<'_> {
    pub(crate) fn settle(&self, answer: Answer, body: Option<CheckedBody>) -> Settled {
        let seen = seen(&answer, self.now).map(|seen| (self.task.url.site(), seen));
        let (verdict, outcome) = match &self.task.robots_of {
            Some(site) => self.robots(site, &answer, body),
            None => self.page(answer, body),
        };
        Settled { token: self.leased.token, ending: verdict.ending(self.leased, self.now), outcome, seen }
    }

    /// A page that is not asked for: its robots.txt or our own rules refuse it.
    pub(crate) fn refuse(&self, status: u16, why: Trouble) -> Settled {
        let page = NewPage { status, ..NewPage::not_asked(self.task.url.to_string(), why, self.now) };
        let outcome = Settlement::Page { url: self.task.url.clone(), page, shelf: None };
        let ending = Verdict::Done(Outcome::default()).ending(self.leased, self.now);
        Settled { token: self.leased.token, ending, outcome, seen: None }
    }

    /// Given back undone. A request that was cut off a moment ago may still be on its way to the site.
    pub(crate) fn release(&self, note: &str) -> Settled {
        let mut ending = Verdict::Released { note: note.to_owned() }.ending(self.leased, self.now);
        ending.lane_rest_until = self.rest().map(|rest| self.now.plus(rest + ON_ITS_WAY));
        Settled { token: self.leased.token, ending, outcome: Settlement::Open, seen: None }
    }

    /// Given back for somebody else, who may come at any moment.
    pub(crate) fn later(&self, note: &str, run_at: UnixMs) -> Settled {
        let settled = self.release(note);
        Settled { ending: malla_queue::Ending { run_at: Some(run_at), ..settled.ending }, ..settled }
    }

    /// Done with, and nobody is told.
    pub(crate) fn drop_it(&self, outcome: Settlement) -> Settled {
        let ending = Verdict::Done(Outcome::default()).ending(self.leased, self.now);
        Settled { token: self.leased.token, ending, outcome, seen: None }
    }

    /// The device did not do its part.
    pub(crate) fn spoilt(&self, note: String) -> Settled {
        let ending = self.failed(note, NextTry::ByDelays).ending(self.leased, self.now);
        Settled { token: self.leased.token, ending, outcome: Settlement::Open, seen: None }
    }

    /// What is left of the gap since the site's last word.
    fn rest(&self) -> Option<Duration> {
        let left = self.gap_ms.saturating_sub(self.quiet_ms);
        (left > 0).then(|| Duration::from_millis(left))
    }

    fn done(&self) -> Verdict {
        Verdict::Done(Outcome { lane_rest: self.rest(), ..Outcome::default() })
    }

    fn failed(&self, note: String, next: NextTry) -> Verdict {
        Verdict::Failed(Failure { note, answer: None, next, lane_rest: self.rest() })
    }

    /// Whether this answer is worth another attempt, and after which wait.
    fn again(&self, answer: &Answer) -> Option<Verdict> {
        self.leased.retry.after(self.leased.failures.saturating_add(1))?;
        let next = match (answer.status, answer.trouble.as_ref().map(|trouble| trouble.what)) {
            // Once more, perhaps by another device: whoever waits shall know soon.
            (NO_ANSWER, Some(TroubleKind::NoConnection | TroubleKind::TimedOut)) if self.leased.failures == 0 => {
                NextTry::ByDelays
            }
            (429 | 503, _) => {
                match header(answer, "retry-after").and_then(|text| retry_after(text, self.now, RETRY_AFTER_MAX)) {
                    Some(wait) => NextTry::After(wait),
                    None => NextTry::ByDelays,
                }
            }
            _ => return None,
        };
        let note = match &answer.trouble {
            Some(trouble) => trouble.note.clone(),
            None => format!("the site answered {}: it wants to be asked less", answer.status),
        };
        Some(self.failed(note, next))
    }

    fn robots(&self, of: &str, answer: &Answer, body: Option<CheckedBody>) -> (Verdict, Settlement) {
        if let Some(verdict) = self.again(answer) {
            return (verdict, Settlement::Open);
        }
        if let Some(to) = self.next_hop(answer, ROBOTS_HOPS_MAX).and_then(Result::ok) {
            return (self.done(), Settlement::Moved { to });
        }
        let text = body.and_then(|body| crate::unpack(&body.packed, body.bytes).ok()).unwrap_or_default();
        let standing = Standing::of_answer(answer.status, &text);
        let gap_ms =
            standing.crawl_delay_ms(&self.rules.agent).map_or(self.rules.gap_ms, |ms| ms.max(self.rules.gap_ms));
        let robots = KnownRobots {
            status: answer.status,
            text,
            fetched_at: self.now,
            until: self.now.plus(standing.kept_for()),
        };
        match PageUrl::parse(of) {
            Ok(url) => (self.done(), Settlement::Robots { of: url.site(), robots, gap_ms }),
            // Cannot be: it was written by us.
            Err(_) => (self.done(), Settlement::Open),
        }
    }

    /// What a device brought, as it is kept to compare it with what another one brings.
    pub(crate) fn brought(&self, answer: &Answer, body: Option<&CheckedBody>) -> NewPage {
        NewPage {
            url: self.task.url.to_string(),
            status: answer.status,
            headers: answer.headers.clone(),
            body: body.cloned(),
            trouble: answer.trouble.clone(),
            fetched_at: self.now,
            took_ms: answer.took_ms,
            device: self.device.map(str::to_owned),
        }
    }

    fn page(&self, answer: Answer, body: Option<CheckedBody>) -> (Verdict, Settlement) {
        if let Some(verdict) = self.again(&answer) {
            return (verdict, Settlement::Open);
        }
        let url = self.task.url.clone();
        let mut trouble = answer.trouble.clone();
        match self.next_hop(&answer, HOPS_MAX) {
            Some(Ok(to)) => return (self.done(), Settlement::Moved { to }),
            Some(Err(why)) => trouble = Some(why),
            None => {}
        }
        match (answer.status, self.task.base) {
            (304, Some(base)) => {
                let Answer { headers, took_ms, .. } = answer;
                let renewal = Renewal { headers, at: self.now, took_ms, unsaid: self.rules.fresh_for };
                return (self.done(), Settlement::Unchanged { url, base, renewal, hops: self.task.hops });
            }
            (304, None) => {
                let note = "the site says that the page has not changed, but was not asked that".to_owned();
                trouble = Some(Trouble { what: TroubleKind::Garbled, note });
            }
            _ => {}
        }
        let took = Duration::from_millis(answer.took_ms);
        let stored = Stored::of(answer.status, &answer.headers, self.now, took, self.rules.fresh_for);
        let shelf = Shelf { fresh_until: stored.fresh_until, validators: stored.validators };
        // What one place gets is nothing for the others.
        let keep = stored.storable && answer.status == 200 && trouble.is_none() && self.task.pin.is_none();
        let page = NewPage {
            url: url.to_string(),
            status: answer.status,
            headers: answer.headers,
            body,
            trouble,
            fetched_at: self.now,
            took_ms: answer.took_ms,
            device: self.device.map(str::to_owned),
        };
        (self.done(), Settlement::Page { url, page, shelf: keep.then_some(shelf) })
    }

    /// Where a redirect leads; an error if it leads nowhere we go.
    fn next_hop(&self, answer: &Answer, hops_max: u32) -> Option<Result<PageTask, Trouble>> {
        if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = header(answer, "location")?;
        if self.task.hops >= hops_max {
            let note = format!("it was redirected {hops_max} times, the last time to {location}");
            return Some(Err(Trouble { what: TroubleKind::TooManyRedirects, note }));
        }
        let url = match self.task.url.join(location) {
            Ok(url) => url,
            Err(why) => {
                let note = format!("it is redirected to where nothing is fetched ({why})");
                return Some(Err(Trouble { what: TroubleKind::Refused, note }));
            }
        };
        if self.task.robots_of.is_none() && crate::suspicious(&url).is_some() {
            let note = "it is redirected to a URL that looks like an attack".to_owned();
            return Some(Err(Trouble { what: TroubleKind::Refused, note }));
        }
        let (robots_of, pin) = (self.task.robots_of.clone(), self.task.pin.clone());
        Some(Ok(PageTask { hops: self.task.hops + 1, robots_of, pin, ..PageTask::new(url) }))
    }
}

/// What an answer tells of its site; nothing if it was not asked.
fn seen(answer: &Answer, now: UnixMs) -> Option<Seen> {
    match answer.status {
        crate::NOT_ASKED => None,
        NO_ANSWER => Some(Seen::Failed),
        429 | 503 => {
            let retry_after = header(answer, "retry-after").and_then(|text| retry_after(text, now, RETRY_AFTER_MAX));
            Some(Seen::PushedBack { retry_after })
        }
        _ => Some(Seen::Good { took_ms: answer.took_ms }),
    }
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Why robots.txt keeps us from a page; `None` if it does not.
pub(crate) fn refused_by_robots(site: &Site, url: &PageUrl, known: &Known, agent: &str) -> Option<(u16, Trouble)> {
    let verdict = known.standing.verdict(agent, url.path_and_query());
    if verdict.allowed {
        return None;
    }
    let refused = |note: String| Trouble { what: TroubleKind::Refused, note };
    Some(match (verdict.rule, known.status) {
        (Some(rule), _) => (crate::NOT_ASKED, refused(format!("the robots.txt of {site} refuses it ({rule})"))),
        (None, NO_ANSWER) => {
            let note = format!("{site} gave no answer when it was asked for its robots.txt");
            (NO_ANSWER, Trouble { what: TroubleKind::NoConnection, note })
        }
        (None, status) => {
            let note = format!("the robots.txt of {site} cannot be read (status {status}), so the site is left alone");
            (crate::NOT_ASKED, refused(note))
        }
    })
}

/// What a site's robots.txt says, read.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) until: UnixMs,
    pub(crate) status: u16,
    pub(crate) standing: Standing,
}

#[cfg(test)]
mod tests {
    use malla_queue::{Kind, LeaseToken, Priority, RetryDelays, State, TaskId};

    use super::*;
    use crate::{PAGE, PackedBody};

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    fn rules() -> Rules {
        Rules { agent: "MallaBot".into(), gap_ms: 1_000, fresh_for: Duration::from_secs(3_600) }
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> Answer {
        Answer {
            status,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: PackedBody::default(),
            trouble: None,
            took_ms: 20,
        }
    }

    fn troubled(status: u16, what: TroubleKind) -> Answer {
        Answer { trouble: Some(Trouble { what, note: "no".into() }), ..answer(status, &[]) }
    }

    fn page(url: &str) -> PageTask {
        PageTask::new(PageUrl::parse(url).expect("a URL"))
    }

    fn leased(failures: u32, task: &PageTask) -> Leased {
        Leased {
            token: LeaseToken { task: TaskId(1), nonce: 1 },
            lane: task.url.site().lane(),
            kind: Kind::new(PAGE),
            group: None,
            priority: Priority::Normal,
            payload: task.to_payload(),
            retry: RetryDelays::seconds([1, 5]),
            failures,
            started_at: NOW,
            expires_at: NOW,
            holder: "device:1".into(),
            awaited: true,
        }
    }

    fn settle_after(failures: u32, task: &PageTask, answer: Answer) -> Settled {
        let (leased, rules) = (leased(failures, task), rules());
        let case =
            Case { leased: &leased, task, gap_ms: 1_000, quiet_ms: 300, now: NOW, device: Some("pi"), rules: &rules };
        case.settle(answer, None)
    }

    fn settle(task: &PageTask, answer: Answer) -> Settled {
        settle_after(0, task, answer)
    }

    const URL: &str = "https://example.org/a";

    #[test]
    fn an_answer_is_told_and_only_a_whole_200_is_shelved() {
        for (answer, shelved) in [
            (answer(200, &[]), true),
            (answer(200, &[("cache-control", "no-store")]), false),
            (answer(404, &[]), false),
            (troubled(200, TroubleKind::BrokeOff), false),
        ] {
            let settled = settle(&page(URL), answer);
            let Settlement::Page { shelf, .. } = settled.outcome else { panic!("not told: {settled:?}") };
            assert_eq!(shelf.is_some(), shelved);
            assert_eq!(settled.ending.state, State::Succeeded);
            assert_eq!(settled.ending.lane_rest_until, Some(UnixMs(NOW.0 + 700)), "what is left of the gap");
        }
    }

    #[test]
    fn a_site_whose_request_was_cut_off_rests_a_little_longer() {
        let task = &page(URL);
        let (leased, rules) = (leased(0, task), rules());
        for (quiet_ms, rest_ms) in [(300, Some(1_700)), (0, Some(2_000)), (1_000, None)] {
            let case =
                Case { leased: &leased, task, gap_ms: 1_000, quiet_ms, now: NOW, device: Some("pi"), rules: &rules };
            let until = rest_ms.map(|ms| NOW.plus(Duration::from_millis(ms)));
            assert_eq!(case.release("bye").ending.lane_rest_until, until, "after {quiet_ms} ms");
        }
    }

    #[test]
    fn a_site_that_gives_no_answer_or_pushes_back_is_asked_again_and_told_in_the_end() {
        for bad in [
            troubled(NO_ANSWER, TroubleKind::NoConnection),
            troubled(NO_ANSWER, TroubleKind::TimedOut),
            answer(429, &[]),
            answer(503, &[("retry-after", "7")]),
        ] {
            let first = settle_after(0, &page(URL), bad.clone());
            assert_eq!((first.ending.state, &first.outcome), (State::Queued, &Settlement::Open), "{bad:?}");
            let last = settle_after(if bad.status == NO_ANSWER { 1 } else { 2 }, &page(URL), bad.clone());
            assert!(matches!(last.outcome, Settlement::Page { .. }), "{bad:?}");
        }
        let definite = settle(&page(URL), troubled(NO_ANSWER, TroubleKind::NoAddress));
        assert!(matches!(definite.outcome, Settlement::Page { page: NewPage { status: NO_ANSWER, .. }, .. }));
        let waits = settle(&page(URL), answer(503, &[("retry-after", "7")])).ending;
        assert_eq!(waits.run_at, Some(UnixMs(NOW.0 + 7_000)));
    }

    #[test]
    fn redirects_lead_to_another_task_until_there_are_too_many() {
        let moved = settle(&page(URL), answer(302, &[("location", "//other.example/b")])).outcome;
        let Settlement::Moved { to } = moved else { panic!("{moved:?}") };
        assert_eq!((to.url.as_str(), to.hops), ("https://other.example/b", 1));
        let tired = PageTask { hops: HOPS_MAX, ..page(URL) };
        for (task, location, what) in
            [(&tired, "/c", TroubleKind::TooManyRedirects), (&page(URL), "ftp://example.org/", TroubleKind::Refused)]
        {
            let told = settle(task, answer(302, &[("location", location)])).outcome;
            let Settlement::Page { page, .. } = told else { panic!("{told:?}") };
            assert_eq!((page.status, page.trouble.map(|trouble| trouble.what)), (302, Some(what)));
        }
        let nowhere = settle(&page(URL), answer(302, &[])).outcome;
        assert!(matches!(nowhere, Settlement::Page { .. }));
    }

    #[test]
    fn unchanged_counts_only_if_it_was_asked() {
        let based = PageTask { base: Some(crate::PageId(TaskId(9))), ..page(URL) };
        let settled = settle(&based, answer(304, &[("cache-control", "max-age=60")])).outcome;
        let Settlement::Unchanged { renewal, .. } = settled else { panic!("{settled:?}") };
        assert_eq!((renewal.at, renewal.took_ms), (NOW, 20));
        assert_eq!(renewal.of(&[]).1.fresh_until, UnixMs(NOW.0 + 60_000 - 20), "{renewal:?}");
        let unasked = settle(&page(URL), answer(304, &[])).outcome;
        assert!(matches!(unasked, Settlement::Page { page: NewPage { trouble: Some(_), .. }, shelf: None, .. }));
    }

    #[test]
    fn a_robots_txt_is_kept_with_the_gap_it_asks_for() {
        let site = PageUrl::parse(URL).expect("a URL").site();
        let task = PageTask::robots(&site);
        let kept = settle(&task, answer(404, &[])).outcome;
        assert!(matches!(&kept, Settlement::Robots { of, gap_ms: 1_000, .. } if *of == site), "{kept:?}");
        let moved = settle(&task, answer(301, &[("location", "https://www.example.org/robots.txt")])).outcome;
        let Settlement::Moved { to } = moved else { panic!("{moved:?}") };
        assert_eq!(to.robots_of.as_deref(), Some("https://example.org"));
        let nowhere = settle_after(1, &task, troubled(NO_ANSWER, TroubleKind::NoConnection)).outcome;
        assert!(matches!(nowhere, Settlement::Robots { robots: KnownRobots { status: NO_ANSWER, .. }, .. }));
    }
}
