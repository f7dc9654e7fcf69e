//! Pods that a patch makes into what the Pod Security Standard of their namespace refuses.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;

use super::{Wrong, patch_of};
use crate::api_server::{Extent, insecure, level_name};
use crate::check::Checked;
use crate::lower::workloads::{made, patched, pod_specs};
use crate::node::Node;
use crate::plan::Object;

/// What the namespace of a workload refuses with its patches, and did not without them.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Wrong> {
    let namespace = cluster.namespace_of(workload);
    let Some((team, _)) = cluster.team_of(namespace) else {
        return BTreeSet::new();
    };
    let level = team.written.pod_security.value;
    let Some(word) = level_name(level) else {
        return BTreeSet::new();
    };
    let of_spec = |spec: &Node| {
        let containers = ["containers", "initContainers", "ephemeralContainers"];
        let containers = containers.iter().filter_map(|key| spec.get(key));
        let containers: Vec<_> = containers.flat_map(Node::items).collect();
        insecure(spec, &containers, level, Extent::Whole)
    };
    let of_objects = |objects: &[Object]| {
        let specs = objects.iter().flat_map(|object| pod_specs(&object.node));
        specs.flat_map(of_spec).collect::<Vec<_>>()
    };
    let own = of_objects(&made(cluster, workload));
    let own: BTreeSet<_> = own.into_iter().map(|(_, what)| what).collect();
    let now = of_objects(&patched(cluster, workload));
    let now = now.into_iter().filter(|(_, what)| !own.contains(what));
    let wrong = now.map(|(span, what)| Wrong {
        span: span.unwrap_or(patch_of(workload)),
        message: format!(
            "with its patch, workload `{}` {what}, which `podSecurity: {word}` of team `{}` refuses",
            workload.name, team.name
        ),
        help: "change the patch, or the team's `podSecurity`".to_owned(),
    });
    wrong.collect()
}
