//! The weekly partitions of the tables of tasks and events: made ahead of time, dropped when nothing is left in them.

use deadpool_postgres::Object;
use malla_queue::{TaskId, UnixMs};

use super::pool::Broken;
use super::sql;

const WEEK_MS: i64 = 7 * 24 * 3600 * 1000;
/// Weeks made ahead, so that a stopped leader does no harm for a while.
const AHEAD: i64 = 3;

fn first_id(week: i64) -> i64 {
    TaskId::first_at(UnixMs(week * WEEK_MS)).0
}

/// Each with what its partitions are made with.
const TABLES: [(&str, &str); 2] = [("task", "WITH (fillfactor = 80)"), ("event", "")];

fn name(table: &str, week: i64) -> String {
    format!("{table}_w{week}")
}

/// Makes the partitions for this week and the next ones.
pub(super) async fn make_ahead(client: &Object, now: UnixMs) -> Result<(), Broken> {
    let there = list(client).await?;
    let this_week = now.0.div_euclid(WEEK_MS);
    for (table, options) in TABLES {
        for week in this_week..=this_week + AHEAD {
            let name = name(table, week);
            if there.contains(&name) {
                continue;
            }
            let (from, to) = (first_id(week), first_id(week + 1));
            let make = format!(
                "SELECT malla_under_term(); CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to}) {options}"
            );
            // Another node may be faster, or rows of that week lie in the rest already: both are fine.
            if let Err(error) = client.batch_execute(&make).await {
                tracing::debug!(%error, name, "no partition made");
            }
        }
    }
    Ok(())
}

/// Drops partitions that end before these ids and are empty. Nobody waits for it: if one is in use, it stays.
pub(super) async fn drop_empty(client: &Object, tasks_before: i64, events_before: i64) -> Result<(), Broken> {
    for partition in list(client).await? {
        let Some((table, week)) = partition.split_once("_w") else { continue };
        let Ok(week) = week.parse::<i64>() else { continue };
        if first_id(week + 1) > if table == "task" { tasks_before } else { events_before } {
            continue;
        }
        let empty = client.query_opt(&format!("SELECT 1 FROM {partition} LIMIT 1"), &[]).await?.is_none();
        if empty {
            let dropped = client
                .batch_execute(&format!(
                    "BEGIN; SET LOCAL lock_timeout = '500ms'; SELECT malla_under_term(); DROP TABLE {partition}; COMMIT"
                ))
                .await;
            if let Err(error) = dropped {
                let _ = client.batch_execute("ROLLBACK").await;
                tracing::debug!(%error, partition, "not dropped");
            }
        }
    }
    Ok(())
}

async fn list(client: &Object) -> Result<Vec<String>, Broken> {
    let rows = client.query(&client.prepare_cached(sql!("partition/list")).await?, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
