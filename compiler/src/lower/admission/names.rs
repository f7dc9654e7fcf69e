//! A resource of GPUs that no pool offers: the pod waits for ever.

use super::cel::{self, GPU, LISTS};
use super::{Demand, Policy};
use crate::check::Checked;
use crate::model::{DeviceClass, POOL_LABEL};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let known = known(cluster);
    let is_unknown = format!(
        "{} && !(name in {}) && string(list[name]) != '0'",
        cel::is_gpu("name"),
        cel::texts(&known)
    );
    let mut variables = cel::variables();
    // A list of lists: CEL here has nothing that makes one of them.
    let unknown = format!(
        "variables.{LISTS}.map(list, list.filter(name, {is_unknown})).filter(names, size(names) > 0)"
    );
    variables.push(("unknown".to_owned(), unknown));
    let instead = instead(cluster, &known);
    let by_label = format!(
        "'; nvidia.com/gpu.* are labels of nodes: choose the card by nodeSelector {POOL_LABEL}'"
    );
    let saying = format!(
        "'asks for ' + string(variables.unknown[0][0]) + {} + \
         (string(variables.unknown[0][0]).startsWith('nvidia.com/gpu.') ? {by_label} : '')",
        cel::text(&format!(", which no pool offers; {instead}"))
    );
    Policy {
        name: "gpuc-gpu-names",
        refuses: true,
        spares_daemons: false,
        variables,
        demands: vec![Demand {
            expression: "size(variables.unknown) == 0".to_owned(),
            message: format!("asks for a GPU that no pool offers; {instead}"),
            saying: Some(saying),
        }],
        why: "no node has a resource that no pool offers",
    }
}

/// The names of GPUs that mean something here.
fn known(cluster: &Checked<'_>) -> Vec<String> {
    let offers = cel::offers(cluster);
    let mut known: Vec<_> = offers.keys().map(|&it| it.to_owned()).collect();
    if cel::is_bridged(cluster) {
        known.push(GPU.to_owned());
    }
    let classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
    known.extend(classes.filter_map(DeviceClass::extended_resource));
    known.sort();
    known.dedup();
    known
}

/// What to ask for instead.
fn instead(cluster: &Checked<'_>, known: &[String]) -> String {
    let offered = known.iter().filter(|name| name.starts_with("nvidia.com/"));
    let offered: Vec<_> = offered.collect();
    if offered.is_empty() {
        let classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
        let classes: Vec<_> = classes.map(|class| &class.name).collect();
        return format!(
            "make a claim: the DeviceClasses are {}",
            cel::words(&classes)
        );
    }
    format!("the pools offer {}", cel::words(&offered))
}
