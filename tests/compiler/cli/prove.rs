//! `gpuc prove` as users run it.

use std::io::Write;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::Value;

use super::{Workspace, without_gpus};
use crate::support::repository;

/// A cluster with a pool for training, one with MIG devices, and one without GPUs.
const CLUSTER: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
mirror: {images: registry.example.com}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: train, machine: p5.48xlarge, zones: [us-east-1a], nodes: {count: 4}, network: {efa: {}}}
  - {name: slices, machine: p4d.24xlarge, nodes: {count: 2}, sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}}
"#;

fn cluster() -> Workspace {
    Workspace::with(CLUSTER)
}

/// The objects of a manifest.
fn objects(manifest: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(manifest);
    let objects = documents.map(|it| Value::deserialize(it).unwrap());
    objects.filter(|it| !it.is_null()).collect()
}

fn job(manifest: &str) -> Value {
    let mut objects = objects(manifest);
    let job = objects.pop().unwrap();
    assert_eq!(job["kind"], "Job");
    job
}

#[test]
fn a_fabric_is_proven_by_a_job_that_uses_it() {
    let place = cluster();
    let result = place.run(&["prove", "train", "--fabric"]).expect_code(0);
    let all = objects(&result.stdout);
    assert_eq!(all[0]["kind"], "Namespace");
    let namespaces = all[1..].iter().map(|it| &it["metadata"]["namespace"]);
    assert!(namespaces.clone().all(|it| it == "prove-train"));
    let job = job(&result.stdout);
    assert_eq!(job["spec"]["completions"], 2);
    // A failed pod must not delete the logs of the others.
    assert_eq!(job["spec"]["backoffLimitPerIndex"], 0);
    assert!(job["spec"]["backoffLimit"].is_null());
    let limits = &job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits["nvidia.com/gpu"], "8");
    assert_eq!(limits["vpc.amazonaws.com/efa"], "32");
    assert!(limits["hugepages-2Mi"].is_string(), "{limits}");
}

#[test]
fn the_commands_of_a_manifest_work() {
    let place = cluster();
    let arguments = [
        "prove",
        "train",
        "gpu-cluster.yaml",
        "--fabric",
        "--nodes=3",
        "--min-bus-bandwidth=9",
    ];
    let result = place.run(&arguments).expect_code(0);
    let line = result.stdout.lines().find(|it| it.contains("--judge"));
    let command = line.unwrap().trim_start_matches("#   gpuc ");
    assert_eq!(
        command,
        "prove train gpu-cluster.yaml --fabric --nodes 3 --min-bus-bandwidth 9 --judge proof.log"
    );
    place.write("proof.log", "");
    let arguments: Vec<&str> = command.split(' ').collect();
    let result = place.run(&arguments).expect_code(1);
    assert!(
        result
            .stdout
            .starts_with("not proven: EFA between 3 nodes with 8 GPUs each\n"),
        "{}",
        result.stdout
    );
    assert!(
        result.stdout.contains("error[empty-log]"),
        "{}",
        result.stdout
    );
}

