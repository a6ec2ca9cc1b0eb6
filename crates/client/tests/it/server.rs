//! A server on a free port of loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use malla_access::{Access as _, NewToken, NewUser, Passwords, Role, Secret};
use malla_analyze::{Analyst, Recent};
use malla_api::{AnalyzeOptions, Fetching, Services, Settings, layers, router};
use malla_client::{Client, ClientOptions};
use malla_fetch::{Dispatcher, DispatcherOptions};
use malla_notify::{Intake, RecentEvents};
use malla_queue::worker::Work as _;
use malla_queue::{Act, Holder, LeaseRequest, Limits, Queue as _, Room, SystemClock};
use malla_store::sqlite::Sqlite;
use malla_wiki::Asking;
use tokio::net::TcpListener;

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) ready: Arc<AtomicBool>,
    pub(crate) store: Arc<Sqlite>,
    clock: Arc<SystemClock>,
    _dir: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SystemClock::default());
        let store = Sqlite::open(&dir.path().join("malla.db"), clock.clone(), Limits::default()).await.unwrap();
        let act = || Act::new("test", "test.prepare", "");
        let password_hash = Some("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAA".to_owned());
        let admin = NewUser { name: "root".into(), role: Role::Admin, password_hash, groups: vec![] };
        store.create_user(admin, act()).await.unwrap();
        let hash = Secret::from_text("admin").hash();
        let token = NewToken { name: "admin".into(), hash, role: Role::Admin, group: None, expires_at: None };
        store.create_token(token, act()).await.unwrap();
        let ready = Arc::new(AtomicBool::new(true));
        let is_ready = ready.clone();
        let settings = Settings::default();
        let services = Services {
            queue: store.clone(),
            access: store.clone(),
            intake: Arc::new(Intake::new(store.clone(), Arc::new(RecentEvents::default()))),
            fetch: store.clone(),
            tours: store.clone(),
            dispatcher: Dispatcher::new(store.clone(), store.clone(), clock.clone(), DispatcherOptions::default()),
            trust: store.clone(),
            ledger: store.clone(),
            blocking: store.clone(),
            door: malla_fetch::door::Door::new(Default::default(), store.clone(), store.clone(), clock.clone()),
            fetching: Fetching::default(),
            analyze: store.clone(),
            analyzing: AnalyzeOptions::default(),
            wikis: store.clone(),
            asking: Arc::new(Asking {
                wikis: store.clone(),
                contact: "ops@example.org".into(),
                template: "https://{locale}.wiki.test/".into(),
                gap_ms: 0,
                extractions_max: 100,
            }),
            notify: store.clone(),
            statistics: store.clone(),
            alerts: store.clone(),
            cluster: store.clone(),
            dead_after: Duration::from_secs(15),
            backend: "sqlite",
            clock: clock.clone(),
            passwords: Passwords::new().unwrap(),
            metrics: Arc::new(String::new),
            ready: Arc::new(move || if is_ready.load(Ordering::SeqCst) { Ok(None) } else { Err("stopping".into()) }),
            settings: settings.clone(),
        };
        let app = layers(router(services), &settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, ready, store, clock, _dir: dir }
    }

    /// Works on what is due of analyses; says how many tasks that were.
    pub(crate) async fn analyze(&self) -> usize {
        let analyst = Analyst::new(self.store.clone(), self.clock.clone(), Arc::new(Recent::new(0)), 1);
        let rooms = vec![Room::new(malla_analyze::ROOM).unwrap()];
        let request = LeaseRequest::new(rooms, 100, Holder::Member("test".into()), Duration::from_secs(30));
        let tasks = self.store.lease(request).await.unwrap().tasks;
        for task in &tasks {
            assert!(analyst.work(task).await.is_none(), "it commits by itself");
        }
        tasks.len()
    }

    pub(crate) fn client(&self) -> Client {
        client(&[&self.url], Some("admin"))
    }
}

pub(crate) fn client(servers: &[&str], token: Option<&str>) -> Client {
    let servers = servers.iter().map(|server| (*server).to_owned()).collect();
    Client::new(ClientOptions { servers, token: token.map(Into::into), ca_pem: None }).unwrap()
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}
