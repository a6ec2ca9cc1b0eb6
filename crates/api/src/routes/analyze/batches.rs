//! Batches: taken in, and listed, so that a client that was interrupted can go on.

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt as _;
use malla_analyze::analysis::{AnyAnalysis, Role};
use malla_analyze::intake::{Checked, Packing, Refused, check};
use malla_analyze::{BatchKey, Buffer, KnownBatch, MappedBatch, NewBatch, Study, TakenBatch as Taken};
use malla_protocol::{Code, Page, PageQuery, TakenBatch};

use super::ended_badly;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::page;
use crate::view;
use crate::{AnalystHere, App};

/// Send a batch: a CSV with its header line.
///
/// It may be packed: `Content-Encoding: gzip` or `zstd`. A 204 means that it is safe; the same again is a 204 and counts
/// once; another body under the same number is a `conflict`. Tables that the records of a city need come before them.
#[utoipa::path(put, path = "/api/v1/analyses/{id}/{input}/{city}/{seq}", tag = "analyze", operation_id = "send_batch",
    params(("id" = String, Path), ("input" = String, Path, description = "`weather`, `stations` or `trips`"),
        ("city" = String, Path, description = "Case does not matter"),
        ("seq" = u64, Path, description = "The batch's number among those of its table and city")),
    request_body(content = String, content_type = "text/csv"), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn take(
    State(app): State<App>,
    who: May<Change>,
    Path((id, input, city, seq)): Path<(String, String, String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let study = app.analyze.study(&who.scope(), id.parse()?).await?;
    // One that is completed still knows the batches that it has: whoever missed an answer may repeat them.
    if let Some(refusal) = ended_badly(&study) {
        return Err(refusal);
    }
    let analysis = study.analysis()?;
    let seq = seq.parse().map_err(|_| {
        Refusal::invalid(format!("\"{seq}\" is not a batch's number: number the batches of a table and city from 0"))
    })?;
    let key = BatchKey::new(analysis, &input, &city, seq)?;
    let role = key.role(analysis).ok_or_else(Refusal::internal)?;
    let (parts, body) = request.into_parts();
    let packing = packing(&parts.headers)?;
    let (declared, max) = (content_length(&parts.headers), app.analyzing.batch_bytes_max);
    if declared.is_some_and(|bytes| bytes > max) {
        return Err(too_large(&key, max));
    }
    let _room = app.turns().in_hand(declared.unwrap_or(max)).await?;
    let body = whole(body, &key, declared.unwrap_or(0), max).await?;
    let checked = checked(&app, analysis, key.clone(), body, packing).await?;
    keep(&app, &who, &study, key, role, checked).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn packing(headers: &HeaderMap) -> Result<Packing, Refusal> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    let first = named.next().map(|value| value.to_str().unwrap_or("?")).unwrap_or_default();
    match (Packing::named(first), named.next()) {
        (Some(packing), None) => Ok(packing),
        _ => {
            let detail = "this content encoding is not known: send the batch plain, with gzip or with zstd";
            Err(Refusal::new(Code::UnsupportedMediaType, detail))
        }
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The body as it came, counted while it comes: its sender need not have said how long it is.
async fn whole(body: Body, key: &BatchKey, declared: usize, max: usize) -> Result<Buffer, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Buffer::with_capacity(declared);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refusal::invalid("the body broke off: send it again"))?;
        if bytes.len() + chunk.len() > max {
            return Err(too_large(key, max));
        }
        bytes.vec().extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn too_large(key: &BatchKey, max: usize) -> Refusal {
    refusal(&Refused::TooLarge { batch: key.to_string(), mb: max / 1_000_000 })
}

fn refusal(refused: &Refused) -> Refusal {
    let code = match refused {
        Refused::Table { .. } | Refused::Packing { .. } => Code::Invalid,
        Refused::TooLarge { .. } => Code::TooLarge,
    };
    Refusal::new(code, refused.to_string())
}

async fn checked(
    app: &App,
    analysis: &'static dyn AnyAnalysis,
    key: BatchKey,
    body: Buffer,
    packing: Packing,
) -> Result<Checked, Refusal> {
    let (turn, max) = (app.turns().unpacking().await?, app.analyzing.batch_bytes_max);
    let checked = tokio::task::spawn_blocking(move || {
        let checked = check(analysis, &key, body, packing, max);
        // Whoever gave up waiting does not end this: the turn does.
        drop(turn);
        checked
    });
    let checked = checked.await.map_err(|error| {
        tracing::error!(%error, "a batch could not be looked at");
        Refusal::internal()
    })?;
    checked.map_err(|refused| refusal(&refused))
}

/// Makes a batch safe. Records are mapped first if that can be done here and now: their partial is all that has to be
/// kept then. Others are left for whoever maps them before anybody knows of their task.
async fn keep(
    app: &App,
    who: &May<Change>,
    study: &Study,
    key: BatchKey,
    role: Role,
    checked: Checked,
) -> Result<(), Refusal> {
    let options = &app.analyzing;
    let here = options.here.as_ref().filter(|_| role == Role::Records);
    if let Some(here) = here
        && keep_mapped(app, who, study, &key, &checked, here).await?
    {
        return Ok(());
    }
    let (hash, plain) = (checked.hash, checked.plain.clone());
    let packed = tokio::task::spawn_blocking(move || checked.packed()).await.map_err(|_| Refusal::internal())??;
    let batch = NewBatch {
        key,
        role,
        hash,
        size: plain.len() as u64,
        packed,
        waiting_bytes_max: options.waiting_bytes_max,
        dimension_bytes_max: options.dimension_bytes_max,
    };
    let recent = here.map(|here| &here.recent);
    if let Some(recent) = recent {
        recent.put(study.id, hash, plain).await;
    } else {
        drop(plain);
    }
    let taken = app.analyze.take(&who.scope(), study.id, batch).await;
    // Nobody will come for it.
    if let (Some(recent), Ok(Taken::Again) | Err(_)) = (recent, &taken) {
        recent.take(study.id, hash);
    }
    Ok(taken.map(drop)?)
}

/// Maps records and makes their partial safe. False if they must wait for their turn.
async fn keep_mapped(
    app: &App,
    who: &May<Change>,
    study: &Study,
    key: &BatchKey,
    checked: &Checked,
    here: &AnalystHere,
) -> Result<bool, Refusal> {
    let Some(mapped) = here.analyst.map_now(study.id, key, &checked.plain, here.when).await? else { return Ok(false) };
    let batch = MappedBatch {
        key: key.clone(),
        hash: checked.hash,
        size: checked.plain.len() as u64,
        partial: mapped.bytes,
        lines: mapped.lines,
    };
    Ok(app.analyze.take_mapped(&who.scope(), study.id, batch).await? != Taken::NotYet)
}

/// List the batches that are safe, by table, city and number.
#[utoipa::path(get, path = "/api/v1/analyses/{id}/batches", tag = "analyze", operation_id = "list_batches",
    params(("id" = String, Path), PageQuery), responses((status = 200, body = Page<TakenBatch>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<TakenBatch>>, Refusal> {
    let study = app.analyze.study(&who.scope(), id.parse()?).await?;
    let limit = limit(&query)?;
    let after: Option<Place> = cursor::read_as(List::Batches, query.cursor.as_deref())?;
    let found = app.analyze.batches(study.id, after.as_ref().map(|Place(key)| key), limit + 1).await?;
    let place = |batch: &KnownBatch| batch.key.to_string();
    Ok(Json(page(List::Batches, found, limit, place, view::analyze::batch)))
}

/// A batch as a cursor names it. Only the city may have slashes in it.
struct Place(BatchKey);

impl std::str::FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (input, rest) = text.split_once('/').ok_or(())?;
        let (part, seq) = rest.rsplit_once('/').ok_or(())?;
        let seq = seq.parse().map_err(drop)?;
        Ok(Self(BatchKey { input: input.into(), part: part.into(), seq }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_whatever_the_city_is_called() {
        for part in ["montreal", "a/b", "são paulo"] {
            let key = BatchKey { input: "trips".into(), part: part.into(), seq: 17 };
            assert_eq!(key.to_string().parse::<Place>().map(|Place(key)| key), Ok(key));
        }
        assert!("trips/17".parse::<Place>().is_err());
    }
}
