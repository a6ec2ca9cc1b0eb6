//! What all loads share: hands that go on through every crash until they are told to stop, and where the servers are
//! meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::caller::{Caller, Servers};
use super::dice::Dice;

/// Those who make a load. `S` is what they know together.
pub(super) struct Clients<S> {
    pub(super) runtime: Runtime,
    servers: watch::Sender<Servers>,
    pub(super) caller: Caller,
    pub(super) shared: Arc<S>,
    stop: Arc<AtomicBool>,
    hands: JoinSet<()>,
}

/// One of them.
pub(super) struct Hand<S> {
    pub(super) caller: Caller,
    pub(super) shared: Arc<S>,
    pub(super) dice: Dice,
    stop: Arc<AtomicBool>,
}

impl<S> Clients<S> {
    /// Nobody yet, and no server. `timeout` is how long one try of a request may take.
    pub(super) fn new(shared: S, timeout: Duration, dice: &mut Dice) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (servers, there) = watch::channel(Servers::default());
        let caller = Caller::new(there, timeout, dice.split());
        Self { runtime, servers, caller, shared: Arc::new(shared), stop: Arc::default(), hands: JoinSet::new() }
    }

    /// One more, who works until there is a stop.
    pub(super) fn add<F>(&mut self, dice: &mut Dice, work: impl FnOnce(Hand<S>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.hands.spawn_on(work(self.hand(dice.split())), self.runtime.handle());
    }

    pub(super) fn hand(&self, mut dice: Dice) -> Hand<S> {
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        Hand { caller: self.caller.with(dice.split()), shared, dice, stop }
    }

    /// The servers are there.
    pub(super) fn go_to(&self, servers: Servers) {
        self.servers.send_replace(servers);
    }

    /// The servers are gone.
    pub(super) fn wait(&self) {
        self.go_to(Servers::default());
    }

    /// Where the servers are.
    pub(super) fn known(&self) -> Servers {
        self.servers.borrow().clone()
    }

    /// Ends when every request in hand has its answer.
    pub(super) fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.runtime.block_on(async {
            while let Some(ended) = self.hands.join_next().await {
                ended.expect("a hand comes to its end");
            }
        });
    }

    /// When all hands have ended: nobody got an answer that nobody should get, and the store agrees with itself.
    pub(super) async fn all_is_well(&self) {
        let mut caller = self.caller.clone();
        assert_eq!(caller.trials.all_wrong(), [""; 0], "answers that nobody should get");
        let problems = caller.read("/api/v1/verify").await.expect("the server stays up during the audit");
        assert_eq!(problems, json!({ "problems": [] }));
    }
}

impl<S> Hand<S> {
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    pub(super) async fn breathe(&mut self, most_ms: u64) {
        tokio::time::sleep(Duration::from_millis(self.dice.roll(most_ms))).await;
    }
}
