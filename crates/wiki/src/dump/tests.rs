//! Dumps as MediaWiki writes them, whole and broken, read, cut and taken in.

use std::io::BufReader;

use malla_queue::{Act, Scope, UnixMs};
use proptest::prelude::*;

use super::batch::{BATCH_BYTES_MAX, Batch, Batches};
use super::kept::Kept;
use super::*;
use crate::page::{Mark, PageId};
use crate::revision::RevId;
use crate::shelving::Fetched;
use crate::site::WikiId;
use crate::verbs::{Import, NewImport, Wikis};

const DUMP: &str = include_str!("../../tests/data/dump-0.11.xml");

fn items(dump: &str) -> Vec<Item> {
    Reader::new(dump.as_bytes()).map(|item| item.expect("it reads")).collect()
}

fn revisions(items: &[Item]) -> Vec<&Fetched> {
    let revisions = items.iter().filter_map(|item| match item {
        Item::Revision(fetched) => Some(&**fetched),
        _ => None,
    });
    revisions.collect()
}

#[test]
fn a_dump_says_what_wiki_it_is_of() {
    let Some(Item::Site(site)) = items(DUMP).into_iter().next() else { panic!("the site comes first") };
    assert_eq!((site.name.as_str(), site.dbname.as_str()), ("Wikipedia", "testwiki"));
    assert_eq!((site.base.as_str(), site.generator.as_str()), ("https://w.test/wiki/Main_Page", "MediaWiki 1.45.0"));
    assert_eq!(site.language, "en");
    assert_eq!(site.namespaces, [(-2, "Media".to_owned()), (0, String::new()), (1, "Talk & more".to_owned())]);
    assert_eq!(site.about()["namespaces"]["1"]["name"], "Talk & more");
}

