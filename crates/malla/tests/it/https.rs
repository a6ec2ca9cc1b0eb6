//! HTTPS with a certificate of one's own.

use crate::server::Place;

#[test]
fn commands_find_and_trust_a_server_with_its_own_certificate() {
    let place = Place::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("made");
    let (cert, key) = (place.root().join("cert.pem"), place.root().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let files = [("MALLA_TLS_CERT", "cert.pem"), ("MALLA_TLS_KEY", "key.pem")];
    let server = place.start_with(&[], &files);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    server.ok(&["healthcheck"]);
    let id = server.field(&["tasks", "submit", "drill/try"], "id");
    server.wait_for_state(&id, &["succeeded"]);
    assert_eq!(server.terminate().status.code(), Some(0));

    std::fs::write(&key, "no key").expect("written");
    let ended = place.spawn(&[], &files).wait();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.said.iter().any(|line| line.contains("cannot serve HTTPS")), "{:?}", ended.said);
}
