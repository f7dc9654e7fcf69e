//! The combined requests of several manifests, and cases in which gpuc cannot be certain.

use super::{LAB, clusters};
use crate::support::{Outcome, compile_text};

const POD: &str = "spec: {tolerations: [{operator: Exists}], containers: [{name: a, image: 'r.example.com/a:1', \
                   resources: {limits: {nvidia.com/gpu: 2}}}]}";

/// A controller whose pods request two GPUs each. The lab has sixteen GPUs, and the team with namespace `research-dev`
/// has a limit of eight.
fn controller(kind: &str, metadata: &str, spec: &str) -> String {
    let template = format!("template: {{metadata: {{labels: {{app: a}}}}, {POD}}}");
    let (group, spec) = match kind {
        "LeaderWorkerSet" => (
            "leaderworkerset.x-k8s.io/v1",
            format!("{spec}, workerTemplate: {{{POD}}}}}"),
        ),
        "Job" => (
            "batch/v1",
            format!(
                "{spec}, {}",
                template.replace("spec: {tol", "spec: {restartPolicy: Never, tol")
            ),
        ),
        _ => {
            let selector = "selector: {matchLabels: {app: a}}";
            ("apps/v1", format!("{spec}, {selector}, {template}"))
        }
    };
    format!("---\napiVersion: {group}\nkind: {kind}\nmetadata: {{{metadata}}}\nspec: {{{spec}}}\n")
}

fn deployment(name: &str, namespace: &str, replicas: u32) -> String {
    let metadata = format!("name: {name}, namespace: {namespace}");
    controller("Deployment", &metadata, &format!("replicas: {replicas}"))
}

#[track_caller]
fn assert_findings(cluster: &str, files: &[String], expected: &[&str]) {
    let mut outcome: Outcome = compile_text(cluster);
    let before = outcome.findings.len();
    let names: Vec<_> = (0..files.len())
        .map(|index| format!("{index}.yaml"))
        .collect();
    let files = names.iter().zip(files);
    let files: Vec<_> = files
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    outcome.add_manifests(&files);
    let found = outcome.findings[before..].iter();
    // Other tests cover shared memory and rolling updates.
    let others = ["GPUC4013", "GPUC4063"];
    let found = found.filter(|it| !others.contains(&it.code.id));
    let found: Vec<_> = found.map(|it| it.code.id).collect();
    assert_eq!(found, expected, "{files:?}\n{}", outcome.text());
}

#[test]
fn team_quota_is_enforced() {
    let lab = &clusters()[LAB];
    let queued = lab.replace("\nteams:", "\nqueueing: kueue\nteams:");
    let team_deployment = |name: &str, replicas| deployment(name, "research-dev", replicas);
    for cluster in [lab, &queued] {
        assert_findings(
            cluster,
            &[team_deployment("a", 2), team_deployment("b", 2)],
            &[],
        );
        assert_findings(
            cluster,
            &[team_deployment("a", 2), team_deployment("b", 3)],
            &["GPUC4038"],
        );
        // The requests of a single pod that exceed the quota are another finding.
        assert_findings(cluster, &[team_deployment("a", 5)], &["GPUC4010"]);
        // Jobs can wait for free quota.
        let job = controller("Job", "name: j, namespace: research-dev", "parallelism: 4");
        assert_findings(cluster, &[team_deployment("a", 3), job], &[]);
    }
    // The workloads in the cluster file count too.
    let with = format!(
        "{lab}workloads: [{{name: old, team: research, pool: train, deployment: {{image: 'a:1', gpus: 2, replicas: 2}}}}]\n"
    );
    assert_findings(&with, &[team_deployment("a", 2)], &[]);
    assert_findings(&with, &[team_deployment("a", 3)], &["GPUC4038"]);
    // A manifest with the name of a workload in the file replaces it.
    assert_findings(&with, &[team_deployment("old", 3)], &[]);
}

