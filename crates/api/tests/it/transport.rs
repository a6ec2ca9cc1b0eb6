//! What every request passes: ids, packing, limits of time and size, panics, headers, metrics.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use malla_api::{Settings, layers};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

use crate::house::House;

#[tokio::test]
async fn a_request_id_goes_in_and_out() {
    let house = House::new().await;
    let ask = async |id: &str| {
        let request = Request::get("/livez").header("x-request-id", id).body(Body::empty()).unwrap();
        house.send(request).await.headers["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(ask("build-17").await, "build-17");
    let made = ask("not sane").await;
    assert!(made.len() == 16 && made != ask("not sane").await, "{made}");
}

#[tokio::test]
async fn answers_are_packed_for_who_takes_it() {
    let house = House::new().await;
    for encoding in ["gzip", "zstd"] {
        let request = Request::get("/openapi.json").header("accept-encoding", encoding).body(Body::empty()).unwrap();
        assert_eq!(house.send(request).await.headers["content-encoding"], encoding);
    }
    assert!(!house.get("/openapi.json", "").await.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn bodies_are_unpacked_and_their_true_size_counts() {
    let house = House::with(Settings { body_bytes_max: 10_000, ..Settings::default() }).await;
    let send = async |encoding: &str, body: Vec<u8>| {
        let request = Request::post("/api/v1/groups")
            .header("authorization", "Bearer admin")
            .header("content-type", "application/json")
            .header("content-encoding", encoding);
        house.send(request.body(Body::from(body)).unwrap()).await
    };
    send("gzip", gzip(json!({ "name": "packed" }).to_string().as_bytes())).await.ok();
    let bomb = gzip(json!({ "name": "x".repeat(100_000) }).to_string().as_bytes());
    assert!(bomb.len() < 1_000);
    send("gzip", bomb).await.refused(413, "too_large", &["10000 bytes, unpacked"]);
    send("gzip", b"this is not gzip".to_vec()).await.refused(400, "invalid", &["cannot be unpacked"]);
    send("br", vec![1]).await.refused(415, "unsupported_media_type", &["gzip or with zstd"]);
}

/// By the system's own gzip, so that no second implementation is needed here.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let mut packed = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut packed).unwrap();
    assert!(child.wait().unwrap().success());
    packed
}

async fn ask(router: Router, path: &str) -> (u16, serde_json::Value) {
    let response = router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn a_panic_is_a_500_that_tells_nothing() {
    async fn broken() -> &'static str {
        panic!("a secret detail")
    }
    let router = layers(Router::new().route("/broken", get(broken)), &Settings::default());
    let (status, problem) = ask(router, "/broken").await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal")));
    assert!(!problem.to_string().contains("secret") && problem["request_id"].is_string());
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_a_503() {
    let settings = Settings { request_timeout: Duration::from_millis(20), ..Settings::default() };
    let router = layers(Router::new().route("/slow", get(std::future::pending::<&str>)), &settings);
    let (status, problem) = ask(router, "/slow").await;
    assert_eq!((status, &problem["code"]), (503, &json!("timeout")));
    assert!(problem["detail"].as_str().unwrap().contains("same Idempotency-Key"));
}

#[tokio::test]
async fn an_error_without_a_body_becomes_a_problem() {
    let (status, problem) = ask(layers(Router::new(), &Settings::default()), "/elsewhere").await;
    assert_eq!((status, &problem["code"]), (404, &json!("not_found")));
    assert!(problem["detail"].as_str().unwrap().contains("/elsewhere") && problem["request_id"].is_string());
}

#[tokio::test]
async fn requests_are_counted_by_route_and_not_by_path() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _counting = metrics::set_default_local_recorder(&recorder);
    let house = House::new().await;
    for id in ["0000000000000", "0000000000001"] {
        house.get(&format!("/api/v1/tasks/{id}"), "admin").await;
    }
    house.call("BREW", "/livez", "", None).await;
    let text = recorder.handle().render();
    let counted = r#"malla_http_requests_total{route="/api/v1/tasks/{id}",method="GET",status="404"} 2"#;
    assert!(text.contains(counted), "{text}");
    assert!(text.contains(r#"malla_http_requests_total{route="/livez",method="other",status="405"} 1"#), "{text}");
    assert!(text.contains(r#"malla_http_request_seconds_count{route="/api/v1/tasks/{id}",method="GET"} 2"#), "{text}");
}

#[tokio::test]
async fn browsers_are_told_to_be_careful() {
    let house = House::new().await;
    for answer in [house.get("/api/v1/me", "admin").await, house.get("/api/v1/me", "").await] {
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["x-frame-options"], "DENY");
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
    }
}

#[tokio::test]
async fn health_follows_the_process_and_the_store() {
    let house = House::new().await;
    assert_eq!(house.get("/livez", "").await.ok(), json!({ "status": "ok" }));
    assert_eq!(house.get("/readyz", "").await.ok(), json!({ "status": "ok" }));
    house.ready.store(false, std::sync::atomic::Ordering::SeqCst);
    house.get("/readyz", "").await.refused(503, "unavailable", &["not ready: shutting down"]);
    assert_eq!(house.get("/livez", "").await.status, 200);
}

#[tokio::test]
async fn metrics_may_be_kept_from_strangers() {
    let open = House::new().await.get("/metrics", "").await;
    assert_eq!((open.status.as_u16(), open.text.as_str()), (200, "malla_up 1\n"));
    assert!(open.headers["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    let house = House::with(Settings { metrics_public: false, ..Settings::default() }).await;
    house.get("/metrics", "").await.refused(401, "unauthorized", &["needs a token"]);
    assert_eq!(house.get("/metrics", "readonly").await.status, 200);
}

#[tokio::test]
async fn who_sends_first_and_reads_afterwards_sees_why_it_was_refused() {
    let house = House::new().await;
    let endpoint = house.endpoint("alpha").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, house.router.clone()).into_future());
    let small = format!("/in/{endpoint}");
    for (path, status) in [("/in/nowhere", 404), (small.as_str(), 413), ("/api/v1/groups", 401)] {
        for head in ["Content-Length: 8000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n7A1200\r\n"] {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{head}");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&vec![b'x'; 8_000_000]).await.unwrap();
            let end: &[u8] = if head.contains("chunked") { b"\r\n0\r\n\r\n" } else { b"" };
            stream.write_all(end).await.unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, *format!("HTTP/1.1 {status}").as_bytes(), "{head}");
        }
    }
}
