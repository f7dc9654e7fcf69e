//! Networks of interfaces that GKE would not take.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Gpudirect, GpudirectInterface};

use super::super::{created, gpudirect};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2690",
        name: "gke-gpudirect-interfaces",
        severity: Severity::Error,
        summary: "the networks of a pool's interfaces cannot be as they are written",
        explain: r"### What it checks

Whether `network.gpudirect.interfaces` has a network for each interface that the machine has for its
GPUs, each with a VPC network and a subnetwork of its own, and none the cluster's own; whether the
names are names, those of subnetworks with 41 characters at the most; and whether a network is
called the same wherever the file names it.

### Why it matters

GPUs share their interfaces by pairs or have one each, and NCCL's settings name all of them: with
fewer, pods do not start. GKE takes a VPC network once, and not the cluster's own. The name of the
subnetwork becomes that of a `Network` in the cluster, where Linux leaves room for 41 characters.

### What to do

Make a VPC network and a subnetwork for each interface and name them in their order.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
"#,
    },
    run,
};

/// The most characters of a device network's name.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods, general
/// limitations, 2026-11-22.
const MOST: usize = 41;

fn run(cluster: &Cluster, report: &mut Report) {
    let mut known: BTreeMap<&str, &Spanned<GpudirectInterface>> = BTreeMap::new();
    for (pool, written, protocol) in gpudirect::pools(cluster) {
        count(pool, written, protocol.interfaces, report);
        once(written, report);
        for interface in &written.interfaces {
            names(interface, report);
            own(cluster, interface, report);
            let first = *known
                .entry(interface.subnetwork.as_str())
                .or_insert(interface);
            if first.network.value != interface.network.value {
                let message = format!("subnetwork `{}` is in two networks", interface.subnetwork);
                let draft = report.draft(&RULE.code, interface.network.span, message);
                let draft = draft.label(first.network.span, "another network here");
                draft.help("write the network that it is in").emit();
            }
        }
    }
}

fn count(pool: &Pool, written: &Spanned<Gpudirect>, wanted: usize, report: &mut Report) {
    let have = written.interfaces.len();
    if have == wanted {
        return;
    }
    let message = format!("{have} networks are named, and a node has {wanted} interfaces for GPUs");
    let draft = report.draft(&RULE.code, written.span, message);
    let draft = match &pool.written.machine {
        Some(machine) => draft.label(machine.span, "the machine"),
        None => draft,
    };
    draft.help(format!("name {wanted} networks")).emit();
}

/// Each interface is in a network of its own.
fn once(written: &Spanned<Gpudirect>, report: &mut Report) {
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for interface in &written.interfaces {
        let network = &interface.network;
        match seen.iter().find(|other| other.value == network.value) {
            Some(first) => {
                let message = format!("two interfaces are in network `{network}`");
                let draft = report.draft(&RULE.code, network.span, message);
                let draft = draft.label(first.span, "the other one");
                draft
                    .help("write a network of its own for each interface")
                    .emit();
            }
            None => seen.push(network),
        }
    }
}

fn names(interface: &GpudirectInterface, report: &mut Report) {
    let GpudirectInterface {
        network,
        subnetwork,
    } = interface;
    for (name, what, most) in [(network, "network", 63), (subnetwork, "subnetwork", MOST)] {
        if is_name(name) && name.len() <= most {
            continue;
        }
        let message = format!("`{name}` cannot be the name of a {what} here");
        let help = format!(
            "write its name alone: up to {most} lower-case letters, digits and -, starting with a letter"
        );
        report
            .draft(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

/// Whether this is a name of Compute Engine, no path.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(allowed)
}

/// The cluster's own network has the first interface.
fn own(cluster: &Cluster, interface: &GpudirectInterface, report: &mut Report) {
    let written = created(&cluster.written);
    let Some(create) = written else {
        return;
    };
    let own = create.network.as_ref();
    let own = own.map_or("default", |path| path.rsplit('/').next().unwrap_or(path));
    if interface.network.value != own {
        return;
    }
    let message = format!("`{own}` is the cluster's own network");
    let draft = report.draft(&RULE.code, interface.network.span, message);
    draft
        .help("write another network: a node's first interface is in the cluster's own")
        .emit();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use crate::check::check;

    fn interfaces(change: impl Fn(&mut Vec<Value>)) -> Value {
        let named = (0..8)
            .map(|it| json!({"network": format!("gpu-{it}"), "subnetwork": format!("sub-{it}")}));
        let mut all: Vec<_> = named.collect();
        change(&mut all);
        json!({
            "machine": "a3-megagpu-8g", "nodes": {"count": 2},
            "network": {"gpudirect": {"interfaces": all}},
        })
    }

    #[track_caller]
    fn found(mut pools: Vec<Value>, expected: &[&str]) {
        for (index, pool) in pools.iter_mut().enumerate() {
            pool["name"] = json!(format!("gpu-{index}"));
        }
        let (cluster, mut report) = resolved(cluster(&pools));
        check(&cluster, &mut report);
        let found = report.diagnostics().iter();
        let found = found.filter(|it| it.code.id == RULE.code.id);
        let found: Vec<_> = found.map(|it| it.message.as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_interface_has_a_network_of_its_own() {
        found(vec![interfaces(|_| ()), interfaces(|_| ())], &[]);
        let few = "7 networks are named, and a node has 8 interfaces for GPUs";
        found(vec![interfaces(|all| drop(all.pop()))], &[few]);
        let twice = interfaces(|all| all[7]["network"] = json!("gpu-0"));
        found(vec![twice], &["two interfaces are in network `gpu-0`"]);
        let default = interfaces(|all| all[0]["network"] = json!("default"));
        found(vec![default], &["`default` is the cluster's own network"]);
    }

    #[test]
    fn names_are_names_and_the_same_everywhere() {
        let path = interfaces(|all| all[1]["network"] = json!("projects/host/global/networks/a"));
        let message = "`projects/host/global/networks/a` cannot be the name of a network here";
        found(vec![path], &[message]);
        let long = "s".repeat(42);
        let message = format!("`{long}` cannot be the name of a subnetwork here");
        let long = interfaces(|all| all[1]["subnetwork"] = json!(long));
        found(vec![long], &[&message]);
        let other = interfaces(|all| all[2]["network"] = json!("other"));
        let message = "subnetwork `sub-2` is in two networks";
        found(vec![interfaces(|_| ()), other], &[message]);
    }
}
