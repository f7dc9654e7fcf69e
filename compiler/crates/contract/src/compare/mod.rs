//! Where the node pools of a Terraform configuration differ from the pools of a file.

mod matching;

use std::collections::BTreeMap;

use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_syntax::diag::Report;
use gpuc_syntax::diag::phrases::{pluralize, quoted_list};

use crate::codes;
use crate::contract::{DriverContract, PoolContract, TaintContract, contract};
use crate::terraform::{Declared, DeclaredPool};
use matching::{Match, find_pools};

/// The maximum number of names in a message.
const MAX_NAMED: usize = 4;

/// The taint of Spot machines on AKS.
const SPOT_TAINT: &str = "kubernetes.azure.com/scalesetpriority";

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
    let contract = contract(cluster);
    let name = contract.cluster.name.as_str();
    check_version(cluster, name, declared, report);
    let is_here = |pool: &&DeclaredPool| pool.cluster.as_deref().is_none_or(|it| it == name);
    let pools: Vec<&DeclaredPool> = declared.pools.iter().filter(is_here).collect();
    let mut compared = Compared::default();
    for (pool, wanted) in cluster.pools.iter().zip(&contract.pools) {
        if !pool.is_existing() {
            check_creator(pool, &pools, report);
            continue;
        }
        match find_pools(pool, &pools) {
            Match::Selected(found) => {
                compared.matched += found.len();
                for declared in &found {
                    check_pool(pool, wanted, declared, report);
                    compared
                        .unknown
                        .extend(unknown_attributes(wanted, declared));
                }
                check_size(pool, &found, report);
            }
            Match::Named(found, missing) => {
                compared.matched += 1;
                report_missing_labels(pool, found, &missing, report);
                check_pool(pool, wanted, found, report);
                check_size(pool, &[found], report);
            }
            Match::RandomName(found, label) => report_random_name(pool, found, &label, report),
            Match::Unknown(found) => compared.unknown.extend(
                found
                    .iter()
                    .map(|it| format!("{}: {}", it.address, it.attributes.labels)),
            ),
            Match::None => report_undeclared(cluster, pool, declared, &pools, report),
        }
    }
    compared.unknown.sort();
    compared.unknown.dedup();
    compared
}

fn check_version(cluster: &Cluster, name: &str, declared: &Declared, report: &mut Report) {
    let mut clusters = declared.clusters.iter();
    let found = clusters.find(|it| it.name.as_deref() == Some(name));
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
    let Some(twin) = twins.find(|it| it.name.as_deref() == Some(name)) else {
        return;
    };
    let label = twin.cloud_labels.iter().find(|(_, value)| *value == name);
    let label = label.map_or_else(String::new, |(key, value)| format!("{key}: {value}"));
    report
        .diagnostic(
            &codes::CREATED_TWICE,
            pool.name.span,
            format!("both gpuc and `{}` create the node pool `{name}`", twin.address),
        )
        .help(format!(
            "add `existing: {{selector: {{{label}}}}}` to the pool, or remove the resource from the configuration"
        ))
        .emit();
}

fn check_pool(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    check_taints(pool, wanted, declared, report);
    check_machine(pool, wanted, declared, report);
    check_capacity(pool, wanted, declared, report);
    check_driver(pool, wanted, declared, report);
}

