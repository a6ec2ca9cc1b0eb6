//! The demo's wiki: pages, their histories over MediaWiki's API, and a stream of changes. Edits that are made while the
//! demo runs are kept in a file, so that the histories are the same at the next start.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::Query;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::http::request::Parts;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse as _, Json, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast;

use super::articles::{SUBJECTS, Subject};
use super::histories::{BOT, History};
use crate::dice::Dice;
use crate::mediawiki::{Article, Asked, DISCOVERY, Edit, Library, escaped};

const FILE: &str = "demo-wiki.jsonl";
/// No more are made: histories grow, and nothing forgets them.
const EDITS_MAX: usize = 20_000;
const DAY_S: u64 = 86_400;
/// Changes that a slow listener may lag behind.
const LAG_MAX: usize = 64;

pub(super) struct WikiSite {
    shelf: RwLock<Shelf>,
    changes: broadcast::Sender<String>,
    file: PathBuf,
}

struct Shelf {
    library: Library,
    histories: Vec<History>,
    /// The number of the next revision.
    next: u64,
    made: usize,
}

/// An edit that was made while a demo ran.
#[derive(Serialize, Deserialize)]
struct Made {
    page: usize,
    at: i64,
}

impl WikiSite {
    /// Histories from before `began`, and what was written since.
    pub(super) fn open(data: &Path, began: i64) -> Result<Self> {
        let file = data.join(FILE);
        let mut shelf = Shelf::new(began);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        // A line that was cut by a crash was never read by anybody.
        for made in text.lines().filter_map(|line| serde_json::from_str::<Made>(line).ok()).take(EDITS_MAX) {
            shelf.edit(&made);
        }
        Ok(Self { shelf: RwLock::new(shelf), changes: broadcast::Sender::new(LAG_MAX), file })
    }

    /// Somebody edits an article. `None` if there are enough edits.
    pub(super) fn edit(&self, page: usize, at: i64) -> Result<Option<String>> {
        let made = Made { page: page % SUBJECTS.len(), at };
        let mut shelf = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        if shelf.made >= EDITS_MAX {
            return Ok(None);
        }
        append(&self.file, &(serde_json::to_string(&made)? + "\n"))
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        shelf.edit(&made);
        let article = &shelf.library.articles[made.page];
        let revid = article.edits.last().map(|edit| edit.revid);
        let change = json!({
            "type": "edit", "server_name": "wiki.localhost", "title": article.title, "revision": { "new": revid },
        });
        let _ = self.changes.send(change.to_string());
        Ok(Some(article.title.clone()))
    }

    pub(super) fn answer(&self, request: &Parts) -> Response {
        let path = request.uri.path();
        match path {
            "/api.php" => {
                let asked = Query::<Asked>::try_from_uri(&request.uri).map(|asked| asked.0).unwrap_or_default();
                let answer = self.shelf.read().unwrap_or_else(PoisonError::into_inner).library.answer(&asked);
                ([(CACHE_CONTROL, "no-store")], Json(answer)).into_response()
            }
            "/changes" => self.stream(),
            "/robots.txt" => "User-agent: *\nDisallow: /api.php\n".into_response(),
            "/" => self.article(SUBJECTS[0].title),
            _ => match path.strip_prefix("/wiki/") {
                Some(title) => self.article(&title.replace("%20", " ")),
                None => StatusCode::NOT_FOUND.into_response(),
            },
        }
    }

    fn article(&self, title: &str) -> Response {
        let shelf = self.shelf.read().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = shelf.library.find(title) else { return StatusCode::NOT_FOUND.into_response() };
        let Article { title, edits } = &shelf.library.articles[place];
        let text = edits.last().map(|edit| escaped(&edit.text)).unwrap_or_default();
        let link =
            |subject: &Subject| format!("<a href=\"/wiki/{}\">{}</a>", subject.title.replace(' ', "_"), subject.title);
        let links: Vec<String> = SUBJECTS.iter().map(link).collect();
        Html(format!(
            "<!doctype html>\n<html lang=\"en\"><head><title>{title}</title>{DISCOVERY}</head><body><h1>{title}</h1>\n\
             <pre style=\"white-space: pre-wrap\">{text}</pre>\n<p>{}</p></body></html>\n",
            links.join(" · ")
        ))
        .into_response()
    }