#[test]
fn pool_capacity_is_enforced() {
    let lab = &clusters()[LAB];
    let all = |files: &[String], expected: &[&str]| assert_findings(lab, files, expected);
    let one = |replicas| deployment("a", "x", replicas);
    all(&[one(8)], &[]);
    all(&[one(9)], &["GPUC4039"]);
    all(&[one(4), deployment("b", "x", 5)], &["GPUC4039"]);
    // Objects with the same name and namespace, such as two overlays, count once. Objects in different namespaces count
    // separately.
    all(&[one(8), one(7)], &[]);
    all(&[one(8), deployment("a", "y", 1)], &["GPUC4039"]);
    let set = |replicas, size| {
        let spec = format!("replicas: {replicas}, leaderWorkerTemplate: {{size: {size}");
        controller("LeaderWorkerSet", "name: a", &spec)
    };
    all(&[set(2, 4)], &[]);
    all(&[set(3, 3)], &["GPUC4039"]);
    // Of sixteen GPUs, a DaemonSet uses two on each node. On nodes without GPUs its pods are pending, which is another
    // finding.
    let on_each = controller("DaemonSet", "name: d", "minReadySeconds: 1");
    all(&[one(6), on_each.clone()], &["GPUC4069"]);
    all(&[one(7), on_each], &["GPUC4039", "GPUC4069"]);
}

#[test]
fn operator_pods_are_counted_by_kind() {
    let lab = &clusters()[LAB];
    let served = |name: &str, more: &str| {
        format!(
            "---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {{{name}}}\nspec: {{predictor: \
             {{{more}tolerations: [{{operator: Exists}}], model: {{modelFormat: {{name: a}}, resources: {{limits: \
             {{nvidia.com/gpu: 2}}}}}}}}}}\n"
        )
    };
    let here = |more: &str| served("name: a, namespace: x", more);
    assert_findings(lab, &[here("minReplicas: 8, maxReplicas: 20, ")], &[]);
    assert_findings(lab, &[here("minReplicas: 9, ")], &["GPUC4039"]);
    assert_findings(lab, &[here(""), deployment("b", "x", 8)], &["GPUC4039"]);
    assert_findings(
        lab,
        &[here("minReplicas: 0, "), deployment("b", "x", 8)],
        &[],
    );
    let stopped = "name: a, namespace: x, annotations: {serving.kserve.io/stop: 'true'}";
    assert_findings(lab, &[served(stopped, "minReplicas: 9, ")], &[]);
    let team_metadata = "name: a, namespace: research-dev";
    assert_findings(
        lab,
        &[served(team_metadata, "minReplicas: 5, ")],
        &["GPUC4010"],
    );
    // The `nodeSelector` in a runtime patch is taken into account.
    let patched = |pool: &str, gpus: u32| {
        format!(
            "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: t}}\nspec: {{runtimeRef: \
             {{name: r}}, trainer: {{numNodes: 2, resourcesPerNode: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}, \
             runtimePatches: [{{manager: a, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{{name: node, \
             template: {{spec: {{template: {{spec: {{nodeSelector: {{gpuc.dev/pool: {pool}}}}}}}}}}}}}]}}}}}}}}]}}\n"
        )
    };
    assert_findings(lab, &[patched("train", 8)], &[]);
    assert_findings(lab, &[patched("infer", 8)], &["GPUC4009"]);
    let spark = |size: &str| {
        format!(
            "---\napiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {{name: s}}\nspec: {{type: \
             Java, sparkVersion: '4', driver: {{cores: 1}}, executor: {{{size}, tolerations: [{{operator: Exists}}], gpu: \
             {{name: nvidia.com/gpu, quantity: 1}}}}}}\n"
        )
    };
    let eks = &clusters()["eks.yaml"];
    assert_findings(eks, &[spark("cores: 40, memory: 100g")], &[]);
    assert_findings(eks, &[spark("cores: 400")], &["GPUC4008"]);
    assert_findings(eks, &[spark("cores: 400, coreRequest: 4")], &[]);
    assert_findings(eks, &[spark("memory: 400g")], &["GPUC4008"]);
    assert_findings(
        eks,
        &[spark("memory: 100g, memoryOverhead: 300g")],
        &["GPUC4008"],
    );
}

