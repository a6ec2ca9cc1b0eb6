//! A step of a tour: what was read, what it leads to, what is asked for next, in one transaction.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Object, Transaction};
use malla_fetch::tour::{Found, Hand, Step, Stepped, Tour, TourState};
use malla_fetch::{PageUrl, UrlKey, Wanted};
use malla_queue::{Error, Priority, UnixMs};
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::fetch::begin;
use super::fetch_jobs as jobs;
use super::pool::Broken;
use super::tour::{add_events, lock, write};
use super::wiki_commit::held;
use super::{finish, point, sql};
use crate::fetch_rows::{ANSWERS, JobRow, plain};
use crate::taken::Taken;
use crate::tour_rows::{self as rows, PINS, Room, SITES_A_STEP, asking, beyond, int, pack};

/// The locks are taken in order: the tour, lanes, its job.
pub(super) async fn step(client: &mut Object, step: &Step, now: UnixMs) -> Result<Roused<Stepped>, Broken> {
    let tx = begin(client).await?;
    let gone = || Error::NotFound(format!("tour {}", step.id));
    let mut tour = lock(&tx, step.id).await?.ok_or_else(gone)?;
    let taken = held(&tx, step.token).await?;
    taken.answer(step.token.task)?;
    if taken == Taken::Before {
        return Ok((Stepped { tour, handed: 0, ended: true }, Vec::new()));
    }
    if tour.state != TourState::Running {
        let finished = finish::end(&tx, &[(step.token, step.ending_if_over.clone())], now).await?;
        tx.commit().await?;
        return Ok((Stepped { tour, handed: 0, ended: true }, finished.rouse));
    }
    if tour.read != step.read.0 {
        return Err(Error::Internal("a tour was read by two at once".into()).into());
    }
    tour.read = step.read.1;
    tour.progress.clone_from(&step.progress);
    tour.weight = step.weight;
    answered(&tx, step).await?;
    if rows::forgets_answers(&tour, step) {
        tx.execute(&tx.prepare_cached(sql!("tour/drop_read")).await?, &[&step.id.0.0, &int(tour.read)]).await?;
    }
    admit(&tx, &mut tour, &step.found, step.found_max).await?;
    let (mut handed, mut rouse) = (0, Vec::new());
    if let Some(hand) = &step.hand {
        let (next, sitemaps) = next(&tx, &tour, hand, step.pending_max).await?;
        handed = next.len() as u64;
        rouse.extend(ask(&tx, &mut tour, next, step, Priority::Low, now).await?);
        tour.sitemaps += sitemaps;
        tour.waiting -= handed;
    }
    if !step.wanted.is_empty() {
        handed += step.wanted.len() as u64;
        rouse.extend(ask(&tx, &mut tour, step.wanted.clone(), step, Priority::Normal, now).await?);
    }
    if !step.pins.is_empty() {
        handed += step.pins.len() as u64;
        pin(&tx, &mut tour, step).await?;
        rouse.extend([PINS, malla_fetch::ROOM].map(str::to_owned));
    }
    keep_versions(&tx, &mut tour, step).await?;
    if let Some(ending) = &step.ending {
        let finished = finish::end(&tx, &[(step.token, ending.clone())], now).await?;
        finished.taken.first().copied().unwrap_or(Taken::Lost).answer(step.token.task)?;
        rouse.extend(finished.rouse);
    }
    add_events(&tx, step.token.task, &step.events, now).await?;
    if let Some((state, note)) = &step.end {
        rows::end(&mut tour, *state, note.clone(), now);
        if let Some(mut job) = jobs::lock(&tx, tour.id.0.0).await? {
            job.total = job.done;
            job.finished_at = Some(now.0);
            write_job(&tx, &job).await?;
        }
        rouse.push(ANSWERS.to_owned());
        add_events(&tx, step.token.task, tour.finished_event().as_slice(), now).await?;
    }
    write(&tx, &tour).await?;
    point("tour.step", "inside");
    tx.commit().await?;
    Ok((Stepped { tour, handed, ended: step.ending.is_some() }, rouse))
}

