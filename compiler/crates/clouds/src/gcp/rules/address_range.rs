//! Ranges of addresses that GKE refuses.

use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::GcpCreate;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::{control_plane, create_section};

/// Sources: docs.cloud.google.com/kubernetes-engine/docs/concepts/alias-ips ("Cluster sizing": sizes of secondary
/// ranges) and .../how-to/cluster-shared-vpc (clusters in a Shared VPC name existing secondary ranges), general
/// knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2666",
        name: "gke-address-range",
        severity: Severity::Error,
        summary: "a range of addresses of the cluster is invalid",
        checks: "Whether `podRange` and `serviceRange` are IPv4 networks without host bits and with a valid size that do not
overlap, or the names of secondary ranges. Whether a cluster in the network of another project names both. Whether
`podRange` has addresses for all nodes.",
        reason: "GKE refuses other ranges, and the ranges of a cluster cannot be changed after creation. A cluster in a
Shared VPC cannot create ranges in the host project.",
        remedy: "Write two ranges that do not overlap, such as 10.4.0.0/14 for pods and 10.8.0.0/20 for Services, or the
names that `gcloud compute networks subnets describe` shows below `secondaryIpRanges`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  gcp:
    project: acme-ml-prod
    location: us-central1-a
    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com
    cluster:
      create:
        network: projects/acme-network/global/networks/shared
        subnetwork: projects/acme-network/regions/us-central1/subnetworks/gpu
        podRange: pods
        serviceRange: 10.8.0.0/20
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("10.8.0.0/20", "services"),
    },
    run,
};

/// The valid lengths of the prefix of a key.
fn prefixes(key: &str) -> std::ops::RangeInclusive<u32> {
    match key {
        "podRange" => 9..=21,
        _ => 16..=27,
    }
}

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(&cluster.config) else {
        return;
    };
    for (key, _, written) in control_plane::ranges(create) {
        if !control_plane::is_address_range(written) {
            check_name(key, written, report);
        } else if !check_range(key, written, report) {
            return;
        }
    }
    check_shared_network(cluster, create, report);
    let [pods, services] = [&create.pod_range, &create.service_range]
        .map(|range| range.as_ref().and_then(|it| Ipv4Range::parse(it).ok()));
    if let (Some(pods), Some(written)) = (pods, &create.pod_range) {
        check_size(cluster, pods, written, report);
    }
    if let (Some(pods), Some(services), Some(written)) = (pods, services, &create.service_range)
        && pods.overlaps(services)
    {
        let message =
            format!("the range of pods, {pods}, overlaps with that of Services, {services}");
        report
            .diagnostic(&RULE.code, written.span, message)
            .help("set `podRange` and `serviceRange` to ranges that do not overlap")
            .emit();
    }
}

/// Reports a range of pods with fewer addresses than the nodes of the pools get: each node gets a block of at least
/// twice as many addresses as it can have pods, 256 by default.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr, from memory, 2026-11-29.
fn check_size(cluster: &Cluster, pods: Ipv4Range, written: &Spanned<String>, report: &mut Report) {
    let block = |pool: &Pool| {
        let max = pool
            .settings
            .max_pods
            .as_ref()
            .map_or(DEFAULT_MAX_PODS, |it| it.value);
        u64::from(max.max(8).saturating_mul(2).next_power_of_two())
    };
    let pools = cluster.pools.iter();
    let needs = pools.filter_map(|pool| Some(block(pool) * u64::from(pool.nodes.get()?.max)));
    let needs: u64 = needs.sum();
    let size = |prefix: u32| 1_u64 << 32_u32.saturating_sub(prefix);
    if size(pods.prefix()) >= needs {
        return;
    }
    let enough = prefixes("podRange")
        .rev()
        .find(|prefix| size(*prefix) >= needs);
    let help = enough.map_or_else(
        || "lower the maximum number of nodes, or `maxPods` of pools".to_owned(),
        |prefix| format!("use a prefix length of {prefix} or less, or set `maxPods` in pools"),
    );
    let message = format!(
        "the range of pods, {pods}, has {} addresses, and the nodes of all pools need {needs}",
        size(pods.prefix())
    );
    report
        .diagnostic(&RULE.code, written.span, message)
        .primary_label("each node gets twice as many addresses as it can have pods")
        .help(help)
        .emit();
}

/// The pods that a node can have, if the file does not set it.
const DEFAULT_MAX_PODS: u32 = 110;

fn check_name(key: &str, written: &Spanned<String>, report: &mut Report) {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = written.starts_with(|first: char| first.is_ascii_lowercase())
        && written.len() <= 63
        && !written.ends_with('-')
        && written.bytes().all(inner);
    if !is_name {
        let message = format!("`{written}` is neither an IPv4 range nor the name of one");
        report
            .diagnostic(&RULE.code, written.span, message)
            .help(format!(
                "write a range such as `{}`, or the name of a secondary range of the subnetwork",
                example(key)
            ))
            .emit();
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "podRange" => "10.4.0.0/14",
        _ => "10.8.0.0/20",
    }
}

