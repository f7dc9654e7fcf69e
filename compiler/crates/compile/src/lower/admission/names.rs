//! Policy against GPU resources that no pool advertises: such a pod stays pending indefinitely.

use std::collections::BTreeSet;

use gpuc_model::POOL_LABEL;
use gpuc_model::check::Checked;

use super::cel::{self, GPU, REQUEST_LISTS};
use super::{Denies, Policy, Validation};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let known = known_resources(cluster);
    let is_unknown = format!(
        "{} && !(name in {}) && string(list[name]) != '0'",
        cel::gpu_resource_condition("name"),
        cel::string_list(&known)
    );
    let mut variables = cel::variables();
    // A list of lists: this version of CEL cannot flatten it.
    let unknown = format!(
        "variables.{REQUEST_LISTS}.map(list, list.filter(name, {is_unknown})).filter(names, size(names) > 0)"
    );
    variables.push(("unknown".to_owned(), unknown));
    let alternatives = alternatives(cluster);
    let by_label = format!(
        "'; nvidia.com/gpu.* are node labels: select the GPU model with nodeSelector {POOL_LABEL}'"
    );
    let message_expression = format!(
        "'requests ' + string(variables.unknown[0][0]) + {} + \
         (variables.unknown[0][0] != 'nvidia.com/gpu.shared' && \
         string(variables.unknown[0][0]).startsWith('nvidia.com/gpu.') ? {by_label} : '')",
        cel::string_literal(&format!(", which no pool advertises; {alternatives}"))
    );
    Policy {
        name: "gpuc-gpu-names",
        denies: Denies::IfEnforced,
        exempts_daemon_sets: false,
        checks_running_pods: false,
        variables,
        validations: vec![Validation {
            expression: "size(variables.unknown) == 0".to_owned(),
            message: format!("requests a GPU resource that no pool advertises; {alternatives}"),
            message_expression: Some(message_expression),
        }],
        reason: "no node has a resource that no pool advertises",
    }
}

/// The names of the GPU resources in this cluster.
fn known_resources(cluster: &Checked<'_>) -> Vec<String> {
    let mut known: Vec<_> = cel::pools_by_resource(cluster).into_keys().collect();
    if cel::has_bridged_gpus(cluster) {
        known.push(GPU.to_owned());
    }
    known.sort();
    known
}

/// The resources and DeviceClasses to use instead.
fn alternatives(cluster: &Checked<'_>) -> String {
    let mut alternatives = Vec::new();
    let advertised = cluster.pools.iter();
    let advertised = advertised.flat_map(|pool| pool.advertised.expect_resolved());
    let named = cluster.named_classes().map(|(_, _, name)| name);
    let advertised: BTreeSet<&str> = (advertised.map(|resource| resource.name.as_str()))
        .chain(named)
        .collect();
    let advertised: Vec<_> = advertised.into_iter().collect();
    if !advertised.is_empty() {
        alternatives.push(format!(
            "the pools advertise {}",
            cel::conjunction(&advertised)
        ));
    }
    let classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
    let classes: Vec<_> = classes.map(|class| &class.name).collect();
    if !classes.is_empty() {
        alternatives.push(format!(
            "use a ResourceClaim: the DeviceClasses are {}",
            cel::conjunction(&classes)
        ));
    }
    if alternatives.is_empty() {
        return "no pool has GPUs".to_owned();
    }
    alternatives.join("; or ")
}