#[test]
fn diagnostics_have_the_rights_that_they_need() {
    let place = cluster();
    let result = place
        .run(&["prove", "train", "--gpu", "3", "--nodes", "2"])
        .expect_code(0);
    let all = objects(&result.stdout);
    let level = &all[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
    assert_eq!(level, "privileged");
    let job = job(&result.stdout);
    let pod = &job["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let image = container["image"].as_str().unwrap();
    let path = "registry.example.com/nvidia/cloud-native/dcgm:";
    assert!(image.starts_with(path), "{image}");
    let command = container["command"][2].as_str().unwrap();
    assert!(command.ends_with("dcgmi diag --run 3 --json"), "{command}");
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "8");
    let rule =
        &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    let selector = rule["labelSelector"]["matchLabels"].as_object().unwrap();
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    assert!(!selector.is_empty());
    assert!(selector.iter().all(|(key, value)| labels[key] == *value));
}

/// The log of an all-reduce over TCP between two nodes with 8 GPUs each. Source of the formats:
/// `compiler/crates/prove/src/testing.rs`.
fn tcp_log() -> String {
    let mut lines = vec!["NCCL version 2.27.7+cuda12.8".to_owned()];
    let mut each_rank = |texts: &dyn Fn(u32) -> Vec<String>| {
        for rank in 0..16 {
            let (node, gpu) = (rank / 8, rank % 8);
            let start = format!("gpuc-prove-{node}:{}:{} [{gpu}]", 100 + gpu, 200 + gpu);
            let pod = format!("[pod/gpuc-prove-{node}-x7k2p/main]");
            let texts = texts(rank).into_iter();
            lines.extend(texts.map(|text| format!("{pod} {start} NCCL INFO {text}")));
        }
    };
    let start = |rank: u32| {
        let gpu = rank % 8;
        format!(
            "ncclCommInitRank comm 0x55{rank}0 rank {rank} nranks 16 cudaDev {gpu} nvmlDev {gpu} busId {gpu}000 \
commId 0xef"
        )
    };
    each_rank(&|_| vec!["NET/OFI No eligible providers were found".to_owned()]);
    each_rank(&|rank| {
        vec![
            "Using network Socket".to_owned(),
            format!("{} - Init START", start(rank)),
            format!(
                "comm 0x55{rank}0 rank {rank} nRanks 16 nNodes 2 localRanks 8 localRank {} MNNVL 0",
                rank % 8
            ),
        ]
    });
    each_rank(&|rank| {
        let next = (rank + 1) % 16;
        let peer = format!(
            "Channel 00/0 : {rank}[{}] -> {next}[{}]",
            rank % 8,
            next % 8
        );
        let channel = if rank / 8 == next / 8 {
            format!("{peer} via P2P/CUMEM")
        } else {
            format!("{peer} [send] via NET/Socket/0")
        };
        vec![channel, format!("{} - Init COMPLETE", start(rank))]
    });
    lines.push("# Collective test starting: all_reduce with torch.distributed".to_owned());
    for bytes in [1024_u64, 4 << 30, 8 << 30] {
        lines.push(format!(
            "{bytes} {} float sum -1 N/A N/A N/A N/A 38.01 1.55 2.91 0",
            bytes / 4
        ));
    }
    lines.push("# Out of bounds values : 0 OK".to_owned());
    lines.join("\n")
}

#[test]
fn the_example_of_the_documentation_is_real() {
    let place = cluster();
    place.write("proof.log", &tcp_log());
    let result = place
        .run(&["prove", "train", "--fabric", "--judge", "proof.log"])
        .expect_code(1);
    let text = std::fs::read_to_string(repository().join("docs/prove.md")).unwrap();
    let command = "$ gpuc prove train --fabric --judge proof.log\n";
    let (_, example) = text.split_once(command).unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(example, result.stdout);
    let result = place
        .run(&[
            "prove",
            "train",
            "--fabric",
            "--judge",
            "proof.log",
            "--min-bus-bandwidth",
            "2",
        ])
        .expect_code(1);
    assert!(
        result.stdout.ends_with("\nnot proven: 1 reason\n"),
        "{}",
        result.stdout
    );
}

#[test]
fn a_cuda_program_proves_mig_devices() {
    let place = cluster();
    let result = place
        .run(&["prove", "slices", "--gpu", "cuda"])
        .expect_code(0);
    let job = job(&result.stdout);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"]["gpuc.dev/pool"], "slices");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert!(pod["affinity"]["podAntiAffinity"].is_null());
    let log =
        "[pod/gpuc-prove-slices-0-x/main] Test PASSED\n[pod/gpuc-prove-slices-0-x/main] Done\n";
    place.write("proof.log", log);
    let judge = ["prove", "slices", "--gpu", "cuda", "--judge", "proof.log"];
    let result = place.run(&judge).expect_code(0);
    assert!(result.stdout.ends_with("\nproven\n"), "{}", result.stdout);
    let mut command = place.command(&["prove", "slices", "--gpu", "cuda", "--judge", "-"]);
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(log.as_bytes())
        .unwrap();
    super::CliResult::from_output(child.wait_with_output().unwrap()).expect_code(0);
    let json = [&judge[..], &["--format", "json", "--nodes", "2"]].concat();
    let result = place.run(&json).expect_code(1);
    let json: Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(json["verdict"], "notProven");
    assert_eq!(json["reasons"][0]["id"], "pods-missing");
}

#[test]
fn own_images_are_used() {
    let place = cluster();
    for property in [&["--fabric"][..], &["--gpu", "cuda"], &["--gpu", "2"]] {
        let arguments = [
            &["prove", "train", "--image", "me.example.com/a:1"],
            property,
        ]
        .concat();
        let result = place.run(&arguments).expect_code(0);
        let job = job(&result.stdout);
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "me.example.com/a:1");
    }
}

