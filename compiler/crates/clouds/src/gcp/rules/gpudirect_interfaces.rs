//! Invalid networks of GPUDirect interfaces.

use std::collections::BTreeMap;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::{Gpudirect, GpudirectInterface, GpudirectNetworks};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::gpudirect::{self, Technology};
use super::super::{create_section, location, section};
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2690",
        name: "gke-gpudirect-interfaces",
        severity: Severity::Error,
        summary: "the networks of a pool's GPUDirect interfaces are invalid",
        checks: r"Whether `network.gpudirect.interfaces` has a network for each interface that the machine type has for its
GPUs. With GPUDirect-TCPX and -TCPXO, each interface needs its own VPC network and subnetwork, other than
the cluster's network. With GPUDirect RDMA, the first entry is for the second interface of the host, and
the adapters are in different subnetworks of one other network. Names must be valid, and names of
subnetworks have at most 41 characters. A subnetwork must be in the same network everywhere in the file.
With `create`, all pools set the same range, of `/20` or larger.",
        reason: r"Two GPUs share an interface, or each GPU has its own, and the NCCL settings name all of them. If an
interface is missing, pods do not start. GKE accepts the VPC network of an ordinary interface only once,
and not the network of the cluster. A network with a RoCE profile accepts only RDMA adapters. The name of
the subnetwork becomes the name of a `Network` object in the cluster, which Linux limits to 41 characters.",
        remedy: r"Create the networks and subnetworks, and list them in the order of the interfaces. With
