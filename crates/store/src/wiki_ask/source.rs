//! The tables that a question begins with: their fields, the conditions on them, and what is joined.
//!
//! Conditions on a page, a user or a tag are resolved to numbers by sub-selects, each on its own index. So a revision
//! is looked at only if it may be wanted, and names are read only to be shown.

use malla_queue::{Error, Result, Scope};
use malla_wiki::pipeline::{Collection, Compare, Field, Literal, Predicate, Type};

use super::dates::{DAY_MS, EPOCH_MS};
use super::dialect::{Dialect, day_of};
use super::operand::{Operand, Writer};
use super::predicates::{OfList, all, any, constant};
use super::relation::Col;

/// Tables beside the one that is asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Joins {
    pub(super) page: bool,
    pub(super) user: bool,
    pub(super) note: bool,
    pub(super) wiki: bool,
}

pub(super) struct Source {
    dialect: Dialect,
    pub(super) collection: Collection,
    /// Conditions on `wiki_page p` alone.
    pages: Vec<String>,
    /// Conditions on what is asked about and what is joined to it.
    rows: Vec<String>,
    /// What the conditions say about days, for the index on days.
    days: Vec<String>,
    joins: Joins,
    few_pages: bool,
    few_rows: bool,
    /// A tag is wanted.
    pub(super) by_tag: bool,
}

struct Condition {
    sql: String,
    /// It is about `p` alone.
    of_page: bool,
    /// An index finds the few that satisfy it.
    few: bool,
    day: Option<String>,
}

impl Joins {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            page: self.page || other.page,
            user: self.user || other.user,
            note: self.note || other.note,
            wiki: self.wiki || other.wiki,
        }
    }

    pub(super) fn any(self) -> bool {
        self != Self::default()
    }

    /// To be put after `wiki_revision r`, or after `wiki_page p`.
    pub(super) fn sql(self, collection: Collection) -> String {
        let wiki = match collection {
            Collection::Revisions => " LEFT JOIN wiki w ON w.id = r.wiki",
            Collection::Articles => " LEFT JOIN wiki w ON w.id = p.wiki",
        };
        let joins = [
            (self.page && collection == Collection::Revisions, " LEFT JOIN wiki_page p ON p.id = r.page"),
            (self.user, " LEFT JOIN wiki_user u ON u.id = r.editor"),
            (self.note, " LEFT JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid"),
            (self.wiki, wiki),
        ];
        joins.into_iter().filter(|(wanted, _)| *wanted).map(|(_, sql)| sql).collect()
    }
}

/// Whether it is the same for all revisions of a page. (The page's wiki and its language are, too.)
pub(super) fn is_of_page(field: Field) -> bool {
    use Field::{FirstExtraction, LastExtraction, LastRevision, Ns, PageId, Title};
    matches!(field, PageId | Title | Ns | FirstExtraction | LastExtraction | LastRevision)
}

impl Source {
    pub(super) fn new(writer: &mut Writer, scope: &Scope, collection: Collection) -> Result<Self> {
        let mut source = Self {
            dialect: writer.dialect,
            collection,
            pages: Vec::new(),
            rows: Vec::new(),
            days: Vec::new(),
            joins: Joins::default(),
            few_pages: false,
            few_rows: false,
            by_tag: false,
        };
        if let Scope::Groups(groups) = scope {
            let groups = groups.iter().map(|group| writer.whole(group.0)).collect::<Result<Vec<_>>>()?;
            let seen = if groups.is_empty() { constant(false) } else { format!("w.grp IN ({})", groups.join(", ")) };
            let condition = source.of_wiki(&seen);
            source.take(condition);
        }
        Ok(source)
    }

    /// Few revisions of few pages or users are left.
    pub(super) fn is_narrow(&self) -> bool {
        self.few_pages || self.few_rows
    }

    pub(super) fn from(&self, joins: Joins) -> String {
        let table = match self.collection {
            Collection::Revisions => "wiki_revision r",
            Collection::Articles => "wiki_page p",
        };
        format!("{table}{}", joins.and(self.joins).sql(self.collection))
    }

