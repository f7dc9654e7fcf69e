//! The ranges of addresses, the logs, and the encryption of Secrets of a cluster.

use std::collections::BTreeSet;

use gpuc_model::plan::{Change, FieldKind};
use gpuc_schema::config::{GcpCreate, GcpLog};
use gpuc_schema::{Span, Spanned};
use serde_json::json;

use super::location::Target;
use super::setting::Setting;

const UPDATE_HELP: &str = "gcloud container clusters update --help, Google Cloud SDK 528.0.0";

pub(super) const POD_RANGE: FieldKind = FieldKind {
    name: "range of pods",
    read: r#"if $want | contains("/") then .clusterIpv4Cidr else .ipAllocationPolicy.clusterSecondaryRangeName end"#,
    create_flag: Some("--cluster-ipv4-cidr"),
    change: Change::Replacement {
        reason: "the addresses of pods cannot be changed after creation",
    },
    source: UPDATE_HELP,
};

pub(super) const SERVICE_RANGE: FieldKind = FieldKind {
    name: "range of Services",
    read: r#"if $want | contains("/") then .ipAllocationPolicy.servicesIpv4CidrBlock // .servicesIpv4Cidr
               else .ipAllocationPolicy.servicesSecondaryRangeName end"#,
    create_flag: Some("--services-ipv4-cidr"),
    change: Change::Replacement {
        reason: "the addresses of Services cannot be changed after creation",
    },
    source: UPDATE_HELP,
};

/// The components of the control plane. Those of the system and of workloads are in the same list, and stay.
pub(super) const LOGS: FieldKind = FieldKind {
    name: "logs of the control plane",
    read: r#".loggingConfig.componentConfig.enableComponents // []
               | map(select(IN("APISERVER", "CONTROLLER_MANAGER", "SCHEDULER"))) | sort"#,
    create_flag: Some("--logging"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

pub(super) const SECRETS_KEY: FieldKind = FieldKind {
    name: "key of Secrets",
    read: r#".databaseEncryption // {} | if .state == "ENCRYPTED" then .keyName else null end"#,
    create_flag: Some("--database-encryption-key"),
    change: Change::InPlace,
    source: UPDATE_HELP,
};

/// Whether a value of `podRange` or `serviceRange` is a range of addresses, and not the name of one.
pub(super) fn is_address_range(written: &str) -> bool {
    written.contains('/')
}

/// The ranges that the file sets, each with the names of its key and flags.
pub(super) fn ranges(
    create: &GcpCreate,
) -> impl Iterator<Item = (&'static str, &'static FieldKind, &Spanned<String>)> {
    let pods = create.pod_range.as_ref();
    let pods = pods.map(|range| ("podRange", &POD_RANGE, range));
    let services = create.service_range.as_ref();
    let services = services.map(|range| ("serviceRange", &SERVICE_RANGE, range));
    pods.into_iter().chain(services)
}

/// The settings of ranges, which are immutable.
pub(super) fn range_settings(create: &GcpCreate) -> Vec<Setting> {
    ranges(create)
        .map(|(key, kind, range)| {
            let subject = if key == "podRange" {
                "cluster"
            } else {
                "services"
            };
            let flag = if is_address_range(range) {
                format!("--{subject}-ipv4-cidr={range}")
            } else {
                format!("--{subject}-secondary-range-name={range}")
            };
            Setting::new(kind, json!(range.value), range.span).with_flag(flag)
        })
        .collect()
}

/// The settings of logs and of the key, if the file has them. Otherwise, they stay as they are in the cluster.
pub(super) fn settings(create: &GcpCreate, target: Target<'_>) -> Vec<Setting> {
    let update = |flag: &str| target.cluster_command("update").with_arguments([flag]);
    let mut settings = Vec::new();
    if let Some(written) = &create.control_plane_logs {
        let logs: BTreeSet<_> = written.iter().map(|log| log.value).collect();
        let names: BTreeSet<_> = logs.iter().copied().map(GcpLog::api_name).collect();
        let span = written.first().map_or(Span::NONE, |log| log.span);
        // GKE's default components, which the flag would disable otherwise.
        let components = ["SYSTEM", "WORKLOAD"].into_iter();
        let components: Vec<_> = components
            .chain(logs.iter().copied().map(GcpLog::flag_name))
            .collect();
        let flag = format!("--logging={}", components.join(","));
        settings.push(
            Setting::new(&LOGS, json!(names), span)
                .with_flags((!logs.is_empty()).then(|| flag.clone()))
                .with_update(update(&flag)),
        );
    }
    if let Some(key) = &create.secrets_key {
        let flag = format!("--database-encryption-key={key}");
        settings.push(
            Setting::new(&SECRETS_KEY, json!(key.value), key.span)
                .with_flag(flag.clone())
                .with_update(update(&flag)),
        );
    }
    settings
}