    /// Changes as they happen, as Wikimedia tells them.
    fn stream(&self) -> Response {
        let changes = stream::unfold(self.changes.subscribe(), |mut changes| async move {
            loop {
                match changes.recv().await {
                    Ok(change) => {
                        return Some((Ok::<_, std::convert::Infallible>(Event::default().data(change)), changes));
                    }
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        });
        Sse::new(changes).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
    }
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file: File = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(line.as_bytes())
}

impl Shelf {
    fn new(began: i64) -> Self {
        let mut dice = Dice::new(1907);
        let mut histories: Vec<History> =
            (1..).zip(&SUBJECTS).map(|(seed, subject)| History::new(subject, seed)).collect();
        let mut articles: Vec<Article> = Vec::new();
        let first = began - 3_600;
        for (subject, history) in SUBJECTS.iter().zip(&mut histories) {
            let (many, years) = (dice.within(40, 190), dice.within(2, 7));
            // More of them of late.
            let mut ages: Vec<u64> =
                (0..many).map(|_| dice.below(years * 365 * DAY_S).min(dice.below(years * 400 * DAY_S))).collect();
            ages.sort_unstable_by(|one, two| two.cmp(one));
            ages.dedup();
            let at = |age: u64| first - i64::try_from(age).unwrap_or(0);
            let edits = ages.into_iter().map(|age| Edit { at: at(age), ..history.edit() }).collect();
            articles.push(Article { title: subject.title.into(), edits });
        }
        let next = number(&mut articles);
        let library = Library { name: "Wiki of Puerto Malla".into(), bots: vec![BOT.into()], articles };
        Self { library, histories, next, made: 0 }
    }

    fn edit(&mut self, made: &Made) {
        let (Some(article), Some(history)) =
            (self.library.articles.get_mut(made.page), self.histories.get_mut(made.page))
        else {
            return;
        };
        let parentid = article.edits.last().map_or(0, |edit| edit.revid);
        article.edits.push(Edit { revid: self.next, parentid, at: made.at, ..history.edit() });
        self.next += 1;
        self.made += 1;
    }
}

/// Revisions are numbered in the order of their times, whatever page they are of. Returns the next number.
fn number(articles: &mut [Article]) -> u64 {
    let mut order: Vec<(i64, usize, usize)> = Vec::new();
    for (page, article) in articles.iter().enumerate() {
        order.extend(article.edits.iter().enumerate().map(|(place, edit)| (edit.at, page, place)));
    }
    order.sort_unstable();
    let mut next = 1_000;
    for (_, page, place) in order {
        let parentid = place.checked_sub(1).map_or(0, |before| articles[page].edits[before].revid);
        let edit = &mut articles[page].edits[place];
        (edit.revid, edit.parentid) = (next, parentid);
        next += 1;
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_the_same_after_a_restart() {
        let place = tempfile::tempdir().expect("a directory");
        let began = 1_700_000_000;
        let wiki = WikiSite::open(place.path(), began).expect("opens");
        for page in [3, 5, 3] {
            wiki.edit(page, began + page as i64).expect("written");
        }
        let again = WikiSite::open(place.path(), began).expect("opens");
        let told = |wiki: &WikiSite| {
            let shelf = wiki.shelf.read().expect("read");
            let edits = shelf.library.articles.iter().flat_map(|article| &article.edits);
            edits.map(|edit| (edit.revid, edit.parentid, edit.at, edit.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(told(&wiki), told(&again));
        assert!(told(&wiki).len() > 400, "{}", told(&wiki).len());
    }
}
