//! A `ComputeDomain` in a cluster without the controller of ComputeDomains.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4111",
        name: "manifest-compute-domain-disabled",
        severity: Severity::Warning,
        summary: "a ComputeDomain in a cluster without a controller for it",
        checks: "Whether ComputeDomains are enabled in NVIDIA's DRA driver, which gpuc installs for pools with `allocation: dra`
or `computeDomains`. gpuc enables them if such a pool has GPUs with NVLink between nodes.",
        reason: "Nothing creates the ResourceClaimTemplate of the ComputeDomain. The pods that use it stay Pending.",
        remedy: "Remove the ComputeDomain. If you install its controller yourself, name the finding in the annotation
`gpuc.dev/allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1]
    nodes: {count: 1}
--- # manifest.yaml
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: domain, namespace: research}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: channel}}}
"#,
        correction: Correction::Replace("model: A30, perNode: 2", "model: GB200, perNode: 4"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let has_links = |pool: &&gpuc_model::Pool| {
        let gpus = pool.gpus.get().and_then(Option::as_ref);
        gpus.is_some_and(|gpus| gpus.model.has_multi_node_nvlink())
    };
    let mut claimed = ctx.cluster.dra_driver_pools().peekable();
    // Without such pools, the driver is not gpuc's.
    let Some(first) = claimed.peek().copied() else {
        return;
    };
    let is_enabled = claimed.any(|pool| has_links(&pool));
    let chart = ctx.cluster.config.charts.dra_driver_nvidia_gpu.as_ref();
    let sets_domains = chart.is_some_and(|chart| {
        let values = Node::from_fragment(&chart.value.values);
        let resources = values.get("resources");
        resources.is_some_and(|it| it.get("computeDomains").is_some())
    });
    if is_enabled || sets_domains {
        return;
    }
    let domains = ctx.objects.iter().filter(|object| {
        object.is_in_group("resource.nvidia.com") && object.kind == "ComputeDomain"
    });
    for domain in domains {
        let span = domain
            .root
            .get("kind")
            .map_or(domain.root.span(), Node::span);
        let message = format!("{}: the cluster has no controller for it", domain.title());
        let builder = report.diagnostic(&RULE.code, span, message);
        let text = format!("pool `{}` has no NVLink between nodes", first.name);
        let builder = builder.label(first.name.span, text);
        builder
            .help(
                "remove it, or name the finding in `allow` if you install the controller yourself",
            )
            .emit();
    }
}
