//! From what somebody asked for to a page of a known wiki: finding the API, what it says of itself, which page is meant.

use malla_queue::{GroupId, Result};
use url::Url;

use super::Walker;
use super::errand::{Errand, Next, Stop, Told, Turn, go};
use super::stage::{Aim, Stage, Walk};
use crate::mediawiki::{Clue, RawPage, Site, Subject, Trouble, clues, status, usual_places};
use crate::page::PageId;
use crate::site::{NewWiki, Wiki, WikiId, lane_of};

/// Redirects on the way to a wiki.
const HOPS_MAX: u32 = 5;
/// A place that cannot be reached is given up for the next one after so many attempts.
const PLACE_ATTEMPTS: u32 = 3;

impl Walker {
    /// Where to begin: with the page, if the wiki is known.
    pub(super) async fn start(&self, aim: Aim, group: Option<GroupId>) -> Result<Stage> {
        let lane = lane_of(&aim.url)?;
        let known = self.wikis.wikis_at(group, lane.name()).await?;
        if let Some((wiki, subject)) = match_known(&known, &aim) {
            return Ok(if wiki.scraped {
                Stage::ScrapeList { wiki: wiki.id, subject, offset: None }
            } else {
                Stage::Resolve { wiki: wiki.id, subject }
            });
        }
        let at = aim.url.clone();
        Ok(match at.path().ends_with("/api.php") {
            true => Stage::About { aim, places: vec![at], shows: None, script: None, hops: 0 },
            false => Stage::Find { aim, at, hops: 0 },
        })
    }
}

