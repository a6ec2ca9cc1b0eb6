//! A subscriber of the tests: a real HTTP server that keeps what it gets and answers as it was told.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use crate::server::DEADLINE;

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A status line's number and words, and headers, as in `429 Too Many\r\nretry-after: 1`. After an empty line, a body.
type Manners = Box<dyn Fn(usize, &Delivery) -> String + Send + Sync>;

struct Inner {
    got: Mutex<Vec<Delivery>>,
    more: Condvar,
    manners: Manners,
}

pub(crate) struct Receiver {
    address: SocketAddr,
    inner: Arc<Inner>,
}

impl Receiver {
    /// Takes everything.
    pub(crate) fn start() -> Self {
        Self::answering(|_, _| "204 No Content".into())
    }

    /// `manners` gets the number of the delivery, from 0.
    pub(crate) fn answering(manners: impl Fn(usize, &Delivery) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let inner = Arc::new(Inner { got: Mutex::default(), more: Condvar::new(), manners: Box::new(manners) });
        let serving = inner.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let inner = serving.clone();
                std::thread::spawn(move || serve(stream, &inner));
            }
        });
        Self { address, inner }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("/hook")
    }

    /// The address of this path.
    pub(crate) fn url_of(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn got(&self) -> Vec<Delivery> {
        self.inner.got.lock().expect("no panic while it is held").clone()
    }

    /// Waits until what has come is as wished.
    #[track_caller]
    pub(crate) fn wait_until(&self, wish: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
        let deadline = Instant::now() + DEADLINE;
        let mut got = self.inner.got.lock().expect("no panic while it is held");
        while !wish(&got) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "only these came: {} deliveries, the last {:?}", got.len(), got.last());
            got = self.inner.more.wait_timeout(got, left).expect("no panic while it is held").0;
        }
        got.clone()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Delivery> {
        self.wait_until(|got| got.len() >= count)
    }
}

fn serve(mut stream: TcpStream, inner: &Inner) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            fill(&mut stream, &mut buffer)?;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let (first, rest) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let headers: HashMap<_, _> = rest
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap_or(0));
        while buffer.len() < end + length {
            fill(&mut stream, &mut buffer)?;
        }
        let delivery = Delivery {
            method: words.next()?.to_owned(),
            path: words.next()?.to_owned(),
            headers,
            body: buffer[end..end + length].to_vec(),
        };
        buffer.drain(..end + length);
        let mut got = inner.got.lock().expect("no panic while it is held");
        let answer = (inner.manners)(got.len(), &delivery);
        got.push(delivery);
        drop(got);
        inner.more.notify_all();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let length = match head.starts_with("204") {
            true => String::new(),
            false => format!("content-length: {}\r\n", body.len()),
        };
        write!(stream, "HTTP/1.1 {head}\r\n{length}\r\n{body}").ok()?;
    }
}

fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
    buffer.extend_from_slice(&chunk[..count]);
    Some(())
}
