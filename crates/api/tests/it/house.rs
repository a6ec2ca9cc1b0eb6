//! A server to test against: the real routes and layers on a store in a temporary directory, with two groups and a
//! caller of each role in the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Html;
use malla_access::{Access, NewToken, NewUser, Passwords, Role, Secret};
use malla_analyze::{Analyst, OnArrival, Recent};
use malla_api::{AnalystHere, AnalyzeOptions, Fetching, Services, Settings, layers, router};
use malla_fetch::{Dispatcher, DispatcherOptions};
use malla_notify::{Intake, RecentEvents};
use malla_queue::drill::{KIND, room};
use malla_queue::worker::Work as _;
use malla_queue::{
    Act, Clock as _, Holder, Kind, LaneKey, LeaseRequest, Limits, ManualClock, NewTask, Queue, Room, TaskId, UnixMs,
    Verdict,
};
use malla_store::sqlite::Sqlite;
use malla_wiki::Asking;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// 2026-01-31T12:00:00Z
const NOON: UnixMs = UnixMs(1_769_860_800_000);

/// Members that were not heard of for this long are lost.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(15);

const CONTACT: &str = "ops@example.org";

pub(crate) struct House {
    pub(crate) router: Router,
    pub(crate) store: Arc<Sqlite>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ready: Arc<AtomicBool>,
    names: AtomicUsize,
    _dir: tempfile::TempDir,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
    pub(crate) text: String,
}

