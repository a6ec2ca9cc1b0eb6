//! The known keys, which are those of the defaults file, and help for those who misspell one.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};

use super::{DEFAULTS, PREFIX, toml_dict};

/// Every key with its default.
pub(super) fn known() -> BTreeMap<String, Value> {
    leaves(&toml_dict(DEFAULTS, "defaults").expect("a test reads the defaults")).into_iter().collect()
}

/// `log.format` and its like, with their values.
pub(super) fn leaves(dict: &Dict) -> Vec<(String, Value)> {
    let below = |(key, value): (&String, &Value)| match value {
        Value::Dict(_, inner) => {
            leaves(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)).collect()
        }
        value => vec![(key.clone(), value.clone())],
    };
    dict.iter().flat_map(below).collect()
}

/// The variable that sets this key.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

pub(super) fn unknown(key: &str, source: &str, known: &BTreeMap<String, Value>) -> String {
    let section: Vec<_> = known.keys().filter(|k| k.starts_with(&format!("{key}."))).map(String::as_str).collect();
    if !section.is_empty() {
        return format!("{source}: {key} is a section, not a value; its keys are {}", section.join(", "));
    }
    let hint = nearest(key, known.keys().map(String::as_str));
    format!("{source}: there is no key {key}{hint}; see `malla config print`")
}

pub(super) fn unknown_variable(name: &str, known: &BTreeMap<String, Value>) -> String {
    let variables: Vec<_> = known.keys().map(|key| variable(key)).collect();
    let hint = nearest(name, variables.iter().map(String::as_str));
    format!("the variable {name} sets nothing{hint}; see `malla config print`")
}

fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> String {
    let near = words.map(|known| (strsim::jaro_winkler(word, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((likeness, known)) if likeness > 0.7 => format!(" (did you mean {known}?)"),
        _ => String::new(),
    }
}
