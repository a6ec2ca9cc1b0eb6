//! How a broker is reached: address, TLS, who we are, and which addresses may be connected to.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_queue::Error;
use malla_reach::{Guard, Unreachable, explain};
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, MqttOptions, StateError, TlsConfiguration,
    Transport,
};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use url::Url;

use crate::EndpointOptions;

const KEEP_ALIVE_S: u16 = 30;
/// Waits between two tries to connect.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Room in a packet for what is not the body.
const PACKET_HEAD: usize = 128 * 1024;

/// What all connections share.
#[derive(Clone)]
pub struct Brokers {
    guard: Guard,
    tls: Arc<rustls::ClientConfig>,
}

/// One broker and how to show oneself to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Address {
    tls: bool,
    host: String,
    port: u16,
    login: Option<(String, String)>,
}

impl Address {
    /// From `mqtt://[user:password@]host[:port]`; a login that is given apart counts more.
    pub(super) fn read(url: &str, login: Option<(String, String)>) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("\"{url}\" is not an address: {error}"))?;
        let tls = url.scheme() == "mqtts";
        let host = url.host_str().ok_or("the broker's address names no host")?;
        let inside = (!url.username().is_empty())
            .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
        Ok(Self {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(if tls { 8883 } else { 1883 }),
            login: login.or(inside),
        })
    }
}

pub(super) fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Whether the broker keeps for us what arrives while we are away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    Kept,
    Clean,
}

/// A connection that mends itself. It ends when this is dropped.
pub(super) struct Connection {
    pub(super) client: AsyncClient,
    trouble: Arc<Mutex<Option<String>>>,
    polling: AbortHandle,
}

impl Connection {
    /// What is wrong with it now, if something is.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

/// What a connection tells.
pub(super) enum News {
    Event(Event),
    /// The connection broke: nothing that came over it can be acknowledged any more.
    Broken(String),
}

impl Brokers {
    /// Brokers' certificates are checked against the machine's authorities.
    pub fn new(guard: Guard) -> malla_queue::Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Internal(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { guard, tls: Arc::new(config) })
    }

    /// Connects in the background and goes on doing so; what happens is told through the receiver, which must be read.
    pub(super) fn connect(
        &self,
        address: &Address,
        client_id: &str,
        session: Session,
        capacity: usize,
    ) -> (Connection, mpsc::Receiver<News>) {
        let (client, events) =
            AsyncClient::builder(self.options(address, client_id, session)).capacity(capacity).build();
        let (tell, news) = mpsc::channel(capacity);
        let trouble = Arc::new(Mutex::new(Some("not connected yet".to_owned())));
        let polling = tokio::spawn(poll(events, address.host.clone(), tell, trouble.clone())).abort_handle();
        (Connection { client, trouble, polling }, news)
    }

    fn options(&self, address: &Address, client_id: &str, session: Session) -> MqttOptions {
        let mut options = MqttOptions::new(client_id, (address.host.clone(), address.port));
        let packet = usize::try_from(EndpointOptions::MAX_BODY_MAX).unwrap_or(usize::MAX / 2) + PACKET_HEAD;
        options.set_keep_alive(KEEP_ALIVE_S);
        options.set_ack_mode(rumqttc::AckMode::Manual);
        options.set_clean_session(session == Session::Clean);
        options.set_max_packet_size(packet, packet);
        if let Some((user, password)) = &address.login {
            options.set_credentials(user.clone(), password.clone());
        }
        if address.tls {
            options.set_transport(Transport::Tls(TlsConfiguration::Rustls(self.tls.clone())));
        }
        let (guard, host, port) = (self.guard.clone(), address.host.clone(), address.port);
        options.set_socket_connector(move |_, _| {
            let (guard, host) = (guard.clone(), host.clone());
            async move { connect(&guard, &host, port).await }
        });
        options
    }
}

async fn connect(guard: &Guard, host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses = guard.resolve(host, port).await.map_err(io::Error::other)?;
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn poll(mut events: EventLoop, host: String, tell: mpsc::Sender<News>, trouble: Arc<Mutex<Option<String>>>) {
    let set = |now: Option<String>| *trouble.lock().unwrap_or_else(PoisonError::into_inner) = now;
    let mut back_off = BACK_OFF.0;
    loop {
        let news = match events.poll().await {
            Ok(event) => {
                if matches!(event, Event::Incoming(rumqttc::Packet::ConnAck(_))) {
                    set(None);
                    back_off = BACK_OFF.0;
                }
                News::Event(event)
            }
            Err(error) => {
                let why = explained(&error, &host);
                set(Some(why.clone()));
                News::Broken(why)
            }
        };
        let broken = matches!(news, News::Broken(_));
        if tell.send(news).await.is_err() {
            return;
        }
        if broken {
            tokio::time::sleep(back_off).await;
            back_off = (back_off * 2).min(BACK_OFF.1);
        }
    }
}

/// What is wrong with a connection, for a person who was not there.
fn explained(error: &ConnectionError, host: &str) -> String {
    use ConnectReturnCode as Code;
    if let ConnectionError::ConnectionRefused(code) = error {
        return match code {
            Code::BadUserNamePassword | Code::NotAuthorized => {
                format!("the broker {host} does not let us in: the user name or the password is wrong")
            }
            Code::ServiceUnavailable => format!("the broker {host} is not ready: it asks to come back later"),
            other => format!("the broker {host} refuses us: {other:?}"),
        };
    }
    if let ConnectionError::MqttState(StateError::ConnectionAborted) = error {
        return format!("the broker {host} closed the connection");
    }
    let known = |cause: &(dyn std::error::Error + 'static)| {
        let unreachable = cause.downcast_ref::<Unreachable>().map(ToString::to_string);
        unreachable.or_else(|| explain::connection(cause.downcast_ref()?, host))
    };
    let said = explain::tls(error, host).or_else(|| explain::among(error, &known));
    said.unwrap_or_else(|| format!("the connection to the broker {host} broke: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_ports_and_logins() {
        let plain = Address::read("mqtt://broker", None).expect("an address");
        assert_eq!((plain.tls, plain.port, plain.login), (false, 1883, None));
        let secret = Address::read("mqtts://ana:a%40b@broker/topic", None).expect("an address");
        assert_eq!((secret.tls, secret.port, secret.login), (true, 8883, Some(("ana".into(), "a@b".into()))));
        let apart = Address::read("mqtt://ana:x@[::1]:2000", Some(("eva".into(), "y".into()))).expect("an address");
        assert_eq!((apart.host.as_str(), apart.port, apart.login), ("::1", 2000, Some(("eva".into(), "y".into()))));
    }
    #[test]
    fn what_is_wrong_is_said_plainly() {
        let nowhere = Unreachable::NoAddress { host: "broker".into(), why: "unknown".into() };
        for (error, said) in [
            (ConnectionError::ConnectionRefused(ConnectReturnCode::NotAuthorized), "the password is wrong"),
            (ConnectionError::ConnectionRefused(ConnectReturnCode::ServiceUnavailable), "come back later"),
            (ConnectionError::ConnectionRefused(ConnectReturnCode::BadClientId), "refuses us: BadClientId"),
            (io::Error::from(io::ErrorKind::ConnectionRefused).into(), "nothing listens there at broker"),
            (io::Error::other(nowhere).into(), "the name broker does not resolve"),
            (ConnectionError::MqttState(StateError::ConnectionAborted), "the broker broker closed the connection"),
            (ConnectionError::NetworkTimeout, "the connection to the broker broker broke: "),
        ] {
            let why = explained(&error, "broker");
            assert!(why.contains(said), "{why}");
        }
    }
}
