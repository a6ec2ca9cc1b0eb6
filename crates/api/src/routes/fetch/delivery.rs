//! Work on its way to a device. Until the connection has taken it over it can go back.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use futures_util::stream;
use malla_fetch::Delivery;

use crate::problem::Refusal;
use crate::view;

/// The block as an answer. If its body is never asked for, because the device is gone, its work goes back to the lanes.
pub(super) fn carry(delivery: Delivery) -> Result<Response<Body>, Refusal> {
    let bytes = serde_json::to_vec(&view::fetch::block(delivery.block())).map_err(|_| Refusal::internal())?;
    let length = HeaderValue::from(bytes.len());
    let body = stream::once(async move {
        delivery.arrived();
        Ok::<_, Infallible>(Bytes::from(bytes))
    });
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_LENGTH, length);
    Ok(response)
}
