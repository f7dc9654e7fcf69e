//! A job asks for something that its queue does not count.

use crate::cloud::CLOUDS;
use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::{Amount, amount, is_gpu, offered};
use crate::manifests::sets::waits;
use crate::manifests::{Container, Rule, Scene};
use crate::model::Team;

/// A job asks for something that its queue does not count.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4082",
        name: "manifest-resource-uncounted",
        severity: Severity::Error,
        summary: "a job asks for something that its queue does not count",
        explain: "### What it checks

Under `queueing: kueue`, the resources of devices that pods of a team's namespace ask for, other than
GPUs: a team's queue counts the GPUs that the team was promised, and passes over network interfaces of
pools, huge pages and ephemeral storage. What some `charts.kueue.values` change is not looked at.

### Why it matters

Kueue admits nobody who asks for something that the queue has no quota of: `resource … unavailable in
ClusterQueue`. The job waits for ever.

### What to do

Remove the resource. Where a device plugin of yours offers it, give Kueue its own
`managerConfig.controllerManagerConfigYaml` in `charts.kueue.values`, gpuc's with the resource's name
in `resources.excludeResourcePrefixes`.
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
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
  - {name: vision, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1, example.com/fuse: 1}}
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
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
  - {name: vision, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// What Kueue passes over whatever the file says.
const PASSED_OVER: &[&str] = &["ephemeral-storage", "hugepages-"];

/// Accelerators of others, of which another rule speaks.
const OTHERS: &[&str] = &["amd.com/gpu", "gpu.intel.com/", "habana.ai/"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    let cluster = scene.cluster;
    if cluster.written.charts.kueue.is_some() {
        return;
    }
    let of_clouds = CLOUDS.iter().flat_map(|it| it.facts().other_accelerators);
    let of_clouds = of_clouds.map(|(name, _)| *name);
    let others: Vec<_> = OTHERS.iter().copied().chain(of_clouds).collect();
    let fabric = cluster.pools.iter().flat_map(|pool| &pool.fabric);
    let fabric = fabric.map(|it| it.resource.as_str());
    let passed_over: Vec<_> = PASSED_OVER.iter().copied().chain(fabric).collect();
    for pod in scene.pods.iter().filter(|pod| waits(cluster, pod)) {
        let namespace = pod.object.namespace.as_deref().unwrap_or_default();
        let Some((team, _)) = cluster.team_of(namespace) else {
            continue;
        };
        for entry in pod.containers.iter().flat_map(Container::asks) {
            let name = entry.key.as_str();
            let begins = |all: &[&str]| all.iter().any(|it| name.starts_with(it));
            let is_said = is_gpu(name) || begins(&others) || !name.contains('/');
            let is_some = matches!(amount(&entry.value), Amount::Whole(1..));
            let is_open = name.contains(['$', '{']);
            if is_said || is_open || !is_some || counts(team, name) || begins(&passed_over) {
                continue;
            }
            let message = format!(
                "{} asks for `{name}`, which the queue of its team does not count",
                pod.title()
            );
            let help = if offered(cluster).contains(&name) {
                "add it to the team's quota, or remove it"
            } else {
                "remove it, or let Kueue pass over it by `charts.kueue.values`"
            };
            report
                .draft(&RULE.code, entry.key_span, message)
                .label(
                    team.name.span,
                    "the team, whose queue counts the GPUs of its quota",
                )
                .help(help)
                .emit();
        }
    }
}

fn counts(team: &Team, resource: &str) -> bool {
    team.grants().any(|grant| grant.resource == resource)
}
