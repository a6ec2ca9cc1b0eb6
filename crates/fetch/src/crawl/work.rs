//! The steps of a crawl: read what came, note what it leads to, ask for what is next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Error, GroupId, Result, Verdict};

use super::{Bounds, CrawlSpec, Progress, Reading};
use crate::tour::{Hand, NewTour, Step, Tour, TourKind, TourState, Turn, write};
use crate::{Answered, PageUrl, UrlKey};

/// Before so many pages came, a page is taken to have at least so many bytes.
const FEW: u64 = 20;
const PAGE_BYTES: u64 = 10_000;

/// A crawl on its way in.
pub fn new_crawl(spec: &CrawlSpec, group: Option<GroupId>) -> Result<NewTour> {
    spec.check()?;
    let (found, progress) = (spec.start()?, write(&Progress::default()));
    Ok(NewTour { kind: TourKind::Crawl, group, spec: write(spec), progress, found, weight: 0.0 })
}

/// Takes steps until the crawl is over, the turn is, or nobody wants it any more.
pub(crate) async fn go(mut turn: Turn<'_>, mut tour: Tour) -> Result<Option<Verdict>> {
    let spec: Arc<CrawlSpec> = Arc::new(tour.spec()?);
    let bounds = Arc::new(spec.bounds()?);
    let mut idle = false;
    loop {
        let answers = turn.answers(&tour).await?;
        if answers.is_empty() && idle {
            if turn.is_over() {
                return turn.give_back(&tour, Duration::ZERO).await;
            }
            turn.wait().await;
            idle = tour.outstanding() > 0 && !has_room(&turn, &spec, &tour);
            continue;
        }
        let nothing_came = answers.is_empty();
        let mut step = read(&turn, &spec, &bounds, &tour, answers).await?;
        let mut progress: Progress = serde_json::from_str(&step.progress).unwrap_or_default();
        let limited = limit_met(&spec, &tour, &progress);
        if let (true, true, Some(why)) = (nothing_came, tour.outstanding() == 0, over(&tour, limited)) {
            progress.limited_by = why.map(str::to_owned);
            step.progress = write(&progress);
            step.end = Some((TourState::Done, None));
            step.ending = Some(turn.done());
            turn.guide.tours.step(step).await?;
            return Ok(None);
        }
        step.hand = (limited != Some("bytes")).then(|| hand(&turn, &spec, &progress));
        let stepped = turn.guide.tours.step(step).await?;
        if stepped.ended {
            return Ok(None);
        }
        tour = stepped.tour;
        idle = nothing_came && stepped.handed == 0;
        if turn.is_over() {
            return turn.give_back(&tour, Duration::ZERO).await;
        }
    }
}

/// Whether more may be asked for, as far as the crawl itself goes.
fn has_room(turn: &Turn<'_>, spec: &CrawlSpec, tour: &Tour) -> bool {
    let pages = tour.asked - tour.sitemaps;
    tour.waiting > 0 && pages < spec.pages && tour.outstanding() < turn.guide.options.outstanding_max
}

/// Which limit has been met.
fn limit_met(spec: &CrawlSpec, tour: &Tour, progress: &Progress) -> Option<&'static str> {
    match () {
        () if spec.bytes > 0 && progress.bytes >= spec.bytes => Some("bytes"),
        () if tour.asked - tour.sitemaps >= spec.pages => Some("pages"),
        () => None,
    }
}

/// Whether nothing is left to ask for, and because of which limit.
fn over(tour: &Tour, limited: Option<&'static str>) -> Option<Option<&'static str>> {
    match limited {
        _ if tour.waiting == 0 => Some(None),
        Some(why) => Some(Some(why)),
        None => None,
    }
}

fn hand(turn: &Turn<'_>, spec: &CrawlSpec, progress: &Progress) -> Hand {
    let options = &turn.guide.options;
    let mut outstanding_max = options.outstanding_max;
    if spec.bytes > 0 {
        // No more than the bytes that are left allow for, going by what came so far; the first ones may mislead.
        let came = progress.pages + progress.sitemaps;
        let mean = progress.bytes / came.max(1);
        let mean = if came < FEW { mean.max(PAGE_BYTES) } else { mean.max(1) };
        let left = spec.bytes.saturating_sub(progress.bytes);
        outstanding_max = outstanding_max.min((left / mean).max(1));
    }
    Hand { outstanding_max, per_site_max: options.per_site_max, pages_max: spec.pages, cached: spec.cached }
}

/// What the answers mean, without a word to the store.
async fn read(
    turn: &Turn<'_>,
    spec: &Arc<CrawlSpec>,
    bounds: &Arc<Bounds>,
    tour: &Tour,
    answers: Vec<Answered>,
) -> Result<Step> {
    let mut step = turn.step(tour);
    if answers.is_empty() {
        return Ok(step);
    }
    let urls: Vec<PageUrl> = answers.iter().filter_map(|answer| PageUrl::parse(&answer.url).ok()).collect();
    let keys: Vec<UrlKey> = urls.iter().map(PageUrl::key).collect();
    let depths = turn.guide.tours.depths(tour.id, &keys).await?;
    let depths: HashMap<UrlKey, (u32, bool)> =
        depths.into_iter().map(|(key, depth, sitemap)| (key, (depth, sitemap))).collect();
    let mut robots = Vec::new();
    if spec.sitemaps && spec.depth > 0 {
        // The sites of the seeds are known now, and their robots.txt may name sitemaps.
        for url in urls.iter().filter(|url| depths.get(&url.key()) == Some(&(0, false))) {
            robots.extend(turn.guide.fetch.robots(&url.site()).await?.map(|known| known.text));
        }
    }
    let (spec, bounds, read, progress) = (spec.clone(), bounds.clone(), tour.read, tour.progress()?);
    let work = move || {
        let mut reading = Reading::new(&spec, &bounds, progress, read);
        for answer in &answers {
            reading.take(answer, &depths)?;
        }
        robots.iter().for_each(|text| reading.robots(text));
        Ok((reading.read_to(), reading.answered(), reading.progress, reading.found))
    };
    let done: Result<_> = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::Internal(format!("reading pages failed: {error}")))?;
    let (read_to, answered, progress, found) = done?;
    step.read.1 = read_to;
    step.answered = answered;
    step.progress = write(&progress);
    step.found = found;
    Ok(step)
}
