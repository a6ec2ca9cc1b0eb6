//! axe-core, which finds what keeps people from using a page.

use serde_json::Value;

use super::page::Browser;

const RUN: &str = r#"
    const [rule, done] = arguments;
    // Colours that are on their way to others are not judged.
    document.getAnimations().forEach((one) => one.finish());
    const only = rule ? { runOnly: { type: "rule", values: [rule] } } : {};
    axe.run(document, { ...only, resultTypes: ["violations"], preload: false }).then(
      ({ violations }) => done(violations
        .filter((one) => one.impact === "serious" || one.impact === "critical")
        .map((one) => one.id + " (" + one.impact + "): " + one.help + ": "
          + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + (node.any[0]?.message || "")).join(" | "))),
      (error) => done([String(error)]));
"#;

pub(super) struct Axe(String);

impl Axe {
    /// The one that `scripts/test` got; without it nobody looks, and it is said.
    #[allow(clippy::disallowed_methods)] // a setting of the test
    pub(super) fn read() -> Option<Self> {
        let Some(path) = std::env::var_os("MALLA_TEST_AXE") else {
            eprintln!("SKIPPED: axe-core was not run, for MALLA_TEST_AXE does not name its file: scripts/test gets it");
            return None;
        };
        let source = std::fs::read_to_string(&path);
        Some(Self(source.unwrap_or_else(|error| panic!("MALLA_TEST_AXE names {}: {error}", path.display()))))
    }

    /// What is serious or critical on the page: by all rules, or by one.
    pub(super) fn findings(&self, browser: &Browser, rule: &str) -> Vec<String> {
        let there = browser.ask("return typeof axe !== 'undefined'");
        if there != true {
            browser.driver.run(&self.0, &[]).expect("axe-core loads");
        }
        let found = browser.driver.run_slowly(RUN, &[rule.into()]);
        let found = found.unwrap_or_else(|trouble| panic!("axe-core at {}: {trouble}", browser.here()));
        found.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}
