//! The file asks for something that gpuc does not make yet.

use gpuc_schema::Span;
use gpuc_schema::config::DriverOwner;

use super::Rule;
use crate::cloud::Facts;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::schema::NOT_COMPILED;

/// The file asks for something that gpuc does not make yet.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2015",
        name: "not-compiled",
        severity: Severity::Error,
        summary: "the file asks for something that gpuc does not make yet",
        explain: "### What it checks

Whether the file asks only for what this version of gpuc makes. The whole vocabulary can be read
and checked in editors; not all of it has its output yet.

### Why it matters

A key that is accepted and ignored is worse than one that is refused: the tree would look
complete and lack what you asked for.

### What to do

Write what the help names, or remove the part and make it by other means for now. `gpuc explain`
and the JSON Schema mark what is not compiled yet.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
workloads: [{name: test, pool: gpu, job: {image: "registry.example.com/test:1.0.0"}}]
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

/// The ones of these that are compiled: a help that names another would only bring the next finding.
pub(super) fn drivers(facts: &Facts) -> Vec<&'static DriverOwner> {
    let drivers = facts.drivers.iter();
    drivers
        .filter(|driver| **driver != DriverOwner::DaemonSet || facts.driver_daemon_set)
        .collect()
}

fn run(cluster: &Cluster, report: &mut Report) {
    for part in NOT_COMPILED {
        let key = last(part.path);
        let what = match part.value {
            Some(value) => format!("{key}: {value}"),
            None => key.to_owned(),
        };
        for span in asked(cluster, part.path) {
            let message = format!("gpuc does not make `{what}` yet");
            let draft = report.draft(&RULE.code, span, message);
            draft.help(instead(part.path)).emit();
        }
    }
}

/// Where the file asks for one of [`NOT_COMPILED`].
fn asked(cluster: &Cluster, path: &str) -> Vec<Span> {
    let config = &cluster.written;
    let one = |span: Option<Span>| span.into_iter().collect();
    match path {
        "workloads" => one(config.workloads.first().map(|it| it.name.span)),
        path => unreachable!("{path} is listed as not compiled and not looked for"),
    }
}

/// What to write for now.
fn instead(path: &str) -> &'static str {
    match path {
        _ => "remove it, and apply manifests of your own for it for now",
    }
}

fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use gpuc_schema::config::DriverOwner;

    use crate::check::testing::messages;
    use crate::cloud::CLOUDS;

    #[test]
    fn no_help_names_what_is_not_compiled() {
        for cloud in CLOUDS {
            let facts = cloud.facts();
            let drivers = super::drivers(facts);
            let by_daemon_set = drivers.contains(&&DriverOwner::DaemonSet);
            assert!(!drivers.is_empty() && by_daemon_set == facts.driver_daemon_set);
        }
    }

    #[test]
    fn every_part_is_named() {
        let found = messages(
            "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}
            stack: {devicePlugin: nvidia}
            nodePools: [{name: gpu, machine: g6.xlarge, nodes: {count: 1}}]
            workloads: [{name: a}]
            ",
            "GPUC2015",
        );
        let parts: Vec<_> = found
            .iter()
            .map(|message| message.split('`').nth(1))
            .collect();
        let expected = ["workloads"];
        assert_eq!(parts, expected.map(Some));
    }
}
