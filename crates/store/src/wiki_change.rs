//! What changes of pages mean: the same on both stores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use malla_queue::{Error, Result, TaskId};
use malla_wiki::{EXTRACT, PageChange, Revision, Settled};

use crate::fetch_rows::plain;

/// Bytes of a title, a user's name or a tag: each must fit into an index. (MediaWiki allows 255.)
const NAME_BYTES_MAX: usize = 1_000;

/// What is refused before a store is asked.
pub(crate) fn check(changes: &[PageChange]) -> Result<()> {
    let pages: BTreeSet<_> = changes.iter().map(|change| (change.wiki, change.pageid)).collect();
    if pages.len() < changes.len() {
        return Err(Error::Invalid("a page is changed twice at once: gather its revisions in one change".into()));
    }
    let names = changes.iter().flat_map(|change| {
        let of_revisions = change
            .revisions
            .iter()
            .flat_map(|revision| revision.tags.iter().map(String::as_str).chain(revision.user.as_deref()));
        of_revisions.chain([change.facts.title.as_str()])
    });
    match names.map(str::len).max() {
        Some(longest) if longest > NAME_BYTES_MAX => Err(Error::Invalid(format!(
            "a title, user or tag of {longest} bytes is too long: at most {NAME_BYTES_MAX}"
        ))),
        _ => Ok(()),
    }
}

/// A revision on its way in: of which change, and itself.
pub(crate) type Incoming<'c> = (usize, &'c Revision);

/// The revisions of all changes in the order of their numbers, each once: what was said last counts.
pub(crate) fn incoming(changes: &[PageChange]) -> Vec<Incoming<'_>> {
    let mut all = BTreeMap::new();
    for (number, change) in changes.iter().enumerate() {
        all.extend(change.revisions.iter().map(|revision| ((change.wiki, revision.revid), (number, revision))));
    }
    all.into_values().collect()
}

/// A revision that is kept already.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The page's number in the store.
    pub(crate) page: i64,
    pub(crate) at: i64,
    pub(crate) extracted_at: i64,
    pub(crate) editor: Option<(i64, String)>,
}

/// What changes do beside what they write.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// How many revisions more, by the page's number in the store. All pages are here whose version changes.
    pub(crate) pages: BTreeMap<i64, i64>,
    /// How many pages and revisions more, by wiki.
    pub(crate) wikis: BTreeMap<i64, (i64, i64)>,
    /// Users who lost a revision: their names may be erased.
    pub(crate) left: BTreeSet<i64>,
}

/// A page to be changed, by its number in the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) id: i64,
    /// It was not kept before.
    pub(crate) new: bool,
}

