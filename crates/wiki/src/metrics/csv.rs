//! Metrics as a table for spreadsheets: what is measured, of what, and how much.

use std::fmt::{Display, Write};

use super::{ArticleMetrics, Period, Share, WikiMetrics};

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

struct Table(String);

impl Table {
    fn new() -> Self {
        Self("measure,of,value\n".to_owned())
    }

    fn line(&mut self, measure: &str, of: impl Display, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{measure},{},{}", quoted(&of.to_string()), quoted(&value.to_string()));
    }

    fn share(&mut self, measure: &str, share: Share) {
        self.line(measure, "edits", share.edits);
        self.line(measure, "share", format_args!("{:.6}", share.share));
    }

    fn periods(&mut self, periods: &[Period]) {
        for period in periods {
            self.line("edits", &period.period, period.edits);
            self.line("minor edits", &period.period, period.minor);
            self.line("anonymous edits", &period.period, period.anonymous);
            if let Some(size) = period.size {
                self.line("size", &period.period, size);
            }
        }
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

impl ArticleMetrics {
    /// Lines of `measure,of,value`.
    pub fn csv(&self) -> String {
        let mut table = Table::new();
        table.line("title", "article", &self.title);
        table.line("pageid", "article", self.pageid.0);
        table.line("revisions", "article", self.revisions);
        table.line("editors", "article", self.editors);
        table.share("minor", self.minor);
        table.share("anonymous", self.anonymous);
        table.share("bots", self.bots);
        table.share("reverts", self.reverts);
        for (name, edit) in [
            ("first edit", &self.first),
            ("last edit", &self.last),
            ("largest addition", &self.largest_addition),
            ("largest removal", &self.largest_removal),
        ] {
            if let Some(edit) = edit {
                table.line(name, "revid", edit.revid.0);
                table.line(name, "at", edit.at);
                table.line(name, "user", edit.user.as_deref().unwrap_or_default());
                table.line(name, "size", edit.size);
                table.line(name, "change", edit.change);
            }
        }
        if let Some(between) = self.between_edits {
            table.line("seconds between edits", "mean", format_args!("{:.1}", between.mean_s));
            table.line("seconds between edits", "median", format_args!("{:.1}", between.median_s));
            table.line("seconds between edits", "longest", format_args!("{:.1}", between.longest_s));
        }
        self.top_by_edits.iter().for_each(|editor| table.line("top by edits", &editor.user, editor.edits));
        self.top_by_text.iter().for_each(|editor| table.line("top by text", &editor.user, editor.added));
        table.periods(&self.years);
        table.periods(&self.months);
        self.hours.iter().enumerate().for_each(|(hour, edits)| table.line("edits by hour", hour, edits));
        WEEKDAYS.iter().zip(self.weekdays).for_each(|(day, edits)| table.line("edits by weekday", day, edits));
        self.sizes.iter().for_each(|point| table.line("size over time", point.at, point.size));
        table.0
    }
}

impl WikiMetrics {
    /// Lines of `measure,of,value`.
    pub fn csv(&self) -> String {
        let mut table = Table::new();
        table.line("name", "wiki", &self.name);
        table.line("pages", "wiki", self.pages);
        table.line("revisions", "wiki", self.revisions);
        table.line("editors", "wiki", self.editors);
        table.share("minor", self.minor);
        table.share("anonymous", self.anonymous);
        self.top_by_edits.iter().for_each(|editor| table.line("top by edits", &editor.user, editor.edits));
        self.top_articles.iter().for_each(|article| table.line("top articles", &article.title, article.edits));
        table.periods(&self.years);
        table.periods(&self.months);
        table.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must() {
        let mut table = Table::new();
        table.line("top by edits", "Ana", 3);
        table.line("top by edits", "a \"b\", c", 1);
        assert_eq!(table.0, "measure,of,value\ntop by edits,Ana,3\ntop by edits,\"a \"\"b\"\", c\",1\n");
    }
}
