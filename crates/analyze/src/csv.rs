//! Reads CSV in one pass over the bytes: columns by the names of the header line, quoted fields as RFC 4180 has them,
//! either kind of line end. A record without quotes costs no copy.

use memchr::{memchr, memchr3_iter};

/// Columns of a header line at most.
const COLUMNS_MAX: usize = 1_000;

/// Why a whole table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongTable {
    #[error("it is empty: the first line must name the columns")]
    Empty,
    #[error("the column \"{column}\" is missing: the header has {found}")]
    Missing { column: String, found: String },
    #[error("the header has more than {COLUMNS_MAX} columns")]
    TooWide,
    #[error("a quote of the header is not closed")]
    Header,
}

/// A table and where its records begin.
#[derive(Debug, Clone, Copy)]
pub struct Table<'b> {
    header: &'b [u8],
    records: &'b [u8],
}

impl<'b> Table<'b> {
    pub fn new(bytes: &'b [u8]) -> Result<Self, WrongTable> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let end = record_end(bytes).ok_or(WrongTable::Header)?;
        let (header, records) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
        if header.trim_ascii().is_empty() {
            return Err(WrongTable::Empty);
        }
        Ok(Self { header: without_cr(header), records })
    }

    /// The names of its columns, spaces around them left out.
    pub fn columns(&self) -> Result<Vec<String>, WrongTable> {
        let mut fields = Vec::new();
        split_quoted(self.header, |field| fields.push(text(field.trim_ascii()))).ok_or(WrongTable::Header)?;
        if fields.len() > COLUMNS_MAX { Err(WrongTable::TooWide) } else { Ok(fields) }
    }

