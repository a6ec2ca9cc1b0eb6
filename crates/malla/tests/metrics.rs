//! Metrics and what is said of them agree: each is described, each is in the manual, and no rule, plot or page names one that
//! does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const MANUAL: &str = "docs/operations.md";
const RULES: &str = "deploy/prometheus/alerts.yaml";
const DASHBOARD: &str = "deploy/grafana/malla.json";
/// What the exporter makes of a histogram.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.to_string_lossy().ends_with(ending) {
            into.push(path);
        }
    }
}

/// Each crate's name and the text of its sources.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let mut paths = Vec::new();
        files(&folder.join("src"), ".rs", &mut paths);
        sources.extend(paths.iter().map(|path| (name.clone(), fs::read_to_string(path).expect("text"))));
    }
    sources
}

/// The metrics that `text` names in calls of `make!`, as a word or by a constant of the same file.
fn named_by(text: &str, make: &str) -> Vec<String> {
    let call = format!("{make}!(");
    let begins_a_word = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let calls = text.match_indices(&call).filter(|(at, _)| begins_a_word(*at));
    calls.map(|(at, _)| first_argument(text, text[at + call.len()..].trim_start())).collect()
}

fn first_argument(text: &str, rest: &str) -> String {
    if let Some(literal) = rest.strip_prefix('"') {
        return literal.split('"').next().unwrap_or_default().to_owned();
    }
    let constant: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let value = text.split(&format!("const {constant}: &str = \"")).nth(1);
    let value = value.unwrap_or_else(|| panic!("the metric {rest:.40} is neither a word nor a constant of its file"));
    value.split('"').next().unwrap_or_default().to_owned()
}

struct Metrics {
    /// By name, whether it is a histogram.
    emitted: BTreeMap<String, bool>,
    described: BTreeSet<String>,
    crates: BTreeSet<String>,
}

fn metrics() -> Metrics {
    let mut found = Metrics { emitted: BTreeMap::new(), described: BTreeSet::new(), crates: BTreeSet::new() };
    for (name, text) in sources() {
        for make in ["counter", "gauge", "histogram"] {
            found.emitted.extend(named_by(&text, make).into_iter().map(|metric| (metric, make == "histogram")));
            found.described.extend(named_by(&text, &format!("describe_{make}")));
        }
        found.crates.insert(format!("malla_{name}"));
    }
    found
}

/// Words that look like metrics of ours.
fn mentioned(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = |word: &&str| ["malla_", "process_"].iter().any(|start| word.starts_with(start)) && !word.ends_with('_');
    words.filter(ours).map(str::to_owned).collect()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn every_metric_is_described_and_in_the_manual() {
    let (metrics, manual) = (metrics(), mentioned(&read(MANUAL)));
    assert!(metrics.emitted.len() > 5, "the search finds too little: {:?}", metrics.emitted);
    for name in metrics.emitted.keys() {
        assert!(metrics.described.contains(name), "{name} has no describe_…!");
        assert!(manual.contains(name), "{name} is not in {MANUAL}");
    }
    for name in &metrics.described {
        assert!(metrics.emitted.contains_key(name), "{name} is described and never emitted");
    }
}

#[test]
fn no_page_rule_or_plot_names_a_metric_that_does_not_exist() {
    let metrics = metrics();
    let mut paths = vec![root().join(MANUAL)];
    files(&root().join("deploy"), "", &mut paths);
    for path in paths {
        for name in mentioned(&fs::read_to_string(&path).expect("text")) {
            let whole = PARTS.iter().find_map(|part| name.strip_suffix(part));
            let part = whole.is_some_and(|whole| metrics.emitted.get(whole) == Some(&true));
            // A whole histogram can be spoken of, but not asked for.
            let spoken = path.ends_with(MANUAL) || metrics.emitted.get(&name) == Some(&false);
            let known = part || (metrics.emitted.contains_key(&name) && spoken) || metrics.crates.contains(&name);
            assert!(known, "{} names {name}, which nobody emits", path.display());
        }
    }
}

#[test]
fn every_section_that_a_rule_points_at_exists() {
    let (rules, manual) = (read(RULES), read(MANUAL));
    // In quotes after the word: section "Disk full", or sections "A" and "B".
    let pointers = rules.lines().filter(|line| line.to_lowercase().contains("section"));
    let sections: Vec<&str> = pointers.flat_map(|line| line.split("\\\"").skip(1).step_by(2)).collect();
    assert!(sections.len() > 4, "{sections:?}");
    for section in sections {
        assert!(manual.contains(&format!("### {section}\n")), "{MANUAL} has no section \"{section}\"");
    }
}

#[test]
fn the_dashboard_is_whole() {
    let dashboard: serde_json::Value = serde_json::from_str(&read(DASHBOARD)).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<i64> = panels.iter().map(|panel| panel["id"].as_i64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len(), "ids are given twice");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = &panel["title"];
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        let targets = panel["targets"].as_array().expect("targets");
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            let question = target["expr"].as_str().expect("a question");
            assert!(!mentioned(question).is_empty() && question.contains("job=~\"$job\""), "{title}: {question}");
            assert_eq!(question.matches('(').count(), question.matches(')').count(), "{title}: {question}");
        }
    }
    let rows = panels.iter().filter(|panel| panel["type"] == "row").map(|row| row["title"].as_str().expect("a title"));
    let rows: Vec<&str> = rows.collect();
    for room in ["Notify", "Fetch", "Wiki", "Analyze", "Cluster"] {
        assert!(rows.contains(&room), "{room} has no row: {rows:?}");
    }
}