    pub(super) fn conditions(&self) -> String {
        let mut conditions = self.rows.clone();
        if self.collection == Collection::Articles {
            conditions.extend(self.pages.iter().cloned());
        } else if !self.pages.is_empty() {
            conditions.push(self.pages_are(&all(&self.pages), self.few_pages));
        }
        if !self.is_narrow() {
            conditions.extend(self.days.iter().cloned());
        }
        all(&conditions)
    }

    pub(super) fn filter(&mut self, writer: &mut Writer, columns: &[Col], predicate: &Predicate) -> Result<()> {
        if let Predicate::All(parts) = predicate {
            return parts.iter().try_for_each(|part| self.filter(writer, columns, part));
        }
        let condition = self.condition(writer, columns, predicate)?;
        self.take(condition);
        Ok(())
    }

    fn take(&mut self, condition: Condition) {
        if condition.of_page {
            self.pages.push(condition.sql);
            self.few_pages |= condition.few;
        } else {
            self.rows.push(condition.sql);
            self.few_rows |= condition.few;
        }
        self.days.extend(condition.day);
    }

    fn pages_are(&self, condition: &str, few: bool) -> String {
        let page = if few { "r.page".into() } else { self.dialect.apart("r.page") };
        format!("{page} IN (SELECT p.id FROM wiki_page p WHERE {condition})")
    }

    fn condition(&mut self, writer: &mut Writer, columns: &[Col], predicate: &Predicate) -> Result<Condition> {
        match predicate {
            Predicate::All(parts) => {
                let parts = self.each(writer, columns, parts)?;
                let few = parts.iter().any(|part| part.few);
                Ok(self.together(parts, all, few))
            }
            Predicate::Any(parts) => {
                let parts = self.each(writer, columns, parts)?;
                let few = !parts.is_empty() && parts.iter().all(|part| part.few);
                Ok(self.together(parts, any, few))
            }
            Predicate::Is { column, .. }
            | Predicate::In { column, .. }
            | Predicate::Exists { column, .. }
            | Predicate::Matches { column, .. } => self.leaf(writer, Col::nth(columns, *column)?, predicate),
        }
    }

    fn each(&mut self, writer: &mut Writer, columns: &[Col], parts: &[Predicate]) -> Result<Vec<Condition>> {
        parts.iter().map(|part| self.condition(writer, columns, part)).collect()
    }