#[test]
fn pages_come_before_their_revisions() {
    let items = items(DUMP);
    let pages: Vec<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Page(page) => Some((page.pageid.0, page.title.as_str(), page.ns, page.redirect.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(
        pages,
        [
            (10, "A & B", 0, None),
            (11, "Talk & more:Old", 1, Some("A & B")),
            (12, "Empty", 0, None),
            (13, "Stub", 0, None)
        ]
    );
    let of_page: Vec<_> = revisions(&items).iter().map(|one| (one.revision.pageid.0, one.revision.revid.0)).collect();
    assert_eq!(of_page, [(10, 100), (10, 101), (10, 102), (10, 103), (11, 110), (13, 130), (13, 131)]);
}

#[test]
fn a_revision_is_read_whole() {
    let items = items(DUMP);
    let all = revisions(&items);
    let first = &all[0].revision;
    assert_eq!((first.parentid, first.at), (RevId(0), UnixMs(980_043_141_000)));
    assert_eq!((first.user.as_deref(), first.userid, first.anon, first.minor), (Some("Ana"), Some(99), false, true));
    assert_eq!(first.comment.as_deref(), Some("it's <begun>"));
    assert_eq!(first.sha1.as_deref(), Some("da39a3ee5e6b4b0d3255bfef95601890afd80709"));
    assert_eq!((first.model.as_str(), first.format.as_str(), first.size), ("wikitext", "text/x-wiki", 33));
    assert_eq!(all[0].text.as_deref(), Some("A text.\n\n<ref>\"q\"</ref> & é \u{1f600}".as_bytes()));
    let anonymous = &all[1].revision;
    assert_eq!((anonymous.user.as_deref(), anonymous.userid, anonymous.anon), (Some("192.0.2.7"), Some(0), true));
    assert_eq!((anonymous.comment.as_deref(), all[1].text.as_deref()), (Some(""), Some(&b""[..])));
    let imported = &all[3].revision;
    assert_eq!((imported.user.as_deref(), imported.userid, imported.anon), (Some("de>Eva"), Some(0), false));
    assert_eq!(all[3].text.as_deref(), Some(&b"main"[..]), "the other slots are not the page's text");
    assert_eq!(imported.model, "wikitext");
}

#[test]
fn what_the_wiki_hides_is_not_there_and_what_a_stub_leaves_out_is_not_hidden() {
    let items = items(DUMP);
    let all = revisions(&items);
    let hidden = &all[2];
    assert_eq!(
        (hidden.revision.user.as_ref(), hidden.revision.userid, hidden.revision.comment.as_ref()),
        (None, None, None)
    );
    assert_eq!((hidden.revision.text_hidden, hidden.text.as_ref(), hidden.revision.sha1.as_ref()), (true, None, None));
    for stub in &all[5..] {
        assert_eq!((stub.revision.text_hidden, stub.text.as_ref(), stub.revision.size), (false, None, 124));
        assert_eq!(stub.revision.sha1.as_deref(), Some("da39a3ee5e6b4b0d3255bfef95601890afd80709"));
    }
}

#[test]
fn a_dump_that_breaks_off_anywhere_gives_what_is_whole_and_says_so() {
    let whole = items(DUMP);
    for length in 0..DUMP.trim_end().len() {
        let mut reader = Reader::new(&DUMP.as_bytes()[..length]);
        let read: Vec<_> = reader.by_ref().take_while(Result::is_ok).map(|item| item.expect("ok")).collect();
        assert_eq!(read, whole[..read.len()], "{length}");
        let ended = String::from_utf8_lossy(&DUMP.as_bytes()[..length]).matches("</revision>").count();
        assert_eq!(revisions(&read).len(), ended, "{length}");
        let error = Reader::new(&DUMP.as_bytes()[..length]).find_map(Result::err);
        assert!(matches!(error, Some(Broken::Cut { at }) if at <= length as u64), "{length}: {error:?}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (from, to, words) in [
        ("<mediawiki", "<html", "begins with <html>"),
        ("version=\"0.11\"", "version=\"2.0\"", "version \"2.0\""),
        ("<id>10</id>", "<id>ten</id>", "<id> is \"ten\""),
        ("<id>10</id>", "", "\"A & B\" has no <id>"),
        ("<id>100</id>", "", "a revision has no <id>"),
        ("2001-01-21T02:12:21Z", "yesterday", "<timestamp> is \"yesterday\""),
        ("&amp; é", "&eacute;", "\"&eacute;\" is not a character"),
        ("</ns>", "</title>", "at byte"),
    ] {
        assert!(DUMP.contains(from), "{from}");
        let dump =
            DUMP.replacen(from, to, 1).replace("</mediawiki>", if to == "<html" { "</html>" } else { "</mediawiki>" });
        let error = Reader::new(dump.as_bytes()).find_map(Result::err).unwrap_or_else(|| panic!("{to} was read"));
        assert!(matches!(error, Broken::Wrong { .. }), "{error}");
        assert!(error.to_string().contains(words) && error.to_string().contains("at byte"), "{error}");
    }
}

/// One page after another, each with so many revisions of so many bytes.
fn made(pages: &[&[usize]]) -> String {
    let mut dump = "<mediawiki version=\"0.10\">".to_owned();
    let mut revid = 0;
    for (page, sizes) in pages.iter().enumerate() {
        dump += &format!("<page><title>P{page}</title><ns>0</ns><id>{}</id>", page + 1);
        for (number, size) in sizes.iter().enumerate() {
            let parent = if number == 0 { 0 } else { revid };
            revid += 1;
            let text = format!("{revid} ").repeat(size / 2);
            dump += &format!(
                "<revision><id>{revid}</id><parentid>{parent}</parentid><timestamp>2020-01-01T00:00:{:02}Z</timestamp>\
                 <contributor><ip>::1</ip></contributor><text xml:space=\"preserve\">{text}</text></revision>",
                number % 60
            );
        }
        dump += "</page>";
    }
    dump + "</mediawiki>"
}

fn batches(dump: &str) -> Vec<Result<Batch, Broken>> {
    Batches::new(Reader::new(BufReader::with_capacity(100, dump.as_bytes()))).collect()
}

#[test]
fn a_dump_is_cut_into_bounded_batches_in_which_each_page_knows_whether_it_is_whole() {
    let (half, large) = (BATCH_BYTES_MAX / 2 - 10_000, BATCH_BYTES_MAX + 1_000);
    let dump = made(&[&[10, half, half, half], &[large], &[5, 5]]);
    let batches: Vec<Batch> = batches(&dump).into_iter().map(|batch| batch.expect("a batch")).collect();
    let shape = |batch: &Batch| -> Vec<_> {
        let part = |part: &PagePart| (part.page.pageid.0, part.revisions.len(), part.linked, part.ends);
        batch.pages.iter().map(part).collect()
    };
    let shapes: Vec<_> = batches.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [vec![(1, 3, true, false)], vec![(1, 1, true, true)], vec![(2, 1, true, true)], vec![(3, 2, true, true)]]
    );
    for batch in &batches {
        assert_eq!(Batch::decode(&batch.encode().expect("packed")).as_ref(), Ok(batch));
    }
}

#[test]
fn a_page_of_which_a_revision_is_missing_is_not_linked() {
    let dump = made(&[&[5, 5, 5]]).replace("<parentid>2</parentid>", "<parentid>77</parentid>");
    let batch = batches(&dump).remove(0).expect("a batch");
    assert_eq!((batch.pages[0].linked, batch.pages[0].ends), (false, true));
}

#[test]
fn nonsense_is_no_batch() {
    let batch = batches(&made(&[&[5]])).remove(0).expect("a batch");
    let packed = batch.encode().expect("packed");
    let plain = zstd::bulk::decompress(&packed, 1 << 20).expect("unpacked");
    let again = |plain: &[u8]| zstd::bulk::compress(plain, 1).expect("packed");
    for (bytes, words) in [
        (b"nonsense".to_vec(), "not zstd"),
        (packed[..packed.len() - 1].to_vec(), "not zstd"),
        (again(b"other"), "begins with something else"),
        (again(&plain[..6]), "breaks off"),
        (again(&plain[..plain.len() - 1]), "breaks off"),
        (again(&[&plain[..], b"x"].concat()), "something follows"),
    ] {
        let error = Batch::decode(&bytes).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}

async fn import(kept: &Kept) -> Import {
    let new = NewImport { wiki: WikiId(1), name: "dump".into() };
    kept.begin_import(&Scope::All, new, Act::new("ana", "wiki.import", "dump")).await.expect("begun")
}

/// As a client would: from where the server is, batch by batch.
async fn send(kept: &Kept, dump: &str) -> Option<Broken> {
    let import = import(kept).await;
    let mut batches = Batches::new(Reader::new(dump.as_bytes())).enumerate().skip(import.batches as usize).peekable();
    while let Some((number, batch)) = batches.next() {
        let bytes = match batch {
            Ok(batch) => batch.encode().expect("packed"),
            Err(broken) => return Some(broken),
        };
        let last = batches.peek().is_none();
        take(kept, &self::import(kept).await, number as u64, &bytes, last).await.expect("taken in");
    }
    None
}

#[tokio::test]
async fn a_dump_that_is_taken_in_reads_back() {
    let kept = Kept::with(|inside| inside.stale = 2);
    assert_eq!(send(&kept, DUMP).await, None);
    assert_eq!(kept.text(100).as_deref(), Some("A text.\n\n<ref>\"q\"</ref> & é \u{1f600}"));
    assert_eq!((kept.text(101).as_deref(), kept.text(102), kept.text(130)), (Some(""), None, None));
    let inside = kept.inside();
    assert_eq!(inside.revisions.len(), 7);
    let page = &inside.pages[&PageId(11)];
    let mark = Mark { at: UnixMs(980_043_141_000), revid: RevId(110) };
    assert_eq!((page.mark, page.complete_at.is_some(), page.visited_at), (Some(mark), true, None));
    assert_eq!(inside.pages[&PageId(10)].mark, None, "one of its revisions has a parent that is not there");
}

#[tokio::test]
async fn a_dump_that_was_cut_off_brings_what_it_has_and_the_whole_one_brings_the_rest() {
    let kept = Kept::default();
    let cut = &DUMP[..DUMP.find("<id>103</id>").expect("a revision")];
    assert!(matches!(send(&kept, cut).await, Some(Broken::Cut { .. })));
    assert_eq!((import(&kept).await.batches, kept.inside().revisions.len()), (0, 3));
    assert_eq!(send(&kept, DUMP).await, None);
    assert_eq!((import(&kept).await.finished, kept.inside().revisions.len()), (true, 7));
}

#[tokio::test]
async fn an_import_goes_on_where_it_was() {
    let dump = made(&[&[10, BATCH_BYTES_MAX - 5_000, 10, 10], &[10]]);
    let kept = Kept::default();
    let first = batches(&dump).remove(0).expect("a batch").encode().expect("packed");
    for _ in 0..2 {
        take(&kept, &import(&kept).await, 0, &first, false).await.expect("taken in");
    }
    assert_eq!(import(&kept).await.batches, 1);
    assert!(take(&kept, &import(&kept).await, 2, &first, false).await.is_err(), "one is missing");
    assert_eq!(send(&kept, &dump).await, None);
    let inside = kept.inside();
    assert_eq!((inside.revisions.len(), inside.pages[&PageId(1)].revisions), (5, 4));
    assert_eq!(inside.pages[&PageId(1)].mark.map(|mark| mark.revid), Some(RevId(4)));
}

#[tokio::test]
async fn a_dump_takes_nothing_back_that_the_wiki_said_later() {
    let kept = Kept::default();
    send(&kept, DUMP).await;
    {
        let mut inside = kept.inside();
        let page = inside.pages.get_mut(&PageId(10)).expect("a page");
        page.facts.title = "Moved".into();
        page.visited_at = Some(super::kept::NOW);
        for revision in inside.revisions.values_mut() {
            revision.tags = vec!["kept".into()];
            if revision.revid == RevId(100) {
                (revision.user, revision.text, revision.text_hidden) = (None, None, true);
            }
        }
    }
    // Another dump of the same: with a text that was missing, and with something hidden.
    let other = DUMP.replace(
        "<text bytes=\"124\" sha1=\"phoiac9h4m842xq45sp7s6u21eteeq1\" />",
        "<text bytes=\"124\">now here</text>",
    );
    let other =
        other.replace("<ip>192.0.2.7</ip>", "").replace("<contributor><!-- -->", "<contributor deleted=\"deleted\">");
    kept.begin_import(&Scope::All, NewImport { wiki: WikiId(1), name: "other".into() }, Act::new("a", "b", "c"))
        .await
        .expect("begun");
    let import = Import { batches: 0, ..import(&kept).await };
    let import = Import { id: crate::ImportId(malla_queue::TaskId(1)), ..import };
    let batch = batches(&other).remove(0).expect("a batch").encode().expect("packed");
    take(&kept, &import, 0, &batch, true).await.expect("taken in");
    assert_eq!((kept.text(100), kept.text(131).as_deref()), (None, Some("now here")));
    let inside = kept.inside();
    assert_eq!(inside.pages[&PageId(10)].facts.title, "Moved");
    assert!(inside.revisions.values().all(|revision| revision.tags == ["kept"]));
    let user =
        |revid| inside.revisions.values().find(|kept| kept.revid == RevId(revid)).and_then(|kept| kept.user.clone());
    assert_eq!((user(100), user(101), user(103).as_deref()), (None, None, Some("de>Eva")));
}

proptest! {
    #[test]
    fn any_text_reads_back(text in "[a-z<>&\"'é\u{1f600} \n\t\\]]{0,80}", chunk in 1_usize..9) {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let dump = made(&[&[2]]).replace("1 </text>", &format!("{escaped}</text>"));
        let reader = Reader::new(BufReader::with_capacity(chunk, dump.as_bytes()));
        let items: Vec<_> = reader.map(|item| item.expect("it reads")).collect();
        prop_assert_eq!(revisions(&items)[0].text.as_deref(), Some(text.as_bytes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn where_a_dump_is_cut_depends_on_it_alone(sizes in proptest::collection::vec(0_usize..3_000_000, 1..12), chunk in 1_usize..5_000) {
        let dump = made(&[&sizes]);
        let one: Vec<_> = batches(&dump).into_iter().map(|batch| batch.expect("a batch").revisions()).collect();
        let other = Batches::new(Reader::new(BufReader::with_capacity(chunk, dump.as_bytes())));
        let other: Vec<_> = other.map(|batch| batch.expect("a batch").revisions()).collect();
        prop_assert_eq!(one.iter().sum::<usize>(), sizes.len());
        prop_assert_eq!(one, other);
    }
}
