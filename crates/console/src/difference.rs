//! What differs between two texts, word by word: what went is struck out, what came is underlined.

use std::sync::Arc;

use malla_queue::Error;
use malla_wiki::diff::{Piece, PieceKind, words as compared};
use maud::{Markup, html};

use crate::refusal::Refusal;
use crate::{Console, words};

/// Characters around a change that stay to be read.
const AROUND: usize = 240;
/// Characters that are shown of one piece, and pieces of one comparison.
const PIECE_MAX: usize = 200_000;
const PIECES_MAX: usize = 5_000;

/// Comparing takes a processor for a while: it is done apart from what must answer, a few at a time.
pub(crate) async fn pieces(console: &Console, old: Vec<u8>, new: Vec<u8>) -> Result<Vec<Piece>, Refusal> {
    let turn = Arc::clone(&console.measuring).acquire_owned().await;
    let work = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        compared(&String::from_utf8_lossy(&old), &String::from_utf8_lossy(&new))
    });
    Ok(work.await.map_err(|error| Error::Internal(format!("a comparison broke off: {error}")))?)
}

/// The pieces one after the other; what stays the same for long is left out.
pub(crate) fn card(pieces: &[Piece]) -> Markup {
    let chars = |kind| pieces.iter().filter(|piece| piece.kind == kind).map(|piece| piece.text.chars().count()).sum();
    let (added, removed): (usize, usize) = (chars(PieceKind::Added), chars(PieceKind::Removed));
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Text")) }
                ul.legend {
                    li { ins.mark { (rich!("{} added", words::count(added as u64))) } }
                    li { del.mark { (rich!("{} removed", words::count(removed as u64))) } }
                    li { (t!("characters")) }
                }
            }
            @if added == 0 && removed == 0 { p.quiet { (t!("Both texts are the same.")) } }
            @else {
                div.difference tabindex="0" role="region" aria-label=(t!("What changed")) {
                    @for (nth, piece) in pieces.iter().take(PIECES_MAX).enumerate() {
                        @match piece.kind {
                            PieceKind::Added => ins { (words::cut(&piece.text, PIECE_MAX)) },
                            PieceKind::Removed => del { (words::cut(&piece.text, PIECE_MAX)) },
                            PieceKind::Same => (same(&piece.text, nth == 0, nth + 1 == pieces.len())),
                        }
                    }
                }
                @if pieces.len() > PIECES_MAX { p.quiet { (t!("And more changes: these are the first of very many.")) } }
            }
        }
    }
}

/// What stays, as much of it as is next to a change.
fn same(text: &str, first: bool, last: bool) -> Markup {
    let (before, after) = (if first { 0 } else { AROUND }, if last { 0 } else { AROUND });
    let count = text.chars().count();
    if count <= before + after {
        return html! { (text) };
    }
    let head_end = text.char_indices().nth(before).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().nth(count - after).map_or(text.len(), |(at, _)| at);
    html! {
        (text[..head_end])
        span.skipped { (rich!("{} characters the same", words::count((count - before - after) as u64))) }
        (text[tail_start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(kind: PieceKind, text: &str) -> Piece {
        Piece { kind, text: text.into() }
    }

    #[test]
    fn what_changed_is_marked_and_escaped() {
        let pieces = [
            piece(PieceKind::Same, "a "),
            piece(PieceKind::Removed, "<b>x</b>"),
            piece(PieceKind::Added, "<script>"),
            piece(PieceKind::Same, " z"),
        ];
        let text = card(&pieces).into_string();
        assert!(text.contains("a <del>&lt;b&gt;x&lt;/b&gt;</del><ins>&lt;script&gt;</ins> z"), "{text}");
        assert!(text.contains("8 added") && text.contains("8 removed"), "{text}");
    }

    #[test]
    fn what_stays_for_long_is_left_out_but_its_ends_are_kept() {
        let long = format!("{}é{}", "x".repeat(AROUND), "y".repeat(2 * AROUND));
        let middle = same(&long, false, false).into_string();
        assert!(middle.starts_with(&"x".repeat(AROUND)) && middle.ends_with(&"y".repeat(AROUND)), "{middle}");
        assert!(middle.contains(&format!("{} characters the same", AROUND + 1)), "{middle}");
        assert!(same(&long, true, false).into_string().starts_with("<span"));
        assert!(same(&long, false, true).into_string().ends_with("</span>"));
        assert_eq!(same("short", false, false).into_string(), "short");
    }

    #[test]
    fn the_same_texts_are_told_so() {
        assert!(card(&[piece(PieceKind::Same, "a")]).into_string().contains("Both texts are the same."));
        assert!(card(&[]).into_string().contains("Both texts are the same."));
    }
}
