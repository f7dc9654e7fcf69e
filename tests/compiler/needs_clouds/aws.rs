//! The parser and the parameter validation of the real `aws` accept every command.

use std::collections::BTreeSet;

use gpuc_model::plan::{Command, Resource};
use gpuc_schema::config::AwsPolicyName;
use serde_json::{Value, json};

use super::{argv, other_commands, resources};
use crate::external_data::{self, PYTHON};

/// The output of `describe-nodegroup` and `describe-cluster`, as far as commands query it.
fn observed() -> Value {
    json!({
        "nodegroup": {
            "nodegroupArn": "arn:aws:eks:us-east-1:123456789012:nodegroup/c/n/00000000-1111-2222-3333-444444444444",
            "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 1},
            "labels": {"old": "a", "gpuc.dev/pool": "other"},
            "taints": [{"key": "old", "value": "a", "effect": "NO_SCHEDULE"}, {"key": "bare", "effect": "NO_EXECUTE"}],
            "tags": {
                "old": "a", "k8s.io/cluster-autoscaler/node-template/label/old": "b",
                "gpuc.dev/tags": "old", "gpuc.dev/labels": "old", "gpuc.dev/template": "label/old",
                "gpuc.dev/taints": "bare:NO_EXECUTE old:NO_SCHEDULE",
            },
            "updateConfig": {"maxUnavailable": 1},
            "resources": {"autoScalingGroups": [{"name": "eks-n"}]},
        },
        "addon": {
            "addonVersion": "v1.20.4-eksbuild.2", "configurationValues": r#"{"replicaCount": 3}"#,
            "serviceAccountRoleArn": "arn:aws:iam::123456789012:role/a",
        },
        "accessEntry": {
            "accessEntryArn": "arn:aws:eks:us-east-1:123456789012:access-entry/c/role/123456789012/a/0",
            "kubernetesGroups": ["old"], "username": "old", "tags": {"old": "a", "gpuc.dev/tags": "old"},
        },
        "associatedAccessPolicies": AwsPolicyName::ALL.map(|name| json!({
            "policyArn": format!("arn:aws:eks::aws:cluster-access-policy/{}", name.as_str()),
            "accessScope": {"type": "cluster", "namespaces": []},
        })),
        "cluster": {
            "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
            "arn": "arn:aws:eks:us-east-1:123456789012:cluster/c",
            "tags": {"old": "a", "gpuc.dev/tags": "old"},
            "resourcesVpcConfig": {"subnetIds": [], "securityGroupIds": []},
        },
    })
}

/// The commands that read desired values.
fn lookups(resource: &Resource) -> impl Iterator<Item = &Command> {
    let lookups = resource.fields.iter().filter_map(|it| it.lookup.as_ref());
    lookups.map(|lookup| &lookup.command)
}

#[test]
#[ignore = "needs GPUC_PYTHON with awscli, and jq"]
fn commands_are_accepted() {
    let python = external_data::path(PYTHON);
    let group_or_cluster = observed();
    let machines = json!(["i-0123456789abcdef0"]);
    // `aws cloudformation deploy` reads its template before it sends a request.
    let template = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(template.path(), "Resources: {}\n").unwrap();
    let mut commands = Vec::new();
    for (name, resource) in resources("aws") {
        let observed = match resource.kind.name {
            "Karpenter nodes" => &machines,
            _ => &group_or_cluster,
        };
        let made = resource.create.iter().chain(&resource.delete);
        let made = made
            .chain([&resource.observation.command])
            .chain(lookups(resource))
            .map(|it| (it, &Value::Null));
        let changed = resource.fields.iter();
        let changed = changed.flat_map(|field| field.update.iter().map(|it| (it, &field.desired)));
        for (command, want) in made.chain(changed) {
            let words = argv(Some(resource.kind), command, observed, want);
            let mut words = words.unwrap_or_else(|| panic!("{name}: jq fails on {command:?}"));
            if let Some(flag) = words.iter().position(|word| word == "--template-file") {
                words[flag + 1] = template.path().to_str().unwrap().to_owned();
            }
            commands.push((name.clone(), words));
        }
    }
    commands.extend(other_commands("aws"));
    let mut seen = BTreeSet::new();
    commands.retain(|(_, words)| words[0] == "aws" && seen.insert(words.clone()));
    assert!(commands.len() > 20, "only {} commands", commands.len());
    let control = [
        "aws",
        "eks",
        "update-nodegroup-config",
        "--cluster-name",
        "c",
    ];
    let control = control.into_iter().chain([
        "--nodegroup-name",
        "n",
        "--region",
        "us-east-1",
        "--labels",
        r#"{"addLabels":{}}"#,
    ]);
    let control: Vec<_> = control.map(str::to_owned).collect();
    commands.push(("control".to_owned(), control));
    let words: Vec<_> = commands.iter().map(|(_, words)| words).collect();
    let answers = external_data::python(python.to_str().unwrap(), "aws.py", &json!(words));
    let refused = commands.iter().zip(answers.as_array().unwrap());
    let refused = refused.filter(|(_, answer)| {
        let output = answer["output"].as_str().unwrap();
        !output.contains("Could not connect to the endpoint URL")
    });
    let (control, wrong): (Vec<_>, Vec<_>) = refused
        .map(|((name, words), answer)| {
            format!("{name}: {}\n  {}", words.join(" "), answer["output"])
        })
        .partition(|line| line.starts_with("control:"));
    assert_eq!(
        control.len(),
        1,
        "aws accepts a parameter that EKS does not have"
    );
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        commands.len(),
        wrong.join("\n")
    );
}
