//! A step of a tour: what was read, what it leads to, what is asked for next, in one transaction.

use std::collections::{HashMap, HashSet};

use malla_fetch::tour::{Found, Hand, Step, Stepped, Tour, TourState};
use malla_fetch::{PageUrl, UrlKey, Wanted};
use malla_queue::{Error, Priority, Result};

use super::fetch_jobs as jobs;
use super::submit::add_events;
use super::tour::{find, write};
use super::tx::Tx;
use super::{finish, sql};
use crate::codes::Code;
use crate::fetch_rows::{ANSWERS, plain};
use crate::taken::Taken;
use crate::tour_rows::{self as rows, PINS, Room, SITES_A_STEP, asking, beyond, int, pack};

pub(super) fn step(tx: &mut Tx<'_>, step: &Step) -> Result<Stepped> {
    let taken = finish::held(tx, step.token)?;
    taken.answer(step.token.task)?;
    let gone = || Error::NotFound(format!("tour {}", step.id));
    let mut tour = find(tx.conn, step.id)?.ok_or_else(gone)?;
    if taken == Taken::Before {
        return Ok(Stepped { tour, handed: 0, ended: true });
    }
    if tour.state != TourState::Running {
        finish::end(tx, &[(step.token, step.ending_if_over.clone())])?;
        return Ok(Stepped { tour, handed: 0, ended: true });
    }
    if tour.read != step.read.0 {
        return Err(Error::Internal("a tour was read by two at once".into()));
    }
    tour.read = step.read.1;
    tour.progress.clone_from(&step.progress);
    tour.weight = step.weight;
    for (site, count) in &step.answered {
        tx.run(sql!("tour/answered"), (step.id.0.0, site.as_str(), int(*count)))?;
    }
    if rows::forgets_answers(&tour, step) {
        tx.run(sql!("tour/drop_read"), (step.id.0.0, int(tour.read)))?;
    }
    admit(tx, &mut tour, &step.found, step.found_max)?;
    let mut handed = 0;
    if let Some(hand) = &step.hand {
        let (next, sitemaps) = next(tx, &tour, hand, step.pending_max)?;
        handed = next.len() as u64;
        ask(tx, &mut tour, next, step, Priority::Low)?;
        tour.sitemaps += sitemaps;
        tour.waiting -= handed;
    }
    if !step.wanted.is_empty() {
        handed += step.wanted.len() as u64;
        ask(tx, &mut tour, step.wanted.clone(), step, Priority::Normal)?;
    }
    if !step.pins.is_empty() {
        handed += step.pins.len() as u64;
        pin(tx, &mut tour, step)?;
    }
    for new in &step.versions {
        tour.versions += 1;
        let bytes = int(new.text.len() as u64);
        let row = (step.id.0.0, int(tour.versions), new.at.0, &new.facts, pack(&new.text), bytes);
        tx.run(sql!("tour/add_version"), row)?;
    }
    if !step.versions.is_empty() {
        let sizes = tx.many(sql!("tour/sizes"), (step.id.0.0,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        if let Some(up_to) = beyond(&sizes, step.versions_kept, step.versions_bytes_max) {
            tx.run(sql!("tour/drop_versions"), (step.id.0.0, up_to))?;
        }
    }
    add_events(tx, step.token.task, &step.events)?;
    if let Some((state, note)) = &step.end {
        rows::end(&mut tour, *state, note.clone(), tx.now);
        close_job(tx, &tour)?;
        add_events(tx, step.token.task, tour.finished_event().as_slice())?;
    }
    write(tx, &tour)?;
    if let Some(ending) = &step.ending {
        finish::end(tx, &[(step.token, ending.clone())])?;
    }
    Ok(Stepped { tour, handed, ended: step.ending.is_some() })
}

/// Takes in what was found and is new.
pub(super) fn admit(tx: &mut Tx<'_>, tour: &mut Tour, found: &[Found], found_max: u64) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let id = tour.id.0.0;
    let mut known = HashSet::new();
    let mut shapes: HashMap<UrlKey, i64> = HashMap::new();
    for found in found {
        let key = found.key();
        if tx.one(sql!("tour/knows"), (id, key.0), |row| row.get(0))? == Some(true) {
            known.insert(key);
        } else if let Some((shape, _)) = found.shape
            && !shapes.contains_key(&shape)
        {
            shapes.insert(shape, tx.one(sql!("tour/shape"), (id, shape.0), |row| row.get(0))?.unwrap_or(0));
        }
    }
    let admitted = rows::admit(tour, found, found_max, &known, &shapes);
    for (found, n) in &admitted.urls {
        let (key, site) = (found.key(), found.site());
        let row = (id, key.0, site.as_str(), found.url.as_str(), found.depth, found.sitemap, n);
        tx.run(sql!("tour/add_url"), row)?;
    }
    for (site, more) in &admitted.sites {
        tx.run(sql!("tour/add_to_site"), (id, site.as_str(), more))?;
    }
    for (shape, n) in &admitted.shapes {
        tx.run(sql!("tour/count_shape"), (id, shape.0, n))?;
    }
    Ok(())
}

/// Takes what is next out of what was found, from many sites in turn. Returns it with the number of sitemaps among it.
fn next(tx: &mut Tx<'_>, tour: &Tour, hand: &Hand, pending_max: u64) -> Result<(Vec<Wanted>, u64)> {
    let written: i64 = tx.one(sql!("fetch/waiting"), (), |row| row.get(0))?.unwrap_or(0);
    let waiting = written + tx.unwritten_of(malla_fetch::PAGE, Code::Open);
    let mut room = Room::new(tour, hand, waiting, pending_max);
    let (mut next, mut sitemaps) = (Vec::new(), 0);
    if room.urls == 0 {
        return Ok((next, sitemaps));
    }
    let id = tour.id.0.0;
    let sites: Vec<(String, i64)> =
        tx.many(sql!("tour/sites"), (id, int(hand.per_site_max), SITES_A_STEP), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (site, under_way) in sites {
        let most = (hand.per_site_max.saturating_sub(rows::count(under_way))).min(room.urls);
        let urls: Vec<([u8; 16], String, bool)> =
            tx.many(sql!("tour/next_urls"), (id, &site, int(most)), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut taken = 0;
        for (key, url, sitemap) in urls {
            if !sitemap && room.pages == 0 {
                continue;
            }
            let Ok(page) = PageUrl::parse(&url) else { continue };
            tx.run(sql!("tour/asked"), (id, key))?;
            next.push(Wanted::Page { text: plain(&url).into_owned(), url: page, cached: hand.cached });
            room.urls -= 1;
            taken += 1;
            if sitemap { sitemaps += 1 } else { room.pages -= 1 }
        }
        if taken > 0 {
            tx.run(sql!("tour/asked_of_site"), (id, &site, taken, int(tour.asked + next.len() as u64)))?;
        }
    }
    Ok((next, sitemaps))
}

/// Asks for pages in the name of the tour's job.
fn ask(tx: &mut Tx<'_>, tour: &mut Tour, wanted: Vec<Wanted>, step: &Step, priority: Priority) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let Some(mut job) = jobs::find(tx.conn, tour.id.0.0)? else {
        return Err(Error::Internal("a tour lost its job".into()));
    };
    tour.asked += wanted.len() as u64;
    let new = asking(tour, wanted, step.lanes);
    jobs::hand(tx, &mut job, &new, priority)?;
    write_job(tx, &job)
}

/// Lets pages wait for devices of their places.
fn pin(tx: &mut Tx<'_>, tour: &mut Tour, step: &Step) -> Result<()> {
    let lost = || Error::Internal("a tour lost its job".into());
    let mut job = jobs::find(tx.conn, tour.id.0.0)?.ok_or_else(lost)?;
    for pin in &step.pins {
        let row = (job.id, job.total, &pin.place, pin.label(), pin.url.as_str(), pin.deadline.0);
        tx.run(sql!("tour/add_pin"), row)?;
        job.total += 1;
    }
    tour.asked += step.pins.len() as u64;
    tx.rouse(PINS);
    tx.rouse(malla_fetch::ROOM);
    write_job(tx, &job)
}

/// What the job waited for besides its pages is over.
fn close_job(tx: &mut Tx<'_>, tour: &Tour) -> Result<()> {
    let Some(mut job) = jobs::find(tx.conn, tour.id.0.0)? else { return Ok(()) };
    job.total = job.done;
    job.finished_at = Some(tx.now.0);
    tx.rouse(ANSWERS);
    write_job(tx, &job)
}

fn write_job(tx: &Tx<'_>, job: &crate::fetch_rows::JobRow) -> Result<()> {
    tx.run(sql!("tour/write_job"), (job.id, job.total, job.done, job.good, job.cached, job.finished_at))?;
    Ok(())
}
