//! The robots.txt of sites, read once and kept for as long as they hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use malla_queue::{Error, Result, UnixMs};

use super::judge::Known;
use crate::{Fetch, Site, Standing};

/// Sites whose rules are in memory; beyond it all are forgotten and read again when needed.
const SITES_MAX: usize = 5_000;

#[derive(Default)]
pub(super) struct KnownRules(Mutex<HashMap<Site, Arc<Known>>>);

impl KnownRules {
    /// What the site allows; `until` says which version of it holds.
    pub(super) async fn of(&self, fetch: &dyn Fetch, site: &Site, until: Option<UnixMs>) -> Result<Arc<Known>> {
        if let Some(known) = self.find(site).filter(|known| Some(known.until) == until) {
            return Ok(known);
        }
        let robots = fetch.robots(site).await?.ok_or_else(|| Error::Internal(format!("{site} has no robots.txt")))?;
        let standing = Standing::of_answer(robots.status, &robots.text);
        let known = Arc::new(Known { until: robots.until, status: robots.status, standing });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SITES_MAX {
            all.clear();
        }
        all.insert(site.clone(), known.clone());
        Ok(known)
    }

    fn find(&self, site: &Site) -> Option<Arc<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(site).cloned()
    }
}
