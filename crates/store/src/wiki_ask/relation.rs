//! What the stages so far give: rows of the tables, or of the statement so far.

use malla_queue::{Error, Result, Scope};
use malla_wiki::pipeline::{Collection, Expr, Field, Literal, Plan, Predicate, Stage, Type};

use super::dates::Part;
use super::dialect::{Dialect, day_of};
use super::grouping;
use super::operand::{Operand, Writer};
use super::predicates::{all, any};
use super::source::{Joins, Source};

/// Statements inside each other.
const DEPTH_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Col {
    /// Of the tables.
    Field(Field),
    Part(Part, Field),
    Literal(Literal),
    /// Of the statement so far.
    Sql(Operand),
}

pub(super) enum Body {
    Tables(Source),
    Statement { sql: String, conditions: Vec<String> },
}

pub(super) struct Relation {
    pub(super) body: Body,
    columns: Vec<Col>,
    order: Vec<(Col, bool)>,
    skip: u64,
    limit: Option<u64>,
    depth: usize,
}

impl Col {
    pub(super) fn nth(columns: &[Self], number: usize) -> Result<&Self> {
        columns
            .get(number)
            .ok_or_else(|| Error::Internal(format!("a plan speaks of column {number} of {}", columns.len())))
    }

    fn part(&self, dialect: Dialect, part: Part) -> Self {
        match self {
            Self::Field(field) if field.kind() == Type::Date => Self::Part(part, *field),
            Self::Literal(Literal::Date(at)) => Self::Literal(part.of(*at)),
            Self::Sql(date) if date.kind == Type::Date => {
                Self::Sql(Operand { sql: dialect.part(part, &date.sql), kind: part.kind(), ..date.clone() })
            }
            _ => Self::Literal(Literal::Null),
        }
    }
}

impl Relation {
    pub(super) fn of(writer: &mut Writer, scope: &Scope, plan: &Plan) -> Result<Self> {
        let body = Body::Tables(Source::new(writer, scope, plan.collection)?);
        let columns = plan.source.iter().copied().map(Col::Field).collect();
        Ok(Self { body, columns, order: Vec::new(), skip: 0, limit: None, depth: 0 })
    }

