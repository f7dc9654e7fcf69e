//! The VPC networks of GPUDirect interfaces that gpuc creates: networks, subnetworks and firewall rules.
//!
//! Sources: docs.cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx (a network with an MTU of
//! 8244 for each interface, and rules for all traffic between nodes), 2026-11-22;
//! docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom, 2026-04-06, and
//! GoogleCloudPlatform/cluster-toolkit@10470803 `modules/network/gpu-rdma-vpc` (a network with a RoCE profile, an MTU
//! of 8896 and no rules for the adapters).

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Change, Command, FieldKind, Mark, Observation, Resource, ResourceKind};
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::{Gpudirect, GpudirectInterface};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::json;

use super::super::location::{self, Target};
use super::super::setting::Setting;
use super::super::{names, section};
use super::{Technology, gpudirect_pools, pool_technology};
use gpuc_model::ipv4_range::Ipv4Range;

/// The range of addresses without `cidr`, as in Google's guides.
pub(in super::super) const DEFAULT_CIDR: &str = "192.168.0.0/16";

/// The longest prefix of the range.
pub(in super::super) const LONGEST_PREFIX: u32 = 20;

/// A subnetwork gets a 32nd of the range.
const PART_BITS: u32 = 5;

/// The number of the subnetwork of the host's second interface, after those of the interfaces with TCP.
const HOST_PART: u32 = 8;

/// The number of the first subnetwork of RDMA adapters. Those of all zones have the same ranges: a node connects to
/// those of its zone only.
const FIRST_RDMA_PART: u32 = 16;

/// The description of a resource, which marks it as created by gpuc.
const DESCRIPTION_PREFIX: &str = "gpuc: cluster ";

/// A VPC network.
pub(in super::super) static NETWORK: ResourceKind = ResourceKind {
    name: "VPC network",
    protection: None,
    fields: &[SUBNET_MODE, MTU, PROFILE, DESCRIPTION],
    definitions: "",
    state: None,
    mark: Some(&MARK),
};

/// A subnetwork of a VPC network.
pub(in super::super) static SUBNETWORK: ResourceKind = ResourceKind {
    name: "VPC subnetwork",
    protection: None,
    fields: &[PARENT, RANGE, DESCRIPTION],
    definitions: "",
    state: None,
    mark: Some(&MARK),
};

/// A firewall rule of a VPC network.
pub(in super::super) static FIREWALL_RULE: ResourceKind = ResourceKind {
    name: "VPC firewall rule",
    protection: None,
    fields: &[RULE_NETWORK, ALLOWED, SOURCES, DESCRIPTION],
    definitions: "",
    state: None,
    mark: Some(&MARK),
};

const MARK: Mark = Mark {
    name: "description that starts with `gpuc: cluster `",
    read: r#"(.description // "") | startswith("gpuc: cluster ")"#,
};

const CREATE_HELP: &str = "gcloud compute networks create --help, networks subnets create --help and firewall-rules create \
                           --help, Google Cloud SDK 528.0.0";

const IMMUTABLE: Change = Change::Replacement {
    reason: "machines use the network, so that it cannot be changed",
};

