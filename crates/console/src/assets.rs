//! The stylesheet, the script and the icon, compiled in. Their addresses carry a fingerprint of their content, so a
//! browser may keep them for ever.

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::params::Params;

pub(crate) const CSS: Asset =
    Asset { path: "/assets/console.css", kind: "text/css; charset=utf-8", text: include_str!("assets/console.css") };
pub(crate) const JS: Asset = Asset {
    path: "/assets/console.js",
    kind: "text/javascript; charset=utf-8",
    text: include_str!("assets/console.js"),
};
pub(crate) const ICON: Asset =
    Asset { path: "/assets/icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") };

#[derive(Clone, Copy)]
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

impl Asset {
    pub(crate) fn address(&self) -> String {
        format!("{}?v={}", self.path, self.fingerprint())
    }

    /// FNV-1a: it only has to change when the text does.
    fn fingerprint(&self) -> String {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        format!("{:016x}", self.text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }

    async fn serve(self, params: Params, headers: HeaderMap) -> Response {
        let tag = format!("\"{}\"", self.fingerprint());
        let current = params.get("v").is_some_and(|v| v == self.fingerprint());
        let keep = if current { "public, max-age=31536000, immutable" } else { "no-cache" };
        let known = headers.get(header::IF_NONE_MATCH).is_some_and(|theirs| theirs.as_bytes() == tag.as_bytes());
        let mut answer = if known { StatusCode::NOT_MODIFIED.into_response() } else { self.text.into_response() };
        let fields = answer.headers_mut();
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
        fields.insert(header::ETAG, HeaderValue::try_from(tag).expect("hex in quotes"));
        answer
    }
}

pub(crate) fn router() -> Router {
    [CSS, JS, ICON].into_iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(move |params: Params, headers: HeaderMap| asset.serve(params, headers)))
    })
}
