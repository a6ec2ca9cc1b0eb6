//! Publishing to brokers: one connection to each, kept while it is used, and the broker's word before a notification
//! counts as delivered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rumqttc::{PublishOptions, QoS};
use tokio::time::Instant;
use url::Url;

use super::broker::{Address, Brokers, Connection, Session, decoded};
use crate::{Auth, Publish, Subscription};

const CONNECTIONS_MAX: usize = 200;
/// Publications that wait for one connection.
const WAITING_MAX: usize = 256;

pub struct Publisher {
    brokers: Brokers,
    open: Mutex<HashMap<Address, (Arc<Connection>, Instant)>>,
}

impl Publisher {
    pub fn new(brokers: Brokers) -> Self {
        Self { brokers, open: Mutex::new(HashMap::new()) }
    }

    fn connection(&self, address: &Address) -> Arc<Connection> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(address) && open.len() >= CONNECTIONS_MAX {
            let oldest = open.iter().min_by_key(|(_, (_, used))| *used).map(|(address, _)| address.clone());
            oldest.map(|address| open.remove(&address));
        }
        let entry = open.entry(address.clone()).or_insert_with(|| (Arc::new(self.connect(address)), Instant::now()));
        entry.1 = Instant::now();
        entry.0.clone()
    }

    fn connect(&self, address: &Address) -> Connection {
        let id = format!("malla-out-{:016x}", unique());
        let (connection, mut news) = self.brokers.connect(address, &id, Session::Clean, WAITING_MAX);
        // Acknowledgements reach their publications by themselves; the rest is of no interest.
        tokio::spawn(async move { while news.recv().await.is_some() {} });
        connection
    }
}

/// A client id that no other process has.
fn unique() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness two processes might fight for an id: the broker would tell.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[async_trait]
impl Publish for Publisher {
    async fn publish(&self, subscription: &Subscription, body: Vec<u8>, within: Duration) -> Result<(), String> {
        let target = &subscription.spec.target.0;
        let login = match &subscription.spec.auth {
            Some(Auth::Basic { username, password }) => Some((username.clone(), password.clone())),
            Some(Auth::Bearer(token)) => Some((String::new(), token.clone())),
            None => None,
        };
        let address = Address::read(target, login)?;
        let url = Url::parse(target).map_err(|error| error.to_string())?;
        let topic = decoded(url.path().trim_start_matches('/'));
        let connection = self.connection(&address);
        let exchange = async {
            let options = PublishOptions::new(QoS::AtLeastOnce);
            let sent = connection.client.publish_tracked(topic, body, options).await;
            let acknowledged = sent.map_err(|error| format!("the broker cannot be told: {error}"))?.wait_async().await;
            acknowledged.map(drop).map_err(|error| format!("the broker did not take it: {error}"))
        };
        tokio::time::timeout(within, exchange).await.unwrap_or_else(|_| {
            let why = connection.trouble().map(|why| format!(": {why}")).unwrap_or_default();
            Err(format!("the broker did not acknowledge within {} s{why}", within.as_secs()))
        })
    }
}
