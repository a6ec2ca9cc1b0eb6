//! `malla wiki wikis`, `pages`, `metrics`, `watch` and `unwatch`.

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use malla_client::Client;
use malla_protocol::{ExportFormat, MetricsQuery, WikiPage, WikiPageQuery, WikiView};
use serde_json::Value;

use super::find::Which;
use crate::commands::{Limit, pages as walk};
use crate::output::{Output, fields, table, time, time_or_dash};

/// Rows of each list that people are shown.
const ROWS: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// Of this wiki alone, by its number
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
pub(crate) struct Metrics {
    #[command(flatten)]
    which: Which,
    /// As a table: what is measured, of what, and how much
    #[arg(long)]
    csv: bool,
}

pub(super) async fn wikis(client: &Client, limit: Limit, mut output: Output) -> Result<()> {
    let head = ["WIKI", "NAME", "LOCALE", "PAGES", "REVISIONS", "API"];
    walk(limit, async |page| client.wikis(&page).await, |some| output.rows(&head, some, wiki_row)).await?;
    output.end("no wikis: `malla wiki extract TITLE` finds one");
    Ok(())
}

fn wiki_row(wiki: &WikiView) -> Vec<String> {
    let (pages, revisions) = (wiki.pages.to_string(), wiki.revisions.to_string());
    vec![wiki.id.to_string(), wiki.name.clone(), wiki.locale.clone(), pages, revisions, wiki.api.clone()]
}

pub(super) async fn pages(client: &Client, pages: Pages, mut output: Output) -> Result<()> {
    let head = ["WIKI", "PAGEID", "TITLE", "REVISIONS", "NEWEST", "VISITED", "WATCHED"];
    let query = WikiPageQuery { wiki: pages.wiki, ..WikiPageQuery::default() };
    let found = async |page| client.wiki_pages(&query, &page).await;
    walk(pages.limit, found, |some| output.rows(&head, some, page_row)).await?;
    output.end("no pages: `malla wiki extract TITLE` gets one");
    Ok(())
}

fn page_row(page: &WikiPage) -> Vec<String> {
    vec![
        page.wiki.to_string(),
        page.pageid.to_string(),
        page.title.clone(),
        page.revisions.to_string(),
        time_or_dash(page.newest_at.as_deref()),
        time_or_dash(page.visited_at.as_deref()),
        if page.watched { "yes" } else { "no" }.to_owned(),
    ]
}

pub(super) async fn watch(client: &Client, which: Which, watched: bool, output: &Output) -> Result<()> {
    let page = which.find(client).await?;
    let page = client.watch_page(page.wiki, page.pageid, watched).await?;
    Ok(output.one(&page, |page| {
        fields(&[
            ("page", page.title.clone()),
            ("watched", if page.watched { "yes" } else { "no" }.to_owned()),
            ("revisions", page.revisions.to_string()),
            ("extracted", time(&page.last_extraction_at)),
        ])
    })?)
}

pub(super) async fn metrics(client: &Client, metrics: Metrics, output: &Output) -> Result<()> {
    let page = metrics.which.find(client).await?;
    if metrics.csv {
        let query = MetricsQuery { format: Some(ExportFormat::Csv) };
        let bytes = client.page_metrics_bytes(page.wiki, page.pageid, &query).await?;
        return Ok(std::io::stdout().write_all(&bytes)?);
    }
    let found = client.page_metrics(page.wiki, page.pageid).await?;
    Ok(output.one(&found, for_people)?)
}

/// The figures, then each list with its first rows.
fn for_people(figures: &Value) -> String {
    let all = figures.as_object().into_iter().flatten();
    let single = all.clone().filter(|(_, value)| !value.is_array());
    let mut text = table(&[], single.map(|(name, value)| vec![words(name), shown(value)]));
    for (name, list) in all.filter_map(|(name, value)| Some((name, value.as_array()?))) {
        text.push_str(&format!("\n\n{}: {}\n", words(name), list.len()));
        // Numbers by hour and the like.
        if list.iter().all(Value::is_number) {
            text.push_str(&list.iter().map(shown).collect::<Vec<_>>().join(" "));
            continue;
        }
        text.push_str(&rows(list));
        if list.len() > ROWS {
            text.push_str(&format!("\n… and {} more: --csv shows all", list.len() - ROWS));
        }
    }
    text
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn rows(list: &[Value]) -> String {
    let head: Vec<&String> = list.first().and_then(Value::as_object).into_iter().flat_map(|row| row.keys()).collect();
    let names: Vec<&str> = head.iter().map(|name| name.as_str()).collect();
    let row = |one: &Value| match one.as_object() {
        Some(fields) => head.iter().map(|name| fields.get(*name).map(shown).unwrap_or_default()).collect(),
        None => vec![shown(one)],
    };
    table(&names, list.iter().take(ROWS).map(row))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.3}", number.as_f64().unwrap_or_default()),
        Value::Object(parts) => {
            let parts = parts.iter().map(|(name, value)| format!("{} {}", words(name), shown(value)));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_come_before_lists() {
        let months: Vec<Value> = (1..=13).map(|n| json!({ "month": format!("2018-{n:02}"), "edits": n })).collect();
        let text = for_people(&json!({ "edits": 91, "minor": { "edits": 9, "share": 0.25 }, "months": months }));
        assert!(text.starts_with("edits  91\nminor  edits 9, share 0.250\n\nmonths: 13\n"), "{text}");
        assert!(text.contains("… and 1 more: --csv shows all") && !text.contains("2018-13"), "{text}");
    }
}
