//! Where the node pools of a Terraform configuration differ from the pools of a file.

mod checks;
mod matching;

use std::collections::BTreeMap;

use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::CloudSection;
use gpuc_syntax::diag::Report;
use gpuc_syntax::diag::phrases::{pluralize, quoted_list};

use crate::codes;
use crate::contract::{PoolContract, contract};
use crate::terraform::{Declared, DeclaredPool, Place};
use checks::{check_pool, written};
use matching::{Match, find_pools};

/// The maximum number of names in a message.
const MAX_NAMED: usize = 4;

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of node pools in the configuration that belong to pools of the file.
    pub matched: usize,
    /// Attributes that are known only after `terraform apply`, or that another resource sets, as `ADDRESS: ATTRIBUTE`.
    pub unknown: Vec<String>,
}

/// Compares a cluster without unresolved values with a configuration.
pub fn compare(cluster: &Cluster, declared: &Declared, report: &mut Report) -> Compared {
    let declared = &declared.related();
    let contract = contract(cluster);
    check_version(cluster, declared, report);
    let home = Home::new(cluster);
    check_cluster_creator(cluster, &home, declared, report);
    let is_here = |pool: &&DeclaredPool| home.has(pool.cloud, pool.cluster.as_deref(), &pool.place);
    let (unclear, pools): (Vec<&DeclaredPool>, Vec<_>) = declared
        .pools
        .iter()
        .filter(is_here)
        .partition(|it| it.is_ambiguous);
    let unclear = unclear.iter().map(|it| format!("{}: cluster", it.address));
    let mut compared = Compared {
        unknown: unclear.collect(),
        ..Compared::default()
    };
    for (pool, wanted) in cluster.pools.iter().zip(&contract.pools) {
        if !pool.is_existing() {
            check_creator(pool, &pools, report);
            continue;
        }
        match find_pools(pool, &pools) {
            Match::Selected(found) => {
                compared.matched += found.len();
                for declared in &found {
                    check_pool(cluster, (pool, wanted), declared, report);
                    compared
                        .unknown
                        .extend(unknown_attributes(wanted, declared));
                }
                check_size(pool, &found, report);
            }
            Match::Named(found, missing) => {
                compared.matched += 1;
                report_missing_labels(pool, found, &missing, report);
                check_pool(cluster, (pool, wanted), found, report);
                check_size(pool, &[found], report);
            }
            Match::RandomName(found, label) => report_random_name(pool, found, &label, report),
            Match::Unknown(found) => {
                let found = found.iter();
                let names = found.map(|(it, attribute)| format!("{}: {attribute}", it.address));
                compared.unknown.extend(names);
            }
            Match::None => report_undeclared(cluster, pool, declared, &pools, report),
        }
    }
    compared.unknown.sort();
    compared.unknown.dedup();
    compared
}

/// The cluster of the file in the cloud.
struct Home<'c> {
    cloud: &'static str,
    name: &'c str,
    location: Option<String>,
    scope: Option<String>,
}

impl<'c> Home<'c> {
    fn new(cluster: &'c Cluster) -> Self {
        let section = &cluster.config.cloud.value;
        let scope = match section {
            CloudSection::Gcp(gcp) => Some(gcp.project.value.clone()),
            CloudSection::Azure(azure) => Some(format!(
                "{}/{}",
                azure.subscription.value, azure.resource_group.value
            )),
            CloudSection::Aws(_) | CloudSection::OnPrem(_) | CloudSection::Existing(_) => None,
        };
        let location = section.location().map(|it| it.value.to_ascii_lowercase());
        Self {
            cloud: cluster.cloud.facts().key,
            name: cluster
                .cloud
                .remote_name(cluster)
                .unwrap_or(cluster.name.as_str()),
            location,
            scope: scope.map(|it| it.to_ascii_lowercase()),
        }
    }

    /// Whether a resource can belong to this cluster, as far as it shows its own.
    fn has(&self, cloud: &str, name: Option<&str>, place: &Place) -> bool {
        let is_same = |own: &Option<String>, other: &Option<String>| match (own, other) {
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            _ => true,
        };
        cloud == self.cloud
            && name.is_none_or(|it| it == self.name)
            && is_same(&self.location, &place.location)
            && is_same(&self.scope, &place.scope)
    }
}

