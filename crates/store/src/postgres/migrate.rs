//! Bringing the schema up to date, under nodes that are at work.

use std::time::Duration;

use deadpool_postgres::Object;
use malla_queue::{Error, Result};
use tokio_postgres::error::SqlState;

use super::pool::{Pools, broken};
use super::quiet::{ASKED, OVER};
use super::wake::CHANNEL;
use crate::causes::causes;
use crate::checks;
use crate::crashing::with_the_next;

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// The lock that lets one node migrate at a time.
const MIGRATION_LOCK: i64 = 0x6d_616c_6c61;
/// So often a migration is begun anew when others at work were in its way, with a pause in between.
const MIGRATION_TRIES: usize = 60;
const MIGRATION_PAUSE: Duration = Duration::from_millis(200);
/// What the others have begun ends within this time, if nobody stands still.
const LAST_WORDS: Duration = Duration::from_millis(50);

pub(super) async fn migrate(pools: &Pools, url: &str) -> Result<()> {
    let mut client = pools.client().await?;
    let lock = client.query_one("SELECT pg_advisory_lock($1)", &[&MIGRATION_LOCK]).await;
    lock.map_err(|error| broken(&error))?;
    // A new index on a large table takes its time. What the others want to lock is waited for as briefly as ever.
    client.batch_execute("SET statement_timeout = 0").await.map_err(|error| broken(&error))?;
    let migrated = migrate_locked(&mut client, url).await;
    let reset = "RESET statement_timeout";
    let _ = client.batch_execute(&format!("{reset}; SELECT pg_advisory_unlock({MIGRATION_LOCK})")).await;
    migrated
}

async fn migrate_locked(client: &mut Object, url: &str) -> Result<()> {
    let runner = with_the_next(migrations::migrations::runner());
    let known = runner.get_migrations().iter().map(|m| i64::from(m.version())).max().unwrap_or(0);
    let mut pending = true;
    let there = client.query_one("SELECT to_regclass('refinery_schema_history') IS NOT NULL", &[]).await;
    if there.map_err(|error| broken(&error))?.get(0) {
        let row = client.query_one("SELECT max(version)::bigint FROM refinery_schema_history", &[]).await;
        let applied = row.map_err(|error| broken(&error))?.get(0);
        checks::version(applied, known, crate::without_password(url))?;
        pending = applied != Some(known);
    }
    let mut tries = 0;
    loop {
        if pending {
            tell(client, ASKED).await?;
            tokio::time::sleep(LAST_WORDS).await;
        }
        let run = runner.run_async(&mut ***client).await;
        if pending {
            let _ = tell(client, OVER).await;
        }
        let Err(error) = run else { return Ok(()) };
        // Others are at work on the same tables: the server undoes one of two who wait for each other.
        if tries == MIGRATION_TRIES || !is_in_the_way(&error) {
            let why = format!("cannot bring {} up to date: {}", crate::without_password(url), causes(&error));
            return Err(Error::Unavailable(why));
        }
        tries += 1;
        tracing::info!(tries, why = causes(&error), "others are at work on what is to be changed: trying again");
        tokio::time::sleep(MIGRATION_PAUSE).await;
    }
}

/// Tells the other nodes.
async fn tell(client: &Object, what: &str) -> Result<()> {
    let told = client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &what]).await;
    told.map(drop).map_err(|error| broken(&error))
}

/// Whether a migration was undone because of somebody else's locks.
fn is_in_the_way(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let server = causes.find_map(|error| error.downcast_ref::<tokio_postgres::Error>());
    server.and_then(tokio_postgres::Error::code).is_some_and(|code| {
        [SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_SERIALIZATION_FAILURE]
            .contains(code)
    })
}
