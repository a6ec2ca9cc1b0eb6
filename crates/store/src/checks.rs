//! What is refused before a store is asked.

use std::fmt::Display;

use malla_queue::{Ending, Error, LeaseToken, Limits, NewTask, Result};

pub(crate) fn submission(tasks: &[NewTask], limits: &Limits) -> Result<()> {
    if tasks.len() > limits.batch_max {
        return Err(Error::Invalid(format!(
            "{} tasks are too many for one call: at most {}",
            tasks.len(),
            limits.batch_max
        )));
    }
    tasks.iter().try_for_each(|task| task.check(limits))
}

fn ending(ending: &Ending, limits: &Limits) -> Result<()> {
    submission(&ending.follow_ups, limits)?;
    let size = ending.result.as_ref().map_or(0, Vec::len);
    if size > limits.result_bytes_max {
        return Err(Error::Invalid(format!(
            "a result of {size} bytes is too large: at most {}",
            limits.result_bytes_max
        )));
    }
    Ok(())
}

/// Applies the endings that are within the limits and refuses the others, each for itself.
pub(crate) async fn each_ending<F>(
    endings: Vec<(LeaseToken, Ending)>,
    limits: &Limits,
    apply: impl FnOnce(Vec<(LeaseToken, Ending)>) -> F,
) -> Result<Vec<Result<()>>>
where
    F: Future<Output = Result<Vec<Result<()>>>>,
{
    let checked: Vec<Result<()>> = endings.iter().map(|(_, e)| ending(e, limits)).collect();
    let good = endings.into_iter().zip(&checked).filter(|(_, check)| check.is_ok()).map(|(ending, _)| ending).collect();
    let mut applied = apply(good).await?.into_iter();
    Ok(checked.into_iter().map(|check| check.and_then(|()| applied.next().unwrap_or(Ok(())))).collect())
}

/// A store that a newer program has changed is left alone.
pub(crate) fn version(applied: Option<i64>, known: i64, place: impl Display) -> Result<()> {
    match applied {
        // Trying again would not help.
        Some(applied) if applied > known => Err(Error::Invalid(format!(
            "{place} belongs to a newer version of Malla (schema {applied}, this program knows {known}): use that version"
        ))),
        _ => Ok(()),
    }
}
