//! Bodies outside of the shared store: which rows name them, and which objects nobody names any more.

use std::collections::HashSet;

use async_trait::async_trait;
use bytes::Bytes;
use deadpool_postgres::Object;
use malla_fetch::BodyHash;
use malla_queue::{Result, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fetch::begin;
use super::pool::{Broken, with_retries};
use super::{Postgres, point, said, sql, verb};
use crate::bodies::{self, Away, Bodies, Collected, Deadline, Lying, Moved, Place, Rows};

/// The store's own number, with which the names of its objects begin.
pub(super) async fn house(client: &Object) -> Result<String, Broken> {
    Ok(client.query_one(sql!("bodies/house"), &[]).await?.get(0))
}

/// Reads by the indexes, whatever is known of the size of the tables.
async fn rows(client: &mut Object, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Broken> {
    let tx = begin(client).await?;
    let rows = tx.query(&tx.prepare_cached(sql).await?, params).await?;
    tx.rollback().await?;
    Ok(rows)
}

async fn write(client: &mut Object, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Broken> {
    let tx = begin(client).await?;
    let changed = tx.execute(&tx.prepare_cached(sql).await?, params).await?;
    tx.commit().await?;
    Ok(changed)
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[async_trait]
impl Bodies for Postgres {
    async fn look(&self) -> Result<()> {
        match self.depot() {
            Some(depot) => depot.look().await,
            None => Ok(()),
        }
    }

    fn away(&self) -> Option<Away> {
        self.depot()?.away()
    }

    async fn collect(&self) -> Result<Collected> {
        match self.depot() {
            Some(depot) => bodies::collect(self, depot).await,
            None => Ok(Collected::default()),
        }
    }

    async fn relocate(&self, after: Option<Place>) -> Result<Moved> {
        match self.depot() {
            Some(depot) => bodies::relocate(self, depot, after).await,
            None => Ok(Moved::default()),
        }
    }
}

#[async_trait]
impl Rows for Postgres {
    async fn known(&self, hashes: Vec<BodyHash>) -> Result<HashSet<BodyHash>> {
        let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash.0[..]).collect();
        let found = rows(&mut self.client().await?, sql!("bodies/known"), &[&hashes]).await.map_err(said)?;
        let hash = |row: &Row| row.get::<_, &[u8]>(0).try_into().ok().map(BodyHash);
        Ok(found.iter().filter_map(hash).collect())
    }

    async fn dead(&self, until: UnixMs, limit: usize) -> Result<Vec<String>> {
        let limit = most(limit);
        verb!(self, "bodies", |client, now| write(&mut client, sql!("bodies/notice"), &[&now.0, &limit]));
        let dead = rows(&mut self.client().await?, sql!("bodies/dead"), &[&until.0, &limit]).await.map_err(said)?;
        Ok(dead.iter().map(|row| row.get(0)).collect())
    }

    async fn bury(&self, names: Vec<String>) -> Result<()> {
        verb!(self, "bodies", |client, _now| write(&mut client, sql!("bodies/bury"), &[&names]));
        Ok(())
    }

    async fn named(&self, names: &[String]) -> Result<HashSet<String>> {
        let named = rows(&mut self.client().await?, sql!("bodies/named"), &[&names]).await.map_err(said)?;
        Ok(named.iter().map(|row| row.get(0)).collect())
    }

    async fn swept(&self) -> Result<i64> {
        let found = rows(&mut self.client().await?, sql!("bodies/swept"), &[]).await.map_err(said)?;
        Ok(found.first().map_or(0, |row| row.get(0)))
    }

    async fn set_swept(&self, window: i64) -> Result<()> {
        verb!(self, "bodies", |client, _now| write(&mut client, sql!("bodies/set_swept"), &[&window]));
        Ok(())
    }

    async fn lying_after(&self, after: Place, limit: usize) -> Result<Vec<Lying>> {
        let (mut client, limit) = (self.client().await?, most(limit));
        let bytes = |row: &Row, column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
        match after {
            Place::Page(id) => {
                let found = rows(&mut client, sql!("bodies/pages_after"), &[&id, &limit]).await.map_err(said)?;
                let read =
                    |row: &Row| Lying { place: Place::Page(row.get(0)), object: row.get(1), bytes: bytes(row, 2) };
                Ok(found.iter().map(read).collect())
            }
            Place::Block(page, number) => {
                let place: [&(dyn ToSql + Sync); 3] = [&page, &number, &limit];
                let found = rows(&mut client, sql!("bodies/blocks_after"), &place).await.map_err(said)?;
                let read = |row: &Row| {
                    let place = Place::Block(row.get(0), row.get(1));
                    Lying { place, object: row.get(2), bytes: bytes(row, 3) }
                };
                Ok(found.iter().map(read).collect())
            }
        }
    }

    async fn packed(&self, place: Place) -> Result<Option<Bytes>> {
        let mut client = self.client().await?;
        let found = match place {
            Place::Page(id) => rows(&mut client, sql!("bodies/packed_page"), &[&id]).await,
            Place::Block(page, number) => rows(&mut client, sql!("bodies/packed_block"), &[&page, &number]).await,
        };
        Ok(found.map_err(said)?.first().map(|row| Bytes::from(row.get::<_, Vec<u8>>(0))))
    }

    async fn move_out(&self, place: Place, packed: Bytes, object: String, deadline: Deadline) -> Result<bool> {
        let packed = &packed[..];
        let moved = verb!(self, "bodies", |client, now| async {
            deadline.check(now)?;
            match place {
                Place::Page(id) => write(&mut client, sql!("bodies/move_page_out"), &[&id, &packed, &object]).await,
                Place::Block(page, number) => {
                    write(&mut client, sql!("bodies/move_block_out"), &[&page, &number, &packed, &object]).await
                }
            }
        });
        Ok(moved == 1)
    }

    async fn move_in(&self, place: Place, object: String, packed: Bytes) -> Result<bool> {
        let packed = &packed[..];
        let moved = verb!(self, "bodies", |client, _now| async {
            match place {
                Place::Page(id) => write(&mut client, sql!("bodies/move_page_in"), &[&id, &packed, &object]).await,
                Place::Block(page, number) => {
                    write(&mut client, sql!("bodies/move_block_in"), &[&page, &number, &packed, &object]).await
                }
            }
        });
        Ok(moved == 1)
    }
}
