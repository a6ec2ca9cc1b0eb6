//! A real MediaWiki of a test's own: its pages are made by MediaWiki's scripts, and its log tells who asked for what, when.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::{DEADLINE, text};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/mediawiki");

pub(crate) struct MediaWiki {
    place: tempfile::TempDir,
    pub(crate) url: String,
}

/// What a test knows of a revision: its text, or that it is hidden.
pub(crate) type History = BTreeMap<i64, Option<String>>;

/// A request as the wiki saw it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) at: f64,
    pub(crate) agent: String,
    pub(crate) url: String,
}

impl MediaWiki {
    /// A copy of the one that the tests were given.
    #[allow(clippy::disallowed_methods)] // a setting of the test
    pub(crate) fn start() -> Self {
        let from = std::env::var_os("MALLA_TEST_MEDIAWIKI")
            .expect("MALLA_TEST_MEDIAWIKI must name the directory of a MediaWiki: run scripts/test, which starts one");
        let place = tempfile::tempdir().expect("a temporary directory");
        let from = PathBuf::from(from);
        let said = script(&["start".as_ref(), place.path().as_os_str(), from.as_os_str()], "");
        let url = said.lines().last().expect("its address").to_owned();
        Self { place, url }
    }

    pub(crate) fn stop(&self) {
        script(&["stop".as_ref(), self.place.path().as_os_str()], "");
    }

    pub(crate) fn restart(&self) {
        script(&["restart".as_ref(), self.place.path().as_os_str()], "");
    }

    /// Runs one of MediaWiki's own scripts.
    pub(crate) fn run(&self, words: &[&str], input: &str) -> String {
        let mut all = vec!["run".as_ref(), self.place.path().as_os_str()];
        all.extend(words.iter().map(std::ffi::OsStr::new));
        script(&all, input)
    }

    /// Writes a file into its directory; settings are in `more.php`.
    pub(crate) fn put(&self, name: &str, content: &str) -> PathBuf {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.place.path().join(name)).expect("removed");
    }

    pub(crate) fn edit(&self, title: &str, content: &str) {
        self.edit_as("Admin", title, content);
    }

    /// Somebody who is new is made a user.
    pub(crate) fn edit_as(&self, user: &str, title: &str, content: &str) {
        self.run(&["edit.php", "--user", user, "--summary", "an edit", title], content);
    }

    /// Imports revisions: seconds of 2015 and their texts.
    pub(crate) fn import(&self, title: &str, revisions: impl Iterator<Item = (i64, String)>) {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let mut xml = format!(
            r#"<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en"><page><title>{}</title><ns>0</ns>"#,
            escape(title)
        );
        for (at, content) in revisions {
            let at = jiff::Timestamp::from_second(1_420_070_400 + at).expect("a time");
            xml += &format!(
                r#"<revision><timestamp>{at}</timestamp><contributor><username>Ana</username></contributor><comment>at {at} &amp; after</comment><model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{}</text></revision>"#,
                escape(&content)
            );
        }
        xml += "</page></mediawiki>";
        let file = self.put("dump.xml", &xml);
        self.run(&["importDump.php", "--no-updates", file.to_str().expect("a plain name")], "");
    }

    /// Hides the text and the author of a revision, as an administrator does.
    pub(crate) fn hide(&self, title: &str, revid: i64) {
        let code = format!(
            "$context = new RequestContext; $context->setUser( User::newFromName( 'Admin' ) );\n\
             $list = RevisionDeleter::createList( 'revision', $context, Title::newFromText( '{title}' ), [ {revid} ] );\n\
             print $list->setVisibility( [ 'value' => [ 1 => 1, 2 => 1, 4 => 1 ], 'comment' => 'hidden', 'perItemStatus' => false ] )->isOK() ? 'hidden' : 'not hidden';\n"
        );
        let said = self.run(&["eval.php"], &code);
        assert!(said.contains("hidden") && !said.contains("not hidden"), "{said}");
    }

    pub(crate) fn ask(&self, query: &str) -> Value {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        get(address, &format!("/api.php?format=json&formatversion=2&action=query&{query}"), "")
    }

    /// Everything that a page has, as the wiki itself says.
    pub(crate) fn history(&self, pageid: i64) -> History {
        let mut history = History::new();
        let mut cursor = String::new();
        loop {
            let answer = self
                .ask(&format!("prop=revisions&pageids={pageid}&rvprop=ids%7Ccontent&rvslots=main&rvlimit=20{cursor}"));
            let revisions = answer["query"]["pages"][0]["revisions"].as_array().cloned().unwrap_or_default();
            for one in revisions {
                let content = one["slots"]["main"]["content"].as_str().map(str::to_owned);
                history.insert(one["revid"].as_i64().expect("a number"), content);
            }
            match answer["continue"]["rvcontinue"].as_str() {
                Some(next) => cursor = format!("&rvcontinue={}", next.replace('|', "%7C")),
                None => return history,
            }
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        let log = std::fs::read_to_string(self.place.path().join("access.log")).unwrap_or_default();
        let read = |line: &str| {
            let mut parts = line.splitn(3, '\t');
            let at = parts.next()?.parse().ok()?;
            Some(Seen { at, agent: parts.next()?.to_owned(), url: parts.next()?.to_owned() })
        };
        log.lines().filter_map(read).filter(|seen| !seen.agent.is_empty()).collect()
    }
}

impl Drop for MediaWiki {
    fn drop(&mut self) {
        self.stop();
    }
}

#[track_caller]
fn script(words: &[&std::ffi::OsStr], input: &str) -> String {
    let mut command = Command::new(SCRIPT);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("scripts/mediawiki runs");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The JSON that comes back from there.
#[track_caller]
pub(crate) fn get(address: &str, path: &str, token: &str) -> Value {
    try_get(address, path, token).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The same, of a server that may not be there any more.
pub(crate) fn try_get(address: &str, path: &str, token: &str) -> std::io::Result<Value> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = text(&answer);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body)?)
}
