//! Which of several hosts to connect to: the one that takes writes, found without waiting long for those that do not answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use deadpool_postgres::Connect;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Connection, Error, Socket};

use super::pool::CONNECT_WAIT;

/// Connects for a pool.
pub(super) struct EachHost<T> {
    tls: T,
    /// The host that was the right one the last time: it is asked first.
    last: AtomicUsize,
}

impl<T> EachHost<T> {
    pub(super) fn new(tls: T) -> Self {
        Self { tls, last: AtomicUsize::new(0) }
    }
}

impl<T> Connect for EachHost<T>
where
    T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
    T::Stream: Sync + Send,
    T::TlsConnect: Sync + Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let config = config.clone();
        Box::pin(async move {
            let (client, connection) = connect(&config, self.tls.clone(), &self.last).await?;
            let driver = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                }
            });
            Ok((client, driver))
        })
    }
}

/// A connection to the first host that takes it. A host that stands still (its machine lives, and the program does not
/// answer) has its share of the time and no more; the last one has what is left, and whoever calls this sets an end to that.
pub(super) async fn connect<T>(
    config: &Config,
    tls: T,
    last: &AtomicUsize,
) -> Result<(Client, Connection<Socket, T::Stream>), Error>
where
    T: MakeTlsConnect<Socket> + Clone,
{
    let count = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
    let share = CONNECT_WAIT / u32::try_from(count).unwrap_or(u32::MAX);
    let first = last.load(Ordering::Relaxed) % count;
    for turn in 0..count - 1 {
        let host = (first + turn) % count;
        match timeout(share, only(config, host).connect(tls.clone())).await {
            Ok(Ok(connected)) => {
                last.store(host, Ordering::Relaxed);
                return Ok(connected);
            }
            // Those who know the password here know it everywhere, and so with the name.
            Ok(Err(error)) => tracing::debug!(host, %error, "not this host of PostgreSQL"),
            Err(_) => tracing::debug!(host, "this host of PostgreSQL does not answer within {share:?}"),
        }
    }
    let host = (first + count - 1) % count;
    let connected = only(config, host).connect(tls).await?;
    last.store(host, Ordering::Relaxed);
    Ok(connected)
}

/// The same settings for one of the hosts.
fn only(config: &Config, host: usize) -> Config {
    let mut one = Config::new();
    config.get_user().map(|user| one.user(user));
    config.get_password().map(|password| one.password(password));
    config.get_dbname().map(|name| one.dbname(name));
    config.get_options().map(|options| one.options(options));
    config.get_application_name().map(|name| one.application_name(name));
    config.get_connect_timeout().map(|wait| one.connect_timeout(*wait));
    config.get_tcp_user_timeout().map(|wait| one.tcp_user_timeout(*wait));
    config.get_keepalives_interval().map(|every| one.keepalives_interval(every));
    config.get_keepalives_retries().map(|retries| one.keepalives_retries(retries));
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding());
    match config.get_hosts().get(host) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        #[cfg(unix)]
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    config.get_hostaddrs().get(host).map(|address| one.hostaddr(*address));
    // One port stands for all.
    config.get_ports().get(host).or(config.get_ports().first()).map(|port| one.port(*port));
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, host: usize, expected: &str) {
        let config = super::super::pool::config(url).expect("a URL");
        let expected = super::super::pool::config(expected).expect("a URL");
        assert_eq!(only(&config, host), expected);
    }

    #[test]
    fn each_host_keeps_the_settings_of_all() {
        let of_all = "options=-c%20a=b&sslmode=disable&channel_binding=disable";
        for (host, name) in ["a:1", "b:2"].iter().enumerate() {
            check(&format!("postgres://u:p@a:1,b:2/db?{of_all}"), host, &format!("postgres://u:p@{name}/db?{of_all}"));
        }
        check("postgres://u@a,b:7/db", 0, "postgres://u@a:5432/db");
        check("postgres://u@a/db", 0, "postgres://u@a/db");
        check("postgres://u@a,b/db?hostaddr=127.0.0.1,127.0.0.2", 1, "postgres://u@b/db?hostaddr=127.0.0.2");
    }
}
