//! The layers of the configuration, and what is said about wrong ones.

use super::*;
use crate::roles::Role;

fn sources(file: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Sources {
    Sources {
        file: (!file.is_empty()).then(|| ("malla.toml".into(), file.into())),
        variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        flags: flags.iter().map(|(key, value)| Flag { key, name: "--flag", value: (*value).into() }).collect(),
    }
}

fn shown(loaded: &Loaded, key: &str) -> (String, String) {
    let shown = loaded.shown().into_iter().find(|shown| shown.key == key).expect("a known key");
    (shown.value.to_string(), shown.source)
}

/// The sentence for these wrong sources.
#[track_caller]
fn refusal(file: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> String {
    let loaded = load(sources(file, variables, flags));
    loaded.and_then(|loaded| loaded.config().map(drop)).expect_err("refused").to_string()
}

#[test]
fn the_defaults_are_complete_and_within_their_own_bounds() {
    let loaded = load(Sources::default()).expect("loads");
    let config = loaded.config().expect("every field has a default");
    assert_eq!(config.store_url(), "sqlite:./malla-data/malla.db");
    assert_eq!(config.roles.len(), 6);
    assert!(config.tls().is_none() && config.anonymous_role().is_none());
    for (key, default) in known() {
        settle(&key, &default, default.clone()).expect("a default is a valid value");
    }
    assert!(loaded.shown().iter().all(|shown| shown.source == "default"));
}

#[test]
fn each_layer_overrides_the_one_below_and_is_named_as_the_source() {
    let file = "listen = \"127.0.0.1:1\"\ndata = \"from-file\"\n[log]\nformat = \"json\"\nlevel = \"warn\"\n";
    let variables = [("MALLA_LISTEN", "127.0.0.1:2"), ("MALLA_LOG_LEVEL", "debug")];
    let loaded = load(sources(file, &variables, &[("listen", "127.0.0.1:3")])).expect("loads");
    assert_eq!(shown(&loaded, "listen"), ("\"127.0.0.1:3\"".into(), "flag --flag".into()));
    assert_eq!(shown(&loaded, "log.level"), ("\"debug\"".into(), "variable MALLA_LOG_LEVEL".into()));
    assert_eq!(shown(&loaded, "log.format"), ("\"json\"".into(), "file malla.toml".into()));
    assert_eq!(shown(&loaded, "data"), ("\"from-file\"".into(), "file malla.toml".into()));
    assert_eq!(shown(&loaded, "store"), ("\"\"".into(), "default".into()));
    assert_eq!(loaded.config().expect("valid").log.format, LogFormat::Json);
}

#[test]
fn text_from_variables_takes_the_type_of_the_key() {
    let variables = [
        ("MALLA_ROLES", "api, medic"),
        ("MALLA_QUEUE_LEASE_S", "5"),
        ("MALLA_METRICS_PUBLIC", "false"),
        ("MALLA_ANONYMOUS_ROLE", "readonly"),
        ("MALLA_ALLOW_PRIVATE", "true"),
    ];
    let loaded = load(sources("", &variables, &[])).expect("loads");
    let config = loaded.config().expect("valid");
    assert_eq!(config.roles, [Role::Api, Role::Medic]);
    assert_eq!(config.queue.lease_s, 5);
    assert!(!config.metrics_public);
    assert_eq!(config.anonymous_role(), Some(malla_access::Role::Readonly));
    assert_eq!(shown(&loaded, "allow_private").0, "true");
}

#[test]
fn unknown_keys_are_named_with_their_source_and_the_nearest_known_one() {
    let text = refusal("[log]\nformta = \"json\"", &[], &[]);
    assert!(text.contains("malla.toml") && text.contains("log.formta") && text.contains("log.format?"), "{text}");
    let text = refusal("", &[("MALLA_LISTNE", "x")], &[]);
    assert!(text.contains("MALLA_LISTNE") && text.contains("MALLA_LISTEN?"), "{text}");
    let text = refusal("log = \"info\"", &[], &[]);
    assert!(text.contains("log is a section") && text.contains("log.level"), "{text}");
}

#[test]
fn wrong_values_are_named_with_key_value_and_source() {
    check("[queue]\nlease_s = \"soon\"", &[], &["malla.toml", "queue.lease_s", "\"soon\"", "a whole number"]);
    check("[queue]\nlease_s = 1.5", &[], &["queue.lease_s", "1.5", "a whole number"]);
    check("[queue]\nlease_s = -1", &[], &["queue.lease_s", "-1", "a whole number"]);
    check("[queue]\nlease_s = 0", &[], &["queue.lease_s", "out of range", "from 1"]);
    check("data = 7", &[], &["data = 7", "text in quotes"]);
    check("metrics_public = \"yes\"", &[], &["metrics_public", "\"yes\"", "true or false"]);
    check("roles = [1]", &[], &["roles", "a list of words"]);
    check("listen =", &[], &["malla.toml is not valid TOML"]);
    check("", &[("MALLA_ROLES", "api,cook")], &["variable MALLA_ROLES", "\"cook\"", "notifier"]);
    check("", &[("MALLA_LOG_FORMAT", "xml")], &["MALLA_LOG_FORMAT", "\"xml\"", "text or json"]);
    check("", &[("MALLA_LOG_LEVEL", "info,x=loud")], &["MALLA_LOG_LEVEL", "x=loud"]);
    check("", &[("MALLA_ANONYMOUS_ROLE", "king")], &["\"king\"", "readonly, user, admin"]);
    check("", &[("MALLA_STORE", "mysql://x")], &["mysql://x", "sqlite:PATH"]);
    check("[tls]\ncert = \"a.pem\"", &[], &["tls.cert and tls.key belong together"]);
    check("[cluster]\nheartbeat_s = 6", &[], &["cluster.dead_after_s", "at least three times"]);
    check("[supervise.roles]\ncook = 1", &[], &["malla.toml", "supervise.roles.cook"]);
    check("[supervise.roles]\napi = 101", &[], &["supervise.roles.api", "out of range"]);
}

#[track_caller]
fn check(file: &str, variables: &[(&str, &str)], words: &[&str]) {
    let text = refusal(file, variables, &[]);
    assert!(words.iter().all(|word| text.contains(word)), "{text:?} lacks one of {words:?}");
}

#[test]
fn a_mistake_in_the_file_is_named_even_when_a_flag_hides_it() {
    let text = refusal("listen = 7", &[], &[("listen", "127.0.0.1:7")]);
    assert!(text.contains("listen = 7"), "{text}");
}

#[test]
fn only_a_wrong_flag_is_wrong_usage() {
    assert!(load(sources("", &[], &[("roles", "cook")])).expect_err("refused").usage);
    assert!(!load(sources("", &[("MALLA_ROLES", "cook")], &[])).expect_err("refused").usage);
}

#[test]
fn passwords_in_a_store_are_never_shown() {
    check_masked("postgres://ana:s3cret@db/malla", "postgres://ana:****@db/malla");
    check_masked("postgres://ana:s3c@r/et@a:1,b:2/malla", "postgres://ana:****@a:1,b:2/malla");
    check_masked("postgres://db/malla?user=ana&password=s3cret&x=1", "postgres://db/malla?user=ana&password=****&x=1");
    check_masked("postgres://ana@db:5432/malla", "postgres://ana@db:5432/malla");
    check_masked("sqlite:a/b.db", "sqlite:a/b.db");
    let text = refusal("store = \"mysql://ana:s3cret@db/malla\"", &[], &[]);
    assert!(!text.contains("s3cret"), "{text}");
}

fn check_masked(url: &str, expected: &str) {
    let loaded = load(sources("", &[("MALLA_STORE", url)], &[])).expect("loads");
    assert_eq!(shown(&loaded, "store").0, format!("\"{expected}\""));
    assert_eq!(loaded.config().expect("valid").store_url(), url);
}

#[test]
fn every_key_has_a_variable_of_its_own() {
    let mut variables: Vec<_> = known().keys().map(|key| variable(key)).collect();
    let count = variables.len();
    variables.sort();
    variables.dedup();
    assert_eq!(variables.len(), count);
    assert!(variables.iter().all(|name| is_setting(name)), "no setting looks like a foreign variable");
    for foreign in ["MALLA_PORT", "MALLA_PORT_7070_TCP", "MALLA_SERVICE_HOST", "MALLA_TOKEN", "PATH"] {
        assert!(!is_setting(foreign), "{foreign}");
    }
}

#[test]
fn the_mail_server_is_checked_and_its_password_masked() {
    let loaded = load(sources("[smtp]\nurl = \"smtp://ana:hunter2@mail.example.org\"", &[], &[])).expect("loads");
    assert_eq!(shown(&loaded, "smtp.url").0, "\"smtp://ana:****@mail.example.org\"");
    assert!(loaded.config().expect("valid").mail().expect("a server").is_some());
    assert!(!format!("{:?}", loaded.config().expect("valid")).contains("hunter2"));
    let text = refusal("[smtp]\nurl = \"http://ana:hunter2@mail.example.org\"", &[], &[]);
    assert!(text.contains("smtp.url") && text.contains("smtp://") && !text.contains("hunter2"), "{text}");
    let text = refusal("[smtp]\nfrom = \"nobody\"", &[], &[]);
    assert!(text.contains("smtp.from") && text.contains("not a sender"), "{text}");
}

#[test]
fn the_object_store_is_checked_and_its_secret_never_shown() {
    let file = "[bodies]\nstore = \"objects\"\nurl = \"s3://pages/malla\"\nkey_id = \"AKIA\"\nsecret = \"hunter2\"\ngrace_h = 48";
    let loaded = load(sources(file, &[], &[])).expect("loads");
    assert_eq!(shown(&loaded, "bodies.secret").0, "\"****\"");
    let config = loaded.config().expect("valid");
    let bodies = config.bodies().expect("an object store");
    assert_eq!((bodies.takes_new, bodies.inline_bytes_max, bodies.grace.as_secs()), (true, 16_384, 48 * 3_600));
    assert!(!format!("{config:?} {bodies:?}").contains("hunter2"));
    assert!(load(Sources::default()).expect("loads").config().expect("valid").bodies().is_none());

    check("[bodies]\nstore = \"s3\"", &[], &["bodies.store", "database or objects"]);
    check("[bodies]\nstore = \"objects\"", &[], &["bodies.url names no object store"]);
    check("[bodies]\nurl = \"https://pages\"", &[], &["bodies.url", "use s3://BUCKET/PREFIX or file:///PATH"]);
    check(
        "[bodies]\nurl = \"s3://pages\"\nkey_id = \"AKIA\"",
        &[],
        &["bodies.key_id and bodies.secret belong together"],
    );
    check("[bodies]\nendpoint = \"minio:9000\"", &[], &["bodies.endpoint", "write https://HOST:PORT"]);
    check("[bodies]\nendpoint = \"http://minio:9000\"", &[], &["bodies.endpoint is http://", "bodies.allow_http"]);
    check("[bodies]\ngrace_h = 0", &[], &["bodies.grace_h", "out of range"]);
    let text = refusal("[bodies]\nsecret = \"hunter2\"", &[("MALLA_BODIES_SECRET", "hunter2")], &[]);
    assert!(!text.contains("hunter2"), "{text}");
}
