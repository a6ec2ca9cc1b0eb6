//! `$match`: which rows are wanted.

use malla_queue::{Error, Result};
use regex::RegexBuilder;

use super::super::{Compare, Literal, Predicate, Type};
use super::dates::DateFormat;
use super::fields::nearest;
use super::json::{Json, quoted};
use super::shape::Shape;
use super::value::{content, literal};

/// Values in one `$in`.
const IN_MAX: usize = 1_000;
/// Values in every `$in` of a pipeline: each travels to the store.
const VALUES_MAX: usize = 1_500;
/// Conditions of a pipeline. Stores bound how many can be strung together.
const CONDITIONS_MAX: usize = 400;
/// For the same reason, long lists of conditions are made of short ones.
const STRUNG_MAX: usize = 100;
const REGEX_CHARS_MAX: usize = 4_096;
/// What a regular expression may take when it is compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;
const REGEX_DEPTH_MAX: u32 = 50;

const TOGETHER: [&str; 3] = ["$and", "$or", "$nor"];
const OPERATORS: [&str; 12] =
    ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$regex", "$options", "$not"];

pub(super) struct Conditions<'a> {
    dates: &'a DateFormat,
    conditions: usize,
    values: usize,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(dates: &'a DateFormat) -> Self {
        Self { dates, conditions: 0, values: 0 }
    }

    /// All that an object asks for.
    pub(super) fn read(&mut self, shape: &mut Shape, json: &Json) -> Result<Predicate> {
        let Json::Object(pairs) = json else {
            return Err(Error::Invalid(format!("it takes an object of fields and what is wanted of them, not {json}")));
        };
        let mut all = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            all.push(match key.as_str() {
                "$and" => Predicate::All(self.list(shape, key, value)?),
                "$or" => Predicate::Any(self.list(shape, key, value)?),
                "$nor" => not(Predicate::Any(self.list(shape, key, value)?))?,
                unknown if unknown.starts_with('$') => {
                    let hint = nearest(unknown, TOGETHER.into_iter());
                    return Err(Error::Invalid(format!(
                        "{} is not known{hint}; beside fields there are {}",
                        quoted(unknown),
                        TOGETHER.join(", ")
                    )));
                }
                field => self.field(shape, field, value)?,
            });
        }
        Ok(together(all))
    }

    fn list(&mut self, shape: &mut Shape, key: &str, json: &Json) -> Result<Vec<Predicate>> {
        match json {
            Json::List(items) if !items.is_empty() => items.iter().map(|item| self.read(shape, item)).collect(),
            _ => Err(Error::Invalid(format!("{key} takes a list of objects, not {json}"))),
        }
    }

    fn field(&mut self, shape: &mut Shape, name: &str, json: &Json) -> Result<Predicate> {
        let operators = match json {
            Json::Object(pairs) if !is_date(json) => pairs.as_slice(),
            value => return self.equals(shape, name, value),
        };
        if operators.is_empty() || !json.is_operator() {
            return Err(Error::Invalid(format!(
                "{name} cannot be compared with {json}: compare the parts of an object by names like {name}.part"
            )));
        }
        let is_missing = !shape.is_source() && shape.find(name).is_none();
        if is_missing && matches!(operators, [(key, Json::Flag(false))] if key == "$exists") {
            return Ok(Predicate::All(Vec::new()));
        }
        let column = shape.must_find_one(name)?;
        let mut asked = Asked { name, column, kind: shape.kind(column), conditions: self };
        asked.operators(operators)
    }

    fn equals(&mut self, shape: &mut Shape, name: &str, value: &Json) -> Result<Predicate> {
        let column = shape.must_find_one(name)?;
        let mut asked = Asked { name, column, kind: shape.kind(column), conditions: self };
        asked.compare(Compare::Eq, value)
    }

    /// Counts a condition with so many values, and refuses what is too much.
    fn spend(&mut self, values: usize) -> Result<()> {
        self.conditions += 1;
        self.values += values;
        if self.conditions > CONDITIONS_MAX {
            return Err(Error::Invalid(format!("the pipeline has too many conditions: at most {CONDITIONS_MAX}")));
        }
        if self.values > VALUES_MAX {
            return Err(Error::Invalid(format!("the pipeline has too many values in $in: at most {VALUES_MAX}")));
        }
        Ok(())
    }
}

