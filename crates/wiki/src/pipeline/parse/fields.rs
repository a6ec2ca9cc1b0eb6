//! What the fields of a collection are called.

use super::super::{Collection, Field};

const REVISIONS: &[Field] = &[
    Field::RevId,
    Field::ParentId,
    Field::PageId,
    Field::Title,
    Field::User,
    Field::UserId,
    Field::Timestamp,
    Field::Size,
    Field::Sha1,
    Field::Model,
    Field::Format,
    Field::Comment,
    Field::ParsedComment,
    Field::Tags,
    Field::ExtractionDate,
    Field::Minor,
    Field::Anon,
    Field::Locale,
    Field::Wiki,
    Field::Text,
];

const ARTICLES: &[Field] = &[
    Field::PageId,
    Field::Title,
    Field::Ns,
    Field::Locale,
    Field::FirstExtraction,
    Field::LastExtraction,
    Field::LastRevision,
    Field::Wiki,
];

impl Collection {
    pub fn name(self) -> &'static str {
        match self {
            Self::Revisions => "revisions",
            Self::Articles => "articles",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Revisions, Self::Articles].into_iter().find(|collection| collection.name() == name)
    }

    /// The fields of a whole document, in the order in which people read them.
    pub fn document(self) -> &'static [Field] {
        match self {
            Self::Revisions => REVISIONS,
            Self::Articles => ARTICLES,
        }
    }

    /// A field by its name, also one that whole documents do not show.
    pub fn field(self, name: &str) -> Option<Field> {
        let hidden = (self == Self::Revisions).then_some(Field::Ns);
        self.document().iter().copied().chain(hidden).find(|field| field.name() == name)
    }
}

impl Field {
    /// As it is called outside.
    pub fn name(self) -> &'static str {
        match self {
            Self::PageId => "pageid",
            Self::Title => "title",
            Self::Ns => "ns",
            Self::Locale => "locale",
            Self::Wiki => "wiki",
            Self::FirstExtraction => "first_extraction_date",
            Self::LastExtraction => "last_extraction_date",
            Self::LastRevision => "last_revision_extracted",
            Self::RevId => "revid",
            Self::ParentId => "parentid",
            Self::User => "user",
            Self::UserId => "userid",
            Self::Timestamp => "timestamp",
            Self::Size => "size",
            Self::Sha1 => "sha1",
            Self::Model => "contentmodel",
            Self::Format => "contentformat",
            Self::Comment => "comment",
            Self::ParsedComment => "parsedcomment",
            Self::Tags => "tags",
            Self::ExtractionDate => "extraction_date",
            Self::Minor => "minor",
            Self::Anon => "anon",
            Self::Text => "*",
        }
    }
}

/// A guess at what was meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.map(|known| (strsim::jaro_winkler(word, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((likeness, known)) if likeness > 0.75 => format!(" (did you mean {known}?)"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_by_its_name() {
        for collection in [Collection::Revisions, Collection::Articles] {
            assert_eq!(Collection::named(collection.name()), Some(collection));
            for field in collection.document() {
                assert_eq!(collection.field(field.name()), Some(*field));
            }
        }
        assert_eq!(Collection::Revisions.field("ns"), Some(Field::Ns));
        assert_eq!(Collection::Articles.field("user"), None);
    }

    #[test]
    fn a_slip_is_understood_and_nonsense_is_not() {
        let names = || ["timestamp", "title", "size"].into_iter();
        assert_eq!(nearest("timestmap", names()), " (did you mean timestamp?)");
        assert_eq!(nearest("qqq", names()), "");
    }
}
