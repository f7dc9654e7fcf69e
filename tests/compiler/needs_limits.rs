//! Hostile inputs of less than 1 MB each, with limits of the time and the memory of the process that the kernel
//! enforces. An optimized gpuc needs at most 2 s and 1 GiB for each of them; the tests run one without optimizations.

use std::fmt::Write;
use std::process::Command;

use crate::cli::Workspace;

/// The limits: processor time in seconds, and address space in KiB.
const LIMITS: &str = "ulimit -t 25; ulimit -v 1572864";

const CLUSTER: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
"#;

const POOLS: &str = "nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: infer, gpu: {model: L4, perNode: 1}, nodes: {count: 2}}
";

/// A container with a GPU, without its closing brace.
const CONTAINER: &str = r#"{name: c, image: "a:1", resources: {limits: {nvidia.com/gpu: 1}}"#;

/// Joins the texts for the numbers from 0 to `count`.
fn repeat(count: usize, separator: &str, text: impl Fn(usize) -> String) -> String {
    let texts: Vec<_> = (0..count).map(text).collect();
    texts.join(separator)
}

/// Runs `gpuc` with a shell's limits. Returns the exit code; a process that exceeds a limit is killed, or fails to
/// allocate memory and aborts.
fn check(name: &str, place: &Workspace, args: &[&str]) {
    let gpuc = env!("CARGO_BIN_EXE_gpuc");
    let script = format!("{LIMITS}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, gpuc]).args(args);
    let output = command.current_dir(place.path(".")).output().unwrap();
    let code = output.status.code();
    let log = String::from_utf8_lossy(&output.stderr);
    let log: String = log.chars().take(2000).collect();
    assert!(
        matches!(code, Some(0..=2)),
        "{name}: {}: {log}",
        output.status
    );
}

fn check_cluster(name: &str, text: &str) {
    assert!(text.len() < 1_000_000, "{name}: {} bytes", text.len());
    let place = Workspace::with(text);
    check(name, &place, &["check"]);
    check(name, &place, &["check", "--format", "gitlab"]);
}

fn check_manifests(name: &str, text: &str) {
    check_manifests_in(&format!("{CLUSTER}{POOLS}"), name, text);
}

fn check_manifests_in(cluster: &str, name: &str, text: &str) {
    assert!(text.len() < 1_000_000, "{name}: {} bytes", text.len());
    let place = Workspace::with(cluster);
    place.write("apps/all.yaml", text);
    check(name, &place, &["check", ".", "--manifests", "apps"]);
}

#[test]
#[ignore = "needs a shell whose ulimit limits the address space, as on Linux"]
fn needs_limits_aliases_do_not_exhaust_the_memory() {
    let long = "a".repeat(100_000);
    let aliases = repeat(30_000, ",", |_| "*a".to_owned());
    check_cluster(
        "list of aliases",
        &format!("{CLUSTER}x: &a {long}\n{POOLS}y: [{aliases}]\n"),
    );
    let labels = repeat(5_000, ", ", |label| format!("a{label}: *a"));
    check_cluster(
        "labels",
        &format!(
            "{CLUSTER}x: &a {long}\nnodePools:\n  - {{name: a, machine: m7i.xlarge, nodes: {{count: 2}}, labels: {{{labels}}}}}\n"
        ),
    );
    let mut nested = "x0: &a0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..9 {
        let below = repeat(10, ", ", |_| format!("*a{}", level - 1));
        writeln!(nested, "x{level}: &a{level} [{below}]").unwrap();
    }
    check_cluster("nested aliases", &format!("{CLUSTER}{nested}{POOLS}"));
    let data = repeat(50_000, "\n", |key| format!("  b{key}: *a"));
    let config_map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  a: &a {long}\n{data}\n"
    );
    check_manifests("ConfigMap", &config_map);
}

#[test]
#[ignore = "needs a shell whose ulimit limits the address space, as on Linux"]
fn needs_limits_large_clusters_end() {
    let keys = repeat(30_000, "", |key| format!("unknownKey{key}: 1\n"));
    check_cluster("unknown keys", &format!("{CLUSTER}{POOLS}{keys}"));
    let region = CLUSTER.replace("us-east-1", &"u".repeat(900_000));
    check_cluster("region", &format!("{region}{POOLS}"));
    check_cluster("documents", &"--- {a: b}\n".repeat(80_000));
    check_cluster(
        "lists",
        &format!("{CLUSTER}{POOLS}x: {}\n", "[".repeat(400_000)),
    );
    let teams = repeat(40_000, "\n", |team| format!("  - {{name: t{team}}}"));
    check_cluster("teams", &format!("{CLUSTER}{POOLS}teams:\n{teams}\n"));
    let teams = repeat(5_000, "\n", |team| format!("  - {{name: t{team}}}"));
    check_cluster("5,000 teams", &format!("{CLUSTER}{POOLS}teams:\n{teams}\n"));
    let pool = |more: &str| {
        format!(
            "{CLUSTER}nodePools:\n  - {{name: a, machine: p4d.24xlarge, nodes: {{count: 1}}, {more}}}\n"
        )
    };
    // Each is invalid, and all are in one line.
    let zones = repeat(5_000, ", ", |zone| {
        format!("us-east-1{zone}{}", "x".repeat(150))
    });
    check_cluster("zones", &pool(&format!("zones: [{zones}]")));
    let layout = "{layout: [{profile: 1g.5gb, count: 7}]}, ".repeat(5_000);
    let mig = format!("sharing: {{mig: {{strategy: mixed, perGpu: [{layout}]}}}}");
    check_cluster("MIG layouts", &pool(&mig));
}