impl Effects {
    /// `places` are those of the changes, in their order; `kept` has those of the revisions that are kept, by wiki and number.
    pub(crate) fn of(
        changes: &[PageChange],
        places: &[Place],
        incoming: &[Incoming<'_>],
        kept: &HashMap<(i64, i64), Kept>,
    ) -> Self {
        let mut effects = Self::default();
        for (change, place) in changes.iter().zip(places) {
            effects.pages.entry(place.id).or_default();
            effects.wikis.entry(change.wiki.0).or_default().0 += i64::from(place.new);
        }
        for (number, revision) in incoming {
            let (wiki, page) = (changes[*number].wiki.0, places[*number].id);
            effects.add(wiki, page, revision, kept.get(&(wiki, revision.revid.0)));
        }
        effects
    }

    fn add(&mut self, wiki: i64, page: i64, revision: &Revision, kept: Option<&Kept>) {
        let Some(kept) = kept else {
            self.wikis.entry(wiki).or_default().1 += 1;
            *self.pages.entry(page).or_default() += 1;
            return;
        };
        if kept.page != page {
            *self.pages.entry(kept.page).or_default() -= 1;
            *self.pages.entry(page).or_default() += 1;
        }
        if let Some((id, name)) = &kept.editor
            && revision.user.as_deref().map(plain).as_deref() != Some(name.as_str())
        {
            self.left.insert(*id);
        }
    }

    /// Pages and revisions that were not kept before.
    pub(crate) fn gained(&self) -> (i64, i64) {
        self.wikis.values().fold((0, 0), |(pages, revisions), more| (pages + more.0, revisions + more.1))
    }
}

/// The number of the last block that a change writes.
pub(crate) fn last_block(change: &PageChange) -> Option<i64> {
    change.blocks.iter().map(|block| i64::from(block.number)).max()
}

/// The tags of a revision as they are stored; `None` if it has none.
pub(crate) fn tags(revision: &Revision) -> Option<String> {
    (!revision.tags.is_empty()).then(|| {
        let tags: Vec<_> = revision.tags.iter().map(|tag| plain(tag)).collect();
        crate::fetch_rows::to_json(&tags)
    })
}

/// The task of an extraction's next step: the follow-up that is one, else the task itself, tried again or the last.
pub(crate) fn next_task(settled: &Settled, followed: &[TaskId]) -> TaskId {
    let mut follow_ups = settled.ending.follow_ups.iter().zip(followed);
    follow_ups.find(|(task, _)| task.kind.as_str() == EXTRACT).map_or(settled.token.task, |(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;
    use malla_wiki::{PageFacts, PageId, RevId, WikiId};

    use super::*;

    fn revision(revid: i64, user: Option<&str>) -> Revision {
        Revision {
            revid: RevId(revid),
            parentid: RevId(0),
            pageid: PageId(7),
            at: UnixMs(revid),
            user: user.map(str::to_owned),
            userid: None,
            anon: false,
            minor: false,
            size: 0,
            sha1: None,
            model: String::new(),
            format: String::new(),
            comment: None,
            parsed_comment: None,
            tags: Vec::new(),
            text: None,
            text_hidden: false,
        }
    }

    fn change(pageid: i64, revisions: Vec<Revision>) -> PageChange {
        PageChange {
            wiki: WikiId(1),
            pageid: PageId(pageid),
            version: 0,
            facts: PageFacts { title: "Mesh".into(), ns: 0, deleted: false },
            revisions,
            blocks: Vec::new(),
            mark: None,
            complete: false,
            reconciled: false,
            visited: true,
        }
    }

    fn kept(page: i64, editor: Option<(i64, &str)>) -> Kept {
        Kept { page, at: 1, extracted_at: 1, editor: editor.map(|(id, name)| (id, name.to_owned())) }
    }

    #[test]
    fn what_is_new_moved_or_left_is_told_apart() {
        let revisions =
            vec![revision(1, Some("ana")), revision(2, Some("ana")), revision(3, None), revision(4, Some("a\0"))];
        let changes = [change(7, revisions)];
        let kept = HashMap::from([
            ((1, 2), kept(20, Some((5, "ana")))),
            ((1, 3), kept(10, Some((6, "ben")))),
            ((1, 4), kept(10, Some((8, "a\u{fffd}")))),
        ]);
        let effects = Effects::of(&changes, &[Place { id: 10, new: true }], &incoming(&changes), &kept);
        assert_eq!(effects.pages, BTreeMap::from([(10, 2), (20, -1)]));
        assert_eq!((effects.wikis, effects.left), (BTreeMap::from([(1, (1, 1))]), BTreeSet::from([6])));
    }

    #[test]
    fn a_revision_that_comes_twice_counts_once_as_it_was_said_last() {
        let changes = [change(7, vec![revision(1, Some("a"))]), change(8, vec![revision(1, Some("b"))])];
        let incoming = incoming(&changes);
        assert_eq!(incoming.len(), 1);
        assert_eq!((incoming[0].0, incoming[0].1.user.as_deref()), (1, Some("b")));
    }

    #[test]
    fn a_page_twice_and_names_that_are_too_long_are_refused() {
        assert_eq!(check(&[change(7, vec![]), change(8, vec![])]), Ok(()));
        assert!(matches!(check(&[change(7, vec![]), change(7, vec![])]), Err(Error::Invalid(_))));
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        assert!(matches!(check(&[change(7, vec![revision(1, Some(&long))])]), Err(Error::Invalid(_))));
    }
}
