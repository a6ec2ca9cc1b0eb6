//! The cluster: members, leader, roles and restarts.

use malla_protocol::{ClusterView, NewestQuery, Page, RestartView, RollingView, TermView};
use reqwest::Method;

use crate::error::Result;
use crate::transport::Client;

impl Client {
    pub async fn cluster(&self) -> Result<ClusterView> {
        self.get(&["api", "v1", "cluster"], &()).await
    }

    /// Who led when, newest first.
    pub async fn cluster_terms(&self, limit: Option<u32>) -> Result<Page<TermView>> {
        self.get(&["api", "v1", "cluster", "terms"], &NewestQuery { limit }).await
    }

    /// Processes that medics started again, newest first.
    pub async fn cluster_restarts(&self, limit: Option<u32>) -> Result<Page<RestartView>> {
        self.get(&["api", "v1", "cluster", "restarts"], &NewestQuery { limit }).await
    }

    /// Begins a restart of every supervised process, one after the other. [`Client::cluster`] says how far it is.
    pub async fn restart_cluster(&self) -> Result<RollingView> {
        self.act_at(Method::POST, &["api", "v1", "cluster", "restart"], &()).await
    }
}
