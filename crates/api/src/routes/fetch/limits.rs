//! What a client may ask for: its quotas, its credit, and sites that are never fetched.

use malla_fetch::ledger::Account;
use malla_fetch::quota::Used;
use malla_fetch::{Answered, NewJob, Wanted};
use malla_protocol::Code;
use malla_queue::GroupId;

use crate::App;
use crate::problem::Refusal;

/// Refuses a job that is more than its client may ask for, and counts it otherwise.
pub(super) async fn check(app: &App, job: &NewJob) -> Result<(), Refusal> {
    let (fetching, now) = (&app.fetching, app.clock.now());
    let pages = job.wanted.iter().filter(|wanted| matches!(wanted, Wanted::Page { .. })).count() as u64;
    let account = Account::Client(job.group);
    let client = account.to_string();
    let too_much =
        |over: malla_fetch::quota::TooMuch| Refusal::new(Code::TooMany, over.why).retry_after_ms(over.after_ms);
    if fetching.quota.counts_days()
        && let Some(over) = fetching.quota.refuse_day(app.quotas.used(&client, now).await?, pages, now)
    {
        return Err(too_much(over));
    }
    if fetching.enforce_credit && fetching.prices.is_on() {
        let (cost, has) =
            (fetching.prices.page.saturating_mul(pages.cast_signed()), app.ledger.balance(&account).await?);
        if has < cost {
            let detail = format!(
                "this job costs up to {cost} micro-credits and the account {client} has {has}: ask an admin for a top-up"
            );
            return Err(Refusal::new(Code::CreditUsedUp, detail));
        }
    }
    app.minutes().take(&client, pages, &fetching.quota, now).map_err(too_much)?;
    if fetching.quota.counts_days() {
        app.quotas.use_up(&client, Used { pages, bytes: 0 }, now).await?;
    }
    Ok(())
}

/// Counts what a client is given.
pub(super) async fn count_bytes(app: &App, group: Option<GroupId>, answers: &[Answered]) {
    let bytes: u64 = answers.iter().map(|answer| answer.page.body.bytes).sum();
    if bytes == 0 || app.fetching.quota.bytes_per_day == 0 {
        return;
    }
    let client = Account::Client(group).to_string();
    if let Err(error) = app.quotas.use_up(&client, Used { pages: 0, bytes }, app.clock.now()).await {
        tracing::warn!(%error, client, "what a client was given could not be counted");
    }
}
