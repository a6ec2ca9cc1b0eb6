//! Fetching pages: jobs, results, sites and devices.

use malla_protocol::{
    DeviceChange, DeviceView, FetchPages, FetchQuery, FetchResult, Forgotten, JobView, Page, PageQuery, SiteView,
};
use reqwest::{Method, Response};
use serde::Serialize;

use crate::error::Result;
use crate::tail::{Tail, follow};
use crate::transport::Client;

impl Client {
    /// Waits for one page.
    pub async fn fetch(&self, query: &FetchQuery) -> Result<FetchResult> {
        self.get(&["api", "v1", "fetch"], query).await
    }

    /// Starts a job. When this returns, it goes on whatever becomes of the caller.
    pub async fn start_fetch(&self, pages: &FetchPages) -> Result<JobView> {
        self.write(Method::POST, &["api", "v1", "fetch"], pages).await
    }

    pub async fn job(&self, id: &str) -> Result<JobView> {
        self.get(&["api", "v1", "fetch", id], &()).await
    }

    /// Newest first.
    pub async fn jobs(&self, page: &PageQuery) -> Result<Page<JobView>> {
        self.get(&["api", "v1", "fetch", "jobs"], page).await
    }

    pub async fn cancel_job(&self, id: &str) -> Result<JobView> {
        self.act_at(Method::DELETE, &["api", "v1", "fetch", id], &()).await
    }

    /// The results of a job after the first `after`, those that are there and those that come. It ends with the job.
    pub async fn results(&self, id: &str, after: u64) -> Result<Tail<FetchResult>> {
        let path = ["api", "v1", "fetch", id, "results"];
        Ok(follow(self.open_as(&path, &After { after }, "text/event-stream").await?, "result"))
    }

    /// The results of a job as a WARC file, chunk by chunk.
    pub async fn warc(&self, id: &str) -> Result<Response> {
        self.open_as(&["api", "v1", "fetch", id, "results"], &(), "application/warc").await
    }

    /// Forgets the cached results of these URLs.
    pub async fn reset(&self, urls: Vec<String>) -> Result<Forgotten> {
        let pages = FetchPages { urls, ..FetchPages::default() };
        self.write(Method::POST, &["api", "v1", "reset"], &pages).await
    }

    /// In the order of their addresses.
    pub async fn sites(&self, search: Option<&str>, page: &PageQuery) -> Result<Page<SiteView>> {
        self.get(&["api", "v1", "fetch", "sites"], &crate::tasks::Listed { query: &Search { search }, page }).await
    }

    pub async fn site(&self, url: &str) -> Result<SiteView> {
        self.get(&["api", "v1", "fetch", "site"], &OneSite { url }).await
    }

    pub async fn devices(&self) -> Result<Page<DeviceView>> {
        self.get(&["api", "v1", "devices"], &()).await
    }

    pub async fn block_device(&self, id: i64, blocked: bool) -> Result<DeviceView> {
        let change = DeviceChange { blocked };
        self.write(Method::PATCH, &["api", "v1", "devices", &id.to_string()], &change).await
    }
}

#[derive(Serialize)]
struct After {
    after: u64,
}

#[derive(Serialize)]
struct Search<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<&'a str>,
}

#[derive(Serialize)]
struct OneSite<'a> {
    url: &'a str,
}
