//! Ends leases of analyze: what it means to the study.

use malla_analyze::lines::Lines;
use malla_analyze::{BatchKey, Settled, Settlement, Study, StudyState};
use malla_queue::Result;

use super::analyze_studies as studies;
use super::finish;
use super::sql;
use super::tx::Tx;
use crate::analyze_rows::{int, mapped};
use crate::taken::Taken;

pub(super) fn commit(tx: &mut Tx<'_>, settled: &Settled) -> Result<()> {
    let taken = finish::end(tx, &[(settled.token, settled.ending.clone())])?;
    let taken = taken.first().copied().unwrap_or(Taken::Lost);
    taken.answer(settled.token.task)?;
    if taken == Taken::Before {
        return Ok(());
    }
    match studies::find(tx.conn, settled.study)?.filter(|study| !study.state.is_over()) {
        Some(study) => settle(tx, study, settled),
        None => Ok(()),
    }
}

fn settle(tx: &mut Tx<'_>, mut study: Study, settled: &Settled) -> Result<()> {
    let by = Some(settled.token.task);
    match &settled.outcome {
        Settlement::Mapped { batch, partial, lines } => put(tx, &mut study, batch, partial, lines),
        Settlement::Answered { .. } if study.state != StudyState::Computing => Ok(()),
        Settlement::Answered { answers } => {
            for (name, body) in answers {
                tx.run(sql!("analyze/add_answer"), (study.id.0.0, name, body))?;
            }
            studies::end(tx, &mut study, StudyState::Succeeded, None, by)
        }
        Settlement::Failed { why } => studies::end(tx, &mut study, StudyState::Failed, Some(why.clone()), by),
    }
}

/// Puts the partial in the place of the batch's bytes, unless it is there already.
fn put(tx: &mut Tx<'_>, study: &mut Study, batch: &BatchKey, partial: &[u8], lines: &Lines) -> Result<()> {
    let (id, BatchKey { input, part, seq }) = (study.id.0.0, batch);
    let seq = int(*seq);
    // Not with RETURNING, which would read the batch's bytes, too.
    let waited = tx.one(sql!("analyze/waiting"), (id, input, part, seq), |row| row.get(0))?;
    let Some(waited) = waited else { return Ok(()) };
    tx.run(sql!("analyze/take_waiting"), (id, input, part, seq))?;
    tx.run(sql!("analyze/mark_mapped"), (id, input, part, seq))?;
    tx.run(sql!("analyze/add_partial"), (id, part, input, seq, partial))?;
    mapped(study, waited, lines, tx.now);
    studies::write(tx, study)?;
    studies::reduce_if_whole(tx, study)
}