    /// Rows of a statement whose columns are named `c0`, `c1`, and so on.
    pub(super) fn of_statement(self, sql: String, columns: Vec<Operand>) -> Result<Self> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX {
            return Err(Error::Invalid(format!(
                "more than {DEPTH_MAX} stages that depend on each other: ask in parts"
            )));
        }
        let named = |(number, column): (usize, Operand)| Col::Sql(Operand { sql: format!("s.c{number}"), ..column });
        let columns = columns.into_iter().enumerate().map(named).collect();
        let body = Body::Statement { sql, conditions: Vec::new() };
        Ok(Self { body, columns, order: Vec::new(), skip: 0, limit: None, depth })
    }

    pub(super) fn then(self, writer: &mut Writer, stage: &Stage) -> Result<Self> {
        match stage {
            Stage::Match(predicate) => self.settled(writer)?.filtered(writer, predicate),
            Stage::Sort(by) => {
                let sorted = self.settled(writer)?;
                let order = by.iter().map(|(column, down)| Ok((Col::nth(&sorted.columns, *column)?.clone(), *down)));
                Ok(Self { order: order.collect::<Result<_>>()?, ..sorted })
            }
            Stage::Skip(rows) => Ok(Self {
                skip: self.skip.saturating_add(*rows),
                limit: self.limit.map(|limit| limit.saturating_sub(*rows)),
                ..self
            }),
            Stage::Limit(rows) => Ok(Self { limit: Some(self.limit.map_or(*rows, |limit| limit.min(*rows))), ..self }),
            Stage::Project(values) => {
                let columns = values.iter().map(|value| self.column(writer.dialect, value)).collect::<Result<_>>()?;
                Ok(Self { columns, ..self })
            }
            Stage::Group { keys, combined } => {
                let rows = self.settled(writer)?;
                grouping::group(rows, writer, keys, combined)
            }
            Stage::Count => self.counted(writer),
        }
    }

    /// A value made of the columns so far.
    pub(super) fn column(&self, dialect: Dialect, value: &Expr) -> Result<Col> {
        let part = |column: &usize, part| Ok(Col::nth(&self.columns, *column)?.part(dialect, part));
        match value {
            Expr::Column(column) => Col::nth(&self.columns, *column).cloned(),
            Expr::Literal(literal) => Ok(Col::Literal(literal.clone())),
            Expr::Year(column) => part(column, Part::Year),
            Expr::Month(column) => part(column, Part::Month),
            Expr::Day(column) => part(column, Part::Day),
            Expr::Hour(column) => part(column, Part::Hour),
            Expr::DayText(column) => part(column, Part::DayText),
        }
    }

    /// After rows were skipped or cut off, what comes next is asked of the statement so far, in its order.
    fn settled(self, writer: &mut Writer) -> Result<Self> {
        if self.skip == 0 && self.limit.is_none() {
            return Ok(self);
        }
        let order = self.full_order();
        let columns: Vec<Col> = self.columns.iter().chain(order.iter().map(|(column, _)| column)).cloned().collect();
        let shown = self.columns.len();
        let (sql, operands) = self.select(writer, &columns, self.limit)?;
        let mut next = self.of_statement(sql, operands)?;
        let carried = next.columns.split_off(shown);
        next.order = carried.into_iter().zip(order).map(|(column, (_, down))| (column, down)).collect();
        Ok(next)
    }

    fn filtered(mut self, writer: &mut Writer, predicate: &Predicate) -> Result<Self> {
        match &mut self.body {
            Body::Tables(source) => source.filter(writer, &self.columns, predicate)?,
            Body::Statement { conditions, .. } => conditions.push(condition(writer, &self.columns, predicate)?),
        }
        Ok(self)
    }

    fn counted(self, writer: &mut Writer) -> Result<Self> {
        let unsorted = Self { columns: Vec::new(), order: Vec::new(), ..self }.settled(writer)?;
        let sql = match &unsorted.body {
            Body::Tables(source) => {
                format!("SELECT count(*) AS c0 FROM {} WHERE {}", source.from(Joins::default()), source.conditions())
            }
            Body::Statement { sql, conditions } => {
                format!("SELECT count(*) AS c0 FROM ({sql}) s WHERE {}", all(conditions))
            }
        };
        let mut counted = unsorted.of_statement(sql, vec![Operand::new("count(*)", Type::Whole)])?;
        if let Body::Statement { conditions, .. } = &mut counted.body {
            conditions.push("s.c0 > 0".into());
        }
        Ok(counted)
    }

    /// The whole statement, with at most so many rows, and what its columns are.
    pub(super) fn answer(self, writer: &mut Writer, most: u64) -> Result<(String, Vec<Type>)> {
        let limit = self.limit.map_or(most, |limit| limit.min(most));
        let (sql, operands) = self.select(writer, &self.columns, Some(limit))?;
        Ok((sql, operands.into_iter().map(|operand| operand.kind).collect()))
    }

    /// The wanted order and what tells the rest apart: a page of a list goes on where the one before ended.
    fn full_order(&self) -> Vec<(Col, bool)> {
        let mut order = self.order.clone();
        let Some(down) = order.last().map(|(_, down)| *down) else { return order };
        let rest = match &self.body {
            Body::Tables(source) if source.collection == Collection::Revisions => {
                vec![Col::Field(Field::RevId), Col::Field(Field::Wiki)]
            }
            Body::Tables(_) => vec![Col::Field(Field::PageId), Col::Field(Field::Wiki)],
            Body::Statement { .. } => self.columns.clone(),
        };
        for column in rest {
            if !order.iter().any(|(known, _)| *known == column) && !matches!(column, Col::Literal(_)) {
                order.push((column, down));
            }
        }
        order
    }

    fn select(&self, writer: &mut Writer, columns: &[Col], limit: Option<u64>) -> Result<(String, Vec<Operand>)> {
        match &self.body {
            Body::Tables(source) => self.select_from_tables(writer, source, columns, limit),
            Body::Statement { sql, conditions } => {
                let operands = columns.iter().map(|column| plain(writer, column)).collect::<Result<Vec<_>>>()?;
                let mut order = Vec::new();
                for (column, down) in self.full_order() {
                    order.push(plain(writer, &column)?.ordered(writer.dialect, down));
                }
                let (shown, window) = (list(&operands), self.window(writer, limit)?);
                let sql =
                    format!("SELECT {shown} FROM ({sql}) s WHERE {}{}{window}", all(conditions), order_by(&order));
                Ok((sql, operands))
            }
        }
    }

    fn select_from_tables(
        &self,
        writer: &mut Writer,
        source: &Source,
        columns: &[Col],
        limit: Option<u64>,
    ) -> Result<(String, Vec<Operand>)> {
        let (mut shown, mut sorted) = (Joins::default(), Joins::default());
        let operands =
            columns.iter().map(|column| source.operand(writer, column, &mut shown)).collect::<Result<Vec<_>>>()?;
        let mut order = Vec::new();
        for (column, down) in self.full_order() {
            order.push(source.operand(writer, &column, &mut sorted)?.ordered(writer.dialect, down));
        }
        let (list, window, conditions) = (list(&operands), self.window(writer, limit)?, source.conditions());
        let first = self.found_in(source, writer.dialect, &order);
        let late = source.collection == Collection::Revisions && !order.is_empty() && shown.any();
        if !late {
            let from = source.from(shown.and(sorted));
            return Ok((format!("SELECT {list} FROM {from} WHERE {conditions}{}{window}", order_by(&first)), operands));
        }
        // Only the rows that are left are looked up in the other tables.
        let from = source.from(sorted);
        let keys = format!("SELECT r.page, r.at, r.revid FROM {from} WHERE {conditions}{}{window}", order_by(&first));
        let joins = shown.and(sorted).sql(source.collection);
        let sql = format!(
            "SELECT {list} FROM ({keys}) k JOIN wiki_revision r \
             ON r.page = k.page AND r.at = k.at AND r.revid = k.revid{joins}{}",
            order_by(&order)
        );
        Ok((sql, operands))
    }

    /// The order by which rows are found. Time goes with the days, for which SQLite has an index; one page or user has
    /// a better one. PostgreSQL would look for the few that have a tag by going back in time.
    fn found_in(&self, source: &Source, dialect: Dialect, order: &[String]) -> Vec<String> {
        let term = match (self.order.first(), dialect) {
            (Some((Col::Field(Field::Timestamp), _)), Dialect::Sqlite) if !source.is_narrow() => day_of("r.at"),
            (Some((Col::Field(Field::Timestamp), _)), Dialect::Postgres) if source.by_tag => "(r.at + 0)".into(),
            _ => return order.to_vec(),
        };
        let down = self.order.first().is_some_and(|(_, down)| *down);
        let term = if down { format!("{term} DESC") } else { term };
        [&[term], order].concat()
    }

    fn window(&self, writer: &mut Writer, limit: Option<u64>) -> Result<String> {
        let limit = match (limit, writer.dialect) {
            (Some(limit), _) => format!(" LIMIT {}", writer.rows(limit)?),
            (None, Dialect::Sqlite) if self.skip > 0 => " LIMIT -1".into(),
            (None, _) => String::new(),
        };
        Ok(if self.skip == 0 { limit } else { format!("{limit} OFFSET {}", writer.rows(self.skip)?) })
    }
}

