//! The node image has no driver, and no component installs one.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::OsFacts;
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, keyword_list};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2030",
        name: "driver-missing",
        severity: Severity::Error,
        summary: "the node image has no driver, and no component installs one",
        checks: "Whether the node image of a pool with GPUs contains a driver if `stack.driver` is `preinstalled`, on
clouds that create the machines. Existing pools are not checked.",
        reason: "The nodes would have no driver, and no container would see a GPU.",
        remedy: "Choose an operating system whose image contains a driver, or change `driver`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Ubuntu2204}
"#,
        correction: Correction::Replace("Ubuntu2204", "AmazonLinux2023"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    if !facts.creates_machines {
        return;
    }
    for (pool, _) in cluster.gpu_pools().filter(|(pool, _)| !pool.is_existing()) {
        let Some(os) = cluster.cloud.os(pool.os.value) else {
            continue;
        };
        if os.has_driver || pool.driver.value != DriverOwner::Preinstalled {
            continue;
        }
        let family = keyword(&os.family);
        let message = format!("the nodes of pool `{}` would have no driver", pool.name);
        let span = [pool.os.span, pool.driver.span]
            .into_iter()
            .find(|span| span.is_written());
        let version = cluster.kubernetes.get().map(|version| version.value);
        let is_supported =
            |os: &&OsFacts| version.is_none_or(|version| os.kubernetes.contains(&version));
        let with_driver = facts
            .os
            .iter()
            .filter(|os| os.has_driver)
            .filter(is_supported);
        let images = keyword_list(with_driver.map(|os| &os.family));
        let operator =
            facts.drivers.contains(&DriverOwner::Operator) && os.operator_support.driver.is_ok();
        let alternative = match (facts.has_driver_daemon_set, operator) {
            (true, _) => "; or write `driver: daemonSet` in the pool's `stack`",
            (false, true) => "; or write `driver: operator` in the pool's `stack`",
            (false, false) => "",
        };
        let help = format!("choose an image that contains one: {images}{alternative}");
        report
            .diagnostic(&RULE.code, span.unwrap_or(pool.name.span), message)
            .primary_label(format!("{family} contains no driver on {}", facts.name))
            .label(pool.driver.span, "no other component installs it")
            .help(help)
            .emit();
    }
}
