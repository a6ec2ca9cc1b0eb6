//! A small world of sites and devices in which strategies are compared. The same seed is the same world, event by event.

mod play;

use super::{Country, Strategy};
pub use play::play;

/// Sites with pages, and devices to fetch them.
#[derive(Debug, Clone)]
pub struct World {
    sites: Vec<WorldSite>,
    devices: Vec<WorldDevice>,
}

#[derive(Debug, Clone)]
struct WorldSite {
    country: Country,
    gap_ms: u64,
    /// How long the site itself takes.
    server_ms: u64,
    /// Of each page, how its time differs from the mean.
    pages: Vec<f64>,
}

#[derive(Debug, Clone)]
struct WorldDevice {
    country: Country,
    /// What its own line adds to each page.
    line_ms: u64,
    /// Requests at once, and the pages it wants to have in hand.
    parallel: usize,
}

/// How a strategy did.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    pub strategy: Strategy,
    pub pages: usize,
    /// Until the last page was there.
    pub makespan_ms: u64,
    /// No strategy can be faster: the site that takes longest, each page from the device that is quickest; or all pages
    /// by all devices, each at its quickest site.
    pub ideal_ms: u64,
    /// The mean time of a page.
    pub page_ms: f64,
    /// The mean distance of a page from the device that fetched it.
    pub km: f64,
    /// The pages of each device.
    pub given: Vec<u64>,
    /// Pages that a site was asked for before its gap was over.
    pub hurried: usize,
}

impl Played {
    pub fn makespan_by_ideal(&self) -> f64 {
        self.makespan_ms as f64 / self.ideal_ms.max(1) as f64
    }

    /// How unevenly the pages were spread: 0 is the same for all, 1 is all for one.
    pub fn gini(&self) -> f64 {
        let mut sorted = self.given.clone();
        sorted.sort_unstable();
        let (count, total) = (sorted.len() as f64, sorted.iter().sum::<u64>() as f64);
        if total == 0.0 {
            return 0.0;
        }
        let weighted: f64 = sorted.iter().enumerate().map(|(n, given)| (n + 1) as f64 * *given as f64).sum();
        2.0 * weighted / (count * total) - (count + 1.0) / count
    }

    /// What the device with most pages has, by the mean.
    pub fn most_by_mean(&self) -> f64 {
        let total: u64 = self.given.iter().sum();
        let mean = total as f64 / self.given.len().max(1) as f64;
        self.given.iter().max().map_or(0.0, |most| *most as f64 / mean.max(1.0))
    }
}

/// Where sites and devices are; a country that is there more often has more of them.
const COUNTRIES: &[&str] =
    &["US", "US", "US", "DE", "DE", "GB", "FR", "NL", "ES", "PL", "AR", "BR", "CL", "JP", "IN", "SG", "AU", "ZA", "CA"];

impl World {
    pub fn generate(seed: u64, sites: usize, pages_per_site: usize, devices: usize) -> Self {
        let mut dice = Dice(seed);
        let place = |dice: &mut Dice| COUNTRIES[dice.below(COUNTRIES.len())].parse().expect("a country");
        let site = |dice: &mut Dice| WorldSite {
            country: place(dice),
            gap_ms: if dice.below(8) == 0 { 2_000 } else { 1_000 },
            server_ms: 30 + dice.below(300) as u64,
            pages: {
                let half = pages_per_site / 2;
                let count = (half + dice.below(pages_per_site + 1)).max(1);
                (0..count).map(|_| 0.7 + 0.6 * dice.share()).collect()
            },
        };
        let device = |dice: &mut Dice| WorldDevice {
            country: place(dice),
            line_ms: 10 + dice.below(20) as u64 * dice.below(20) as u64,
            parallel: 4 + dice.below(13),
        };
        Self {
            sites: (0..sites).map(|_| site(&mut dice)).collect(),
            devices: (0..devices).map(|_| device(&mut dice)).collect(),
        }
    }

    /// How long a page takes on the mean: the line, the site, and three times there and back.
    fn mean_ms(&self, site: usize, device: usize) -> f64 {
        const MS_PER_KM: f64 = 0.015;
        let (site, device) = (&self.sites[site], &self.devices[device]);
        device.line_ms as f64 + site.server_ms as f64 + 3.0 * MS_PER_KM * self.km(site, device)
    }

    fn km(&self, site: &WorldSite, device: &WorldDevice) -> f64 {
        site.country.km_to(device.country).map_or(0.0, f64::from)
    }

    fn ideal_ms(&self) -> u64 {
        let devices = 0..self.devices.len();
        let quickest = |site: usize| devices.clone().map(|device| self.mean_ms(site, device)).fold(f64::MAX, f64::min);
        let alone = self.sites.iter().enumerate().map(|(index, site)| {
            let fetching: f64 = site.pages.iter().map(|factor| factor * quickest(index)).sum();
            fetching + (site.gap_ms * (site.pages.len() as u64 - 1)) as f64
        });
        let together = devices.clone().map(|device| {
            let sites = 0..self.sites.len();
            let quickest = sites.map(|site| self.mean_ms(site, device)).fold(f64::MAX, f64::min);
            self.devices[device].parallel as f64 / quickest
        });
        let pages: f64 = self.sites.iter().flat_map(|site| &site.pages).sum();
        alone.fold(0.0, f64::max).max(pages / together.sum::<f64>()) as u64
    }
}

/// A small generator of random numbers (splitmix64), the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
