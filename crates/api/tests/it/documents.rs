//! The API's own description.

use serde_json::Value;

use crate::house::House;

#[tokio::test]
async fn every_operation_is_described_whole() {
    let house = House::new().await;
    let document = house.get("/openapi.json", "").await.ok();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut ids = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            check(path, method, operation);
            ids.push(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "operation ids are unique");
}

fn check(path: &str, method: &str, operation: &Value) {
    let place = format!("{method} {path}: {operation}");
    assert!(operation["summary"].as_str().is_some_and(|text| text.len() > 5), "{place}");
    assert!(operation["description"].as_str().unwrap().contains("Needs "), "{place}");
    let default = &operation["responses"]["default"]["content"]["application/problem+json"];
    assert_eq!(default["schema"]["$ref"], "#/components/schemas/Problem", "{place}");
    let open = operation["x-permission"].is_null();
    assert_eq!(open, operation["security"].is_null(), "{place}");
    assert_eq!(open, operation["responses"]["401"].is_null(), "{place}");
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let named = |name: &str, kind: &str| parameters.iter().any(|p| p["name"] == name && p["in"] == kind);
    // What a device says twice counts once without a key.
    let keyed = method != "get" && operation["x-permission"] != "device";
    assert_eq!(named("idempotency-key", "header"), keyed, "{place}");
    for name in path.split(['{', '}']).skip(1).step_by(2) {
        assert!(named(name, "path"), "{place} lacks {name}");
    }
}

#[tokio::test]
async fn the_codes_of_problems_are_documented() {
    let house = House::new().await;
    let document = house.get("/openapi.json", "").await.ok();
    let text = document["components"]["schemas"]["Code"].to_string();
    for code in ["lease_lost", "wrong_state", "key_reused", "shown_once", "unavailable", "full", "csrf", "too_large"] {
        assert!(text.contains(code), "{code} in {text}");
    }
}

#[tokio::test]
async fn the_documentation_is_served_under_a_strict_policy() {
    let house = House::new().await;
    let page = house.get("/docs/", "").await;
    assert_eq!(page.status, 200);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!page.text.contains("<script>") && !page.text.contains("style=") && !page.text.contains("//cdn"));
    for file in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "swagger-initializer.js"]
    {
        assert!(page.text.contains(file), "{file}");
        assert_eq!(house.get(&format!("/docs/{file}"), "").await.status, 200, "{file}");
    }
    let setup = house.get("/docs/swagger-initializer.js", "").await.text;
    assert!(setup.contains("/openapi.json") && !setup.contains("petstore"), "{setup}");
    assert_eq!(house.get("/docs", "").await.status, 303);
}
