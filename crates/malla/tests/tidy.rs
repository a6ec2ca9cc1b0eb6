//! The rules of the house that no compiler checks: who may use whom, what belongs where, how large a file may be.

use std::fs;
use std::path::{Path, PathBuf};

/// A file is one thing a person would look for.
const LINES_MAX: usize = 500;

/// Who may use whom, besides crates from elsewhere. `malla` may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("queue", &[]),
    ("access", &["queue"]),
    ("reach", &["queue"]),
    ("pulse", &["queue"]),
    ("notify", &["queue", "reach"]),
    ("fetch", &["queue", "pulse", "reach"]),
    ("wiki", &["queue", "pulse", "reach"]),
    ("analyze", &["queue"]),
    ("cluster", &["queue"]),
    ("gather", &[]),
    ("store", &["gather", "queue", "access", "notify", "fetch", "wiki", "analyze", "cluster"]),
    ("protocol", &[]),
    ("client", &["protocol"]),
    ("api", &["queue", "access", "notify", "fetch", "wiki", "analyze", "cluster", "protocol"]),
    ("console", &["queue", "access", "notify", "fetch", "wiki", "analyze", "cluster", "protocol"]),
];

/// Crates from elsewhere that have one home.
const HOME_OF: &[(&str, &[&str])] = &[
    ("rusqlite", &["store", "gather"]),
    ("tokio-postgres", &["store"]),
    ("object_store", &["store"]),
    ("maud", &["console"]),
    ("clap", &["malla"]),
    ("figment", &["malla"]),
    ("anyhow", &["malla"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn crates() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).expect("the crates");
    let mut names: Vec<String> =
        folders.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect();
    names.sort();
    names
}

/// What a crate depends on, tests apart.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    let name_of = |line: &str| Some(line.split(['.', ' ', '=']).next()?.to_owned());
    section.lines().filter(|line| !line.starts_with('#')).filter_map(name_of).filter(|name| !name.is_empty()).collect()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push(path);
        }
    }
}

fn sources_of(name: &str, part: &str) -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    sources(&root().join("crates").join(name).join(part), &mut paths);
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("text"))).collect()
}

#[test]
fn rooms_use_only_what_they_may() {
    for name in crates().iter().filter(|name| *name != "malla") {
        let (_, allowed) =
            MAY_USE.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("say in MAY_USE what {name} may use"));
        for used in dependencies(name).iter().filter_map(|used| used.strip_prefix("malla-")) {
            assert!(allowed.contains(&used), "{name} must not use {used}");
        }
    }
}

#[test]
fn crates_with_one_home_stay_there() {
    for name in crates() {
        for used in dependencies(&name) {
            if let Some((_, homes)) = HOME_OF.iter().find(|(of, _)| *of == used) {
                assert!(homes.contains(&name.as_str()), "{used} belongs to {homes:?}, not to {name}");
            }
        }
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_house() {
    // It speaks with SQLite in C, and has the same lints but one.
    for name in crates().iter().filter(|name| *name != "gather") {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name}");
    }
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    assert!(workspace.contains("unsafe_code = \"forbid\""));
}

#[test]
fn files_say_what_they_hold_and_stay_small() {
    for name in crates() {
        for (path, text) in sources_of(&name, "src").into_iter().chain(sources_of(&name, "tests")) {
            let lines = text.lines().count();
            assert!(lines <= LINES_MAX, "{} has {lines} lines: at most {LINES_MAX}", path.display());
            assert!(text.starts_with("//!"), "{} does not say in its first line what it holds", path.display());
        }
    }
}

#[test]
fn sql_is_in_the_store_and_status_codes_at_the_edge() {
    for name in crates() {
        for (path, text) in sources_of(&name, "src") {
            let path = path.display();
            if name != "store" {
                let sql = ["SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE lane"];
                assert!(!sql.iter().any(|word| text.contains(word)), "SQL in {path}");
            }
            if !["api", "console", "client", "malla"].contains(&name.as_str()) {
                assert!(!text.contains("StatusCode"), "an HTTP status in {path}");
            }
        }
    }
}