async fn answered(tx: &Transaction<'_>, step: &Step) -> Result<(), Broken> {
    if step.answered.is_empty() {
        return Ok(());
    }
    let sites: Vec<&str> = step.answered.iter().map(|(site, _)| site.as_str()).collect();
    let counts: Vec<i64> = step.answered.iter().map(|(_, count)| int(*count)).collect();
    let statement = tx.prepare_cached(sql!("tour/answered")).await?;
    tx.execute(&statement, &[&step.id.0.0, &sites, &counts]).await?;
    Ok(())
}

/// Takes in what was found and is new.
pub(super) async fn admit(
    tx: &Transaction<'_>,
    tour: &mut Tour,
    found: &[Found],
    found_max: u64,
) -> Result<(), Broken> {
    if found.is_empty() {
        return Ok(());
    }
    let id = tour.id.0.0;
    let keys: Vec<UrlKey> = found.iter().map(Found::key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("tour/known")).await?, &[&id, &keys]).await?;
    let key_of = |bytes: &[u8]| bytes.try_into().ok().map(UrlKey);
    let known: HashSet<UrlKey> = rows.iter().filter_map(|row| key_of(row.get(0))).collect();
    let shapes: HashSet<UrlKey> = found.iter().filter_map(|found| found.shape).map(|(shape, _)| shape).collect();
    let shapes: Vec<&[u8]> = shapes.iter().map(|shape| &shape.0[..]).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("tour/shapes")).await?, &[&id, &shapes]).await?;
    let shapes: HashMap<UrlKey, i64> = rows.iter().filter_map(|row| Some((key_of(row.get(0))?, row.get(1)))).collect();
    let admitted = rows::admit(tour, found, found_max, &known, &shapes);
    if admitted.urls.is_empty() {
        return Ok(());
    }
    let keys: Vec<UrlKey> = admitted.urls.iter().map(|(found, _)| found.key()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
    let sites: Vec<String> = admitted.urls.iter().map(|(found, _)| found.site().to_string()).collect();
    let urls: Vec<&str> = admitted.urls.iter().map(|(found, _)| found.url.as_str()).collect();
    let depths: Vec<i32> =
        admitted.urls.iter().map(|(found, _)| i32::try_from(found.depth).unwrap_or(i32::MAX)).collect();
    let sitemaps: Vec<bool> = admitted.urls.iter().map(|(found, _)| found.sitemap).collect();
    let ns: Vec<i64> = admitted.urls.iter().map(|(_, n)| *n).collect();
    let statement = tx.prepare_cached(sql!("tour/add_urls")).await?;
    let row: [&(dyn ToSql + Sync); 7] = [&id, &keys, &sites, &urls, &depths, &sitemaps, &ns];
    tx.execute(&statement, &row).await?;
    let (sites, more): (Vec<&str>, Vec<i64>) = admitted.sites.iter().map(|(site, more)| (site.as_str(), *more)).unzip();
    tx.execute(&tx.prepare_cached(sql!("tour/add_to_sites")).await?, &[&id, &sites, &more]).await?;
    let (shapes, ns): (Vec<&[u8]>, Vec<i64>) = admitted.shapes.iter().map(|(shape, n)| (&shape.0[..], *n)).unzip();
    tx.execute(&tx.prepare_cached(sql!("tour/count_shapes")).await?, &[&id, &shapes, &ns]).await?;
    Ok(())
}

