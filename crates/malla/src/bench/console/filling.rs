//! Fills a store with what a busy house has after a while.

use std::future::Future;
use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use malla_fetch::compare::{CompareSpec, new_comparison};
use malla_fetch::crawl::{CrawlSpec, new_crawl};
use malla_fetch::watch::{WatchSpec, new_watch};
use malla_fetch::{NewJob, Wanted};
use malla_notify::{
    Accept, Accepted, Counted, EndpointOptions, Figures, NewEndpoint, NewEvent, NewSubscription, Step, Subject,
    Subscription, SubscriptionSpec, SubscriptionState, Target,
};
use malla_queue::{
    Act, Clock as _, Failure, GroupId, Holder, Kind, LaneKey, LaneSettings, LeaseRequest, Leased, Limits, NewTask,
    NextTry, Outcome, Room, Scope, SystemClock, UnixMs, Verdict,
};
use malla_store::Opened;
use malla_wiki::dump::{self, Batches};
use malla_wiki::{NewImport, NewWiki};
use serde_json::json;
use tokio::task::JoinSet;

use super::Load;
use crate::bench::histories::{Dump, Shape};
use crate::output::talk;

/// The group that the measured user is in; it owns a part of everything.
pub(super) const GROUP: &str = "bench";
/// One of so many things is the group's.
const OWNED: u64 = 4;
const CALLERS: u64 = 64;
const BATCH: usize = 500;
const ENDPOINTS: u64 = 20;
const REVISIONS_OF_PAGE: u64 = 100;
const JOBS: u64 = 200;
const JOB_URLS: u64 = 50;
/// Crawls, watches and comparisons each.
const TOURS: u64 = 2_000;
const LEASE_FOR: Duration = Duration::from_secs(600);
/// How often somebody looks for work in vain before there is none.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Fills the store at `url`, which must be empty.
pub(super) async fn fill(url: &str, load: Load) -> Result<()> {
    let clock = Arc::new(SystemClock::default());
    let limits = Limits { pending_max: 100_000_000, ..Limits::default() };
    let store = Arc::new(malla_store::open(url, clock.clone(), limits).await?);
    let group = store.access.create_group(GROUP, Act::new("malla", "group.create", GROUP)).await?.id;
    let house = House { store: store.clone(), clock, group, load };
    talk("tasks");
    house.tasks().await?;
    house.work("bench", load.each * 65 / 100).await?;
    talk("events");
    house.events().await?;
    house.work(malla_notify::ROOM, load.each * 95 / 100).await?;
    talk("words of the events");
    while store.notify.index(2_000).await? > 0 {}
    house.fetch_jobs().await?;
    house.tours().await?;
    talk("revisions");
    house.histories().await?;
    store.close().await;
    Ok(())
}

struct House {
    store: Arc<Opened>,
    clock: Arc<SystemClock>,
    group: GroupId,
    load: Load,
}

impl House {
    fn owner(&self, n: u64) -> Option<GroupId> {
        n.is_multiple_of(OWNED).then_some(self.group)
    }

