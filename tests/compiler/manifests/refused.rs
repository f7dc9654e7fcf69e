//! What the API server refuses is refused in manifests and in patches alike, at the same words of the text; what it
//! takes is left in peace in both.

use gpuc::diag::Diagnostic;

use super::check;
use crate::support::{Outcome, compile_text};

/// A mistake in a container or, after `POD `, in its pod: the text, the words at which it is found, what is said with
/// `~` for the pod's specification, and a part of the help.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    // Types.
    (
        "resource: {limits: {cpu: 1}}",
        "resource",
        "Kubernetes knows no `~.containers[0].resource`",
        "did you mean `resources`?",
    ),
    (
        "POD toleration: []",
        "toleration",
        "Kubernetes knows no `~.toleration`",
        "did you mean `tolerations`?",
    ),
    (
        "volumes: []",
        "volumes",
        "Kubernetes knows no `~.containers[0].volumes`",
        "belongs into `~`",
    ),
    (
        "resources: {memory: 1Gi}",
        "memory",
        "Kubernetes knows no `~.containers[0].resources.memory`",
        "below `~.containers[0].resources.limits`",
    ),
    (
        "resources: {limits: '8'}",
        "'8'",
        "Kubernetes cannot read `~.containers[0].resources.limits`: it is text, and must be a mapping",
        "names and amounts",
    ),
    (
        "command: python",
        "python",
        "Kubernetes cannot read `~.containers[0].command`: it is text, and must be a list",
        "- ",
    ),
    (
        "tty: 'true'",
        "'true'",
        "Kubernetes cannot read `~.containers[0].tty`: it is text, and must be `true` or `false`",
        "`true`, without quotes",
    ),
    (
        "ports: [{containerPort: '80'}]",
        "'80'",
        "Kubernetes cannot read `~.containers[0].ports[0].containerPort`: it is text, and must be a whole number",
        "`80`, without quotes",
    ),
    (
        "ports: [{containerPort: 3000000000}]",
        "3000000000",
        "Kubernetes cannot read `~.containers[0].ports[0].containerPort`: it is 3000000000, which is too large",
        "at most",
    ),
    (
        "args: [a, 8]",
        "8",
        "Kubernetes cannot read `~.containers[0].args[1]`: it is a number, and must be text",
        "`\"8\"`",
    ),
    (
        "ports: [null]",
        "null",
        "Kubernetes cannot read `~.containers[0].ports[0]`: it is nothing",
        "remove it",
    ),
    (
        "ports: [{name: web}]",
        "{name: web}",
        "`~.containers[0].ports[0]` has no `containerPort`",
        "`containerPort`",
    ),
    // Words.
    (
        "imagePullPolicy: always",
        "always",
        "`~.containers[0].imagePullPolicy` is `always`, and has to be `Always`, `IfNotPresent` or `Never`",
        "did you mean `Always`?",
    ),
    (
        "POD restartPolicy: Sometimes",
        "Sometimes",
        "`~.restartPolicy` is `Sometimes`, and has to be `Always`, `OnFailure` or `Never`",
        "write",
    ),
    (
        "POD dnsPolicy: Cluster",
        "Cluster",
        "`~.dnsPolicy` is `Cluster`, and has to be `ClusterFirst`, `ClusterFirstWithHostNet`, `Default` or `None`",
        "write",
    ),
    (
        "ports: [{containerPort: 1, protocol: tcp}]",
        "tcp",
        "`~.containers[0].ports[0].protocol` is `tcp`, and has to be `TCP`, `UDP` or `SCTP`",
        "did you mean `TCP`?",
    ),
    (
        "POD tolerations: [{key: a, operator: exists}]",
        "exists",
        "`~.tolerations[0].operator` is `exists`, and has to be `Exists`, `Equal`, `Lt` or `Gt`",
        "did you mean `Exists`?",
    ),
    (
        "POD tolerations: [{key: a, effect: NoScheduling}]",
        "NoScheduling",
        "`~.tolerations[0].effect` is `NoScheduling`, and has to be `NoSchedule`, `PreferNoSchedule` or `NoExecute`",
        "did you mean `NoSchedule`?",
    ),
    (
        "POD topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotPlace}]",
        "DoNotPlace",
        "`~.topologySpreadConstraints[0].whenUnsatisfiable` is `DoNotPlace`, and has to be `DoNotSchedule` or `ScheduleAnyway`",
        "write",
    ),
    // Numbers.
    (
        "ports: [{containerPort: 99999}]",
        "99999",
        "`~.containers[0].ports[0].containerPort` is 99999, and has to be between 1 and 65535",
        "between 1 and 65535",
    ),
    (
        "ports: [{containerPort: 0}]",
        "0",
        "`~.containers[0].ports[0].containerPort` is 0, and has to be between 1 and 65535",
        "",
    ),
    (
        "ports: [{containerPort: 80, hostPort: 70000}]",
        "70000",
        "`~.containers[0].ports[0].hostPort` is 70000, and has to be between 0 and 65535",
        "",
    ),
    (
        "livenessProbe: {httpGet: {path: /, port: 70000}}",
        "70000",
        "`~.containers[0].livenessProbe.httpGet.port` is 70000, and has to be between 1 and 65535",
        "",
    ),
    (
        "livenessProbe: {exec: {command: [a]}, successThreshold: 2}",
        "2",
        "`~.containers[0].livenessProbe.successThreshold` is 2, and has to be 1",
        "readiness",
    ),
    (
        "readinessProbe: {exec: {command: [a]}, periodSeconds: -1}",
        "-1",
        "`~.containers[0].readinessProbe.periodSeconds` is -1, and has to be 0 or more",
        "",
    ),
    (
        "POD topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
        "0",
        "`~.topologySpreadConstraints[0].maxSkew` is 0, and has to be 1 or more",
        "",
    ),
    (
        "POD activeDeadlineSeconds: 0",
        "0",
        "`~.activeDeadlineSeconds` is 0, and has to be 1 or more",
        "",
    ),
    (
        "POD securityContext: {runAsUser: -1}",
        "-1",
        "`~.securityContext.runAsUser` is -1, and has to be 0 or more",
        "",
    ),
    (
        "POD volumes: [{name: c, configMap: {name: c, defaultMode: 644}}]",
        "644",
        "`~.volumes[0].configMap.defaultMode` is 644, and has to be between 0 and 511",
        "write `420`",
    ),
    // Names.
    (
        "ports: [{containerPort: 80, name: HTTP}]",
        "HTTP",
        "`~.containers[0].ports[0].name` is `HTTP`, which is no name of a port",
        "lower-case",
    ),
    (
        "ports: [{containerPort: 80, name: prometheus-metrics}]",
        "prometheus-metrics",
        "`~.containers[0].ports[0].name` is `prometheus-metrics`, and a port's name has at most 15 characters",
        "",
    ),
    (
        "env: [{name: 'A=B', value: c}]",
        "'A=B'",
        "`~.containers[0].env[0].name` is `A=B`, which is no name of a variable",
        "",
    ),
    (
        "POD nodeSelector: {'a b': c}",
        "'a b'",
        "`a b` of `~.nodeSelector` is no key of a label",
        "",
    ),
    (
        "POD nodeSelector: {a: 'b c'}",
        "'b c'",
        "`~.nodeSelector.a` is `b c`, which is no value of a label",
        "",
    ),
    (
        "POD volumes: [{name: My_Data}]",
        "My_Data",
        "`~.volumes[0].name` is `My_Data`, which is no name that Kubernetes takes",
        "lower-case",
    ),
    (
        "POD serviceAccountName: Trainer",
        "Trainer",
        "`~.serviceAccountName` is `Trainer`, which is no name that Kubernetes takes",
        "",
    ),
    // Amounts.
    (
        "resources: {limits: {memory: 10GB}}",
        "10GB",
        "`~.containers[0].resources.limits.memory` is `10GB`, which is no amount",
        "write `10G`",
    ),
    (
        "resources: {requests: {cpu: -1}}",
        "-1",
        "`~.containers[0].resources.requests.cpu` is `-1`, and has to be 0 or more",
        "",
    ),
    (
        "resources: {requests: {memory: 4Gi}, limits: {memory: 2Gi}}",
        "4Gi",
        "`~.containers[0].resources.requests.memory` is `4Gi`, which is more than its limit of `2Gi`",
        "",
    ),
    (
        "POD volumes: [{name: data, emptyDir: {sizeLimit: big}}]",
        "big",
        "`~.volumes[0].emptyDir.sizeLimit` is `big`, which is no amount",
        "",
    ),
    // Names within the pod.
    (
        "volumeMounts: [{name: data, mountPath: /data}]",
        "data",
        "`~.containers[0].volumeMounts[0].name` is `data`, and the pod has no volume of this name",
        "`volumes`",
    ),
    (
        "ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]",
        "a",
        "`~.containers[0].ports[1].name` is `a`, which is there already",
        "",
    ),
    (
        "POD hostNetwork: true, initContainers: [{name: i, image: 'r.example.com/i:1', ports: [{containerPort: 1}]}], volumes: [{name: a}, {name: b, emptyDir: {}, hostPath: {path: /b}}]",
        "{path: /b}",
        "`~.volumes[1]` has `emptyDir` and `hostPath`, and may have one of them",
        "all but one",
    ),
    // What cannot be together.
    (
        "livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}",
        "{port: 1}",
        "`~.containers[0].livenessProbe` has `exec` and `tcpSocket`, and may have one of them",
        "",
    ),
    (
        "livenessProbe: {periodSeconds: 3}",
        "livenessProbe",
        "`~.containers[0].livenessProbe` has none of `exec`, `httpGet`, `tcpSocket` and `grpc`",
        "",
    ),
    (
        "env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
        "{fieldRef",
        "variable `A` has a `value`, and a `valueFrom` too",
        "",
    ),
    (
        "POD tolerations: [{key: a, operator: Exists, value: b}]",
        "b",
        "`~.tolerations[0].value` cannot be with `operator: Exists`",
        "",
    ),
    (
        "POD tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]",
        "5",
        "`~.tolerations[0].tolerationSeconds` is for `effect: NoExecute` alone",
        "",
    ),
    (
        "POD restartPolicy: Always",
        "Always",
        "`~.restartPolicy` is `Always`, and has to be `OnFailure` or `Never` in a Job",
        "",
    ),
    (
        "securityContext: {privileged: true, allowPrivilegeEscalation: false}",
        "false",
        "`~.containers[0].securityContext.allowPrivilegeEscalation` is `false`, which cannot be with `privileged: true`",
        "",
    ),
    (
        "securityContext: {runAsNonRoot: true, runAsUser: 0}",
        "0",
        "`~.containers[0].securityContext.runAsUser`: user 0 is root, and `runAsNonRoot` is `true`: no container starts",
        "",
    ),
    (
        "POD affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}",
        "{key: a, operator: In}",
        "`~.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]` has `operator: In` and no `values`",
        "`values`",
    ),
    (
        "POD affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]}}",
        "[b]",
        "`~.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0]` has `operator: Exists` and `values`",
        "",
    ),
];