    /// Conditions on pages become one, and stay one on pages if there are no others.
    fn together(&self, parts: Vec<Condition>, join: fn(&[String]) -> String, few: bool) -> Condition {
        let (pages, rows): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.of_page);
        let few_pages = !pages.is_empty() && pages.iter().all(|part| part.few);
        let pages: Vec<String> = pages.into_iter().map(|part| part.sql).collect();
        let mut rows: Vec<String> = rows.into_iter().map(|part| part.sql).collect();
        if rows.is_empty() && !pages.is_empty() {
            return Condition { sql: join(&pages), of_page: true, few, day: None };
        }
        match (pages.as_slice(), self.collection) {
            ([], _) => {}
            (pages, Collection::Articles) => rows.push(join(pages)),
            (pages, Collection::Revisions) => rows.push(self.pages_are(&join(pages), few_pages)),
        }
        Condition { sql: join(&rows), of_page: false, few, day: None }
    }

    fn leaf(&mut self, writer: &mut Writer, column: &Col, predicate: &Predicate) -> Result<Condition> {
        let few = !matches!(predicate, Predicate::Exists { .. } | Predicate::Is { compare: Compare::Ne, .. });
        match (column, self.collection) {
            (Col::Field(Field::Wiki), _) => {
                let holds = writer.holds(&Operand::new("w.id", Type::Whole), predicate)?;
                Ok(self.of_wiki(&holds))
            }
            (Col::Field(Field::Locale), _) => {
                let holds = writer.holds(&Operand::new("w.locale", Type::Text), predicate)?;
                Ok(self.of_wiki(&holds))
            }
            (Col::Field(Field::PageId), _) => {
                let holds = writer.holds(&Operand::new("p.pageid", Type::Whole), predicate)?;
                // The index on numbers begins with the wiki.
                let sql = format!("(p.wiki IN (SELECT w.id FROM wiki w) AND {holds})");
                Ok(Condition { sql: if few { sql } else { holds }, of_page: true, few, day: None })
            }
            (Col::Field(field) | Col::Part(_, field), _) if is_of_page(*field) => {
                let operand = self.operand(writer, column, &mut Joins::default())?;
                let few = few && *field == Field::Title;
                Ok(Condition { sql: writer.holds(&operand, predicate)?, of_page: true, few, day: None })
            }
            (Col::Field(Field::User), Collection::Revisions) => {
                Ok(Condition { sql: user(writer, predicate)?, of_page: false, few, day: None })
            }
            (Col::Field(Field::Tags), Collection::Revisions) => {
                self.by_tag |= few;
                Ok(Condition { sql: tag(writer, predicate)?, of_page: false, few, day: None })
            }
            (Col::Field(Field::RevId), Collection::Revisions) => {
                let holds = writer.holds(&Operand::new("r.revid", Type::Whole), predicate)?;
                let few = matches!(predicate, Predicate::In { .. } | Predicate::Is { compare: Compare::Eq, .. });
                let sql = if few { format!("(r.wiki IN (SELECT w.id FROM wiki w) AND {holds})") } else { holds };
                Ok(Condition { sql, of_page: false, few, day: None })
            }
            _ => {
                let mut joins = self.joins;
                let operand = self.operand(writer, column, &mut joins)?;
                self.joins = joins;
                let day = self.day(writer, column, predicate)?;
                Ok(Condition { sql: writer.holds(&operand, predicate)?, of_page: false, few: false, day })
            }
        }
    }

    /// A condition on the wiki `w`. SQLite finds a revision's page in every index, but not its wiki.
    fn of_wiki(&self, condition: &str) -> Condition {
        let of_page = self.collection == Collection::Articles || self.dialect == Dialect::Sqlite;
        let wiki = if of_page { "p.wiki" } else { "r.wiki" };
        let sql = format!("{wiki} IN (SELECT w.id FROM wiki w WHERE {condition})");
        Condition { sql, of_page, few: false, day: None }
    }

    fn day(&self, writer: &mut Writer, column: &Col, predicate: &Predicate) -> Result<Option<String>> {
        let (Col::Field(Field::Timestamp), Dialect::Sqlite) = (column, self.dialect) else { return Ok(None) };
        let Predicate::Is { compare, value: Literal::Date(at), .. } = predicate else { return Ok(None) };
        let operator = match compare {
            Compare::Eq => "=",
            Compare::Gt | Compare::Gte => ">=",
            Compare::Lt | Compare::Lte => "<=",
            Compare::Ne => return Ok(None),
        };
        let day = writer.bare(at.0.saturating_add(EPOCH_MS) / DAY_MS)?;
        Ok(Some(format!("{} {operator} {day}", day_of("r.at"))))
    }

    /// A column as it stands in the tables.
    pub(super) fn operand(&self, writer: &mut Writer, column: &Col, joins: &mut Joins) -> Result<Operand> {
        match column {
            Col::Field(field) => self.field(*field, joins),
            Col::Part(part, field) => {
                let date = self.field(*field, joins)?;
                Ok(Operand { sql: writer.dialect.part(*part, &date.sql), kind: part.kind(), ..date })
            }
            Col::Literal(literal) => writer.literal(literal),
            Col::Sql(operand) => Ok(operand.clone()),
        }
    }

    fn field(&self, field: Field, joins: &mut Joins) -> Result<Operand> {
        let revisions = self.collection == Collection::Revisions;
        let (sql, nullable) = match field {
            Field::PageId => ("p.pageid", false),
            Field::Title => ("p.title", false),
            Field::Ns => ("p.ns", false),
            Field::FirstExtraction => ("p.first_extraction", false),
            Field::LastExtraction => ("p.last_extraction", false),
            Field::LastRevision => ("p.newest_revid", true),
            Field::Locale => ("w.locale", false),
            Field::Wiki if revisions => ("r.wiki", false),
            Field::Wiki => ("p.wiki", false),
            _ if !revisions => return Err(Error::Invalid(format!("articles have no {field:?}"))),
            Field::RevId => ("r.revid", false),
            Field::ParentId => ("r.parentid", false),
            Field::User => ("u.name", true),
            Field::UserId => ("r.userid", true),
            Field::Timestamp => ("r.at", false),
            Field::Size => ("r.size", false),
            Field::ExtractionDate => ("r.extracted_at", false),
            Field::Minor => ("CAST(nullif(r.flags & 1, 0) AS BIGINT)", true),
            Field::Anon => ("CAST(nullif(r.flags & 2, 0) / 2 AS BIGINT)", true),
            Field::Sha1 => ("n.sha1", true),
            Field::Model => ("n.model", false),
            Field::Format => ("n.format", false),
            Field::Comment => ("n.comment", true),
            Field::ParsedComment => ("n.parsed_comment", true),
            Field::Tags => ("coalesce(n.tags, '[]')", false),
            Field::Text => (self.dialect.content(), true),
        };
        joins.page |= is_of_page(field) || field == Field::Text;
        joins.wiki |= field == Field::Locale;
        joins.user |= field == Field::User;
        joins.note |= sql.contains("n.") && !sql.starts_with("r.");
        Ok(Operand { sql: sql.into(), kind: field.kind(), nullable })
    }
}

