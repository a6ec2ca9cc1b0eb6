//! What a client says when things go wrong.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Redirect;
use axum::routing::get;
use malla_client::Error;
use malla_protocol::{Code, NewGroup, TaskQuery};
use tokio::net::TcpListener;

use crate::server::{Server, client, nobody};

#[tokio::test]
async fn a_server_that_is_away_is_named() {
    let address = nobody().await;
    let error = client(&[&address.to_string()], None).me().await.unwrap_err();
    let Error::Unreachable(server, why) = &error else { panic!("{error:?}") };
    assert_eq!(*server, format!("http://{address}"));
    assert!(why.to_lowercase().contains("refused"), "{why}");
    assert!(error.to_string().starts_with(&format!("cannot reach http://{address}: ")));
}

#[tokio::test]
async fn a_patient_client_waits_for_a_server() {
    let address = nobody().await;
    let patient = client(&[&address.to_string()], None).patient(Duration::from_secs(30));
    let asked = tokio::spawn(async move { patient.me().await });
    // Something answers there at last, though it is no server of ours.
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new()).await });
    let error = asked.await.unwrap().unwrap_err();
    assert!(!matches!(error, Error::Unreachable(..)), "{error:?}");
}

#[tokio::test]
async fn the_next_server_is_asked_and_kept() {
    let (server, away) = (Server::start().await, nobody().await);
    let client = client(&[&away.to_string(), &server.url], Some("admin"));
    client.create_group(&NewGroup { name: "alpha".into() }).await.unwrap();
    assert_eq!(client.group("alpha").await.unwrap().name, "alpha");
}

#[tokio::test]
async fn a_refusal_keeps_the_servers_words() {
    let server = Server::start().await;
    let error = client(&[&server.url], None).me().await.unwrap_err();
    assert_eq!(error.problem().unwrap().code, Code::Unauthorized);
    assert!(error.to_string().contains("needs a token"), "{error}");
    let query = TaskQuery { state: Some("done".into()), ..TaskQuery::default() };
    let Err(error) = server.client().tail(&query).await else { panic!("a tail of nonsense") };
    assert!(error.to_string().contains("\"done\" is not a state"), "{error}");
}

#[tokio::test]
async fn what_is_not_a_malla_server_is_recognised() {
    let strange = Router::new()
        .route("/livez", get(async || "hello"))
        .route("/readyz", get(async || (StatusCode::BAD_GATEWAY, "<h1>proxy</h1>")))
        .route("/api/v1/me", get(async || Redirect::permanent("https://elsewhere.example/")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, strange).await });
    let client = client(&[&address], None);
    check(client.live().await.unwrap_err(), &["answered something unexpected"]);
    check(client.ready().await.unwrap_err(), &["502", "not as a Malla server"]);
    check(client.me().await.unwrap_err(), &["https://elsewhere.example/", "use that address"]);
}

fn check(error: Error, words: &[&str]) {
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "\"{error}\" lacks \"{word}\"");
    }
}