/// The one known wiki to which this leads.
fn match_known<'k>(known: &'k [Wiki], aim: &Aim) -> Option<(&'k Wiki, Subject)> {
    let mut found = known.iter().filter_map(|wiki| {
        let site = Site(&wiki.about);
        let subject = match &aim.title {
            Some(title) => {
                let leads = wiki.api == aim.url || site.from() == Some(aim.url.as_str());
                leads.then(|| Subject::Title(title.clone()))
            }
            None => site.titled(&aim.url),
        };
        Some((wiki, subject?))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

impl Errand<'_> {
    /// Reads a page for where its API is.
    pub(super) async fn find(&mut self, mut aim: Aim, at: Url, hops: u32) -> Result<Turn, Stop> {
        let response = match self.ask(&at).await {
            Err(Stop::Trouble(Trouble::NotHere(note))) => return Ok(fail(note)),
            Err(Stop::TooLarge) => return Ok(fail(format!("{at} is larger than any page of a wiki"))),
            other => other?,
        };
        match status(&response, self.walker.clock.now()) {
            Err(Trouble::Moved(_)) if hops >= HOPS_MAX => return Ok(fail(format!("{} leads nowhere", aim.url))),
            Err(Trouble::Moved(to)) => {
                let next = Next::go(lane_of(&to)?, Stage::Find { aim, at: to, hops: hops + 1 });
                return Ok(Turn::new(next, noted("following to where the page is")));
            }
            // A page that a wiki does not have tells of the wiki all the same.
            Ok(()) | Err(Trouble::NotHere(_)) => {}
            Err(other) => return Err(other.into()),
        }
        let Clue { api, script, shows } = clues(&response.body, &at);
        let mut places: Vec<Url> = api.into_iter().collect();
        places.extend(usual_places(&at).into_iter().filter(|place| !places.contains(place)).collect::<Vec<_>>());
        if aim.title.is_none() {
            aim.url = at;
        }
        let lane = lane_of(&places[0])?;
        let next = Next::go(lane, Stage::About { aim, places, shows, script, hops: 0 });
        Ok(Turn::new(next, noted("looking for the wiki's API")))
    }

    /// Asks the first of these places what it is.
    pub(super) async fn about(
        &mut self,
        aim: Aim,
        mut places: Vec<Url>,
        shows: Option<Subject>,
        script: Option<Url>,
        hops: u32,
    ) -> Result<Turn, Stop> {
        let Some(api) = places.first().cloned() else { return Ok(fail(no_wiki(&aim))) };
        let url = self.api(&api).about();
        let tired = self.task.failures >= PLACE_ATTEMPTS && places.len() > 1;
        let answer = match self.ask_api(&url).await {
            Err(Stop::Trouble(Trouble::Moved(mut to))) if hops < HOPS_MAX => {
                to.set_query(None);
                let lane = lane_of(&to)?;
                places[0] = to;
                let next = Next::go(lane, Stage::About { aim, places, shows, script, hops: hops + 1 });
                return Ok(Turn::new(next, noted("following to where the API is")));
            }
            Err(Stop::Trouble(Trouble::NotHere(note))) => {
                return self.elsewhere(aim, places, shows, script, note).await;
            }
            Err(Stop::TooLarge | Stop::Trouble(Trouble::Moved(_))) => {
                return self.elsewhere(aim, places, shows, script, "it is no API".into()).await;
            }
            Err(Stop::Trouble(Trouble::Again(note))) if tired => {
                return self.elsewhere(aim, places, shows, script, note).await;
            }
            other => other?,
        };
        let from = aim.title.as_ref().map(|_| &aim.url);
        let Some(mut about) = Site::about(answer.query, from) else {
            return self.elsewhere(aim, places, shows, script, "it does not say what it is".into()).await;
        };
        let lane = lane_of(&api)?;
        let before = self.walker.wikis.wikis_at(self.task.group, lane.name()).await?;
        if let Some(known) = before.iter().find(|wiki| wiki.api == api) {
            // It was found from there before: that stays known.
            if let (None, Some(from)) = (from, Site(&known.about).from()) {
                about["from"] = from.into();
            }
        }
        let site = Site(&about);
        let locale = aim.locale.clone().or_else(|| self.walker.template.locale_of(&api));
        let new = NewWiki {
            group: self.task.group,
            locale: locale.or_else(|| site.language().map(str::to_owned)).unwrap_or_default(),
            name: site.name().unwrap_or_default().to_owned(),
            scraped: false,
            api,
            about: about.clone(),
        };
        let wiki = self.walker.wikis.found(new).await?;
        let subject = match aim.title.clone() {
            Some(title) => Some(Subject::Title(title)),
            None => site.subject(&aim.url).or(shows),
        };
        match subject {
            Some(subject) => {
                let told = Told { wiki: Some(wiki.id), ..noted("looking for the page") };
                Ok(Turn::new(go(&wiki, Stage::Resolve { wiki: wiki.id, subject })?, told))
            }
            None => Ok(fail(format!("{} is not the address of a page of {}", aim.url, wiki.name))),
        }
    }

    /// There is no API at the first place: the next one, or the wiki's pages themselves.
    async fn elsewhere(
        &self,
        aim: Aim,
        mut places: Vec<Url>,
        shows: Option<Subject>,
        script: Option<Url>,
        why: String,
    ) -> Result<Turn, Stop> {
        let tried = places.remove(0);
        if let Some(next) = places.first() {
            let lane = lane_of(next)?;
            let told = noted(&format!("no API at {tried}: {why}"));
            return Ok(Turn::new(Next::go(lane, Stage::About { aim, places, shows, script, hops: 0 }), told));
        }
        match script {
            Some(script) => self.scrape_instead(aim, shows, script).await,
            None => Ok(fail(format!("{}: at {tried}, {why}", no_wiki(&aim)))),
        }
    }

    /// Which page is meant, whatever it is called now.
    pub(super) async fn resolve(&mut self, id: WikiId, subject: Subject) -> Result<Turn, Stop> {
        let wiki = self.wiki(id).await?;
        let url = self.api(&wiki.api).resolve(&subject);
        let query = self.ask_api(&url).await?.query;
        let named = match &subject {
            Subject::Title(title) => format!("\"{title}\""),
            Subject::Page(page) => format!("the page {}", page.0),
            Subject::Revision(revision) => format!("the revision {}", revision.0),
        };
        if let Some(other) = query.interwiki.first() {
            let at = other.url.as_deref().map_or(String::new(), |url| format!(": give its address, {url}"));
            return Ok(fail(format!("\"{}\" is a page of another wiki{at}", other.title)));
        }
        let Some(page) = query.pages.into_iter().next() else {
            return Ok(fail(format!("{named} does not exist in {}", wiki.name)));
        };
        if let Some(why) = no_history(&page, &named, &wiki) {
            return Ok(fail(why));
        }
        let pageid = PageId(page.pageid);
        let kept = self.walker.wikis.page(id, pageid).await?;
        let told = Told {
            wiki: Some(id),
            pageid: Some(pageid),
            title: Some(page.title.clone()),
            note: Some("reading the history".into()),
        };
        let mark = kept.and_then(|kept| kept.mark);
        let stage = match mark {
            Some(_) => Stage::Walk(Walk::new(id, pageid, mark)),
            None => Stage::Count { wiki: id, pageid, title: page.title },
        };
        Ok(Turn::new(go(&wiki, stage)?, told))
    }

    /// How many revisions there are, if the wiki tells. It is no matter if it does not.
    pub(super) async fn count(&mut self, id: WikiId, pageid: PageId, title: String) -> Result<Turn, Stop> {
        let wiki = self.wiki(id).await?;
        if let Some(url) = self.api(&wiki.api).count(&title) {
            let total = match self.ask(&url).await {
                Ok(response) if response.status == 200 => edits(&response.body),
                Ok(response) => match status(&response, self.walker.clock.now()) {
                    Err(Trouble::Wait(wait, note)) => return Err(Trouble::Wait(wait, note).into()),
                    _ => None,
                },
                Err(stop @ (Stop::Elsewhere(_) | Stop::Store(_))) => return Err(stop),
                Err(_) => None,
            };
            if let Some(payload) = self.payload.as_mut() {
                payload.counts.total = total;
            }
        }
        Ok(Turn::new(go(&wiki, Stage::Walk(Walk::new(id, pageid, None)))?, noted("reading the history")))
    }
}

/// What the REST API counts; a number that it cut off is no number.
fn edits(body: &[u8]) -> Option<u64> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    answer["count"].as_u64().filter(|_| answer["limit"] != true)
}

fn no_history(page: &RawPage, named: &str, wiki: &Wiki) -> Option<String> {
    if page.invalid {
        let why = page.invalidreason.as_deref().map_or(String::new(), |why| format!(": {why}"));
        return Some(format!("{named} is not a title{why}"));
    }
    if page.special || page.ns < 0 {
        return Some(format!("{named} is a special page: it has no history"));
    }
    let name = if wiki.name.is_empty() { wiki.api.as_str() } else { &wiki.name };
    (page.missing || page.pageid <= 0).then(|| format!("{named} does not exist in {name}"))
}

fn no_wiki(aim: &Aim) -> String {
    format!("no API of a MediaWiki was found from {}", aim.url)
}

pub(super) fn fail(why: impl Into<String>) -> Turn {
    Turn::new(Next::Fail(why.into()), Told::default())
}

pub(super) fn noted(note: &str) -> Told {
    Told { note: Some(note.to_owned()), ..Told::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_was_cut_off_is_none() {
        assert_eq!(edits(br#"{"count":12,"limit":false}"#), Some(12));
        assert_eq!(edits(br#"{"count":30000,"limit":true}"#), None);
        assert_eq!(edits(b"<html>"), None);
    }
}
