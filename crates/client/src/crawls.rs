//! Crawls: links followed politely.

use malla_protocol::{CrawlChange, CrawlView, FetchResult, NewCrawl, Page, PageQuery};
use reqwest::{Method, Response};
use serde::Serialize;

use crate::error::Result;
use crate::tail::{Tail, follow};
use crate::transport::Client;

impl Client {
    /// Starts a crawl. When this returns, it goes on whatever becomes of the caller.
    pub async fn start_crawl(&self, crawl: &NewCrawl) -> Result<CrawlView> {
        self.write(Method::POST, &["api", "v1", "crawls"], crawl).await
    }

    pub async fn crawl(&self, id: &str) -> Result<CrawlView> {
        self.get(&["api", "v1", "crawls", id], &()).await
    }

    /// Newest first.
    pub async fn crawls(&self, page: &PageQuery) -> Result<Page<CrawlView>> {
        self.get(&["api", "v1", "crawls"], page).await
    }

    /// `paused` or `running`.
    pub async fn change_crawl(&self, id: &str, state: &str) -> Result<CrawlView> {
        let change = CrawlChange { state: state.to_owned() };
        self.write(Method::PATCH, &["api", "v1", "crawls", id], &change).await
    }

    pub async fn cancel_crawl(&self, id: &str) -> Result<CrawlView> {
        self.act_at(Method::DELETE, &["api", "v1", "crawls", id], &()).await
    }

    /// The pages of a crawl after the first `after`, those that are there and those that come. It ends with the crawl.
    pub async fn crawl_results(&self, id: &str, after: u64) -> Result<Tail<FetchResult>> {
        let path = ["api", "v1", "crawls", id, "results"];
        Ok(follow(self.open_as(&path, &After { after }, "text/event-stream").await?, "result"))
    }

    /// The pages of a crawl as a WARC file, chunk by chunk.
    pub async fn crawl_warc(&self, id: &str) -> Result<Response> {
        self.open_as(&["api", "v1", "crawls", id, "results"], &(), "application/warc").await
    }
}

#[derive(Serialize)]
struct After {
    after: u64,
}
