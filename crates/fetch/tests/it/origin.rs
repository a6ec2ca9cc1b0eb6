//! A web site made of plain sockets: it does to the byte what a test wants, and its log is the truth.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use malla_fetch::PageUrl;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request as the site sees it.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) path: String,
    /// All lines of the request's head.
    pub(crate) head: String,
    pub(crate) connection: usize,
    /// Which request of its connection, from 0.
    pub(crate) nth: usize,
}

/// What the site does with a request.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    wait: Duration,
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Debug, Clone)]
enum Then {
    /// Wait for the next request.
    Listen,
    Close,
    /// Say nothing more until the other side goes.
    Hang,
    /// Write this again and again until the other side goes.
    Repeat(Vec<u8>, Duration),
}

impl Reply {
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { wait: Duration::ZERO, bytes: bytes.into(), then: Then::Listen }
    }

    /// A head with these lines, and this body.
    pub(crate) fn with(status: &str, lines: &[&str], body: &[u8]) -> Self {
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        lines.iter().for_each(|line| head.extend([line, "\r\n"]));
        head.push_str("\r\n");
        Self::raw([head.as_bytes(), body].concat())
    }

    pub(crate) fn page(body: &[u8]) -> Self {
        Self::with("200 OK", &["content-type: text/plain"], body)
    }

    /// Says its bytes without having been asked, and waits for the other side to go.
    pub(crate) async fn say(&self, mut stream: TcpStream) {
        let _ = stream.write_all(&self.bytes).await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    }

    pub(crate) fn after(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    pub(crate) fn close(self) -> Self {
        Self { then: Then::Close, ..self }
    }

    pub(crate) fn hang(self) -> Self {
        Self { then: Then::Hang, ..self }
    }

    pub(crate) fn repeat(self, bytes: impl Into<Vec<u8>>, every: Duration) -> Self {
        Self { then: Then::Repeat(bytes.into(), every), ..self }
    }
}

/// One request in the log.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// When the head of the request had been read, before anything was answered.
    pub(crate) start: Instant,
    /// When the last byte was about to be written, or the other side had gone.
    pub(crate) end: Option<Instant>,
}

type Serve = dyn Fn(&Ask) -> Reply + Send + Sync;

pub(crate) struct Origin {
    base: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    serve: Box<Serve>,
    visits: Mutex<Vec<Visit>>,
    asks: Mutex<Vec<Ask>>,
    connections: AtomicUsize,
    bytes: AtomicU64,
}

impl Origin {
    /// A site on this loopback address.
    pub(crate) async fn at(ip: &str, serve: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared::new(serve));
        let mut tasks = JoinSet::new();
        let for_all = shared.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = for_all.clone();
                connections.spawn(async move { shared.talk(stream).await });
            }
        });
        Self { base, shared, _tasks: tasks }
    }

    pub(crate) async fn new(serve: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1", serve).await
    }

    /// With TLS.
    pub(crate) async fn secure(
        config: rustls::ServerConfig,
        serve: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let shared = Arc::new(Shared::new(serve));
        let mut tasks = JoinSet::new();
        let for_all = shared.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), for_all.clone());
                connections.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        shared.talk(stream).await;
                    }
                });
            }
        });
        Self { base, shared, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> PageUrl {
        PageUrl::parse(&format!("{}{path}", self.base)).expect("a URL")
    }

    /// `count` pages: `/0`, `/1` and so on.
    pub(crate) fn urls(&self, count: usize) -> Vec<PageUrl> {
        (0..count).map(|n| self.url(&format!("/{n}"))).collect()
    }

    pub(crate) fn visits(&self) -> Vec<Visit> {
        self.shared.visits.lock().expect("no panic").clone()
    }

    /// The requests as they came.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        self.shared.asks.lock().expect("no panic").clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn new(serve: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            serve: Box::new(serve),
            visits: Mutex::default(),
            asks: Mutex::default(),
            connections: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    async fn talk<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S) {
        let connection = self.connections.fetch_add(1, Ordering::SeqCst);
        for nth in 0.. {
            let Some(head) = read_head(&mut stream).await else { return };
            let (path, visit) = self.note(&head);
            let ask = Ask { path, head, connection, nth };
            self.asks.lock().expect("no panic").push(ask.clone());
            let reply = (self.serve)(&ask);
            tokio::time::sleep(reply.wait).await;
            match reply.then {
                Then::Listen => {
                    self.ended(visit);
                    if self.write(&mut stream, &reply.bytes).await.is_err() {
                        return;
                    }
                }
                Then::Close => {
                    self.ended(visit);
                    let _ = self.write(&mut stream, &reply.bytes).await;
                    let _ = stream.shutdown().await;
                    return;
                }
                Then::Hang => {
                    let _ = self.write(&mut stream, &reply.bytes).await;
                    let mut rest = Vec::new();
                    let _ = stream.read_to_end(&mut rest).await;
                    self.ended(visit);
                    return;
                }
                Then::Repeat(again, every) => {
                    let mut written = self.write(&mut stream, &reply.bytes).await;
                    while written.is_ok() {
                        tokio::time::sleep(every).await;
                        written = self.write(&mut stream, &again).await;
                    }
                    self.ended(visit);
                    return;
                }
            }
        }
    }

    async fn write(&self, stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
        for piece in bytes.chunks(4_096) {
            stream.write_all(piece).await?;
            self.bytes.fetch_add(piece.len() as u64, Ordering::SeqCst);
        }
        stream.flush().await
    }

    fn note(&self, head: &str) -> (String, usize) {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut visits = self.visits.lock().expect("no panic");
        visits.push(Visit { start: Instant::now(), end: None });
        (path, visits.len() - 1)
    }

    fn ended(&self, visit: usize) {
        self.visits.lock().expect("no panic")[visit].end = Some(Instant::now());
    }
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut got = Vec::new();
    while !got.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut got).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(got).ok()
}
