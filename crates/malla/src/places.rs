//! Where sites are, by a data base of the operator's in MaxMind's format (GeoLite2 Country or City).

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use malla_fetch::{Country, PageUrl, Places, Site};
use malla_reach::Guard;
use maxminddb::{Reader, geoip2};

/// Sites whose place is remembered; beyond it all are looked up again.
const SITES_MAX: usize = 100_000;

pub(crate) struct GeoPlaces {
    reader: Arc<Reader<Vec<u8>>>,
    guard: Guard,
    known: Arc<Mutex<HashMap<Site, Option<Country>>>>,
}

impl fmt::Debug for GeoPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GeoPlaces")
    }
}

impl GeoPlaces {
    pub(crate) fn open(file: &Path, guard: Guard) -> Result<Self> {
        let reader = Reader::open_readfile(file)
            .with_context(|| format!("{} is not a data base of places (fetch.geo_file)", file.display()))?;
        Ok(Self { reader: Arc::new(reader), guard, known: Arc::default() })
    }
}

impl Places for GeoPlaces {
    fn country(&self, site: &Site) -> Option<Country> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.get(site) {
            return *place;
        }
        if known.len() >= SITES_MAX {
            known.clear();
        }
        // Looked up beside: until then it is nowhere.
        known.insert(site.clone(), None);
        let (reader, guard, all, site) = (self.reader.clone(), self.guard.clone(), self.known.clone(), site.clone());
        tokio::spawn(async move {
            if let Some(place) = look_up(&reader, &guard, &site).await {
                all.lock().unwrap_or_else(PoisonError::into_inner).insert(site, Some(place));
            }
        });
        None
    }
}

async fn look_up(reader: &Reader<Vec<u8>>, guard: &Guard, site: &Site) -> Option<Country> {
    let url = PageUrl::parse(site.as_str()).ok()?;
    let port = url.as_url().port_or_known_default()?;
    let host = url.as_url().host_str()?.trim_matches(['[', ']']).to_owned();
    let address = guard.resolve(&host, port).await.ok()?.first()?.ip();
    let found: geoip2::Country<'_> = reader.lookup(address).ok()?.decode().ok()??;
    found.country.iso_code?.parse().ok()
}
