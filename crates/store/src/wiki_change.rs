//! What changes of pages mean: the same on both stores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use malla_queue::{Error, Result, TaskId};
use malla_wiki::{EXTRACT, PageChange, Revision, Settled};

use crate::analyze_rows::int;
use crate::fetch_rows::plain;
use crate::wiki_figures::Figures;
use crate::wiki_revisions::flags;

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
    pub(crate) size: i64,
    pub(crate) flags: i16,
    pub(crate) sha1: Option<String>,
    pub(crate) editor: Option<(i64, String)>,
}

impl Kept {
    /// Whether a revision of this page says something else of what a history is counted by.
    fn differs(&self, page: i64, revision: &Revision) -> bool {
        let text = |text: &Option<String>| text.as_deref().map(|text| plain(text).into_owned());
        (self.page, self.at, self.size, self.flags) != (page, revision.at.0, int(revision.size), flags(revision))
            || self.sha1 != text(&revision.sha1)
            || self.editor.as_ref().map(|(_, name)| name) != text(&revision.user).as_ref()
    }
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
    /// Time and number of the first revision that is another, by the page's number in the store; not of pages that are new. What
    /// was counted of a history up to there or beyond is to be forgotten.
    pub(crate) altered: BTreeMap<i64, (i64, i64)>,
    /// Filled in when the numbers of all names are known.
    pub(crate) figures: Figures,
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
        for place in places.iter().filter(|place| place.new) {
            effects.altered.remove(&place.id);
        }
        effects
    }

    fn add(&mut self, wiki: i64, page: i64, revision: &Revision, kept: Option<&Kept>) {
        let Some(kept) = kept else {
            self.wikis.entry(wiki).or_default().1 += 1;
            *self.pages.entry(page).or_default() += 1;
            self.alter(page, (revision.at.0, revision.revid.0));
            return;
        };
        if kept.differs(page, revision) {
            self.alter(kept.page, (kept.at, revision.revid.0));
            self.alter(page, (revision.at.0, revision.revid.0));
        }
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

    fn alter(&mut self, page: i64, at: (i64, i64)) {
        let first = self.altered.entry(page).or_insert(at);
        *first = at.min(*first);
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

    fn kept(page: i64, at: i64, editor: Option<(i64, &str)>) -> Kept {
        let editor = editor.map(|(id, name)| (id, name.to_owned()));
        Kept { page, at, extracted_at: 1, size: 0, flags: 0, sha1: None, editor }
    }

    #[test]
    fn what_is_new_moved_or_left_is_told_apart() {
        let revisions =
            vec![revision(1, Some("ana")), revision(2, Some("ana")), revision(3, None), revision(4, Some("a\0"))];
        let changes = [change(7, revisions)];
        let kept = HashMap::from([
            ((1, 2), kept(20, 9, Some((5, "ana")))),
            ((1, 3), kept(10, 3, Some((6, "ben")))),
            ((1, 4), kept(10, 4, Some((8, "a\u{fffd}")))),
        ]);
        let effects = Effects::of(&changes, &[Place { id: 10, new: true }], &incoming(&changes), &kept);
        assert_eq!(effects.pages, BTreeMap::from([(10, 2), (20, -1)]));
        assert_eq!((effects.wikis, effects.left), (BTreeMap::from([(1, (1, 1))]), BTreeSet::from([6])));
        assert_eq!(effects.altered, BTreeMap::from([(20, (9, 2))]), "page 10 is new");
    }

    #[test]
    fn a_history_is_altered_from_the_first_revision_on_that_is_new_or_says_something_else() {
        let at_7 = |revisions: Vec<Revision>| {
            let changes = [change(7, revisions)];
            let kept = HashMap::from([((1, 4), kept(10, 4, Some((5, "ana")))), ((1, 5), kept(10, 5, None))]);
            let effects = Effects::of(&changes, &[Place { id: 10, new: false }], &incoming(&changes), &kept);
            effects.altered.get(&10).copied()
        };
        let same = || vec![revision(4, Some("ana")), revision(5, None)];
        assert_eq!(at_7(same()), None);
        assert_eq!(at_7([same(), vec![revision(9, None), revision(6, None)]].concat()), Some((6, 6)));
        assert_eq!(at_7(vec![revision(4, None), revision(6, None)]), Some((4, 4)));
        for alter in [
            (|one| one.minor = true) as fn(&mut Revision),
            |one| one.anon = true,
            |one| one.size = 1,
            |one| one.sha1 = Some("1".into()),
            |one| one.user = Some("ben".into()),
            |one| one.at = UnixMs(8),
        ] {
            let mut revisions = same();
            alter(&mut revisions[1]);
            assert_eq!(at_7(revisions), Some((5, 5)));
        }
        let mut earlier = same();
        earlier[1].at = UnixMs(2);
        assert_eq!(at_7(earlier), Some((2, 5)));
    }

    #[test]
    fn figures_tell_what_is_more_and_what_is_fewer() {
        let minor = |revid| Revision { minor: true, ..revision(revid, Some("ana")) };
        let changes = [change(7, vec![minor(1), minor(2), revision(3, None), revision(4, Some("ana"))])];
        let kept = HashMap::from([
            ((1, 2), kept(20, 2, Some((5, "ana")))),
            ((1, 3), kept(10, 3, Some((6, "ben")))),
            ((1, 4), kept(20, 4, Some((5, "ana")))),
        ]);
        let (january, ana) = (1970 * 12, Some(5));
        let figures = Figures::of(&changes, &incoming(&changes), &[ana, ana, None, ana], &kept);
        assert_eq!(figures.months, BTreeMap::from([((1, january), [1, 2, 0])]));
        assert_eq!(figures.editors, BTreeMap::from([((1, 5), 1), ((1, 6), -1)]));
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
