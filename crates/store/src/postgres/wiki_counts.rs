//! Counts of wikis by editor and by month: kept exact as revisions are written, and read.

use std::collections::BTreeMap;

use deadpool_postgres::{Object, Transaction};
use malla_wiki::metrics::{ArticleCount, MonthEdits, WikiCounts};
use malla_wiki::{PageId, WikiId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::pool::Broken;
use super::{one_view, sql};
use crate::analyze_rows::{count, int};
use crate::wiki_change::Effects;
use crate::wiki_figures::appeared;
use crate::wiki_rows::no_wiki;

/// What a wiki has more: pages, revisions, editors and visits.
type More = [i64; 4];

/// Counts what wikis have more, and their visits (by wiki) of this day. The last of all locks: everybody wants these.
pub(super) async fn add(
    tx: &Transaction<'_>,
    effects: &Effects,
    visits: Option<(i64, i64)>,
    day: i64,
) -> Result<(), Broken> {
    let more = |(wiki, (pages, revisions)): (&i64, &(i64, i64))| (*wiki, [*pages, *revisions, 0, 0]);
    let mut all: BTreeMap<i64, More> = effects.wikis.iter().map(more).collect();
    for (wiki, editors) in add_editors(tx, &effects.figures.editors).await? {
        all.entry(wiki).or_default()[2] += editors;
    }
    add_months(tx, &effects.figures.months).await?;
    if let Some((wiki, more)) = visits {
        all.entry(wiki).or_default()[3] += more;
    }
    all.retain(|_, more| *more != [0; 4]);
    if all.is_empty() {
        return Ok(());
    }
    let of = |place: usize| all.values().map(|more| more[place]).collect::<Vec<i64>>();
    let wikis: Vec<i64> = all.keys().copied().collect();
    let statement = tx.prepare_cached(sql!("wiki/write_wikis")).await?;
    let params: [&(dyn ToSql + Sync); 6] = [&wikis, &of(0), &of(1), &of(2), &of(3), &day];
    tx.execute(&statement, &params).await?;
    Ok(())
}

/// Returns how many editors more each wiki has.
async fn add_editors(tx: &Transaction<'_>, editors: &BTreeMap<(i64, i64), i64>) -> Result<BTreeMap<i64, i64>, Broken> {
    let mut names: BTreeMap<i64, i64> = BTreeMap::new();
    if editors.is_empty() {
        return Ok(names);
    }
    let (wikis, ids): (Vec<i64>, Vec<i64>) = editors.keys().copied().unzip();
    let more: Vec<i64> = editors.values().copied().collect();
    let rows = tx.query(&tx.prepare_cached(sql!("wiki/count_editors")).await?, &[&wikis, &ids, &more]).await?;
    let mut gone: Vec<(i64, i64)> = Vec::new();
    for row in &rows {
        let (key, edits): ((i64, i64), i64) = ((row.get(0), row.get(1)), row.get(2));
        *names.entry(key.0).or_default() += appeared(editors.get(&key).copied().unwrap_or(0), edits);
        gone.extend((edits == 0).then_some(key));
    }
    if !gone.is_empty() {
        let (wikis, ids): (Vec<i64>, Vec<i64>) = gone.into_iter().unzip();
        tx.execute(&tx.prepare_cached(sql!("wiki/drop_editors")).await?, &[&wikis, &ids]).await?;
    }
    Ok(names)
}

async fn add_months(tx: &Transaction<'_>, months: &BTreeMap<(i64, i64), [i64; 3]>) -> Result<(), Broken> {
    if months.is_empty() {
        return Ok(());
    }
    let of = |place: usize| months.values().map(|more| more[place]).collect::<Vec<i64>>();
    let (wikis, numbers): (Vec<i64>, Vec<i64>) = months.keys().copied().unzip();
    let statement = tx.prepare_cached(sql!("wiki/count_months")).await?;
    tx.execute(&statement, &[&wikis, &numbers, &of(0), &of(1), &of(2)]).await?;
    let (wikis, numbers): (Vec<i64>, Vec<i64>) =
        months.iter().filter(|(_, more)| more[0] < 0).map(|(key, _)| *key).unzip();
    if !wikis.is_empty() {
        tx.execute(&tx.prepare_cached(sql!("wiki/drop_months")).await?, &[&wikis, &numbers]).await?;
    }
    Ok(())
}

pub(super) async fn read(client: &mut Object, wiki: WikiId, top: usize) -> Result<WikiCounts, Broken> {
    let tx = one_view(client).await?;
    let most = int(top as u64);
    let found = tx.query_opt(&tx.prepare_cached(sql!("wiki/counts")).await?, &[&wiki.0]).await?;
    let row = found.ok_or_else(|| no_wiki(wiki))?;
    let months = tx.query(&tx.prepare_cached(sql!("wiki/months")).await?, &[&wiki.0]).await?;
    let editors = tx.query(&tx.prepare_cached(sql!("wiki/top_editors")).await?, &[&wiki.0, &most]).await?;
    let pages = tx.query(&tx.prepare_cached(sql!("wiki/top_pages")).await?, &[&wiki.0, &most]).await?;
    tx.rollback().await?;
    let number = |row: &Row, place: usize| count(row.get(place));
    let month = |row: &Row| MonthEdits {
        month: row.get(0),
        edits: number(row, 1),
        minor: number(row, 2),
        anonymous: number(row, 3),
    };
    let page = |row: &Row| ArticleCount { pageid: PageId(row.get(0)), title: row.get(1), edits: number(row, 2) };
    Ok(WikiCounts {
        pages: number(&row, 0),
        revisions: number(&row, 1),
        editors: number(&row, 2),
        months: months.iter().map(month).collect(),
        top_editors: editors.iter().map(|row| (row.get(0), number(row, 1))).collect(),
        top_pages: pages.iter().map(page).collect(),
    })
}
