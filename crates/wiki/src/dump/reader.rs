//! Reads a MediaWiki dump from its beginning to its end: what the wiki is, then each page followed by its revisions.

use std::io::BufRead;

use jiff::Timestamp;
use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::xml::{Element, Step, Xml};
use super::{Broken, sha1};
use crate::page::PageId;
use crate::revision::{RevId, Revision};
use crate::shelving::Fetched;
use crate::texts::TEXT_BYTES_MAX;

/// Bytes of a title, a name, a number.
const WORD_BYTES_MAX: usize = 64 << 10;
const NAMESPACES_MAX: usize = 10_000;
/// The versions of the format, `0.5` and so on.
const VERSIONS: std::ops::RangeInclusive<u32> = 5..=11;

/// What a dump consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Site(DumpSite),
    /// Its revisions follow.
    Page(DumpPage),
    /// Of the page that came last.
    Revision(Box<Fetched>),
}

/// The wiki that the dump is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpSite {
    pub name: String,
    pub dbname: String,
    /// The address of its main page.
    pub base: String,
    pub generator: String,
    pub language: String,
    pub namespaces: Vec<(i64, String)>,
}

impl DumpSite {
    /// The same as the wiki's API would say of itself, as far as a dump tells.
    pub fn about(&self) -> Value {
        let namespace = |(id, name): &(i64, String)| (id.to_string(), json!({ "id": id, "name": name }));
        let namespaces: serde_json::Map<_, _> = self.namespaces.iter().map(namespace).collect();
        json!({
            "general": {
                "sitename": self.name, "wikiid": self.dbname, "base": self.base, "generator": self.generator, "lang": self.language,
            },
            "namespaces": namespaces,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpPage {
    pub pageid: PageId,
    pub title: String,
    pub ns: i64,
    /// The title that it leads to.
    pub redirect: Option<String>,
}

/// A dump from its beginning. After an error nothing follows.
pub struct Reader<R> {
    xml: Xml<R>,
    place: Place,
    /// Of the wiki, as the dump's first tag says.
    language: String,
}

enum Place {
    Before,
    /// Between pages.
    Root,
    /// In a page, after its revision or before its first.
    Page(PageId),
    /// A revision of it has just begun.
    Revision(PageId),
    End,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Self {
        Self { xml: Xml::new(input), place: Place::Before, language: String::new() }
    }

    fn item(&mut self) -> Result<Option<Item>, Broken> {
        loop {
            match self.place {
                Place::Before => self.begin()?,
                Place::Root => match self.xml.step()? {
                    Step::Open(element) if element.name == "siteinfo" => return self.site().map(Some),
                    Step::Open(element) if element.name == "page" => return self.page().map(Some),
                    Step::Open(_) => self.xml.skip()?,
                    Step::Close => self.place = Place::End,
                },
                Place::Page(pageid) => match self.xml.step()? {
                    Step::Open(element) if element.name == "revision" => self.place = Place::Revision(pageid),
                    Step::Open(_) => self.xml.skip()?,
                    Step::Close => self.place = Place::Root,
                },
                Place::Revision(pageid) => {
                    let fetched = RevisionParts::read(&mut self.xml, pageid)?;
                    self.place = Place::Page(pageid);
                    return Ok(Some(Item::Revision(Box::new(fetched))));
                }
                Place::End => return Ok(None),
            }
        }
    }

    fn begin(&mut self) -> Result<(), Broken> {
        let Step::Open(root) = self.xml.step()? else {
            return Err(self.xml.wrong("it begins with the end of something"));
        };
        if root.name != "mediawiki" {
            let why =
                format!("it is not a MediaWiki dump, which begins with <mediawiki>: this begins with <{}>", root.name);
            return Err(self.xml.wrong(why));
        }
        let version = root.attribute("version").unwrap_or_default();
        let known = version
            .strip_prefix("0.")
            .and_then(|minor| minor.parse().ok())
            .is_some_and(|minor| VERSIONS.contains(&minor));
        if !known {
            return Err(self.xml.wrong(format!("it is of version \"{version}\", and known are 0.5 to 0.11")));
        }
        self.language = root.attribute("xml:lang").unwrap_or_default().to_owned();
        self.place = Place::Root;
        Ok(())
    }

    fn site(&mut self) -> Result<Item, Broken> {
        let mut site = DumpSite { language: self.language.clone(), ..DumpSite::default() };
        while let Step::Open(element) = self.xml.step()? {
            let into = match element.name.as_str() {
                "sitename" => &mut site.name,
                "dbname" => &mut site.dbname,
                "base" => &mut site.base,
                "generator" => &mut site.generator,
                "namespaces" => {
                    site.namespaces = self.namespaces()?;
                    continue;
                }
                _ => {
                    self.xml.skip()?;
                    continue;
                }
            };
            *into = self.xml.text(WORD_BYTES_MAX)?;
        }
        Ok(Item::Site(site))
    }

    fn namespaces(&mut self) -> Result<Vec<(i64, String)>, Broken> {
        let mut namespaces = Vec::new();
        while let Step::Open(element) = self.xml.step()? {
            let key = element.attribute("key").and_then(|key| key.parse().ok());
            let name = self.xml.text(WORD_BYTES_MAX)?;
            let key = key.ok_or_else(|| self.xml.wrong(format!("the namespace \"{name}\" has no number")))?;
            namespaces.push((key, name));
            if namespaces.len() > NAMESPACES_MAX {
                return Err(self.xml.wrong(format!("it has more than {NAMESPACES_MAX} namespaces")));
            }
        }
        Ok(namespaces)
    }

    /// What a page says before its first revision.
    fn page(&mut self) -> Result<Item, Broken> {
        let (mut title, mut ns, mut pageid, mut redirect) = (None, 0, None, None);
        let has_revisions = loop {
            let Step::Open(element) = self.xml.step()? else { break false };
            match element.name.as_str() {
                "title" => title = Some(self.xml.text(WORD_BYTES_MAX)?),
                "ns" => ns = number(&mut self.xml, "ns")?,
                "id" => pageid = Some(PageId(number(&mut self.xml, "id")?)),
                "redirect" => {
                    redirect = element.attribute("title").map(str::to_owned);
                    self.xml.skip()?;
                }
                "revision" => break true,
                _ => self.xml.skip()?,
            }
        };
        let title = title.ok_or_else(|| self.xml.wrong("a page has no <title>"))?;
        let pageid = pageid.ok_or_else(|| self.xml.wrong(format!("the page \"{title}\" has no <id>")))?;
        self.place = if has_revisions { Place::Revision(pageid) } else { Place::Root };
        Ok(Item::Page(DumpPage { pageid, title, ns, redirect }))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.item().transpose();
        if matches!(item, Some(Err(_))) {
            self.place = Place::End;
        }
        item
    }
}

/// What is told of a revision, as far as it was read.
#[derive(Default)]
struct RevisionParts {
    revid: Option<i64>,
    parentid: i64,
    at: Option<UnixMs>,
    contributor: Contributor,
    minor: bool,
    /// Hidden, or what it says.
    comment: Option<Option<String>>,
    model: Option<String>,
    format: Option<String>,
    text: Option<Text>,
    sha1: Option<String>,
}

#[derive(Default)]
struct Contributor {
    user: Option<String>,
    userid: Option<i64>,
    anon: bool,
}

struct Text {
    /// `None` if the dump has it not, as stubs do.
    content: Option<String>,
    bytes: Option<u64>,
    sha1: Option<String>,
    hidden: bool,
}

impl RevisionParts {
    fn read<R: BufRead>(xml: &mut Xml<R>, pageid: PageId) -> Result<Fetched, Broken> {
        let mut parts = Self::default();
        while let Step::Open(element) = xml.step()? {
            match element.name.as_str() {
                "id" => parts.revid = Some(number(xml, "id")?),
                "parentid" => parts.parentid = number(xml, "parentid")?,
                "timestamp" => parts.at = Some(timestamp(xml)?),
                "contributor" => parts.contributor = contributor(xml, &element)?,
                "minor" => {
                    parts.minor = true;
                    xml.skip()?;
                }
                "comment" => {
                    let comment = xml.text(TEXT_BYTES_MAX)?;
                    parts.comment = Some((!element.hidden()).then_some(comment));
                }
                "model" => parts.model = Some(xml.text(WORD_BYTES_MAX)?),
                "format" => parts.format = Some(xml.text(WORD_BYTES_MAX)?),
                "text" => parts.text = Some(text(xml, &element)?),
                "sha1" => parts.sha1 = sha1::hexadecimal(xml.text(WORD_BYTES_MAX)?.trim()),
                // <content> is one of the slots beside the main one, <origin> where a text came from.
                _ => xml.skip()?,
            }
        }
        parts.whole(xml, pageid)
    }

    fn whole<R: BufRead>(self, xml: &Xml<R>, pageid: PageId) -> Result<Fetched, Broken> {
        let revid = self.revid.ok_or_else(|| xml.wrong("a revision has no <id>"))?;
        let at = self.at.ok_or_else(|| xml.wrong(format!("revision {revid} has no <timestamp>")))?;
        let text = self.text.unwrap_or(Text { content: None, bytes: None, sha1: None, hidden: false });
        let length = text.content.as_ref().map_or(0, |text| text.len() as u64);
        let revision = Revision {
            revid: RevId(revid),
            parentid: RevId(self.parentid),
            pageid,
            at,
            user: self.contributor.user,
            userid: self.contributor.userid,
            anon: self.contributor.anon,
            minor: self.minor,
            size: text.bytes.unwrap_or(length),
            sha1: self.sha1.or(text.sha1).filter(|_| !text.hidden),
            model: self.model.unwrap_or_else(|| "wikitext".into()),
            format: self.format.unwrap_or_else(|| "text/x-wiki".into()),
            comment: self.comment.unwrap_or_else(|| Some(String::new())),
            parsed_comment: None,
            tags: Vec::new(),
            text: None,
            text_hidden: text.hidden,
        };
        Ok(Fetched { revision, text: text.content.map(String::into_bytes) })
    }
}

fn contributor<R: BufRead>(xml: &mut Xml<R>, element: &Element) -> Result<Contributor, Broken> {
    let mut contributor = Contributor::default();
    while let Step::Open(part) = xml.step()? {
        match part.name.as_str() {
            "username" => contributor.user = Some(xml.text(WORD_BYTES_MAX)?),
            "id" => contributor.userid = Some(number(xml, "id")?),
            "ip" => {
                contributor = Contributor { user: Some(xml.text(WORD_BYTES_MAX)?), userid: Some(0), anon: true };
            }
            _ => xml.skip()?,
        }
    }
    if element.hidden() {
        return Ok(Contributor::default());
    }
    // Who was brought in from another wiki has a name and no number here.
    contributor.userid = contributor.userid.or(contributor.user.as_ref().map(|_| 0));
    Ok(contributor)
}

fn text<R: BufRead>(xml: &mut Xml<R>, element: &Element) -> Result<Text, Broken> {
    let content = xml.text(TEXT_BYTES_MAX)?;
    let bytes: Option<u64> = element.attribute("bytes").and_then(|bytes| bytes.parse().ok());
    let hidden = element.hidden();
    // Nothing is either an empty text, or a text that this dump leaves out.
    let elsewhere = element.attribute("id").is_some() || element.attribute("location").is_some();
    let left_out = content.is_empty() && bytes.map_or(elsewhere && element.empty, |bytes| bytes > 0);
    let sha1 = element.attribute("sha1").and_then(sha1::hexadecimal);
    Ok(Text { content: (!hidden && !left_out).then_some(content), bytes, sha1, hidden })
}

fn number<R: BufRead>(xml: &mut Xml<R>, what: &str) -> Result<i64, Broken> {
    let text = xml.text(WORD_BYTES_MAX)?;
    text.trim().parse().map_err(|_| xml.wrong(format!("<{what}> is \"{text}\" and must be a number")))
}

fn timestamp<R: BufRead>(xml: &mut Xml<R>) -> Result<UnixMs, Broken> {
    let text = xml.text(WORD_BYTES_MAX)?;
    let at: Timestamp =
        text.trim().parse().map_err(|_| xml.wrong(format!("<timestamp> is \"{text}\" and must be a time")))?;
    Ok(UnixMs(at.as_millisecond()))
}
