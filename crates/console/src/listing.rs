//! The frame of a list that comes in pages: its rows, and the way to the further ones beneath.

use std::time::Duration;

use maud::Markup;

use crate::frame::Page;
use crate::params::Params;
use crate::parts;

/// A list whose filter matches little looks on for this long; whoever wants more goes on from there.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);
/// Rows of a page. A list is asked for one more: that one says that there is a next page.
pub(crate) const ROWS: usize = 50;

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first page changes by itself; older ones stay as they are.
    NewestFirst,
    ByName,
}

/// A page of a list.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// Where the next page begins.
    next: Option<String>,
}

impl<T> Listed<T> {
    /// Of up to [`ROWS`] and one items.
    pub(crate) fn of(mut items: Vec<T>, place: impl Fn(&T) -> String) -> Self {
        let more = items.len() > ROWS;
        items.truncate(ROWS);
        let next = items.last().filter(|_| more).map(place);
        Self { items, next }
    }

    /// Of items that were looked for; `next` is where the look goes on.
    pub(crate) fn up_to(items: Vec<T>, next: Option<String>) -> Self {
        Self { items, next }
    }

    /// Whether there may be more.
    pub(crate) fn goes_on(&self) -> bool {
        self.next.is_some()
    }

    /// The page with these rows, called `name` where they are live, and the pager.
    /// The links keep the fields of `params`.
    pub(crate) fn on(self, page: Page, params: &Params, order: Order, name: &'static str, rows: Markup) -> Page {
        let words = match order {
            Order::NewestFirst => (t!("Newest"), t!("Older")),
            Order::ByName => (t!("First"), t!("Further")),
        };
        let pager = parts::pager(page.place(), params, self.next, words);
        if order == Order::NewestFirst && params.get("cursor").is_some() {
            return page.still(rows).still(pager);
        }
        page.live(name, rows).live("pager", pager)
    }
}
