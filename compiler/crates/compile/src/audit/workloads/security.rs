//! Checks patched pods against the Pod Security Standard of their namespace.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{Completeness, level_name, pod_security_violations};
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::node::Node;

use super::{Problem, patch_span};
use crate::lower::workloads::{patched_objects, pod_specs, unpatched_objects};

/// The violations that a workload has only with its patches.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Problem> {
    let namespace = cluster.namespace_of(workload);
    let Some((team, _)) = cluster.team_of_namespace(namespace) else {
        return BTreeSet::new();
    };
    let level = team.settings.pod_security.value;
    let Some(level_word) = level_name(level) else {
        return BTreeSet::new();
    };
    let of_spec = |spec: &Node| {
        let containers = ["containers", "initContainers", "ephemeralContainers"];
        let containers = containers.iter().filter_map(|key| spec.get(key));
        let containers: Vec<_> = containers.flat_map(Node::items).collect();
        pod_security_violations(spec, &containers, level, Completeness::Complete)
    };
    let violations_of = |objects: &[Object]| {
        let specs = objects.iter().flat_map(|object| pod_specs(&object.node));
        specs.flat_map(of_spec).collect::<Vec<_>>()
    };
    let own = violations_of(&unpatched_objects(cluster, workload));
    let own: BTreeSet<_> = own.into_iter().map(|(_, violation)| violation).collect();
    let now = violations_of(&patched_objects(cluster, workload));
    let now = now
        .into_iter()
        .filter(|(_, violation)| !own.contains(violation));
    let problems = now.map(|(span, violation)| Problem {
        span: span.unwrap_or(patch_span(workload)),
        message: format!(
            "with its patch, workload `{}` {violation}, which `podSecurity: {level_word}` of team `{}` forbids",
            workload.name, team.name
        ),
        help: "change the patch, or the team's `podSecurity`".to_owned(),
    });
    problems.collect()
}
