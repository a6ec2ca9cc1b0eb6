//! What a process does: the roles and the worker loops behind them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use malla_fetch::tour::TOUR_ROOM;
use malla_notify::ALERT_ROOM;
use malla_notify::mqtt::LISTEN_ROOM;
use malla_queue::drill::Driller;
use malla_queue::worker::{self, Options, Work};
use malla_queue::{Holder, Queue, Room, SystemClock};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::analyzing::Analyzing;
use crate::config::Config;
use crate::duties;
use crate::fetching::Fetching;
use crate::member::{Hand, member_name};
use crate::notifying::Notifying;
use crate::wikis::{self, WikiRoom};

/// A worker that was told nothing looks again after this long.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// MQTT endpoints that one process listens to.
const LISTENERS_MAX: usize = 1_000;
/// Crawls, watches and comparisons that one process has in hand at once.
const TOURS_MAX: usize = 32;
/// Notices of alerts that one process sends at once.
const NOTICES_MAX: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Api,
    Notifier,
    Fetcher,
    Wiki,
    Analyst,
    Medic,
}

impl Role {
    const ALL: [Role; 6] = [Role::Api, Role::Notifier, Role::Fetcher, Role::Wiki, Role::Analyst, Role::Medic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Api => "api",
            Role::Notifier => "notifier",
            Role::Fetcher => "fetcher",
            Role::Wiki => "wiki",
            Role::Analyst => "analyst",
            Role::Medic => "medic",
        }
    }

    /// Whether callers wait for the answers of a role with this name.
    pub(crate) fn is_waited_for(name: &str) -> bool {
        name == Role::Api.name()
    }

    /// Whether it works on tasks.
    pub(crate) fn works(self) -> bool {
        matches!(self, Role::Notifier | Role::Fetcher | Role::Wiki | Role::Analyst)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Role::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            let names = Role::ALL.map(Role::name).join(", ");
            format!("names the role \"{text}\", which does not exist: roles are {names}")
        })
    }
}

/// The rooms put together.
pub(crate) type Rooms<'a> = (&'a Arc<Notifying>, &'a Arc<Fetching>, &'a WikiRoom, &'a Analyzing);

/// How much a worker loop takes at once.
struct Pace {
    concurrency: usize,
    batch: usize,
}

/// Everything that runs in the background of a process.
pub(crate) struct Crew {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    grace: Duration,
    hand: Hand,
}

impl Crew {
    /// Nobody at work yet. After a stop, running tasks may go on for `grace`.
    pub(crate) fn new(grace: Duration) -> Self {
        Self { tasks: JoinSet::new(), stop: watch::Sender::new(false), grace, hand: Hand::default() }
    }

    /// What its workers have in hand.
    pub(crate) fn hand(&self) -> Hand {
        self.hand.clone()
    }

