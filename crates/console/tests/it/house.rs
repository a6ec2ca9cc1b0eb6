//! A house for tests: a store in a temporary directory, four people, two groups, and a browser of a kind.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use malla_access::{Access as _, NewUser, Passwords, Role};
use malla_console::{Fetching, Services, Settings, router};
use malla_fetch::door::Door;
use malla_fetch::ledger::Prices;
use malla_fetch::quota::Quota;
use malla_notify::{Intake, RecentEvents};
use malla_queue::{
    Act, Clock as _, GroupId, Holder, Kind, LeaseRequest, Limits, ManualClock, NewTask, Queue as _, Room, TaskId,
    UnixMs, Verdict,
};
use malla_store::sqlite::Sqlite;
use malla_wiki::Asking;
use tower::ServiceExt as _;

pub(crate) const PASSWORD: &str = "correct horse";
/// Pages that may wait.
pub(crate) const PENDING_MAX: u64 = 60;
/// Pages that a group may ask for in a day.
pub(crate) const PAGES_A_DAY: u64 = 2_000;
/// Extractions that may be under way.
pub(crate) const EXTRACTIONS_MAX: u64 = 60;
/// Members that were not heard of for this long are lost.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(15);
const START: UnixMs = UnixMs(1_800_000_000_000);

pub(crate) struct House {
    pub(crate) router: Router,
    pub(crate) store: Arc<Sqlite>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ops: GroupId,
    pub(crate) payments: GroupId,
    _dir: tempfile::TempDir,
}

impl House {
    /// `root` is admin, `ana` user and `ben` readonly in ops, `cleo` user in payments.
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::built(settings, "ops@example.org").await
    }

    /// Nobody said whom wikis may turn to.
    pub(crate) async fn without_contact() -> Self {
        Self::built(Settings::default(), "").await
    }

    async fn built(settings: Settings, contact: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Arc::new(ManualClock::at(START));
        let path = dir.path().join("malla.db");
        let store = Sqlite::open(&path, clock.clone(), Limits::default()).await.expect("opens");
        let passwords = Passwords::new().expect("starts");
        let hash = passwords.hash(PASSWORD).await.expect("hashes");
        let act = || Act::new("malla", "first.run", "house");
        let ops = store.create_group("ops", act()).await.expect("a group").id;
        let payments = store.create_group("payments", act()).await.expect("a group").id;
        let people = [
            ("root", Role::Admin, ""),
            ("ana", Role::User, "ops"),
            ("ben", Role::Readonly, "ops"),
            ("cleo", Role::User, "payments"),
        ];
        for (name, role, group) in people {
            let groups = Some(group.to_owned()).filter(|group| !group.is_empty()).into_iter().collect();
            let user = NewUser { name: name.into(), role, password_hash: Some(hash.clone()), groups };
            store.create_user(user, act()).await.expect("a user");
        }
        let quota = Quota { pages_per_day: PAGES_A_DAY, ..Quota::default() };
        let services = Services {
            queue: store.clone(),
            access: store.clone(),
            notify: store.clone(),
            statistics: store.clone(),
            alerts: store.clone(),
            intake: Arc::new(Intake::new(store.clone(), Arc::new(RecentEvents::default()))),
            fetch: store.clone(),
            fetching: Fetching { pending_max: PENDING_MAX, ..Fetching::default() },
            tours: store.clone(),
            trust: store.clone(),
            ledger: store.clone(),
            blocking: store.clone(),
            door: Door::new((quota, Prices::default(), false), store.clone(), store.clone(), clock.clone()),
            analyze: store.clone(),
            wikis: store.clone(),
            asking: Arc::new(Asking {
                wikis: store.clone(),
                contact: contact.into(),
                template: "https://{locale}.wiki.test/".into(),
                gap_ms: 0,
                extractions_max: EXTRACTIONS_MAX,
            }),
            visits_per_day: 1_000,
            cluster: store.clone(),
            dead_after: DEAD_AFTER,
            clock: clock.clone(),
            passwords,
            settings,
        };
        Self { router: router(services), store, clock, ops, payments, _dir: dir }
    }

    /// Tasks of ops in one lane.
    pub(crate) async fn submit(&self, lane: &str, payload: &str, count: usize) -> Vec<TaskId> {
        self.submit_as(self.ops, lane, payload, count).await
    }

    pub(crate) async fn submit_as(&self, group: GroupId, lane: &str, payload: &str, count: usize) -> Vec<TaskId> {
        let task = NewTask {
            group: Some(group),
            lane_group: Some(group),
            ..NewTask::new(lane.parse().expect("a key"), Kind::new("drill"), payload)
        };
        let submitted = self.store.submit(vec![task; count], None).await.expect("submits");
        submitted.into_iter().map(|submitted| submitted.id).collect()
    }

    /// Whoever works: takes all that is ready in the room and ends each task with this verdict.
    pub(crate) async fn work(&self, room: &str, verdict: &Verdict) -> usize {
        let request = LeaseRequest::new(
            vec![Room::new(room).expect("a room")],
            100,
            Holder::Member("node-1".into()),
            Duration::from_secs(30),
        );
        let leased = self.store.lease(request).await.expect("leases").tasks;
        let now = self.clock.now();
        let endings = leased.iter().map(|task| (task.token, verdict.clone().ending(task, now))).collect();
        let ended = self.store.finish(endings).await.expect("finishes");
        ended.into_iter().filter(Result::is_ok).count()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("answers");
        let (head, body) = response.into_parts();
        let body = to_bytes(body, 10 << 20).await.expect("a body");
        let body = String::from_utf8(body.to_vec()).expect("text");
        Answer { status: head.status, headers: head.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    pub(crate) async fn sign_in(&self, name: &str) -> Visitor<'_> {
        let answer = self.try_to_sign_in(name, PASSWORD, "/").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let mut visitor =
            Visitor { house: self, cookie: answer.cookie("malla_session").expect("a session"), csrf: String::new() };
        visitor.csrf = visitor.get("/").await.csrf();
        visitor
    }

    pub(crate) async fn try_to_sign_in(&self, name: &str, password: &str, next: &str) -> Answer {
        self.send(form("/login", &[("name", name), ("password", password), ("next", next)])).await
    }
}