/// A column of the statement so far.
pub(super) fn plain(writer: &mut Writer, column: &Col) -> Result<Operand> {
    match column {
        Col::Sql(operand) => Ok(operand.clone()),
        Col::Literal(literal) => writer.literal(literal),
        Col::Field(_) | Col::Part(..) => Err(Error::Internal("a field where there are no tables".into())),
    }
}

fn condition(writer: &mut Writer, columns: &[Col], predicate: &Predicate) -> Result<String> {
    let each = |writer: &mut Writer, parts: &[Predicate]| {
        parts.iter().map(|part| condition(writer, columns, part)).collect::<Result<Vec<_>>>()
    };
    match predicate {
        Predicate::All(parts) => Ok(all(&each(writer, parts)?)),
        Predicate::Any(parts) => Ok(any(&each(writer, parts)?)),
        Predicate::Is { column, .. }
        | Predicate::In { column, .. }
        | Predicate::Exists { column, .. }
        | Predicate::Matches { column, .. } => {
            let operand = plain(writer, Col::nth(columns, *column)?)?;
            writer.holds(&operand, predicate)
        }
    }
}

/// What is selected, as `c0` and so on.
pub(super) fn list(operands: &[Operand]) -> String {
    let named = |(number, operand): (usize, &Operand)| format!("{} AS c{number}", operand.sql);
    match operands {
        [] => "1 AS none".into(),
        some => some.iter().enumerate().map(named).collect::<Vec<_>>().join(", "),
    }
}

fn order_by(terms: &[String]) -> String {
    if terms.is_empty() { String::new() } else { format!(" ORDER BY {}", terms.join(", ")) }
}
