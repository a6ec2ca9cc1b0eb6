//! Groups of rows.
//!
//! Revisions are grouped by numbers that their tables and indexes have (a page's, a user's, a day's), and only then by
//! what these numbers stand for (a title, a name, a month).

use malla_queue::Result;
use malla_wiki::pipeline::{Collection, Combine, Expr, Field, Literal, Type};

use super::dates::Part;
use super::dialect::{day_begins, day_of};
use super::operand::{Operand, Writer};
use super::predicates::all;
use super::relation::{Body, Col, Relation, list, plain};
use super::source::{Joins, Source, is_of_page};

/// How rows are combined to one value: each part over the rows, merged if groups are put together, then the value.
struct Combined {
    parts: Vec<Partial>,
    value: Wanted,
}

struct Partial {
    over_rows: String,
    /// The function that puts such parts together.
    merge: &'static str,
}

enum Wanted {
    Count(i64),
    Sum(Type),
    Avg(Type),
    Extreme(Type),
    /// The same for all groups.
    Fixed(Operand),
    /// What the group has only one of, or the least or largest if groups are put together.
    OfGroup(&'static str, Operand),
}

pub(super) fn group(rows: Relation, writer: &mut Writer, keys: &[Expr], combined: &[Combine]) -> Result<Relation> {
    let dialect = writer.dialect;
    let keys = keys.iter().map(|key| rows.column(dialect, key)).collect::<Result<Vec<_>>>()?;
    let mut of = Vec::new();
    for combine in combined {
        of.push(match combine {
            Combine::Count(_) => None,
            Combine::Sum(value) | Combine::Avg(value) | Combine::Min(value) | Combine::Max(value) => {
                Some(rows.column(dialect, value)?)
            }
        });
    }
    let (sql, operands) = match &rows.body {
        Body::Tables(source) => group_tables(writer, source, &keys, combined, &of)?,
        Body::Statement { sql, conditions } => {
            let from = format!("({sql}) s WHERE {}", all(conditions));
            group_statement(writer, &from, &keys, combined, &of)?
        }
    };
    rows.of_statement(sql, operands)
}

fn group_statement(
    writer: &mut Writer,
    from: &str,
    keys: &[Col],
    combined: &[Combine],
    of: &[Option<Col>],
) -> Result<(String, Vec<Operand>)> {
    let (mut groups, mut operands) = (Groups::default(), Vec::new());
    for key in keys {
        let operand = plain(writer, key)?;
        operands.push(if matches!(key, Col::Literal(_)) { operand } else { groups.key(operand) });
    }
    for (combine, of) in combined.iter().zip(of) {
        let of = of.as_ref().map(|column| plain(writer, column)).transpose()?;
        let how = Combined::of(writer, combine, of)?;
        let parts = groups.parts(&how, false);
        operands.push(how.value(writer, &parts, false)?);
    }
    Ok((format!("SELECT {} FROM ({}) g WHERE g.n > 0", list(&operands), groups.sql(from)), operands))
}

/// Groups by values that the rows have: the keys are `g.k0` and so on, parts of what is combined `g.a0` and so on, and
/// the number of rows `g.n`, which is 0 if there are no keys and no rows.
#[derive(Default)]
struct Groups {
    keys: Vec<String>,
    parts: Vec<String>,
}

impl Groups {
    /// The place of a value among the keys.
    fn place(&mut self, sql: String) -> usize {
        if let Some(place) = self.keys.iter().position(|key| *key == sql) {
            return place;
        }
        self.keys.push(sql);
        self.keys.len() - 1
    }

    fn key(&mut self, operand: Operand) -> Operand {
        let place = self.place(operand.sql);
        Operand { sql: format!("g.k{place}"), ..operand }
    }

    /// What the parts are called. `again`: groups are put together.
    fn parts(&mut self, how: &Combined, again: bool) -> Vec<String> {
        let mut names = Vec::new();
        for part in &how.parts {
            let name = format!("g.a{}", self.parts.len());
            names.push(if again { format!("{}({name})", part.merge) } else { name });
            self.parts.push(part.over_rows.clone());
        }
        names
    }

