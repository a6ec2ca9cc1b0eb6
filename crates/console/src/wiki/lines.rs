//! Revisions as lines of a list: who, when, what was said, and how much it changed.

use std::collections::HashMap;

use malla_queue::{Error, Scope, UnixMs};
use malla_wiki::{Dates, PageId, RevId, WikiId, questions};
use maud::{Markup, html};
use serde::Deserialize;

use super::LIMITS;
use super::places::{REVISIONS, article_link, compare_path, revision_path};
use crate::params::Params;
use crate::{Console, export, words};

/// What a line is made of: all but the text.
const FIELDS: &str = "wiki,revid,parentid,pageid,title,user,timestamp,size,minor,anon,comment,tags";
/// Characters of a comment that are shown.
const COMMENT_MAX: usize = 300;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    wiki: WikiId,
    pub(super) revid: RevId,
    #[serde(default = "none")]
    parentid: RevId,
    pageid: PageId,
    #[serde(default)]
    title: String,
    /// Hidden if it is not there.
    user: Option<String>,
    timestamp: jiff::Timestamp,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    minor: bool,
    #[serde(default)]
    anon: bool,
    comment: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

fn none() -> RevId {
    RevId(0)
}

/// The revisions that these filters ask for.
pub(super) async fn find(
    console: &Console,
    scope: &Scope,
    mut pairs: Vec<(String, String)>,
) -> Result<Vec<Line>, Error> {
    pairs.push(("project".into(), FIELDS.into()));
    let plan = questions::revisions(&pairs)?;
    let documents = console.reader.documents(scope, &plan, Dates::Iso, LIMITS).await?;
    let read = |document| {
        serde_json::from_value(document).map_err(|error| Error::Internal(format!("a revision cannot be read: {error}")))
    };
    documents.into_iter().map(read).collect()
}

/// Sizes of revisions by their wikis and numbers.
pub(super) type Sizes = HashMap<(WikiId, RevId), u64>;

/// The sizes of these and of their parents: what a line changed is the difference.
pub(super) async fn sizes(console: &Console, lines: &[Line]) -> Result<Sizes, Error> {
    let mut sizes = of_lines(lines);
    let mut asked: HashMap<WikiId, Vec<RevId>> = HashMap::new();
    for line in lines.iter().filter(|line| line.parentid.0 != 0 && !sizes.contains_key(&(line.wiki, line.parentid))) {
        asked.entry(line.wiki).or_default().push(line.parentid);
    }
    for (wiki, parents) in asked {
        let known = console.wikis.known(wiki, &parents).await?;
        sizes.extend(known.into_iter().map(|known| ((wiki, known.revid), known.size)));
    }
    Ok(sizes)
}

fn of_lines(lines: &[Line]) -> Sizes {
    lines.iter().map(|line| ((line.wiki, line.revid), line.size)).collect()
}

/// Of a file with lines.
pub(super) const COLUMNS: [&str; 11] =
    ["revision", "wiki", "page", "title", "parent", "at", "user", "size", "minor", "comment", "tags"];

impl Line {
    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.revid.0.to_string(),
            self.wiki.0.to_string(),
            self.pageid.0.to_string(),
            self.title.clone(),
            Some(self.parentid.0).filter(|id| *id > 0).map(|id| id.to_string()).unwrap_or_default(),
            export::moment(Some(self.at())),
            self.user.clone().unwrap_or_default(),
            self.size.to_string(),
            if self.minor { "yes" } else { "no" }.to_owned(),
            self.comment.clone().unwrap_or_default(),
            self.tags.join(" "),
        ]
    }

    pub(super) fn at(&self) -> UnixMs {
        UnixMs(self.timestamp.as_millisecond())
    }

    /// What it added or took away, if its parent's size is known.
    fn change(&self, sizes: &Sizes) -> Option<i64> {
        let before = if self.parentid.0 == 0 { Some(&0) } else { sizes.get(&(self.wiki, self.parentid)) };
        before.map(|before| i64::try_from(self.size).unwrap_or(i64::MAX) - i64::try_from(*before).unwrap_or(i64::MAX))
    }
}

/// What stands in front of a line: for a choice of two.
pub(super) type Choice<'a> = dyn Fn(usize, &Line) -> Markup + 'a;

