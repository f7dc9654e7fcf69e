//! The SARIF output is valid according to SARIF's schema.

use std::fs;

use gpuc_syntax::diag::render::{Format, Options, render};
use serde_json::Value;

use crate::cli::{GOOD, Workspace};
use crate::external_data;
use crate::support::compile_text;

/// The path of the schema of SARIF 2.1.0, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/>.
const SCHEMA: &str = "GPUC_SARIF_SCHEMA";

fn validator() -> jsonschema::Validator {
    let text = fs::read_to_string(external_data::path(SCHEMA)).unwrap();
    // The pattern of language codes has an unescaped bracket that is valid only in JavaScript. gpuc writes no language
    // codes.
    let javascript_pattern = "-[a-zA-Z]{2}]?$";
    assert!(text.contains(javascript_pattern));
    let schema: Value =
        serde_json::from_str(&text.replace(javascript_pattern, "-[a-zA-Z]{2}$")).unwrap();
    let title = "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema";
    assert_eq!(schema["title"], title);
    let options = jsonschema::draft7::options().should_validate_formats(true);
    options.build(&schema).unwrap()
}

fn validation_errors(validator: &jsonschema::Validator, document: &Value) -> Vec<String> {
    let errors = validator.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
#[ignore = "needs SARIF's schema: see tests/README.md"]
fn findings_are_valid_sarif() {
    let validator = validator();
    let (mut fixes, mut related) = (0, 0);
    for code in gpuc::codes() {
        let outcome = compile_text(code.bad);
        let text = render(
            Format::Sarif,
            &outcome.sources,
            &outcome.findings,
            Options::default(),
        );
        let sarif: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            validation_errors(&validator, &sarif),
            [""; 0],
            "{}",
            code.id
        );
        for result in sarif["runs"][0]["results"].as_array().unwrap() {
            fixes += usize::from(result.get("fixes").is_some());
            related += usize::from(result.get("relatedLocations").is_some());
            assert_eq!(
                result["locations"].as_array().unwrap().len(),
                1,
                "{}",
                code.id
            );
            let region = &result["locations"][0]["physicalLocation"]["region"];
            assert!(
                region["startLine"].as_u64() >= Some(1)
                    && region["startColumn"].as_u64() >= Some(1)
            );
        }
    }
    assert!(
        fixes > 3 && related > 50,
        "{fixes} fixes, {related} with related locations"
    );
}

#[test]
#[ignore = "needs SARIF's schema: see tests/README.md"]
fn paths_are_relative_to_the_repository() {
    let validator = validator();
    let workspace = Workspace::empty();
    workspace.write(
        "a b/ü%[x]/gpu-cluster.yaml",
        &GOOD.replace("model: A30", "model: A31"),
    );
    workspace.write("a b/ü%[x]/other.gpu-cluster.yaml", "kind: [\n");
    for path in [".", "./a b/../a b/ü%[x]"] {
        let result = workspace
            .run(&["check", "--format", "sarif", path])
            .expect_code(2);
        let sarif: Value = serde_json::from_str(&result.stdout).unwrap();
        assert_eq!(validation_errors(&validator, &sarif), [""; 0]);
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let uris: Vec<_> = results
            .iter()
            .map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
            .collect();
        assert!(
            uris.iter()
                .any(|uri| *uri == "a%20b/%C3%BC%25%5Bx%5D/gpu-cluster.yaml"),
            "{uris:?}"
        );
        assert!(
            uris.iter()
                .all(|uri| uri.as_str().unwrap().starts_with("a%20b/")),
            "{uris:?}"
        );
    }
    // The schema rejects unknown properties.
    let mut sarif: Value = serde_json::from_str(
        &Workspace::with(GOOD)
            .run(&["check", "--format", "sarif"])
            .stdout,
    )
    .unwrap();
    assert_eq!(validation_errors(&validator, &sarif), [""; 0]);
    let good = sarif.clone();
    sarif["runs"][0]["tool"]["driver"]["helpUrl"] = "x".into();
    assert!(!validation_errors(&validator, &sarif).is_empty());
    sarif = good;
    sarif["$schema"] = "no uri".into();
    assert!(!validation_errors(&validator, &sarif).is_empty());
}
