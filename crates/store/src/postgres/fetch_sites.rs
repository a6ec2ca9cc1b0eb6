//! Sites: which may be asked now, what is known of them, and the tasks of theirs that are leased.

use std::collections::{BTreeMap, HashMap};

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::{KnownRobots, KnownSite, PageTask, Ready, Site};
use malla_queue::{
    GroupId, Kind, LaneKey, LaneSettings, LeaseToken, Leased, NewTask, Priority, Result, TaskId, UnixMs,
};
use tokio_postgres::Row;

use super::fetch::begin;
use super::lease::UNFLUSHED;
use super::pool::Broken;
use super::sql;
use super::submit::Columns;
use crate::codes::read_retry;
use crate::fetch_paces::{LanePace, Lesson, Pace};
use crate::fetch_rows::{pack_robots, site_state, to_json, unpack_robots};

pub(super) async fn ready(client: &impl GenericClient, limit: usize) -> Result<Vec<Ready>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(&client.prepare_cached(sql!("fetch/ready")).await?, &[&most]).await?;
    let read = |row: &Row| {
        let Some(site) = Site::of_lane(&LaneKey::trusted(row.get(0))) else { return Ok(None) };
        Ok(Some(Ready {
            site,
            since: UnixMs(row.get(1)),
            gap_ms: u64::try_from(row.get::<_, i64>(2)).unwrap_or(0),
            ceiling: u32::try_from(row.get::<_, i64>(3)).unwrap_or(1),
            state: site_state(row.get(4))?,
            waiting: u64::try_from(row.get::<_, i64>(6)).unwrap_or(0),
            robots_until: row.get::<_, Option<i64>>(5).map(UnixMs),
        }))
    };
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Returns the rooms to rouse.
pub(super) async fn want_robots(
    client: &mut Object,
    sites: &[Site],
    lanes: LaneSettings,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    let tasks: Vec<NewTask> = sites.iter().map(|site| PageTask::robots(site).to_task(lanes)).collect();
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let mut columns = Columns::default();
    tasks.iter().for_each(|task| columns.push(task, None, now));
    let tx = begin(client).await?;
    tx.batch_execute(UNFLUSHED).await?;
    let (_, rouse) = columns.submit(&tx, now, None).await?;
    tx.commit().await?;
    Ok(rouse)
}

pub(super) async fn site(client: &impl GenericClient, site: &Site) -> Result<Option<KnownSite>, Broken> {
    let statement = client.prepare_cached(sql!("fetch/site")).await?;
    let Some(row) = client.query_opt(&statement, &[&site.lane().as_str()]).await? else { return Ok(None) };
    let robots = match row.get::<_, Option<i32>>(1) {
        Some(status) => Some(KnownRobots {
            status: u16::try_from(status).unwrap_or(0),
            text: unpack_robots(row.get::<_, Option<&[u8]>>(2).unwrap_or_default())?,
            fetched_at: UnixMs(row.get(3)),
            until: UnixMs(row.get(4)),
        }),
        None => None,
    };
    Ok(Some(KnownSite { site: site.clone(), state: site_state(row.get(0))?, robots }))
}

/// The tasks behind these leases, each with the gap of its lane.
pub(super) async fn leased(client: &impl GenericClient, tokens: &[LeaseToken]) -> Result<Vec<(Leased, i64)>, Broken> {
    let (tasks, nonces): (Vec<i64>, Vec<i64>) = tokens.iter().map(|token| (token.task.0, token.nonce)).unzip();
    let rows = client.query(&client.prepare_cached(sql!("fetch/leased")).await?, &[&tasks, &nonces]).await?;
    rows.iter().map(|row| Ok((read_leased(row)?, row.get(12)))).collect()
}

fn read_leased(row: &Row) -> Result<Leased, Broken> {
    Ok(Leased {
        token: LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) },
        lane: LaneKey::trusted(row.get(2)),
        kind: Kind::new(row.get::<_, String>(3)),
        group: row.get::<_, Option<i64>>(4).map(GroupId),
        priority: Priority::from_rank(row.get(5)),
        failures: u32::try_from(row.get::<_, i32>(6)).unwrap_or(0),
        retry: read_retry(row.get(7))?,
        payload: row.get(8),
        started_at: UnixMs(row.get(9)),
        expires_at: UnixMs(row.get(10)),
        holder: row.get(11),
        awaited: true,
    })
}

