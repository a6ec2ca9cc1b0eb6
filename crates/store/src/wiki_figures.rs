//! What changes of pages mean to the counts of their wikis, by editor and by month: the same on both stores.

use std::collections::{BTreeMap, HashMap};

use malla_queue::UnixMs;
use malla_wiki::PageChange;
use malla_wiki::metrics::month_of;

use crate::wiki_change::{Incoming, Kept};
use crate::wiki_revisions::{ANON, MINOR, flags};

/// How many more there are, without what stays as it is. Keys are in order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Edits, minor and anonymous ones, by wiki and month.
    pub(crate) months: BTreeMap<(i64, i64), [i64; 3]>,
    /// Edits by wiki and the editor's number in the store.
    pub(crate) editors: BTreeMap<(i64, i64), i64>,
}

impl Figures {
    /// `editors` are those of the incoming revisions, in their order; `kept` has those of the revisions that are kept.
    pub(crate) fn of(
        changes: &[PageChange],
        incoming: &[Incoming<'_>],
        editors: &[Option<i64>],
        kept: &HashMap<(i64, i64), Kept>,
    ) -> Self {
        let mut figures = Self::default();
        for ((number, revision), editor) in incoming.iter().zip(editors) {
            let wiki = changes[*number].wiki.0;
            if let Some(kept) = kept.get(&(wiki, revision.revid.0)) {
                let editor = kept.editor.as_ref().map(|(id, _)| *id);
                figures.add(wiki, UnixMs(kept.at), kept.flags, editor, -1);
            }
            figures.add(wiki, revision.at, flags(revision), *editor, 1);
        }
        figures.months.retain(|_, more| *more != [0; 3]);
        figures.editors.retain(|_, more| *more != 0);
        figures
    }

    fn add(&mut self, wiki: i64, at: UnixMs, flags: i16, editor: Option<i64>, more: i64) {
        let of = |flag: i16| if flags & flag > 0 { more } else { 0 };
        let [edits, minor, anonymous] = self.months.entry((wiki, month_of(at))).or_default();
        *edits += more;
        *minor += of(MINOR);
        *anonymous += of(ANON);
        if let Some(editor) = editor {
            *self.editors.entry((wiki, editor)).or_default() += more;
        }
    }
}

/// How many editors more a wiki has if one of them has so many edits more, and so many in all now.
pub(crate) fn appeared(more: i64, edits: i64) -> i64 {
    match edits {
        0 => -1,
        _ if edits == more => 1,
        _ => 0,
    }
}
