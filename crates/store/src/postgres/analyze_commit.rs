//! Ends leases of analyze: what it means to the study.

use deadpool_postgres::{Object, Transaction};
use malla_analyze::lines::Lines;
use malla_analyze::{BatchKey, Settled, Settlement, Study, StudyState};
use malla_queue::UnixMs;

use super::analyze_studies as studies;
use super::fetch::begin;
use super::pool::Broken;
use super::{finish, point, sql};
use crate::analyze_rows::{int, mapped};
use crate::taken::Taken;

/// Returns the rooms to rouse.
pub(super) async fn commit(client: &mut Object, settled: &Settled, now: UnixMs) -> Result<Vec<String>, Broken> {
    let tx = begin(client).await?;
    let study = studies::lock(&tx, settled.study).await?.filter(|study| !study.state.is_over());
    let finished = finish::end(&tx, &[(settled.token, settled.ending.clone())], now).await?;
    let taken = finished.taken.first().copied().unwrap_or(Taken::Lost);
    taken.answer(settled.token.task)?;
    let mut rouse = finished.rouse;
    if let Some(study) = study.filter(|_| taken == Taken::Now) {
        rouse.extend(settle(&tx, study, settled, now).await?);
    }
    point("analyze.commit", "inside");
    tx.commit().await?;
    Ok(rouse)
}

async fn settle(tx: &Transaction<'_>, mut study: Study, settled: &Settled, now: UnixMs) -> Result<Vec<String>, Broken> {
    let by = Some(settled.token.task);
    match &settled.outcome {
        Settlement::Mapped { batch, partial, lines } => {
            return put(tx, &mut study, batch, partial, lines, now).await;
        }
        Settlement::Answered { .. } if study.state != StudyState::Computing => {}
        Settlement::Answered { answers } => {
            let names: Vec<&str> = answers.iter().map(|(name, _)| name.as_str()).collect();
            let bodies: Vec<&[u8]> = answers.iter().map(|(_, body)| body.as_slice()).collect();
            let statement = tx.prepare_cached(sql!("analyze/add_answers")).await?;
            tx.execute(&statement, &[&study.id.0.0, &names, &bodies]).await?;
            studies::end(tx, &mut study, StudyState::Succeeded, None, by, now).await?;
        }
        Settlement::Failed { why } => {
            studies::end(tx, &mut study, StudyState::Failed, Some(why.clone()), by, now).await?;
        }
    }
    Ok(Vec::new())
}

/// Puts the partial in the place of the batch's bytes, unless it is there already.
async fn put(
    tx: &Transaction<'_>,
    study: &mut Study,
    batch: &BatchKey,
    partial: &[u8],
    lines: &Lines,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    let statement = tx.prepare_cached(sql!("analyze/put_partial")).await?;
    let BatchKey { input, part, seq } = batch;
    let row = tx.query_opt(&statement, &[&study.id.0.0, input, part, &int(*seq), &partial]).await?;
    let Some(row) = row else { return Ok(Vec::new()) };
    mapped(study, row.get(0), lines, now);
    studies::write(tx, study).await?;
    studies::reduce_if_whole(tx, study, now).await
}
