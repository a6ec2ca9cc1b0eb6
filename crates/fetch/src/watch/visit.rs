//! What a visit found: the same, something new, or trouble.

use malla_queue::{Event, GroupId, Result, UnixMs};

use super::WatchSpec;
use crate::text::{Ignore, of_page, unified};
use crate::{Page, PageUrl, UrlKey};

/// A page as a visit found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visit {
    /// It cannot be compared: no answer, an error, not asked for.
    Failed(String),
    /// Its text, and the name of it without what is ignored.
    Text { text: String, seen: String },
}

/// Looks at a page that came.
pub fn look(spec: &WatchSpec, page: &Page) -> Result<Visit> {
    if !(200..300).contains(&page.status) {
        let why = match &page.trouble {
            Some(trouble) => trouble.note.clone(),
            None => format!("the site answered {}", page.status),
        };
        return Ok(Visit::Failed(why));
    }
    let text = match of_page(page, spec.selector.as_deref())? {
        Some(text) => text,
        // What is no text is known by its bytes alone.
        None => format!("{} bytes, {}\n", page.body.bytes, UrlKey::of_bytes(&crate::unpack_page(page)?)),
    };
    if let Some(selector) = spec.selector.as_ref().filter(|_| text.is_empty()) {
        return Ok(Visit::Failed(format!("nothing on the page is picked by \"{selector}\"")));
    }
    let seen = UrlKey::of_bytes(Ignore::read(&spec.ignore)?.apply(&text).as_bytes()).to_string();
    Ok(Visit::Text { text, seen })
}

/// A page that has changed, for whoever subscribes to that.
#[derive(Debug, Clone, Copy)]
pub struct Change<'c> {
    pub url: &'c PageUrl,
    pub status: u16,
    pub fetched_at: UnixMs,
    /// The watch that noticed, with the numbers of the versions, and their texts.
    pub watch: Option<(&'c str, u64, u64)>,
    pub texts: Option<(&'c str, &'c str)>,
}

/// The one event for a page that has changed, whether a watch noticed or somebody fetched it anew. A watch tells what differs.
pub fn changed_event(change: &Change<'_>, group: Option<GroupId>) -> Event {
    let mut body = serde_json::json!({
        "url": change.url.as_str(), "status": change.status, "fetched_at": change.fetched_at.0,
    });
    if let Some((watch, from, to)) = change.watch {
        body["watch"] = watch.into();
        body["from_version"] = from.into();
        body["version"] = to.into();
    }
    if let Some((old, new)) = change.texts {
        body["diff"] = unified(old, new).into();
    }
    Event { kind: "fetch.changed".into(), group, body: body.to_string().into_bytes() }
}
