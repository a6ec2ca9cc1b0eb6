//! A list as a CSV file: with the filters of its page, streamed page by page, bounded.

use std::fmt::Write as _;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use malla_queue::UnixMs;

use crate::words;

/// Rows of a file: who wants more asks the API, page by page.
pub(crate) const ROWS_MAX: usize = 10_000;
/// Rows that are read at once.
const STEP: usize = 500;
/// A filter that matches little is answered in steps; this many are taken.
const STEPS_MAX: usize = 400;

/// Rows of cells, and where the next ones begin.
pub(crate) type Rows<C> = (Vec<Vec<String>>, Option<C>);

/// How far a file is.
struct State<C, P> {
    page: P,
    next: Next<C>,
    left: usize,
    steps: usize,
}

enum Next<C> {
    Head(String),
    Rows(Option<C>),
    End,
}

/// `name.csv` with these columns. `page` gives at most so many rows from a place on. What goes wrong on the way breaks
/// the download off, so that nobody takes a part for the whole.
pub(crate) fn csv<C, F>(name: &str, columns: &[&str], page: impl Fn(Option<C>, usize) -> F + Send + 'static) -> Response
where
    C: Send + 'static,
    F: Future<Output = malla_queue::Result<Rows<C>>> + Send,
{
    let state = State { page, next: Next::Head(line(columns)), left: ROWS_MAX, steps: STEPS_MAX };
    let body = stream::try_unfold(state, async |mut state| {
        let from = match std::mem::replace(&mut state.next, Next::End) {
            Next::Head(line) => {
                state.next = Next::Rows(None);
                return Ok(Some((line, state)));
            }
            Next::Rows(from) if state.left > 0 && state.steps > 0 => from,
            Next::Rows(_) | Next::End => return Ok(None),
        };
        let (rows, next) = (state.page)(from, state.left.min(STEP)).await.map_err(std::io::Error::other)?;
        state.left = state.left.saturating_sub(rows.len());
        state.steps -= 1;
        state.next = next.map_or(Next::End, |next| Next::Rows(Some(next)));
        let text: String = rows.iter().map(|row| line(row)).collect();
        Ok::<_, std::io::Error>(Some((text, state)))
    });
    let attachment = format!("attachment; filename=\"{name}.csv\"");
    let headers = [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, &attachment)];
    (headers, Body::from_stream(body)).into_response()
}

/// All rows of something that is in memory.
pub(crate) fn csv_of(name: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Response {
    let rows = std::sync::Mutex::new(rows);
    csv(name, columns, move |_: Option<()>, _| {
        let rows = std::mem::take(&mut *rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        async move { Ok((rows, None)) }
    })
}

fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let mut text = String::new();
    for (nth, value) in cells.iter().enumerate() {
        let comma = if nth > 0 { "," } else { "" };
        write!(text, "{comma}{}", cell(value.as_ref())).expect("a string takes everything");
    }
    text + "\r\n"
}

/// In quotes where that is needed. What a spreadsheet would take for a formula is kept from being one.
fn cell(value: &str) -> String {
    let formula = value.starts_with(['=', '+', '@', '\t', '\r'])
        || (value.starts_with('-') && !value[1..].starts_with(|c: char| c.is_ascii_digit()));
    let value = if formula { format!("'{value}") } else { value.to_owned() };
    if value.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

/// A moment as programs write it; empty if there is none.
pub(crate) fn moment(at: Option<UnixMs>) -> String {
    at.map_or_else(String::new, |at| words::strftime(at, "%Y-%m-%dT%H:%M:%S%.3fZ"))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        for (value, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("-5", "-5"),
            ("-cmd", "'-cmd"),
            ("", ""),
        ] {
            assert_eq!(cell(value), expected);
        }
    }

    #[tokio::test]
    async fn a_file_has_all_pages_and_ends_at_its_limit() {
        let page = |from: Option<usize>, most: usize| async move {
            let from = from.unwrap_or(0);
            let rows = (from..from + most).map(|n| vec![n.to_string(), "x".into()]).collect();
            Ok((rows, Some(from + most)))
        };
        let body = to_bytes(csv("all", &["n", "what"], page).into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.starts_with("n,what\r\n0,x\r\n1,x\r\n"), "{}", &text[..40]);
        assert_eq!(text.lines().count(), ROWS_MAX + 1);
        assert!(text.ends_with(&format!("{},x\r\n", ROWS_MAX - 1)));
    }

    #[tokio::test]
    async fn what_goes_wrong_on_the_way_breaks_the_file_off() {
        let page = |from: Option<u8>, _: usize| async move {
            match from {
                None => Ok((vec![vec!["1".to_owned()]], Some(1))),
                Some(_) => Err(malla_queue::Error::Unavailable("gone".into())),
            }
        };
        assert!(to_bytes(csv("all", &["n"], page).into_body(), usize::MAX).await.is_err());
    }
}
