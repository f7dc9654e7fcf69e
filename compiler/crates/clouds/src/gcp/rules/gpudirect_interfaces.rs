//! Invalid networks of GPUDirect interfaces.

use std::collections::BTreeMap;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::{Gpudirect, GpudirectInterface};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{create_section, gpudirect};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2690",
        name: "gke-gpudirect-interfaces",
        severity: Severity::Error,
        summary: "the networks of a pool's GPUDirect interfaces are invalid",
        checks: r"Whether `network.gpudirect.interfaces` has a network for each interface that the machine type has for its
GPUs. Each interface needs its own VPC network and subnetwork, other than the cluster's network. Names
must be valid, and names of subnetworks have at most 41 characters. A subnetwork must be in the same
network everywhere in the file.",
        reason: r"Two GPUs share an interface, or each GPU has its own, and the NCCL settings name all of them. If an
interface is missing, pods do not start. GKE accepts each VPC network only once, and not the network of
the cluster. The name of the subnetwork becomes the name of a `Network` object in the cluster, which Linux
limits to 41 characters.",
        remedy: r"Create a VPC network and a subnetwork for each interface, and list them in the order of the interfaces.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace(
            "gpu-2}
",
            "gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
",
        ),
    },
    run,
};

/// Maximum length of the name of a device network, in characters.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods, general
/// limitations, 2026-11-22.
const MAX_NAME_LENGTH: usize = 41;

fn run(cluster: &Cluster, report: &mut Report) {
    let mut known: BTreeMap<&str, &Spanned<GpudirectInterface>> = BTreeMap::new();
    for (pool, written, protocol) in gpudirect::gpudirect_pools(cluster) {
        check_count(pool, written, protocol.interfaces, report);
        check_duplicates(written, report);
        for interface in &written.interfaces {
            check_names(interface, report);
            check_cluster_network(cluster, interface, report);
            let first = *known
                .entry(interface.subnetwork.as_str())
                .or_insert(interface);
            if first.network.value != interface.network.value {
                let message = format!(
                    "subnetwork `{}` is in two different networks",
                    interface.subnetwork
                );
                let builder = report
                    .diagnostic(&RULE.code, interface.network.span, message)
                    .label(first.network.span, "a different network here");
                builder
                    .help("write the network that contains the subnetwork")
                    .emit();
            }
        }
    }
}

fn check_count(pool: &Pool, written: &Spanned<Gpudirect>, expected: usize, report: &mut Report) {
    let actual = written.interfaces.len();
    if actual == expected {
        return;
    }
    let message = format!("{actual} networks are listed, but a node has {expected} GPU interfaces");
    let builder = report.diagnostic(&RULE.code, written.span, message);
    let builder = match &pool.machine_name {
        Some(machine) => builder.label(machine.span, "the machine type is set here"),
        None => builder,
    };
    builder.help(format!("list {expected} networks")).emit();
}

/// Checks that no two interfaces are in the same network.
fn check_duplicates(written: &Spanned<Gpudirect>, report: &mut Report) {
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for interface in &written.interfaces {
        let network = &interface.network;
        match seen.iter().find(|other| other.value == network.value) {
            Some(first) => {
                let message = format!("two interfaces are in network `{network}`");
                let builder = report
                    .diagnostic(&RULE.code, network.span, message)
                    .label(first.span, "the first interface in this network");
                builder
                    .help("choose a different network for each interface")
                    .emit();
            }
            None => seen.push(network),
        }
    }
}

fn check_names(interface: &GpudirectInterface, report: &mut Report) {
    let GpudirectInterface {
        network,
        subnetwork,
    } = interface;
    for (name, noun, max) in [
        (network, "network", 63),
        (subnetwork, "subnetwork", MAX_NAME_LENGTH),
    ] {
        if is_network_name(name) && name.len() <= max {
            continue;
        }
        let message = format!("invalid {noun} name `{name}`");
        let help = format!(
            "write the name without a path: up to {max} lower-case letters, digits and -, starting with a letter"
        );
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

/// Whether `name` is a Compute Engine name without a path.
fn is_network_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(allowed)
}

/// Reports the cluster's own network, to which the first interface of every node belongs.
fn check_cluster_network(cluster: &Cluster, interface: &GpudirectInterface, report: &mut Report) {
    let written = create_section(&cluster.config);
    let Some(create) = written else {
        return;
    };
    let cluster_network = create.network.as_ref();
    let cluster_network =
        cluster_network.map_or("default", |path| path.rsplit('/').next().unwrap_or(path));
    if interface.network.value != cluster_network {
        return;
    }
    let message = format!("`{cluster_network}` is the network of the cluster");
    let builder = report.diagnostic(&RULE.code, interface.network.span, message);
    builder
        .help("choose another network: the first interface of a node is in the network of the cluster")
        .emit();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use gpuc_model::check::check;

    fn interfaces(change: impl Fn(&mut Vec<Value>)) -> Value {
        let listed = (0..8)
            .map(|index| json!({"network": format!("gpu-{index}"), "subnetwork": format!("sub-{index}")}));
        let mut all: Vec<_> = listed.collect();
        change(&mut all);
        json!({
            "machine": "a3-megagpu-8g", "nodes": {"count": 2},
            "network": {"gpudirect": {"interfaces": all}},
        })
    }

    #[track_caller]
    fn assert_messages(mut pools: Vec<Value>, expected: &[&str]) {
        for (index, pool) in pools.iter_mut().enumerate() {
            pool["name"] = json!(format!("gpu-{index}"));
        }
        let (cluster, mut report) = resolved(cluster(&pools));
        check(&cluster, &mut report);
        let diagnostics = report.diagnostics().iter();
        let own = diagnostics.filter(|diagnostic| diagnostic.code.id == RULE.code.id);
        let messages: Vec<_> = own.map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn each_interface_needs_its_own_network() {
        assert_messages(vec![interfaces(|_| ()), interfaces(|_| ())], &[]);
        let missing = "7 networks are listed, but a node has 8 GPU interfaces";
        assert_messages(vec![interfaces(|all| drop(all.pop()))], &[missing]);
        let duplicate = interfaces(|all| all[7]["network"] = json!("gpu-0"));
        assert_messages(vec![duplicate], &["two interfaces are in network `gpu-0`"]);
        let default = interfaces(|all| all[0]["network"] = json!("default"));
        assert_messages(vec![default], &["`default` is the network of the cluster"]);
    }

    #[test]
    fn names_are_valid_and_consistent() {
        let path = interfaces(|all| all[1]["network"] = json!("projects/host/global/networks/a"));
        let message = "invalid network name `projects/host/global/networks/a`";
        assert_messages(vec![path], &[message]);
        let long = "s".repeat(42);
        let message = format!("invalid subnetwork name `{long}`");
        let long = interfaces(|all| all[1]["subnetwork"] = json!(long));
        assert_messages(vec![long], &[&message]);
        let other = interfaces(|all| all[2]["network"] = json!("other"));
        let message = "subnetwork `sub-2` is in two different networks";
        assert_messages(vec![interfaces(|_| ()), other], &[message]);
    }
}
