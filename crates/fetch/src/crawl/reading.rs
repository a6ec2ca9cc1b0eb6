//! What a page that came means to a crawl: which links are followed, and what is counted.

use std::collections::{BTreeMap, HashMap, HashSet};

use malla_queue::Result;
use serde::{Deserialize, Serialize};

use super::links::{Links, headers_say_nofollow, is_html, links};
use super::{Bounds, CrawlSpec, normal, of_robots, read_sitemap, shape, trap};
use crate::tour::Found;
use crate::{Answered, NO_ANSWER, NOT_ASKED, PageUrl, Site, UrlKey, unpack_page};

/// Links to these are not pages.
const FILES: &[&str] = &[
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dmg", "doc", "docx", "eot", "epub", "exe",
    "flac", "gif", "gz", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg",
    "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "otf", "pdf", "pkg", "png", "ppt", "pptx", "rar", "rpm", "rtf",
    "svg", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wav", "webm", "webp", "wmv", "woff", "woff2", "xls", "xlsx",
    "xz", "zip", "zst",
];
/// Sitemaps a crawl reads at most.
const SITEMAPS_MAX: u64 = 1_000;

/// What a crawl has come to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Pages that came, with any status.
    pub pages: u64,
    /// Of these, with a status from 200 to 299.
    pub good: u64,
    /// Without an answer, or not asked for: refused by robots.txt, for instance.
    pub unanswered: u64,
    pub from_cache: u64,
    /// Of all bodies.
    pub bytes: u64,
    /// Sitemaps read.
    pub sitemaps: u64,
    /// Links seen, each time.
    pub links: u64,
    /// Of these, left alone: outside of the scope, too deep, by the page's own wish, not pages.
    pub outside: u64,
    pub too_deep: u64,
    pub nofollow: u64,
    pub files: u64,
    /// Left alone as traps: paths that repeat themselves, too many pages of one making.
    pub trapped: u64,
    /// Left alone because the crawl knows too many already.
    pub left_out: u64,
    /// Links whose session's name was taken out.
    pub sessions: u64,
    /// Pages that say they are copies of another.
    pub copies: u64,
    /// By status.
    pub by_status: BTreeMap<u16, u64>,
    /// Which limit was met, if one was.
    pub limited_by: Option<String>,
}

/// Answers of a crawl being read.
pub struct Reading<'c> {
    spec: &'c CrawlSpec,
    bounds: &'c Bounds,
    pub progress: Progress,
    pub found: Vec<Found>,
    known: HashSet<UrlKey>,
    answered: BTreeMap<Site, u64>,
    read_to: u64,
}

impl<'c> Reading<'c> {
    pub fn new(spec: &'c CrawlSpec, bounds: &'c Bounds, progress: Progress, read: u64) -> Self {
        let (found, known, answered) = (Vec::new(), HashSet::new(), BTreeMap::new());
        Self { spec, bounds, progress, found, known, answered, read_to: read }
    }

    pub fn read_to(&self) -> u64 {
        self.read_to
    }

    pub fn answered(&self) -> Vec<(Site, u64)> {
        self.answered.iter().map(|(site, count)| (site.clone(), *count)).collect()
    }

    /// Takes an answer in. `depths` says how deep its URL was found, and whether as a sitemap.
    pub fn take(&mut self, answer: &Answered, depths: &HashMap<UrlKey, (u32, bool)>) -> Result<()> {
        self.read_to = answer.n;
        let Ok(asked) = PageUrl::parse(&answer.url) else { return Ok(()) };
        *self.answered.entry(asked.site()).or_default() += 1;
        let page = &answer.page;
        let good = (200..300).contains(&page.status);
        let (depth, sitemap) = depths.get(&asked.key()).copied().unwrap_or((0, false));
        self.progress.bytes += page.body.bytes;
        if sitemap {
            self.progress.sitemaps += 1;
        } else {
            self.progress.pages += 1;
            self.progress.good += u64::from(good);
            self.progress.unanswered += u64::from(matches!(page.status, NOT_ASKED | NO_ANSWER));
            self.progress.from_cache += u64::from(answer.from_cache);
            *self.progress.by_status.entry(page.status).or_default() += 1;
        }
        if !good || page.body.bytes == 0 {
            return Ok(());
        }
        // A redirect led here.
        let Ok(here) = PageUrl::parse(&page.url) else { return Ok(()) };
        if sitemap {
            self.sitemap(&unpack_page(page)?, depth);
        } else if is_html(&page.headers) && self.bounds.holds(&here) {
            let links = links(&here, &unpack_page(page)?);
            self.page(&asked, &here, depth, &links, headers_say_nofollow(&page.headers));
        }
        Ok(())
    }

