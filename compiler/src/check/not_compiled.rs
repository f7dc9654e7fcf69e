//! The file asks for something that gpuc does not make yet.

use gpuc_schema::Span;
use gpuc_schema::config::{Autoscaler, DevicePlugin, DriverOwner, Queueing};

use super::Rule;
use super::places::stacks;
use crate::cloud::Facts;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

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

Remove the part, and make it by other means for now.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
queueing: kueue
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
queueing: none
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
    let compiled = |driver: &&DriverOwner| match driver {
        DriverOwner::Operator => false,
        DriverOwner::DaemonSet => facts.driver_daemon_set,
        _ => true,
    };
    facts.drivers.iter().filter(compiled).collect()
}

/// As [`drivers`].
pub(super) fn plugins(facts: &Facts) -> Vec<&'static DevicePlugin> {
    let plugins = facts.plugins.iter();
    plugins
        .filter(|plugin| **plugin != DevicePlugin::Operator)
        .collect()
}

/// As [`drivers`].
pub(super) fn autoscalers(facts: &Facts) -> Vec<&'static Autoscaler> {
    let autoscalers = facts.autoscalers.iter();
    autoscalers
        .filter(|autoscaler| **autoscaler != Autoscaler::Karpenter)
        .collect()
}

fn run(cluster: &Cluster, report: &mut Report) {
    let config = &cluster.written;
    let mut parts: Vec<(Span, &str)> = Vec::new();
    let mut ask = |asked: Option<Span>, what| parts.extend(asked.map(|span| (span, what)));
    ask(config.teams.first().map(|team| team.name.span), "`teams`");
    let kueue = config.queueing.value == Queueing::Kueue;
    ask(kueue.then_some(config.queueing.span), "`queueing: kueue`");
    ask(config.monitoring.as_ref().map(|it| it.span), "`monitoring`");
    ask(
        config.workloads.first().map(|it| it.name.span),
        "`workloads`",
    );
    ask(config.notebooks.as_ref().map(|it| it.span), "`notebooks`");
    ask(config.gitops.as_ref().map(|it| it.span), "`gitops`");
    let facts = cluster.cloud.facts();
    let karpenter = cluster.autoscaler.value == Autoscaler::Karpenter;
    let karpenter = karpenter && facts.autoscalers.contains(&Autoscaler::Karpenter);
    ask(
        karpenter.then_some(cluster.autoscaler.span),
        "`autoscaler: karpenter`",
    );
    for stack in stacks(cluster) {
        let driver = stack
            .driver
            .filter(|driver| driver.value == DriverOwner::Operator);
        let driver = driver.filter(|_| facts.drivers.contains(&DriverOwner::Operator));
        ask(driver.map(|driver| driver.span), "`driver: operator`");
        let plugin = stack
            .device_plugin
            .filter(|it| it.value == DevicePlugin::Operator);
        let plugin = plugin.filter(|_| facts.plugins.contains(&DevicePlugin::Operator));
        ask(plugin.map(|plugin| plugin.span), "`devicePlugin: operator`");
    }
    for (span, what) in parts {
        let message = format!("{what} is accepted but not compiled yet");
        let draft = report.draft(&RULE.code, span, message);
        draft
            .help("remove it, and make this part by other means for now")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::config::{Autoscaler, DevicePlugin, DriverOwner};

    use crate::check::testing::messages;
    use crate::cloud::CLOUDS;

    #[test]
    fn no_help_names_what_is_not_compiled() {
        for cloud in CLOUDS {
            let facts = cloud.facts();
            let drivers = super::drivers(facts);
            assert!(!drivers.is_empty() && !drivers.contains(&&DriverOwner::Operator));
            let plugins = super::plugins(facts);
            assert!(!plugins.is_empty() && !plugins.contains(&&DevicePlugin::Operator));
            let autoscalers = super::autoscalers(facts);
            assert!(!autoscalers.is_empty() && !autoscalers.contains(&&Autoscaler::Karpenter));
        }
    }

    #[test]
    fn every_part_is_named() {
        let found = messages(
            "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}
            autoscaler: karpenter
            stack: {driver: operator, devicePlugin: operator}
            nodePools: [{name: gpu, machine: g6.xlarge, nodes: {count: 1}}]
            teams: [{name: a}, {name: b}]
            monitoring: {}
            workloads: [{name: a}]
            notebooks: {jupyterHub: {profiles: [{name: a}]}}
            gitops: {flux: {repository: r, branch: b, path: p}}
            ",
            "GPUC2015",
        );
        let parts: Vec<_> = found
            .iter()
            .map(|message| message.split('`').nth(1))
            .collect();
        let expected = [
            "teams",
            "monitoring",
            "workloads",
            "notebooks",
            "gitops",
            "autoscaler: karpenter",
            "driver: operator",
            "devicePlugin: operator",
        ];
        assert_eq!(parts, expected.map(Some));
    }
}