const SUBNET_MODE: FieldKind = FieldKind {
    name: "subnetworks of its own",
    read: ".autoCreateSubnetworks == false",
    create_flag: Some("--subnet-mode"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const MTU: FieldKind = FieldKind {
    name: "MTU",
    read: ".mtu // 1460",
    create_flag: Some("--mtu"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const PROFILE: FieldKind = FieldKind {
    name: "network profile",
    read: r#".networkProfile // null | if . then split("/") | last else null end"#,
    create_flag: Some("--network-profile"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const DESCRIPTION: FieldKind = FieldKind {
    name: "description",
    read: r#".description // """#,
    create_flag: Some("--description"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const PARENT: FieldKind = FieldKind {
    name: "network",
    read: r#".network // "" | split("/") | last"#,
    create_flag: Some("--network"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const RANGE: FieldKind = FieldKind {
    name: "range",
    read: r#".ipCidrRange // """#,
    create_flag: Some("--range"),
    change: IMMUTABLE,
    source: CREATE_HELP,
};

const RULE_NETWORK: FieldKind = FieldKind {
    name: "network of the rule",
    ..PARENT
};

const ALLOWED: FieldKind = FieldKind {
    name: "allowed traffic",
    read: r#"[.allowed[]? | .IPProtocol as $protocol | (.ports // [""])[]
        | if . == "" then $protocol else "\($protocol):\(.)" end] | sort"#,
    create_flag: Some("--rules"),
    change: Change::InPlace,
    source: "gcloud compute firewall-rules update --help, Google Cloud SDK 528.0.0",
};

const SOURCES: FieldKind = FieldKind {
    name: "sources",
    read: ".sourceRanges // [] | sort",
    create_flag: Some("--source-ranges"),
    change: Change::InPlace,
    source: "gcloud compute firewall-rules update --help, Google Cloud SDK 528.0.0",
};

/// The traffic between nodes: all of it, as in Google's guides.
const RULES: [&str; 3] = ["icmp", "tcp:0-65535", "udp:0-65535"];

/// The networks of a pool's interfaces, in order: those in the file, or those that gpuc creates. Empty if GKE creates
/// them.
pub(in super::super) fn pool_interfaces(cluster: &Cluster, pool: &Pool) -> Vec<GpudirectInterface> {
    let Some(written) = &pool.settings.network.gpudirect else {
        return Vec::new();
    };
    match (&written.value, pool_technology(pool)) {
        (Gpudirect::Interfaces(interfaces), _) => {
            interfaces.iter().map(|it| it.value.clone()).collect()
        }
        (Gpudirect::Create(_), Ok(technology)) => {
            let interface = |subnet: Subnet| GpudirectInterface {
                network: gpuc_schema::Spanned::new(subnet.network, written.span),
                subnetwork: gpuc_schema::Spanned::new(subnet.name, written.span),
            };
            created_subnets(cluster, pool, technology)
                .into_iter()
                .map(interface)
                .collect()
        }
        (Gpudirect::Create(_), Err(_)) | (Gpudirect::Managed(_), _) => Vec::new(),
    }
}

/// A subnetwork that gpuc creates.
struct Subnet {
    name: String,
    network: String,
    /// Its number in the range.
    part: u32,
    /// The zone of the network profile, for RDMA adapters.
    zone: Option<String>,
}

/// The subnetworks that gpuc creates for the interfaces of a pool, in their order. Pools share them.
fn created_subnets(cluster: &Cluster, pool: &Pool, technology: Technology) -> Vec<Subnet> {
    let prefix = &cluster.name;
    match technology {
        Technology::Tcp(protocol) => (0..8)
            .take(protocol.interfaces)
            .map(|part| {
                let name = format!("{prefix}-gpu-{part}");
                Subnet {
                    network: name.clone(),
                    name,
                    part,
                    zone: None,
                }
            })
            .collect(),
        Technology::Rdma(adapters) => {
            let host = format!("{prefix}-gpu-host");
            let host = Subnet {
                network: host.clone(),
                name: host,
                part: HOST_PART,
                zone: None,
            };
            let zone = location::pool_zones(section(&cluster.config), pool)
                .first()
                .map_or("", |zone| *zone);
            let network = format!("{prefix}-{}-rdma", zone_letter(zone));
            let count = u32::try_from(adapters.count).unwrap_or(0);
            let adapters = (0..count).map(|index| Subnet {
                name: format!("{network}-{index}"),
                network: network.clone(),
                part: FIRST_RDMA_PART + index,
                zone: Some(zone.to_owned()),
            });
            std::iter::once(host).chain(adapters).collect()
        }
    }
}

/// The end of a zone's name, which is unique in its region: `b` of `us-central1-b`.
fn zone_letter(zone: &str) -> &str {
    zone.rsplit('-').next().unwrap_or(zone)
}

/// Whether a pool's networks are created by gpuc.
fn is_created(pool: &Pool) -> bool {
    let written = pool.settings.network.gpudirect.as_ref();
    written.is_some_and(|it| matches!(it.value, Gpudirect::Create(_)))
}

/// The longest name of a subnetwork that gpuc creates for a pool.
pub(in super::super) fn longest_name(cluster: &Cluster, pool: &Pool) -> Option<String> {
    let technology = pool_technology(pool).ok().filter(|_| is_created(pool))?;
    let names = created_subnets(cluster, pool, technology).into_iter();
    names.map(|subnet| subnet.name).max_by_key(String::len)
}

/// The range of the networks, and its location.
fn networks_range(cluster: &Cluster) -> (Ipv4Range, Span) {
    let mut pools = cluster.pools.iter();
    let written = pools.find_map(|pool| {
        let written = pool.settings.network.gpudirect.as_ref()?;
        match &written.value {
            Gpudirect::Create(networks) => networks.cidr.clone(),
            Gpudirect::Interfaces(_) | Gpudirect::Managed(_) => None,
        }
    });
    let (text, span) = match &written {
        Some(cidr) => (cidr.value.as_str(), cidr.span),
        None => (DEFAULT_CIDR, Span::NONE),
    };
    let range = Ipv4Range::parse(text)
        .unwrap_or_else(|_| unreachable!("GPUC2690 rejects a text that is not a range"));
    (range, span)
}

/// The networks, subnetworks and firewall rules that gpuc creates, in the order of creation.
pub(in super::super) fn resources(cluster: Checked<'_>, target: Target<'_>) -> Vec<Resource> {
    let mut subnets: BTreeMap<String, (Subnet, Span)> = BTreeMap::new();
    for (pool, written, technology) in gpudirect_pools(&cluster) {
        if !is_created(pool) || pool.is_existing() {
            continue;
        }
        for subnet in created_subnets(&cluster, pool, technology) {
            subnets
                .entry(subnet.name.clone())
                .or_insert((subnet, written.span));
        }
    }
    let (range, range_span) = networks_range(&cluster);
    let names = Names { target };
    let mut networks: BTreeMap<&str, Resource> = BTreeMap::new();
    let mut children = Vec::new();
    for (subnet, span) in subnets.values() {
        networks
            .entry(&subnet.network)
            .or_insert_with(|| names.network(subnet, *span));
        let prefix = range.prefix() + PART_BITS;
        let part = range.part(prefix, subnet.part);
        let span = if range_span.is_written() {
            range_span
        } else {
            *span
        };
        children.push(names.subnetwork(subnet, part, span));
        if subnet.zone.is_none() {
            children.push(names.firewall_rule(subnet, range, span));
        }
    }
    networks.into_values().chain(children).collect()
}

/// Builds the commands of the resources.
struct Names<'t> {
    target: Target<'t>,
}

impl Names<'_> {
    fn description(&self) -> String {
        format!(
            "{DESCRIPTION_PREFIX}{} in {}",
            self.target.cluster, self.target.location
        )
    }

    /// The command `gcloud compute GROUP VERB NAME`.
    fn command(&self, group: &[&str], verb: &str, name: &str, place: Option<&str>) -> Command {
        let words = ["gcloud", "compute"];
        let words = words.iter().chain(group).copied();
        Command::new(words.chain([verb, name]))
            .with_arguments([format!("--project={}", self.target.project)])
            .with_arguments(place.map(|region| format!("--region={region}")))
            .with_arguments(["--quiet"])
    }

    fn region(&self) -> &str {
        names::region_of_zone(self.target.location).unwrap_or(self.target.location)
    }

    fn network(&self, subnet: &Subnet, span: Span) -> Resource {
        let is_rdma = subnet.zone.is_some();
        // The jumbo frames of the adapters, and Google's recommendation for other interfaces.
        let mtu = if is_rdma { 8896 } else { 8244 };
        let profile = subnet.zone.as_ref().map(|zone| format!("{zone}-vpc-roce"));
        let settings = [
            Setting::new(&SUBNET_MODE, json!(true), span).with_flag("--subnet-mode=custom"),
            Setting::new(&MTU, json!(mtu), span).with_flag(format!("--mtu={mtu}")),
            Setting::new(&PROFILE, json!(profile), span)
                .with_flags(profile.map(|profile| format!("--network-profile={profile}"))),
            self.description_setting(span),
        ];
        self.resource(&NETWORK, &subnet.network, None, settings.into(), span)
    }

    fn subnetwork(&self, subnet: &Subnet, part: Ipv4Range, span: Span) -> Resource {
        let settings = vec![
            Setting::new(&PARENT, json!(subnet.network), span)
                .with_flag(format!("--network={}", subnet.network)),
            Setting::new(&RANGE, json!(part.to_string()), span)
                .with_flag(format!("--range={part}")),
            self.description_setting(span),
        ];
        let region = self.region();
        self.resource(&SUBNETWORK, &subnet.name, Some(region), settings, span)
    }

    fn firewall_rule(&self, subnet: &Subnet, range: Ipv4Range, span: Span) -> Resource {
        let update = |flag: &str| {
            let command = self.command(&["firewall-rules"], "update", &subnet.name, None);
            command.with_arguments([flag])
        };
        let rules = format!("--rules={}", RULES.join(","));
        let sources = format!("--source-ranges={range}");
        let settings = vec![
            Setting::new(&RULE_NETWORK, json!(subnet.network), span)
                .with_flag(format!("--network={}", subnet.network))
                .with_flag("--direction=INGRESS")
                .with_flag("--action=ALLOW"),
            Setting::new(&ALLOWED, json!(RULES), span)
                .with_flag(rules.clone())
                .with_update(update(&rules)),
            Setting::new(&SOURCES, json!([range.to_string()]), span)
                .with_flag(sources.clone())
                .with_update(update(&sources)),
            self.description_setting(span),
        ];
        self.resource(&FIREWALL_RULE, &subnet.name, None, settings, span)
    }

    fn description_setting(&self, span: Span) -> Setting {
        let description = self.description();
        Setting::new(&DESCRIPTION, json!(description), span)
            .with_flag(format!("--description={description}"))
    }

    fn resource(
        &self,
        kind: &'static ResourceKind,
        name: &str,
        region: Option<&str>,
        settings: Vec<Setting>,
        span: Span,
    ) -> Resource {
        let group: &[&str] = match kind.name {
            "VPC network" => &["networks"],
            "VPC subnetwork" => &["networks", "subnets"],
            _ => &["firewall-rules"],
        };
        let absent_pattern = match kind.name {
            "VPC network" => "/global/networks/[^/']+' was not found",
            "VPC subnetwork" => "/subnetworks/[^/']+' was not found",
            _ => "/firewalls/[^/']+' was not found",
        };
        let flags = settings.iter().flat_map(|setting| setting.flags.clone());
        let create = self.command(group, "create", name, region);
        Resource {
            kind,
            name: name.to_owned(),
            script: "networks".to_owned(),
            description: "Creates the VPC networks of the GPU interfaces.".to_owned(),
            observation: Observation {
                command: self
                    .command(group, "describe", name, region)
                    .with_arguments(["--format=json"]),
                absent_pattern,
            },
            create: vec![create.with_arguments(flags)],
            contents: None,
            manual_delete: Vec::new(),
            remnant: None,
            recovery: Vec::new(),
            created_with: None,
            fields: settings.into_iter().map(|setting| setting.field).collect(),
            delete: vec![self.command(group, "delete", name, region)],
            origin: Origin::derived([span], DerivationReason::Written),
        }
    }
}
