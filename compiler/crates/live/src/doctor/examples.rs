//! The examples of all checks: each fault has one cause with the check's code, and the correction has none.

use gpuc_syntax::diag::{split_files, split_objects};

use serde_json::Value;

use super::testing::{REGISTRY, diagnose_objects};
use super::{CHECKS, Logs, diagnose};
use crate::read::read_files;

#[test]
fn planted_faults_are_found() {
    for check in CHECKS {
        let (configuration, objects) = split_objects(check.code.bad).unwrap();
        let (diagnosis, text) = diagnose_objects(configuration, objects);
        let causes = diagnosis.causes.iter();
        let codes: Vec<_> = causes.map(|it| it.finding.code.id).collect();
        assert_eq!(codes, [check.code.id], "{text}");
        let [cause] = &diagnosis.causes[..] else {
            panic!("{text}")
        };
        assert!(!cause.finding.help.is_empty(), "{text}");
        assert!(!cause.finding.evidence.is_empty(), "{text}");
    }
}

#[test]
fn corrected_examples_are_healthy() {
    for check in CHECKS {
        let good = check.code.good();
        let (configuration, objects) = split_objects(&good).unwrap();
        let (diagnosis, text) = diagnose_objects(configuration, objects);
        assert!(diagnosis.causes.is_empty(), "{}: {text}", check.code.id);
    }
}

#[test]
fn faults_are_printed() {
    for check in CHECKS {
        let (configuration, objects) = split_objects(check.code.bad).unwrap();
        let (_, text) = diagnose_objects(configuration, objects);
        assert!(text.contains(check.code.name), "{text}");
        assert!(!text.contains("  = input: \n"), "{text}");
    }
}

/// Each place of a document, as a JSON pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn strange_values_do_no_harm() {
    let strange = [
        Value::Null,
        Value::from(""),
        Value::from("18446744073709551615"),
        Value::from(7),
        Value::Array(Vec::new()),
    ];
    for check in CHECKS {
        let (configuration, objects) = split_objects(check.code.bad).unwrap();
        if !configuration.is_empty() {
            continue;
        }
        let files = split_files(objects);
        let document: Value = serde_saphyr::from_str(files[0].1).unwrap();
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        for place in places {
            for value in &strange {
                let mut document = document.clone();
                *document.pointer_mut(&place).unwrap() = value.clone();
                let text = document.to_string();
                let load = |_: &str| Ok(text.as_bytes().to_vec());
                let (state, _) = read_files(&["objects.json".to_owned()], &load);
                // The result does not matter: it must not panic.
                let _ = diagnose(&state, None, &REGISTRY).causes.len();
            }
        }
    }
}

#[test]
fn checks_of_logs_are_not_complete_if_logs_are_missing() {
    let example = CHECKS.iter().find(|check| check.needs_logs == Logs::Stack);
    let (_, objects) = split_objects(example.unwrap().code.bad).unwrap();
    let files = split_files(objects);
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(String::new)
    };
    let (mut state, _) = read_files(&paths, &load);
    let with_logs = |state: &crate::state::ClusterState| {
        let diagnosis = diagnose(state, None, &REGISTRY);
        let skipped = diagnosis.skipped.into_iter();
        let reasons: Vec<String> = skipped.flat_map(|it| it.reasons).collect();
        reasons
            .iter()
            .any(|it| it == "2 container logs could not be read")
    };
    assert!(!with_logs(&state));
    state.unread_logs = 2;
    assert!(with_logs(&state));
}
