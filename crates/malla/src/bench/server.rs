//! The server that is measured.

use anyhow::{Context as _, Result};

use super::report::memory_of;
use super::wire::Caller;
use crate::throwaway::Throwaway;

pub(super) struct Server(Throwaway);

impl Server {
    /// `store` is empty for the embedded one. Its data lie here, so that the disk that is measured can be chosen.
    pub(super) async fn start(store: &str) -> Result<Self> {
        let data = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        let arguments: &[&str] = if store.is_empty() { &[] } else { &["--store", store] };
        Ok(Self(Throwaway::start(data, arguments, &[("MALLA_ALLOW_PRIVATE", "true")]).await?))
    }

    pub(super) async fn caller(&self) -> Result<Caller> {
        Caller::connect(self.0.url.trim_start_matches("http://"), &self.0.token).await
    }

    pub(super) fn memory_mb(&self) -> f64 {
        self.0.pid().map_or(0.0, |pid| memory_of(&pid.to_string()))
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.0.stop().await
    }
}