    fn page(&mut self, asked: &PageUrl, here: &PageUrl, depth: u32, links: &Links, nofollow: bool) {
        self.progress.links += u64::try_from(links.to.len() + links.nofollowed).unwrap_or(0);
        self.progress.nofollow += u64::try_from(links.nofollowed).unwrap_or(0);
        if let Some(canonical) = links.canonical.as_ref().filter(|_| self.spec.canonical) {
            let (original, _) = normal(canonical, self.spec.spelling());
            let (here, _) = normal(here, self.spec.spelling());
            if original != here && original != *asked && self.bounds.holds(&original) {
                self.progress.copies += 1;
                self.put(original, depth);
                return;
            }
        }
        if links.nofollow || nofollow {
            self.progress.nofollow += u64::try_from(links.to.len()).unwrap_or(0);
            return;
        }
        for url in &links.to {
            self.follow(url, depth);
        }
    }

    /// Looks at a link of a page that is `depth` deep.
    fn follow(&mut self, url: &PageUrl, depth: u32) {
        if !self.bounds.holds(url) {
            self.progress.outside += 1;
        } else if depth >= self.spec.depth {
            self.progress.too_deep += 1;
        } else if !self.spec.files && is_file(url) {
            self.progress.files += 1;
        } else if trap(url).is_some() || crate::suspicious(url).is_some() {
            self.progress.trapped += 1;
        } else {
            let (url, session) = normal(url, self.spec.spelling());
            self.progress.sessions += u64::from(session);
            self.put(url, depth + 1);
        }
    }

    fn put(&mut self, url: PageUrl, depth: u32) {
        if !self.known.insert(url.key()) {
            return;
        }
        let (shape, dated) = shape(&url);
        let most = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        let limit = most(if dated { self.spec.pages_per_calendar } else { self.spec.pages_per_shape });
        self.found.push(Found { url, depth, sitemap: false, shape: Some((shape, limit)) });
    }

    fn sitemap(&mut self, body: &[u8], depth: u32) {
        let found = read_sitemap(body);
        for url in &found.pages {
            self.progress.links += 1;
            self.follow(url, 0);
        }
        // An index of an index leads nowhere good.
        if depth < 2 {
            found.sitemaps.into_iter().for_each(|url| self.add_sitemap(url, depth + 1));
        }
    }

    /// What a site's robots.txt names.
    pub fn robots(&mut self, text: &[u8]) {
        of_robots(text).into_iter().for_each(|url| self.add_sitemap(url, 0));
    }

    fn add_sitemap(&mut self, url: PageUrl, depth: u32) {
        let waiting = self.found.iter().filter(|found| found.sitemap).count() as u64;
        if self.spec.sitemaps && self.bounds_of_site(&url) && self.progress.sitemaps + waiting < SITEMAPS_MAX {
            self.found.push(Found { url, depth, sitemap: true, shape: None });
        }
    }

    /// A sitemap may lie outside of the prefix that a crawl keeps to, but not on a stranger's site.
    fn bounds_of_site(&self, url: &PageUrl) -> bool {
        self.bounds.holds(url) || (self.spec.scope == super::Scope::Prefix && self.answered.contains_key(&url.site()))
    }
}

