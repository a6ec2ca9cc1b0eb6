//! Pages that wait for a device of a certain place.

use malla_fetch::{JobId, NOT_ASKED, NewPage, PageTask, PageUrl, Pinned, Site};
use malla_queue::{LaneSettings, Result, UnixMs};
use rusqlite::Connection;

use super::fetch_jobs as jobs;
use super::fetch_pages::add_page;
use super::submit::submit_one;
use super::tx::Tx;
use super::{lanes, many, sql};
use crate::tour_rows::nobody_there;

pub(super) fn places(conn: &Connection) -> Result<Vec<String>> {
    many(conn, sql!("tour/pinned_places"), (), |row| row.get(0))
}

/// Puts what waits for these places into the lanes of its sites.
pub(super) fn take(tx: &mut Tx<'_>, places: &[String], settings: LaneSettings, limit: usize) -> Result<Vec<Site>> {
    let mut sites = Vec::new();
    for place in places {
        type Row = (i64, i64, String, String, i64);
        let rows: Vec<Row> = tx.many(sql!("tour/pins_of_place"), (place, limit), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        for (job, seq, label, url, deadline) in rows {
            let Ok(url) = PageUrl::parse(&url) else { continue };
            // While the site is being asked, others may come first: its pages stay apart.
            let free = |found: lanes::Found| found.state.running == 0 && found.state.next_start_at <= tx.now.0;
            if !lanes::find(tx, &url.site().lane())?.is_none_or(free) {
                continue;
            }
            tx.run(sql!("tour/drop_pin"), (job, seq))?;
            let pin = Some(Pinned { place: place.clone(), deadline: UnixMs(deadline) });
            let site = url.site();
            let task = PageTask { pin, ..PageTask::new(url) }.to_task(settings);
            let task = submit_one(tx, &task, None)?.id;
            tx.run(sql!("fetch/add_wish"), (task.0, job, seq, label))?;
            sites.push(site);
        }
    }
    Ok(sites)
}

/// Answers for what still waits.
pub(super) fn expire(tx: &mut Tx<'_>, id: JobId) -> Result<u64> {
    let rows: Vec<(i64, String, String, String)> =
        tx.many(sql!("tour/pins_of_job"), (id.0.0,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let Some(mut job) = jobs::find(tx.conn, id.0.0)?.filter(|_| !rows.is_empty()) else { return Ok(0) };
    for (seq, place, label, url) in &rows {
        tx.run(sql!("tour/drop_pin"), (id.0.0, seq))?;
        let page = NewPage::not_asked(url.clone(), nobody_there(place), tx.now);
        let page = add_page(tx, &page, None)?;
        jobs::answer(tx, &mut job, label, page.id, NOT_ASKED, false)?;
    }
    jobs::write(tx, &job)?;
    Ok(rows.len() as u64)
}
