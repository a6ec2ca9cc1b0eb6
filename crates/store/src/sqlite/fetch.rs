//! The verbs of fetch on the embedded store.

use async_trait::async_trait;
use malla_fetch::{
    Answered, CacheSize, Commit, Device, DeviceId, Fetch, Job, JobId, Keep, KnownRobots, KnownSite, Measures,
    NewDevice, NewJob, Ready, Site, UrlKey,
};
use malla_queue::{Act, Arrivals, LaneSettings, LeaseToken, Leased, Result, Scope};

use super::tx::Tx;
use super::writer::Durability::{Power, Process};
use super::{
    Sqlite, fetch_commit, fetch_devices as devices, fetch_jobs as jobs, fetch_pages as pages, fetch_pins as pins,
    fetch_sites as sites, fetch_trim,
};
use crate::bodies;
use crate::fetch_rows::{ANSWERS, DEVICES};
use crate::tour_rows::PINS;

#[async_trait]
impl Fetch for Sqlite {
    async fn ask(&self, job: NewJob, act: Act) -> Result<Job> {
        job.check()?;
        self.write("fetch.ask", Power.for_many(job.wanted.len()), move |tx| jobs::ask(tx, &job, &act)).await
    }

    async fn job(&self, scope: &Scope, id: JobId) -> Result<Job> {
        let scope = scope.clone();
        self.read(move |conn| jobs::get(conn, &scope, id)).await
    }

    async fn jobs(&self, scope: &Scope, below: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        let scope = scope.clone();
        self.read(move |conn| jobs::list(conn, &scope, below, limit)).await
    }

    async fn cancel(&self, scope: &Scope, id: JobId, act: Act) -> Result<Job> {
        let scope = scope.clone();
        self.write("fetch", Power, move |tx| jobs::cancel(tx, &scope, id, &act)).await
    }

    async fn answers(&self, id: JobId, after: u64, limit: usize) -> Result<Vec<Answered>> {
        let rows = self.read(move |conn| jobs::answers(conn, id, after, limit)).await?;
        bodies::fetch_answers(self.depot(), rows).await
    }

    async fn forget(&self, urls: Vec<UrlKey>, act: Act) -> Result<u64> {
        self.write("fetch", Power, move |tx| pages::forget(tx, &urls, &act)).await
    }

    fn answered(&self) -> Arrivals {
        self.signals.subscribe(ANSWERS)
    }

    async fn ready(&self, limit: usize) -> Result<Vec<Ready>> {
        self.read(move |conn| sites::ready(conn, limit)).await
    }

    async fn want_robots(&self, of: Vec<Site>, lanes: LaneSettings) -> Result<()> {
        self.write("fetch", Process, move |tx| sites::want_robots(tx, &of, lanes)).await
    }

    async fn robots(&self, site: &Site) -> Result<Option<KnownRobots>> {
        let site = site.clone();
        self.read(move |conn| sites::robots(conn, &site)).await
    }

    async fn leased(&self, tokens: &[LeaseToken]) -> Result<Vec<Leased>> {
        let tokens = tokens.to_vec();
        self.read(move |conn| sites::leased(conn, &tokens)).await
    }

    async fn wanted(&self, tokens: &[LeaseToken]) -> Result<Vec<LeaseToken>> {
        let tokens = tokens.to_vec();
        self.read(move |conn| sites::wanted(conn, &tokens)).await
    }

    async fn commit(&self, mut commit: Commit) -> Result<Vec<Result<()>>> {
        let deadline = bodies::place_pages(self, self.depot(), &mut commit).await?;
        let way = Power.for_many(commit.settled.len());
        let verb = move |tx: &mut Tx<'_>| deadline.check(tx.now).and_then(|()| fetch_commit::commit(tx, &commit));
        self.write("fetch.commit", way, verb).await
    }

    async fn answer_orphans(&self, limit: usize) -> Result<u64> {
        // Looked for beside the writer: all who wait are looked through.
        let orphans = self.read(move |conn| fetch_commit::orphans(conn, limit)).await?;
        if orphans.is_empty() {
            return Ok(0);
        }
        self.write("fetch", Process, move |tx| fetch_commit::answer_orphans(tx, &orphans)).await
    }

    fn pinned(&self) -> Arrivals {
        self.signals.subscribe(PINS)
    }

    async fn pinned_places(&self) -> Result<Vec<String>> {
        self.read(pins::places).await
    }

    async fn take_pins(&self, places: Vec<String>, lanes: LaneSettings, limit: usize) -> Result<Vec<Site>> {
        self.write("fetch", Process, move |tx| pins::take(tx, &places, lanes, limit)).await
    }

    async fn expire_pins(&self, job: JobId) -> Result<u64> {
        self.write("fetch", Process, move |tx| pins::expire(tx, job)).await
    }

    async fn site(&self, site: &Site) -> Result<Option<KnownSite>> {
        let site = site.clone();
        self.read(move |conn| sites::site(conn, &site)).await
    }

    async fn join(&self, device: NewDevice) -> Result<Device> {
        device.check()?;
        self.write("fetch", Power, move |tx| devices::join(tx, &device)).await
    }

    async fn device_by_secret(&self, secret_hash: &[u8]) -> Result<Option<Device>> {
        let hash = secret_hash.to_vec();
        self.read(move |conn| devices::by_secret(conn, &hash)).await
    }

    async fn device_seen(&self, id: DeviceId, measures: Measures) -> Result<bool> {
        self.write("fetch", Process, move |tx| devices::seen(tx, id, measures)).await
    }

    async fn device_left(&self, id: DeviceId) -> Result<()> {
        self.write("fetch", Process, move |tx| devices::left(tx, id)).await
    }

    async fn devices(&self, scope: &Scope) -> Result<Vec<Device>> {
        let scope = scope.clone();
        self.read(move |conn| devices::list(conn, &scope)).await
    }

    async fn block_device(&self, scope: &Scope, id: DeviceId, blocked: bool, act: Act) -> Result<Device> {
        let scope = scope.clone();
        self.write("fetch", Power, move |tx| devices::block(tx, &scope, id, blocked, &act)).await
    }

    fn devices_changed(&self) -> Arrivals {
        self.signals.subscribe(DEVICES)
    }

    async fn cache_size(&self) -> Result<CacheSize> {
        self.read(pages::size).await
    }

    async fn trim(&self, keep: Keep) -> Result<u64> {
        self.write("fetch", Process.large(), move |tx| fetch_trim::trim(tx, &keep)).await
    }
}
