//! Statistics and alerts.

use malla_protocol::{AlertChange, AlertTested, AlertView, NewAlert, Page, PageQuery, Statistics, StatisticsQuery};
use reqwest::Method;

use crate::error::Result;
use crate::transport::Client;

impl Client {
    /// What was counted about a subscription, an endpoint, or all.
    pub async fn statistics(&self, query: &StatisticsQuery) -> Result<Statistics> {
        self.get(&["api", "v1", "statistics"], query).await
    }

    /// In the order of their names.
    pub async fn alerts(&self, page: &PageQuery) -> Result<Page<AlertView>> {
        self.get(&["api", "v1", "alerts"], page).await
    }

    pub async fn alert(&self, name: &str) -> Result<AlertView> {
        self.get(&["api", "v1", "alerts", name], &()).await
    }

    pub async fn create_alert(&self, alert: &NewAlert) -> Result<AlertView> {
        self.write(Method::POST, &["api", "v1", "alerts"], alert).await
    }

    pub async fn change_alert(&self, name: &str, change: &AlertChange) -> Result<AlertView> {
        self.write(Method::PATCH, &["api", "v1", "alerts", name], change).await
    }

    pub async fn delete_alert(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "alerts", name]).await
    }

    /// Sends a test notice to every address of the alert. The answer names the tasks that carry them.
    pub async fn test_alert(&self, name: &str) -> Result<AlertTested> {
        self.act_at(Method::POST, &["api", "v1", "alerts", name, "test"], &()).await
    }
}
