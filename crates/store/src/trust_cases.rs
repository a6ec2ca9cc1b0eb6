//! Checks as they are shown and compared, with the pages that were brought for them.

use malla_fetch::trust::{CaseFile, Check, CheckId, Claim};
use malla_fetch::{Answered, DeviceId, Page};
use malla_queue::Error;

use crate::bodies::{Depot, Outside, fetch_answers};
use crate::fetch_rows::{PageRow, from_json};
use crate::rows::{Row, Rows, both, one, values};

/// A check with its pages, whose bodies may lie outside.
pub(crate) type Filed = (Check, [Option<Outside<Page>>; 2]);

pub(crate) async fn case<R: Rows>(rows: &mut R, id: CheckId) -> Result<Option<Filed>, R::Error> {
    let Some(row) = one(rows, both!("trust/check"), values![id.0.0]).await? else { return Ok(None) };
    let check: Check = from_json(row[0].text()?)?;
    let first = page_of(rows, check.first.as_ref()).await?;
    let second = page_of(rows, check.second.as_ref()).await?;
    Ok(Some((check, [first, second])))
}

/// The file with all bodies.
pub(crate) async fn complete(depot: Option<&Depot>, filed: Option<Filed>) -> Result<Option<CaseFile>, Error> {
    let Some((check, pages)) = filed else { return Ok(None) };
    let mut whole = Vec::with_capacity(2);
    for page in pages {
        let answered = |page: Page| Answered { n: 0, url: page.url.clone(), from_cache: false, page };
        let row = page.map(|(page, object)| (answered(page), object));
        whole.push(fetch_answers(depot, row.into_iter().collect()).await?.pop().map(|answered| answered.page));
    }
    let second = whole.pop().flatten();
    Ok(Some(CaseFile { check, first: whole.pop().flatten(), second }))
}

async fn page_of<R: Rows>(rows: &mut R, claim: Option<&Claim>) -> Result<Option<Outside<Page>>, R::Error> {
    let Some(page) = claim.and_then(|claim| claim.page) else { return Ok(None) };
    let row = one(rows, both!("trust/page"), values![page.0.0]).await?;
    let read = |row: Row| {
        let row = read_page(&row)?;
        let object = row.object.clone();
        Ok::<_, Error>((row.read(page.0.0)?, object))
    };
    Ok(row.map(read).transpose()?)
}

fn read_page(row: &Row) -> Result<PageRow, Error> {
    Ok(PageRow {
        url: row[0].text()?.to_owned(),
        status: i32::try_from(row[1].int()?).unwrap_or(0),
        headers: row[2].text()?.to_owned(),
        bytes: row[3].int()?,
        trouble: row[4].maybe_text(),
        note: row[5].maybe_text(),
        fetched_at: row[6].int()?,
        took_ms: row[7].int()?,
        device: row[8].maybe_text(),
        packed: row[9].maybe_bytes(),
        object: row[10].maybe_text(),
        ..PageRow::default()
    })
}

pub(crate) async fn checks<R: Rows>(
    rows: &mut R,
    device: Option<DeviceId>,
    below: Option<CheckId>,
    limit: usize,
) -> Result<Vec<Check>, R::Error> {
    let (below, limit) = (below.map_or(i64::MAX, |id| id.0.0), limit as u64);
    let found = match device {
        Some(device) => rows.rows(both!("trust/checks_of"), values![device.0, below, limit]).await?,
        None => rows.rows(both!("trust/checks"), values![below, limit]).await?,
    };
    Ok(found.iter().map(|row| from_json(row[0].text()?)).collect::<Result<_, Error>>()?)
}
