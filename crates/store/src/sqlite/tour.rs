//! The verbs of tours on the embedded store.

use async_trait::async_trait;
use malla_fetch::UrlKey;
use malla_fetch::tour::{
    KeepTours, NewTour, Step, Stepped, Tour, TourChange, TourId, TourKind, TourState, Tours, Version, task_of,
};
use malla_queue::{Act, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::submit::{add_events, submit_one};
use super::tour_step::{admit, step};
use super::tx::Tx;
use super::writer::Durability::{Power, Process};
use super::{Sqlite, many, read, sql};
use crate::fetch_rows::ANSWERS;
use crate::listing::Builder;
use crate::tour_rows::{GIVEN_UP, TourRow, begun, changed, counts, end, int, not_found, there_is_room, version};

#[async_trait]
impl Tours for Sqlite {
    async fn begin(&self, tour: NewTour, act: Act) -> Result<Tour> {
        tour.check()?;
        self.write("tour.begin", Power, move |tx| begin(tx, &tour, &act)).await
    }

    async fn tour(&self, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour> {
        let scope = scope.clone();
        self.read(move |conn| get(conn, &scope, kind, id)).await
    }

    async fn tours(&self, scope: &Scope, kind: TourKind, below: Option<TourId>, limit: usize) -> Result<Vec<Tour>> {
        let scope = scope.clone();
        self.read(move |conn| {
            let rows = read::query(conn, Builder::new('?').tours(&scope, kind, below, limit), read_tour)?;
            rows.into_iter().map(TourRow::read).collect()
        })
        .await
    }

    async fn change(&self, scope: &Scope, kind: TourKind, id: TourId, to: TourChange, act: Act) -> Result<Tour> {
        let scope = scope.clone();
        self.write("tour.change", Power, move |tx| change(tx, &scope, kind, id, &to, &act)).await
    }

    async fn forget_tour(&self, scope: &Scope, kind: TourKind, id: TourId, act: Act) -> Result<Tour> {
        let scope = scope.clone();
        self.write("tour.change", Power, move |tx| {
            let tour = get(tx.conn, &scope, kind, id)?;
            let over = tour.state.is_over();
            let to = TourChange { state: (!over).then_some(TourState::Cancelled), spec: None };
            let tour = change(tx, &scope, kind, id, &to, &act)?;
            tx.run(sql!("tour/forget"), (id.0.0,))?;
            Ok(tour)
        })
        .await
    }

    async fn step(&self, now: Step) -> Result<Stepped> {
        // What a power cut takes away is read and asked for again. What is told to others must stay told.
        let told = now.end.is_some() || !now.events.is_empty() || !now.versions.is_empty();
        let durability = if told { Power } else { Process };
        self.write("tour.step", durability.large(), move |tx| step(tx, &now)).await
    }

    async fn depths(&self, id: TourId, keys: &[UrlKey]) -> Result<Vec<(UrlKey, u32, bool)>> {
        let keys = keys.to_vec();
        self.read(move |conn| {
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                let depth = many(conn, sql!("tour/depth"), (id.0.0, key.0), |row| Ok((row.get(0)?, row.get(1)?)))?;
                found.extend(depth.into_iter().map(|(depth, sitemap)| (key, depth, sitemap)));
            }
            Ok(found)
        })
        .await
    }

    async fn versions(&self, id: TourId, below: Option<u64>, limit: usize) -> Result<Vec<Version>> {
        self.read(move |conn| {
            let below = below.map_or(i64::MAX, int);
            let rows = many(conn, sql!("tour/versions"), (id.0.0, below, limit), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
            rows.into_iter().map(|(n, at, facts)| version(n, at, facts, None)).collect()
        })
        .await
    }

    async fn version(&self, id: TourId, n: u64) -> Result<Option<Version>> {
        self.read(move |conn| {
            let rows = many(conn, sql!("tour/version"), (id.0.0, int(n)), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?))
            })?;
            rows.into_iter().next().map(|(n, at, facts, text)| version(n, at, facts, Some(&text))).transpose()
        })
        .await
    }

    async fn weight(&self, kind: TourKind) -> Result<f64> {
        self.read(move |conn| {
            Ok(many(conn, sql!("tour/weight"), (kind.name(),), |row| row.get(0))?.pop().unwrap_or(0.0))
        })
        .await
    }

    async fn sweep_tours(&self, keep: KeepTours) -> Result<u64> {
        self.write("tour.sweep", Process, move |tx| sweep(tx, &keep)).await
    }
}

