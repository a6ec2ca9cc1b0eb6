//! Sites over TLS.

use std::sync::Arc;
use std::time::Duration;

use malla_fetch::{GetLimits, Line, NO_ANSWER, PageUrl, TroubleKind};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::fetching::{fetch, fetch_over, getter, item, text, troubled};
use crate::origin::{Origin, Reply};

/// A site's certificate for this name, and a device's trust in it.
fn certificate(name: &str) -> (ServerConfig, ClientConfig) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    let certificate: CertificateDer<'static> = params.self_signed(&key).expect("a certificate").into();
    let provider = Arc::new(ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .expect("they fit");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    (server, client)
}

#[tokio::test]
async fn a_page_over_tls_comes_over_one_connection() {
    let (server, client) = certificate("localhost");
    let origin = Origin::secure(server, |_| Reply::page(b"secret")).await;
    let (getter, mut line) = (getter().with_tls(client), Line::default());
    for _ in 0..3 {
        let answer = fetch_over(&getter, &mut line, &item(origin.url("/"))).await;
        assert_eq!((answer.status, text(&answer.body).as_str(), answer.trouble), (200, "secret", None));
    }
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for() {
    let (server, _) = certificate("localhost");
    let origin = Origin::secure(server, |_| Reply::page(b"")).await;
    let answer = fetch(&getter(), origin.url("/")).await;
    troubled(&answer, NO_ANSWER, TroubleKind::Tls, "no authority known here has signed it");
}

#[tokio::test]
async fn a_certificate_for_another_name() {
    let (server, client) = certificate("example.org");
    let origin = Origin::secure(server, |_| Reply::page(b"")).await;
    let answer = fetch(&getter().with_tls(client), origin.url("/")).await;
    troubled(&answer, NO_ANSWER, TroubleKind::Tls, "it is for another name");
}

#[tokio::test]
async fn a_site_that_speaks_no_tls() {
    for (reply, what, note) in [
        (Reply::raw("HTTP/1.1 400 Bad Request\r\n\r\n"), TroubleKind::Tls, "there is no TLS with"),
        (Reply::raw("").hang(), TroubleKind::TimedOut, "no connection"),
    ] {
        // It answers whatever comes, without waiting for the end of a head.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}/", listener.local_addr().expect("an address"));
        let talk = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            reply.say(stream).await;
        });
        let limits = GetLimits { connect: Duration::from_millis(400), ..GetLimits::default() };
        let answer = fetch(&getter().with_limits(limits), PageUrl::parse(&url).expect("a URL")).await;
        troubled(&answer, NO_ANSWER, what, note);
        talk.await.expect("no panic");
    }
}