`gpudirect: {create: {}}`, gpuc creates them; on machines with GPUDirect RDMA, `gpudirect: {managed: {}}` lets
GKE create them.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
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
    for (pool, written, technology) in gpudirect::gpudirect_pools(cluster) {
        let interfaces = match &written.value {
            Gpudirect::Interfaces(interfaces) => interfaces,
            Gpudirect::Create(networks) => {
                check_created(cluster, pool, networks, (written.span, technology), report);
                continue;
            }
            Gpudirect::Managed(_) => continue,
        };
        check_count(pool, written, technology, report);
        match technology {
            Technology::Tcp(_) => check_duplicates(interfaces, report),
            Technology::Rdma(_) => check_rdma_networks(interfaces, report),
        }
        for interface in interfaces {
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

/// Checks the networks that gpuc creates.
fn check_created(
    cluster: &Cluster,
    pool: &Pool,
    networks: &GpudirectNetworks,
    (span, technology): (Span, Technology),
    report: &mut Report,
) {
    if let Some(name) = gpudirect::longest_name(cluster, pool)
        && name.len() > MAX_NAME_LENGTH
    {
        let message = format!("the name of the cluster is too long for the subnetwork `{name}`");
        report
            .diagnostic(&RULE.code, span, message)
            .help(format!(
                "list networks that exist in `interfaces`, or shorten the name of the cluster by {} characters",
                name.len() - MAX_NAME_LENGTH
            ))
            .emit();
    }
    let zones = location::pool_zones(section(&cluster.config), pool);
    if matches!(technology, Technology::Rdma(_)) && zones.len() != 1 && !pool.is_existing() {
        let message = format!(
            "the RDMA network of pool `{}` is in one zone only",
            pool.name
        );
        let zone = pool
            .settings
            .zones
            .get(1)
            .map_or(pool.name.span, |zone| zone.span);
        report
            .diagnostic(&RULE.code, span, message)
            .label(zone, "the zones of the pool")
            .help("set exactly one zone in `zones`")
            .emit();
    }
    if let Some(cidr) = &networks.cidr {
        check_range(cluster, cidr, report);
    }
}

/// Checks the range of the networks that gpuc creates, which all pools share.
fn check_range(cluster: &Cluster, cidr: &Spanned<String>, report: &mut Report) {
    let example = gpudirect::DEFAULT_CIDR;
    let longest = gpudirect::LONGEST_PREFIX;
    let problem = match Ipv4Range::parse(cidr) {
        Ok(range) if range.prefix() <= longest && range.prefix() >= 8 => None,
        Ok(_) => Some(format!("its prefix must be between 8 and {longest}")),
        Err(RangeError::HostBits(range)) => Some(format!("host bits are set; write `{range}`")),
        Err(RangeError::Malformed) => Some("it is not a range of IPv4 addresses".to_owned()),
    };
    if let Some(problem) = problem {
        report
            .diagnostic(
                &RULE.code,
                cidr.span,
                format!("invalid range `{cidr}`: {problem}"),
            )
            .help(format!("write a range such as `{example}`"))
            .emit();
        return;
    }
    let other =
        gpudirect::gpudirect_pools(cluster).find_map(|(_, written, _)| match &written.value {
            Gpudirect::Create(networks) => {
                let other = networks.cidr.as_ref();
                let is_other = other.is_none_or(|other| other.value != cidr.value);
                is_other.then(|| other.map_or(written.span, |other| other.span))
            }
            Gpudirect::Interfaces(_) | Gpudirect::Managed(_) => None,
        });
    if let Some(other) = other {
        report
            .diagnostic(
                &RULE.code,
                cidr.span,
                "pools that share the networks have different ranges",
            )
            .label(other, "another pool")
            .help(format!("set `cidr: {cidr}` in all pools with `create`"))
            .emit();
    }
}

fn check_count(
    pool: &Pool,
    written: &Spanned<Gpudirect>,
    technology: Technology,
    report: &mut Report,
) {
    let Gpudirect::Interfaces(interfaces) = &written.value else {
        return;
    };
    let (actual, expected) = (interfaces.len(), technology.interfaces());
    if actual == expected {
        return;
    }
    let needed = match technology {
        Technology::Tcp(_) => format!("a node has {expected} GPU interfaces"),
        Technology::Rdma(_) => format!(
            "a node needs {expected}: one for the host's second interface, and one for each of its {} adapters",
            expected - 1
        ),
    };
    let message = format!("{actual} networks are listed, but {needed}");
    let builder = report.diagnostic(&RULE.code, written.span, message);
    let builder = match &pool.machine_name {
        Some(machine) => builder.label(machine.span, "the machine type is set here"),
        None => builder,
    };
    builder.help(format!("list {expected} networks")).emit();
}

/// Checks the networks of machines with RDMA: the adapters are in different subnetworks of one network with the RoCE
/// profile, and the host's second interface is in another network.
fn check_rdma_networks(interfaces: &[Spanned<GpudirectInterface>], report: &mut Report) {
    let Some((host, adapters)) = interfaces.split_first() else {
        return;
    };
    let Some((first, rest)) = adapters.split_first() else {
        return;
    };
    if host.network.value == first.network.value {
        let message = format!(
            "the host's second interface is in network `{}`, like the RDMA adapters",
            host.network
        );
        report
            .diagnostic(&RULE.code, host.network.span, message)
            .label(first.network.span, "the network of the adapters")
            .help("choose another network for the first entry: a RoCE network accepts only RDMA adapters")
            .emit();
    }
    let mut seen = vec![&first.subnetwork];
    for adapter in rest {
        if adapter.network.value != first.network.value {
            let message = format!(
                "the RDMA adapters of a node are in two networks, `{}` and `{}`",
                first.network, adapter.network
            );
            report
                .diagnostic(&RULE.code, adapter.network.span, message)
                .label(first.network.span, "the network of the first adapter")
                .help("list subnetworks of one network")
                .emit();
        }
        match seen
            .iter()
            .find(|other| other.value == adapter.subnetwork.value)
        {
            Some(other) => {
                let message = format!("two adapters are in subnetwork `{}`", adapter.subnetwork);
                report
                    .diagnostic(&RULE.code, adapter.subnetwork.span, message)
                    .label(other.span, "the first adapter in this subnetwork")
                    .help("choose a different subnetwork for each adapter")
                    .emit();
            }
            None => seen.push(&adapter.subnetwork),
        }
    }
}

/// Checks that no two interfaces are in the same network.
fn check_duplicates(interfaces: &[Spanned<GpudirectInterface>], report: &mut Report) {
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for interface in interfaces {
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
    fn rdma_adapters_share_one_network() {
        let pool = |change: fn(&mut Vec<Value>)| {
            let adapters = (0..8)
                .map(|index| json!({"network": "roce", "subnetwork": format!("rdma-{index}")}));
            let mut all = vec![json!({"network": "host", "subnetwork": "host"})];
            all.extend(adapters);
            change(&mut all);
            json!({
                "machine": "a3-ultragpu-8g", "nodes": {"count": 2},
                "network": {"gpudirect": {"interfaces": all}},
            })
        };
        assert_messages(vec![pool(|_| ())], &[]);
        let missing = "8 networks are listed, but a node needs 9: one for the host's second interface, and one for each \
                       of its 8 adapters";
        assert_messages(vec![pool(|all| drop(all.pop()))], &[missing]);
        let host = "the host's second interface is in network `roce`, like the RDMA adapters";
        assert_messages(vec![pool(|all| all[0]["network"] = json!("roce"))], &[host]);
        let other = "the RDMA adapters of a node are in two networks, `roce` and `other`";
        assert_messages(
            vec![pool(|all| all[4]["network"] = json!("other"))],
            &[other],
        );
        let twice = "two adapters are in subnetwork `rdma-0`";
        assert_messages(
            vec![pool(|all| all[8]["subnetwork"] = json!("rdma-0"))],
            &[twice],
        );
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
