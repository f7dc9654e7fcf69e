//! Who can reach the API server, and which groups of Google log in.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::plan::{Change, Command, FieldKind};
use gpuc_schema::config::GcpCreate;
use serde_json::json;

use super::create_section;
use super::location::Target;
use super::setting::Setting;

const UPDATE_HELP: &str = "gcloud container clusters update --help, Google Cloud SDK 528.0.0; `ControlPlaneEndpointsConfig` in its \
    `container_v1_messages.py`";

pub(super) const PRIVATE_ENDPOINT: FieldKind = FieldKind {
    name: "private endpoint",
    read: "(.privateClusterConfig.enablePrivateEndpoint // false) \
               or .controlPlaneEndpointsConfig.ipEndpointsConfig.enablePublicEndpoint == false",
    create_flag: Some("--enable-private-endpoint"),
    change: Change::Access,
    source: UPDATE_HELP,
};

pub(super) const NETWORKS: FieldKind = FieldKind {
    name: "authorized networks",
    read: ".controlPlaneEndpointsConfig.ipEndpointsConfig.authorizedNetworksConfig \
               // .masterAuthorizedNetworksConfig // {} \
               | if .enabled then [.cidrBlocks[]?.cidrBlock] | sort else null end",
    create_flag: Some("--master-authorized-networks"),
    change: Change::Access,
    source: UPDATE_HELP,
};

pub(super) const DNS_ENDPOINT: FieldKind = FieldKind {
    name: "DNS endpoint",
    read: ".controlPlaneEndpointsConfig.dnsEndpointConfig.allowExternalTraffic // false",
    create_flag: Some("--enable-dns-access"),
    change: Change::Access,
    source: UPDATE_HELP,
};

pub(super) const GLOBAL_ACCESS: FieldKind = FieldKind {
    name: "global access",
    read: ".controlPlaneEndpointsConfig.ipEndpointsConfig.globalAccess \
               // .privateClusterConfig.masterGlobalAccessConfig.enabled // false",
    create_flag: Some("--enable-master-global-access"),
    change: Change::Access,
    source: UPDATE_HELP,
};

pub(super) const SECURITY_GROUP: FieldKind = FieldKind {
    name: "security group",
    read: ".authenticatorGroupsConfig // {} | if .enabled then .securityGroup else null end",
    create_flag: Some("--security-group"),
    change: Change::Access,
    source: UPDATE_HELP,
};

/// The settings in the file. The others stay as they are in the cluster.
pub(super) fn settings(create: &GcpCreate, target: Target<'_>) -> Vec<Setting> {
    let update = |flags: &[String]| {
        let command = target.cluster_command("update");
        command.with_arguments(flags.iter().cloned())
    };
    let switches = [
        (
            &PRIVATE_ENDPOINT,
            "private-endpoint",
            create.private_endpoint,
        ),
        (&DNS_ENDPOINT, "dns-access", create.dns_endpoint),
        (&GLOBAL_ACCESS, "master-global-access", create.global_access),
    ];
    let mut settings = Vec::new();
    for (kind, name, written) in switches {
        let Some(is_enabled) = written else { continue };
        let flag = switch(name, is_enabled.value);
        let setting = Setting::new(kind, json!(is_enabled.value), is_enabled.span)
            .with_flags(is_enabled.value.then(|| flag.clone()))
            .with_update(update(&[flag]));
        settings.push(setting);
    }
    if let Some(first) = create.authorized_networks.first() {
        let networks = networks(create);
        let flags = [
            "--enable-master-authorized-networks".to_owned(),
            format!("--master-authorized-networks={}", join(&networks)),
        ];
        let setting = Setting::new(&NETWORKS, json!(networks), first.span)
            .with_flags(flags.clone())
            .with_update(update(&flags));
        settings.push(setting);
    }
    if let Some(group) = &create.security_group {
        let flag = format!("--security-group={group}");
        let setting = Setting::new(&SECURITY_GROUP, json!(group.value), group.span)
            .with_flag(flag.clone())
            .with_update(update(&[flag]));
        settings.push(setting);
    }
    settings
}

/// The command that writes to a kubeconfig. The DNS name is reachable wherever the address is not.
pub(super) fn credentials(create: Option<&GcpCreate>, target: Target<'_>) -> Command {
    let command = target.cluster_command("get-credentials");
    let has_name = create
        .and_then(|create| create.dns_endpoint)
        .is_some_and(|dns| dns.value);
    let flag = has_name.then_some("--dns-endpoint");
    command.with_arguments(flag)
}

/// Who can reach the API server and log in, as sentences.
pub(super) fn notes(cluster: &Cluster) -> Vec<String> {
    let Some(create) = create_section(&cluster.config) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let has_name = create.dns_endpoint.is_some_and(|dns| dns.value);
    let networks = networks(create);
    if create.private_endpoint.is_some_and(|private| private.value) {
        notes.push(if has_name {
            "API server: it has only a private address. The scripts and the kubeconfig use its DNS name.".to_owned()
        } else {
            "API server: it has only a private address. Run install.sh, cloud/verify.sh and kubectl in a network that \
             is connected to the VPC network."
                .to_owned()
        });
    } else if !networks.is_empty() {
        notes.push(format!(
            "API server: its public address accepts clients from {} only.",
            networks
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    if has_name {
        notes.push(
            "API server: its DNS name accepts clients from any network that have the permission of IAM \
             container.clusters.connect."
                .to_owned(),
        );
    }
    if let Some(group) = &create.security_group {
        notes.push(format!(
            "Login: groups of teams are Google groups, each a direct member of {group}."
        ));
    }
    notes
}

fn networks(create: &GcpCreate) -> BTreeSet<String> {
    let networks = create.authorized_networks.iter();
    networks.map(|network| network.value.clone()).collect()
}

fn join(texts: &BTreeSet<String>) -> String {
    texts
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(",")
}

fn switch(name: &str, is_enabled: bool) -> String {
    let no = if is_enabled { "" } else { "no-" };
    format!("--{no}enable-{name}")
}