/// A form as a browser sends it from our own page.
pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    Request::post(path)
        .header(header::HOST, "malla.test")
        .header(header::ORIGIN, "http://malla.test")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(body))
        .expect("a request")
}

/// Somebody signed in.
pub(crate) struct Visitor<'a> {
    pub(crate) house: &'a House,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

impl Visitor<'_> {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    /// Sends a form with its token.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut fields = fields.to_vec();
        fields.push(("csrf", &self.csrf));
        self.send(form(path, &fields)).await
    }

    pub(crate) async fn send(&self, mut request: Request<Body>) -> Answer {
        let mut cookies = format!("malla_session={}", self.cookie);
        if let Some(others) = request.headers_mut().remove(header::COOKIE) {
            cookies = format!("{cookies}; {}", others.to_str().expect("text"));
        }
        request.headers_mut().insert(header::COOKIE, cookies.parse().expect("a header"));
        self.house.send(request).await
    }

    /// Goes where the answer leads, with the notice it carries.
    pub(crate) async fn follow(&self, answer: &Answer) -> Answer {
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let notice = answer.cookie("malla_notice").unwrap_or_default();
        let request = Request::get(answer.location()).header(header::COOKIE, format!("malla_notice={notice}"));
        self.send(request.body(Body::empty()).expect("a request")).await
    }
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn location(&self) -> &str {
        self.headers[header::LOCATION].to_str().expect("text")
    }

    pub(crate) fn set_cookies(&self) -> Vec<&str> {
        self.headers.get_all(header::SET_COOKIE).iter().map(|value| value.to_str().expect("text")).collect()
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let pair = |cookie: &&str| cookie.split(';').next().unwrap_or_default().to_owned();
        let pairs: Vec<String> = self.set_cookies().iter().map(pair).collect();
        pairs.iter().find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    }

    /// The token in the page's forms.
    pub(crate) fn csrf(&self) -> String {
        let (_, after) = self.body.split_once("name=\"csrf\" value=\"").expect("a form with a token");
        after.split('"').next().expect("a value").to_owned()
    }

    /// The value of a hidden field of a form.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> String {
        let before = format!("type=\"hidden\" name=\"{name}\" value=\"");
        let (_, after) = self.body.split_once(&before).unwrap_or_else(|| panic!("no field {name} in {}", self.body));
        after.split('"').next().expect("a value").to_owned()
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        assert!(self.body.contains(text), "{text:?} is not in {} {}", self.status, self.body);
    }

    #[track_caller]
    pub(crate) fn hides(&self, text: &str) {
        assert!(!self.body.contains(text), "{text:?} is in {}", self.body);
    }
}