/// Lines as a table; with titles where they are of many pages, and with choices where two can be compared.
pub(super) fn table(lines: &[Line], sizes: &Sizes, titles: bool, choice: Option<&Choice<'_>>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                @if choice.is_some() { th { (t!("Compare")) } }
                th { (t!("When")) } @if titles { th { (t!("Article")) } } th { (t!("User")) } th { (t!("Comment")) } th.num { (t!("Size")) }
                th.num { (t!("Change")) } th {}
            } }
            tbody { @for (nth, line) in lines.iter().enumerate() { tr {
                @if let Some(choice) = choice { td data-label=(t!("Compare")) { (choice(nth, line)) } }
                td data-label=(t!("When")) { a href=(revision_path(line.wiki, line.revid)) { (at(line.at())) } }
                @if titles { td data-label=(t!("Article")) { (article_link(line.wiki, line.pageid, &line.title)) } }
                td data-label=(t!("User")) { (user(line.user.as_deref(), line.anon)) }
                td data-label=(t!("Comment")) { (comment(line)) }
                td.num data-label=(t!("Size")) { (words::count(line.size)) }
                td.num data-label=(t!("Change")) { (change(line.change(sizes))) }
                td.end {
                    @if line.parentid.0 > 0 { a href=(compare_path(line.wiki, line.parentid, line.revid)) { (t!("compare")) } }
                }
            } } }
        }
    }
}

/// To the minute: a history is read by its dates.
fn at(at: UnixMs) -> Markup {
    html! { time title=(words::full(at)) { (words::minute(at)) } }
}

/// A name that leads to all that its bearer wrote.
pub(super) fn user(name: Option<&str>, anon: bool) -> Markup {
    html! {
        @match name {
            Some(name) => a href=(Params::from([("user", name)]).link(REVISIONS)) { (name) },
            None => span.quiet { (t!("hidden")) },
        }
        @if anon { " " span.badge title=(t!("Not logged in")) { (t!("anonymous")) } }
    }
}

fn comment(line: &Line) -> Markup {
    html! {
        @if line.minor { span.badge title=(t!("A small change, as its author says")) { (t!("minor")) } " " }
        @match line.comment.as_deref() {
            Some("") => span.quiet { "–" },
            Some(comment) => (words::cut(comment, COMMENT_MAX)),
            None => span.quiet { (t!("hidden")) },
        }
        @for tag in &line.tags { " " a.tag href=(Params::from([("tag", tag.as_str())]).link(REVISIONS)) { (tag) } }
    }
}

/// `+1,234` in the colour of what grows, `−56` in that of what shrinks.
pub(super) fn change(bytes: Option<i64>) -> Markup {
    html! {
        @match bytes {
            None => span.quiet { "–" },
            Some(0) => span.quiet { "0" },
            Some(bytes) if bytes > 0 => span.grew { "+" (words::count(bytes.unsigned_abs())) },
            Some(bytes) => span.shrank { "−" (words::count(bytes.unsigned_abs())) },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(revid: i64, parentid: i64, size: u64) -> Line {
        let document = json!({
            "wiki": 1, "revid": revid, "parentid": parentid, "pageid": 7, "title": "Sparrow", "size": size,
            "timestamp": "2018-03-09T12:00:00Z", "comment": "<b>more</b>", "minor": true, "tags": ["mobile edit"],
        });
        serde_json::from_value(document).expect("a line")
    }

    #[test]
    fn a_change_is_the_difference_to_the_parent_wherever_it_stands() {
        let lines = [line(5, 3, 90), line(4, 2, 10), line(3, 0, 100), line(2, 1, 40)];
        let sizes = of_lines(&lines);
        let changes: Vec<_> = lines.iter().map(|line| line.change(&sizes)).collect();
        assert_eq!(changes, [Some(-10), Some(-30), Some(100), None]);
    }

    #[test]
    fn a_line_escapes_what_the_wiki_says_and_hides_what_it_hides() {
        let lines = [line(5, 3, 90)];
        let text = table(&lines, &of_lines(&lines), true, None).into_string();
        assert!(text.contains("&lt;b&gt;more") && !text.contains("<b>more"), "{text}");
        assert!(text.contains(">hidden<") && text.contains("minor") && !text.contains("anonymous"), "{text}");
        assert!(text.contains("/wiki/wikis/1/compare?from=3&amp;to=5"), "{text}");
        assert!(text.contains("/wiki/revisions?tag=mobile+edit"), "{text}");
    }

    #[test]
    fn changes_have_their_sign_and_their_colour() {
        for (bytes, expected) in [
            (Some(1_234), "<span class=\"grew\">+1,234</span>"),
            (Some(-56), "<span class=\"shrank\">−56</span>"),
            (Some(0), "<span class=\"quiet\">0</span>"),
            (None, "<span class=\"quiet\">–</span>"),
        ] {
            assert_eq!(change(bytes).into_string(), expected);
        }
    }
}
