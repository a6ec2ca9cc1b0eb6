//! Wikis and their pages: how they are found and watched, and who sees them.

use deadpool_postgres::{GenericClient, Object};
use malla_queue::{Act, GroupId, Scope, UnixMs};
use malla_wiki::{NewWiki, Page, PageId, Wiki, WikiId};
use tokio_postgres::Row;

use super::fetch::begin;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{read, sql};
use crate::analyze_rows::int;
use crate::listing::Builder;
use crate::wiki_rows::{FoundRow, PageRow, WikiRow, no_page, no_wiki};

/// The select of wikis or pages, with this after it.
macro_rules! select {
    ($of:literal, $rest:literal) => {
        concat!(include_str!(concat!("../../sql/both/wiki/", $of, ".sql")), $rest)
    };
}

pub(super) async fn found(client: &mut Object, wiki: &NewWiki, now: UnixMs) -> Result<Wiki, Broken> {
    let FoundRow { group, api, origin, locale, name, about } = FoundRow::of(wiki)?;
    let tx = begin(client).await?;
    let statement = tx.prepare_cached(sql!("wiki/put_wiki")).await?;
    let row = tx.query_one(&statement, &[&group, &api, &origin, &locale, &name, &about, &wiki.scraped, &now.0]).await?;
    let wiki = get(&tx, &Scope::All, WikiId(row.get(0))).await?;
    tx.commit().await?;
    Ok(wiki)
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: WikiId) -> Result<Wiki, Broken> {
    let statement = client.prepare_cached(select!("wiki", " WHERE w.id = $1")).await?;
    let wiki = client.query_opt(&statement, &[&id.0]).await?.map(|row| read_wiki(&row).read()).transpose()?;
    Ok(wiki.filter(|wiki| scope.sees(wiki.group)).ok_or_else(|| no_wiki(id))?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    after: Option<WikiId>,
    limit: usize,
) -> Result<Vec<Wiki>, Broken> {
    let rows = read::query(client, &Builder::new('$').wikis(scope, after, limit)).await?;
    rows.iter().map(|row| Ok(read_wiki(row).read()?)).collect()
}

pub(super) async fn at(client: &impl GenericClient, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>, Broken> {
    let select = select!("wiki", " WHERE w.origin = $1 AND w.grp IS NOT DISTINCT FROM $2 ORDER BY w.id");
    let group = group.map(|group| group.0);
    let rows = client.query(&client.prepare_cached(select).await?, &[&origin, &group]).await?;
    rows.iter().map(|row| Ok(read_wiki(row).read()?)).collect()
}

fn read_wiki(row: &Row) -> WikiRow {
    WikiRow {
        id: row.get(0),
        group: row.get(1),
        api: row.get(2),
        locale: row.get(3),
        name: row.get(4),
        about: row.get(5),
        scraped: row.get(6),
        found_at: row.get(7),
        pages: row.get(8),
        revisions: row.get(9),
        visits_day: row.get(10),
        visits: row.get(11),
    }
}

pub(super) async fn page(client: &impl GenericClient, wiki: WikiId, pageid: PageId) -> Result<Option<PageRow>, Broken> {
    let statement = client.prepare_cached(select!("page", " WHERE p.wiki = $1 AND p.pageid = $2")).await?;
    Ok(client.query_opt(&statement, &[&wiki.0, &pageid.0]).await?.map(|row| read_page(&row)))
}

pub(super) async fn pages(
    client: &mut Object,
    wiki: WikiId,
    after: Option<PageId>,
    limit: usize,
) -> Result<Vec<Page>, Broken> {
    let select = select!("page", " WHERE p.wiki = $1 AND p.pageid > $2 ORDER BY p.pageid LIMIT $3");
    let (after, most) = (after.map_or(i64::MIN, |after| after.0), int(limit as u64));
    let tx = begin(client).await?;
    let rows = tx.query(&tx.prepare_cached(select).await?, &[&wiki.0, &after, &most]).await?;
    tx.rollback().await?;
    Ok(rows.iter().map(|row| read_page(row).read()).collect())
}

fn read_page(row: &Row) -> PageRow {
    PageRow {
        wiki: row.get(0),
        pageid: row.get(1),
        title: row.get(2),
        ns: row.get(3),
        deleted: row.get(4),
        first_extraction: row.get(5),
        last_extraction: row.get(6),
        newest: (row.get(7), row.get(8)),
        mark: (row.get(9), row.get(10)),
        complete_at: row.get(11),
        reconciled_at: row.get(12),
        visited_at: row.get(13),
        pulse: (row.get(14), row.get(15), row.get(16)),
        revisions: row.get(17),
        version: row.get(18),
        last_block: row.get(19),
        watched: row.get(20),
    }
}

pub(super) async fn watch(
    client: &mut Object,
    scope: &Scope,
    (wiki, pageid): (WikiId, PageId),
    watched: bool,
    act: &Act,
    now: UnixMs,
) -> Result<PageRow, Broken> {
    let tx = begin(client).await?;
    let act = Act { group: get(&tx, scope, wiki).await?.group, ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    let statement = tx.prepare_cached(sql!("wiki/watch_page")).await?;
    tx.execute(&statement, &[&wiki.0, &pageid.0, &watched]).await?;
    let page = page(&tx, wiki, pageid).await?.ok_or_else(|| no_page(wiki, pageid))?;
    settle(tx, &act, now, "wiki", page).await
}
