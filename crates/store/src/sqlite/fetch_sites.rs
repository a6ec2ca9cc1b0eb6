//! Sites: which may be asked now, and what is known of them.

use malla_fetch::{KnownRobots, KnownSite, PageTask, Ready, Site, SiteState};
use malla_queue::{GroupId, Kind, LaneKey, LaneSettings, LeaseToken, Leased, Priority, Result, TaskId, UnixMs};
use rusqlite::{Connection, Row};

use super::submit::submit_one;
use super::tx::Tx;
use super::{many, sql};
use crate::codes::read_retry;
use crate::fetch_rows::{site_state, unpack_robots};

pub(super) fn ready(conn: &Connection, limit: usize) -> Result<Vec<Ready>> {
    let rows = many(conn, sql!("fetch/ready"), (limit,), |row| {
        let Some(site) = Site::of_lane(&LaneKey::trusted(row.get(0)?)) else { return Ok(None) };
        let ready = Ready {
            site,
            since: UnixMs(row.get(1)?),
            gap_ms: row.get(2)?,
            ceiling: row.get(3)?,
            state: SiteState::default(),
            waiting: row.get(6)?,
            robots_until: row.get::<_, Option<i64>>(5)?.map(UnixMs),
        };
        Ok(Some((ready, row.get::<_, Option<String>>(4)?)))
    })?;
    let read = |(ready, state): (Ready, Option<String>)| Ok(Ready { state: site_state(state.as_deref())?, ..ready });
    rows.into_iter().flatten().map(read).collect()
}

pub(super) fn want_robots(tx: &mut Tx<'_>, sites: &[Site], lanes: LaneSettings) -> Result<()> {
    sites.iter().try_for_each(|site| submit_one(tx, &PageTask::robots(site).to_task(lanes), None).map(drop))
}

pub(super) fn robots(conn: &Connection, site: &Site) -> Result<Option<KnownRobots>> {
    let found = many(conn, sql!("fetch/robots"), (site.lane().as_str(),), |row| read_robots(row, 0))?.pop();
    found.flatten().map(unpack).transpose()
}

fn read_robots(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<KnownRobots>> {
    let Some(status) = row.get::<_, Option<u16>>(at)? else { return Ok(None) };
    let text = row.get::<_, Option<Vec<u8>>>(at + 1)?.unwrap_or_default();
    Ok(Some(KnownRobots { status, text, fetched_at: UnixMs(row.get(at + 2)?), until: UnixMs(row.get(at + 3)?) }))
}

fn unpack(known: KnownRobots) -> Result<KnownRobots> {
    Ok(KnownRobots { text: unpack_robots(&known.text)?, ..known })
}

pub(super) fn site(conn: &Connection, site: &Site) -> Result<Option<KnownSite>> {
    let found = many(conn, sql!("fetch/site"), (site.lane().as_str(),), |row| {
        Ok((row.get::<_, String>(1)?, read_robots(row, 2)?))
    })?;
    let Some((state, robots)) = found.into_iter().next() else { return Ok(None) };
    let robots = robots.map(unpack).transpose()?;
    Ok(Some(KnownSite { site: site.clone(), state: site_state(Some(&state))?, robots }))
}

pub(super) fn leased(conn: &Connection, tokens: &[LeaseToken]) -> Result<Vec<Leased>> {
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens {
        let found = many(conn, sql!("fetch/leased"), (token.task.0, token.nonce), |row| {
            let retry: Option<String> = row.get(7)?;
            Ok((read_leased(row)?, retry))
        })?;
        for (leased, retry) in found {
            all.push(Leased { retry: read_retry(retry.as_deref())?, ..leased });
        }
    }
    Ok(all)
}

fn read_leased(row: &Row<'_>) -> rusqlite::Result<Leased> {
    Ok(Leased {
        token: LeaseToken { task: TaskId(row.get(0)?), nonce: row.get(1)? },
        lane: LaneKey::trusted(row.get(2)?),
        kind: Kind::new(row.get::<_, String>(3)?),
        group: row.get::<_, Option<i64>>(4)?.map(GroupId),
        priority: Priority::from_rank(row.get(5)?),
        failures: row.get(6)?,
        retry: malla_queue::RetryDelays::none(),
        payload: row.get(8)?,
        started_at: UnixMs(row.get(9)?),
        expires_at: UnixMs(row.get(10)?),
        holder: row.get(11)?,
        awaited: true,
    })
}

pub(super) fn wanted(conn: &Connection, tokens: &[LeaseToken]) -> Result<Vec<LeaseToken>> {
    let mut wanted = Vec::with_capacity(tokens.len());
    for token in tokens {
        if many(conn, sql!("fetch/is_wanted"), (token.task.0,), |row| row.get(0))?.pop() == Some(true) {
            wanted.push(*token);
        }
    }
    Ok(wanted)
}
