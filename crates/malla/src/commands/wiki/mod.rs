//! `malla wiki`: revision histories extracted, asked about, compared, exported and imported.

mod dump_file;
mod export;
mod extract;
mod find;
mod import;
mod pages;
mod questions;
pub(crate) mod simulate;
mod texts;

use anyhow::Result;
use clap::{Args, Subcommand};
use malla_client::Client;

use crate::cli::Reach;
use crate::commands::Limit;
use crate::output::Output;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla wiki extract \"Alan Turing\" --locale en\n  malla wiki count --title \"Alan Turing\" --datestart 2018-01-01\n  malla wiki text 827651234 > turing.wiki"
)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Get the whole history of pages, and keep it
    #[command(
        after_help = "Examples:\n  malla wiki extract \"Alan Turing\" Earth\n  malla wiki extract Erde --locale de\n  malla wiki extract https://wiki.example.org/wiki/Start --no-wait\n\nEnds with exit code 1 if one of them fails."
    )]
    Extract(extract::Extract),
    /// Show how far an extraction is
    #[command(after_help = "Example:\n  malla wiki status 06a2vb2dr0000")]
    Status { id: String },
    /// List extractions, newest first
    #[command(after_help = "Example:\n  malla wiki extractions --limit 10")]
    Extractions(Limit),
    /// List articles that are kept
    #[command(after_help = "Examples:\n  malla wiki articles --locale de\n  malla wiki articles --title Earth --json")]
    Articles(questions::Articles),
    /// List revisions, oldest first
    #[command(
        after_help = "Examples:\n  malla wiki revisions --title Earth --sort desc --page-size 5\n  malla wiki revisions --user Ana --datestart 2018-01-01 --dateend 2018-12-31 --json\n  malla wiki revisions --pageid 9228 --project revid,user,size"
    )]
    Revisions(questions::Revisions),
    /// Count revisions
    #[command(
        after_help = "Examples:\n  malla wiki count --title Earth\n  malla wiki count --size 10000 --sizematch 1     larger than 10,000 bytes"
    )]
    Count(questions::Filters),
    /// Revisions a day between two days, both whole
    #[command(after_help = "Example:\n  malla wiki avg --title Earth --datestart 2018-01-01 --dateend 2018-12-31")]
    Avg(questions::Filters),
    /// The most frequent value of an attribute: all that tie
    #[command(after_help = "Example:\n  malla wiki mode user --title Earth")]
    Mode(questions::Mode),
    /// Ask with an aggregation pipeline
    #[command(
        after_help = "Examples:\n  malla wiki query '[{\"$match\":{\"title\":\"Earth\"}},{\"$group\":{\"_id\":\"$user\",\"edits\":{\"$sum\":1}}},{\"$sort\":{\"edits\":-1}},{\"$limit\":10}]'\n  malla wiki query --file pipeline.json --collection articles"
    )]
    Query(questions::Query),
    /// Print the text of a revision byte for byte
    #[command(after_help = "Example:\n  malla wiki text 827651234 > turing.wiki")]
    Text(texts::Text),
    /// Compare the texts of two revisions
    #[command(after_help = "Examples:\n  malla wiki diff 827651234 827659999\n  malla wiki diff 17 23 --wiki 2 --json")]
    Diff(texts::Diff),
    /// Figures of a page: editors, shares, edits over time, reverts
    #[command(after_help = "Examples:\n  malla wiki metrics Earth\n  malla wiki metrics 9228 --csv > earth.csv")]
    Metrics(pages::Metrics),
    /// Visit a page again without being asked, so that its history stays fresh
    #[command(after_help = "Example:\n  malla wiki watch Earth")]
    Watch(find::Which),
    /// Leave a page as it is until it is extracted again
    #[command(after_help = "Example:\n  malla wiki unwatch Earth")]
    Unwatch(find::Which),
    /// List the wikis that something is kept of
    #[command(after_help = "Example:\n  malla wiki wikis")]
    Wikis(Limit),
    /// List the pages whose histories are kept
    #[command(after_help = "Example:\n  malla wiki pages --wiki 1 --limit 0")]
    Pages(pages::Pages),
    /// Write the history of a page, one revision a line
    #[command(
        after_help = "Examples:\n  malla wiki export Earth > earth.jsonl\n  malla wiki export Earth --csv --out earth.csv\n  malla wiki export Earth --text | zstd > earth.jsonl.zst"
    )]
    Export(export::Export),
    /// Import a dump of a MediaWiki; begun again, it goes on where it broke off
    #[command(
        after_help = "Examples:\n  malla wiki import dewiki-pages-meta-history.xml.bz2\n  malla wiki import dump.xml.gz --name \"Our wiki\" --locale en\n  malla wiki import dump.xml.zst --api https://wiki.example.org/w/api.php"
    )]
    Import(import::Import),
    /// List imports of dumps, newest first
    #[command(after_help = "Example:\n  malla wiki imports")]
    Imports(Limit),
    /// Judge a rule of revisits on recorded edit times, without a server
    #[command(
        after_help = "Examples:\n  malla wiki simulate --timestamps edits.jsonl --budget 500 --rule adaptive\n  malla wiki simulate --timestamps edits.jsonl --budget 500 --rule uniform --visits visits.jsonl\n\nA line of the file is {\"page\":17,\"timestamps\":[1520596800,1520600400]}."
    )]
    Simulate(simulate::Simulate),
}

pub(crate) async fn run(command: Command, client: &Client) -> Result<()> {
    let json = command.reach.json;
    let output = Output::new(json);
    match command.verb {
        Verb::Extract(extract) => extract::run(client, extract, json).await,
        Verb::Status { id } => extract::status(client, &id, &output).await,
        Verb::Extractions(limit) => extract::list(client, limit, output).await,
        Verb::Articles(articles) => questions::articles(client, articles, output).await,
        Verb::Revisions(revisions) => questions::revisions(client, revisions, output).await,
        Verb::Count(filters) => questions::count(client, filters, &output).await,
        Verb::Avg(filters) => questions::avg(client, filters, &output).await,
        Verb::Mode(mode) => questions::mode(client, mode, &output).await,
        Verb::Query(query) => questions::query(client, query).await,
        Verb::Text(text) => texts::text(client, text).await,
        Verb::Diff(diff) => texts::diff(client, diff, &output).await,
        Verb::Metrics(metrics) => pages::metrics(client, metrics, &output).await,
        Verb::Watch(which) => pages::watch(client, which, true, &output).await,
        Verb::Unwatch(which) => pages::watch(client, which, false, &output).await,
        Verb::Wikis(limit) => pages::wikis(client, limit, output).await,
        Verb::Pages(pages) => pages::pages(client, pages, output).await,
        Verb::Export(export) => export::run(client, export).await,
        Verb::Import(import) => import::run(client, import, &output).await,
        Verb::Imports(limit) => import::list(client, limit, output).await,
        Verb::Simulate(simulate) => simulate::run(simulate),
    }
}
