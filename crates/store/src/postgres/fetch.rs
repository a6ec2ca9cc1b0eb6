//! The verbs of fetch on the shared store.

use async_trait::async_trait;
use deadpool_postgres::{Object, Transaction};
use malla_fetch::{
    Answered, CacheSize, Commit, Device, DeviceId, Fetch, Job, JobId, Keep, KnownRobots, KnownSite, Measures,
    NewDevice, NewJob, Ready, Site, UrlKey,
};
use malla_queue::{Act, Arrivals, LaneSettings, LeaseToken, Leased, Result, Scope};

use super::pool::{Broken, with_retries};
use super::{
    Postgres, fetch_commit, fetch_devices as devices, fetch_jobs as jobs, fetch_pins as pins, fetch_shelf as shelf,
    fetch_sites as sites, fetch_trim, point, said, verb,
};
use crate::bodies;
use crate::fetch_rows::{ANSWERS, DEVICES};
use crate::tour_rows::PINS;

/// Plans are made once, often while the tables are still empty, and must hold when there are millions of rows: so rows
/// are found by their indexes, and what is given is matched with them by a hash.
const BY_INDEX: &str =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_nestloop = off; SET LOCAL enable_mergejoin = off";

/// Begins a transaction of this room.
pub(super) async fn begin(client: &mut Object) -> Result<Transaction<'_>, Broken> {
    let tx = client.transaction().await?;
    tx.batch_execute(BY_INDEX).await?;
    Ok(tx)
}

#[async_trait]
impl Fetch for Postgres {
    async fn ask(&self, job: NewJob, act: Act) -> Result<Job> {
        job.check()?;
        let (job, rouse) = verb!(self, "fetch.ask", |client, now| jobs::ask(&mut client, &job, &act, now));
        self.nudger.rouse(rouse);
        Ok(job)
    }

    async fn job(&self, scope: &Scope, id: JobId) -> Result<Job> {
        jobs::get(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn jobs(&self, scope: &Scope, below: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
        jobs::list(&self.client().await?, scope, below, limit).await.map_err(said)
    }

    async fn cancel(&self, scope: &Scope, id: JobId, act: Act) -> Result<Job> {
        let job = verb!(self, "fetch", |client, now| jobs::cancel(&mut client, scope, id, &act, now));
        self.nudger.rouse(vec![ANSWERS.to_owned()]);
        Ok(job)
    }

    async fn answers(&self, id: JobId, after: u64, limit: usize) -> Result<Vec<Answered>> {
        // The connection is given back first: objects may take their time.
        let rows = { jobs::answers(&self.client().await?, id, after, limit).await.map_err(said)? };
        bodies::fetch_answers(self.depot(), rows).await
    }

    async fn forget(&self, urls: Vec<UrlKey>, act: Act) -> Result<u64> {
        Ok(verb!(self, "fetch", |client, now| shelf::forget(&mut client, &urls, &act, now)))
    }

    fn answered(&self) -> Arrivals {
        self.signals.subscribe(ANSWERS)
    }

    async fn ready(&self, limit: usize) -> Result<Vec<Ready>> {
        sites::ready(&self.client().await?, limit).await.map_err(said)
    }

    async fn want_robots(&self, of: Vec<Site>, lanes: LaneSettings) -> Result<()> {
        let rouse = verb!(self, "fetch", |client, now| sites::want_robots(&mut client, &of, lanes, now));
        self.nudger.rouse(rouse);
        Ok(())
    }

    async fn robots(&self, site: &Site) -> Result<Option<KnownRobots>> {
        let known = sites::site(&self.client().await?, site).await.map_err(said)?;
        Ok(known.and_then(|known| known.robots))
    }

    async fn leased(&self, tokens: &[LeaseToken]) -> Result<Vec<Leased>> {
        let leased = sites::leased(&self.client().await?, tokens).await.map_err(said)?;
        Ok(leased.into_iter().map(|(leased, _)| leased).collect())
    }

    async fn wanted(&self, tokens: &[LeaseToken]) -> Result<Vec<LeaseToken>> {
        sites::wanted(&self.client().await?, tokens).await.map_err(said)
    }

    async fn commit(&self, mut commit: Commit) -> Result<Vec<Result<()>>> {
        let deadline = bodies::place_pages(self, self.depot(), &mut commit).await?;
        let (answers, rouse) = verb!(self, "fetch.commit", |client, now| async {
            deadline.check(now)?;
            fetch_commit::commit(&mut client, &commit, now).await
        });
        self.nudger.rouse(rouse);
        Ok(answers)
    }

    async fn answer_orphans(&self, limit: usize) -> Result<u64> {
        let (count, rouse) = verb!(self, "fetch", |client, now| fetch_commit::answer_orphans(&mut client, limit, now));
        self.nudger.rouse(rouse);
        Ok(count)
    }

    fn pinned(&self) -> Arrivals {
        self.signals.subscribe(PINS)
    }

    async fn pinned_places(&self) -> Result<Vec<String>> {
        pins::places(&self.client().await?).await.map_err(said)
    }

    async fn take_pins(&self, places: Vec<String>, lanes: LaneSettings, limit: usize) -> Result<Vec<Site>> {
        let (sites, rouse) = verb!(self, "fetch", |client, now| pins::take(&mut client, &places, lanes, limit, now));
        self.nudger.rouse(rouse);
        Ok(sites)
    }

    async fn expire_pins(&self, job: JobId) -> Result<u64> {
        let (count, rouse) = verb!(self, "fetch", |client, now| pins::expire(&mut client, job, now));
        self.nudger.rouse(rouse);
        Ok(count)
    }

    async fn site(&self, site: &Site) -> Result<Option<KnownSite>> {
        sites::site(&self.client().await?, site).await.map_err(said)
    }

    async fn join(&self, device: NewDevice) -> Result<Device> {
        device.check()?;
        Ok(verb!(self, "fetch", |client, now| devices::join(&mut client, &device, now)))
    }

    async fn device_by_secret(&self, secret_hash: &[u8]) -> Result<Option<Device>> {
        devices::by_secret(&self.client().await?, secret_hash).await.map_err(said)
    }

    async fn device_seen(&self, id: DeviceId, measures: Measures) -> Result<bool> {
        Ok(verb!(self, "fetch", |client, now| devices::seen(&mut client, id, measures, now)))
    }

    async fn device_left(&self, id: DeviceId) -> Result<()> {
        let rouse = verb!(self, "fetch", |client, now| devices::left(&mut client, id, now));
        self.nudger.rouse(rouse);
        Ok(())
    }

    async fn devices(&self, scope: &Scope) -> Result<Vec<Device>> {
        devices::list(&self.client().await?, scope).await.map_err(said)
    }

    async fn block_device(&self, scope: &Scope, id: DeviceId, blocked: bool, act: Act) -> Result<Device> {
        let (device, rouse) =
            verb!(self, "fetch", |client, now| devices::block(&mut client, scope, id, blocked, &act, now));
        self.nudger.rouse(rouse);
        Ok(device)
    }

    fn devices_changed(&self) -> Arrivals {
        self.signals.subscribe(DEVICES)
    }

    async fn cache_size(&self) -> Result<CacheSize> {
        shelf::size(&self.client().await?).await.map_err(said)
    }

    async fn trim(&self, keep: Keep) -> Result<u64> {
        Ok(verb!(self, "fetch", |client, now| fetch_trim::trim(&mut client, &keep, now)))
    }
}