#[test]
fn workloads_of_the_file_are_kept_out() {
    for workloads in ["workloads: []\n", "workloads: [{name: a, cudaTest: {}}]\n"] {
        let place = Workspace::with(&format!("{CLUSTER}{workloads}"));
        let result = place
            .run(&["prove", "train", "--gpu", "cuda"])
            .expect_code(0);
        let kinds: Vec<Value> = objects(&result.stdout)
            .iter()
            .map(|it| it["kind"].clone())
            .collect();
        assert_eq!(kinds, ["Namespace", "Job"], "{workloads}");
    }
}

#[test]
fn proofs_that_are_impossible_have_a_help() {
    let place = cluster();
    for (arguments, expected) in [
        (
            &["prove", "trian", "--fabric"][..],
            "the pools are system, train, slices",
        ),
        (&["prove", "system", "--fabric"], "have no GPUs"),
        (
            &["prove", "slices", "--fabric", "--nodes", "1"],
            "`--gpu cuda`",
        ),
        (&["prove", "slices", "--gpu", "2"], "`--gpu cuda`"),
        (
            &["prove", "train", "--fabric", "--nodes", "5"],
            "prove fewer nodes: `--nodes 4`",
        ),
        (&["prove", "train"], "--fabric"),
        (
            &["prove", "train", "--fabric", "--gpu", "2"],
            "cannot be used with",
        ),
        (
            &["prove", "train", "--fabric", "--nodes", "0"],
            "0 is not in 1..=4096",
        ),
        (
            &["prove", "train", "--gpu", "5"],
            "possible values: cuda, 1, 2, 3, 4",
        ),
        (
            &["prove", "train", "--gpu", "2", "--min-bus-bandwidth", "1"],
            "--fabric",
        ),
        (
            &["prove", "train", "--fabric", "--cluster", "x"],
            "the clusters are demo",
        ),
    ] {
        let result = place.run(arguments).expect_code(2);
        assert!(
            result.stderr.contains(expected),
            "{arguments:?}: {}",
            result.stderr
        );
        assert_eq!(result.stdout, "");
    }
    let place = Workspace::with(&without_gpus());
    place.run(&["prove", "gpu", "--fabric"]).expect_code(2);
}

#[test]
fn an_unreachable_cluster_fails_and_keeps_files() {
    let place = cluster();
    let kubeconfig = "{apiVersion: v1, kind: Config, current-context: a,
        clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}],
        contexts: [{name: a, context: {cluster: a}}]}";
    place.write("kubeconfig", kubeconfig);
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("KUBECONFIG", place.path("kubeconfig"));
        super::CliResult::from_output(command.output().unwrap())
    };
    let apply = ["prove", "train", "--fabric", "--apply"];
    let result = run(&apply).expect_code(3);
    assert!(
        result.stderr.contains(
            "cannot run the Job in the cluster of the context `a` (http://127.0.0.1:1): "
        ),
        "{}",
        result.stderr
    );
    place.write("mine.log", "mine");
    let result = run(&[&apply[..], &["--log", "mine.log"]].concat()).expect_code(2);
    assert!(
        result.stderr.contains("exists already"),
        "{}",
        result.stderr
    );
    assert_eq!(place.read("mine.log"), "mine");
}