/// Near to mistakes, and taken.
const TAKEN: &[&str] = &[
    "resources: {limits: {cpu: 1.5, memory: 1e9, ephemeral-storage: 10G}, requests: {cpu: 500m}}",
    "resources: {requests: {memory: 2048Mi}, limits: {memory: 2Gi}}",
    "ports: [{containerPort: 80, name: a}, {containerPort: 80, protocol: UDP, name: b}]",
    "ports: [{containerPort: 65535, hostPort: 0, name: http-metrics-15}]",
    "livenessProbe: {httpGet: {path: /, port: http}, failureThreshold: 0}, ports: [{containerPort: 80, name: http}]",
    "readinessProbe: {grpc: {port: 1}, successThreshold: 3}",
    "env: [{name: a.b-c, value: ''}, {name: _, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
    "securityContext: {runAsNonRoot: true, runAsUser: 1000, allowPrivilegeEscalation: false}",
    "command: null, tty: true, stdin: null",
    "volumeMounts: [{name: data, mountPath: /a}, {name: data, mountPath: /b, subPath: b}]|volumes: [{name: data}]",
    "volumeMounts: [{name: c, mountPath: /c}]|volumes: [{name: c, configMap: {name: c, defaultMode: 0o644}}]",
    "POD tolerations: [{operator: Exists}, {key: a}, {key: b, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]",
    "POD topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]",
    "POD activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 0, dnsPolicy: Default",
    "POD restartPolicy: OnFailure",
    "POD hostnameOverride: a, resources: {limits: {cpu: 1}}",
    "POD nodeSelector: {example.com/A_b: ''}",
    "POD initContainers: [{name: i, image: 'r.example.com/i:1', restartPolicy: Always, startupProbe: {exec: {command: [a]}}}]",
];

