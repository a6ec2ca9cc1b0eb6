//! Bodies outside of the embedded store: which rows name them, and which objects nobody names any more.

use std::collections::HashSet;

use async_trait::async_trait;
use bytes::Bytes;
use malla_fetch::BodyHash;
use malla_queue::{Result, UnixMs};

use super::writer::Durability::Process;
use super::{Sqlite, many, sql};
use crate::bodies::{self, Away, Bodies, Collected, Deadline, Lying, Moved, Place, Rows};
use crate::fetch_rows::to_json;

#[async_trait]
impl Bodies for Sqlite {
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
impl Rows for Sqlite {
    async fn known(&self, hashes: Vec<BodyHash>) -> Result<HashSet<BodyHash>> {
        self.read(move |conn| {
            let mut known = HashSet::new();
            for hash in hashes {
                if !many(conn, sql!("bodies/known"), (hash.0,), |_| Ok(()))?.is_empty() {
                    known.insert(hash);
                }
            }
            Ok(known)
        })
        .await
    }

    async fn dead(&self, until: UnixMs, limit: usize) -> Result<Vec<String>> {
        let read = move |conn: &rusqlite::Connection| {
            let unnoticed: Vec<String> = many(conn, sql!("bodies/unnoticed"), (limit,), |row| row.get(0))?;
            Ok((unnoticed, many(conn, sql!("bodies/dead"), (until.0, limit), |row| row.get(0))?))
        };
        let (unnoticed, dead) = self.read(read).await?;
        if !unnoticed.is_empty() {
            let notice = move |tx: &mut super::tx::Tx<'_>| {
                unnoticed.iter().try_for_each(|name| tx.run(sql!("bodies/notice"), (name, tx.now.0)).map(drop))
            };
            self.write("bodies", Process, notice).await?;
        }
        Ok(dead)
    }

    async fn bury(&self, names: Vec<String>) -> Result<()> {
        let bury = move |tx: &mut super::tx::Tx<'_>| {
            names.iter().try_for_each(|name| tx.run(sql!("bodies/bury"), (name,)).map(drop))
        };
        self.write("bodies", Process, bury).await
    }

    async fn named(&self, names: &[String]) -> Result<HashSet<String>> {
        let names = to_json(&names);
        let named = self.read(move |conn| many(conn, sql!("bodies/named"), (names,), |row| row.get(0))).await?;
        Ok(named.into_iter().collect())
    }

    async fn swept(&self) -> Result<i64> {
        self.read(|conn| Ok(many(conn, sql!("bodies/swept"), (), |row| row.get(0))?.pop().unwrap_or(0))).await
    }

    async fn set_swept(&self, window: i64) -> Result<()> {
        self.write("bodies", Process, move |tx| tx.run(sql!("bodies/set_swept"), (window,)).map(drop)).await
    }

    async fn lying_after(&self, after: Place, limit: usize) -> Result<Vec<Lying>> {
        let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        self.read(move |conn| match after {
            Place::Page(id) => many(conn, sql!("bodies/pages_after"), (id, limit), |row| {
                Ok(Lying { place: Place::Page(row.get(0)?), object: row.get(1)?, bytes: bytes(row.get(2)?) })
            }),
            Place::Block(page, number) => many(conn, sql!("bodies/blocks_after"), (page, number, limit), |row| {
                let place = Place::Block(row.get(0)?, row.get(1)?);
                Ok(Lying { place, object: row.get(2)?, bytes: bytes(row.get(3)?) })
            }),
        })
        .await
    }

    async fn packed(&self, place: Place) -> Result<Option<Bytes>> {
        let found: Vec<Vec<u8>> = self
            .read(move |conn| match place {
                Place::Page(id) => many(conn, sql!("bodies/packed_page"), (id,), |row| row.get(0)),
                Place::Block(page, number) => many(conn, sql!("bodies/packed_block"), (page, number), |row| row.get(0)),
            })
            .await?;
        Ok(found.into_iter().next().map(Bytes::from))
    }

    async fn move_out(&self, place: Place, packed: Bytes, object: String, deadline: Deadline) -> Result<bool> {
        self.write("bodies", Process, move |tx| {
            deadline.check(tx.now)?;
            let moved = match place {
                Place::Page(id) => tx.run(sql!("bodies/move_page_out"), (id, &packed[..], &object))?,
                Place::Block(page, number) => {
                    tx.run(sql!("bodies/move_block_out"), (page, number, &packed[..], &object))?
                }
            };
            Ok(moved == 1)
        })
        .await
    }

    async fn move_in(&self, place: Place, object: String, packed: Bytes) -> Result<bool> {
        self.write("bodies", Process, move |tx| {
            let moved = match place {
                Place::Page(id) => tx.run(sql!("bodies/move_page_in"), (id, &packed[..], &object))?,
                Place::Block(page, number) => {
                    tx.run(sql!("bodies/move_block_in"), (page, number, &packed[..], &object))?
                }
            };
            Ok(moved == 1)
        })
        .await
    }
}
