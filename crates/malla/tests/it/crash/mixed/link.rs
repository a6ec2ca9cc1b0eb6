//! The link between a machine and the store, which a test can let stall or cut.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing moves in either direction, and nobody is told. What was sent arrives when it is open again.
    Stalled,
    /// Every connection is reset, and so is every new one.
    Cut,
}

/// One link; it ends with this.
pub(super) struct Link {
    /// The store by this way.
    pub(super) url: String,
    state: watch::Sender<State>,
    _runtime: Runtime,
}

impl Link {
    /// To the store at `url`.
    pub(super) fn to(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("a user");
        let (server, path) = rest.split_once('/').expect("a database");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (state, seen) = watch::channel(State::Open);
        runtime.spawn(serve(listener, server.parse().expect("an address"), seen));
        Self { url: format!("{before}@{address}/{path}"), state, _runtime: runtime }
    }

    pub(super) fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    pub(super) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    pub(super) fn open(&self) {
        self.state.send_replace(State::Open);
    }
}

async fn serve(listener: TcpListener, server: SocketAddr, state: watch::Receiver<State>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(connect(client, server, state.clone()));
    }
}

async fn connect(mut client: TcpStream, server: SocketAddr, mut state: watch::Receiver<State>) {
    // Whoever comes while nothing moves waits for it, unless the link is cut meanwhile.
    let Ok(State::Open) = state.wait_for(|state| *state != State::Stalled).await.map(|state| *state) else {
        return reset(&client);
    };
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let mut cut = state.clone();
    let is_cut = tokio::select! {
        () = carry(from_client, to_server, state.clone()) => false,
        () = carry(from_server, to_client, state) => false,
        _ = cut.wait_for(|state| *state == State::Cut) => true,
    };
    if is_cut {
        reset(&client);
        reset(&server);
    }
}

/// It ends without a word when it is dropped.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// One direction, until its end.
async fn carry(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, mut state: watch::Receiver<State>) {
    let mut piece = vec![0; 1 << 16];
    loop {
        if state.wait_for(|state| *state == State::Open).await.is_err() {
            return;
        }
        let length = tokio::select! {
            read = from.read(&mut piece) => match read {
                Ok(length) if length > 0 => length,
                _ => return,
            },
            _ = state.changed() => continue,
        };
        // It may have stalled at this moment.
        if state.wait_for(|state| *state == State::Open).await.is_err() || to.write_all(&piece[..length]).await.is_err()
        {
            return;
        }
    }
}

#[test]
fn a_link_stalls_and_is_cut() {
    use std::io::{Read as _, Write as _};
    const MOMENT: Duration = Duration::from_millis(100);

    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a server");
    let link = Link::to(&format!("postgres://u@{}/db", server.local_addr().expect("an address")));
    let address = link.url.split(['@', '/']).nth(3).expect("an address").to_owned();
    let mut node = std::net::TcpStream::connect(&address).expect("connects");
    node.write_all(b"one").expect("sent");
    let (mut served, _) = server.accept().expect("arrives");
    let mut read = [0; 3];
    served.read_exact(&mut read).expect("arrives");

    link.stall();
    node.write_all(b"two").expect("sent");
    served.set_read_timeout(Some(MOMENT)).expect("a time-out");
    served.read_exact(&mut read).expect_err("nothing moves");
    link.open();
    served.set_read_timeout(None).expect("no time-out");
    served.read_exact(&mut read).expect("what was sent arrives");
    assert_eq!(&read, b"two");

    link.cut();
    node.read(&mut read).expect_err("it is reset");
    let mut late = std::net::TcpStream::connect(&address).expect("somebody listens");
    assert!(matches!(late.read(&mut read), Ok(0) | Err(_)), "and hangs up");
}