impl Answer {
    /// Asserts a refusal: status, code, and words that must be in its sentence.
    pub(crate) fn refused(&self, status: u16, code: &str, words: &[&str]) {
        assert_eq!((self.status.as_u16(), self.json["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.json["status"], status);
        assert_eq!(self.json["type"], format!("urn:malla:problem:{code}"));
        assert_eq!(self.json["request_id"], self.headers["x-request-id"].to_str().unwrap());
        let detail = self.json["detail"].as_str().unwrap();
        for word in words {
            assert!(detail.contains(word), "\"{detail}\" lacks \"{word}\"");
        }
    }

    pub(crate) fn ok(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.text);
        self.json
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.json["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        // More than a test begins.
        let analyzing = AnalyzeOptions { studies_max: 10_000, ..AnalyzeOptions::default() };
        Self::open(settings, analyzing, CONTACT).await
    }

    pub(crate) async fn analyzing(options: AnalyzeOptions) -> Self {
        Self::open(Settings::default(), options, CONTACT).await
    }

    /// With an analyst in the same process, and where records are left for it.
    pub(crate) async fn with_analyst() -> (Self, AnalystHere) {
        let (dir, clock, store) = Self::site().await;
        let recent = Arc::new(Recent::new(1_000_000));
        let analyst = Arc::new(Analyst::new(store.clone(), clock.clone(), recent.clone(), 1));
        let here = AnalystHere { analyst, when: OnArrival::Always, recent };
        let (rooms, options) =
            (store.clone(), AnalyzeOptions { here: Some(here.clone()), ..AnalyzeOptions::default() });
        (Self::built(dir, clock, store, &rooms, Settings::default(), options, CONTACT).await, here)
    }

    /// Nobody said whom wikis may turn to.
    pub(crate) async fn without_contact() -> Self {
        Self::open(Settings::default(), AnalyzeOptions::default(), "").await
    }

    /// Who calls is known; all else is in a store that is gone.
    pub(crate) async fn without_rooms() -> Self {
        let (dir, clock, store) = Self::site().await;
        let gone = Sqlite::open(&dir.path().join("gone.db"), clock.clone(), Limits::default()).await.unwrap();
        gone.close().await;
        Self::built(dir, clock, store, &gone, Settings::default(), AnalyzeOptions::default(), CONTACT).await
    }

    async fn open(settings: Settings, analyzing: AnalyzeOptions, contact: &str) -> Self {
        let (dir, clock, store) = Self::site().await;
        let rooms = store.clone();
        Self::built(dir, clock, store, &rooms, settings, analyzing, contact).await
    }

    async fn site() -> (tempfile::TempDir, Arc<ManualClock>, Arc<Sqlite>) {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(NOON));
        let store = Sqlite::open(&dir.path().join("malla.db"), clock.clone(), Limits::default()).await.unwrap();
        (dir, clock, store)
    }

    async fn built(
        dir: tempfile::TempDir,
        clock: Arc<ManualClock>,
        store: Arc<Sqlite>,
        rooms: &Arc<Sqlite>,
        settings: Settings,
        analyzing: AnalyzeOptions,
        contact: &str,
    ) -> Self {
        let ready = Arc::new(AtomicBool::new(true));
        let is_ready = ready.clone();
        let services = Services {
            queue: rooms.clone(),
            access: store.clone(),
            notify: rooms.clone(),
            statistics: rooms.clone(),
            alerts: rooms.clone(),
            intake: Arc::new(Intake::new(rooms.clone(), Arc::new(RecentEvents::default()))),
            fetch: rooms.clone(),
            tours: rooms.clone(),
            dispatcher: Dispatcher::new(rooms.clone(), rooms.clone(), clock.clone(), DispatcherOptions::default()),
            fetching: Fetching { control_key: Some([7; 32]), ..Fetching::default() },
            trust: rooms.clone(),
            ledger: rooms.clone(),
            blocking: rooms.clone(),
            door: malla_fetch::door::Door::new(Default::default(), rooms.clone(), rooms.clone(), clock.clone()),
            analyze: rooms.clone(),
            analyzing,
            wikis: rooms.clone(),
            asking: Arc::new(Asking {
                wikis: rooms.clone(),
                contact: contact.into(),
                template: "https://{locale}.wiki.test/".into(),
                gap_ms: 0,
                extractions_max: 10_000,
            }),
            cluster: rooms.clone(),
            dead_after: DEAD_AFTER,
            backend: "sqlite",
            clock: clock.clone(),
            passwords: Passwords::new().unwrap(),
            metrics: Arc::new(|| "malla_up 1\n".to_owned()),
            ready: Arc::new(
                move || if is_ready.load(Ordering::SeqCst) { Ok(None) } else { Err("shutting down".into()) },
            ),
            settings: settings.clone(),
        };
        // The console is merged with the API, and has a page for what it does not know.
        let console = Router::new().fallback(async || (StatusCode::NOT_FOUND, Html("<h1>no such page</h1>")));
        let router = layers(router(services).merge(console), &settings);
        let house = Self { router, store, clock, ready, names: AtomicUsize::new(0), _dir: dir };
        house.furnish().await;
        house
    }

    async fn furnish(&self) {
        for group in ["alpha", "beta"] {
            self.store.create_group(group, act()).await.unwrap();
        }
        let password_hash = Some("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAA".to_owned());
        let admin = NewUser { name: "root".into(), role: Role::Admin, password_hash, groups: vec![] };
        self.store.create_user(admin, act()).await.unwrap();
        for role in Role::ALL {
            let group = (role != Role::Admin).then_some("alpha");
            self.token(role.name(), role, group).await;
        }
        self.token("beta", Role::User, Some("beta")).await;
    }

    /// Makes a token whose secret is its own name.
    pub(crate) async fn token(&self, name: &str, role: Role, group: Option<&str>) {
        let hash = Secret::from_text(name).hash();
        let token = NewToken { name: name.into(), hash, role, group: group.map(Into::into), expires_at: None };
        self.store.create_token(token, act()).await.unwrap();
    }

    /// A name that nothing has yet.
    pub(crate) fn new_name(&self, what: &str) -> String {
        format!("{what}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.call("GET", path, token, None).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call("POST", path, token, Some(body)).await
    }

    /// An empty token sends none.
    pub(crate) async fn call(&self, method: &str, path: &str, token: &str, body: Option<Value>) -> Answer {
        self.keyed(method, path, token, body, None).await
    }

    pub(crate) async fn keyed(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<Value>,
        key: Option<&str>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let bytes = if streams { Default::default() } else { to_bytes(body, 1 << 24).await.unwrap() };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status: parts.status, headers: parts.headers, json, text }
    }

    /// A drill in `lane`, owned (like its lane) by `group`.
    pub(crate) async fn drill(&self, lane: &str, group: &str) -> TaskId {
        let owner = self.store.group(&malla_queue::Scope::All, group).await.unwrap().id;
        let lane: LaneKey = lane.parse().unwrap();
        let task = NewTask { group: Some(owner), lane_group: Some(owner), ..NewTask::new(lane, Kind::new(KIND), "{}") };
        self.store.submit(vec![task], None).await.unwrap()[0].id
    }

    /// An endpoint of a group's, and its name.
    pub(crate) async fn endpoint(&self, group: &str) -> String {
        let name = self.new_name("endpoint");
        self.post("/api/v1/endpoints", "admin", json!({ "name": name, "group": group })).await.ok();
        name
    }

    /// A subscription to an endpoint, in the endpoint's group, and its name.
    pub(crate) async fn subscription(&self, endpoint: &str) -> String {
        let name = self.new_name("subscription");
        let body = json!({ "name": name, "endpoint": endpoint, "target": "http://127.0.0.1:9/", "retry_delays_s": [] });
        self.post("/api/v1/subscriptions", "admin", body).await.ok();
        name
    }

    /// Posts an event, and gives its id.
    pub(crate) async fn event(&self, endpoint: &str, body: &str) -> String {
        let request = Request::post(format!("/in/{endpoint}")).body(Body::from(body.to_owned())).unwrap();
        self.send(request).await.ok()["id"].as_str().unwrap().to_owned()
    }

    /// Works on all that is due of analyses, until nothing is; says how many tasks that were.
    pub(crate) async fn analyze(&self) -> usize {
        self.analyze_by(&Analyst::new(self.store.clone(), self.clock.clone(), Arc::new(Recent::new(0)), 1)).await
    }

    /// The same by this analyst.
    pub(crate) async fn analyze_by(&self, analyst: &Analyst) -> usize {
        let rooms = vec![Room::new(malla_analyze::ROOM).unwrap()];
        let mut worked = 0;
        loop {
            let holder = Holder::Member("test".into());
            let request = LeaseRequest::new(rooms.clone(), 100, holder, Duration::from_secs(30));
            let leases = self.store.lease(request).await.unwrap();
            if leases.tasks.is_empty() {
                return worked;
            }
            for task in &leases.tasks {
                assert!(analyst.work(task).await.is_none(), "it commits by itself");
                worked += 1;
            }
        }
    }

    /// Leases all that is due and ends it with this verdict.
    pub(crate) async fn finish_all(&self, verdict: Verdict) {
        let request = LeaseRequest::new(
            vec![room(), Room::new(malla_notify::ROOM).unwrap()],
            100,
            Holder::Member("test".into()),
            Duration::from_secs(30),
        );
        let leases = self.store.lease(request).await.unwrap();
        let now = self.clock.now();
        let endings = leases.tasks.iter().map(|task| (task.token, verdict.clone().ending(task, now))).collect();
        for ended in self.store.finish(endings).await.unwrap() {
            ended.unwrap();
        }
    }
}

pub(crate) fn act() -> Act {
    Act::new("test", "test.prepare", "")
}

pub(crate) fn encoded(lane: &str) -> String {
    lane.replace('%', "%25").replace('/', "%2F")
}
