//! The rounds of a comparison.

use std::time::Duration;

use malla_queue::{Event, GroupId, Result, Scope, UnixMs, Verdict};

use super::{CompareSpec, NewPin, Progress, Reported, place_of_device, report};
use crate::tour::{NewTour, NewVersion, Step, Tour, TourKind, TourState, Turn, write};
use crate::{Device, DeviceState};

/// Pages that are long in coming are looked for again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Reports that are kept, and their bytes.
const REPORTS: u64 = 100;
const REPORTS_BYTES_MAX: u64 = 20_000_000;
/// Answers that are read at a time.
const ANSWERS: usize = 16;

/// A comparison on its way in.
pub fn new_comparison(spec: &CompareSpec, group: Option<GroupId>) -> Result<NewTour> {
    spec.check()?;
    let (spec, progress) = (write(spec), write(&Progress::default()));
    Ok(NewTour { kind: TourKind::Compare, group, spec, progress, found: Vec::new(), weight: 0.0 })
}

pub(crate) async fn go(mut turn: Turn<'_>, mut tour: Tour) -> Result<Option<Verdict>> {
    let spec: CompareSpec = tour.spec()?;
    loop {
        if tour.outstanding() == 0 {
            let stepped = turn.guide.tours.step(begin(&turn, &tour, &spec).await?).await?;
            if stepped.ended {
                return Ok(None);
            }
            tour = stepped.tour;
            continue;
        }
        turn.mark();
        let job = turn.guide.fetch.job(&Scope::All, tour.id.job()).await?;
        if job.done >= tour.asked || job.cancelled {
            let step = conclude(&turn, &tour, &spec).await?;
            turn.guide.tours.step(step).await?;
            return Ok(None);
        }
        let progress: Progress = tour.progress()?;
        if progress.deadline.is_some_and(|deadline| deadline <= turn.guide.clock.now()) {
            turn.guide.fetch.expire_pins(tour.id.job()).await?;
        }
        if turn.is_over() {
            return turn.give_back(&tour, LOOK_AGAIN).await;
        }
        turn.wait().await;
    }
}

/// Asks for each page from each place.
async fn begin(turn: &Turn<'_>, tour: &Tour, spec: &CompareSpec) -> Result<Step> {
    let now = turn.guide.clock.now();
    let mut progress: Progress = tour.progress()?;
    let mut step = turn.step(tour);
    progress.note = None;
    progress.places = spec.countries.clone();
    if spec.countries.is_empty() {
        let devices = turn.guide.fetch.devices(&Scope::All).await?;
        progress.places = chosen(devices, spec.devices as usize, now);
        if progress.places.len() < 2 {
            let there = progress.places.len();
            progress.note = Some(format!("{there} devices are there, and a comparison needs two"));
            return Ok(ended(turn, step, spec, progress, now));
        }
    }
    let deadline = now.plus(Duration::from_secs(spec.wait_s));
    progress.deadline = Some(deadline);
    for url in spec.pages()? {
        let pin = |place: &String| NewPin { place: place.clone(), url: url.clone(), deadline };
        step.pins.extend(progress.places.iter().map(pin));
    }
    step.progress = write(&progress);
    Ok(step)
}

/// Devices at work, of as many owners as possible.
fn chosen(devices: Vec<Device>, wanted: usize, now: UnixMs) -> Vec<String> {
    let at_work = devices.into_iter().filter(|device| device.state(now) == DeviceState::Online);
    let (mut owners, mut first, mut others) = (std::collections::HashSet::new(), Vec::new(), Vec::new());
    for device in at_work {
        let place = place_of_device(device.id);
        if owners.insert(device.owner) { first.push(place) } else { others.push(place) }
    }
    first.into_iter().chain(others).take(wanted).collect()
}

/// All answers are there: what differs.
async fn conclude(turn: &Turn<'_>, tour: &Tour, spec: &CompareSpec) -> Result<Step> {
    let (now, mut progress): (UnixMs, Progress) = (turn.guide.clock.now(), tour.progress()?);
    let mut step = turn.step(tour);
    let (mut came, mut after) = (Vec::new(), tour.read);
    loop {
        let answers = turn.guide.fetch.answers(tour.id.job(), after, ANSWERS).await?;
        let Some(last) = answers.last() else { break };
        after = last.n;
        for answer in &answers {
            came.push(Reported::read(answer)?);
        }
    }
    step.read.1 = after;
    let urls = spec.pages()?;
    let work = move || report(&urls, &came, now);
    let report = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| malla_queue::Error::Internal(format!("comparing failed: {error}")))?;
    let signature = report.signature();
    let changed = progress.signature.as_ref().is_some_and(|before| *before != signature);
    progress.differing = report.differing();
    if changed {
        progress.changes += 1;
        let body = serde_json::json!({
            "comparison": tour.id.to_string(), "version": tour.versions + 1, "differing": progress.differing,
            "urls": report.urls.iter().filter(|url| url.differs).map(|url| &url.url).collect::<Vec<_>>(),
        });
        let (kind, body) = ("compare.changed".to_owned(), body.to_string().into_bytes());
        step.events.push(Event { kind, group: tour.group, body });
    }
    progress.signature = Some(signature);
    let facts = serde_json::json!({ "differing": progress.differing, "changed": changed }).to_string();
    step.versions.push(NewVersion { at: now, facts, text: write(&report) });
    step.versions_kept = REPORTS;
    step.versions_bytes_max = REPORTS_BYTES_MAX;
    Ok(ended(turn, step, spec, progress, now))
}

/// A round is over: the next one is planned, or that was all.
fn ended(turn: &Turn<'_>, mut step: Step, spec: &CompareSpec, mut progress: Progress, now: UnixMs) -> Step {
    progress.rounds += 1;
    progress.compared_at = Some(now);
    progress.deadline = None;
    if spec.every_s > 0 {
        let next = now.plus(Duration::from_secs(spec.every_s));
        progress.next_at = Some(next);
        step.ending = Some(turn.later(next));
    } else {
        let state = if step.versions.is_empty() { TourState::Failed } else { TourState::Done };
        step.end = Some((state, progress.note.clone()));
        step.ending = Some(turn.done());
    }
    step.progress = write(&progress);
    step
}
