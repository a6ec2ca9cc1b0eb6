//! Ending leases, and sending back what is overdue.

use std::time::Duration;

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_queue::{Ending, GroupId, HISTORY_BYTES_MAX, Kind, LaneKey, LeaseToken, Overdue, Result, TaskId, UnixMs};
use tokio_postgres::Row;

use super::pool::Broken;
use super::sql;
use super::submit::Columns;
use crate::codes::{Code, read_retry};
use crate::taken::Taken;

/// What ended, as the server's function numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Lease = 0,
    LapsedLease = 1,
    Confirmation = 2,
}

/// Whether the transaction waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    Now,
    Later,
}

pub(super) struct Finished {
    pub(super) taken: Vec<Taken>,
    /// The numbers of follow-ups, in their order.
    pub(super) followed: Vec<TaskId>,
    pub(super) rouse: Vec<String>,
}

impl Finished {
    pub(super) fn answers(&self, endings: &[(LeaseToken, Ending)]) -> Vec<Result<()>> {
        endings.iter().zip(&self.taken).map(|((token, _), taken)| taken.answer(token.task)).collect()
    }
}

/// As the server's function numbers it.
fn taken(code: i16) -> Taken {
    match code {
        0 => Taken::Now,
        1 => Taken::Before,
        _ => Taken::Lost,
    }
}

fn has_follow_ups(endings: &[(LeaseToken, Ending)]) -> bool {
    endings.iter().any(|(_, ending)| !ending.follow_ups.is_empty())
}

/// Ends leases. Without follow-ups that is one statement, which is its own transaction.
pub(super) async fn finish(
    client: &mut Object,
    endings: &[(LeaseToken, Ending)],
    now: UnixMs,
) -> Result<Finished, Broken> {
    if !has_follow_ups(endings) {
        // What is done again after a power cut need not wait for the disk.
        let flush = if endings.iter().all(|(_, ending)| ending.repeatable) { Flush::Later } else { Flush::Now };
        return call(client, Source::Lease, endings, now, flush).await;
    }
    let tx = client.transaction().await?;
    let finished = end(&tx, endings, now).await?;
    crate::crashing::point("finish", "inside");
    tx.commit().await?;
    Ok(finished)
}

/// Ends leases as a part of a transaction.
pub(super) async fn end(
    tx: &Transaction<'_>,
    endings: &[(LeaseToken, Ending)],
    now: UnixMs,
) -> Result<Finished, Broken> {
    if !has_follow_ups(endings) {
        return call(tx, Source::Lease, endings, now, Flush::Now).await;
    }
    let mut all = Columns::default();
    for (token, ending) in endings {
        ending.follow_ups.iter().for_each(|task| all.push(task, Some(token.task), now));
    }
    let leased: Vec<i64> = endings.iter().map(|(token, _)| token.task.0).collect();
    all.lock_lanes(tx, now, &leased).await?;
    let mut finished = call(tx, Source::Lease, endings, now, Flush::Now).await?;
    let mut follow_ups = Columns::default();
    for ((token, ending), taken) in endings.iter().zip(&finished.taken) {
        if *taken == Taken::Now {
            ending.follow_ups.iter().for_each(|task| follow_ups.push(task, Some(token.task), now));
        }
    }
    if !follow_ups.is_empty() {
        let (submitted, rouse) = follow_ups.submit(tx, now, None).await?;
        finished.followed = submitted.into_iter().map(|submitted| submitted.id).collect();
        finished.rouse.extend(rouse);
    }
    Ok(finished)
}

/// Ends leases that have run out, over the heads of their holders: what these still bring is refused.
pub(super) async fn take_back(
    tx: &Transaction<'_>,
    endings: &[(LeaseToken, Ending)],
    now: UnixMs,
) -> Result<Finished, Broken> {
    call(tx, Source::LapsedLease, endings, now, Flush::Now).await
}

