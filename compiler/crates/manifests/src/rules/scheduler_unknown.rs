//! A pod names an unknown scheduler.

use gpuc_kubernetes::api_server::DEFAULT_SCHEDULER;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4072",
        name: "manifest-scheduler-unknown",
        severity: Severity::Warning,
        summary: "a pod names an unknown scheduler",
        checks: "Whether the `schedulerName` of pods is `default-scheduler`, or an object among the manifests may belong to a
scheduler with that name. Volcano's own jobs and queued objects use its scheduler.",
        reason: "A pod waits for the scheduler that it names. If no scheduler has that name, the pod stays Pending
indefinitely, without an event. gpuc only installs the default scheduler of Kubernetes.",
        remedy: "Remove `schedulerName`. If the scheduler is installed separately, name the finding in `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      schedulerName: volcano
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("schedulerName: volcano
      ", ""),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| !pod.object.is_in_group(VOLCANO))
    {
        let name = pod.spec.get("schedulerName");
        let Some((name, text)) = name.and_then(|it| Some((it, it.text()?))) else {
            continue;
        };
        let is_known = text.is_empty() || text == DEFAULT_SCHEDULER || text.contains(['$', '{']);
        if is_known || may_exist(ctx, text) {
            continue;
        }
        let message = format!(
            "{} uses the scheduler `{text}`, which gpuc does not install",
            pod.title()
        );
        let builder = report.diagnostic(&RULE.code, name.span(), message);
        let help =
            "remove `schedulerName`, or name the finding in `allow` if it is installed separately";
        builder.help(help).emit();
    }
}

/// The API group of Volcano jobs, which use the scheduler of Volcano.
const VOLCANO: &str = "batch.volcano.sh";

/// Whether the manifests may contain a scheduler with this name: an object of Volcano, one named after the scheduler,
/// or a ConfigMap that contains its name.
fn may_exist(ctx: &CheckContext<'_>, name: &str) -> bool {
    ctx.objects.iter().any(|object| {
        let of_volcano = name == "volcano" && object.api_version.contains(".volcano.sh/");
        let own = object.name.as_deref();
        let is_named = own.is_some_and(|own| own.contains(name));
        let is_configured = object.kind == "ConfigMap" && data_contains(&object.root, name);
        of_volcano || is_named || is_configured
    })
}

fn data_contains(root: &Node, name: &str) -> bool {
    let data = root.get("data").map_or(&[][..], Node::entries);
    let mut texts = data.iter().filter_map(|entry| entry.value.text());
    texts.any(|text| text.contains(name))
}
