//! Jobs, pages and devices for tests.

use std::time::Duration;

use malla_fetch::{
    About, Answered, CheckedBody, Commit, Device, DeviceId, Job, JobId, NewDevice, NewJob, NewPage, PackedBody, Page,
    PageTask, PageUrl, ROOM, Renewal, Seen, Settled, Settlement, Shelf, Tally, Terms, Validators, Wanted, unpack,
};
use malla_queue::{
    Clock as _, GroupId, Holder, LaneSettings, LeaseRequest, Leased, Outcome, Result, Room, Scope, UnixMs, Verdict,
};

use crate::harness::{House, LEASE, act};

/// Of sites that are met for the first time.
pub(crate) const LANES: LaneSettings = LaneSettings { ceiling: 1, gap_ms: 0 };
/// How long pages are fresh.
pub(crate) const FRESH: Duration = Duration::from_secs(3_600);

pub(crate) fn url(text: &str) -> PageUrl {
    PageUrl::parse(text).expect("a URL")
}

pub(crate) fn new_job(urls: &[&str]) -> NewJob {
    let wanted = urls.iter().map(|url| Wanted::read(url, true)).collect();
    NewJob { group: None, wanted, pending_max: 10_000, lanes: LANES, terms: Terms::default() }
}

/// One that takes nothing from the cache.
pub(crate) fn anew(urls: &[&str]) -> NewJob {
    NewJob { wanted: urls.iter().map(|url| Wanted::read(url, false)).collect(), ..new_job(urls) }
}

pub(crate) fn body(raw: &[u8]) -> CheckedBody {
    let packed = zstd::bulk::compress(raw, 3).expect("packs");
    let body = PackedBody { packed: packed.into(), bytes: raw.len() as u64, hash: None };
    CheckedBody::check(&body, u64::MAX).expect("it unpacks").expect("it is not empty")
}

pub(crate) fn raw(page: &Page) -> Vec<u8> {
    unpack(&page.body.packed, page.body.bytes).expect("it unpacks")
}

pub(crate) fn task_of(leased: &Leased) -> PageTask {
    PageTask::from_payload(&leased.payload).expect("a page's task")
}

pub(crate) fn urls_of(leased: &[Leased]) -> Vec<String> {
    leased.iter().map(|leased| task_of(leased).url.to_string()).collect()
}

pub(crate) fn new_device(owner: &str, name: &str) -> NewDevice {
    let about = About { system: "linux x86_64".into(), country: Some("DE".into()), ..About::default() };
    NewDevice {
        name: name.into(),
        owner: owner.into(),
        group: None,
        about,
        secret_hash: format!("{owner} {name}").into(),
    }
}

/// For `FRESH`, with a validator.
pub(crate) fn shelf(now: UnixMs) -> Shelf {
    let validators = Validators { etag: Some("\"1\"".into()), last_modified: None };
    Shelf { fresh_until: now.plus(FRESH), validators }
}

/// The word of a site that a page has not changed: with these headers, fresh for `FRESH` if they say nothing.
pub(crate) fn renewal(now: UnixMs, headers: &[(&str, &str)]) -> Renewal {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Renewal { headers, at: now, took_ms: 0, unsaid: FRESH }
}

impl House {
    pub(crate) async fn ask(&self, urls: &[&str]) -> Job {
        self.ask_for(new_job(urls)).await
    }

    pub(crate) async fn ask_for(&self, job: NewJob) -> Job {
        self.fetch.ask(job, act("fetch.ask")).await.expect("takes the job in")
    }

    pub(crate) async fn ask_as(&self, group: GroupId, urls: &[&str]) -> Job {
        self.ask_for(NewJob { group: Some(group), ..new_job(urls) }).await
    }

    pub(crate) async fn job(&self, id: JobId) -> Job {
        self.fetch.job(&Scope::All, id).await.expect("the job is there")
    }

    pub(crate) async fn answers(&self, id: JobId) -> Vec<Answered> {
        self.fetch.answers(id, 0, 1_000).await.expect("the store answers")
    }

    /// The job's answers: each with its URL and the text of its page.
    pub(crate) async fn texts(&self, id: JobId) -> Vec<(String, String)> {
        let text = |answer: &Answered| String::from_utf8(raw(&answer.page)).expect("text");
        self.answers(id).await.iter().map(|answer| (answer.url.clone(), text(answer))).collect()
    }