fn is_file(url: &PageUrl) -> bool {
    let name = url.as_url().path().rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| FILES.binary_search(&ending.as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use malla_queue::{TaskId, UnixMs};

    use super::*;
    use crate::{PackedBody, Page, PageId};

    fn answer(url: &str, kind: &str, body: &str) -> Answered {
        let packed = zstd::bulk::compress(body.as_bytes(), 1).expect("packs").into();
        let page = Page {
            id: PageId(TaskId(1)),
            url: url.into(),
            status: 200,
            headers: vec![("Content-Type".into(), kind.into())],
            body: PackedBody { packed, bytes: body.len() as u64, hash: None },
            trouble: None,
            fetched_at: UnixMs(0),
            took_ms: 0,
            device: None,
            verified: false,
        };
        Answered { n: 1, url: url.into(), from_cache: false, page }
    }

    fn read(spec: &CrawlSpec, depth: u32, sitemap: bool, answer: &Answered) -> (Vec<String>, Progress) {
        let bounds = spec.bounds().expect("seeds");
        let key = PageUrl::parse(&answer.url).expect("a URL").key();
        let mut reading = Reading::new(spec, &bounds, Progress::default(), 0);
        reading.take(answer, &HashMap::from([(key, (depth, sitemap))])).expect("it is read");
        (reading.found.iter().map(|found| format!("{} {}", found.depth, found.url)).collect(), reading.progress)
    }

    fn spec() -> CrawlSpec {
        CrawlSpec { seeds: vec!["https://a.example/".into()], depth: 2, ..CrawlSpec::default() }
    }

    #[test]
    fn links_within_the_scope_are_followed_and_the_others_counted() {
        let body = r#"<a href="/x?PHPSESSID=1">1</a><a href="/x">again</a><a href="https://b.example/">2</a>
            <a href="/film.MP4">3</a><a href="/a/a/a">4</a><a href="/y" rel=nofollow>5</a>"#;
        let (found, progress) = read(&spec(), 0, false, &answer("https://a.example/", "text/html", body));
        assert_eq!(found, ["1 https://a.example/x"]);
        let Progress { links, outside, files, trapped, sessions, nofollow, pages, .. } = progress;
        assert_eq!((links, outside, files, trapped, sessions, nofollow, pages), (6, 1, 1, 1, 1, 1, 1));
        let (found, progress) = read(&spec(), 2, false, &answer("https://a.example/d", "text/html", body));
        assert_eq!((found.len(), progress.too_deep), (0, 4));
        let (found, _) = read(&spec(), 0, false, &answer("https://a.example/", "text/plain", body));
        assert_eq!(found.len(), 0, "only HTML has links");
    }

    #[test]
    fn a_copy_leads_to_its_original_alone() {
        let body = r#"<link rel=canonical href="/original"><a href="/x">x</a>"#;
        let copy = answer("https://a.example/copy?p=1", "text/html", body);
        let (found, progress) = read(&spec(), 1, false, &copy);
        assert_eq!((found, progress.copies), (vec!["1 https://a.example/original".to_owned()], 1));
        let (found, _) = read(&CrawlSpec { canonical: false, ..spec() }, 1, false, &copy);
        assert_eq!(found, ["2 https://a.example/x"]);
        let original = answer("https://a.example/original", "text/html", body);
        assert_eq!(read(&spec(), 1, false, &original).0, ["2 https://a.example/x"]);
    }

    #[test]
    fn sitemaps_lead_to_pages_and_to_sitemaps() {
        let body =
            "<urlset><url><loc>https://a.example/p</loc></url><url><loc>https://b.example/p</loc></url></urlset>";
        let (found, progress) = read(&spec(), 0, true, &answer("https://a.example/sitemap.xml", "text/xml", body));
        assert_eq!((found, progress.sitemaps, progress.pages), (vec!["1 https://a.example/p".to_owned()], 1, 0));
    }

    #[test]
    fn the_list_of_files_is_in_order() {
        assert!(FILES.is_sorted());
    }
}
