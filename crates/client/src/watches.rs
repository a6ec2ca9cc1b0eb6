//! Watches: pages that are fetched again and again, and their versions.

use malla_protocol::{NewWatch, Page, PageDiff, PageDiffQuery, PageQuery, PageVersion, WatchChange, WatchView};
use reqwest::Method;

use crate::error::Result;
use crate::transport::Client;

impl Client {
    pub async fn create_watch(&self, watch: &NewWatch) -> Result<WatchView> {
        self.write(Method::POST, &["api", "v1", "watches"], watch).await
    }

    /// Newest first.
    pub async fn watches(&self, page: &PageQuery) -> Result<Page<WatchView>> {
        self.get(&["api", "v1", "watches"], page).await
    }

    pub async fn watch(&self, id: &str) -> Result<WatchView> {
        self.get(&["api", "v1", "watches", id], &()).await
    }

    pub async fn change_watch(&self, id: &str, change: &WatchChange) -> Result<WatchView> {
        self.write(Method::PATCH, &["api", "v1", "watches", id], change).await
    }

    /// Ends it and forgets its versions.
    pub async fn delete_watch(&self, id: &str) -> Result<()> {
        self.delete(&["api", "v1", "watches", id]).await
    }

    /// Newest first, without their texts.
    pub async fn versions(&self, id: &str, page: &PageQuery) -> Result<Page<PageVersion>> {
        self.get(&["api", "v1", "watches", id, "versions"], page).await
    }

    pub async fn version(&self, id: &str, n: u64) -> Result<PageVersion> {
        self.get(&["api", "v1", "watches", id, "versions", &n.to_string()], &()).await
    }

    pub async fn diff(&self, id: &str, query: &PageDiffQuery) -> Result<PageDiff> {
        self.get(&["api", "v1", "watches", id, "diff"], query).await
    }
}