    /// Starts something that runs until it is told to stop.
    pub(crate) fn add<F>(&mut self, part: impl FnOnce(duties::Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(part(self.stop.subscribe()));
    }

    /// Starts the loops of this process' roles.
    pub(crate) fn start(
        &mut self,
        config: &Config,
        queue: &Arc<dyn Queue>,
        clock: &Arc<SystemClock>,
        rooms: Rooms<'_>,
    ) -> Result<()> {
        let (notifying, fetching, wiki, analyzing) = rooms;
        self.tasks.spawn(duties::count(queue.clone(), self.stop.subscribe()));
        self.tasks.spawn(duties::record(notifying.clone(), self.stop.subscribe()));
        if config.roles.iter().any(|role| role.works()) {
            let pace = Pace { concurrency: config.queue.concurrency, batch: config.queue.batch };
            self.work(config, malla_queue::drill::room(), Arc::new(Driller), pace, queue, clock);
        }
        if config.roles.contains(&Role::Notifier) {
            self.notify(config, queue, clock, notifying)?;
        }
        if config.roles.contains(&Role::Wiki) {
            let pace = Pace { concurrency: wikis::IN_HAND, batch: wikis::IN_HAND };
            self.work(config, Room::new(malla_wiki::ROOM)?, wiki.walker(clock)?, pace, queue, clock);
        }
        if let Some(analyst) = analyzing.analyst() {
            let pace = Pace { concurrency: analyzing.in_hand(), batch: analyzing.in_hand() };
            self.work(config, Room::new(malla_analyze::ROOM)?, analyst, pace, queue, clock);
        }
        let (blocking, blocked) = (fetching.blocking.clone(), fetching.caring.blocked.clone());
        self.tasks.spawn(crate::caring::watch_blocklist(blocking, blocked, self.stop.subscribe()));
        if config.roles.contains(&Role::Fetcher) {
            self.tasks.spawn(fetching.clone().stand_in(self.grace, self.stop.subscribe()));
            let pace = Pace { concurrency: TOURS_MAX, batch: TOURS_MAX };
            self.work(
                config,
                Room::new(TOUR_ROOM)?,
                Arc::new(fetching.guide(self.stop.subscribe())),
                pace,
                queue,
                clock,
            );
        }
        Ok(())
    }

    /// Delivers notifications, listens to brokers and sends alerts.
    fn notify(
        &mut self,
        config: &Config,
        queue: &Arc<dyn Queue>,
        clock: &Arc<SystemClock>,
        notifying: &Notifying,
    ) -> Result<()> {
        let pace = Pace { concurrency: config.notify.concurrency, batch: config.notify.batch };
        self.work(config, Room::new(malla_notify::ROOM)?, notifying.deliverer(clock)?, pace, queue, clock);
        let pace = Pace { concurrency: LISTENERS_MAX, batch: 16 };
        self.work(config, Room::new(LISTEN_ROOM)?, notifying.listener()?, pace, queue, clock);
        let (sender, pace) = (notifying.alert_sender(config, clock)?, Pace { concurrency: NOTICES_MAX, batch: 16 });
        self.work(config, Room::new(ALERT_ROOM)?, sender, pace, queue, clock);
        let notify = &notifying.notify;
        self.tasks.spawn(duties::keep_listening(notify.clone(), queue.clone(), self.stop.subscribe()));
        self.tasks.spawn(duties::dispatch(notify.clone(), self.stop.subscribe()));
        self.tasks.spawn(duties::sweep(notify.clone(), self.stop.subscribe()));
        self.tasks.spawn(duties::index(notify.clone(), self.stop.subscribe()));
        Ok(())
    }

    /// One worker loop on a room.
    fn work(
        &mut self,
        config: &Config,
        room: Room,
        work: Arc<dyn Work>,
        pace: Pace,
        queue: &Arc<dyn Queue>,
        clock: &Arc<SystemClock>,
    ) {
        let options = Options {
            rooms: vec![room],
            holder: Holder::Member(member_name()),
            concurrency: pace.concurrency,
            batch: pace.batch,
            lease_for: Duration::from_secs(config.queue.lease_s),
            idle_max: IDLE_MAX,
            grace: self.grace,
        };
        let work = self.hand.counting(work);
        self.tasks.spawn(worker::run(queue.clone(), work, clock.clone(), options, self.stop.subscribe()));
    }

    /// Turns true when the end has begun.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Ends only if a loop ended that should not have.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        match self.tasks.join_next().await {
            Some(Err(error)) => anyhow::anyhow!("a part of the program failed: {error}"),
            _ => anyhow::anyhow!("a part of the program ended by itself"),
        }
    }

    /// Tells all loops to come to their end. Tasks in hand may finish, the others go back.
    pub(crate) fn begin_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits for the loops; true if all ended by `deadline`.
    pub(crate) async fn stopped(mut self, deadline: Instant) -> bool {
        while !self.tasks.is_empty() {
            if tokio::time::timeout_at(deadline, self.tasks.join_next()).await.is_err() {
                return false;
            }
        }
        true
    }
}
