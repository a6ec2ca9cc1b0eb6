//! Parameters that say which articles or revisions are meant.

use malla_queue::{Result, UnixMs};

use super::{DAY_MS, Pairs, bad, given};
use crate::pipeline::{Collection, Column, Compare, Expr, Field, Literal, Plan, Predicate, Stage, Type, dates};

const TAGS_MAX: usize = 20;

/// What is wanted, and the fields that it takes to tell.
pub(super) struct Filters {
    collection: Collection,
    source: Vec<Field>,
    all: Vec<Predicate>,
}

impl Filters {
    pub(super) fn none(collection: Collection) -> Self {
        Self { collection, source: Vec::new(), all: Vec::new() }
    }

    /// Every filter that is among the parameters.
    pub(super) fn of(collection: Collection, pairs: &Pairs) -> Result<Self> {
        let mut filters = Self::none(collection);
        if collection == Collection::Revisions {
            filters.size(pairs)?;
            filters.days(pairs)?;
            filters.tags(pairs)?;
            filters.take(Field::Ns, pairs)?;
        }
        for field in collection.document().iter().filter(|field| !matches!(field, Field::Size | Field::Tags)) {
            filters.take(*field, pairs)?;
        }
        Ok(filters)
    }

    pub(super) fn collection(&self) -> Collection {
        self.collection
    }

    /// Where a field is among those that are used.
    pub(super) fn column(&mut self, field: Field) -> usize {
        match self.source.iter().position(|known| *known == field) {
            Some(column) => column,
            None => {
                self.source.push(field);
                self.source.len() - 1
            }
        }
    }

    pub(super) fn equals(&mut self, field: Field, value: i64) {
        self.is(field, Compare::Eq, Literal::Whole(value));
    }

    pub(super) fn exists(&mut self, field: Field, exists: bool) {
        let column = self.column(field);
        self.all.push(Predicate::Exists { column, exists });
    }

    fn is(&mut self, field: Field, compare: Compare, value: Literal) {
        let column = self.column(field);
        self.all.push(Predicate::Is { column, compare, value });
    }

    /// The filter that is called like the field, if there is one.
    pub(super) fn take(&mut self, field: Field, pairs: &Pairs) -> Result<()> {
        let name = field.name();
        if field.kind() == Type::Flag {
            // A flag may be there without a value.
            let Some((_, text)) = pairs.iter().find(|(key, _)| key == name) else { return Ok(()) };
            self.exists(field, flag(name, text.trim())?);
            return Ok(());
        }
        let Some(text) = given(pairs, name) else { return Ok(()) };
        match field.kind() {
            Type::Whole => self.equals(field, whole(name, text)?),
            Type::Date => match dates::day(text) {
                Some(start) => self.between(field, start, start),
                None => {
                    let wanted = "a day like 2018-03-09 or a moment like 2018-03-09T12:00:00Z";
                    let at = dates::moment(text).ok_or_else(|| bad(name, text, wanted))?;
                    self.is(field, Compare::Eq, Literal::Date(at));
                }
            },
            Type::Content => return Err(bad(name, text, "a text, which can be shown, not compared: compare sha1")),
            // Titles are written with underscores in addresses, and never have one themselves.
            _ if field == Field::Title => self.is(field, Compare::Eq, Literal::Text(text.replace('_', " "))),
            _ => self.is(field, Compare::Eq, Literal::Text(text.to_owned())),
        }
        Ok(())
    }

    /// From the first moment of one day to the last one of another.
    fn between(&mut self, field: Field, first: UnixMs, last: UnixMs) {
        self.is(field, Compare::Gte, Literal::Date(first));
        self.is(field, Compare::Lt, Literal::Date(UnixMs(last.0 + DAY_MS)));
    }

    fn size(&mut self, pairs: &Pairs) -> Result<()> {
        let how = match given(pairs, "sizematch") {
            None => Compare::Eq,
            Some(text) => match whole("sizematch", text)? {
                0 => Compare::Eq,
                positive if positive > 0 => Compare::Gt,
                _ => Compare::Lt,
            },
        };
        if let Some(text) = given(pairs, "size") {
            let size = text.parse::<u32>().map_err(|_| bad("size", text, "a number of bytes"))?;
            self.is(Field::Size, how, Literal::Whole(size.into()));
        }
        Ok(())
    }

    fn days(&mut self, pairs: &Pairs) -> Result<()> {
        let of = |name| given(pairs, name).map(|text| day(name, text)).transpose();
        let (start, end) = (of("datestart")?, of("dateend")?);
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            let text = given(pairs, "dateend").unwrap_or_default();
            return Err(bad("dateend", text, "the same day as datestart or a later one"));
        }
        if let Some(date) = of("date")? {
            self.between(Field::Timestamp, date, date);
        }
        if let Some(start) = start {
            self.is(Field::Timestamp, Compare::Gte, Literal::Date(start));
        }
        if let Some(end) = end {
            self.is(Field::Timestamp, Compare::Lt, Literal::Date(UnixMs(end.0 + DAY_MS)));
        }
        Ok(())
    }

    /// Of several tags, all are wanted. A tag's name has no comma.
    fn tags(&mut self, pairs: &Pairs) -> Result<()> {
        for name in ["tag", "tags"] {
            let Some(text) = given(pairs, name) else { continue };
            let tags: Vec<&str> = text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
            if tags.len() > TAGS_MAX {
                return Err(bad(name, text, &format!("a list of at most {TAGS_MAX} tags")));
            }
            for tag in tags {
                self.is(Field::Tags, Compare::Eq, Literal::Text(tag.to_owned()));
            }
        }
        Ok(())
    }

    /// These stages over what is wanted.
    pub(super) fn plan(mut self, mut stages: Vec<Stage>, columns: Vec<Column>) -> Plan {
        let wanted = match self.all.len() {
            0 => None,
            1 => self.all.pop(),
            _ => Some(Predicate::All(self.all)),
        };
        stages.splice(0..0, wanted.map(Stage::Match));
        Plan { collection: self.collection, source: self.source, stages, columns }
    }

    /// The same, showing these fields in the end.
    pub(super) fn shown(mut self, mut stages: Vec<Stage>, fields: &[Field]) -> Plan {
        let places = fields.iter().map(|field| Expr::Column(self.column(*field))).collect();
        stages.push(Stage::Project(places));
        let columns = fields.iter().map(|field| Column { path: vec![field.name().to_owned()], kind: field.kind() });
        let columns = columns.collect();
        self.plan(stages, columns)
    }
}

/// The first moment of a day.
pub(super) fn day(name: &str, text: &str) -> Result<UnixMs> {
    dates::day(text).ok_or_else(|| bad(name, text, "a day like 2018-03-09"))
}

fn whole(name: &str, text: &str) -> Result<i64> {
    text.parse().map_err(|_| bad(name, text, "a whole number"))
}

fn flag(name: &str, text: &str) -> Result<bool> {
    match text {
        "" | "true" | "True" | "1" => Ok(true),
        "false" | "False" | "0" => Ok(false),
        _ => Err(bad(name, text, "true or false")),
    }
}