/// Takes what is next out of what was found, from many sites in turn. Returns it with the number of sitemaps among it.
async fn next(tx: &Transaction<'_>, tour: &Tour, hand: &Hand, pending_max: u64) -> Result<(Vec<Wanted>, u64), Broken> {
    let none: Vec<&str> = Vec::new();
    let waiting = tx.query_one(&tx.prepare_cached(sql!("fetch/waiting")).await?, &[&none]).await?.get(0);
    let mut room = Room::new(tour, hand, waiting, pending_max);
    let (mut next, mut sitemaps) = (Vec::new(), 0);
    if room.urls == 0 {
        return Ok((next, sitemaps));
    }
    let (id, per_site) = (tour.id.0.0, int(hand.per_site_max));
    let sites = tx.query(&tx.prepare_cached(sql!("tour/sites")).await?, &[&id, &per_site, &SITES_A_STEP]).await?;
    let (mut keys, mut asked, mut taken): (Vec<Vec<u8>>, Vec<String>, Vec<i64>) = Default::default();
    for row in sites {
        let (site, under_way): (String, i64) = (row.get(0), row.get(1));
        let most = int(hand.per_site_max.saturating_sub(rows::count(under_way)).min(room.urls));
        let statement = tx.prepare_cached(sql!("tour/next_urls")).await?;
        let before = next.len();
        for row in tx.query(&statement, &[&id, &site, &most]).await? {
            let (url, sitemap): (String, bool) = (row.get(1), row.get(2));
            if !sitemap && room.pages == 0 {
                continue;
            }
            let Ok(page) = PageUrl::parse(&url) else { continue };
            keys.push(row.get(0));
            next.push(Wanted::Page { text: plain(&url).into_owned(), url: page, cached: hand.cached });
            room.urls -= 1;
            if sitemap { sitemaps += 1 } else { room.pages -= 1 }
        }
        if next.len() > before {
            asked.push(site);
            taken.push(int((next.len() - before) as u64));
        }
    }
    tx.execute(&tx.prepare_cached(sql!("tour/asked")).await?, &[&id, &keys]).await?;
    let turn = int(tour.asked + next.len() as u64);
    tx.execute(&tx.prepare_cached(sql!("tour/asked_of_sites")).await?, &[&id, &asked, &taken, &turn]).await?;
    Ok((next, sitemaps))
}

/// Asks for pages in the name of the tour's job. Returns the rooms to rouse.
async fn ask(
    tx: &Transaction<'_>,
    tour: &mut Tour,
    wanted: Vec<Wanted>,
    step: &Step,
    priority: Priority,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    tour.asked += wanted.len() as u64;
    let new = asking(tour, wanted, step.lanes);
    let (job, rouse) = jobs::hand(tx, tour.id.0.0, &new, (priority, step.token.task), now).await?;
    write_job(tx, &job).await?;
    Ok(rouse)
}

/// Lets pages wait for devices of their places.
async fn pin(tx: &Transaction<'_>, tour: &mut Tour, step: &Step) -> Result<(), Broken> {
    let lost = || Error::Internal("a tour lost its job".into());
    let mut job = jobs::lock(tx, tour.id.0.0).await?.ok_or_else(lost)?;
    for pin in &step.pins {
        let (label, url) = (pin.label(), pin.url.as_str());
        let statement = tx.prepare_cached(sql!("tour/add_pin")).await?;
        tx.execute(&statement, &[&job.id, &job.total, &pin.place, &label, &url, &pin.deadline.0]).await?;
        job.total += 1;
    }
    tour.asked += step.pins.len() as u64;
    write_job(tx, &job).await
}

pub(super) async fn write_job(tx: &Transaction<'_>, job: &JobRow) -> Result<(), Broken> {
    let JobRow { id, total, done, good, cached, finished_at, .. } = job;
    let statement = tx.prepare_cached(sql!("tour/write_job")).await?;
    tx.execute(&statement, &[id, total, done, good, cached, finished_at]).await?;
    Ok(())
}

async fn keep_versions(tx: &Transaction<'_>, tour: &mut Tour, step: &Step) -> Result<(), Broken> {
    if step.versions.is_empty() {
        return Ok(());
    }
    for new in &step.versions {
        tour.versions += 1;
        let (n, bytes, packed) = (int(tour.versions), int(new.text.len() as u64), pack(&new.text));
        let statement = tx.prepare_cached(sql!("tour/add_version")).await?;
        tx.execute(&statement, &[&step.id.0.0, &n, &new.at.0, &new.facts, &packed, &bytes]).await?;
    }
    let rows = tx.query(&tx.prepare_cached(sql!("tour/sizes")).await?, &[&step.id.0.0]).await?;
    let sizes: Vec<(i64, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if let Some(up_to) = beyond(&sizes, step.versions_kept, step.versions_bytes_max) {
        tx.execute(&tx.prepare_cached(sql!("tour/drop_versions")).await?, &[&step.id.0.0, &up_to]).await?;
    }
    Ok(())
}
