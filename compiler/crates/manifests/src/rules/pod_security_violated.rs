//! The Pod Security Standard of a team's namespace rejects a pod.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{Completeness, level_name, pod_security_violations};
use gpuc_model::Team;
use gpuc_schema::config::PodSecurityLevel;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::source::Span;

use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4050",
        name: "manifest-pod-security-violated",
        severity: Severity::Error,
        summary: "the Pod Security Standard of a team's namespace rejects a pod",
        checks: "Whether every pod in a namespace of a team meets the Pod Security Standard that the team's `podSecurity`
selects. `baseline` forbids host namespaces, `hostPath` volumes, host ports, privileged containers,
additional capabilities and unsafe sysctls. `restricted` also requires that containers run as non-root and
drop all capabilities.

For an object that its operator completes, such as a KServe InferenceService, gpuc checks only the fields
that are set.",
        reason: "gpuc labels the namespace with `pod-security.kubernetes.io/enforce`. The API server accepts a Deployment or
a Job but rejects each of its pods. Only events report the reason.",
        remedy: "Remove the settings that the labels point at: use a claim or an `emptyDir` instead of a `hostPath`, and
`emptyDir: {medium: Memory}` for `/dev/shm`. Move a workload that needs the settings to a separate
namespace, or change the team's `podSecurity`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}, podSecurity: baseline}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, hostPath: {path: /mnt/data}}]
"#,
        correction: Correction::Replace("hostPath: {path: /mnt/data", "persistentVolumeClaim: {claimName: data"),
    },
    run,
};

/// API groups whose operators set security contexts.
const COMPLETED_GROUPS: &[&str] = &["serving.knative.dev", "serving.kserve.io"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        let Some((team, level, level_name)) = enforced_level(ctx, pod) else {
            continue;
        };
        let is_completed = COMPLETED_GROUPS
            .iter()
            .any(|group| pod.object.is_in_group(group));
        let extent = if pod.is_partial || is_completed {
            Completeness::Partial
        } else {
            Completeness::Complete
        };
        let containers: Vec<_> = pod.containers.iter().map(|it| it.node).collect();
        let mut seen = BTreeSet::new();
        let mut found = pod_security_violations(pod.spec, &containers, level, extent);
        found.retain(|(_, problem)| seen.insert(problem.clone()));
        if found.is_empty() {
            continue;
        }
        let written = found.iter().find_map(|(span, _)| *span);
        let first = written.unwrap_or_else(|| pod_span(pod));
        let problems: Vec<_> = found.iter().map(|(_, problem)| problem.as_str()).collect();
        let problems = match problems.as_slice() {
            [before @ .., last] if !before.is_empty() => {
                format!("{} and {last}", before.join(", "))
            }
            all => all.concat(),
        };
        let message = format!(
            "{} {problems}, which `podSecurity: {level_name}` of team `{}` does not allow",
            pod.title(),
            team.name
        );
        let mut builder = report.diagnostic(&RULE.code, first, message);
        for (span, problem) in &found {
            if let Some(span) = span.filter(|span| *span != first) {
                builder = builder.label(span, format!("the pod {problem}"));
            }
        }
        let written = team.settings.pod_security.span;
        let written = if written.is_written() {
            written
        } else {
            team.name.span
        };
        let text = format!("the namespaces of this team enforce `{level_name}`");
        let builder = builder.label(written, text);
        builder.help(help(level, extent, &found)).emit();
    }
}

/// The Pod Security level of the pod's team, unless it allows everything.
pub(super) fn enforced_level<'s>(
    ctx: &CheckContext<'s>,
    pod: &Pod<'_>,
) -> Option<(&'s Team, PodSecurityLevel, &'static str)> {
    let namespace = pod.object.namespace.as_deref()?;
    let (team, _) = ctx.cluster.team_of_namespace(namespace)?;
    let level = team.settings.pod_security.value;
    Some((team, level, level_name(level)?))
}

/// The span that stands for the whole pod.
fn pod_span(pod: &Pod<'_>) -> Span {
    let containers = pod.spec.entry("containers");
    containers.map_or_else(|| pod.spec.span(), |it| it.key_span)
}

fn help(level: PodSecurityLevel, extent: Completeness, found: &[(Option<Span>, String)]) -> String {
    let lacks = found.iter().any(|(span, _)| span.is_none());
    let uses_host_path = found
        .iter()
        .any(|(_, problem)| problem.contains("`hostPath`"));
    if uses_host_path && lacks {
        return "replace the `hostPath` volume, and add the missing fields; or change `podSecurity` of the team".to_owned();
    }
    if level == PodSecurityLevel::Restricted && extent == Completeness::Complete && lacks {
        return "write `securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}` for the pod, and \
                `securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}` for each container"
            .to_owned();
    }
    "remove it, or change `podSecurity` of the team".to_owned()
}
