//! Listening to a broker. An endpoint's listener is a task that lasts: whoever leases it listens, and when that process
//! goes, another one takes it over. So each endpoint has one listener in the whole cluster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use malla_queue::worker::Work;
use malla_queue::{Failure, Kind, LaneKey, LaneSettings, Leased, NewTask, Outcome, Queue, Result, Scope, Verdict};
use rumqttc::{Event, Packet, Publish, QoS, SubscribeReasonCode};

use super::broker::{Address, Brokers, News, Session};
use crate::{Endpoint, Intake, IntakeError, MqttSource, NewEvent, Notify};

/// The room of listeners; its lanes are endpoints.
pub const LISTEN_ROOM: &str = "notify-listen";
/// The kind of a task that listens.
pub const LISTEN: &str = "notify.listen";

/// Events of one endpoint on their way into the store at once.
const IN_HAND_MAX: usize = 64;
/// Before an event that the store could not take is offered again.
const AGAIN: Duration = Duration::from_millis(500);
const PAGE: usize = 200;

/// Sees to it that every MQTT endpoint has its listener. Harmless to repeat. Returns how many endpoints there are.
pub async fn ensure_listening(notify: &Arc<dyn Notify>, queue: &Arc<dyn Queue>) -> Result<usize> {
    let (mut found, mut after) = (0, None::<String>);
    loop {
        let page = notify.endpoints(&Scope::All, after.as_deref(), PAGE).await?;
        let tasks: Vec<_> = page.iter().filter(|endpoint| endpoint.options.mqtt.is_some()).map(listener_of).collect();
        found += tasks.len();
        if !tasks.is_empty() {
            queue.submit(tasks, None).await?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.name.clone()),
            _ => return Ok(found),
        }
    }
}

fn listener_of(endpoint: &Endpoint) -> NewTask {
    NewTask {
        lane_settings: LaneSettings { ceiling: 1, gap_ms: 0 },
        lane_group: endpoint.group,
        group: endpoint.group,
        // While it waits or runs, there is no second one.
        dedup: Some(endpoint.name.clone()),
        ..NewTask::new(LaneKey::trusted(format!("{LISTEN_ROOM}/{}", endpoint.name)), Kind::new(LISTEN), "{}")
    }
}

pub struct Listener {
    notify: Arc<dyn Notify>,
    intake: Arc<Intake>,
    brokers: Brokers,
}

impl Listener {
    pub fn new(notify: Arc<dyn Notify>, intake: Arc<Intake>, brokers: Brokers) -> Self {
        Self { notify, intake, brokers }
    }

    async fn source(&self, endpoint: &str) -> Option<MqttSource> {
        self.notify.endpoint(&Scope::All, endpoint).await.ok()?.options.mqtt
    }

    /// Listens until the endpoint is gone or changed: then the next listener knows better.
    async fn listen(&self, endpoint: &str) -> Result<(), String> {
        let mut changes = self.notify.changes();
        changes.mark_unchanged();
        let Some(source) = self.source(endpoint).await else { return Ok(()) };
        let login = source.username.clone().map(|user| (user, source.password.clone().unwrap_or_default()));
        let address = Address::read(&source.broker, login)?;
        let client_id = format!("malla-{endpoint}");
        let (connection, mut news) = self.brokers.connect(&address, &client_id, Session::Kept, 2 * IN_HAND_MAX);
        let mut taking = FuturesOrdered::new();
        loop {
            tokio::select! {
                told = news.recv(), if taking.len() < IN_HAND_MAX => match told {
                    Some(News::Event(Event::Incoming(Packet::Publish(publish)))) => {
                        taking.push_back(self.take(endpoint, publish));
                    }
                    Some(News::Event(Event::Incoming(packet))) => {
                        if let Packet::ConnAck(_) = packet {
                            tracing::info!(endpoint, broker = source.broker, topic = source.topic, "listening");
                            subscribe(&connection.client, &source.topic).await?;
                        }
                        refused(&packet, &source.topic)?;
                    }
                    Some(News::Event(Event::Outgoing(_))) => {}
                    Some(News::Broken(why)) => {
                        tracing::warn!(endpoint, broker = source.broker, why, "not listening, trying again");
                        // The broker sends again what was not acknowledged, under other numbers.
                        taking = FuturesOrdered::new();
                    }
                    None => return Err("the connection to the broker ended".into()),
                },
                Some(publish) = taking.next() => {
                    let publish: Publish = publish;
                    connection.client.ack(&publish).await.map_err(|error| error.to_string())?;
                }
                changed = changes.changed() => {
                    if changed.is_err() || self.source(endpoint).await.as_ref() != Some(&source) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Gives the event to the store, however long that takes, and hands it back to be acknowledged. One that can never
    /// be taken is told of in the log and acknowledged: the broker would bring it for ever.
    async fn take(&self, endpoint: &str, publish: Publish) -> Publish {
        loop {
            let event = NewEvent {
                method: "POST".into(),
                topic: Some(String::from_utf8_lossy(&publish.topic).into_owned()),
                body: publish.payload.to_vec(),
                ..NewEvent::default()
            };
            match self.intake.take_from_broker(endpoint, event).await {
                Ok(_) => return publish,
                Err(IntakeError::Unavailable(_) | IntakeError::Full(_)) => tokio::time::sleep(AGAIN).await,
                Err(error) => {
                    tracing::warn!(endpoint, %error, bytes = publish.payload.len(), "an event from the broker is refused");
                    return publish;
                }
            }
        }
    }
}

async fn subscribe(client: &rumqttc::AsyncClient, topic: &str) -> Result<(), String> {
    client.subscribe(topic, QoS::AtLeastOnce).await.map_err(|error| format!("cannot ask for {topic}: {error}"))
}

fn refused(packet: &Packet, topic: &str) -> Result<(), String> {
    match packet {
        Packet::SubAck(ack) if ack.return_codes.contains(&SubscribeReasonCode::Failure) => {
            Err(format!("the broker does not let us listen to {topic}"))
        }
        _ => Ok(()),
    }
}

#[async_trait]
impl Work for Listener {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        Some(match self.listen(task.lane.name()).await {
            Ok(()) => Verdict::Done(Outcome::default()),
            Err(note) => Verdict::Failed(Failure::new(note)),
        })
    }
}
