//! The pipelines of the manual are what it says they are.

use serde_json::Deserializer;

use super::*;

const MANUAL: &str = include_str!("../../../../../docs/wiki-queries.md");

#[test]
fn every_pipeline_of_the_manual_is_understood() {
    let begins = |text: &&str| text[1..].trim_start().starts_with("{\"$");
    let pipelines: Vec<Written> = (MANUAL.match_indices('[').map(|(place, _)| &MANUAL[place..]))
        .filter(begins)
        .map(|text| Deserializer::from_str(text).into_iter().next().expect("a pipeline").expect("JSON"))
        .collect();
    assert!(pipelines.len() >= 7, "{}", pipelines.len());
    for pipeline in pipelines {
        if let Err(error) = parse(pipeline.clone(), Collection::Revisions, None) {
            panic!("{pipeline:?}: {error}");
        }
    }
}

#[test]
fn the_manual_names_every_field_and_stage() {
    for collection in [Collection::Revisions, Collection::Articles] {
        for field in collection.document() {
            assert!(MANUAL.contains(&format!("`{}`", field.name())), "{}", field.name());
        }
    }
    for stage in STAGES {
        assert!(MANUAL.contains(&format!("`{stage}`")), "{stage}");
    }
}
