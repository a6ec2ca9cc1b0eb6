//! Comparisons: the same pages from several places.

use malla_protocol::{ComparisonReport, ComparisonView, CrawlChange, NewComparison, Page, PageQuery};
use reqwest::Method;

use crate::error::Result;
use crate::transport::Client;

impl Client {
    /// Begins a comparison, and waits a while for its report.
    pub async fn compare(&self, comparison: &NewComparison) -> Result<ComparisonView> {
        self.write(Method::POST, &["api", "v1", "fetch", "compare"], comparison).await
    }

    /// Newest first.
    pub async fn comparisons(&self, page: &PageQuery) -> Result<Page<ComparisonView>> {
        self.get(&["api", "v1", "comparisons"], page).await
    }

    pub async fn comparison(&self, id: &str) -> Result<ComparisonView> {
        self.get(&["api", "v1", "comparisons", id], &()).await
    }

    pub async fn comparison_round(&self, id: &str, n: u64) -> Result<ComparisonReport> {
        self.get(&["api", "v1", "comparisons", id, "rounds", &n.to_string()], &()).await
    }

    /// `paused` or `running`.
    pub async fn change_comparison(&self, id: &str, state: &str) -> Result<ComparisonView> {
        let change = CrawlChange { state: state.to_owned() };
        self.write(Method::PATCH, &["api", "v1", "comparisons", id], &change).await
    }

    /// Ends it and forgets its reports.
    pub async fn delete_comparison(&self, id: &str) -> Result<()> {
        self.delete(&["api", "v1", "comparisons", id]).await
    }
}
