//! Where a list goes on. To callers a cursor is opaque; inside it are a version, the list it belongs to and a place.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::problem::Refusal;

const VERSION: char = '1';
const BYTES_MAX: usize = 1_024;

/// Which list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tasks,
    Lanes,
    Users,
    Groups,
    Tokens,
    Audit,
    Endpoints,
    Alerts,
    Subscriptions,
    Jobs,
    Sites,
    Analyses,
    /// Of one analysis.
    Batches,
    Events,
    Notifications,
    /// Found by what is in their events: it goes on below an event.
    NotificationsByContent,
    Wikis,
    WikiPages,
    Extractions,
    Imports,
    Crawls,
    Watches,
    Comparisons,
    Versions,
    Checks,
    Entries,
}

impl List {
    fn letter(self) -> char {
        match self {
            List::Tasks => 't',
            List::Lanes => 'l',
            List::Users => 'u',
            List::Groups => 'g',
            List::Tokens => 'k',
            List::Audit => 'a',
            List::Endpoints => 'e',
            List::Alerts => 'w',
            List::Subscriptions => 's',
            List::Jobs => 'j',
            List::Sites => 'o',
            List::Analyses => 'y',
            List::Batches => 'b',
            List::Events => 'v',
            List::Notifications => 'n',
            List::NotificationsByContent => 'c',
            List::Wikis => 'i',
            List::WikiPages => 'p',
            List::Extractions => 'x',
            List::Imports => 'm',
            List::Crawls => 'r',
            List::Watches => 'h',
            List::Comparisons => 'd',
            List::Versions => 'f',
            List::Checks => 'y',
            List::Entries => 'z',
        }
    }
}

pub(crate) fn write(list: List, place: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{VERSION}{}{place}", list.letter()))
}

/// The place in `list` that this cursor stands for.
pub(crate) fn read(list: List, cursor: Option<&str>) -> Result<Option<String>, Refusal> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().filter(|bytes| bytes.len() <= BYTES_MAX);
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(foreign)?;
    let rest = text.strip_prefix(VERSION).ok_or_else(foreign)?;
    match rest.strip_prefix(list.letter()) {
        Some(place) if !place.is_empty() => Ok(Some(place.to_owned())),
        _ => Err(foreign()),
    }
}

/// Like [`read`], for a place that is a number or an id.
pub(crate) fn read_as<T: std::str::FromStr>(list: List, cursor: Option<&str>) -> Result<Option<T>, Refusal> {
    read(list, cursor)?.map(|place| place.parse().map_err(|_| foreign())).transpose()
}

fn foreign() -> Refusal {
    Refusal::invalid("this cursor is not from this list: take next_cursor as it was given, or start without one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_in_its_own_list_only() {
        let cursor = write(List::Lanes, "drill/ä");
        assert_eq!(read(List::Lanes, Some(&cursor)).expect("reads"), Some("drill/ä".into()));
        assert!(read(List::Users, Some(&cursor)).is_err());
        assert_eq!(read(List::Users, None).expect("none"), None);
    }

    #[test]
    fn what_is_not_a_cursor_is_refused() {
        let newer = URL_SAFE_NO_PAD.encode("2lx");
        let nowhere = URL_SAFE_NO_PAD.encode("1l");
        for wrong in ["", "x", "!!!", &newer, &nowhere, &"A".repeat(4_000)] {
            assert!(read(List::Lanes, Some(wrong)).is_err(), "{wrong}");
        }
        assert!(read_as::<i64>(List::Audit, Some(&write(List::Audit, "12x"))).is_err());
        assert_eq!(read_as::<i64>(List::Audit, Some(&write(List::Audit, "12"))).expect("reads"), Some(12));
    }
}