    fn sql(&self, from: &str) -> String {
        let keys = self.keys.iter().enumerate().map(|(number, key)| format!("{key} AS k{number}"));
        let parts = self.parts.iter().enumerate().map(|(number, part)| format!("{part} AS a{number}"));
        let columns: Vec<String> = keys.chain(parts).chain(["count(*) AS n".into()]).collect();
        let by: Vec<String> = (1..=self.keys.len()).map(|place| place.to_string()).collect();
        let by = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        format!("SELECT {} FROM {from}{by}", columns.join(", "))
    }
}

/// The keys that are not the same for all rows, by their place.
fn by(keys: &[Col]) -> Vec<String> {
    let varies = |(number, key): (usize, &Col)| (!matches!(key, Col::Literal(_))).then(|| (number + 1).to_string());
    keys.iter().enumerate().filter_map(varies).collect()
}

fn group_tables(
    writer: &mut Writer,
    source: &Source,
    keys: &[Col],
    combined: &[Combine],
    of: &[Option<Col>],
) -> Result<(String, Vec<Operand>)> {
    let mut numbers = Numbers::new(source.collection, keys);
    let mut operands = keys.iter().map(|key| numbers.key(writer, source, key)).collect::<Result<Vec<_>>>()?;
    let again = !numbers.tell_groups_apart(keys);
    for (combine, of) in combined.iter().zip(of) {
        let how = match (combine, of) {
            (Combine::Min(_), Some(Col::Field(field))) if numbers.by_page && is_of_page(*field) => {
                Combined::of_group("min", numbers.key(writer, source, &Col::Field(*field))?)
            }
            (Combine::Max(_), Some(Col::Field(field))) if numbers.by_page && is_of_page(*field) => {
                Combined::of_group("max", numbers.key(writer, source, &Col::Field(*field))?)
            }
            _ => {
                let operand = |column| source.operand(writer, column, &mut numbers.joins);
                let of = of.as_ref().map(operand).transpose()?;
                Combined::of(writer, combine, of)?
            }
        };
        let parts = numbers.groups.parts(&how, again);
        operands.push(how.value(writer, &parts, again)?);
    }
    let from = format!("{} WHERE {}", source.from(numbers.joins), source.conditions());
    let (inner, names) = (numbers.groups.sql(&from), numbers.names());
    let by = by(keys);
    let by = if again && !by.is_empty() { format!(" GROUP BY {}", by.join(", ")) } else { String::new() };
    Ok((format!("SELECT {} FROM ({inner}) g{names} WHERE g.n > 0{by}", list(&operands)), operands))
}

/// The numbers by which revisions are grouped at first, and the tables that say what they stand for.
struct Numbers {
    groups: Groups,
    /// Tables that the revisions are joined with before.
    joins: Joins,
    by_page: bool,
    /// All keys are parts of this date, none smaller than a day.
    by_day: Option<Field>,
    page: Option<usize>,
    wiki: Option<String>,
    editor: Option<usize>,
}

impl Numbers {
    fn new(collection: Collection, keys: &[Col]) -> Self {
        let revisions = collection == Collection::Revisions;
        let by_page = revisions && keys.iter().any(|key| matches!(key, Col::Field(field) if is_of_page(*field)));
        let mut dates = keys.iter().filter(|key| !matches!(key, Col::Literal(_)));
        let by_day = match dates.next() {
            Some(Col::Part(part, field)) if revisions && *part != Part::Hour => Some(*field),
            _ => None,
        };
        let same = |key: &Col| matches!(key, Col::Part(part, field) if *part != Part::Hour && Some(*field) == by_day);
        let by_day = by_day.filter(|field| dates.all(same) && !is_of_page(*field));
        let (groups, joins) = (Groups::default(), Joins::default());
        Self { groups, joins, by_page, by_day, page: None, wiki: None, editor: None }
    }

    fn page(&mut self) {
        self.page = Some(self.groups.place("r.page".into()));
    }

    /// The number of the wiki.
    fn wiki(&mut self) -> String {
        if self.by_page {
            self.page();
            return "p.wiki".into();
        }
        format!("g.k{}", self.groups.place("r.wiki".into()))
    }

    /// What a key is in the end.
    fn key(&mut self, writer: &mut Writer, source: &Source, key: &Col) -> Result<Operand> {
        let revisions = source.collection == Collection::Revisions;
        match key {
            Col::Literal(literal) => writer.literal(literal),
            Col::Field(field) if self.by_page && is_of_page(*field) => {
                self.page();
                source.operand(writer, key, &mut Joins::default())
            }
            Col::Field(Field::Wiki) if revisions => Ok(Operand::new(self.wiki(), Type::Whole)),
            Col::Field(Field::Locale) if revisions => {
                self.wiki = Some(self.wiki());
                source.operand(writer, key, &mut Joins::default())
            }
            Col::Field(Field::User) => {
                self.editor = Some(self.groups.place("r.editor".into()));
                source.operand(writer, key, &mut Joins::default())
            }
            Col::Part(part, field) if self.by_day == Some(*field) => {
                let date = source.operand(writer, &Col::Field(*field), &mut Joins::default())?;
                let day = self.groups.place(day_of(&date.sql));
                let begins = day_begins(&format!("g.k{day}"));
                Ok(Operand { sql: writer.dialect.part(*part, &begins), kind: part.kind(), ..date })
            }
            Col::Field(_) | Col::Part(..) | Col::Sql(_) => {
                let operand = source.operand(writer, key, &mut self.joins)?;
                Ok(self.groups.key(operand))
            }
        }
    }

