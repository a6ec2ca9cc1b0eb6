//! A wiki whose API is off: its history pages are read for revisions, and each text by itself.

use std::collections::HashMap;
use std::sync::Arc;

use malla_queue::Error;
use serde_json::json;
use url::Url;

use super::errand::{Errand, Next, Shelf, Stop, Told, Turn, go};
use super::find::{fail, noted};
use super::stage::{Aim, Scraped, Stage};
use super::walk::told;
use crate::mediawiki::{
    History, Line, Subject, Trouble, history, history_url, last_modified, named_in_query, raw_url, revision, status,
};
use crate::page::PageFacts;
use crate::revision::{Known, RevId};
use crate::shelving::Fetched;
use crate::site::{NewWiki, Wiki, WikiId};

impl Errand<'_> {
    /// Notes the wiki as one whose pages are read.
    pub(super) async fn scrape_instead(&self, aim: Aim, shows: Option<Subject>, script: Url) -> Result<Turn, Stop> {
        let subject = match &aim.title {
            Some(title) => Some(Subject::Title(title.clone())),
            None => named_in_query(&aim.url).or(shows),
        };
        let Some(subject) = subject else {
            return Ok(fail(format!("{} does not say which page it is, and the wiki's API is off", aim.url)));
        };
        let locale = aim.locale.clone().or_else(|| self.walker.template.locale_of(&script)).unwrap_or_default();
        let from = aim.title.as_ref().map(|_| aim.url.as_str());
        let about = json!({ "general": { "script": script.path() }, "namespaces": {}, "bots": [], "from": from });
        let name = script.host_str().unwrap_or_default().to_owned();
        let new = NewWiki { group: self.task.group, api: script, locale, name, about, scraped: true };
        let wiki = self.walker.wikis.found(new).await?;
        let told = Told { wiki: Some(wiki.id), ..noted("the wiki's API is off: reading its history pages") };
        Ok(Turn::new(go(&wiki, Stage::ScrapeList { wiki: wiki.id, subject, offset: None })?, told))
    }

    /// Reads a history page.
    pub(super) async fn scrape_list(
        &mut self,
        id: WikiId,
        subject: Subject,
        offset: Option<String>,
    ) -> Result<Turn, Stop> {
        let wiki = self.wiki(id).await?;
        let response = self.ask(&history_url(&wiki.api, &subject, offset.as_deref())).await?;
        match status(&response, self.walker.clock.now()) {
            Err(Trouble::NotHere(_)) if response.status == 404 => {
                return Ok(fail(format!("the page does not exist in {}", wiki.name)));
            }
            other => other?,
        }
        let Some(History { pageid, title, ns, mut lines, offset: next, .. }) = history(&response.body) else {
            return Ok(fail(format!("{} has no history of this page", wiki.name)));
        };
        if next.is_some() && next == offset {
            return Err(Trouble::Never("the wiki's history page does not go on".into()).into());
        }
        if let Some(payload) = self.payload.as_mut() {
            payload.counts.done += lines.len() as u64;
        }
        let numbers: Vec<RevId> = lines.iter().map(|line| line.revid).collect();
        let known = self.walker.wikis.known(id, &numbers).await?;
        let known: HashMap<RevId, Known> = known.into_iter().map(|kept| (kept.revid, kept)).collect();
        let is_whole = |line: &Line| {
            known
                .get(&line.revid)
                .is_some_and(|kept| kept.text_hidden == line.text_hidden && (kept.text.is_some() || kept.text_hidden))
        };
        lines.retain(|line| !is_whole(line));
        // What is hidden needs no request of its own.
        let (hidden, lines): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| line.text_hidden);
        let fetched = hidden.iter().filter_map(|line| {
            let exact = known.get(&line.revid).map(|kept| kept.at);
            Some(Fetched { revision: revision(line, pageid, exact)?, text: None })
        });
        let fetched = fetched.collect();
        let scraped = Scraped { wiki: id, pageid, title, ns, lines, offset: next };
        self.after_line(wiki, scraped, fetched)
    }

    /// Reads the text of the last of the lines.
    pub(super) async fn scrape_text(&mut self, mut scraped: Scraped) -> Result<Turn, Stop> {
        let wiki = self.wiki(scraped.wiki).await?;
        let Some(line) = scraped.lines.pop() else {
            return Err(Stop::Store(Error::Internal("there is no text left to read".into())));
        };
        let response = match self.ask(&raw_url(&wiki.api, &scraped.title, line.revid)).await {
            Err(Stop::TooLarge) => None,
            other => Some(other?),
        };
        let (text, exact) = match response {
            None => (None, None),
            Some(response) => match status(&response, self.walker.clock.now()) {
                Ok(()) if response.content_type.as_deref().is_some_and(|kind| kind.starts_with("text/html")) => {
                    return Err(Trouble::Again("the answer is a page instead of a text".into()).into());
                }
                Ok(()) => (Some(response.body), response.last_modified.as_deref().and_then(last_modified)),
                Err(Trouble::NotHere(_)) => (None, None),
                Err(other) => return Err(other.into()),
            },
        };
        let Some(mut revision) = revision(&line, scraped.pageid, exact) else {
            return Err(Trouble::Never(format!("nothing says when the revision {} was made", line.revid.0)).into());
        };
        if let Some(text) = &text {
            revision.size = text.len() as u64;
        }
        let fetched = vec![Fetched { revision, text }];
        if let Some(payload) = self.payload.as_mut() {
            payload.skipped += u64::from(fetched[0].text.is_none());
        }
        self.after_line(wiki, scraped, fetched)
    }

    /// The next line, the next history page, or the end.
    fn after_line(&self, wiki: Arc<Wiki>, scraped: Scraped, fetched: Vec<Fetched>) -> Result<Turn, Stop> {
        let at_end = scraped.lines.is_empty() && scraped.offset.is_none();
        let facts = PageFacts { title: scraped.title.clone(), ns: scraped.ns, deleted: false };
        let note = if at_end { self.last_words() } else { Some("reading texts one by one".into()) };
        let told = told(wiki.id, scraped.pageid, &scraped.title, note);
        let shelf = Shelf {
            wiki: wiki.clone(),
            pageid: scraped.pageid,
            facts,
            mark: None,
            fetched: Arc::new(fetched),
            complete: at_end,
            reconciled: at_end,
            visited: true,
        };
        let next = match (scraped.lines.is_empty(), scraped.offset.clone()) {
            (false, _) => go(&wiki, Stage::ScrapeText(scraped))?,
            (true, Some(offset)) => {
                let subject = Subject::Page(scraped.pageid);
                go(&wiki, Stage::ScrapeList { wiki: wiki.id, subject, offset: Some(offset) })?
            }
            (true, None) => Next::Done,
        };
        Ok(Turn::new(next, told).with(shelf))
    }
}
