//! Pages that somebody follows: two are watched, the same pages are compared from two countries, and a site is crawled now
//! and then.

use std::sync::Arc;

use malla_client::Result;
use malla_protocol::{LIMIT_MAX, NewComparison, NewCrawl, NewWatch, PageQuery};

use super::devices::COUNTRIES;
use super::stage::{Stage, rest, tried};

const PAGE: PageQuery = PageQuery { limit: Some(LIMIT_MAX), cursor: None };
/// Versions of a watched page that are kept.
const VERSIONS: u64 = 50;
const WATCHED_S: (u64, u64) = (60, 600);
const COMPARED_S: u64 = 600;
const CRAWL_APART_MS: u64 = 300_000;

/// What is not followed yet. Whatever was at another port is left behind.
pub(super) async fn prepare(stage: &Stage) -> Result<()> {
    let town = &stage.town;
    let watched = stage.client.watches(&PAGE).await?.items;
    for url in [town.url("news", "/"), town.url("shop", "/item/3")] {
        if !watched.iter().any(|watch| watch.url == url) {
            let watch = NewWatch {
                url,
                interval_min_s: Some(WATCHED_S.0),
                interval_max_s: Some(WATCHED_S.1),
                versions: Some(VERSIONS),
                ..NewWatch::default()
            };
            stage.client.create_watch(&watch).await?;
        }
    }
    let urls = vec![town.url("news", "/"), town.url("shop", "/item/1")];
    let compared = stage.client.comparisons(&PAGE).await?.items;
    if !compared.iter().any(|comparison| comparison.urls == urls) {
        let comparison = NewComparison {
            urls,
            countries: Some(COUNTRIES.map(str::to_owned).to_vec()),
            every_s: Some(COMPARED_S),
            wait: Some(false),
            ..NewComparison::default()
        };
        stage.client.compare(&comparison).await?;
    }
    Ok(())
}

pub(super) async fn run(stage: Arc<Stage>) {
    loop {
        let crawl = NewCrawl {
            seeds: vec![stage.town.url("news", "/")],
            depth: Some(2),
            limit: Some(20),
            ..NewCrawl::default()
        };
        tried("crawl", stage.client.start_crawl(&crawl).await);
        rest(CRAWL_APART_MS).await;
    }
}
