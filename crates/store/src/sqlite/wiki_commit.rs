//! Ends leases of wiki: what it means to its extraction and to pages.

use malla_queue::Result;
use malla_wiki::{Committed, Settled, Visited};

use super::tx::Tx;
use super::{finish, sql, wiki_change as change, wiki_extractions as extractions};
use crate::taken::Taken;
use crate::wiki_change::next_task;
use crate::wiki_rows::day;

pub(super) fn commit(tx: &mut Tx<'_>, settled: &Settled) -> Result<Committed> {
    let taken = finish::held(tx, settled.token)?;
    taken.answer(settled.token.task)?;
    if taken == Taken::Before {
        return Ok(Committed::Done);
    }
    let Some(found) = change::find(tx, &settled.changes)? else { return Ok(Committed::Stale) };
    let (_, followed) = finish::end_following(tx, &[(settled.token, settled.ending.clone())])?;
    change::apply(tx, &settled.changes, &found)?;
    if let Some(visited) = &settled.visited {
        visit(tx, visited)?;
    }
    if let Some(step) = &settled.step {
        extractions::step(tx, step, next_task(settled, &followed))?;
    }
    Ok(Committed::Done)
}

fn visit(tx: &Tx<'_>, Visited { wiki, pages }: &Visited) -> Result<()> {
    for page in pages {
        tx.run(sql!("wiki/visit_page"), (wiki.0, page.0, tx.now.0))?;
    }
    tx.run(sql!("wiki/add_visits"), (wiki.0, day(tx.now), pages.len()))?;
    Ok(())
}
