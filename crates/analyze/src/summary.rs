//! A summary of any CSV: of each column how many values it has, the least and greatest, the mean if they are numbers,
//! and how many distinct ones.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::analysis::{Analysis, Batch, Input, Part, Partial, Rejected, Role};
use crate::csv::{Table, text};
use crate::lines::Lines;
use crate::number::{ONE, millionths};
use crate::wire::{Damaged, Reader, Writer};

/// Columns at most; of each, the smallest of so many hashes are kept.
const COLUMNS_MAX: usize = 64;
const HASHES_MAX: usize = 1_024;
/// Characters of the least and the greatest text.
const CHARS_MAX: usize = 100;

pub struct CsvSummary;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    pub bad_lines_max: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { bad_lines_max: 0.01 }
    }
}

impl Analysis for CsvSummary {
    const KIND: &'static str = "csv-summary";
    const INPUTS: &'static [Input] = &[Input { name: "rows", role: Role::Records, columns: &[] }];
    const ANSWERS: &'static [&'static str] = &["columns"];
    type Params = Params;
    type Dimensions = ();
    type Partial = Summary;

    fn check(params: &Params) -> Result<(), String> {
        let share = (0.0..=1.0).contains(&params.bad_lines_max);
        if share { Ok(()) } else { Err("bad_lines_max must lie between 0 and 1".into()) }
    }

    fn bad_lines_max(params: &Params) -> f64 {
        params.bad_lines_max
    }

    fn dimensions(_: &Params, _: &str, _: &[Batch<'_>]) -> Result<(), Rejected> {
        Ok(())
    }

    fn map(_: &Params, _: &str, (): &(), batch: Batch<'_>) -> Result<Summary, Rejected> {
        let wrong = |why| Rejected::Batch { batch: batch.name.to_owned(), why };
        let table = Table::new(batch.bytes).map_err(wrong)?;
        let mut names = table.columns().map_err(wrong)?;
        names.truncate(COLUMNS_MAX);
        let mut columns = vec![Column::default(); names.len()];
        let mut lines = Lines::default();
        table.each_record(names.len(), |line, fields, record| {
            let Some(fields) = fields else { return lines.spoilt(batch.name, line, "it has too few fields", record) };
            lines.read += 1;
            columns.iter_mut().zip(fields).for_each(|(column, field)| column.add(field.trim_ascii()));
        });
        let mut summary = Summary { columns: BTreeMap::new(), lines };
        for (name, column) in names.into_iter().zip(columns) {
            summary.columns.entry(name).or_default().merge(column);
        }
        Ok(summary)
    }

    fn finish(_: &Params, parts: &[Part<'_, Self>]) -> Vec<Value> {
        let mut all = BTreeMap::new();
        for (name, column) in parts.iter().flat_map(|part| &part.partial.columns) {
            all.entry(name).or_insert_with(Column::default).merge(column.clone());
        }
        let columns: Vec<Value> = all.into_iter().map(|(name, column)| column.told(name)).collect();
        vec![json!({ "columns": columns })]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    columns: BTreeMap<String, Column>,
    lines: Lines,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Column {
    values: u64,
    numbers: u64,
    /// Of the numbers, in millionths.
    sum: i128,
    range: Option<(i64, i64)>,
    texts: Option<(Vec<u8>, Vec<u8>)>,
    /// The smallest, all of them while there are few.
    hashes: BTreeSet<u64>,
}

impl Column {
    fn add(&mut self, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        self.values += 1;
        self.hash(hash(value));
        if let Some(number) = millionths(value) {
            self.numbers += 1;
            self.sum += i128::from(number);
            self.range =
                Some(self.range.map_or((number, number), |(least, most)| (least.min(number), most.max(number))));
        }
        let short = &value[..value.len().min(CHARS_MAX)];
        match &mut self.texts {
            None => self.texts = Some((short.to_vec(), short.to_vec())),
            Some((least, most)) => {
                if short < least.as_slice() {
                    *least = short.to_vec();
                }
                if short > most.as_slice() {
                    *most = short.to_vec();
                }
            }
        }
    }

    fn hash(&mut self, hash: u64) {
        if self.hashes.len() < HASHES_MAX || self.hashes.last().is_some_and(|last| hash < *last) {
            self.hashes.insert(hash);
            if self.hashes.len() > HASHES_MAX {
                self.hashes.pop_last();
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.values += other.values;
        self.numbers += other.numbers;
        self.sum += other.sum;
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (ours, theirs) => ours.or(theirs),
        };
        self.texts = match (self.texts.take(), other.texts) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (ours, theirs) => ours.or(theirs),
        };
        other.hashes.into_iter().for_each(|hash| self.hash(hash));
    }

    /// Numbers if all values are; else texts.
    fn told(&self, name: &str) -> Value {
        let numeric = self.numbers == self.values;
        let number = |millionths: i64| millionths as f64 / ONE as f64;
        let (min, max) = match (&self.range, &self.texts) {
            (Some((min, max)), _) if numeric => (json!(number(*min)), json!(number(*max))),
            (_, Some((min, max))) => (json!(text(min)), json!(text(max))),
            _ => (Value::Null, Value::Null),
        };
        let mean = (numeric && self.numbers > 0).then(|| self.sum as f64 / self.numbers as f64 / ONE as f64);
        let (distinct, exact) = self.distinct();
        json!({ "name": name, "count": self.values, "min": min, "max": max, "mean": mean,
                "distinct": distinct, "distinct_exact": exact })
    }

    /// Exact while there are few; else from how closely the smallest hashes lie together, some 3 % off.
    fn distinct(&self) -> (u64, bool) {
        match self.hashes.last() {
            Some(last) if self.hashes.len() == HASHES_MAX => {
                (((HASHES_MAX - 1) as f64 / (*last as f64 / u64::MAX as f64)).round() as u64, false)
            }
            _ => (self.hashes.len() as u64, true),
        }
    }
}

/// FNV-1a with a last stir: the same on every machine and for ever.
fn hash(value: &[u8]) -> u64 {
    let mut hash = value
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    for shift in [33, 29, 32] {
        hash = (hash ^ (hash >> shift)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
    hash
}

impl Partial for Summary {
    fn merge(&mut self, other: Self) {
        for (name, column) in other.columns {
            self.columns.entry(name).or_default().merge(column);
        }
        // The first by name, whatever the order in which they come.
        while self.columns.len() > COLUMNS_MAX {
            self.columns.pop_last();
        }
        self.lines.merge(other.lines);
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.lines.write(&mut writer);
        writer.number(self.columns.len() as u64);
        for (name, column) in &self.columns {
            writer.bytes(name.as_bytes());
            writer.number(column.values);
            writer.number(column.numbers);
            writer.number(column.sum.unsigned_abs());
            writer.number(u8::from(column.sum < 0));
            let (least, most) = column.range.unwrap_or_default();
            writer.signed(least);
            writer.signed(most);
            let (least, most) = column.texts.clone().unwrap_or_default();
            writer.bytes(&least);
            writer.bytes(&most);
            writer.number(column.hashes.len() as u64);
            column.hashes.iter().for_each(|hash| writer.number(*hash));
        }
        writer.end()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new(bytes);
        let lines = Lines::read(&mut reader)?;
        let columns = reader.list(|reader| {
            let name = String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| Damaged)?;
            let (values, numbers) = (reader.small()?, reader.small()?);
            let sum = i128::try_from(reader.number()?).map_err(|_| Damaged)?;
            let sum = if reader.small::<u8>()? == 1 { -sum } else { sum };
            let range = (reader.signed()?, reader.signed()?);
            let texts = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
            let hashes = reader.list(Reader::small)?.into_iter().collect();
            let column = Column {
                values,
                numbers,
                sum,
                range: (numbers > 0).then_some(range),
                texts: (values > 0).then_some(texts),
                hashes,
            };
            Ok((name, column))
        })?;
        reader.end()?;
        Ok(Self { columns: columns.into_iter().collect(), lines })
    }

    fn lines(&self) -> &Lines {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{AnyAnalysis as _, Of};

    fn summary(tables: &[&str]) -> Value {
        let analysis = Of::<CsvSummary>::NEW;
        let params = analysis.params(&Value::Null).expect("the defaults");
        let none = analysis.dimensions(&params, "all", &[]).expect("none are needed");
        let map = |table: &&str| {
            let batch = Batch { name: "rows/all/1", input: "rows", bytes: table.as_bytes() };
            analysis.map(&params, "all", &none, batch).expect("a table").bytes
        };
        let partials: Vec<Vec<u8>> = tables.iter().map(map).collect();
        let forth = analysis.merge(&mut partials.iter().map(Vec::as_slice)).expect("partials");
        let back = analysis.merge(&mut partials.iter().rev().map(Vec::as_slice)).expect("partials");
        assert_eq!(forth, back);
        analysis.finish(&params, &[("all".into(), none, forth.bytes)]).expect("a partial").remove(0)
    }

    #[test]
    fn columns_are_summed_up() {
        let told = summary(&["name,age\nana,30\neva,\n", "age,name,city\n41.5,\"o, tim\",Rome\n30,ana,Oslo\n"]);
        let expected = json!({ "columns": [
            { "name": "age", "count": 3, "min": 30.0, "max": 41.5, "mean": 101.5 / 3.0, "distinct": 2, "distinct_exact": true },
            { "name": "city", "count": 2, "min": "Oslo", "max": "Rome", "mean": null, "distinct": 2, "distinct_exact": true },
            { "name": "name", "count": 4, "min": "ana", "max": "o, tim", "mean": null, "distinct": 3, "distinct_exact": true },
        ] });
        assert_eq!(told, expected);
    }

    #[test]
    fn many_distinct_values_are_estimated() {
        let table = |from: u32| (from..from + 20_000).fold("n\n".to_owned(), |table, n| format!("{table}{n}\n"));
        let told = summary(&[&table(0), &table(10_000)]);
        let distinct = told["columns"][0]["distinct"].as_u64().expect("a number");
        assert!((27_000..33_000).contains(&distinct), "{distinct}");
        assert_eq!(told["columns"][0]["distinct_exact"], false);
        assert_eq!(told["columns"][0]["count"], 40_000);
    }
}
