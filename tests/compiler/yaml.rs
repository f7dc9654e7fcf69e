//! Another YAML parser reads the same values from every generated file.

use std::path::Path;

use crate::support::examples::compiled_examples;

#[test]
fn libyaml_reads_the_same_values() {
    for (name, outcome) in compiled_examples() {
        for compilation in &outcome.compilations {
            let Some(plan) = &compilation.plan else {
                continue;
            };
            let (tree, _) = compilation.output.as_ref().unwrap();
            let texts = tree
                .files()
                .filter(|(path, _)| Path::new(path).extension().is_some_and(|end| end == "yaml"));
            for (path, file) in texts {
                let read: Result<serde_yaml::Value, _> = serde_yaml::from_str(&file.contents);
                assert!(read.is_ok(), "{name}: {path}: {read:?}");
            }
            for object in &plan.objects {
                let meant = serde_json::to_value(&object.node).unwrap();
                let written = gpuc_syntax::yaml::to_yaml(&object.node);
                let read: serde_json::Value = serde_yaml::from_str(&written).unwrap();
                assert_eq!(read, meant, "{name}: {:?}", object.identity);
            }
        }
    }
}
