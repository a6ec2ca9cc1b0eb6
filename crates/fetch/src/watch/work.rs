//! The visits of a watch.

use std::time::Duration;

use malla_queue::{GroupId, Result, UnixMs, Verdict};

use super::visit::{Change, Visit, changed_event, look};
use super::{Progress, WatchSpec};
use crate::tour::{NewTour, NewVersion, Step, Tour, TourKind, Turn, write};
use crate::{Answered, Wanted};

/// A page that is long in coming is looked for again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A watch on its way in.
pub fn new_watch(spec: &WatchSpec, group: Option<GroupId>, now: UnixMs) -> Result<NewTour> {
    spec.check()?;
    let progress = Progress { first_at: Some(now), ..Progress::default() };
    let weight = progress.weight(now).0;
    let (spec, progress) = (write(spec), write(&progress));
    Ok(NewTour { kind: TourKind::Watch, group, spec, progress, found: Vec::new(), weight })
}

/// One visit: asks for the page if it is due, waits for it, and plans the next.
pub(crate) async fn go(mut turn: Turn<'_>, mut tour: Tour) -> Result<Option<Verdict>> {
    loop {
        let answers = turn.answers(&tour).await?;
        if let Some(answer) = answers.last() {
            let step = visited(&turn, &tour, answer).await?;
            turn.guide.tours.step(step).await?;
            return Ok(None);
        }
        if tour.outstanding() == 0 {
            let spec: WatchSpec = tour.spec()?;
            let url = spec.page()?;
            let mut step = turn.step(&tour);
            step.wanted = vec![Wanted::Page { text: url.to_string(), url, cached: false }];
            let stepped = turn.guide.tours.step(step).await?;
            if stepped.ended {
                return Ok(None);
            }
            tour = stepped.tour;
        } else if turn.is_over() {
            return turn.give_back(&tour, LOOK_AGAIN).await;
        } else {
            turn.wait().await;
        }
    }
}

/// What the visit means: a version if there is something new, an event if that is a change, and when to come back.
async fn visited(turn: &Turn<'_>, tour: &Tour, answer: &Answered) -> Result<Step> {
    let (spec, mut progress): (WatchSpec, Progress) = (tour.spec()?, tour.progress()?);
    let now = turn.guide.clock.now();
    let page = &answer.page;
    let mut step = turn.step(tour);
    step.read.1 = answer.n;
    progress.visits += 1;
    progress.visited_at = Some(now);
    progress.status = page.status;
    match look(&spec, page)? {
        Visit::Failed(why) => {
            progress.trouble = Some(why);
            progress.failures = progress.failures.saturating_add(1);
        }
        Visit::Text { text, seen } => {
            progress.trouble = None;
            progress.failures = 0;
            if progress.seen.as_ref() != Some(&seen) {
                let before = turn.guide.tours.version(tour.id, tour.versions).await?;
                if progress.seen.is_some() {
                    progress.changed(now);
                    let (id, url) = (tour.id.to_string(), spec.page()?);
                    let texts = before.as_ref().map(|before| (before.text.as_str(), text.as_str()));
                    let change = Change {
                        url: &url,
                        status: page.status,
                        fetched_at: page.fetched_at,
                        watch: Some((&id, tour.versions, tour.versions + 1)),
                        texts,
                    };
                    step.events.push(changed_event(&change, tour.group));
                }
                progress.seen = Some(seen);
                let facts =
                    serde_json::json!({ "status": page.status, "url": page.url, "bytes": text.len() }).to_string();
                step.versions.push(NewVersion { at: page.fetched_at, facts, text });
                step.versions_kept = spec.versions;
                step.versions_bytes_max = spec.bytes;
            }
        }
    }
    step.weight = progress.weight(now).0;
    let weights = turn.guide.tours.weight(TourKind::Watch).await? - tour.weight + step.weight;
    let next = progress.next(&spec, weights, turn.guide.options.visits_per_day, now);
    progress.next_at = Some(next);
    step.progress = write(&progress);
    step.ending = Some(turn.later(next));
    Ok(step)
}