/// A cluster that gpuc creates must not be in the configuration.
fn check_cluster_creator(
    cluster: &Cluster,
    home: &Home<'_>,
    declared: &Declared,
    report: &mut Report,
) {
    let mut clusters = declared.clusters.iter();
    let twin =
        clusters.find(|it| it.name.is_some() && home.has(it.cloud, it.name.as_deref(), &it.place));
    let Some(twin) = twin.filter(|_| cluster.config.cloud.creates_cluster()) else {
        return;
    };
    report
        .diagnostic(
            &codes::CREATED_TWICE,
            cluster.config.cloud.span,
            format!("both gpuc and `{}` create the cluster `{}`", twin.address, home.name),
        )
        .help(
            "write `cluster: {existing: {}}` to leave it to Terraform, or delete the resource there",
        )
        .emit();
}

fn check_version(cluster: &Cluster, declared: &Declared, report: &mut Report) {
    let home = Home::new(cluster);
    let mut clusters = declared.clusters.iter();
    let found =
        clusters.find(|it| it.name.is_some() && home.has(it.cloud, it.name.as_deref(), &it.place));
    let Some((found, version)) = found.and_then(|it| Some((it, it.version.as_deref()?))) else {
        return;
    };
    let wanted = cluster.kubernetes.expect_resolved();
    let minor = wanted.value.to_string();
    // A version of GKE continues with a patch version: 1.36.2-gke.100.
    let is_same = version == minor || version.starts_with(&format!("{minor}."));
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    if is_same || !is_version {
        return;
    }
    let parts: Vec<_> = version.split('.').take(2).collect();
    report
        .diagnostic(
            &codes::VERSION,
            wanted.span,
            format!("`{}` has Kubernetes {version}", found.address),
        )
        .help(format!(
            "write `\"{}\"`, or change the configuration",
            parts.join(".")
        ))
        .emit();
}

/// A pool that gpuc creates must not be in the configuration.
fn check_creator(pool: &Pool, pools: &[&DeclaredPool], report: &mut Report) {
    let mut twins = pools.iter();
    let name = pool.name.as_str();
    let has_name = |it: &&&DeclaredPool| match (&it.name, &it.name_prefix) {
        (Some(found), _) if found == name => true,
        (_, Some(prefix)) => prefix.trim_end_matches('-') == name,
        _ => false,
    };
    let Some(twin) = twins.find(has_name) else {
        return;
    };
    let labels = twin.labels.iter().flatten().chain(&twin.cloud_labels);
    let label = labels.map(|(key, value)| format!("{key}: {value}")).next();
    let label = label.unwrap_or_else(|| "LABEL: VALUE".to_owned());
    report
        .diagnostic(
            &codes::CREATED_TWICE,
            pool.name.span,
            format!("both gpuc and `{}` create the node pool `{name}`", twin.address),
        )
        .help(format!(
            "add `existing: {{selector: {{{label}}}}}` to the pool, or delete the resource in Terraform"
        ))
        .emit();
}

fn selector_span(pool: &Pool) -> Span {
    let existing = pool.settings.existing.as_ref();
    existing.map_or(pool.name.span, |it| it.span)
}

fn list_labels(labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    quoted_list(&labels, MAX_NAMED)
}

fn report_missing_labels(
    pool: &Pool,
    declared: &DeclaredPool,
    missing: &BTreeMap<String, String>,
    report: &mut Report,
) {
    let labels = list_labels(missing);
    let noun = if missing.len() == 1 {
        "label"
    } else {
        "labels"
    };
    report
        .diagnostic(
            &codes::LABELS,
            selector_span(pool),
            format!("`{}` does not have the {noun} {labels}", declared.address),
        )
        .help(format!(
            "add the {noun} to its `{}`, or select its nodes by labels that it has",
            declared.attributes.labels
        ))
        .emit();
}

fn report_random_name(pool: &Pool, declared: &DeclaredPool, label: &str, report: &mut Report) {
    report
        .diagnostic(
            &codes::RANDOM_NAME,
            selector_span(pool),
            format!(
                "the name of `{}` has a random suffix, so that no node has the label `{label}`",
                declared.address
            ),
        )
        .help(
            "select the nodes by a label of the configuration, or give the node pool a name instead of a prefix",
        )
        .emit();
}