/// Whether a range of addresses is valid. Otherwise, reports it.
fn check_range(key: &str, written: &Spanned<String>, report: &mut Report) -> bool {
    let prefixes = prefixes(key);
    match Ipv4Range::parse(written) {
        Ok(range) if prefixes.contains(&range.prefix()) => return true,
        Err(RangeError::HostBits(network)) if prefixes.contains(&network.prefix()) => {
            let message = format!("invalid range `{written}`: host bits are set");
            report
                .diagnostic(&RULE.code, written.span, message)
                .help(format!("write `{network}`"))
                .replace(written.span, network.to_string())
                .emit();
        }
        _ => {
            let (first, last) = (prefixes.start(), prefixes.end());
            report
                .diagnostic(
                    &RULE.code,
                    written.span,
                    format!("invalid range `{written}`"),
                )
                .primary_label(format!(
                    "must be an IPv4 network with a prefix length of {first} to {last}"
                ))
                .help(format!("write a range such as `{}`", example(key)))
                .emit();
        }
    }
    false
}

/// Reports ranges that a cluster in a Shared VPC cannot create.
fn check_shared_network(cluster: &Cluster, create: &GcpCreate, report: &mut Report) {
    let Some(network) = &create.network else {
        return;
    };
    let own = super::super::section(&cluster.config).project.as_str();
    let host = network.strip_prefix("projects/");
    let host = host.and_then(|path| path.split('/').next());
    let Some(host) = host.filter(|host| *host != own) else {
        return;
    };
    let keys = [
        ("podRange", "pods", &create.pod_range),
        ("serviceRange", "services", &create.service_range),
    ];
    for (key, example, written) in keys {
        let span = match written {
            Some(written) if !control_plane::is_address_range(written) => continue,
            Some(written) => written.span,
            None => network.span,
        };
        report
            .diagnostic(
                &RULE.code,
                span,
                format!("the cluster cannot create a range in the project {host}"),
            )
            .help(format!(
                "set `{key}` to the name of a secondary range of the subnetwork, such as `{example}`"
            ))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::gcp::testing::{cluster, messages_with_id};

    /// A /21 has 8 blocks of 256 addresses, and 64 of 32.
    #[test]
    fn range_has_addresses_for_all_nodes() {
        let messages = |nodes: u32, max_pods: Option<u32>| {
            let mut pool = serde_json::json!({"name": "gpu", "machine": "g2-standard-8", "nodes": {"count": nodes}});
            if let Some(max) = max_pods {
                pool["maxPods"] = max.into();
            }
            let mut config = cluster(&[pool]);
            config["cloud"]["gcp"]["cluster"]["create"]["podRange"] = "10.4.0.0/21".into();
            messages_with_id(config, "GPUC2666")
        };
        // The system pool has a node, too.
        assert_eq!(messages(7, None), [""; 0]);
        let expected = "the range of pods, 10.4.0.0/21, has 2048 addresses, and the nodes of all pools need 2304";
        assert_eq!(messages(8, None), [expected]);
        assert_eq!(messages(56, Some(16)), [""; 0]);
        assert_eq!(messages(57, Some(16)).len(), 1);
    }

    fn messages(create: &serde_json::Value) -> Vec<String> {
        let mut config = cluster(&[]);
        config["cloud"]["gcp"]["cluster"] = serde_json::json!({"create": create});
        messages_with_id(config, "GPUC2666")
    }

    #[test]
    fn ranges_have_a_size_and_do_not_overlap() {
        let valid = [
            serde_json::json!({}),
            serde_json::json!({"podRange": "10.4.0.0/14", "serviceRange": "10.8.0.0/20"}),
            serde_json::json!({"podRange": "pods", "serviceRange": "services-1"}),
            serde_json::json!({"network": "projects/acme-ml-prod/global/networks/own", "podRange": "10.4.0.0/14"}),
        ];
        for create in &valid {
            assert_eq!(messages(create), Vec::<String>::new(), "{create}");
        }
        let invalid = [
            serde_json::json!({"podRange": "10.4.0.0/22"}),
            serde_json::json!({"podRange": "10.4.0.1/14"}),
            serde_json::json!({"podRange": "/14"}),
            serde_json::json!({"podRange": "Pods"}),
            serde_json::json!({"serviceRange": "10.8.0.0/28"}),
            serde_json::json!({"podRange": "10.4.0.0/14", "serviceRange": "10.7.0.0/20"}),
        ];
        for create in &invalid {
            assert_eq!(messages(create).len(), 1, "{create}");
        }
        let shared = serde_json::json!({"network": "projects/host/global/networks/shared"});
        assert_eq!(messages(&shared).len(), 2);
    }
}
