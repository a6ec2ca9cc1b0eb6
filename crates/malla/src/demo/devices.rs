//! Two volunteers' devices. One of them is switched off now and then.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::stage::Stage;
use crate::commands::worker::{self, Command};
use crate::duties::Stop;

/// Name and country.
const STEADY: (&str, &str) = ("attic-pc", "AR");
const RESTLESS: (&str, &str) = ("laptop-nora", "SE");
pub(super) const COUNTRIES: [&str; 2] = [STEADY.1, RESTLESS.1];
const ON: Duration = Duration::from_secs(420);
const OFF: Duration = Duration::from_secs(60);
/// Before a device that lost its server tries again.
const AGAIN: Duration = Duration::from_secs(5);

/// Until told to stop; then they give back what they have not begun, and leave.
pub(super) async fn run(stage: Arc<Stage>, token: String, stop: Stop) {
    tokio::join!(steady(&stage, &token, stop.clone()), restless(&stage, &token, stop));
}

async fn steady(stage: &Stage, token: &str, mut stop: Stop) {
    while !*stop.borrow() {
        work(stage, STEADY, token, stop.clone()).await;
        wait(AGAIN, &mut stop).await;
    }
}

async fn restless(stage: &Stage, token: &str, mut stop: Stop) {
    while !*stop.borrow() {
        let (off, told) = watch::channel(false);
        let switched = async {
            wait(ON, &mut stop).await;
            off.send_replace(true);
        };
        tokio::join!(work(stage, RESTLESS, token, told), switched);
        wait(OFF, &mut stop).await;
    }
}

async fn work(stage: &Stage, (name, country): (&str, &str), token: &str, stop: watch::Receiver<bool>) {
    let command = Command::inside(&stage.url, token, name, country);
    if let Err(error) = worker::work(&stage.config, command, stop).await {
        tracing::warn!("demo: the device {name} stopped: {error:#}");
    }
}

/// Ends early when all shall stop.
async fn wait(time: Duration, stop: &mut Stop) {
    let _ = tokio::time::timeout(time, stop.wait_for(|stop| *stop)).await;
}
