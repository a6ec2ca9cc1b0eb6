//! How results are shown: JSON lines for programs, plain tables for people. Data goes to stdout, talk to stderr.

use std::io::{self, IsTerminal as _, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use crate::stderr;

pub(crate) struct Output {
    json: bool,
    headed: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, headed: false }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// One result: a line of JSON, or the text that `people` makes of it.
    pub(crate) fn one<T: Serialize>(&self, item: &T, people: impl FnOnce(&T) -> String) -> io::Result<()> {
        let text = if self.json { serde_json::to_string(item)? } else { people(item) };
        write_all(&text)
    }

    /// A part of a list: a line of JSON each, or rows under a head that is printed once.
    pub(crate) fn rows<T: Serialize>(
        &mut self,
        head: &[&str],
        items: &[T],
        row: impl Fn(&T) -> Vec<String>,
    ) -> io::Result<()> {
        if self.json {
            let mut lines = String::new();
            for item in items {
                lines.push_str(&serde_json::to_string(item)?);
                lines.push('\n');
            }
            return write_all(&lines);
        }
        if items.is_empty() {
            return Ok(());
        }
        let head = if self.headed { &[] } else { head };
        self.headed = true;
        write_all(&table(head, items.iter().map(row)))
    }

    /// After a list: says on stderr that there was nothing, where nothing on stdout could be a mistake.
    pub(crate) fn end(&self, none: &str) {
        if !self.json && !self.headed {
            talk(none);
        }
    }
}

/// A table without lines, as wide as the terminal at most.
pub(crate) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !head.is_empty() {
        table.set_header(head.to_vec());
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// Names and values below each other.
pub(crate) fn fields(pairs: &[(&str, String)]) -> String {
    table(&[], pairs.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]))
}

/// What far sides sent must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// A time for people: to the second, in UTC.
pub(crate) fn time(rfc3339: &str) -> String {
    match rfc3339.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => rfc3339.to_owned(),
    }
}

pub(crate) fn time_or_dash(time_text: Option<&str>) -> String {
    time_text.map_or_else(dash, time)
}

pub(crate) fn or_dash(text: Option<&str>) -> String {
    text.map_or_else(dash, str::to_owned)
}

fn dash() -> String {
    "-".into()
}

/// Writes to stdout. A reader that went away (`| head`) is an error that `main` takes for a good end.
pub(crate) fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// A line for people, on stderr.
pub(crate) fn talk(line: &str) {
    stderr::say(format!("{line}\n").as_bytes());
}

/// Whether a person sits there to answer a question.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on stderr; anything but yes is no.
pub(crate) fn ask(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_no_lines_and_no_trailing_blanks() {
        let rows = [["1", "one"], ["200", "two"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&["ID", "NAME"], rows.into_iter()), "ID   NAME\n1    one\n200  two");
    }

    #[test]
    fn what_could_steer_the_terminal_is_made_visible() {
        let rows = [vec!["a\u{1b}[31m\u{7}b".to_owned()]];
        assert_eq!(table(&[], rows.into_iter()), "a\u{fffd}[31m\u{fffd}b");
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(time("2026-01-02T03:04:05.678Z"), "2026-01-02 03:04:05");
        assert_eq!(time_or_dash(None), "-");
    }
}