/// A field that something is asked of.
struct Asked<'a, 'b> {
    name: &'a str,
    column: usize,
    kind: Type,
    conditions: &'a mut Conditions<'b>,
}

impl Asked<'_, '_> {
    fn operators(&mut self, operators: &[(String, Json)]) -> Result<Predicate> {
        let options = operators.iter().find(|(key, _)| key == "$options").map(|(_, options)| options);
        let mut all = Vec::with_capacity(operators.len());
        for (key, value) in operators {
            all.push(match key.as_str() {
                "$eq" => self.compare(Compare::Eq, value)?,
                "$ne" => self.compare(Compare::Ne, value)?,
                "$gt" => self.compare(Compare::Gt, value)?,
                "$gte" => self.compare(Compare::Gte, value)?,
                "$lt" => self.compare(Compare::Lt, value)?,
                "$lte" => self.compare(Compare::Lte, value)?,
                "$in" => self.is_in(key, value)?,
                "$nin" => not(self.is_in(key, value)?)?,
                "$exists" => self.exists(value)?,
                "$regex" => self.matches(value, options)?,
                "$options" if operators.iter().any(|(key, _)| key == "$regex") => continue,
                "$options" => return Err(self.refuse("$options goes with $regex")),
                "$not" => match value {
                    Json::Object(inner) if value.is_operator() => not(self.operators(inner)?)?,
                    _ => return Err(self.refuse(&format!("$not takes an object like {{\"$gt\": 5}}, not {value}"))),
                },
                unknown => {
                    let hint = nearest(unknown, OPERATORS.into_iter());
                    let known = OPERATORS.join(", ");
                    return Err(self.refuse(&format!("{} is not known{hint}; there are {known}", quoted(unknown))));
                }
            });
        }
        Ok(together(all))
    }

    fn compare(&mut self, compare: Compare, json: &Json) -> Result<Predicate> {
        self.conditions.spend(0)?;
        self.is(compare, json)
    }

    fn is(&self, compare: Compare, json: &Json) -> Result<Predicate> {
        let value = literal(self.name, self.kind, json, self.conditions.dates)?;
        let is_equality = matches!(compare, Compare::Eq | Compare::Ne);
        match (self.kind, &value) {
            (Type::Content, _) => return Err(content(self.name)),
            (Type::Flag | Type::Tags, _) if !is_equality => {
                return Err(self.refuse("it can be compared with $eq, $ne, $in and $nin only"));
            }
            (_, Literal::Null) if !is_equality => return Err(self.refuse("nothing is larger or smaller than null")),
            _ => {}
        }
        let column = self.column;
        Ok(match value {
            // A flag is true or not there.
            Literal::Flag(flag) => Predicate::Exists { column, exists: flag == (compare == Compare::Eq) },
            value => Predicate::Is { column, compare, value },
        })
    }

    fn is_in(&mut self, key: &str, json: &Json) -> Result<Predicate> {
        let Json::List(items) = json else {
            return Err(self.refuse(&format!("{key} takes a list of values, not {json}")));
        };
        if items.len() > IN_MAX {
            return Err(self.refuse(&format!("{key} has {} values: at most {IN_MAX}", items.len())));
        }
        self.conditions.spend(items.len())?;
        if matches!(self.kind, Type::Flag | Type::Content) {
            let mut any: Vec<Predicate> = Vec::new();
            for item in items {
                let is = self.is(Compare::Eq, item)?;
                if !any.contains(&is) {
                    any.push(is);
                }
            }
            return Ok(Predicate::Any(any));
        }
        let value = |item| literal(self.name, self.kind, item, self.conditions.dates);
        Ok(Predicate::In { column: self.column, values: items.iter().map(value).collect::<Result<_>>()? })
    }

    fn exists(&mut self, json: &Json) -> Result<Predicate> {
        self.conditions.spend(0)?;
        let exists = match json {
            Json::Flag(exists) => *exists,
            Json::Whole(number @ (0 | 1)) => *number == 1,
            _ => return Err(self.refuse(&format!("$exists takes true or false, not {json}"))),
        };
        Ok(Predicate::Exists { column: self.column, exists })
    }

