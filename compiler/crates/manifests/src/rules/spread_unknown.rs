//! A topology spread constraint uses a label that no node has.

use gpuc_model::Pool;
use gpuc_model::scheduling::{Demand, Feasibility, Operator, Requirement, check_pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::scheduling::evaluate_pools;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4068",
        name: "manifest-spread-unknown",
        severity: Severity::Warning,
        summary: "a topology spread constraint uses a label that no node has",
        checks: "Whether the nodes of the pools that fit a pod have the label `topologyKey` of its
`topologySpreadConstraints` with `whenUnsatisfiable: DoNotSchedule`. In a cluster that gpuc creates, a label
without a domain that is not in the `labels` of any pool counts as missing.",
        reason: "The scheduler does not place such a pod on a node without the label: `node(s) didn't match pod topology
spread constraints (missing required label)`.",
        remedy: "Use a label that nodes have, such as `kubernetes.io/hostname` or `topology.kubernetes.io/zone`, or add the
label to the `labels` of the pools. If something else sets it, write `allow: [manifest-spread-unknown]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      topologySpreadConstraints:
        - topologyKey: rack
          maxSkew: 1
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: chat}}
      containers:
        - name: main
          image: registry.example.com/front:1.0.0
"#,
        correction: Correction::Replace("topologyKey: rack", "topologyKey: kubernetes.io/hostname"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_of_daemon_set()) {
        let constraints = pod.placement().get("topologySpreadConstraints");
        let constraints = constraints.map_or(&[][..], Node::items).iter();
        // A pod cannot have two constraints with the same key.
        let all_keys = constraints.clone().filter_map(|it| it.get("topologyKey"));
        let used: Vec<_> = all_keys.filter_map(Node::text).collect();
        let mut keys = constraints.filter_map(required_topology_key).peekable();
        let Some((_, evaluations)) =
            evaluate_pools(ctx.cluster, &ctx.claims, pod).filter(|_| keys.peek().is_some())
        else {
            continue;
        };
        let fitting = evaluations
            .iter()
            .filter(|it| it.feasibility() != Feasibility::DoesNotFit);
        let pools: Vec<_> = fitting.map(|evaluation| evaluation.pool).collect();
        for (key, text) in keys {
            if pools.is_empty() || !pools.iter().all(|pool| lacks_label(ctx, pool, text)) {
                continue;
            }
            let message = format!(
                "{} spreads its pods by `{text}`, a label that no node has",
                pod.title()
            );
            let mut builder = report.diagnostic(&RULE.code, key.span(), message);
            for pool in &pools {
                builder = builder.label(
                    pool.name.span,
                    format!("the nodes of pool `{}` do not have it", pool.name),
                );
            }
            let unused: Vec<_> = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
                .into_iter()
                .filter(|label| !used.contains(label))
                .collect();
            let help = match unused.as_slice() {
                [] => "remove the constraint, or add the label to `labels` of the pools".to_owned(),
                unused => format!(
                    "write {}, or add the label to `labels` of the pools",
                    phrases::quoted_conjunction(unused, "or")
                ),
            };
            builder.help(help).emit();
        }
    }
}

/// The key of a constraint with `DoNotSchedule`.
fn required_topology_key(constraint: &Node) -> Option<(&Node, &str)> {
    let mode = constraint.get("whenUnsatisfiable").and_then(Node::text);
    let key = constraint.get("topologyKey")?;
    let is_required = mode.is_none_or(|it| it == "DoNotSchedule");
    let text = key
        .text()
        .filter(|it| !it.is_empty() && !it.contains(['$', '{']))?;
    is_required.then_some((key, text))
}

/// Whether the nodes of a pool certainly lack a label, or are created by gpuc without it. Labels added by hand only
/// persist on permanent nodes.
fn lacks_label(ctx: &CheckContext<'_>, pool: &Pool, key: &str) -> bool {
    let exists = Requirement {
        key: key.to_owned(),
        operator: Operator::Exists,
        values: Vec::new(),
        is_expression: false,
        span: Span::NONE,
    };
    let demand = Demand {
        selector: vec![exists],
        ..Demand::default()
    };
    let evaluation = check_pool(&demand, ctx.cluster, pool);
    let mut of_label = evaluation.reasons.iter().filter(|it| it.cause.is_label());
    match of_label.next().map(|reason| reason.feasibility) {
        Some(Feasibility::DoesNotFit) => true,
        Some(Feasibility::Unknown) => {
            let is_made = ctx.cluster.config.cloud.creates_cluster() && !pool.is_existing();
            is_made && !key.contains('/')
        }
        _ => false,
    }
}
