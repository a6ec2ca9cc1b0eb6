//! A statement in the making: its parameters, and the values that it speaks of.

use malla_queue::{Error, Result};
use malla_wiki::pipeline::{Literal, Type};

use super::dialect::Dialect;

/// Parameters of a statement: far more than a person writes, and less than a store allows.
const PARAMS_MAX: usize = 2_000;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Param {
    Whole(i64),
    Real(f64),
    Text(String),
}

/// A value of a row in SQL. Dates are milliseconds, flags 1 or NULL, lists JSON, contents three words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operand {
    pub(super) sql: String,
    pub(super) kind: Type,
    pub(super) nullable: bool,
}

impl Operand {
    pub(super) fn new(sql: impl Into<String>, kind: Type) -> Self {
        Self { sql: sql.into(), kind, nullable: false }
    }

    pub(super) fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// As a term of `ORDER BY`. What is not there comes first, descending last.
    pub(super) fn ordered(&self, dialect: Dialect, descending: bool) -> String {
        let sql = self.compared(dialect);
        let direction = if descending { " DESC" } else { "" };
        let nulls = match (dialect, self.nullable, descending) {
            (Dialect::Postgres, true, false) => " NULLS FIRST",
            (Dialect::Postgres, true, true) => " NULLS LAST",
            _ => "",
        };
        format!("{sql}{direction}{nulls}")
    }

    /// As it is compared.
    pub(super) fn compared(&self, dialect: Dialect) -> String {
        match self.kind {
            Type::Text | Type::Tags | Type::Content => dialect.text(&self.sql),
            Type::Whole | Type::Real | Type::Date | Type::Flag => self.sql.clone(),
        }
    }
}

pub(super) struct Writer {
    pub(super) dialect: Dialect,
    params: Vec<Param>,
}

impl Writer {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, params: Vec::new() }
    }

    pub(super) fn into_params(self) -> Vec<Param> {
        self.params
    }

    pub(super) fn whole(&mut self, value: i64) -> Result<String> {
        self.bind(Param::Whole(value), "BIGINT")
    }

    /// A number without a type. SQLite compares only such with an expression by its index.
    pub(super) fn bare(&mut self, value: i64) -> Result<String> {
        self.whole(value)?;
        Ok(self.dialect.mark(self.params.len()))
    }

    /// A number of rows.
    pub(super) fn rows(&mut self, rows: u64) -> Result<String> {
        self.whole(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    pub(super) fn text(&mut self, value: &str) -> Result<String> {
        if value.contains('\0') {
            return Err(Error::Invalid(
                "a text in the question has the character U+0000: no text of a wiki has".into(),
            ));
        }
        self.bind(Param::Text(value.to_owned()), "TEXT")
    }

    pub(super) fn literal(&mut self, value: &Literal) -> Result<Operand> {
        Ok(match value {
            Literal::Null => Operand::new("CAST(NULL AS TEXT)", Type::Text).nullable(),
            Literal::Flag(flag) => Operand::new(self.whole(i64::from(*flag))?, Type::Flag),
            Literal::Whole(value) => Operand::new(self.whole(*value)?, Type::Whole),
            Literal::Real(value) => Operand::new(self.bind(Param::Real(*value), "DOUBLE PRECISION")?, Type::Real),
            Literal::Text(value) => Operand::new(self.text(value)?, Type::Text),
            Literal::Date(at) => Operand::new(self.whole(at.0)?, Type::Date),
        })
    }

    fn bind(&mut self, param: Param, name: &str) -> Result<String> {
        if self.params.len() >= PARAMS_MAX {
            return Err(Error::Invalid(format!("the question has more than {PARAMS_MAX} values: ask in parts")));
        }
        self.params.push(param);
        Ok(format!("CAST({} AS {name})", self.dialect.mark(self.params.len())))
    }
}
