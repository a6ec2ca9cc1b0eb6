//! Every text has its Spanish, every Spanish is needed, and no page has words that are only English.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::rooms::patterns;
use super::spanish::TABLES;
use super::*;

/// The sources of the console without the tongue itself.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tongue") {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path, code));
            }
        }
    }
    found
}

#[test]
fn no_spanish_is_left_over_or_there_twice() {
    let code: String = sources().into_iter().map(|(_, code)| code).collect();
    let mut seen = BTreeSet::new();
    for (key, _) in TABLES.iter().flat_map(|pairs| pairs.iter()) {
        assert!(seen.insert(*key), "{key:?} is there twice");
        let (text, about) = key.split_once('#').map_or((*key, None), |(text, about)| (text, Some(about)));
        let (text, about) = if code.contains(&format!("{:?}", key)) { (*key, None) } else { (text, about) };
        let literal = format!("\"{}\"", text.replace('"', "\\\""));
        let used = match about {
            Some(about) => code.contains(&format!("({literal}, {about:?})")),
            None => code.contains(&literal),
        };
        assert!(used, "{key:?} is said nowhere: take it out of the table");
    }
}

#[test]
fn both_languages_have_the_same_places() {
    let names = |text| -> BTreeMap<&str, usize> {
        places(text).fold(BTreeMap::new(), |mut all, name| {
            *all.entry(name).or_default() += 1;
            all
        })
    };
    let all = TABLES.iter().flat_map(|pairs| pairs.iter()).chain(patterns());
    for (english, spanish) in all {
        assert_eq!(names(english), names(spanish), "{english} / {spanish}");
        assert!(!spanish.is_empty(), "{english}");
        let sentence =
            english.rsplit_once('#').filter(|(_, about)| !about.contains(' ')).map_or(*english, |(text, _)| text);
        assert_eq!(sentence.ends_with('.'), spanish.ends_with('.'), "{english} / {spanish}");
    }
}

#[test]
fn values_go_where_the_language_wants_them() {
    let text = Text::new("{user} is in {} now", "{} tiene a {user}");
    assert_eq!(text.filled(&[&"ana", &"ops"]), "ana is in ops now");
    Lang::Spanish.speaking_now(|| {
        assert_eq!(text.filled(&[&"ana", &"ops"]), "ops tiene a ana");
    });
    let text = Text::new("{user} in {group}", "{group} con {user}");
    Lang::Spanish.speaking_now(|| {
        assert_eq!(text.filled(&[&"ana", &"ops"]), "ops con ana");
        assert_eq!(text.rich(&[maud::html! { "<a>" }, maud::html! { b { "ops" } }]).0, "<b>ops</b> con &lt;a&gt;");
    });
}

/// Words in markup that are not said by one of the macros would stay English.
#[test]
fn no_page_has_words_of_its_own() {
    let mut bare = Vec::new();
    for (path, code) in sources() {
        for (nth, line) in code.lines().enumerate() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("//") {
                continue;
            }
            for words in bare_words(line) {
                bare.push(format!("{}:{}: {words:?}", path.display(), nth + 1));
            }
        }
    }
    assert!(bare.is_empty(), "say these with t!, say! or rich!:\n{}", bare.join("\n"));
}

/// Literals that stand alone inside of an element: `th { "Task" }`, or in an attribute that a person reads.
fn bare_words(line: &str) -> Vec<&str> {
    const READ: [&str; 4] = ["title=\"", "aria-label=\"", "data-label=\"", "alt=\""];
    const NAMES: [&str; 12] =
        ["JSON", "CSV", "NDJSON", "WARC", "Malla", "Malla ", "API", "robots.txt", "SHA-1", "CloudEvents", "UTC", "URL"];
    let mut found = Vec::new();
    for start in READ {
        found.extend(line.split(start).skip(1).filter_map(|rest| rest.split('"').next()));
    }
    let elements = ["td", "th", "p", "h2", "h1", "dt", "dd", "li", "a", "button", "span", "strong", "summary", "label"];
    for (at, _) in line.match_indices("{ \"") {
        let head = line[..at].trim_end();
        let last = head.rsplit(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
        let name = last.split(['.', '#', '[']).next().unwrap_or_default();
        let inside = line[at + 3..].split('"').next().unwrap_or_default();
        let attributes = last.contains("=(") && !last.contains("==");
        if elements.contains(&name) || attributes {
            found.push(inside);
        }
    }
    let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count() > 1;
    found.retain(|text| letters(text) && !NAMES.contains(text) && !text.contains(['/', '_', '=', '.']));
    found
}

#[test]
fn bare_words_are_found_where_they_would_be_read() {
    assert_eq!(bare_words(r#"th { "Task" } th.num { "Failures" }"#), ["Task", "Failures"]);
    assert_eq!(bare_words(r#"td data-label="Task" { (x) }"#), ["Task"]);
    assert!(bare_words(r#"th { (t!("Task")) } a href={ "/users/" (name) } { "JSON" }"#).is_empty());
}