#[test]
#[ignore = "needs a shell whose ulimit limits the address space, as on Linux"]
fn needs_limits_large_manifests_end() {
    let deployments = |count: usize, more: &str| {
        repeat(count, "---\n", |index| {
            let more = more.replace("INDEX", &index.to_string());
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{index}, namespace: a}}\n\
                 spec: {{selector: {{matchLabels: {{a: d{index}}}}}, template: {{metadata: {{labels: {{a: d{index}}}}}, \
                 spec: {{containers: [{CONTAINER}{more}}}]}}}}}}\n"
            )
        })
    };
    let scalers = repeat(800, "---\n", |index| {
        format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: h{index}, namespace: a}}\n\
             spec: {{maxReplicas: 3, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: d{index}}}}}\n"
        )
    });
    check_manifests(
        "autoscalers",
        &format!("{}---\n{scalers}", deployments(800, "")),
    );
    let ranges = repeat(1_500, "---\n", |index| {
        format!(
            "apiVersion: v1\nkind: LimitRange\nmetadata: {{name: r{index}, namespace: a}}\n\
             spec: {{limits: [{{type: Container, default: {{cpu: {index}m}}}}]}}\n"
        )
    });
    check_manifests(
        "LimitRanges",
        &format!("{}---\n{ranges}", deployments(1_000, "")),
    );
    let keys = repeat(4_000, ", ", |key| format!("k{key}: v"));
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: a}}\nstringData: {{{keys}}}\n"
    );
    let env = ", env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: qINDEX}}}]";
    check_manifests(
        "Secret",
        &format!("{secret}---\n{}", deployments(1_000, env)),
    );
    let pod = |spec: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{{spec}}}\n")
    };
    let keys = repeat(30_000, ", ", |key| format!("unknownKey{key}: 1"));
    check_manifests(
        "keys of a pod",
        &pod(&format!("{keys}, containers: [{CONTAINER}}}]")),
    );
    let volumes = repeat(8_000, ", ", |index| {
        format!("{{name: v{index}, emptyDir: {{}}}}")
    });
    let mounts = repeat(8_000, ", ", |index| {
        format!("{{name: w{index}, mountPath: /a{index}}}")
    });
    let spec =
        format!("volumes: [{volumes}], containers: [{CONTAINER}, volumeMounts: [{mounts}]}}]");
    check_manifests("mounts", &pod(&spec));
    let queues = repeat(2_000, "---\n", |index| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {{name: q{index}, namespace: a}}\n\
             spec: {{clusterQueue: c}}\n---\napiVersion: batch/v1\nkind: Job\n\
             metadata: {{name: j{index}, namespace: a, labels: {{kueue.x-k8s.io/queue-name: r{index}}}}}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{CONTAINER}}}]}}}}}}\n"
        )
    });
    check_manifests("queues", &queues);
}

#[test]
#[ignore = "needs a shell whose ulimit limits the address space, as on Linux"]
fn needs_limits_many_quotas_and_updates_end() {
    let pools = repeat(200, "\n", |pool| {
        format!("  - {{name: p{pool}, machine: g6.xlarge, nodes: {{count: 1}}}}")
    });
    let grants = repeat(200, ", ", |pool| {
        format!("{{pool: p{pool}, guaranteed: 0, limit: 1}}")
    });
    let teams = repeat(90, "\n", |team| {
        format!("  - {{name: t{team}, quota: {{gpus: [{grants}]}}}}")
    });
    check_cluster(
        "quotas",
        &format!("{CLUSTER}queueing: kueue\nnodePools:\n{pools}\nteams:\n{teams}\n"),
    );
    let cluster = format!(
        "{CLUSTER}nodePools:\n  - {{name: gpu, gpu: {{model: L4, perNode: 8}}, existing: {{selector: {{a: b}}}}, \
         nodes: {{count: 1000}}}}\nteams: [{{name: research, quota: {{gpus: [{{pool: gpu, guaranteed: 3500}}]}}}}]\n"
    );
    let services = repeat(3_500, "---\n", |service| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{service}, namespace: research}}\nspec: \
             {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: \
             [{CONTAINER}}}]}}}}}}\n"
        )
    });
    check_manifests_in(&cluster, "updates", &services);
}
