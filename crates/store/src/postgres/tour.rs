//! The verbs of tours on the shared store.

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::UrlKey;
use malla_fetch::tour::{
    KeepTours, NewTour, Step, Stepped, Tour, TourChange, TourId, TourKind, TourState, Tours, Version, task_of,
};
use malla_queue::{Act, Event, Result, Scope, TaskId, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::analyze_studies::submit;
use super::fetch::begin as begin_by_index;
use super::fetch_pages::new_ids;
use super::perform::{first_answer, settle};
use super::pool::{Broken, with_retries};
use super::tour_step::{admit, step};
use super::{Postgres, point, read, said, sql, verb};
use crate::fetch_rows::ANSWERS;
use crate::listing::Builder;
use crate::tour_rows::{GIVEN_UP, TourRow, begun, changed, counts, end, int, not_found, there_is_room, version};

#[async_trait]
impl Tours for Postgres {
    async fn begin(&self, tour: NewTour, act: Act) -> Result<Tour> {
        tour.check()?;
        let (tour, rouse) = verb!(self, "tour.begin", |client, now| begin(&mut client, &tour, &act, now));
        self.nudger.rouse(rouse);
        Ok(tour)
    }

    async fn tour(&self, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour> {
        get(&self.client().await?, scope, kind, id).await.map_err(said)
    }

    async fn tours(&self, scope: &Scope, kind: TourKind, below: Option<TourId>, limit: usize) -> Result<Vec<Tour>> {
        let statement = Builder::new('$').tours(scope, kind, below, limit);
        let rows = read::query(&self.client().await?, &statement).await.map_err(said)?;
        rows.iter().map(|row| read_tour(row).read()).collect()
    }

    async fn change(&self, scope: &Scope, kind: TourKind, id: TourId, to: TourChange, act: Act) -> Result<Tour> {
        let (tour, rouse) =
            verb!(self, "tour.change", |client, now| change(&mut client, (scope, kind, id), &to, false, &act, now));
        self.nudger.rouse(rouse);
        Ok(tour)
    }

    async fn forget_tour(&self, scope: &Scope, kind: TourKind, id: TourId, act: Act) -> Result<Tour> {
        let to = TourChange { state: Some(TourState::Cancelled), spec: None };
        let (tour, rouse) =
            verb!(self, "tour.change", |client, now| change(&mut client, (scope, kind, id), &to, true, &act, now));
        self.nudger.rouse(rouse);
        Ok(tour)
    }

    async fn step(&self, now_made: Step) -> Result<Stepped> {
        let (stepped, rouse) = verb!(self, "tour.step", |client, now| step(&mut client, &now_made, now));
        self.nudger.rouse(rouse);
        Ok(stepped)
    }

    async fn depths(&self, id: TourId, keys: &[UrlKey]) -> Result<Vec<(UrlKey, u32, bool)>> {
        let client = self.client().await?;
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
        let ask = async {
            let statement = client.prepare_cached(sql!("tour/depths")).await?;
            Ok::<_, Broken>(client.query(&statement, &[&id.0.0, &keys]).await?)
        };
        let read = |row: &Row| {
            let key = UrlKey(row.get::<_, &[u8]>(0).try_into().ok()?);
            Some((key, u32::try_from(row.get::<_, i32>(1)).unwrap_or(0), row.get(2)))
        };
        Ok(ask.await.map_err(said)?.iter().filter_map(read).collect())
    }

    async fn versions(&self, id: TourId, below: Option<u64>, limit: usize) -> Result<Vec<Version>> {
        let client = self.client().await?;
        let (below, most) = (below.map_or(i64::MAX, int), int(limit as u64));
        let ask = async {
            let statement = client.prepare_cached(sql!("tour/versions")).await?;
            Ok::<_, Broken>(client.query(&statement, &[&id.0.0, &below, &most]).await?)
        };
        let rows = ask.await.map_err(said)?;
        rows.iter().map(|row| version(row.get(0), row.get(1), row.get(2), None)).collect()
    }

    async fn version(&self, id: TourId, n: u64) -> Result<Option<Version>> {
        let client = self.client().await?;
        let ask = async {
            let statement = client.prepare_cached(sql!("tour/version")).await?;
            Ok::<_, Broken>(client.query_opt(&statement, &[&id.0.0, &int(n)]).await?)
        };
        let row = ask.await.map_err(said)?;
        row.map(|row| version(row.get(0), row.get(1), row.get(2), Some(row.get(3)))).transpose()
    }

    async fn weight(&self, kind: TourKind) -> Result<f64> {
        let client = self.client().await?;
        let ask = async {
            let statement = client.prepare_cached(sql!("tour/weight")).await?;
            Ok::<_, Broken>(client.query_one(&statement, &[&kind.name()]).await?.get(0))
        };
        ask.await.map_err(said)
    }

    async fn sweep_tours(&self, keep: KeepTours) -> Result<u64> {
        let (gone, rouse) = verb!(self, "tour.sweep", |client, now| sweep(&mut client, &keep, now));
        self.nudger.rouse(rouse);
        Ok(gone)
    }
}

async fn begin(client: &mut Object, new: &NewTour, act: &Act, now: UnixMs) -> Result<Roused<Tour>, Broken> {
    let act = Act { group: new.group, ..act.clone() };
    let tx = begin_by_index(client).await?;
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    let open = tx.query_one(&tx.prepare_cached(sql!("tour/open")).await?, &[&new.kind.name()]).await?.get(0);
    there_is_room(new.kind, open)?;
    let mut tour = begun(new, new_ids(&tx, 1, now).await?.remove(0));
    let (id, group) = (tour.id.0.0, new.group.map(|group| group.0));
    let (task, rouse) = submit(&tx, &task_of(tour.id, new.kind, new.group, None), now).await?;
    // The tour itself is one more that its job waits for, so that the job stays open.
    let statement = tx.prepare_cached(sql!("fetch/add_job")).await?;
    tx.execute(&statement, &[&id, &group, &1_i64, &0_i64, &0_i64, &0_i64, &None::<i64>, &false]).await?;
    if new.kind == TourKind::Watch {
        tx.execute(&tx.prepare_cached(sql!("tour/quiet_job")).await?, &[&id]).await?;
    }
    let statement = tx.prepare_cached(sql!("tour/add")).await?;
    let row: [&(dyn ToSql + Sync); 7] = [&id, &group, &new.kind.name(), &new.spec, &new.progress, &new.weight, &task.0];
    tx.execute(&statement, &row).await?;
    admit(&tx, &mut tour, &new.found, u64::MAX).await?;
    write(&tx, &tour).await?;
    Ok((settle(tx, &act, now, "tour.begin", tour).await?, rouse))
}

/// The select of tours, with this after it.
macro_rules! tour {
    ($rest:literal) => {
        concat!(include_str!("../../sql/both/tour/tour.sql"), $rest)
    };
}

async fn get(client: &impl GenericClient, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour, Broken> {
    let statement = client.prepare_cached(tour!(" WHERE t.id = $1 AND NOT t.forgotten")).await?;
    let row = client.query_opt(&statement, &[&id.0.0]).await?;
    visible(row, scope, kind, id)
}

fn visible(row: Option<Row>, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour, Broken> {
    let found = row.map(|row| read_tour(&row).read()).transpose()?;
    let seen = found.filter(|tour| tour.kind == kind && scope.sees(tour.group));
    Ok(seen.ok_or_else(|| not_found(kind, id))?)
}

/// The tour behind its lock, which comes before all others.
pub(super) async fn lock(tx: &Transaction<'_>, id: TourId) -> Result<Option<Tour>, Broken> {
    let row = tx.query_opt(&tx.prepare_cached(tour!(" WHERE t.id = $1 FOR UPDATE")).await?, &[&id.0.0]).await?;
    Ok(row.map(|row| read_tour(&row).read()).transpose()?)
}

fn read_tour(row: &Row) -> TourRow {
    let mut counts = [0; 8];
    for (at, count) in counts.iter_mut().enumerate() {
        *count = row.get(6 + at);
    }
    TourRow {
        id: row.get(0),
        group: row.get(1),
        kind: row.get(2),
        state: row.get(3),
        spec: row.get(4),
        progress: row.get(5),
        counts,
        weight: row.get(14),
        note: row.get(15),
        finished_at: row.get(16),
    }
}

pub(super) async fn write(tx: &Transaction<'_>, tour: &Tour) -> Result<(), Broken> {
    let [read, asked, sitemaps, found, waiting, trapped, left_out, versions] = counts(tour);
    let (state, finished_at) = (tour.state.rank(), tour.finished_at.map(|at| at.0));
    let row: [&(dyn ToSql + Sync); 15] = [
        &tour.id.0.0,
        &state,
        &tour.spec,
        &tour.progress,
        &read,
        &asked,
        &sitemaps,
        &found,
        &waiting,
        &trapped,
        &left_out,
        &versions,
        &tour.weight,
        &tour.note,
        &finished_at,
    ];
    tx.execute(&tx.prepare_cached(sql!("tour/write")).await?, &row).await?;
    Ok(())
}

async fn change(
    client: &mut Object,
    (scope, kind, id): (&Scope, TourKind, TourId),
    to: &TourChange,
    forget: bool,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<Tour>, Broken> {
    let tx = begin_by_index(client).await?;
    let statement = tx.prepare_cached(tour!(" WHERE t.id = $1 AND NOT t.forgotten FOR UPDATE")).await?;
    let mut tour = visible(tx.query_opt(&statement, &[&id.0.0]).await?, scope, kind, id)?;
    let act = Act { group: tour.group, ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    let mut rouse = Vec::new();
    let was_over = tour.state.is_over();
    let to = if forget && was_over { &TourChange::default() } else { to };
    if changed(&mut tour, to, now)? {
        let (task, roused) = submit(&tx, &task_of(id, kind, tour.group, None), now).await?;
        tx.execute(&tx.prepare_cached(sql!("tour/set_task")).await?, &[&id.0.0, &task.0]).await?;
        rouse = roused;
    }
    if tour.state.is_over() && !was_over {
        give_up(&tx, &tour, now).await?;
        rouse.push(ANSWERS.to_owned());
    }
    write(&tx, &tour).await?;
    if forget {
        tx.execute(&tx.prepare_cached(sql!("tour/forget")).await?, &[&id.0.0]).await?;
    }
    Ok((settle(tx, &act, now, "tour.change", tour).await?, rouse))
}

/// Nothing more is fetched for a tour that ended before its time, and subscribers are told.
async fn give_up(tx: &Transaction<'_>, tour: &Tour, now: UnixMs) -> Result<(), Broken> {
    tx.execute(&tx.prepare_cached(sql!("fetch/cancel_job")).await?, &[&tour.id.0.0, &now.0]).await?;
    tx.execute(&tx.prepare_cached(sql!("tour/drop_pins")).await?, &[&tour.id.0.0]).await?;
    add_events(tx, tour.id.0, tour.finished_event().as_slice(), now).await
}

pub(super) async fn add_events(tx: &Transaction<'_>, by: TaskId, events: &[Event], now: UnixMs) -> Result<(), Broken> {
    if events.is_empty() {
        return Ok(());
    }
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let groups: Vec<Option<i64>> = events.iter().map(|event| event.group.map(|group| group.0)).collect();
    let (tasks, bodies) =
        (vec![by.0; events.len()], events.iter().map(|event| event.body.as_slice()).collect::<Vec<_>>());
    let statement = tx.prepare_cached(sql!("fetch/add_events")).await?;
    tx.execute(&statement, &[&now.0, &kinds, &groups, &tasks, &bodies]).await?;
    Ok(())
}

async fn sweep(client: &mut Object, keep: &KeepTours, now: UnixMs) -> Result<Roused<u64>, Broken> {
    let tx = begin_by_index(client).await?;
    let (most, mut gone, mut rouse) = (int(keep.step as u64), 0, Vec::new());
    let given_up = tx.query(&tx.prepare_cached(sql!("tour/given_up")).await?, &[&most]).await?;
    for row in given_up {
        if let Some(mut tour) = lock(&tx, TourId(TaskId(row.get(0)))).await? {
            end(&mut tour, TourState::Failed, Some(GIVEN_UP.to_owned()), now);
            give_up(&tx, &tour, now).await?;
            write(&tx, &tour).await?;
            rouse = vec![ANSWERS.to_owned()];
            gone += 1;
        }
    }
    let before = now.minus(keep.tours_for).0;
    let mut left = most;
    for row in tx.query(&tx.prepare_cached(sql!("tour/old")).await?, &[&before, &most]).await? {
        let id: i64 = row.get(0);
        for part in
            [sql!("tour/drop_urls"), sql!("tour/drop_sites"), sql!("tour/drop_shapes"), sql!("tour/drop_all_versions")]
        {
            let dropped = tx.execute(&tx.prepare_cached(part).await?, &[&id, &left]).await?;
            gone += dropped;
            left = (left - int(dropped)).max(0);
        }
        if left == 0 {
            break;
        }
        gone += tx.execute(&tx.prepare_cached(sql!("tour/drop")).await?, &[&id]).await?;
    }
    tx.commit().await?;
    Ok((gone, rouse))
}