fn report_undeclared(
    cluster: &Cluster,
    pool: &Pool,
    declared: &Declared,
    pools: &[&DeclaredPool],
    report: &mut Report,
) {
    let selector: BTreeMap<_, _> = (pool.selector.iter())
        .map(|label| (label.key.clone(), label.value.clone()))
        .collect();
    let clusters: Vec<_> = declared
        .clusters
        .iter()
        .filter_map(|it| it.name.as_deref())
        .collect();
    let name = cluster.cloud.remote_name(cluster).unwrap_or_default();
    let addresses: Vec<_> = pools.iter().map(|pool| pool.address.as_str()).collect();
    let help = if pools.is_empty() && !clusters.is_empty() && !clusters.contains(&name) {
        format!(
            "the configuration has {}, and the cluster of this file is called `{name}` in the cloud",
            quoted_list(&clusters, MAX_NAMED)
        )
    } else if let [first, ..] = declared.unread.as_slice() {
        format!("declare a node pool with these labels; gpuc does not read the labels of `{first}`")
    } else if pools.is_empty() {
        "declare a node pool with these labels, or name the plan or state that has it".to_owned()
    } else {
        format!(
            "set the labels on one of {}, or correct the selector",
            quoted_list(&addresses, MAX_NAMED)
        )
    };
    report
        .diagnostic(
            &codes::UNDECLARED,
            selector_span(pool),
            format!(
                "no node pool in the configuration has {} of pool `{}`",
                list_labels(&selector),
                pool.name
            ),
        )
        .help(help)
        .emit();
}

/// Compares the number of nodes of a pool with the sum over its node pools.
fn check_size(pool: &Pool, found: &[&DeclaredPool], report: &mut Report) {
    let nodes = pool.nodes.expect_resolved();
    let sum = |size: fn(&DeclaredPool) -> Option<u64>| -> Option<u64> {
        found.iter().map(|pool| size(pool)).sum()
    };
    let (Some(min), Some(max)) = (sum(|it| it.min), sum(|it| it.max)) else {
        return;
    };
    if (min, max) == (u64::from(nodes.min), u64::from(nodes.max)) {
        return;
    }
    let addresses: Vec<_> = found.iter().map(|pool| pool.address.as_str()).collect();
    let verb = if found.len() == 1 { "has" } else { "have" };
    let range = |min: u64, max: u64| {
        if min == max {
            pluralize(usize::try_from(min).unwrap_or(usize::MAX), "node")
        } else {
            format!("{min} to {max} nodes")
        }
    };
    let nodes_text = if min == max {
        format!("nodes: {{count: {min}}}")
    } else {
        format!("nodes: {{min: {min}, max: {max}}}")
    };
    let attributes = found.first().map(|pool| pool.attributes);
    let attributes =
        attributes.map_or_else(String::new, |it| format!("`{}` and `{}`", it.min, it.max));
    report
        .diagnostic(
            &codes::SIZE,
            written(nodes.max_span, pool),
            format!(
                "{} {verb} {}, and pool `{}` has {}",
                quoted_list(&addresses, MAX_NAMED),
                range(min, max),
                pool.name,
                range(u64::from(nodes.min), u64::from(nodes.max))
            ),
        )
        .help(format!(
            "set `{nodes_text}` in the pool, or change {attributes} in the configuration"
        ))
        .emit();
}

/// The attributes of a node pool that the contract has and that are not known.
fn unknown_attributes(wanted: &PoolContract, declared: &DeclaredPool) -> Vec<String> {
    let names = declared.attributes;
    let attributes = [
        (declared.taints.is_none(), names.taints),
        (
            declared.machine_types.is_none() && !wanted.machine_types.is_empty(),
            names.machine_types,
        ),
        (declared.min.is_none(), names.min),
        (declared.max.is_none(), names.max),
    ];
    let unknown = attributes.into_iter().filter(|(is_unknown, _)| *is_unknown);
    unknown
        .map(|(_, name)| format!("{}: {name}", declared.address))
        .collect()
}