/// The keys of the container and of the pod.
fn parts(text: &str) -> (String, String) {
    let (container, pod) = match text.strip_prefix("POD ") {
        Some(pod) => ("", pod),
        None => text.split_once('|').unwrap_or((text, "")),
    };
    let after = |keys: &str| {
        if keys.is_empty() {
            String::new()
        } else {
            format!(", {keys}")
        }
    };
    (after(container), after(pod))
}

fn in_manifest(text: &str) -> Outcome {
    let (container, pod) = parts(text);
    let restart = if pod.contains("restartPolicy: ") && !pod.contains("initContainers") {
        ""
    } else {
        ", restartPolicy: Never"
    };
    let job = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec: {{template: {{spec: {{containers: [{{name: \
         main, image: 'r.example.com/a:1'{container}}}]{pod}{restart}}}}}}}\n"
    );
    check("a.yaml", &job).0
}

fn in_patch(text: &str) -> Outcome {
    let (container, pod) = parts(text);
    compile_text(&format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.34\"}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools:
  - name: gpu
    gpu: {{model: A30, perNode: 2}}
    hosts: [gpu-1, gpu-2]
    nodes: {{count: 2}}
workloads:
  - name: w
    job: {{image: 'registry.example.com/m:1.0.0'}}
    podPatch: {{containers: [{{name: main{container}}}]{pod}}}
"
    ))
}

