//! `malla wiki text` and `malla wiki diff`.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;
use clap::Args;
use malla_client::Client;
use malla_protocol::{DiffKind, DiffPiece, DiffView, RevisionView};

use super::find::wiki_of;
use crate::output::{Output, or_dash, time};

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[0m";
/// Of what is the same between two changes, people see this much on either side.
const AROUND: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct Text {
    revid: i64,
    /// The number of its wiki, if several have such a revision
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The older revision
    #[arg(value_name = "A")]
    from: i64,
    /// The newer one
    #[arg(value_name = "B")]
    to: i64,
    /// The number of their wiki, if several have such revisions
    #[arg(long, value_name = "N")]
    wiki: Option<i64>,
}

pub(super) async fn text(client: &Client, text: Text) -> Result<()> {
    let wiki = wiki_of(client, text.revid, text.wiki).await?;
    let bytes = client.revision_text(wiki, text.revid).await?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&bytes)?;
    Ok(stdout.flush()?)
}

pub(super) async fn diff(client: &Client, diff: Diff, output: &Output) -> Result<()> {
    let wiki = wiki_of(client, diff.from, diff.wiki).await?;
    let found = client.diff_revisions(wiki, diff.from, diff.to).await?;
    let colours = std::io::stdout().is_terminal();
    Ok(output.one(&found, |found| for_people(found, colours))?)
}

fn for_people(diff: &DiffView, colours: bool) -> String {
    let mut text = format!("{}\n{}\n\n", described("from", &diff.from), described("to  ", &diff.to));
    if diff.pieces.iter().all(|piece| piece.kind == DiffKind::Same) {
        return text + "the texts are the same";
    }
    for (place, piece) in diff.pieces.iter().enumerate() {
        let (first, last) = (place == 0, place + 1 == diff.pieces.len());
        text.push_str(&shown(piece, first, last, colours));
    }
    text
}

fn described(what: &str, revision: &RevisionView) -> String {
    let user = or_dash(revision.user.as_deref());
    format!("{what} {} of {} by {user}, {} bytes", revision.revid, time(&revision.timestamp), revision.size)
}

fn shown(piece: &DiffPiece, first: bool, last: bool, colours: bool) -> String {
    let safe: String =
        piece.text.chars().map(|c| if c.is_control() && !"\n\t".contains(c) { '\u{fffd}' } else { c }).collect();
    match (piece.kind, colours) {
        (DiffKind::Same, _) => shortened(&safe, first, last),
        (DiffKind::Added, true) => format!("{GREEN}{safe}{PLAIN}"),
        (DiffKind::Removed, true) => format!("{RED}{safe}{PLAIN}"),
        (DiffKind::Added, false) => format!("{{+{safe}+}}"),
        (DiffKind::Removed, false) => format!("[-{safe}-]"),
    }
}

/// The beginning and the end of what is the same; at either end of the text only what is next to a change.
fn shortened(text: &str, first: bool, last: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let head = if first { 0 } else { AROUND };
    let tail = if last { 0 } else { AROUND };
    if chars.len() <= head + tail {
        return text.to_owned();
    }
    let before: String = chars[..head].iter().collect();
    let after: String = chars[chars.len() - tail..].iter().collect();
    format!("{before} … {after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_shortened() {
        let long = "x".repeat(200);
        assert_eq!(shortened("short", false, false), "short");
        assert_eq!(shortened(&long, false, false), format!("{0} … {0}", "x".repeat(AROUND)));
        assert_eq!(shortened(&long, true, false), format!(" … {}", "x".repeat(AROUND)));
        assert_eq!(shortened(&long, false, true), format!("{} … ", "x".repeat(AROUND)));
    }

    #[test]
    fn changes_are_marked_and_cannot_steer_the_terminal() {
        let piece = |kind, text: &str| DiffPiece { kind, text: text.into() };
        assert_eq!(shown(&piece(DiffKind::Added, "new"), false, false, false), "{+new+}");
        assert_eq!(shown(&piece(DiffKind::Removed, "old\u{1b}[2J"), false, false, false), "[-old\u{fffd}[2J-]");
        assert_eq!(shown(&piece(DiffKind::Removed, "old"), false, false, true), format!("{RED}old{PLAIN}"));
    }
}
