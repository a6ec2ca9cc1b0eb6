//! Moves bodies that are kept already to where new ones go, in bounded steps.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use malla_queue::Result;
use metrics::counter;

use super::{Depot, Lying, Moved, Place, Rows};

/// Rows looked at in one step.
const STEP: usize = 200;

pub(crate) async fn relocate(rows: &impl Rows, depot: &Depot, after: Option<Place>) -> Result<Moved> {
    let after = after.unwrap_or(Place::Page(i64::MIN));
    let lying = rows.lying_after(after, STEP).await?;
    let next = match (lying.last(), after) {
        (Some(last), _) => Some(last.place),
        (None, Place::Page(_)) => Some(Place::Block(i64::MIN, i64::MIN)),
        (None, Place::Block(..)) => None,
    };
    let moves = lying.into_iter().map(|lying| relocate_one(rows, depot, lying));
    let moved: Vec<Option<u64>> = stream::iter(moves).buffer_unordered(depot.concurrency()).try_collect().await?;
    let (bodies, bytes) = moved.into_iter().flatten().fold((0, 0), |(bodies, sum), bytes| (bodies + 1, sum + bytes));
    counter!("malla_bodies_moved_total", "to" => if depot.takes_new() { "objects" } else { "database" })
        .increment(bodies);
    Ok(Moved { next, bodies, bytes })
}

/// Returns its packed bytes if it was moved.
async fn relocate_one(rows: &impl Rows, depot: &Depot, lying: Lying) -> Result<Option<u64>> {
    let place = lying.place;
    match lying.object {
        Some(object) if !depot.takes_new() => {
            let packed = depot.get(&object).await?;
            let bytes = packed.len() as u64;
            Ok(rows.move_in(place, object, packed).await?.then_some(bytes))
        }
        None if depot.takes(usize::try_from(lying.bytes).unwrap_or(usize::MAX)) => {
            let Some(packed) = rows.packed(place).await? else { return Ok(None) };
            let deadline = depot.deadline();
            let object = depot.put(packed.clone()).await?;
            let bytes = packed.len() as u64;
            Ok(rows.move_out(place, packed, object, deadline).await?.then_some(bytes))
        }
        _ => Ok(None),
    }
}
