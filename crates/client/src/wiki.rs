//! Revision histories: extracted, asked about, exported, imported.

use bytes::Bytes;
use malla_protocol::{
    ArticleFilters, AvgView, CountView, DiffQuery, DiffView, ExportQuery, Extract, ExtractionPlace, ExtractionStatus,
    ExtractionView, ImportView, MetricsQuery, NewImport, Page, PageQuery, PipelineQuery, RevisionFilters, RevisionView,
    Shown, WikiDetail, WikiPage, WikiPageChange, WikiPageQuery, WikiView,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::tasks::Listed;
use crate::transport::Client;

impl Client {
    /// Asks for the history of a page. Returns the extraction's id; when this returns, it goes on whatever becomes of the
    /// caller.
    pub async fn extract(&self, wanted: &Extract) -> Result<String> {
        let place: ExtractionPlace = self.write(Method::POST, &["api", "v1", "extract"], wanted).await?;
        let id = place.id().map(str::to_owned);
        id.ok_or_else(|| Error::Protocol(format!("\"{}\" is not where an extraction is", place.location)))
    }

    pub async fn extraction(&self, id: &str) -> Result<ExtractionStatus> {
        self.get(&["api", "v1", "status", id], &()).await
    }

    /// Newest first.
    pub async fn extractions(&self, page: &PageQuery) -> Result<Page<ExtractionView>> {
        self.get(&wiki(&["extractions"]), page).await
    }

    pub async fn articles(&self, filters: &ArticleFilters, shown: &Shown) -> Result<Vec<Value>> {
        self.get(&["api", "v1", "articles"], &Listed { query: filters, page: shown }).await
    }

    pub async fn revisions(&self, filters: &RevisionFilters, shown: &Shown) -> Result<Vec<Value>> {
        self.get(&["api", "v1", "revisions"], &Listed { query: filters, page: shown }).await
    }

    pub async fn count_revisions(&self, filters: &RevisionFilters) -> Result<CountView> {
        self.get(&["api", "v1", "count"], filters).await
    }

    /// Revisions a day, from `datestart` to `dateend`.
    pub async fn average_revisions(&self, filters: &RevisionFilters) -> Result<AvgView> {
        self.get(&["api", "v1", "avg"], filters).await
    }

    /// The most frequent values of an attribute, under its name.
    pub async fn mode_of_revisions(&self, attribute: &str, filters: &RevisionFilters) -> Result<Value> {
        self.get(&["api", "v1", "mode"], &Listed { query: filters, page: &Attribute { attribute } }).await
    }

    /// Answers an aggregation pipeline: an array of stages.
    pub async fn query(&self, pipeline: &impl Serialize, query: &PipelineQuery) -> Result<Vec<Value>> {
        self.post_with(&["api", "v1", "query"], query, pipeline).await
    }

    /// In the order of their numbers.
    pub async fn wikis(&self, page: &PageQuery) -> Result<Page<WikiView>> {
        self.get(&wiki(&["wikis"]), page).await
    }

    pub async fn wiki(&self, id: i64) -> Result<WikiDetail> {
        self.get(&wiki(&["wikis", &id.to_string()]), &()).await
    }

    pub async fn wiki_metrics(&self, id: i64) -> Result<Value> {
        self.get(&wiki(&["wikis", &id.to_string(), "metrics"]), &()).await
    }

    /// In the order of the numbers of their wiki and their own.
    pub async fn wiki_pages(&self, query: &WikiPageQuery, page: &PageQuery) -> Result<Page<WikiPage>> {
        self.get(&wiki(&["pages"]), &Listed { query, page }).await
    }

    pub async fn wiki_page(&self, of: i64, pageid: i64) -> Result<WikiPage> {
        self.get(&wiki(&["pages", &of.to_string(), &pageid.to_string()]), &()).await
    }

    /// Whether a page is visited again without anybody asking.
    pub async fn watch_page(&self, of: i64, pageid: i64, watched: bool) -> Result<WikiPage> {
        let change = WikiPageChange { watched };
        self.write(Method::PATCH, &wiki(&["pages", &of.to_string(), &pageid.to_string()]), &change).await
    }

    /// The figures of a page as JSON.
    pub async fn page_metrics(&self, of: i64, pageid: i64) -> Result<Value> {
        self.get(&wiki(&["pages", &of.to_string(), &pageid.to_string(), "metrics"]), &()).await
    }

    /// The figures of a page as they are asked for.
    pub async fn page_metrics_bytes(&self, of: i64, pageid: i64, query: &MetricsQuery) -> Result<Vec<u8>> {
        self.get_raw(&wiki(&["pages", &of.to_string(), &pageid.to_string(), "metrics"]), query).await
    }

    /// The history of a page, chunk by chunk.
    pub async fn export_page(&self, of: i64, pageid: i64, query: &ExportQuery) -> Result<Response> {
        self.open(&wiki(&["pages", &of.to_string(), &pageid.to_string(), "revisions"]), query).await
    }

    pub async fn revision(&self, of: i64, revid: i64) -> Result<RevisionView> {
        self.get(&wiki(&["revisions", &of.to_string(), &revid.to_string()]), &()).await
    }

    /// The text of a revision byte for byte.
    pub async fn revision_text(&self, of: i64, revid: i64) -> Result<Vec<u8>> {
        self.get_raw(&wiki(&["revisions", &of.to_string(), &revid.to_string(), "text"]), &()).await
    }

    /// What differs between the texts of two revisions.
    pub async fn diff_revisions(&self, of: i64, from: i64, to: i64) -> Result<DiffView> {
        self.get(&wiki(&["diff"]), &DiffQuery { wiki: Some(of), from: Some(from), to: Some(to) }).await
    }

    /// Begins to import a dump, or goes on with one of the same name.
    pub async fn begin_import(&self, new: &NewImport) -> Result<ImportView> {
        self.write(Method::POST, &wiki(&["imports"]), new).await
    }

    pub async fn import(&self, id: &str) -> Result<ImportView> {
        self.get(&wiki(&["imports", id]), &()).await
    }

    /// Newest first.
    pub async fn imports(&self, page: &PageQuery) -> Result<Page<ImportView>> {
        self.get(&wiki(&["imports"]), page).await
    }

    /// Sends a batch of a dump. When this returns, it is safe. Sent twice, it counts once, so a
    /// [patient](Client::patient) client sends it again after a broken connection.
    pub async fn send_dump_batch(&self, id: &str, number: u64, last: bool, packed: &Bytes) -> Result<()> {
        let number = number.to_string();
        let query: &[(&str, &str)] = if last { &[("last", "true")] } else { &[] };
        let kind = (CONTENT_TYPE, "application/octet-stream");
        self.put_bytes(&wiki(&["imports", id, "batches", &number]), query, &[kind], packed).await
    }
}

/// A path below `/api/v1/wiki`.
fn wiki<'a>(below: &[&'a str]) -> Vec<&'a str> {
    ["api", "v1", "wiki"].into_iter().chain(below.iter().copied()).collect()
}

#[derive(Serialize)]
struct Attribute<'a> {
    attribute: &'a str,
}