    /// Whether no two of these groups have the same keys in the end.
    fn tell_groups_apart(&self, keys: &[Col]) -> bool {
        let has = |field: Field| keys.contains(&Col::Field(field));
        let has_part = |part: Part| keys.iter().any(|key| matches!(key, Col::Part(known, _) if *known == part));
        let by_wiki = self.groups.keys.iter().any(|key| key == "r.wiki");
        (!self.by_page || has(Field::PageId) && has(Field::Wiki))
            && (!by_wiki || has(Field::Wiki))
            && (self.by_day.is_none()
                || has_part(Part::DayText)
                || [Part::Year, Part::Month, Part::Day].into_iter().all(has_part))
    }

    /// The tables that say what the numbers stand for.
    fn names(&self) -> String {
        let page = self.page.map(|place| format!(" LEFT JOIN wiki_page p ON p.id = g.k{place}"));
        let wiki = self.wiki.as_ref().map(|wiki| format!(" LEFT JOIN wiki w ON w.id = {wiki}"));
        let user = self.editor.map(|place| format!(" LEFT JOIN wiki_user u ON u.id = g.k{place}"));
        [page, wiki, user].into_iter().flatten().collect()
    }
}

impl Combined {
    fn of(writer: &mut Writer, combine: &Combine, of: Option<Operand>) -> Result<Self> {
        let Some(of) = of else {
            let times = if let Combine::Count(times) = combine { *times } else { 1 };
            let count = Partial { over_rows: "count(*)".into(), merge: "sum" };
            return Ok(Self { parts: vec![count], value: Wanted::Count(times) });
        };
        let number = matches!(of.kind, Type::Whole | Type::Real);
        let sum = || Partial { over_rows: format!("sum({})", of.sql), merge: "sum" };
        let fixed = |operand| Self { parts: Vec::new(), value: Wanted::Fixed(operand) };
        let extreme = |name| {
            let over_rows = format!("{name}({})", of.compared(writer.dialect));
            Self { parts: vec![Partial { over_rows, merge: name }], value: Wanted::Extreme(of.kind) }
        };
        Ok(match combine {
            Combine::Sum(_) if number => Self { parts: vec![sum()], value: Wanted::Sum(of.kind) },
            Combine::Avg(_) if number => {
                let count = Partial { over_rows: format!("count({})", of.sql), merge: "sum" };
                Self { parts: vec![sum(), count], value: Wanted::Avg(of.kind) }
            }
            // What is not a number is left out of sums.
            Combine::Sum(_) | Combine::Count(_) => fixed(writer.literal(&Literal::Whole(0))?),
            Combine::Avg(_) => fixed(Operand::new("CAST(NULL AS DOUBLE PRECISION)", Type::Real).nullable()),
            Combine::Min(_) => extreme("min"),
            Combine::Max(_) => extreme("max"),
        })
    }

    fn of_group(name: &'static str, operand: Operand) -> Self {
        Self { parts: Vec::new(), value: Wanted::OfGroup(name, operand) }
    }

    /// The value, given what the parts are called. `again`: groups are put together.
    fn value(self, writer: &mut Writer, parts: &[String], again: bool) -> Result<Operand> {
        // PostgreSQL's sums are wider than what they add.
        let narrow = |sql: &str, kind| match kind {
            Type::Real => format!("CAST({sql} AS DOUBLE PRECISION)"),
            _ => format!("CAST({sql} AS BIGINT)"),
        };
        Ok(match self.value {
            Wanted::Count(1) => Operand::new(narrow(&parts[0], Type::Whole), Type::Whole),
            Wanted::Count(times) => {
                let times = writer.whole(times)?;
                Operand::new(format!("{} * {times}", narrow(&parts[0], Type::Whole)), Type::Whole)
            }
            Wanted::Sum(kind) => Operand::new(format!("coalesce({}, 0)", narrow(&parts[0], kind)), kind),
            Wanted::Avg(kind) => {
                let sum = narrow(&narrow(&parts[0], kind), Type::Real);
                let sql = format!("{sum} / nullif({}, 0)", narrow(&parts[1], Type::Whole));
                Operand::new(sql, Type::Real).nullable()
            }
            Wanted::Extreme(kind) => {
                let merged = Operand::new(parts[0].clone(), kind).nullable();
                Operand { sql: merged.compared(writer.dialect), ..merged }
            }
            Wanted::Fixed(operand) => operand,
            Wanted::OfGroup(name, operand) if again => {
                Operand { sql: format!("{name}({})", operand.compared(writer.dialect)), ..operand }
            }
            Wanted::OfGroup(_, operand) => operand,
        })
    }
}