pub(super) async fn wanted(client: &impl GenericClient, tokens: &[LeaseToken]) -> Result<Vec<LeaseToken>, Broken> {
    let tasks: Vec<i64> = tokens.iter().map(|token| token.task.0).collect();
    let rows = client.query(&client.prepare_cached(sql!("fetch/wanted")).await?, &[&tasks]).await?;
    let token = |row: &Row| usize::try_from(row.get::<_, i64>(0) - 1).ok().and_then(|at| tokens.get(at).copied());
    Ok(rows.iter().filter_map(token).collect())
}

/// Learns from what was told of sites, and tells their lanes, which are locked already.
pub(super) async fn learn(
    tx: &Transaction<'_>,
    lessons: &BTreeMap<Site, Vec<Lesson<'_>>>,
    now: UnixMs,
) -> Result<(), Broken> {
    if lessons.is_empty() {
        return Ok(());
    }
    let by_key: HashMap<LaneKey, &Vec<Lesson<'_>>> =
        lessons.iter().map(|(site, lessons)| (site.lane(), lessons)).collect();
    let keys: Vec<&str> = by_key.keys().map(LaneKey::as_str).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/paces")).await?, &[&keys]).await?;
    let mut paces = Vec::with_capacity(rows.len());
    let mut lanes = Vec::new();
    for row in &rows {
        let key = LaneKey::trusted(row.get(0));
        let lane = row.get::<_, Option<i64>>(2).map(|id| LanePace {
            id,
            gap_ms: row.get(3),
            least_gap_ms: row.get(4),
            next_start_at: row.get(5),
        });
        let mut pace = Pace::new(site_state(row.get(1))?, lane);
        if let Some(lessons) = by_key.get(&key) {
            pace.learn(lessons, now);
        }
        lanes.extend(pace.lane.filter(|now| lane != Some(*now)));
        paces.push((key, pace));
    }
    write_sites(tx, &paces).await?;
    write_lanes(tx, &lanes, now).await
}

async fn write_sites(tx: &Transaction<'_>, paces: &[(LaneKey, Pace<'_>)]) -> Result<(), Broken> {
    let keys: Vec<&str> = paces.iter().map(|(key, _)| key.as_str()).collect();
    let states: Vec<String> = paces.iter().map(|(_, pace)| to_json(&pace.state)).collect();
    tx.execute(&tx.prepare_cached(sql!("fetch/write_states")).await?, &[&keys, &states]).await?;
    let told = paces.iter().filter_map(|(key, pace)| pace.robots.map(|robots| (key.as_str(), robots)));
    let (keys, robots): (Vec<&str>, Vec<&KnownRobots>) = told.unzip();
    if keys.is_empty() {
        return Ok(());
    }
    let statuses: Vec<i32> = robots.iter().map(|robots| i32::from(robots.status)).collect();
    let packed: Vec<Vec<u8>> = robots.iter().map(|robots| pack_robots(&robots.text)).collect();
    let fetched: Vec<i64> = robots.iter().map(|robots| robots.fetched_at.0).collect();
    let until: Vec<i64> = robots.iter().map(|robots| robots.until.0).collect();
    let statement = tx.prepare_cached(sql!("fetch/write_robots")).await?;
    tx.execute(&statement, &[&keys, &statuses, &packed, &fetched, &until]).await?;
    Ok(())
}

async fn write_lanes(tx: &Transaction<'_>, lanes: &[LanePace], now: UnixMs) -> Result<(), Broken> {
    if lanes.is_empty() {
        return Ok(());
    }
    let of = |read: fn(&LanePace) -> i64| lanes.iter().map(read).collect::<Vec<i64>>();
    let (ids, gaps, starts) = (of(|lane| lane.id), of(|lane| lane.gap_ms), of(|lane| lane.next_start_at));
    tx.execute(&tx.prepare_cached(sql!("fetch/set_paces")).await?, &[&ids, &gaps, &starts, &now.0]).await?;
    Ok(())
}
