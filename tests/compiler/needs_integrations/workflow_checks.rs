//! The safety of the integrations: pinned versions, permissions, and the handling of untrusted values.

use std::fs;

use super::yaml;
use crate::support::repository;

#[test]
fn actions_are_pinned_by_commit() {
    let text = fs::read_to_string(repository().join("action.yml")).unwrap();
    let uses: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("uses: "))
        .collect();
    assert_eq!(uses.len(), 2, "{uses:?}");
    for used in uses {
        let (action, version) = used.split_once(" # v").unwrap();
        let (_, commit) = action.split_once('@').unwrap();
        assert!(
            commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{used}"
        );
        assert_eq!(version.split('.').count(), 3, "{used}");
    }
}

#[test]
fn scripts_exist_and_are_used() {
    let action = yaml("action.yml");
    let mut run: Vec<_> = action["runs"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["run"].as_str())
        .map(|line| {
            let path = line.strip_prefix("bash \"$GITHUB_ACTION_PATH/").unwrap();
            path.strip_suffix('"').unwrap().to_owned()
        })
        .chain(["integrations/github/lib.sh".to_owned()])
        .collect();
    run.sort();
    let folder = fs::read_dir(repository().join("integrations/github")).unwrap();
    let mut there: Vec<_> = folder
        .map(|file| {
            format!(
                "integrations/github/{}",
                file.unwrap().file_name().to_str().unwrap()
            )
        })
        .collect();
    there.sort();
    assert_eq!(run, there);
}

#[test]
fn inputs_are_used_and_documented() {
    let text = fs::read_to_string(repository().join("action.yml")).unwrap();
    let docs = fs::read_to_string(repository().join("docs/integrations.md")).unwrap();
    for (name, input) in yaml("action.yml")["inputs"].as_object().unwrap() {
        assert!(
            text.contains(&format!("inputs.{name} ")) || text.contains(&format!("inputs.{name}\n")),
            "{name}"
        );
        assert!(
            input["description"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{name}"
        );
        assert!(
            docs.contains(&format!("`{name}`")),
            "docs/integrations.md does not name {name}"
        );
    }
    let variables = yaml("integrations/gitlab/gpuc.gitlab-ci.yml");
    for (name, _) in variables["variables"].as_object().unwrap() {
        assert!(
            docs.contains(&format!("`{name}`")),
            "docs/integrations.md does not name {name}"
        );
    }
}
