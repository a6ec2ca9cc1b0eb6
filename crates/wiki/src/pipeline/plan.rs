//! A pipeline that was checked: every name is resolved to a field of the collection or to a column of the stage before.

use malla_queue::UnixMs;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collection {
    Revisions,
    Articles,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Whole,
    /// With a fraction.
    Real,
    Text,
    Date,
    /// True, or not there.
    Flag,
    /// A list of words.
    Tags,
    /// A revision's text: it can be shown, not compared.
    Content,
}

/// A field of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    // Of both.
    PageId,
    Title,
    Ns,
    Locale,
    /// The wiki's number.
    Wiki,
    // Of articles.
    FirstExtraction,
    LastExtraction,
    LastRevision,
    // Of revisions.
    RevId,
    ParentId,
    User,
    UserId,
    Timestamp,
    Size,
    Sha1,
    Model,
    Format,
    Comment,
    ParsedComment,
    Tags,
    ExtractionDate,
    Minor,
    Anon,
    Text,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Flag(bool),
    Whole(i64),
    Real(f64),
    Text(String),
    Date(UnixMs),
}

/// A value made of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// The n-th column of the stage before (at first: of [`Plan::source`]).
    Column(usize),
    Literal(Literal),
    /// Of a date, as numbers in UTC.
    Year(usize),
    Month(usize),
    Day(usize),
    Hour(usize),
    /// Of a date: `2018-03-09`.
    DayText(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

/// Whether a row is wanted. A value that is not there (hidden, or a flag that is not set) equals null, differs from
/// everything else, and is neither larger nor smaller than anything. A list of words equals a word that is in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Is {
        column: usize,
        compare: Compare,
        value: Literal,
    },
    In {
        column: usize,
        values: Vec<Literal>,
    },
    Exists {
        column: usize,
        exists: bool,
    },
    /// A regular expression of the `regex` crate's syntax, checked, with its flags in front as `(?i)`.
    Matches {
        column: usize,
        regex: String,
    },
}

/// What a group of rows is combined to.
#[derive(Debug, Clone, PartialEq)]
pub enum Combine {
    /// How many rows, times this number.
    Count(i64),
    Sum(Expr),
    Avg(Expr),
    Min(Expr),
    Max(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    Match(Predicate),
    /// One row for each value of the keys (one in all if there is none): its columns are the keys, then what is combined.
    Group {
        keys: Vec<Expr>,
        combined: Vec<Combine>,
    },
    /// By these columns, the first counts most; true: descending. What is not there comes first, descending last.
    Sort(Vec<(usize, bool)>),
    Skip(u64),
    Limit(u64),
    /// The columns from now on.
    Project(Vec<Expr>),
    /// One row with one column: how many rows there are. No row at all if there are none.
    Count,
}

/// A column of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its place in the answered object: `["_id", "year"]`.
    pub path: Vec<String>,
    pub kind: Type,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub collection: Collection,
    /// The fields that the first stage sees as its columns: those that the pipeline uses, and no others.
    pub source: Vec<Field>,
    pub stages: Vec<Stage>,
    /// The columns of the answer, in the order of the last stage's.
    pub columns: Vec<Column>,
}

impl Field {
    pub fn kind(self) -> Type {
        match self {
            Self::PageId
            | Self::Ns
            | Self::Wiki
            | Self::LastRevision
            | Self::RevId
            | Self::ParentId
            | Self::UserId
            | Self::Size => Type::Whole,
            Self::Title
            | Self::Locale
            | Self::User
            | Self::Sha1
            | Self::Model
            | Self::Format
            | Self::Comment
            | Self::ParsedComment => Type::Text,
            Self::FirstExtraction | Self::LastExtraction | Self::Timestamp | Self::ExtractionDate => Type::Date,
            Self::Tags => Type::Tags,
            Self::Minor | Self::Anon => Type::Flag,
            Self::Text => Type::Content,
        }
    }
}