    /// Where each of these columns is.
    pub fn find<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], WrongTable> {
        let columns = self.columns()?;
        let mut found = [0; N];
        for (place, name) in found.iter_mut().zip(names) {
            let here = columns.iter().position(|column| column.eq_ignore_ascii_case(name));
            *place = here.ok_or_else(|| WrongTable::Missing { column: name.to_owned(), found: columns.join(", ") })?;
        }
        Ok(found)
    }

    /// Gives `read` the fields of these columns of each record, with the number of its line (the header's is 1).
    /// `None` instead of fields: it has too few of them, or a quote is not closed. Empty lines are passed over.
    pub fn each<const N: usize>(&self, columns: [usize; N], mut read: impl FnMut(u64, Option<[&[u8]; N]>, &[u8])) {
        let place = Places::new(columns);
        let mut rest = self.records;
        let mut line = 2;
        while !rest.is_empty() {
            let (taken, lines) = place.plain(rest, line, &mut read);
            line += lines;
            rest = &rest[taken..];
            if rest.is_empty() {
                break;
            }
            // A record with a quote.
            let end = record_end(rest).unwrap_or(rest.len());
            let record = without_cr(&rest[..end]);
            let lines = 1 + memchr::memchr_iter(b'\n', record).count() as u64;
            place.quoted(record, line, &mut read);
            line += lines;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
}

impl Table<'_> {
    /// The same for records of any shape: gives `read` all fields if there are at least so many.
    pub fn each_record(&self, least: usize, mut read: impl FnMut(u64, Option<&[Vec<u8>]>, &[u8])) {
        let mut rest = self.records;
        let mut line = 2;
        let mut fields: Vec<Vec<u8>> = Vec::new();
        while !rest.is_empty() {
            let end = record_end(rest).unwrap_or(rest.len());
            let record = without_cr(&rest[..end]);
            if !record.trim_ascii().is_empty() {
                fields.clear();
                let whole = split_quoted(record, |field| fields.push(field.to_vec())).is_some();
                read(line, (whole && fields.len() >= least).then_some(&fields), record);
            }
            line += 1 + memchr::memchr_iter(b'\n', record).count() as u64;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
}

/// Where the record that begins here ends: at a line end outside of quotes, or at the end. `None`: a quote is open.
pub fn record_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    let mut quoted = false;
    while let Some(at) = memchr::memchr2(b'\n', b'"', &bytes[from..]) {
        let at = from + at;
        if bytes[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            return Some(at);
        }
        from = at + 1;
    }
    (!quoted).then_some(bytes.len())
}

fn without_cr(record: &[u8]) -> &[u8] {
    record.strip_suffix(b"\r").unwrap_or(record)
}

/// Text as it is meant: UTF-8, or else Latin-1.
pub fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Which fields of a record are wanted.
struct Places<const N: usize> {
    /// The column of each wanted field, in the order in which they come, with its number among the wanted.
    order: [(usize, usize); N],
}

impl<const N: usize> Places<N> {
    fn new(columns: [usize; N]) -> Self {
        let mut order = [(0, 0); N];
        for (wanted, column) in columns.into_iter().enumerate() {
            order[wanted] = (column, wanted);
        }
        order.sort_unstable();
        Self { order }
    }

    /// Reads records up to the first with a quote. Returns how many bytes and lines that were.
    fn plain(&self, bytes: &[u8], first: u64, read: &mut impl FnMut(u64, Option<[&[u8]; N]>, &[u8])) -> (usize, u64) {
        let (mut record, mut field, mut column, mut line) = (0, 0, 0, first);
        let mut fields: [&[u8]; N] = [&[]; N];
        let mut next = 0;
        for at in memchr3_iter(b',', b'\n', b'"', bytes) {
            match bytes[at] {
                b',' => {
                    self.take(&bytes[field..at], column, &mut next, &mut fields);
                    (column, field) = (column + 1, at + 1);
                }
                b'\n' => {
                    self.take(without_cr(&bytes[field..at]), column, &mut next, &mut fields);
                    self.end(&bytes[record..at], line, next, fields, read);
                    (record, field, column, next, line) = (at + 1, at + 1, 0, 0, line + 1);
                }
                _ => return (record, line - first),
            }
        }
        if record < bytes.len() {
            self.take(without_cr(&bytes[field..]), column, &mut next, &mut fields);
            self.end(&bytes[record..], line, next, fields, read);
            line += 1;
        }
        (bytes.len(), line - first)
    }

    #[inline(always)]
    fn take<'b>(&self, field: &'b [u8], column: usize, next: &mut usize, fields: &mut [&'b [u8]; N]) {
        while let Some((_, wanted)) = self.order.get(*next).filter(|(wanted, _)| *wanted == column) {
            fields[*wanted] = field;
            *next += 1;
        }
    }

    #[inline(always)]
    fn end(
        &self,
        record: &[u8],
        line: u64,
        found: usize,
        fields: [&[u8]; N],
        read: &mut impl FnMut(u64, Option<[&[u8]; N]>, &[u8]),
    ) {
        if found == N {
            read(line, Some(fields), record);
        } else if !record.trim_ascii().is_empty() {
            read(line, None, without_cr(record));
        }
    }

    fn quoted(&self, record: &[u8], line: u64, read: &mut impl FnMut(u64, Option<[&[u8]; N]>, &[u8])) {
        let mut all: Vec<Vec<u8>> = Vec::new();
        if split_quoted(record, |field| all.push(field.to_vec())).is_none() {
            return read(line, None, record);
        }
        let mut fields: [&[u8]; N] = [&[]; N];
        for (column, wanted) in self.order {
            match all.get(column) {
                Some(field) => fields[wanted] = field,
                None => return read(line, None, record),
            }
        }
        read(line, Some(fields), record);
    }
}

/// Gives out the fields of a record, their quotes undone. `None`: a quote is not closed.
fn split_quoted(record: &[u8], mut field: impl FnMut(&[u8])) -> Option<()> {
    let mut rest = record;
    let mut unquoted = Vec::new();
    loop {
        let Some(inside) = rest.strip_prefix(b"\"") else {
            let end = memchr(b',', rest).unwrap_or(rest.len());
            field(&rest[..end]);
            match rest.get(end + 1..) {
                Some(more) => rest = more,
                None => return Some(()),
            }
            continue;
        };
        unquoted.clear();
        rest = inside;
        loop {
            let end = memchr(b'"', rest)?;
            unquoted.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix(b"\"") {
                Some(more) => {
                    unquoted.push(b'"');
                    rest = more;
                }
                None => break,
            }
        }
        // What stands between the quote and the comma belongs to the field.
        let end = memchr(b',', rest).unwrap_or(rest.len());
        unquoted.extend_from_slice(&rest[..end]);
        field(&unquoted);
        match rest.get(end + 1..) {
            Some(more) => rest = more,
            None => return Some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(bytes: &[u8], columns: [&str; 2]) -> Vec<(u64, Option<[String; 2]>)> {
        let table = Table::new(bytes).expect("a table");
        let mut rows = Vec::new();
        table.each(table.find(columns).expect("the columns"), |line, fields, _| {
            rows.push((line, fields.map(|fields| fields.map(text))));
        });
        rows
    }

    fn row(line: u64, a: &str, b: &str) -> (u64, Option<[String; 2]>) {
        (line, Some([a.to_owned(), b.to_owned()]))
    }

    #[test]
    fn fields_are_found_by_the_header() {
        assert_eq!(rows(b"a,b\n1,2\n3,4\n", ["a", "b"]), [row(2, "1", "2"), row(3, "3", "4")]);
        assert_eq!(rows(b"x,b,y,a\n1,2,3,4\n5,6,7,8", ["a", "b"]), [row(2, "4", "2"), row(3, "8", "6")]);
        assert_eq!(rows(b"\xef\xbb\xbfA , b\r\n1, 2 \r\n", ["a", "b"]), [row(2, "1", " 2 ")], "a BOM and CRLF");
        assert_eq!(rows(b"a,a\n1,2\n", ["a", "a"]), [row(2, "1", "1")], "the first of two");
        assert_eq!(rows(b"a,b\n", ["a", "b"]), [], "a header only");
        assert_eq!(rows(b"a,b", ["a", "b"]), []);
        assert_eq!(rows(b"a,b\n\n1,2\n\r\n3,4,5\n", ["a", "b"]), [row(3, "1", "2"), row(5, "3", "4")]);
        assert_eq!(rows(b"a,b\nCaf\xe9,\xc3\xa9\n", ["a", "b"]), [row(2, "Café", "é")], "Latin-1 and UTF-8");
        assert_eq!(rows(b"a,b\n1\n,\n", ["a", "b"]), [(2, None), row(3, "", "")], "too few fields");
    }

    #[test]
    fn quoted_fields_may_hold_anything() {
        let table = b"a,b\n1,2\n\"x, y\",\"line 1\nline 2\"\n3,4\n\"say \"\"hi\"\"\",\"\"\n5,6\n";
        let expected = [
            row(2, "1", "2"),
            row(3, "x, y", "line 1\nline 2"),
            row(5, "3", "4"),
            row(6, "say \"hi\"", ""),
            row(7, "5", "6"),
        ];
        assert_eq!(rows(table, ["a", "b"]), expected);
        assert_eq!(rows(b"\"a\",\"b\"\r\n\"1\",\"2\"\r\n", ["a", "b"]), [row(2, "1", "2")]);
        assert_eq!(rows(b"a,b\n1,\"open\n2,3\n", ["a", "b"]), [(2, None)], "a quote that is not closed ends nowhere");
        assert_eq!(rows(b"a,b\n\"1\n", ["a", "b"]), [(2, None)]);
    }

    #[test]
    fn a_table_without_its_columns_is_refused() {
        assert_eq!(Table::new(b"").err(), Some(WrongTable::Empty));
        assert_eq!(Table::new(b"\n1,2\n").err(), Some(WrongTable::Empty));
        assert_eq!(Table::new(b"\"a,b").err(), Some(WrongTable::Header));
        let missing = Table::new(b"a,c\n").expect("a table").find(["a", "b"]).expect_err("no b");
        assert_eq!(missing.to_string(), "the column \"b\" is missing: the header has a, c");
        let wide = ",".repeat(COLUMNS_MAX) + "\n";
        assert_eq!(Table::new(wide.as_bytes()).err(), None);
        assert_eq!(Table::new(format!("a{wide}").as_bytes()).expect("a table").columns(), Err(WrongTable::TooWide));
    }
}
