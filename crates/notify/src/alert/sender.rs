//! Sends notices: one attempt is one mail or one request.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work;
use malla_queue::{Clock, Error, Failure, Leased, NextTry, Outcome, Result, Scope, Verdict};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Method, Request};

use super::notice::Payload;
use super::{Alerts, Channel, Mail, Notice};
use crate::delivery::http::{AGENT, Exchange, Http};
use crate::delivery::judge::{Judgement, judge};
use crate::signing::Secret;
use malla_reach::Guard;

/// From the connection to the end of the answer.
const WEBHOOK_MAX: Duration = Duration::from_secs(30);
/// While the store cannot be read, notices go back to their lanes no faster than this.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Works on notices.
pub struct AlertSender {
    alerts: Arc<dyn Alerts>,
    http: Http,
    mail: Option<Mail>,
    clock: Arc<dyn Clock>,
}

impl AlertSender {
    /// Without `mail`, notices by e-mail fail and say what is missing.
    pub fn new(alerts: Arc<dyn Alerts>, guard: Guard, mail: Option<Mail>, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self { alerts, http: Http::new(guard)?, mail, clock })
    }

    async fn send(&self, task: &Leased, Payload { channel, notice }: Payload) -> Verdict {
        match channel {
            Channel::Email { to } => {
                let Some(mail) = &self.mail else {
                    return failed(
                        "there is no mail server: give its address in the setting smtp.url (MALLA_SMTP_URL)",
                    );
                };
                match mail.send(&to, &notice, task.token.task).await {
                    Ok(()) => Verdict::Done(Outcome::default()),
                    Err(note) => failed(note),
                }
            }
            Channel::Webhook { url, .. } => match self.secret(&notice.alert, &url).await {
                Ok(secret) => self.post(task, &url, secret, &notice).await,
                Err(error) => {
                    tokio::time::sleep(STORE_PAUSE).await;
                    Verdict::Released { note: error.to_string() }
                }
            },
        }
    }

    /// What signs notices of this alert to this address now. An alert that is gone signs nothing any more.
    async fn secret(&self, alert: &str, to: &str) -> Result<Option<String>> {
        let alert = match self.alerts.alert(&Scope::All, alert).await {
            Err(Error::NotFound(_)) => return Ok(None),
            other => other?,
        };
        Ok(alert.spec.to.into_iter().find_map(|channel| match channel {
            Channel::Webhook { url, secret } if url == to => secret,
            _ => None,
        }))
    }

    async fn post(&self, task: &Leased, url: &str, secret: Option<String>, notice: &Notice) -> Verdict {
        let request = match self.request(task, url, secret, notice) {
            Ok(request) => request,
            Err(error) => return failed(error.to_string()),
        };
        let answer = match self.http.exchange(request, WEBHOOK_MAX).await {
            Exchange::Answered(answer) => answer,
            Exchange::Broken { note, answer } => {
                let answer = answer.map(|answer| answer.to_json());
                return Verdict::Failed(Failure { answer, ..Failure::new(note) });
            }
        };
        let told = Some(answer.to_json());
        let again =
            |note, next| Verdict::Failed(Failure { answer: Some(answer.to_json()), next, ..Failure::new(note) });
        match judge(&answer, self.clock.now()) {
            Judgement::Done | Judgement::Accepted => Verdict::Done(Outcome { answer: told, ..Outcome::default() }),
            Judgement::Gone(_) => again("the target answered 410 Gone: it wants no more".into(), NextTry::Never),
            Judgement::Wait(wait, note) => again(note, NextTry::After(wait)),
            Judgement::Again(note) => again(note, NextTry::ByDelays),
        }
    }

    fn request(&self, task: &Leased, url: &str, secret: Option<String>, notice: &Notice) -> Result<Request> {
        let url = url.parse().map_err(|error| Error::Invalid(format!("the address is not usable: {error}")))?;
        let body = serde_json::to_vec(notice).map_err(|error| Error::Internal(error.to_string()))?;
        let (id, timestamp_s) = (format!("alr_{}", task.token.task), self.clock.now().0.div_euclid(1_000));
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("webhook-timestamp", timestamp_s.into());
        let signature = match secret {
            Some(secret) => Secret::parse_signing(&secret)?.sign(&id, timestamp_s, &body),
            None => None,
        };
        for (name, value) in [("webhook-id", Some(id)), ("webhook-signature", signature)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(name, value);
            }
        }
        let mut request = Request::new(Method::POST, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

#[async_trait]
impl Work for AlertSender {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        Some(match serde_json::from_slice::<Payload>(&task.payload) {
            Ok(payload) => self.send(task, payload).await,
            Err(error) => Verdict::Failed(Failure {
                next: NextTry::Never,
                ..Failure::new(format!("this task holds no notice of an alert: {error}"))
            }),
        })
    }
}

fn failed(note: impl Into<String>) -> Verdict {
    Verdict::Failed(Failure::new(note))
}
