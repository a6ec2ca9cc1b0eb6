//! Pages that wait for a device of a certain place.

use deadpool_postgres::{GenericClient, Object};
use malla_fetch::{JobId, NOT_ASKED, NewPage, PageTask, PageUrl, Pinned, Site};
use malla_queue::{LaneSettings, UnixMs};

use super::act::Roused;
use super::fetch::begin;
use super::fetch_jobs as jobs;
use super::fetch_pages::add_pages;
use super::fetch_told::Answers;
use super::pool::Broken;
use super::sql;
use super::submit::Columns;
use super::tour_step::write_job;
use crate::fetch_rows::ANSWERS;
use crate::tour_rows::{int, nobody_there};

pub(super) async fn places(client: &impl GenericClient) -> Result<Vec<String>, Broken> {
    let rows = client.query(&client.prepare_cached(sql!("tour/pinned_places")).await?, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Puts what waits for these places into the lanes of its sites.
pub(super) async fn take(
    client: &mut Object,
    places: &[String],
    lanes: LaneSettings,
    limit: usize,
    now: UnixMs,
) -> Result<Roused<Vec<Site>>, Broken> {
    let tx = begin(client).await?;
    let most = int(limit as u64);
    let rows = tx.query(&tx.prepare_cached(sql!("tour/pins_of_places")).await?, &[&places, &most]).await?;
    let (mut sites, mut tasks, mut wishes) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let (job, seq): (i64, i64) = (row.get(0), row.get(1));
        let Ok(url) = PageUrl::parse(row.get(3)) else { continue };
        // While the site is being asked, others may come first: its pages stay apart.
        let statement = tx.prepare_cached(sql!("tour/is_busy")).await?;
        if tx.query_one(&statement, &[&url.site().lane().as_str(), &now.0]).await?.get(0) {
            continue;
        }
        tx.execute(&tx.prepare_cached(sql!("tour/drop_pin")).await?, &[&job, &seq]).await?;
        let pin = Some(Pinned { place: row.get(5), deadline: UnixMs(row.get(4)) });
        sites.push(url.site());
        tasks.push(PageTask { pin, ..PageTask::new(url) }.to_task(lanes));
        wishes.push((job, seq, row.get::<_, String>(2)));
    }
    if tasks.is_empty() {
        tx.commit().await?;
        return Ok((Vec::new(), Vec::new()));
    }
    let mut columns = Columns::default();
    tasks.iter().for_each(|task| columns.push(task, None, now));
    let (submitted, rouse) = columns.submit(&tx, now, None).await?;
    for ((job, seq, label), task) in wishes.iter().zip(submitted) {
        let statement = tx.prepare_cached(sql!("fetch/add_wishes")).await?;
        tx.execute(&statement, &[job, &vec![task.id.0], &vec![*seq], &vec![label.as_str()]]).await?;
    }
    tx.commit().await?;
    Ok((sites, rouse))
}

/// Answers for what still waits.
pub(super) async fn expire(client: &mut Object, id: JobId, now: UnixMs) -> Result<Roused<u64>, Broken> {
    let tx = begin(client).await?;
    let rows = tx.query(&tx.prepare_cached(sql!("tour/pins_of_job")).await?, &[&id.0.0]).await?;
    if rows.is_empty() {
        return Ok((0, Vec::new()));
    }
    let Some(mut job) = jobs::lock(&tx, id.0.0).await? else { return Ok((0, Vec::new())) };
    let page = |row: &tokio_postgres::Row| NewPage::not_asked(row.get(3), nobody_there(row.get(1)), now);
    let pages: Vec<NewPage> = rows.iter().map(page).collect();
    let added = add_pages(&tx, &pages.iter().map(|page| (page, None)).collect::<Vec<_>>(), now).await?;
    let mut answers = Answers::default();
    for (row, page) in rows.iter().zip(added) {
        answers.add(&mut job, row.get::<_, String>(2).into(), page.id, NOT_ASKED, false, now);
    }
    answers.write(&tx).await?;
    write_job(&tx, &job).await?;
    tx.execute(&tx.prepare_cached(sql!("tour/drop_pins")).await?, &[&id.0.0]).await?;
    tx.commit().await?;
    Ok((rows.len() as u64, vec![ANSWERS.to_owned()]))
}
