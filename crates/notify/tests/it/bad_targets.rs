//! Targets that do harm, by accident or on purpose: each costs one bounded attempt and leaves a clear sentence.

use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Failure, NextTry};
use malla_reach::Guard;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use crate::house::{House, answer, attempt, content, done, failed, impatient, spec};
use crate::receiver::{Receiver, socket};

/// Longer than the timeout of the attempts, with air for a busy machine.
const SOON: Duration = Duration::from_secs(5);

/// Reads a request to the end of its head; its body is `{}`.
async fn read_request(stream: &mut TcpStream) {
    let mut got = Vec::new();
    while !got.ends_with(b"{}") {
        assert_ne!(stream.read_buf(&mut got).await.expect("a request"), 0);
    }
}

async fn fails_soon(target: &str) -> Failure {
    let started = Instant::now();
    let failure = failed(House::new().with(impatient(target)).deliver(content("{}")).await);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_eq!(failure.next, NextTry::ByDelays);
    failure
}

/// Writes again and again until the other side has had enough.
async fn write_until_refused(stream: &mut TcpStream, bytes: &[u8], every: Duration) {
    while stream.write_all(bytes).await.is_ok() {
        sleep(every).await;
    }
}

#[tokio::test]
async fn one_that_hangs() {
    let (target, treated) = socket(|mut stream| async move {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await
    })
    .await;
    let failure = fails_soon(&target).await;
    assert_eq!(failure.note, "the target did not answer within 1 s");
    assert_eq!(failure.answer, None);
    timeout(SOON, treated).await.expect("the connection is let go").expect("no panic").expect("all read");
}

#[tokio::test]
async fn one_that_drips_its_head() {
    let (target, treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await.expect("a beginning");
        write_until_refused(&mut stream, b"x", Duration::from_millis(50)).await;
    })
    .await;
    assert_eq!(fails_soon(&target).await.note, "the target did not answer within 1 s");
    timeout(SOON, treated).await.expect("the connection is let go").expect("no panic");
}

#[tokio::test]
async fn one_that_drips_its_body() {
    let (target, treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await.expect("a head");
        write_until_refused(&mut stream, b"x", Duration::from_millis(50)).await;
    })
    .await;
    let failure = fails_soon(&target).await;
    assert_eq!(failure.note, "the target did not end its answer within 1 s");
    let answer = failure.answer.expect("what came");
    assert_eq!((&answer["status"], &answer["truncated"]), (&json!(200), &json!(true)));
    assert!(answer["body"].as_str().expect("text").starts_with("xx"));
    timeout(SOON, treated).await.expect("the connection is let go").expect("no panic");
}

#[tokio::test]
async fn one_that_answers_without_end() {
    let (target, treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("a head");
        write_until_refused(&mut stream, &[b'x'; 4_096], Duration::ZERO).await;
    })
    .await;
    let outcome = done(attempt(&target).await);
    assert_eq!(answer(&outcome)["truncated"], json!(true));
    assert!(answer(&outcome).to_string().len() < 24 * 1024);
    timeout(SOON, treated).await.expect("the rest is not read").expect("no panic");
}

#[tokio::test]
async fn one_whose_headers_have_no_end() {
    let (target, treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.expect("a beginning");
        write_until_refused(&mut stream, &b"x-more: and more\r\n".repeat(50), Duration::ZERO).await;
    })
    .await;
    let failure = fails_soon(&target).await;
    assert!(failure.note.contains("headers of the answer from 127.0.0.1 are too large"), "{}", failure.note);
    timeout(SOON, treated).await.expect("the rest is not read").expect("no panic");
}

#[tokio::test]
async fn one_with_many_and_large_headers() {
    let (target, _treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        let mut head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n".to_owned();
        for n in 0..90 {
            head.push_str(&format!("x-{n}: {}\r\n", "\"".repeat(500)));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("a head");
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let outcome = done(attempt(&target).await);
    assert_eq!(answer(&outcome)["truncated"], json!(true));
    assert!(answer(&outcome).to_string().len() < 9 * 1024);
}

#[tokio::test]
async fn one_that_speaks_no_http() {
    let (target, _treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"220 mail.example ESMTP\r\n\r\n").await.expect("a greeting");
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    assert_eq!(fails_soon(&target).await.note, "what 127.0.0.1 answered is not HTTP");
}

#[tokio::test]
async fn one_that_resets_the_connection() {
    let (target, _treated) = socket(|stream| async move {
        // Closed with something unread, a connection is reset.
        stream.peek(&mut [0]).await.expect("a request");
    })
    .await;
    let note = fails_soon(&target).await.note;
    assert_eq!(note, "127.0.0.1 reset the connection before it had answered");
}

#[tokio::test]
async fn one_that_hangs_up() {
    let (target, _treated) = socket(|mut stream| async move { read_request(&mut stream).await }).await;
    assert_eq!(fails_soon(&target).await.note, "127.0.0.1 closed the connection before it had answered");
}

#[tokio::test]
async fn one_that_breaks_off() {
    let (target, _treated) = socket(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf").await.expect("a half");
    })
    .await;
    let failure = fails_soon(&target).await;
    assert!(failure.note.starts_with("the target broke off its answer: "), "{}", failure.note);
    assert_eq!(failure.answer.expect("what came")["body"], json!("half"));
}

#[tokio::test]
async fn one_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let note = fails_soon(&format!("http://{address}/")).await.note;
    assert!(note.starts_with("connection refused"), "{note}");
    let note = fails_soon("http://no-such-name.invalid/").await.note;
    assert!(note.starts_with("the name no-such-name.invalid does not resolve"), "{note}");
}

#[tokio::test]
async fn one_on_this_machine_when_that_is_not_allowed() {
    let target = Receiver::new().await;
    for (host, says) in [
        ("localhost", "no address of localhost may be reached: "),
        ("127.0.0.1", "127.0.0.1 may not be reached: it is loopback"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1 may not be reached: it is loopback"),
        ("2130706433", "127.0.0.1 may not be reached: it is loopback"),
    ] {
        let url = format!("http://{host}:{}/", target.address.port());
        let failure = failed(House::guarded(Guard::default()).with(spec(&url)).deliver(content("{}")).await);
        assert!(failure.note.starts_with(says), "{host}: {}", failure.note);
        assert_eq!(failure.next, NextTry::ByDelays);
    }
    assert!(target.got().is_empty());
    let allowed = Guard::new(false, vec!["127.0.0.0/8".parse().expect("a network")]);
    let url = format!("http://localhost:{}/", target.address.port());
    done(House::guarded(allowed).with(spec(&url)).deliver(content("{}")).await);
    target.only();
}

#[tokio::test]
async fn one_with_a_certificate_of_its_own_making() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a server");
    let (target, treated) =
        socket(
            move |stream| async move { tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(stream).await.is_ok() },
        )
        .await;
    let target = target.replace("http://127.0.0.1", "https://localhost");
    let note = fails_soon(&target).await.note;
    assert!(note.starts_with("the certificate of localhost is not valid: "), "{note}");
    assert!(!treated.await.expect("no panic"), "nothing was sent");
}

#[tokio::test]
async fn one_that_speaks_no_tls() {
    let (target, _treated) = socket(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("an answer");
        let _ = stream.read(&mut [0; 1_024]).await;
    })
    .await;
    let note = fails_soon(&target.replace("http:", "https:")).await.note;
    assert!(note.starts_with("there is no TLS with 127.0.0.1: "), "{note}");
}
