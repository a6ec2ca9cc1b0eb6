//! Sites that are never fetched, and what clients have used, on either store.

use malla_fetch::blocklist::{Blocked, PATTERNS_MAX, Pattern};
use malla_fetch::quota::{DAY_MS, Used};
use malla_queue::{Error, UnixMs};

use crate::rows::{Hands, Row, Rows, both, one, values};

pub(crate) async fn blocked<R: Rows>(rows: &mut R) -> Result<Vec<Blocked>, R::Error> {
    let found = rows.rows(both!("blocked/list"), Vec::new()).await?;
    let read = |row: &Row| {
        Ok::<_, Error>(Blocked {
            pattern: row[0].text()?.parse()?,
            why: row[1].text()?.to_owned(),
            contact: row[2].maybe_text(),
            by: row[3].text()?.to_owned(),
            at: UnixMs(row[4].int()?),
        })
    };
    Ok(found.iter().map(read).collect::<Result<_, _>>()?)
}

pub(crate) async fn block<H: Hands>(hands: &mut H, new: &Blocked) -> Result<Blocked, H::Error> {
    let count = one(hands, both!("blocked/count"), Vec::new()).await?.and_then(|row| row[0].maybe_int()).unwrap_or(0);
    if usize::try_from(count).unwrap_or(0) >= PATTERNS_MAX {
        let why = format!("the list has {PATTERNS_MAX} sites: take some off it first");
        return Err(Error::Conflict(why).into());
    }
    let new = Blocked { at: hands.now(), ..new.clone() };
    let row = values![new.pattern.to_string(), new.why.as_str(), new.contact.clone(), new.by.as_str(), new.at];
    hands.run(both!("blocked/add"), row).await?;
    Ok(new)
}

pub(crate) async fn unblock<H: Hands>(hands: &mut H, pattern: &Pattern) -> Result<(), H::Error> {
    match hands.run(both!("blocked/drop"), values![pattern.to_string()]).await? {
        0 => Err(Error::NotFound(format!("{pattern} on the list")).into()),
        _ => Ok(()),
    }
}

pub(crate) async fn used<R: Rows>(rows: &mut R, client: &str, now: UnixMs) -> Result<Used, R::Error> {
    let row = one(rows, both!("quota/used"), values![now.0.div_euclid(DAY_MS), client]).await?;
    let count = |value: i64| u64::try_from(value).unwrap_or(0);
    let read = |row: Row| Ok::<_, Error>(Used { pages: count(row[0].int()?), bytes: count(row[1].int()?) });
    Ok(row.map(read).transpose()?.unwrap_or_default())
}

pub(crate) async fn use_up<H: Hands>(hands: &mut H, client: &str, more: Used, now: UnixMs) -> Result<(), H::Error> {
    let day = now.0.div_euclid(DAY_MS);
    hands.run(both!("quota/use_up"), values![day, client, more.pages, more.bytes]).await?;
    hands.run(both!("quota/forget"), values![day - 1]).await?;
    Ok(())
}