fn begin(tx: &mut Tx<'_>, new: &NewTour, act: &Act) -> Result<Tour> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let open: i64 = tx.one(sql!("tour/open"), (new.kind.name(),), |row| row.get(0))?.unwrap_or(0);
        there_is_room(new.kind, open)?;
        let mut tour = begun(new, tx.next_id());
        let (id, group) = (tour.id.0.0, new.group.map(|group| group.0));
        // The tour itself is one more that its job waits for, so that the job stays open.
        tx.run(sql!("fetch/add_job"), (id, group, 1, 0, 0, 0, None::<i64>, false))?;
        if new.kind == TourKind::Watch {
            tx.run(sql!("tour/quiet_job"), (id,))?;
        }
        let task = submit_one(tx, &task_of(tour.id, new.kind, new.group, None), None)?.id;
        let row = (id, group, new.kind.name(), &new.spec, &new.progress, new.weight, task.0);
        tx.run(sql!("tour/add"), row)?;
        admit(tx, &mut tour, &new.found, u64::MAX)?;
        write(tx, &tour)?;
        Ok(tour)
    })
}

pub(super) fn find(conn: &Connection, id: TourId) -> Result<Option<Tour>> {
    let select = concat!(include_str!("../../sql/both/tour/tour.sql"), " WHERE t.id = ?1");
    many(conn, select, (id.0.0,), read_tour)?.pop().map(TourRow::read).transpose()
}

fn get(conn: &Connection, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour> {
    let select = concat!(include_str!("../../sql/both/tour/tour.sql"), " WHERE t.id = ?1 AND t.forgotten = 0");
    let found = many(conn, select, (id.0.0,), read_tour)?.pop().map(TourRow::read).transpose()?;
    found.filter(|tour| tour.kind == kind && scope.sees(tour.group)).ok_or_else(|| not_found(kind, id))
}

fn read_tour(row: &Row<'_>) -> rusqlite::Result<TourRow> {
    let mut counts = [0; 8];
    for (at, count) in counts.iter_mut().enumerate() {
        *count = row.get(6 + at)?;
    }
    Ok(TourRow {
        id: row.get(0)?,
        group: row.get(1)?,
        kind: row.get(2)?,
        state: row.get(3)?,
        spec: row.get(4)?,
        progress: row.get(5)?,
        counts,
        weight: row.get(14)?,
        note: row.get(15)?,
        finished_at: row.get(16)?,
    })
}

pub(super) fn write(tx: &Tx<'_>, tour: &Tour) -> Result<()> {
    let [read, asked, sitemaps, found, waiting, trapped, left_out, versions] = counts(tour);
    let row = (
        tour.id.0.0,
        tour.state.rank(),
        &tour.spec,
        &tour.progress,
        read,
        asked,
        sitemaps,
        found,
        waiting,
        trapped,
        left_out,
        versions,
        tour.weight,
        &tour.note,
        tour.finished_at.map(|at| at.0),
    );
    tx.run(sql!("tour/write"), row)?;
    Ok(())
}

fn change(tx: &mut Tx<'_>, scope: &Scope, kind: TourKind, id: TourId, to: &TourChange, act: &Act) -> Result<Tour> {
    let mut tour = get(tx.conn, scope, kind, id)?;
    let act = Act { group: tour.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let was_over = tour.state.is_over();
        if changed(&mut tour, to, tx.now)? {
            let task = submit_one(tx, &task_of(id, kind, tour.group, None), None)?.id;
            tx.run(sql!("tour/set_task"), (id.0.0, task.0))?;
        }
        if tour.state.is_over() && !was_over {
            give_up(tx, &tour, None)?;
        }
        write(tx, &tour)?;
        Ok(tour)
    })
}

/// Nothing more is fetched for a tour that ended before its time, and subscribers are told.
fn give_up(tx: &mut Tx<'_>, tour: &Tour, by: Option<TaskId>) -> Result<()> {
    tx.run(sql!("fetch/cancel_job"), (tour.id.0.0, tx.now.0))?;
    tx.run(sql!("tour/drop_pins"), (tour.id.0.0,))?;
    tx.rouse(ANSWERS);
    add_events(tx, by.unwrap_or(tour.id.0), tour.finished_event().as_slice())
}

fn sweep(tx: &mut Tx<'_>, keep: &KeepTours) -> Result<u64> {
    let given_up: Vec<i64> = tx.many(sql!("tour/given_up"), (keep.step,), |row| row.get(0))?;
    let mut gone = 0;
    for id in given_up {
        if let Some(mut tour) = find(tx.conn, TourId(TaskId(id)))? {
            end(&mut tour, TourState::Failed, Some(GIVEN_UP.to_owned()), tx.now);
            give_up(tx, &tour, None)?;
            write(tx, &tour)?;
            gone += 1;
        }
    }
    let before = tx.now.minus(keep.tours_for).0;
    let mut left = keep.step;
    let old: Vec<i64> = tx.many(sql!("tour/old"), (before, keep.step), |row| row.get(0))?;
    for id in old {
        for part in
            [sql!("tour/drop_urls"), sql!("tour/drop_sites"), sql!("tour/drop_shapes"), sql!("tour/drop_all_versions")]
        {
            let dropped = tx.run(part, (id, left))?;
            gone += dropped as u64;
            left -= dropped.min(left);
        }
        if left == 0 {
            break;
        }
        gone += tx.run(sql!("tour/drop"), (id,))? as u64;
    }
    Ok(gone)
}
