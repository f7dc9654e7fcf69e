//! What the namespace of a team refuses of a pod for its security.

use std::collections::BTreeSet;

use gpuc_schema::config::PodSecurityLevel;

use crate::api_server::{Extent, insecure, level_name};
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Pod, Rule, Scene};
use crate::model::Team;
use crate::source::Span;

/// What the namespace of a team refuses of a pod for its security.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4050",
        name: "manifest-security-refused",
        severity: Severity::Error,
        summary: "the namespace of a team refuses a pod for its security",
        explain: "### What it checks

Every pod in a namespace of a team against the team's `podSecurity`, as the Pod Security Standards say:
of `baseline` the node's network, processes, folders and ports, privileged containers, capabilities and
settings of the kernel; of `restricted` also that containers say that they do without root and without
capabilities. Of an object that its operator completes, such as KServe's, only what it says itself.

### Why it matters

gpuc labels the namespace with `pod-security.kubernetes.io/enforce`. The API server takes a Deployment or
a Job all the same, and refuses each of its pods: it stays empty, and only its events say why.

### What to do

Take away what the labels point at: a claim or an `emptyDir` in place of a `hostPath`, `emptyDir:
{medium: Memory}` for `/dev/shm`. What cannot do without belongs into a namespace of its own, or the
team's `podSecurity` has to allow it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"#,
    },
    run,
};

/// Groups whose operators write security contexts by themselves.
const COMPLETED: &[&str] = &["serving.knative.dev", "serving.kserve.io"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        let Some((team, level, word)) = level(scene, pod) else {
            continue;
        };
        let is_completed = COMPLETED.iter().any(|group| pod.object.is_of(group));
        let extent = if pod.is_open || is_completed {
            Extent::Part
        } else {
            Extent::Whole
        };
        let containers: Vec<_> = pod.containers.iter().map(|it| it.node).collect();
        let mut seen = BTreeSet::new();
        let mut found = insecure(pod.spec, &containers, level, extent);
        found.retain(|(_, what)| seen.insert(what.clone()));
        if found.is_empty() {
            continue;
        }
        let written = found.iter().find_map(|(span, _)| *span);
        let first = written.unwrap_or_else(|| whole(pod));
        let whats: Vec<_> = found.iter().map(|(_, what)| what.as_str()).collect();
        let whats = match whats.as_slice() {
            [before @ .., last] if !before.is_empty() => {
                format!("{} and {last}", before.join(", "))
            }
            all => all.concat(),
        };
        let message = format!(
            "{} {whats}, which `podSecurity: {word}` of team `{}` refuses",
            pod.title(),
            team.name
        );
        let mut draft = report.draft(&RULE.code, first, message);
        for (span, what) in &found {
            if let Some(span) = span.filter(|span| *span != first) {
                draft = draft.label(span, format!("the pod {what}"));
            }
        }
        let said = team.written.pod_security.span;
        let said = if said.is_written() {
            said
        } else {
            team.name.span
        };
        let draft = draft.label(said, format!("its namespaces are `{word}`"));
        draft.help(help(level, extent, &found)).emit();
    }
}

/// The level of the pod's team, where it refuses anything.
pub(super) fn level<'s>(
    scene: &Scene<'s>,
    pod: &Pod<'_>,
) -> Option<(&'s Team, PodSecurityLevel, &'static str)> {
    let namespace = pod.object.namespace.as_deref()?;
    let (team, _) = scene.cluster.team_of(namespace)?;
    let level = team.written.pod_security.value;
    Some((team, level, level_name(level)?))
}

/// Where the pod as a whole stands.
fn whole(pod: &Pod<'_>) -> Span {
    let containers = pod.spec.entry("containers");
    containers.map_or_else(|| pod.spec.span(), |it| it.key_span)
}

fn help(level: PodSecurityLevel, extent: Extent, found: &[(Option<Span>, String)]) -> String {
    let lacks = found.iter().any(|(span, _)| span.is_none());
    if level == PodSecurityLevel::Restricted && extent == Extent::Whole && lacks {
        return "write `securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}` for the pod, and \
                `securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}` for each container"
            .to_owned();
    }
    "remove it, or give the team another `podSecurity`".to_owned()
}