    async fn tasks(&self) -> Result<()> {
        let (each, lanes) = (self.load.each, self.load.lanes);
        let numbers: Vec<u64> = (0..each).collect();
        at_once(numbers.chunks(BATCH).map(|chunk| {
            let task = |n: &u64| {
                // A few lanes are long.
                let lane = if n.is_multiple_of(10) { n / 10 % 10 } else { n % lanes };
                let key: LaneKey = format!("bench/{lane}").parse().expect("a lane key");
                let owner = self.owner(lane);
                let settings = LaneSettings { ceiling: 10_000, gap_ms: 0 };
                let payload = format!(r#"{{"order":{n},"email":"test@example.com"}}"#);
                NewTask {
                    lane_settings: settings,
                    group: owner,
                    lane_group: owner,
                    ..NewTask::new(key, Kind::new("bench"), payload)
                }
            };
            let (queue, batch) = (self.store.queue.clone(), chunk.iter().map(task).collect());
            async move { Ok(queue.submit(batch, None).await.map(drop)?) }
        }))
        .await
    }

    /// Takes tasks of a room and ends them: one of twenty fails for good.
    async fn work(&self, room: &'static str, count: u64) -> Result<()> {
        let done = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let mut loops = JoinSet::new();
        for _ in 0..4 {
            let (queue, clock, done) = (self.store.queue.clone(), self.clock.clone(), done.clone());
            loops.spawn(async move {
                let mut vainly = 0;
                while done.load(std::sync::atomic::Ordering::Relaxed) < count {
                    let request =
                        LeaseRequest::new(vec![Room::new(room)?], BATCH, Holder::Member("bench".into()), LEASE_FOR);
                    let leased = queue.lease(request).await?.tasks;
                    // Others may hold all lanes at this moment.
                    vainly = if leased.is_empty() { vainly + 1 } else { 0 };
                    ensure!(vainly < LOOKS, "nothing of {room} is left to do");
                    if leased.is_empty() {
                        tokio::time::sleep(LOOK_AGAIN).await;
                        continue;
                    }
                    let now = clock.now();
                    let endings: Vec<_> =
                        leased.iter().map(|task| (task.token, verdict(task).ending(task, now))).collect();
                    done.fetch_add(endings.len() as u64, std::sync::atomic::Ordering::Relaxed);
                    queue.finish(endings).await?;
                }
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(ended) = loops.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn events(&self) -> Result<()> {
        let subscriptions = self.subscriptions().await?;
        self.figures(&subscriptions).await?;
        let mut versions = Vec::new();
        for n in 0..ENDPOINTS {
            let endpoint = self.store.notify.endpoint(&Scope::All, &format!("endpoint-{n}")).await?;
            versions.push((endpoint.id, endpoint.version));
        }
        let (versions, subscriptions) = (Arc::new(versions), Arc::new(subscriptions));
        let each = self.load.each;
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (notify, versions, subscriptions) =
                (self.store.notify.clone(), versions.clone(), subscriptions.clone());
            callers.spawn(async move {
                for n in (caller..each).step_by(usize::try_from(CALLERS)?) {
                    let subscription = &subscriptions[usize::try_from(n)? % subscriptions.len()];
                    let (endpoint, version) = *versions
                        .iter()
                        .find(|(id, _)| *id == subscription.endpoint)
                        .expect("a subscription is to one of these endpoints");
                    let body = format!(
                        r#"{{"order":"order-{}","number":{n},"email":"test@example.com","total":{}}}"#,
                        n % 50_000,
                        n % 997
                    );
                    let event = NewEvent {
                        method: "POST".into(),
                        content_type: Some("application/json".into()),
                        body: body.into_bytes(),
                        ..NewEvent::default()
                    };
                    let accepted = notify
                        .accept(Accept { endpoint, version, event, to: vec![subscription.id], once: None })
                        .await?;
                    ensure!(matches!(accepted, Accepted::Safe(_)), "an event was not taken: {accepted:?}");
                }
                Ok(())
            });
        }
        while let Some(ended) = callers.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn subscriptions(&self) -> Result<Vec<Subscription>> {
        let notify = &self.store.notify;
        let act = |what: &'static str, name: &str| Act::new("malla", what, name);
        for n in 0..ENDPOINTS {
            let name = format!("endpoint-{n}");
            let act = act("endpoint.create", &name);
            let new = NewEndpoint { name, group: self.owner(n), options: EndpointOptions::default() };
            notify.create_endpoint(new, act).await?;
        }
        let mut made = Vec::new();
        for n in 0..self.load.subscriptions {
            let name = format!("subscription-{n}");
            let act = act("subscription.create", &name);
            let spec = SubscriptionSpec {
                target: Target(format!("http://127.0.0.1:9/{n}")),
                parallel: 10_000,
                ..SubscriptionSpec::default()
            };
            let (endpoint, group) = (format!("endpoint-{}", n % ENDPOINTS), self.owner(n % ENDPOINTS));
            let new = NewSubscription { name, endpoint, group, state: SubscriptionState::Active, spec };
            made.push(notify.create_subscription(&Scope::All, new, act).await?);
        }
        Ok(made)
    }

    /// A day of minutes of each subscription, two months of hours, and their days.
    async fn figures(&self, subscriptions: &[Subscription]) -> Result<()> {
        let now = self.clock.now();
        for subscription in subscriptions {
            for (step, count) in [(Step::Minute, 1_440_u32), (Step::Hour, 1_400), (Step::Day, 60)] {
                let figures =
                    Figures { events: 10, bytes: 1_000, delivered: 9, failed: 1, peak: 3, ..Figures::default() };
                let begin = |back: u32| {
                    let back = i64::try_from((step.lasts() * back).as_millis()).expect("a few months");
                    step.begin(UnixMs(now.0 - back))
                };
                let subjects = [Subject::Subscription(subscription.id), Subject::Endpoint(subscription.endpoint)];
                let counted: Vec<Counted> = (0..count)
                    .flat_map(|back| {
                        subjects.map(|subject| Counted { subject, step, begin: begin(back), figures: figures.clone() })
                    })
                    .collect();
                for part in counted.chunks(1_000) {
                    self.store.statistics.record("bench", part.to_vec()).await?;
                }
            }
        }
        Ok(())
    }

    async fn fetch_jobs(&self) -> Result<()> {
        for job in 0..JOBS {
            let url = |n: u64| format!("http://site-{}.invalid/page/{job}/{n}", (job * JOB_URLS + n) % 2_000);
            let wanted = (0..JOB_URLS).map(|n| Wanted::read(&url(n), true)).collect();
            let group = self.owner(job);
            let new = NewJob {
                group,
                wanted,
                pending_max: 1_000_000,
                lanes: LaneSettings { ceiling: 1, gap_ms: 1_000 },
                terms: Default::default(),
            };
            self.store.fetch.ask(new, Act { group, ..Act::new("malla", "fetch.ask", "pages") }).await?;
        }
        Ok(())
    }

    async fn tours(&self) -> Result<()> {
        let tours = &self.store.tours;
        for n in 0..TOURS {
            let (group, url) = (self.owner(n), format!("http://site-{n}.invalid/page/{n}"));
            let act = |what: &'static str| Act { group, ..Act::new("malla", what, "a tour") };
            let crawl = CrawlSpec { seeds: vec![url.clone()], ..CrawlSpec::default() };
            tours.begin(new_crawl(&crawl, group)?, act("crawl.begin")).await?;
            let watch = WatchSpec { url: url.clone(), ..WatchSpec::default() };
            tours.begin(new_watch(&watch, group, self.clock.now())?, act("watch.begin")).await?;
            let comparison = CompareSpec { urls: vec![url], devices: 2, ..CompareSpec::default() };
            tours.begin(new_comparison(&comparison, group)?, act("compare.begin")).await?;
        }
        Ok(())
    }

    async fn histories(&self) -> Result<()> {
        let wikis = &self.store.wikis;
        let new = NewWiki {
            group: Some(self.group),
            api: "http://wiki.invalid/api.php".parse()?,
            locale: "en".into(),
            name: "A wiki".into(),
            about: json!({}),
            scraped: false,
        };
        let wiki = wikis.found(new).await?;
        let begun = NewImport { wiki: wiki.id, name: "bench".into() };
        let import = wikis.begin_import(&Scope::All, begun, Act::new("malla", "wiki.import", "bench")).await?;
        let shape = Shape {
            pages: self.load.each / REVISIONS_OF_PAGE,
            revisions: REVISIONS_OF_PAGE,
            paragraphs: 3,
            users: 50_000,
        };
        for (number, batch) in (0..).zip(Batches::new(dump::Reader::new(BufReader::new(Dump::new(shape))))) {
            let import = wikis.import(&Scope::All, import.id).await?;
            dump::take(&**wikis, &import, number, &batch?.encode()?, false).await?;
        }
        Ok(())
    }
}

fn verdict(task: &Leased) -> Verdict {
    // Numbers follow each other in steps: what is left of them after a division would too.
    if (task.token.task.0.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).is_multiple_of(20) {
        let answer = json!({ "status": 500, "headers": { "server": "test" }, "body": "no", "truncated": false });
        return Verdict::Failed(Failure {
            answer: Some(answer),
            next: NextTry::Never,
            ..Failure::new("the target answered 500")
        });
    }
    Verdict::Done(Outcome { result: Some(b"\"done\"".to_vec()), ..Outcome::default() })
}

/// Runs these, a few at the same time.
async fn at_once<F: Future<Output = Result<()>> + Send + 'static>(jobs: impl Iterator<Item = F>) -> Result<()> {
    let mut running = JoinSet::new();
    for job in jobs {
        if running.len() >= 4
            && let Some(ended) = running.join_next().await
        {
            ended??;
        }
        running.spawn(job);
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}