/// The text from where a finding points.
fn at<'o>(outcome: &'o Outcome, found: &Diagnostic) -> &'o str {
    let span = found.primary.span;
    outcome.sources.text(span)
}

#[test]
fn what_is_refused_in_manifests_is_refused_in_patches() {
    let mut wrong = Vec::new();
    for (text, place, message, help) in MISTAKES {
        let pod = "spec.template.spec";
        let (message, help) = (message.replace('~', pod), help.replace('~', pod));
        for (outcome, code, message) in [
            (in_manifest(text), "GPUC4035", format!("Job a: {message}")),
            (in_patch(text), "GPUC3012", message),
        ] {
            let own = outcome.findings.iter().filter(|it| it.code.id == code);
            let own: Vec<_> = own.collect();
            let is_right = own.len() == 1
                && own[0].message == message
                && at(&outcome, own[0]).starts_with(place)
                && own[0].help.as_deref().is_some_and(|it| it.contains(&help));
            if !is_right {
                wrong.push(format!(
                    "{code} {text}\n  wanted: {message} ({help})\n{}",
                    outcome.text()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_kubernetes_takes_is_taken() {
    for text in TAKEN {
        for outcome in [in_manifest(text), in_patch(text)] {
            let own = outcome.findings.iter();
            let own = own.filter(|it| ["GPUC4035", "GPUC3012", "GPUC3013"].contains(&it.code.id));
            assert_eq!(own.count(), 0, "{text}:\n{}", outcome.text());
        }
    }
}

/// A pod without a volume that gpuc's own container mounts.
#[test]
fn a_patch_takes_no_volume_from_under_a_mount() {
    let patched = |patch: &str| {
        let outcome = in_patch("tty: true");
        let text = outcome
            .sources
            .get(0)
            .unwrap()
            .text()
            .replace("podPatch: {", &format!("podPatch: {{{patch}, "));
        let text = text.replace("m:1.0.0'}", "m:1.0.0', gpus: 1, sharedMemory: 1Gi}");
        compile_text(&text)
    };
    let outcome = patched("volumes: null");
    assert!(outcome.codes().contains(&"GPUC3012"), "{}", outcome.text());
    assert!(
        outcome
            .text()
            .contains("the pod has no volume of this name"),
        "{}",
        outcome.text()
    );
    let outcome = patched("hostPID: false");
    assert!(!outcome.codes().contains(&"GPUC3012"), "{}", outcome.text());
}

/// Parts of objects, for kustomize to lay over others.
#[test]
fn nothing_is_missing_in_a_part() {
    for part in [
        "spec: {replicas: 3}",
        "spec: {template: {spec: {tolerations: [{effect: NoSchedule}], nodeSelector: {a: b}}}}",
        "spec: {template: {metadata: {labels: {a: b}}}}",
        "metadata: {annotations: {a: b}}",
    ] {
        let text = format!("apiVersion: apps/v1\nkind: Deployment\n{part}\n");
        let (outcome, _) = check("a.yaml", &text);
        assert!(outcome.findings.is_empty(), "{}", outcome.text());
        let (outcome, _) = check("a.yaml", &text.replace("spec: {", "spec: {relicas: 1, "));
        assert_eq!(
            outcome.findings.is_empty(),
            !part.starts_with("spec"),
            "{}",
            outcome.text()
        );
    }
}
