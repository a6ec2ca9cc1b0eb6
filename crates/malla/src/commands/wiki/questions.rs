//! `malla wiki articles`, `revisions`, `count`, `avg`, `mode` and `query`: the API's questions with their filters as flags.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use malla_client::Client;
use malla_protocol::{ArticleFilters, PipelineQuery, RevisionFilters, Shown};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::commands::Usage;
use crate::output::{Output, write_all};

/// What people are shown of a revision, unless they choose; the rest would not fit a line.
const REVISION_FIELDS: &str = "revid,timestamp,title,user,size,comment";

#[derive(Debug, Args)]
pub(crate) struct Articles {
    #[arg(long)]
    title: Option<String>,
    /// A day, as 2018-03-09
    #[arg(long, value_name = "DAY")]
    first_extraction_date: Option<String>,
    /// A day, as 2018-03-09
    #[arg(long, value_name = "DAY")]
    last_extraction_date: Option<String>,
    /// The number of the newest revision that is kept
    #[arg(long, value_name = "REVID")]
    last_revision_extracted: Option<i64>,
    #[arg(long)]
    locale: Option<String>,
    /// The wiki's number
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
    #[command(flatten)]
    part: Part,
}

/// Which part of an answer, and how.
#[derive(Debug, Args)]
struct Part {
    /// From 1
    #[arg(long, value_name = "N")]
    page: Option<u64>,
    /// How many at once, up to 200 [default: 20]
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,
    /// asc or desc
    #[arg(long, value_name = "ORDER")]
    sort: Option<String>,
    /// The fields that are wanted, with commas
    #[arg(long, value_name = "FIELDS")]
    project: Option<String>,
}

impl From<Part> for Shown {
    fn from(part: Part) -> Self {
        let Part { page, page_size, sort, project } = part;
        Self { page, page_size, sort, project }
    }
}

/// Which revisions.
#[derive(Debug, Args)]
pub(crate) struct Filters {
    /// The title of their page
    #[arg(long)]
    title: Option<String>,
    #[arg(long, value_name = "N")]
    pageid: Option<i64>,
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[arg(long, value_name = "N")]
    userid: Option<i64>,
    #[arg(long)]
    tag: Option<String>,
    /// Bytes of the text
    #[arg(long, value_name = "BYTES")]
    size: Option<i64>,
    /// 1: larger than --size; -1: smaller; 0: equal
    #[arg(long, value_name = "SIGN", allow_negative_numbers = true, requires = "size")]
    sizematch: Option<i64>,
    /// A day, as 2018-03-09
    #[arg(long, value_name = "DAY")]
    date: Option<String>,
    /// From this day on
    #[arg(long, value_name = "DAY")]
    datestart: Option<String>,
    /// Up to this day, which is taken in whole
    #[arg(long, value_name = "DAY")]
    dateend: Option<String>,
    #[arg(long, value_name = "N")]
    revid: Option<i64>,
    #[arg(long, value_name = "N")]
    parentid: Option<i64>,
    #[arg(long)]
    sha1: Option<String>,
    /// The content model, as wikitext
    #[arg(long, value_name = "MODEL")]
    contentmodel: Option<String>,
    #[arg(long)]
    comment: Option<String>,
    /// true or false
    #[arg(long)]
    minor: Option<bool>,
    /// Of people who were not logged in: true or false
    #[arg(long)]
    anon: Option<bool>,
    #[arg(long)]
    locale: Option<String>,
    /// The wiki's number
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
}

