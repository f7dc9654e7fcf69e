//! Invalid name of a network, reservation or placement policy.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::{Capacity, Placement};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2623",
        name: "gke-resource-name",
        severity: Severity::Error,
        summary: "the name of a network, reservation or placement policy is invalid",
        checks: r"Whether these names are valid: the network and subnetwork of a new cluster, and the reservation and placement
policy of a pool. A name has at most 63 lower-case letters, digits and hyphens. It starts with a letter and does
not end with a hyphen. A path such as `projects/host/global/networks/shared` is also valid.",
        reason: r"`gcloud` does not validate these names and treats an empty name as not set. Google Cloud refuses invalid
names when it creates the cluster, after the review.",
        remedy: r"Write the name that `gcloud compute networks list`, `gcloud compute reservations list` or `gcloud
compute resource-policies list` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    capacity: {reservation: {id: Training GPUs, count: 1}}
"#,
        correction: Correction::Replace("Training GPUs", "training-gpus"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(&cluster.config);
    let mut names: Vec<(&str, &Spanned<String>)> = Vec::new();
    if let Some(create) = create {
        names.extend(create.network.as_ref().map(|name| ("network", name)));
        names.extend(create.subnetwork.as_ref().map(|name| ("subnetwork", name)));
    }
    for pool in &cluster.pools {
        let settings = &pool.settings;
        if let Capacity::Reservation(reservation) = &settings.capacity.value {
            names.push(("reservation", &reservation.id));
        }
        if let Some(Placement::Group(name)) =
            (settings.network.placement.as_ref()).map(|placement| &placement.value)
        {
            names.push(("placement policy", name));
        }
    }
    for (noun, name) in names.into_iter().filter(|(_, name)| !is_reference(name)) {
        let message = format!("invalid {noun} name `{name}`");
        let help = "use at most 63 lower-case letters, digits and hyphens, starting with a letter and not ending \
                    with a hyphen, optionally after a path";
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

/// Whether `text` is a name of RFC 1035, as Compute Engine requires (cloud.google.com/compute/docs/naming-resources,
/// 2026-11-21), optionally after a path. The project in the path may have a domain: `example.com:project`.
fn is_reference(text: &str) -> bool {
    let (path, name) = text.rsplit_once('/').unwrap_or(("projects", text));
    let in_paths = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    path.split('/')
        .all(|part| !part.is_empty() && part.chars().all(in_paths))
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.len() <= 63
        && name.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_references() {
        for text in [
            "a",
            "training-gpus",
            "projects/host-project/global/networks/shared",
            "projects/example.com:host/reservations/h100",
        ] {
            assert!(is_reference(text), "{text}");
        }
        for text in [
            "",
            " ",
            "-a",
            "a-",
            "A",
            "a b",
            "1a",
            "/a",
            "projects//a",
            "projects/a/",
            "$(a)/b",
        ] {
            assert!(!is_reference(text), "{text}");
        }
    }
}