#[test]
fn zones_are_counted_if_known() {
    let eks = &clusters()["eks.yaml"];
    let zones = |zones: &str| {
        let taints = "    taints: [{key: nvidia.com/gpu";
        eks.replace(taints, &format!("    zones: [{zones}]\n{taints}"))
    };
    let apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                 topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: a}}}]}}, tolerations";
    let pods = deployment("a", "x", 2).replace("tolerations", apart);
    let pods = &[pods];
    assert_findings(&zones("us-east-1a"), pods, &["GPUC4053"]);
    assert_findings(&zones("us-east-1a, us-east-1b"), pods, &[]);
    assert_findings(eks, pods, &[]);
}

#[test]
fn pods_that_start_together_are_counted_at_once() {
    let lab = &clusters()[LAB];
    let job = |group: &str, kind: &str, metadata: &str, spec: &str| {
        format!(
            "---\napiVersion: {group}\nkind: {kind}\nmetadata: {{name: j{metadata}}}\nspec: {{{spec}}}\n"
        )
    };
    let train = |nodes: u32, metadata: &str| {
        let spec = format!(
            "runtimeRef: {{name: r}}, trainer: {{numNodes: {nodes}, resourcesPerNode: {{limits: {{nvidia.com/gpu: 4}}}}}}"
        );
        job("trainer.kubeflow.org/v1alpha1", "TrainJob", metadata, &spec)
    };
    assert_findings(lab, &[train(4, "")], &[]);
    assert_findings(lab, &[train(5, "")], &["GPUC4044"]);
    let team_namespace = ", namespace: research-dev";
    assert_findings(lab, &[train(2, team_namespace)], &[]);
    assert_findings(lab, &[train(3, team_namespace)], &["GPUC4044"]);
    let torch = |workers: u32, more: &str| {
        // The operator requires a container with this name.
        let pod = POD.replace("{name: a,", "{name: pytorch,");
        let role =
            |name: &str, count: u32| format!("{name}: {{replicas: {count}, template: {{{pod}}}}}");
        let (master, worker) = (role("Master", 1), role("Worker", workers));
        let spec = format!("{more}pytorchReplicaSpecs: {{{master}, {worker}}}");
        job("kubeflow.org/v1", "PyTorchJob", "", &spec)
    };
    assert_findings(lab, &[torch(7, "")], &[]);
    assert_findings(lab, &[torch(8, "")], &["GPUC4044"]);
    assert_findings(lab, &[torch(8, "elasticPolicy: {minReplicas: 1}, ")], &[]);
    assert_findings(lab, &[torch(8, "runPolicy: {suspend: true}, ")], &[]);
    let volcano = |more: &str| {
        let spec = format!("{more}tasks: [{{name: t, replicas: 9, template: {{{POD}}}}}]");
        job("batch.volcano.sh/v1alpha1", "Job", "", &spec)
    };
    assert_findings(lab, &[volcano("")], &["GPUC4044"]);
    assert_findings(lab, &[volcano("minAvailable: 1, ")], &[]);
}

#[test]
fn queued_pod_sets_need_one_pool() {
    // The team may use twelve GPUs of one pool and four of another.
    let queues = &clusters()["queues.yaml"];
    let one = "namespace: research";
    let pod = |text: String| text.replace("nvidia.com/gpu: 2", "nvidia.com/gpu: 1");
    let set = |kind: &str, spec: &str| pod(controller(kind, &format!("name: a, {one}"), spec));
    assert_findings(queues, &[set("StatefulSet", "replicas: 12")], &[]);
    assert_findings(queues, &[set("StatefulSet", "replicas: 13")], &["GPUC4081"]);
    assert_findings(queues, &[set("Deployment", "replicas: 13")], &[]);
    assert_findings(queues, &[set("StatefulSet", "replicas: 17")], &["GPUC4010"]);
    // Each group of a LeaderWorkerSet starts independently.
    let groups = |replicas, size| {
        let spec = format!("replicas: {replicas}, leaderWorkerTemplate: {{size: {size}");
        set("LeaderWorkerSet", &spec)
    };
    assert_findings(queues, &[groups(4, 4)], &[]);
    assert_findings(queues, &[groups(1, 13)], &["GPUC4081"]);
    // In other namespaces nothing is counted, and the limits of an unknown queue are unknown.
    let job = |metadata: &str, parallelism: u32| {
        let spec = format!("parallelism: {parallelism}");
        pod(controller("Job", &format!("name: a, {metadata}"), &spec))
    };
    assert_findings(queues, &[job(one, 13)], &["GPUC4081"]);
    assert_findings(queues, &[job("namespace: elsewhere", 13)], &["GPUC4022"]);
    let named = format!("{one}, labels: {{kueue.x-k8s.io/queue-name: own}}");
    assert_findings(queues, &[job(&named, 13)], &["GPUC4024"]);
}