impl From<Filters> for RevisionFilters {
    fn from(filters: Filters) -> Self {
        Self {
            title: filters.title,
            pageid: filters.pageid,
            user: filters.user,
            userid: filters.userid,
            tag: filters.tag,
            size: filters.size,
            sizematch: filters.sizematch,
            date: filters.date,
            datestart: filters.datestart,
            dateend: filters.dateend,
            revid: filters.revid,
            parentid: filters.parentid,
            sha1: filters.sha1,
            contentmodel: filters.contentmodel,
            comment: filters.comment,
            minor: filters.minor,
            anon: filters.anon,
            locale: filters.locale,
            wiki: filters.wiki,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Revisions {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    part: Part,
}

#[derive(Debug, Args)]
pub(crate) struct Mode {
    /// title, pageid, user, userid, date or size
    attribute: String,
    #[command(flatten)]
    filters: Filters,
}

#[derive(Debug, Args)]
pub(crate) struct Query {
    /// An array of stages
    #[arg(value_name = "PIPELINE", required_unless_present = "file", conflicts_with = "file")]
    pipeline: Option<String>,
    /// A file with the pipeline; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// revisions or articles [default: revisions]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// How dates in the pipeline are written, as %Y-%m-%d
    #[arg(long, value_name = "FORMAT")]
    date_format: Option<String>,
}

pub(super) async fn articles(client: &Client, articles: Articles, output: Output) -> Result<()> {
    let Articles { title, first_extraction_date, last_extraction_date, last_revision_extracted, locale, wiki, part } =
        articles;
    let filters =
        ArticleFilters { title, first_extraction_date, last_extraction_date, last_revision_extracted, locale, wiki };
    let head = ["pageid", "title", "locale", "last_extraction_date", "last_revision_extracted"];
    let fields = part.project.clone();
    let found = client.articles(&filters, &part.into()).await?;
    listed(found, fields.as_deref(), &head.join(","), output, "no articles: `malla wiki extract TITLE` gets one")
}

pub(super) async fn revisions(client: &Client, revisions: Revisions, output: Output) -> Result<()> {
    let fields = revisions.part.project.clone();
    let mut shown = Shown::from(revisions.part);
    if !output.is_json() && shown.project.is_none() {
        shown.project = Some(REVISION_FIELDS.into());
    }
    let found = client.revisions(&revisions.filters.into(), &shown).await?;
    listed(found, fields.as_deref(), REVISION_FIELDS, output, "no such revisions")
}

fn listed(found: Vec<Value>, chosen: Option<&str>, usual: &str, mut output: Output, none: &str) -> Result<()> {
    let fields: Vec<&str> = chosen.unwrap_or(usual).split(',').map(str::trim).collect();
    output.rows(&fields, &found, |one| fields.iter().map(|field| cell(one.get(field))).collect())?;
    output.end(none);
    Ok(())
}

/// A value on one line.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".into(),
        Some(Value::String(text)) => text.lines().next().unwrap_or_default().to_owned(),
        Some(other) => other.to_string(),
    }
}

pub(super) async fn count(client: &Client, filters: Filters, output: &Output) -> Result<()> {
    Ok(output.one(&client.count_revisions(&filters.into()).await?, |found| found.count.clone())?)
}

pub(super) async fn avg(client: &Client, filters: Filters, output: &Output) -> Result<()> {
    if filters.datestart.is_none() || filters.dateend.is_none() {
        return Err(Usage("give the days: --datestart 2018-01-01 --dateend 2018-12-31".into()).into());
    }
    Ok(output.one(&client.average_revisions(&filters.into()).await?, |found| found.avg.clone())?)
}

pub(super) async fn mode(client: &Client, mode: Mode, output: &Output) -> Result<()> {
    let found = client.mode_of_revisions(&mode.attribute, &mode.filters.into()).await?;
    let people = |found: &Value| {
        let values = found.get(&mode.attribute).and_then(Value::as_array).into_iter().flatten();
        values.map(|value| cell(Some(value))).collect::<Vec<_>>().join("\n")
    };
    Ok(output.one(&found, people)?)
}

/// One line of JSON for each object of the answer.
pub(super) async fn query(client: &Client, query: Query) -> Result<()> {
    let text = match (query.pipeline, query.file) {
        (Some(text), _) => text,
        (None, Some(file)) if file.as_os_str() == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            text
        }
        (None, Some(file)) => {
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?
        }
        (None, None) => return Err(Usage("give a pipeline, or a file that has one".into()).into()),
    };
    // As it is written: the order of keys counts in a `$sort`.
    let pipeline: &RawValue =
        serde_json::from_str(&text).map_err(|error| Usage(format!("the pipeline is not JSON: {error}")))?;
    let about = PipelineQuery { collection: query.collection, date_format: query.date_format };
    let found = client.query(&pipeline, &about).await?;
    let lines: String = found.iter().map(|one| format!("{one}\n")).collect();
    Ok(write_all(&lines)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_takes_one_line() {
        assert_eq!(cell(Some(&json!("a\nb"))), "a");
        assert_eq!(cell(Some(&json!(["x", 1]))), "[\"x\",1]");
        assert_eq!((cell(None), cell(Some(&Value::Null))), ("-".into(), "-".into()));
    }
}