    /// All that may be leased now, a whole run from each site, in the order of URLs.
    pub(crate) async fn lease_pages(&self) -> Vec<Leased> {
        self.lease_pages_as(DeviceId(1)).await
    }

    pub(crate) async fn lease_pages_as(&self, device: DeviceId) -> Vec<Leased> {
        let (rooms, holder) = (vec![Room::new(ROOM).expect("a room")], Holder::Device(device.0.to_string()));
        let request = LeaseRequest { run_max: 1_000, ..LeaseRequest::new(rooms, 1_000, holder, LEASE) };
        let mut tasks = self.queue.lease(request).await.expect("leases").tasks;
        tasks.sort_by_key(|leased| task_of(leased).url);
        tasks
    }

    pub(crate) async fn lease_page(&self) -> Leased {
        let mut leased = self.lease_pages().await;
        assert_eq!(leased.len(), 1, "{leased:?}");
        leased.remove(0)
    }

    pub(crate) fn settled(&self, leased: &Leased, outcome: Settlement) -> Settled {
        let ending = self.ending(leased, Verdict::Done(Outcome::default()));
        Settled { token: leased.token, ending, outcome, seen: None }
    }

    pub(crate) fn seen(&self, leased: &Leased, seen: Seen, outcome: Settlement) -> Settled {
        Settled { seen: Some((task_of(leased).url.site(), seen)), ..self.settled(leased, outcome) }
    }

    pub(crate) fn new_page(&self, leased: &Leased, status: u16, text: &str) -> NewPage {
        NewPage {
            url: task_of(leased).url.to_string(),
            status,
            headers: vec![("content-type".into(), "text/html".into())],
            body: (!text.is_empty()).then(|| body(text.as_bytes())),
            trouble: None,
            fetched_at: self.clock.now(),
            took_ms: 20,
            device: Some("pi".into()),
        }
    }

    /// A page with this text, for the cache.
    pub(crate) fn found(&self, leased: &Leased, text: &str) -> Settled {
        let page = self.new_page(leased, 200, text);
        let shelf = Some(shelf(self.clock.now()));
        self.settled(leased, Settlement::Page { url: task_of(leased).url, page, shelf })
    }

    /// An answer that is not for the cache.
    pub(crate) fn given(&self, leased: &Leased, status: u16, text: &str) -> Settled {
        let page = self.new_page(leased, status, text);
        self.settled(leased, Settlement::Page { url: task_of(leased).url, page, shelf: None })
    }

    pub(crate) async fn commit(&self, settled: Vec<Settled>) -> Vec<Result<()>> {
        let commit = Commit { settled, lanes: LANES, ..Commit::default() };
        self.fetch.commit(commit).await.expect("the store answers")
    }

    pub(crate) async fn commit_as(&self, device: DeviceId, settled: Vec<Settled>, tally: Tally) -> Vec<Result<()>> {
        let commit = Commit { device: Some(device), settled, tally, lanes: LANES, ..Commit::default() };
        self.fetch.commit(commit).await.expect("the store answers")
    }

    /// Commits one that must be taken.
    pub(crate) async fn settle(&self, settled: Settled) {
        assert_eq!(self.commit(vec![settled]).await, [Ok(())]);
    }

    /// Fetches what waits, each page with this text.
    pub(crate) async fn fetch_all(&self, text: &str) {
        let leased = self.lease_pages().await;
        let settled = leased.iter().map(|leased| self.found(leased, text)).collect();
        assert!(self.commit(settled).await.iter().all(Result::is_ok));
    }

    /// Puts a page onto the shelf.
    pub(crate) async fn cache(&self, url: &str, text: &str) {
        self.ask_for(anew(&[url])).await;
        self.fetch_all(text).await;
    }

    pub(crate) async fn join(&self, owner: &str, name: &str) -> Device {
        self.fetch.join(new_device(owner, name)).await.expect("joins")
    }

    pub(crate) async fn device(&self, id: DeviceId) -> Device {
        let devices = self.fetch.devices(&Scope::All).await.expect("lists");
        devices.into_iter().find(|device| device.id == id).expect("the device is there")
    }
}
