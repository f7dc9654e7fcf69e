//! A LimitRange has different default requests and limits for GPUs.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::resources::{ResourceCount, is_extended_resource, parse_count};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4018",
        name: "manifest-limit-range-invalid",
        severity: Severity::Error,
        summary: "a LimitRange has different default requests and limits for GPUs",
        checks: "Whether `default` and `defaultRequest` of a LimitRange are the same for each extended resource. If `default`
is not set, Kubernetes uses the `max` of containers.",
        reason: "GPUs cannot be overcommitted. The API server rejects a LimitRange with requests that differ from the limits.",
        remedy: "Write the same quantity in both, or better remove both: a default gives a GPU to every container of the
namespace that requests none.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: LimitRange
metadata: {name: gpus, namespace: research}
spec:
  limits:
    - type: Container
      default: {nvidia.com/gpu: 2}
      defaultRequest: {nvidia.com/gpu: 1}
"#,
        correction: Correction::Replace(
            "default: {nvidia.com/gpu: 2}
      defaultRequest: {nvidia.com/gpu: 1}",
            "max: {nvidia.com/gpu: 2}",
        ),
    },
    run,
};

// Sources: kubernetes 1.36 pkg/apis/core/validation/validation.go, `ValidateLimitRange`; pkg/apis/core/v1/defaults.go,
// `SetDefaults_LimitRangeItem`.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let ranges = ctx
        .objects
        .iter()
        .filter(|object| object.kind == "LimitRange");
    for range in ranges {
        let limits = range.root.get("spec").and_then(|spec| spec.get("limits"));
        for item in limits.map_or(&[][..], Node::items) {
            let list = |key: &str| item.get(key).map_or(&[][..], Node::entries);
            for request in list("defaultRequest")
                .iter()
                .filter(|it| is_extended_resource(&it.key))
            {
                // The API server defaults `default` to the `max` of containers.
                let is_container = item.get("type").and_then(Node::text) == Some("Container");
                let max = list("max").iter().filter(|_| is_container);
                let mut limits = list("default").iter().chain(max);
                let Some(limit) = limits.find(|it| it.key == request.key) else {
                    continue;
                };
                let amounts = (parse_count(&limit.value), parse_count(&request.value));
                let (ResourceCount::Whole(limited), ResourceCount::Whole(requested)) = amounts
                else {
                    continue;
                };
                if limited == requested {
                    continue;
                }
                let message = format!(
                    "{}: the default request {requested} of `{}` differs from the limit {limited}",
                    range.title(),
                    request.key
                );
                let builder = report.diagnostic(&RULE.code, request.value.span(), message);
                builder
                    .label(limit.value.span(), "the limit")
                    .help(format!("write {limited} in both, or remove both"))
                    .emit();
            }
        }
    }
}