/// Names are compared once each, not once a revision.
fn user(writer: &mut Writer, predicate: &Predicate) -> Result<String> {
    // Who is not hidden is nearly everybody: no use for an index.
    let there =
        matches!(predicate, Predicate::Exists { exists: true, .. } | Predicate::Is { compare: Compare::Ne, .. });
    let editor = if there { writer.dialect.apart("r.editor") } else { "r.editor".into() };
    let (editor, name) = (Operand::new(editor, Type::Whole).nullable(), Operand::new("u.name", Type::Text));
    let users = |holds: String| format!("(SELECT u.id FROM wiki_user u WHERE {holds})");
    match predicate {
        Predicate::Exists { .. } | Predicate::Is { value: Literal::Null, .. } => writer.holds(&editor, predicate),
        Predicate::Is { compare: Compare::Ne, column, value } => {
            let same = Predicate::Is { compare: Compare::Eq, column: *column, value: value.clone() };
            Ok(format!("(r.editor IS NULL OR r.editor NOT IN {})", users(writer.holds(&name, &same)?)))
        }
        Predicate::Is { compare: Compare::Eq, .. } => {
            Ok(format!("r.editor = {}", users(writer.holds(&name, predicate)?)))
        }
        Predicate::In { values, .. } if values.contains(&Literal::Null) => {
            Ok(format!("(r.editor IS NULL OR r.editor IN {})", users(writer.holds(&name, predicate)?)))
        }
        _ => Ok(format!("r.editor IN {}", users(writer.holds(&name, predicate)?))),
    }
}

/// A revision always has a list of tags, which may be empty.
fn tag(writer: &mut Writer, predicate: &Predicate) -> Result<String> {
    let tagged = |holds: String| format!("(SELECT t.wiki, t.revid FROM wiki_tag t WHERE {holds})");
    Ok(match writer.of_list(&Operand::new("t.tag", Type::Text), predicate)? {
        OfList::Always(holds) => constant(holds),
        OfList::Some(wanted) => format!("(r.wiki, r.revid) IN {}", tagged(wanted)),
        OfList::None(unwanted) => format!("(r.wiki, r.revid) NOT IN {}", tagged(unwanted)),
    })
}
