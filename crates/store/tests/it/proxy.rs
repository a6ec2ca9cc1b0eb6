//! A proxy in front of PostgreSQL that cuts one connection at a chosen place.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What becomes of the request that contains the mark; its connection ends in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The server gets it, and its answer is kept from the client.
    Unanswered,
    /// The server never gets it.
    Undelivered,
    /// The client's connection ends, and the server gets it when the test says so.
    Late,
}

#[derive(Default)]
struct Trap {
    set: Mutex<Option<(Vec<u8>, Fate)>>,
    /// The request came.
    sprung: Notify,
    /// The test has seen what it wants to see.
    go: Notify,
    /// A late request was delivered and answered.
    delivered: Notify,
    down: Mutex<bool>,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    trap: Arc<Trap>,
}

impl Proxy {
    pub(crate) async fn before(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, rest) = rest.split_once('@').unwrap();
        let (server, path) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let trap = Arc::new(Trap::default());
        tokio::spawn(serve(listener, server.to_owned(), trap.clone()));
        Self { url: format!("{scheme}://{user}@127.0.0.1:{port}/{path}"), trap }
    }

    /// The next request with these bytes in it meets this fate.
    pub(crate) fn set(&self, mark: &str, fate: Fate) {
        *self.trap.set.lock().unwrap() = Some((mark.as_bytes().to_vec(), fate));
    }

    pub(crate) async fn sprung(&self) {
        self.trap.sprung.notified().await;
    }

    pub(crate) fn go(&self) {
        self.trap.go.notify_one();
    }

    pub(crate) async fn delivered(&self) {
        self.trap.delivered.notified().await;
    }

    /// From now on nobody gets through, and new connections end at once.
    pub(crate) fn take_down(&self) {
        *self.trap.down.lock().unwrap() = true;
    }

    /// Whoever comes from now on gets through.
    pub(crate) fn bring_back(&self) {
        *self.trap.down.lock().unwrap() = false;
    }
}

impl Trap {
    /// What to do with this request, if it is the one.
    fn springs(&self, request: &[u8]) -> Option<Fate> {
        let mut set = self.set.lock().unwrap();
        let (mark, fate) = set.as_ref()?;
        let (found, fate) = (request.windows(mark.len()).any(|window| window == mark), *fate);
        if !found {
            return None;
        }
        *set = None;
        Some(fate)
    }

    fn is_down(&self) -> bool {
        *self.down.lock().unwrap()
    }
}

async fn serve(listener: TcpListener, server: String, trap: Arc<Trap>) {
    while let Ok((client, _)) = listener.accept().await {
        if trap.is_down() {
            continue;
        }
        let server = TcpStream::connect(&server).await.unwrap();
        tokio::spawn(pass(client, server, trap.clone()));
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, trap: Arc<Trap>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let request = match read {
                    Ok(length) if length > 0 && !trap.is_down() => &up[..length],
                    _ => return,
                };
                if let Some(fate) = trap.springs(request) {
                    return end(client, server, request, fate, &trap).await;
                }
                if server.write_all(request).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut down) => match read {
                Ok(length) if length > 0 && !trap.is_down() => {
                    if client.write_all(&down[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }
}

async fn end(client: TcpStream, mut server: TcpStream, request: &[u8], fate: Fate, trap: &Trap) {
    match fate {
        Fate::Undelivered => trap.sprung.notify_one(),
        Fate::Unanswered => {
            server.write_all(request).await.unwrap();
            trap.sprung.notify_one();
            trap.go.notified().await;
        }
        Fate::Late => {
            drop(client);
            trap.sprung.notify_one();
            trap.go.notified().await;
            // The server may have ended it.
            let _ = server.write_all(request).await;
            let mut answer = [0; 1 << 12];
            let _ = server.read(&mut answer).await;
            trap.delivered.notify_one();
        }
    }
}