#[test]
fn uncertain_pods_are_not_counted() {
    let lab = &clusters()[LAB];
    let all = |files: &[String]| assert_findings(lab, files, &[]);
    let many = deployment("a", "x", 50);
    let scaler = |kind: &str, group: &str, least: &str| {
        format!(
            "---\napiVersion: {group}\nkind: {kind}\nmetadata: {{name: s, namespace: x}}\nspec: {{scaleTargetRef: \
             {{kind: Deployment, name: a}}{least}}}\n"
        )
    };
    let autoscaler = |least: &str| {
        let most = if least.is_empty() { 8 } else { 9 };
        let least = format!(", maxReplicas: {most}{least}");
        scaler("HorizontalPodAutoscaler", "autoscaling/v2", &least)
    };
    all(&[many.clone(), autoscaler("")]);
    all(&[many.clone(), scaler("ScaledObject", "keda.sh/v1alpha1", "")]);
    assert_findings(
        lab,
        &[many.clone(), autoscaler(", minReplicas: 9")],
        &["GPUC4039"],
    );
    // An autoscaler keeps at least `minReplicas`, whatever `replicas` is.
    let few = many.replace("replicas: 50", "replicas: 1");
    let eight = autoscaler(", minReplicas: 8").replace("maxReplicas: 9", "maxReplicas: 8");
    all(&[few.clone(), eight]);
    assert_findings(
        lab,
        &[few.clone(), autoscaler(", minReplicas: 9")],
        &["GPUC4039"],
    );
    let in_team_namespace = |text: &str| text.replace("namespace: x", "namespace: research-dev");
    let five = autoscaler(", minReplicas: 5").replace("maxReplicas: 9", "maxReplicas: 8");
    assert_findings(
        lab,
        &[in_team_namespace(&few), in_team_namespace(&five)],
        &["GPUC4010"],
    );
    all(&[many.replace("replicas: 50", "replicas: 0")]);
    all(&[many.replace("replicas: 50", "replicas: \"{{n}}\"")]);
    all(&[many.replace(
        "namespace: x",
        "namespace: x, ownerReferences: [{apiVersion: a/v1, kind: Rollout, name: a, uid: u}]",
    )]);
    all(&[controller("Job", "name: a", "parallelism: 50")]);
    // Jobs that run one after the other.
    let turns = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {replicatedJobs: [JOBS]}\n";
    let jobs = |more: &str| {
        let job = |name: &str, more: &str| {
            format!(
                "{{name: {name}, template: {{spec: {{parallelism: 5, template: {{spec: {{restartPolicy: Never, {}}}}}}}{more}}}",
                POD.trim_start_matches("spec: {")
            )
        };
        format!(
            "---\n{}",
            turns.replace("JOBS", &format!("{}, {}", job("a", ""), job("b", more)))
        )
    };
    all(&[jobs(", dependsOn: [{name: a, status: Complete}]")]);
    assert_findings(
        lab,
        &[jobs(", dependsOn: [{name: a, status: Ready}]")],
        &["GPUC4080"],
    );
    // The pods of one ResourceClaim share its device. The devices of a claim in another file are unknown.
    let claims = "resourceClaims: [{name: c, resourceClaimName: c}], containers: [{name: a, image: 'r.example.com/a:1', \
                  resources: {claims: [{name: c}]}}]}}}\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: \
                  {name: c}\nspec: {devices: {requests: [{name: g, exactly: {deviceClassName: train.gpuc.dev}}]}}\n";
    let at = many.find("containers: ").unwrap();
    let shared = format!("{}{claims}", &many[..at]);
    let dra = &clusters()["claims.yaml"];
    assert_findings(dra, &[shared], &[]);
}
