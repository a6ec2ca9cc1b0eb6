//! Whether a value is wanted. What is not there equals null, differs from everything else, and is neither larger nor
//! smaller than anything. A value of another kind differs, and is neither larger nor smaller.

use malla_queue::{Error, Result};
use malla_wiki::pipeline::{Compare, Literal, Predicate, Type};

use super::dialect::Dialect;
use super::operand::{Operand, Writer};
use super::regexes;

/// What is asked of a list of words.
pub(super) enum OfList {
    /// The same for every list.
    Always(bool),
    /// A word of it satisfies this.
    Some(String),
    /// No word of it does.
    None(String),
}

/// What is left of a comparison once the kinds are known.
enum Fitted {
    To(Compare, Literal),
    /// The same for every value that is there.
    Present(bool),
}

impl Writer {
    /// A predicate on one value, other than `All` and `Any`.
    pub(super) fn holds(&mut self, on: &Operand, predicate: &Predicate) -> Result<String> {
        match predicate {
            Predicate::Exists { exists, .. } => Ok(self.is_there(on, *exists)),
            Predicate::Is { compare, value: Literal::Null, .. } => Ok(match compare {
                Compare::Eq | Compare::Gte | Compare::Lte => self.is_there(on, false),
                Compare::Ne => self.is_there(on, true),
                Compare::Gt | Compare::Lt => "FALSE".into(),
            }),
            _ if on.kind == Type::Tags => self.list_holds(on, predicate),
            Predicate::Is { compare, value, .. } => self.is(on, *compare, value),
            Predicate::In { values, .. } => self.is_among(on, values),
            Predicate::Matches { regex, .. } => self.matches(on, regex),
            Predicate::All(_) | Predicate::Any(_) => Err(Error::Internal("a predicate on several values".into())),
        }
    }

    fn is_there(&self, on: &Operand, there: bool) -> String {
        match (on.nullable, there) {
            (true, true) => format!("{} IS NOT NULL", on.sql),
            (true, false) => format!("{} IS NULL", on.sql),
            (false, there) => constant(there),
        }
    }

    fn is(&mut self, on: &Operand, compare: Compare, value: &Literal) -> Result<String> {
        let (compare, value) = match fit(on.kind, compare, value) {
            Fitted::To(compare, value) => (compare, value),
            Fitted::Present(_) if compare == Compare::Ne => return Ok(constant(true)),
            Fitted::Present(true) => return Ok(self.is_there(on, true)),
            Fitted::Present(false) => return Ok(constant(false)),
        };
        let operator = match compare {
            Compare::Eq => "=",
            Compare::Ne if on.nullable => "IS DISTINCT FROM",
            Compare::Ne => "<>",
            Compare::Gt => ">",
            Compare::Gte => ">=",
            Compare::Lt => "<",
            Compare::Lte => "<=",
        };
        let value = self.literal(&value)?;
        Ok(format!("{} {operator} {}", on.compared(self.dialect), value.sql))
    }

    fn is_among(&mut self, on: &Operand, values: &[Literal]) -> Result<String> {
        let mut list = Vec::new();
        for value in values {
            if let Fitted::To(_, value) = fit(on.kind, Compare::Eq, value) {
                list.push(self.literal(&value)?.sql);
            }
        }
        let among = match list.as_slice() {
            [] => constant(false),
            list => format!("{} IN ({})", on.compared(self.dialect), list.join(", ")),
        };
        let null = values.contains(&Literal::Null) && on.nullable;
        Ok(if null { format!("({among} OR {} IS NULL)", on.sql) } else { among })
    }

    fn matches(&mut self, on: &Operand, regex: &str) -> Result<String> {
        // Both stores refuse what one of them cannot do.
        let posix = regexes::for_postgres(regex)?;
        if on.kind != Type::Text {
            return Ok(constant(false));
        }
        let regex = match self.dialect {
            Dialect::Sqlite => self.text(regex)?,
            Dialect::Postgres => self.text(&posix)?,
        };
        Ok(self.dialect.matches(&on.sql, &regex))
    }

    fn list_holds(&mut self, on: &Operand, predicate: &Predicate) -> Result<String> {
        let words = self.dialect.words(&on.sql);
        Ok(match self.of_list(&Operand::new("j.value", Type::Text), predicate)? {
            OfList::Always(holds) => constant(holds),
            OfList::Some(wanted) => format!("EXISTS (SELECT 1 FROM {words} WHERE {wanted})"),
            OfList::None(unwanted) => format!("NOT EXISTS (SELECT 1 FROM {words} WHERE {unwanted})"),
        })
    }

    /// What a predicate asks of a list that is there, given one of its words.
    pub(super) fn of_list(&mut self, word: &Operand, predicate: &Predicate) -> Result<OfList> {
        Ok(match predicate {
            Predicate::Is { value: Literal::Null, .. } | Predicate::Exists { .. } => {
                OfList::Always(self.holds(word, predicate)? == constant(true))
            }
            Predicate::Is { compare: Compare::Ne, value, .. } => OfList::None(self.is(word, Compare::Eq, value)?),
            _ => OfList::Some(self.holds(word, predicate)?),
        })
    }
}

pub(super) fn constant(holds: bool) -> String {
    if holds { "TRUE".into() } else { "FALSE".into() }
}

/// All of these hold.
pub(super) fn all(conditions: &[String]) -> String {
    joined(conditions, " AND ", true)
}

/// One of these holds.
pub(super) fn any(conditions: &[String]) -> String {
    joined(conditions, " OR ", false)
}

fn joined(conditions: &[String], by: &str, none: bool) -> String {
    match conditions {
        [] => constant(none),
        [one] => one.clone(),
        several => format!("({})", several.join(by)),
    }
}

fn fit(kind: Type, compare: Compare, value: &Literal) -> Fitted {
    match (kind, value) {
        (Type::Whole, Literal::Real(value)) => fit_whole(compare, *value),
        (Type::Real, Literal::Whole(value)) => Fitted::To(compare, Literal::Real(*value as f64)),
        (Type::Whole, Literal::Whole(_))
        | (Type::Real, Literal::Real(_))
        | (Type::Text, Literal::Text(_))
        | (Type::Date, Literal::Date(_))
        | (Type::Flag, Literal::Flag(_)) => Fitted::To(compare, value.clone()),
        _ => Fitted::Present(compare == Compare::Ne),
    }
}

/// Compares whole numbers with one that may have a fraction, exactly.
fn fit_whole(compare: Compare, value: f64) -> Fitted {
    const END: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if value.is_nan() {
        return Fitted::Present(compare == Compare::Ne);
    }
    if value >= END {
        return Fitted::Present(matches!(compare, Compare::Ne | Compare::Lt | Compare::Lte));
    }
    if value < -END {
        return Fitted::Present(matches!(compare, Compare::Ne | Compare::Gt | Compare::Gte));
    }
    let below = Literal::Whole(value.floor() as i64);
    match compare {
        compare if value.fract() == 0.0 => Fitted::To(compare, below),
        Compare::Gt | Compare::Gte => Fitted::To(Compare::Gt, below),
        Compare::Lt | Compare::Lte => Fitted::To(Compare::Lte, below),
        Compare::Eq | Compare::Ne => Fitted::Present(compare == Compare::Ne),
    }
}
