//! Live views: things as they appear and change.

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use malla_protocol::TaskView;
use reqwest::Response;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result, reason};
use crate::events::Events;
use crate::transport::place;

/// Things as they appear and change state. It ends when the server stops.
pub type Tail<T = TaskView> = BoxStream<'static, Result<T>>;

/// What the events called `name` hold. An error is the last thing it tells.
pub(crate) fn follow<T: DeserializeOwned + Send + 'static>(response: Response, name: &'static str) -> Tail<T> {
    let watching = (response, Events::default(), false);
    let items = unfold(watching, move |(mut response, mut events, ended)| async move {
        if ended {
            return None;
        }
        let next = next_item(&mut response, &mut events, name).await?;
        let ended = next.is_err();
        Some((next, (response, events, ended)))
    });
    items.boxed()
}

async fn next_item<T: DeserializeOwned>(response: &mut Response, events: &mut Events, name: &str) -> Option<Result<T>> {
    let server = place(response.url());
    loop {
        while let Some(event) = events.next() {
            if event.name == name {
                let item = serde_json::from_str(&event.data);
                return Some(item.map_err(|error| Error::Protocol(format!("{server} sent a {name} unread: {error}"))));
            }
        }
        match response.chunk().await {
            Ok(None) => return None,
            Ok(Some(bytes)) if events.push(&bytes) => {}
            Ok(Some(_)) => return Some(Err(Error::Protocol(format!("{server} sent an endless line")))),
            Err(error) => return Some(Err(Error::Unreachable(server, reason(&error)))),
        }
    }
}