/// The location of a key, or of the name of its pool if the key is not written.
fn written(span: Span, pool: &Pool) -> Span {
    if span.is_written() {
        span
    } else {
        pool.name.span
    }
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
    } else if let ([], [first, ..]) = (pools, declared.unread.as_slice()) {
        format!("declare a node pool with these labels; gpuc cannot read the labels of `{first}`")
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

fn check_taints(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    let Some(found) = &declared.taints else {
        return;
    };
    let text = |taint: &TaintContract| format!("{}={}:{}", taint.key, taint.value, taint.effect);
    let address = &declared.address;
    let attribute = declared.attributes.taints;
    for taint in wanted.taints.iter().filter(|it| !found.contains(it)) {
        let mut taints = pool.taints.iter();
        let same = taints.find(|it| it.key == taint.key && it.effect.as_str() == taint.effect);
        let span = same.map_or(pool.name.span, |it| written(it.span, pool));
        report
            .diagnostic(
                &codes::TAINTS,
                span,
                format!("`{address}` does not have the taint `{}`", text(taint)),
            )
            .help(format!(
                "add it to `{attribute}` of the resource: without the taint, other pods take the GPUs"
            ))
            .emit();
    }
    let is_of_pool = |taint: &TaintContract| {
        let mut taints = pool.taints.iter();
        taints.any(|it| {
            it.key == taint.key && it.value == taint.value && it.effect.as_str() == taint.effect
        })
    };
    // The cloud sets this taint by itself, and Terraform requires it in the configuration.
    let is_automatic = |taint: &TaintContract| taint.key == SPOT_TAINT;
    let others = found
        .iter()
        .filter(|it| !is_of_pool(it) && !is_automatic(it));
    for taint in others.filter(|it| it.effect != "PreferNoSchedule") {
        report
            .diagnostic(
                &codes::TAINTS,
                pool.name.span,
                format!("`{address}` has the taint `{}`, and the pool has not", text(taint)),
            )
            .help(format!(
                "add `{{key: {:?}, value: {:?}, effect: {}}}` to `taints` of the pool, or remove it from `{attribute}` of \
                 the resource",
                taint.key, taint.value, taint.effect
            ))
            .emit();
    }
}

fn check_machine(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    let span = pool
        .machine_name
        .as_ref()
        .map_or(pool.name.span, |it| it.span);
    if let Some(found) = &declared.machine_types {
        let is_wanted = |name: &String| {
            let mut types = wanted.machine_types.iter();
            types.any(|it| it.eq_ignore_ascii_case(name))
        };
        if !wanted.machine_types.is_empty() && !found.iter().all(is_wanted) {
            let types = quoted_list(&wanted.machine_types, MAX_NAMED);
            let names = quoted_list(found, MAX_NAMED);
            report
                .diagnostic(
                    &codes::MACHINE,
                    span,
                    format!(
                        "`{}` has the machine type {names}, not {types}",
                        declared.address
                    ),
                )
                .help(format!(
                    "write {names}, or change `{}` of the resource",
                    declared.attributes.machine_types
                ))
                .emit();
            return;
        }
    }
    if let (Some(gpus), Some(found)) = (&wanted.gpus, declared.gpus_per_node)
        && u64::from(gpus.per_node) != found
    {
        report
            .diagnostic(
                &codes::MACHINE,
                span,
                format!(
                    "`{}` has {found} GPUs on each node, and pool `{}` has {}",
                    declared.address, pool.name, gpus.per_node
                ),
            )
            .help(format!(
                "change `{}` of the resource, or the machine type of the pool",
                declared.attributes.gpus_per_node
            ))
            .emit();
    }
}

/// Compares Spot machines on AKS. Elsewhere, `capacity` has no effect in an existing pool.
fn check_capacity(
    pool: &Pool,
    wanted: &PoolContract,
    declared: &DeclaredPool,
    report: &mut Report,
) {
    let Some(found) = declared.capacity.filter(|_| declared.taints_spot) else {
        return;
    };
    let wanted = wanted.capacity.unwrap_or("onDemand");
    if wanted == found {
        return;
    }
    let help = if found == "spot" {
        "set `capacity: {spot: {}}` in the pool"
    } else {
        "remove `capacity`"
    };
    report
        .diagnostic(
            &codes::CAPACITY,
            written(pool.settings.capacity.span, pool),
            format!(
                "`{}` has the capacity `{found}`, not `{wanted}`",
                declared.address
            ),
        )
        .help(format!(
            "{help}, or change `{}` of the resource",
            declared.attributes.capacity
        ))
        .emit();
}

fn check_driver(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    let (Some(wanted), Some((has_driver, attribute))) = (wanted.driver, declared.driver) else {
        return;
    };
    let needs_driver = wanted == DriverContract::Node;
    if needs_driver == has_driver {
        return;
    }
    let address = &declared.address;
    let message = if needs_driver {
        format!(
            "the nodes of `{address}` have no driver, and pool `{}` installs none",
            pool.name
        )
    } else {
        format!(
            "the nodes of `{address}` have a driver, and pool `{}` installs another one",
            pool.name
        )
    };
    report
        .diagnostic(&codes::DRIVER, written(pool.driver.span, pool), message)
        .help(format!(
            "change `{attribute}` of the resource, or `stack.driver` of the pool"
        ))
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
            "set `{nodes_text}` in the pool, or change {attributes} of the resource"
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