async fn call(
    client: &impl GenericClient,
    source: Source,
    endings: &[(LeaseToken, Ending)],
    now: UnixMs,
    flush: Flush,
) -> Result<Finished, Broken> {
    let of = |read: fn(&Ending) -> i64| endings.iter().map(|(_, ending)| read(ending)).collect::<Vec<i64>>();
    let small = |read: fn(&Ending) -> u32| {
        endings.iter().map(|(_, ending)| i32::try_from(read(ending)).unwrap_or(i32::MAX)).collect::<Vec<i32>>()
    };
    let maybe = |read: fn(&Ending) -> Option<UnixMs>| {
        endings.iter().map(|(_, ending)| read(ending).map(|at| at.0)).collect::<Vec<Option<i64>>>()
    };
    let tasks: Vec<i64> = endings.iter().map(|(token, _)| token.task.0).collect();
    let nonces: Vec<i64> = endings.iter().map(|(token, _)| token.nonce).collect();
    let states: Vec<i16> = endings.iter().map(|(_, ending)| Code::of(ending.state) as i16).collect();
    let run_ats = of(|ending| ending.run_at.unwrap_or(ending.at).0);
    let finished_ats = maybe(|ending| ending.state.is_final().then_some(ending.at));
    let (failures, lapses) = (small(|ending| ending.failures), small(|ending| ending.lapses));
    let results: Vec<Option<&[u8]>> = endings.iter().map(|(_, ending)| ending.result.as_deref()).collect();
    let lines: Vec<String> = endings.iter().map(|(_, ending)| ending.entry.line()).collect();
    let rests = maybe(|ending| ending.lane_rest_until);
    let events = endings.iter().zip(1i32..).flat_map(|((_, ending), of)| ending.events.iter().map(move |e| (of, e)));
    let (event_of, events): (Vec<i32>, Vec<_>) = events.unzip();
    let event_kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let event_groups: Vec<Option<i64>> = events.iter().map(|event| event.group.map(|g| g.0)).collect();
    let event_bodies: Vec<&[u8]> = events.iter().map(|event| event.body.as_slice()).collect();
    let history_max = i32::try_from(HISTORY_BYTES_MAX).unwrap_or(i32::MAX);

    let statement = client.prepare_cached(sql!("finish")).await?;
    let row = client
        .query_one(
            &statement,
            &[
                &(source as i32),
                &tasks,
                &nonces,
                &states,
                &run_ats,
                &finished_ats,
                &failures,
                &lapses,
                &results,
                &lines,
                &rests,
                &event_of,
                &event_kinds,
                &event_groups,
                &event_bodies,
                &now.0,
                &history_max,
                &(flush == Flush::Later),
            ],
        )
        .await?;
    let rouse = row.get::<_, Option<Vec<String>>>(1).unwrap_or_default();
    let taken = row.get::<_, Vec<i16>>(0).into_iter().map(taken).collect();
    Ok(Finished { taken, followed: Vec::new(), rouse })
}

/// Sends back tasks whose lease or confirmation is overdue. Whoever extended, finished or confirmed meanwhile is left
/// alone: the server looks again behind its locks.
pub(super) async fn reap(client: &mut Object, limit: usize, now: UnixMs) -> Result<(u64, Vec<String>), Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(&client.prepare_cached(sql!("reap/leases")).await?, &[&now.0, &most]).await?;
    let lapsed = rows.iter().map(|row| {
        let token = LeaseToken { task: TaskId(row.get(0)), nonce: row.get(1) };
        let lease = Some((UnixMs(row.get(2)), row.get(3)));
        let gap = u64::try_from(row.get::<_, i64>(10)).unwrap_or(0);
        Ok((token, overdue(row, 4, token.task, gap, lease)?.ending(now)))
    });
    let lapsed = lapsed.collect::<Result<Vec<_>, Broken>>()?;
    let most = most - i64::try_from(lapsed.len()).unwrap_or(0);
    let rows = client.query(&client.prepare_cached(sql!("reap/awaiting")).await?, &[&now.0, &most]).await?;
    let unconfirmed = rows.iter().map(|row| {
        let token = LeaseToken { task: TaskId(row.get(0)), nonce: 0 };
        Ok((token, overdue(row, 1, token.task, 0, None)?.ending(now)))
    });
    let unconfirmed = unconfirmed.collect::<Result<Vec<_>, Broken>>()?;

    let (mut count, mut rouse) = (0, Vec::new());
    for (source, endings) in [(Source::LapsedLease, lapsed), (Source::Confirmation, unconfirmed)] {
        if !endings.is_empty() {
            let finished = call(client, source, &endings, now, Flush::Later).await?;
            count += finished.taken.iter().filter(|taken| **taken == Taken::Now).count() as u64;
            rouse.extend(finished.rouse);
        }
    }
    Ok((count, rouse))
}

/// Reads the columns kind, grp, failures, lapses, retry and the lane's key, from column `at` on.
fn overdue(
    row: &Row,
    at: usize,
    task: TaskId,
    gap_ms: u64,
    lease: Option<(UnixMs, String)>,
) -> Result<Overdue, Broken> {
    let small = |column: usize| u32::try_from(row.get::<_, i32>(column)).unwrap_or(0);
    Ok(Overdue {
        task,
        kind: Kind::new(row.get::<_, String>(at)),
        group: row.get::<_, Option<i64>>(at + 1).map(GroupId),
        failures: small(at + 2),
        lapses: small(at + 3),
        retry: read_retry(row.get(at + 4))?,
        lane: LaneKey::trusted(row.get(at + 5)),
        gap: Duration::from_millis(gap_ms),
        lease,
    })
}
