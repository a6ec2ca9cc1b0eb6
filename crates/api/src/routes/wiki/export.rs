//! The whole history of a page as a stream: revision after revision, at constant memory however long it is.

use std::collections::{HashMap, VecDeque};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use malla_protocol::{Code, ExportFormat, ExportQuery, RevisionView};
use malla_queue::Error;
use malla_wiki::{Mark, Page, Revision, TextHash, texts};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use super::metrics::{CSV, format};
use super::page;
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query};
use crate::routes::analyze::table::line;
use crate::view;

const NDJSON: &str = "application/x-ndjson";
/// Revisions that are read from the store at once.
const STEP: usize = 500;
const COLUMNS: [&str; 17] = [
    "revid",
    "parentid",
    "pageid",
    "title",
    "timestamp",
    "user",
    "userid",
    "anon",
    "minor",
    "size",
    "sha1",
    "contentmodel",
    "contentformat",
    "comment",
    "tags",
    "texthidden",
    "wiki",
];

/// Export the history of a page, oldest first: one revision a line of JSON, or as CSV.
///
/// `format` or `Accept` chooses. `text=true` adds each text to the lines of JSON, as `*`.
#[utoipa::path(get, path = "/api/v1/wiki/pages/{wiki}/{pageid}/revisions", tag = "wiki", operation_id = "export_page",
    params(("wiki" = i64, Path), ("pageid" = i64, Path), ExportQuery),
    responses((status = 200, content((RevisionView = "application/x-ndjson"), (String = "text/csv")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn export(
    State(app): State<App>,
    who: May<See>,
    Path((wiki, pageid)): Path<(String, String)>,
    Query(query, NoParams {}): Query<ExportQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (_, page) = page(&app, &who, &wiki, &pageid).await?;
    let format = query.format.unwrap_or_else(|| format(&headers));
    let with_text = query.text.unwrap_or(false);
    if with_text && format == ExportFormat::Csv {
        return Err(Refusal::invalid("texts come as JSON only: leave out text, or ask for format=json"));
    }
    let turn = app
        .tail_turn()
        .ok_or_else(|| Refusal::new(Code::Full, "too many streams are open: close one or try again later"))?;
    let kind = if format == ExportFormat::Csv { CSV } else { NDJSON };
    let history = History { app, page, format, with_text, after: None, waiting: VecDeque::new(), open: None };
    Ok(([(CONTENT_TYPE, kind)], streamed(history, turn)).into_response())
}

fn streamed(history: History, turn: OwnedSemaphorePermit) -> Body {
    let head = history.head();
    let pieces = unfold((history, Some(head), turn), |(mut history, head, turn)| async move {
        if let Some(head) = head.filter(|head| !head.is_empty()) {
            return Some((Ok(Bytes::from(head)), (history, None, turn)));
        }
        let piece = match history.next().await {
            Ok(piece) => Ok(Bytes::from(piece?)),
            Err(error) => {
                tracing::warn!(%error, "an export broke off");
                // An error, so that the client sees that there would be more.
                Err(std::io::Error::other("broke off"))
            }
        };
        Some((piece, (history, None, turn)))
    });
    // Whoever packs answers looks for more after the end.
    Body::from_stream(pieces.fuse())
}

/// A history on its way out.
struct History {
    app: App,
    page: Page,
    format: ExportFormat,
    with_text: bool,
    after: Option<Mark>,
    waiting: VecDeque<(Revision, Option<u32>)>,
    /// The block that was read last: neighbours lie in the same one.
    open: Option<Open>,
}

struct Open {
    number: u32,
    bytes: Vec<u8>,
    places: HashMap<TextHash, malla_wiki::TextPlace>,
}

#[derive(Serialize)]
struct WithText {
    #[serde(flatten)]
    revision: RevisionView,
    #[serde(rename = "*", skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl History {
    fn head(&self) -> String {
        let mut head = String::new();
        if self.format == ExportFormat::Csv {
            line(&mut head, COLUMNS.into_iter().map(str::to_owned));
        }
        head
    }

    /// The next lines; `None` at the end.
    async fn next(&mut self) -> Result<Option<String>, Error> {
        if self.waiting.is_empty() {
            self.read_on().await?;
        }
        let mut lines = String::new();
        // A text may be large: with texts it is one at a time.
        while let Some((revision, block)) = self.waiting.pop_front() {
            self.write(revision, block, &mut lines).await?;
            if self.with_text {
                break;
            }
        }
        Ok(Some(lines).filter(|lines| !lines.is_empty()))
    }

    async fn read_on(&mut self) -> Result<(), Error> {
        let (wiki, pageid) = (self.page.wiki, self.page.pageid);
        let found = self.app.wikis.history(wiki, pageid, self.after, STEP).await?;
        self.after = found.last().map(Revision::mark).or(self.after);
        let mut blocks = HashMap::new();
        if self.with_text {
            let hashes: Vec<TextHash> = found.iter().filter_map(|revision| revision.text).collect();
            let places = self.app.wikis.places(wiki, pageid, &hashes).await?;
            blocks.extend(places.into_iter().map(|(hash, place)| (hash, place.block)));
        }
        let block = |revision: &Revision| blocks.get(&revision.text?).copied();
        self.waiting = found.into_iter().map(|revision| (block(&revision), revision)).map(|(b, r)| (r, b)).collect();
        Ok(())
    }

    async fn write(&mut self, revision: Revision, block: Option<u32>, lines: &mut String) -> Result<(), Error> {
        let hash = revision.text;
        let revision = view::wiki::revision(self.page.wiki, revision, Some(&self.page.facts.title));
        if self.format == ExportFormat::Csv {
            line(lines, cells(revision));
            return Ok(());
        }
        let text = match (hash, block) {
            (Some(hash), Some(block)) => self.text(hash, block).await?,
            _ => None,
        };
        let json = serde_json::to_string(&WithText { revision, text });
        lines.push_str(&json.map_err(|error| Error::Internal(error.to_string()))?);
        lines.push('\n');
        Ok(())
    }

    /// A text that was erased meanwhile is not there.
    async fn text(&mut self, hash: TextHash, number: u32) -> Result<Option<String>, Error> {
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            let Some(block) = self.app.wikis.block(self.page.wiki, self.page.pageid, number).await? else {
                return Ok(None);
            };
            let bytes = texts::unpack(&block.packed, block.bytes)?;
            self.open = Some(Open { number, bytes, places: block.texts.into_iter().collect() });
        }
        let Some(open) = &self.open else { return Ok(None) };
        let Some(place) = open.places.get(&hash) else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(texts::part(&open.bytes, *place)?).into_owned()))
    }
}

/// In the order of [`COLUMNS`].
fn cells(revision: RevisionView) -> [String; 17] {
    let flag = |flag: bool| if flag { "true".to_owned() } else { String::new() };
    [
        revision.revid.to_string(),
        revision.parentid.to_string(),
        revision.pageid.to_string(),
        revision.title.unwrap_or_default(),
        revision.timestamp,
        revision.user.unwrap_or_default(),
        revision.userid.map(|id| id.to_string()).unwrap_or_default(),
        flag(revision.anon),
        flag(revision.minor),
        revision.size.to_string(),
        revision.sha1.unwrap_or_default(),
        revision.contentmodel,
        revision.contentformat,
        revision.comment.unwrap_or_default(),
        revision.tags.join("|"),
        flag(revision.texthidden),
        revision.wiki.to_string(),
    ]
}