    fn matches(&mut self, json: &Json, options: Option<&Json>) -> Result<Predicate> {
        self.conditions.spend(0)?;
        match self.kind {
            Type::Text => {}
            Type::Content => return Err(content(self.name)),
            _ => return Err(self.refuse("$regex looks into text only")),
        }
        let (Json::Text(pattern), flags) = (json, flags(options)) else {
            return Err(self.refuse(&format!("$regex takes text, not {json}")));
        };
        let flags = flags.map_err(|why| self.refuse(&why))?;
        let length = pattern.chars().count();
        if length > REGEX_CHARS_MAX {
            return Err(self.refuse(&format!("$regex has {length} characters: at most {REGEX_CHARS_MAX}")));
        }
        let regex = if flags.is_empty() { pattern.clone() } else { format!("(?{flags}){pattern}") };
        check(&regex).map_err(|why| self.refuse(&format!("$regex {} {why}", quoted(pattern))))?;
        Ok(Predicate::Matches { column: self.column, regex })
    }

    fn refuse(&self, why: &str) -> Error {
        Error::Invalid(format!("{}: {why}", self.name))
    }
}

fn is_date(json: &Json) -> bool {
    matches!(json, Json::Object(pairs) if matches!(pairs.as_slice(), [(key, _)] if key == "$date"))
}

fn flags(options: Option<&Json>) -> Result<String, String> {
    match options {
        None => Ok(String::new()),
        Some(Json::Text(letters)) if letters.chars().all(|letter| "imsx".contains(letter)) => {
            // A flag that is there twice is no error to people, but one to the compiler.
            Ok("imsx".chars().filter(|letter| letters.contains(*letter)).collect())
        }
        Some(other) => Err(format!("$options takes letters of imsx, not {other}")),
    }
}

fn check(regex: &str) -> Result<(), String> {
    let built = RegexBuilder::new(regex).size_limit(REGEX_BYTES_MAX).nest_limit(REGEX_DEPTH_MAX).build();
    match built {
        Ok(_) => Ok(()),
        Err(regex::Error::CompiledTooBig(_)) => Err("is too large: repeat less".into()),
        Err(error) => {
            // The last line says what is wrong; those before point at it with spaces.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(format!("cannot be read: {why}"))
        }
    }
}

fn together(mut all: Vec<Predicate>) -> Predicate {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            Predicate::All(all)
        }
        None => Predicate::All(all),
    }
}

/// The rows that the predicate leaves out.
fn not(predicate: Predicate) -> Result<Predicate> {
    let each = |inner: Vec<Predicate>| inner.into_iter().map(not).collect::<Result<Vec<_>>>();
    Ok(match predicate {
        Predicate::All(inner) => Predicate::Any(each(inner)?),
        Predicate::Any(inner) => Predicate::All(each(inner)?),
        Predicate::Exists { column, exists } => Predicate::Exists { column, exists: !exists },
        Predicate::In { column, values } => {
            let differs = |value: &Literal| Predicate::Is { column, compare: Compare::Ne, value: value.clone() };
            let strung = |values: &[Literal]| together(values.iter().map(differs).collect());
            together(values.chunks(STRUNG_MAX).map(strung).collect())
        }
        Predicate::Is { column, compare, value } => {
            let is = |compare| Predicate::Is { column, compare, value };
            // What is not there is neither larger nor smaller, so it is among the others.
            let or_missing = |is| Predicate::Any(vec![is, Predicate::Exists { column, exists: false }]);
            match compare {
                Compare::Eq => is(Compare::Ne),
                Compare::Ne => is(Compare::Eq),
                Compare::Gt => or_missing(is(Compare::Lte)),
                Compare::Gte => or_missing(is(Compare::Lt)),
                Compare::Lt => or_missing(is(Compare::Gte)),
                Compare::Lte => or_missing(is(Compare::Gt)),
            }
        }
        Predicate::Matches { .. } => {
            return Err(Error::Invalid("$regex cannot be turned round with $not or $nor".into()));
        }
    })
}
