//! How devices stand, checks, credit, and sites that are never fetched.

use malla_protocol::{
    BalanceView, BlockSite, BlockedQuery, BlockedView, CheckQuery, CheckView, EntryView, LedgerAudit, Page, PageQuery,
    StandingView, StatementQuery, TopUp,
};
use reqwest::Method;

use crate::error::Result;
use crate::transport::Client;

impl Client {
    pub async fn standing(&self) -> Result<Page<StandingView>> {
        self.get(&["api", "v1", "devices", "standing"], &()).await
    }

    /// Newest first.
    pub async fn checks(&self, query: &CheckQuery, page: &PageQuery) -> Result<Page<CheckView>> {
        self.get(&["api", "v1", "fetch", "checks"], &crate::tasks::Listed { query, page }).await
    }

    /// Lets a convicted device in again.
    pub async fn acquit_device(&self, id: i64) -> Result<StandingView> {
        self.act_at(Method::POST, &["api", "v1", "devices", &id.to_string(), "acquit"], &()).await
    }

    /// Says that a result is bad; its id stands in it.
    pub async fn report_result(&self, id: &str) -> Result<CheckView> {
        self.act_at(Method::POST, &["api", "v1", "fetch", "results", id, "report"], &()).await
    }

    pub async fn balances(&self) -> Result<Page<BalanceView>> {
        self.get(&["api", "v1", "ledger", "balances"], &()).await
    }

    /// Newest first.
    pub async fn statement(&self, account: &str, page: &PageQuery) -> Result<Page<EntryView>> {
        let query = StatementQuery { account: account.to_owned(), form: None };
        self.get(&["api", "v1", "ledger", "statement"], &crate::tasks::Listed { query: &query, page }).await
    }

    /// All entries as CSV.
    pub async fn statement_csv(&self, account: &str) -> Result<Vec<u8>> {
        let query = StatementQuery { account: account.to_owned(), form: Some("csv".into()) };
        self.get_raw(&["api", "v1", "ledger", "statement"], &query).await
    }

    pub async fn top_up(&self, top_up: &TopUp) -> Result<BalanceView> {
        self.write(Method::POST, &["api", "v1", "ledger", "topup"], top_up).await
    }

    pub async fn audit_ledger(&self) -> Result<LedgerAudit> {
        self.get(&["api", "v1", "ledger", "audit"], &()).await
    }

    pub async fn blocked_sites(&self) -> Result<Page<BlockedView>> {
        self.get(&["api", "v1", "fetch", "blocked"], &()).await
    }

    pub async fn block_site(&self, site: &BlockSite) -> Result<BlockedView> {
        self.write(Method::POST, &["api", "v1", "fetch", "blocked"], site).await
    }

    pub async fn unblock_site(&self, site: &str) -> Result<()> {
        self.delete_at(&["api", "v1", "fetch", "blocked"], &BlockedQuery { site: site.to_owned() }).await
    }
}
