//! Writes changes of pages: revisions, texts and what is counted of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use malla_queue::Result;
use malla_wiki::{PageChange, Revision};

use super::tx::Tx;
use super::{sql, wiki_counts, wiki_reads, wiki_tallies};
use crate::analyze_rows::int;
use crate::fetch_rows::plain;
use crate::wiki_change::{Effects, Incoming, Kept, Place, incoming, last_block, tags};
use crate::wiki_figures::Figures;
use crate::wiki_revisions::flags;
use crate::wiki_rows::no_wiki;

/// The newest revisions that a page's pulse is taken from: so many, or a tenth of all if that is more.
const PULSE_MIN: i64 = 20;

/// The numbers of the changed pages in the store (`None` for those that are new), or `None` if one of them has changed
/// since its copy was made. Writes nothing.
pub(super) fn find(tx: &Tx<'_>, changes: &[PageChange]) -> Result<Option<Vec<Option<i64>>>> {
    let mut found = Vec::with_capacity(changes.len());
    for change in changes {
        let place = tx.one(sql!("wiki/page_place"), (change.wiki.0, change.pageid.0), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
        match place {
            Some((id, version)) if version == int(change.version) => found.push(Some(id)),
            None if change.version == 0 => {
                let wiki: Option<i64> = tx.one(sql!("wiki/has_wiki"), (change.wiki.0,), |row| row.get(0))?;
                wiki.ok_or_else(|| no_wiki(change.wiki))?;
                found.push(None);
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Writes changes of pages that were [found](find).
pub(super) fn apply(tx: &Tx<'_>, changes: &[PageChange], found: &[Option<i64>]) -> Result<Effects> {
    let places = changes.iter().zip(found).map(|(change, id)| place(tx, change, *id)).collect::<Result<Vec<_>>>()?;
    let incoming = incoming(changes);
    let kept = kept(tx, changes, &incoming)?;
    let mut effects = Effects::of(changes, &places, &incoming, &kept);
    let (mut users, mut editors) = (Users::default(), Vec::with_capacity(incoming.len()));
    for (number, revision) in &incoming {
        let (wiki, page) = (changes[*number].wiki.0, places[*number].id);
        let editor = revision.user.as_deref().map(|name| users.id(tx, name)).transpose()?;
        put_revision(tx, (wiki, page), revision, editor, kept.get(&(wiki, revision.revid.0)))?;
        editors.push(editor);
    }
    effects.figures = Figures::of(changes, &incoming, &editors, &kept);
    for (change, place) in changes.iter().zip(&places) {
        put_texts(tx, place.id, change)?;
    }
    for user in &effects.left {
        tx.run(sql!("wiki/drop_user"), (user,))?;
    }
    count_and_write(tx, changes, &places, &effects)?;
    wiki_tallies::forget(tx, &effects)?;
    wiki_counts::add(tx, &effects)?;
    Ok(effects)
}

fn place(tx: &Tx<'_>, change: &PageChange, id: Option<i64>) -> Result<Place> {
    if let Some(id) = id {
        return Ok(Place { id, new: false });
    }
    let facts = &change.facts;
    let row = (change.wiki.0, change.pageid.0, plain(&facts.title), facts.ns, facts.deleted, tx.now.0);
    tx.run(sql!("wiki/add_page"), row)?;
    Ok(Place { id: tx.conn.last_insert_rowid(), new: true })
}

fn kept(tx: &Tx<'_>, changes: &[PageChange], incoming: &[Incoming<'_>]) -> Result<HashMap<(i64, i64), Kept>> {
    let mut all = HashMap::new();
    for (number, revision) in incoming {
        let key = (changes[*number].wiki.0, revision.revid.0);
        let kept = tx.one(sql!("wiki/kept"), key, |row| {
            let editor: Option<i64> = row.get(6)?;
            Ok(Kept {
                page: row.get(0)?,
                at: row.get(1)?,
                extracted_at: row.get(2)?,
                size: row.get(3)?,
                flags: row.get(4)?,
                sha1: row.get(5)?,
                editor: editor.zip(row.get::<_, Option<String>>(7)?),
            })
        })?;
        all.extend(kept.map(|kept| (key, kept)));
    }
    Ok(all)
}

/// The numbers of names; each is looked for once.
#[derive(Default)]
struct Users<'c>(HashMap<Cow<'c, str>, i64>);

impl<'c> Users<'c> {
    fn id(&mut self, tx: &Tx<'_>, name: &'c str) -> Result<i64> {
        let name = plain(name);
        if let Some(id) = self.0.get(&name) {
            return Ok(*id);
        }
        let id = match tx.one(sql!("wiki/find_user"), (&name,), |row| row.get(0))? {
            Some(id) => id,
            None => {
                tx.run(sql!("wiki/add_user"), (&name,))?;
                tx.conn.last_insert_rowid()
            }
        };
        self.0.insert(name, id);
        Ok(id)
    }
}

fn put_revision(
    tx: &Tx<'_>,
    (wiki, page): (i64, i64),
    revision: &Revision,
    editor: Option<i64>,
    kept: Option<&Kept>,
) -> Result<()> {
    let Revision { revid, at, .. } = revision;
    if let Some(kept) = kept {
        // Its place is its page and time.
        if (kept.page, kept.at) != (page, at.0) {
            tx.run(sql!("wiki/drop_revision"), (kept.page, kept.at, revid.0))?;
        }
        tx.run(sql!("wiki/drop_tags"), (wiki, revid.0))?;
    }
    let extracted_at = kept.map_or(tx.now.0, |kept| kept.extracted_at);
    let row = (
        page,
        at.0,
        revid.0,
        wiki,
        revision.parentid.0,
        editor,
        revision.userid,
        int(revision.size),
        flags(revision),
        extracted_at,
    );
    tx.run(sql!("wiki/put_revision"), row)?;
    let note = (
        wiki,
        revid.0,
        revision.sha1.as_deref().map(plain),
        plain(&revision.model),
        plain(&revision.format),
        revision.comment.as_deref().map(plain),
        revision.parsed_comment.as_deref().map(plain),
        tags(revision),
        revision.text.as_ref().map(|hash| &hash.0[..]),
    );
    tx.run(sql!("wiki/put_note"), note)?;
    for tag in &revision.tags {
        tx.run(sql!("wiki/add_tag"), (plain(tag), wiki, revid.0))?;
    }
    Ok(())
}

/// Writes blocks and the places of their texts: of a block that has grown, only what is new.
fn put_texts(tx: &Tx<'_>, page: i64, change: &PageChange) -> Result<()> {
    let mut old = BTreeMap::new();
    for block in &change.blocks {
        old.extend(wiki_reads::texts(tx.conn, page, i64::from(block.number))?);
        tx.run(sql!("wiki/put_block"), (page, block.number, block.bytes, &block.packed, &block.object))?;
    }
    for (hash, place) in change.blocks.iter().flat_map(|block| &block.texts) {
        if old.remove(hash).as_ref() != Some(place) {
            tx.run(sql!("wiki/put_text"), (page, &hash.0[..], place.block, place.start, place.length))?;
        }
    }
    for hash in old.keys() {
        tx.run(sql!("wiki/drop_text"), (page, &hash.0[..]))?;
    }
    Ok(())
}

fn count_and_write(tx: &Tx<'_>, changes: &[PageChange], places: &[Place], effects: &Effects) -> Result<()> {
    let mut revisions = HashMap::new();
    for (page, more) in &effects.pages {
        let all: Option<i64> = tx.one(sql!("wiki/count_page"), (page, more), |row| row.get(0))?;
        revisions.insert(*page, all.unwrap_or(0));
    }
    for (change, place) in changes.iter().zip(places) {
        let (facts, mark) = (&change.facts, change.mark);
        let row = (
            place.id,
            plain(&facts.title),
            facts.ns,
            facts.deleted,
            mark.map(|mark| mark.at.0),
            mark.map(|mark| mark.revid.0),
            change.complete,
            change.reconciled,
            change.visited,
            last_block(change),
            tx.now.0,
        );
        tx.run(sql!("wiki/write_page"), row)?;
        if change.complete {
            let all = revisions.get(&place.id).copied().unwrap_or(0);
            tx.run(sql!("wiki/take_pulse"), (place.id, PULSE_MIN.max(all / 10).min(all)))?;
        }
    }
    Ok(())
}
