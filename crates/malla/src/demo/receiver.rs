//! Where the demo's notifications go: targets that take them, fail now and then, take their time, or say "accepted" and
//! confirm later.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::mpsc;

use super::stage::rest;
use crate::dice::Dice;

/// Confirmations that wait to be given.
const WAITING_MAX: usize = 256;
/// The billing system is down for a while in every turn, the first time soon after the start.
const TURN_S: u64 = 300;
const DOWN_S: std::ops::Range<u64> = 3..28;

pub(super) struct Receiver {
    dice: Mutex<Dice>,
    accepted: mpsc::Sender<String>,
    to_confirm: Mutex<Option<mpsc::Receiver<String>>>,
}

impl Default for Receiver {
    fn default() -> Self {
        let (accepted, to_confirm) = mpsc::channel(WAITING_MAX);
        Self { dice: Mutex::new(Dice::new(7)), accepted, to_confirm: Mutex::new(Some(to_confirm)) }
    }
}

impl Receiver {
    /// The ids of notifications that were accepted and are to be confirmed; given once.
    pub(super) fn to_confirm(&self) -> Option<mpsc::Receiver<String>> {
        self.to_confirm.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) async fn answer(&self, request: &Parts, age: Duration) -> Response {
        let (luck, ms) = {
            let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
            (dice.below(100), dice.within(2, 40))
        };
        rest(ms).await;
        let refused = |text: &'static str| (StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
        match request.uri.path() {
            "/billing" if DOWN_S.contains(&(age.as_secs() % TURN_S)) => refused("billing is down for maintenance\n"),
            "/billing" if request.headers.get("x-voucher").is_some() => {
                (StatusCode::UNPROCESSABLE_ENTITY, "a voucher cannot be billed\n").into_response()
            }
            "/billing" if luck < 8 => refused("deadlock in table invoices, try again\n"),
            "/courier" => {
                let id = request.headers.get("webhook-id").and_then(|id| id.to_str().ok()?.strip_prefix("ntf_"));
                // One in ten gets lost on a desk, and is sent again after its deadline.
                if let Some(id) = id.filter(|_| luck >= 10) {
                    let _ = self.accepted.try_send(id.to_owned());
                }
                (StatusCode::ACCEPTED, "queued for the next round\n").into_response()
            }
            "/display" => {
                rest(300 + luck * 15).await;
                "shown\n".into_response()
            }
            _ => StatusCode::NO_CONTENT.into_response(),
        }
    }
}
