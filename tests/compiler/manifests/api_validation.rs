//! Manifests and patches are validated with the same rules of the API server and have findings at the same locations.
//! Valid objects have no findings in either.

use gpuc_syntax::diag::Diagnostic;

use super::check;
use crate::support::{Outcome, compile_text};

/// A mistake: the text, the text at the location of the finding, the message, and part of the help.
struct FieldMistake<'t> {
    text: &'t str,
    place: &'t str,
    message: String,
    help: String,
}

/// Reads `refused.txt`, which documents its format.
fn read_mistakes() -> Vec<FieldMistake<'static>> {
    let blocks = include_str!("refused.txt").split("\n\n");
    let blocks = blocks.filter(|block| !block.trim().is_empty() && !block.starts_with('#'));
    let mistakes = blocks.map(|block| {
        let mut lines = block.lines();
        let text = lines.next().unwrap();
        let place = lines.next().unwrap().strip_prefix("  at ").unwrap();
        let message = lines.next().unwrap().trim().replace('~', POD);
        let help = lines
            .next()
            .map(|line| line.strip_prefix("  help ").unwrap());
        assert_eq!(lines.next(), None, "{text}");
        FieldMistake {
            text,
            place,
            message,
            help: help.unwrap_or_default().replace('~', POD),
        }
    });
    mistakes.collect()
}

/// The path of the pod spec in a Job.
const POD: &str = "spec.template.spec";

/// Valid cases that are similar to mistakes.
const VALID_CASES: &[&str] = &[
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
    "lifecycle: {preStop: {sleep: {seconds: 30}}}",
    "lifecycle: {preStop: {sleep: {seconds: 90}}}|terminationGracePeriodSeconds: 90",
    "volumeMounts: [{name: d, mountPath: /d, mountPropagation: Bidirectional}], securityContext: {privileged: true, allowPrivilegeEscalation: null}|volumes: [{name: d}]",
    "volumeDevices: [{name: d, devicePath: /dev/d}]|volumes: [{name: d, persistentVolumeClaim: {claimName: d.e}}]",
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: 'metadata.annotations[''a/b'']'}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.hugepages-2Mi, divisor: 1Mi}}}]",
    "env: [{name: A, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}]",
    "env: [{name: A, valueFrom: {configMapKeyRef: {name: a.b, key: A.b_c-d, optional: true}}}]",
    "envFrom: [{prefix: A_, configMapRef: {name: a}}]",
    "POD volumes: [{name: i, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}]}}]",
    "POD volumes: [{name: c, projected: {sources: [{secret: {name: a}}, {serviceAccountToken: {path: t}}]}}]",
    "POD hostAliases: [{ip: 10.0.0.8, hostnames: [a.b, c]}, {ip: 'fd00::1'}], dnsConfig: {nameservers: [10.0.0.1]}",
    "POD volumes: [{name: v, emptyDir: {medium: HugePages-2Mi}}, {name: w, hostPath: {path: /a..b}}, {name: x, nfs: {server: a, path: /}}]",
    "volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Disabled}]|volumes: [{name: v}]",
    "securityContext: {procMount: Default}|hostUsers: false",
    "POD securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}], supplementalGroups: [5]}, hostPID: true",
    "POD schedulingGates: [{name: a.b/c}, {name: b}], readinessGates: [{conditionType: a/b}]",
    "POD affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: NotIn, values: [a]}]}}]}}",
    "resources: {limits: {hugepages-2Mi: 4Mi, cpu: 1}}|resources: {requests: {cpu: 1}}",
    "POD dnsConfig: {searches: [example.com., _tcp.example.com, .]}",
    "POD volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]",
    "POD ephemeralContainers: [], os: {name: linux}",
    "POD topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
    "POD hostnameOverride: a, resources: {limits: {cpu: 1}}",
    "POD nodeSelector: {example.com/A_b: ''}",
    "POD initContainers: [{name: i, image: 'r.example.com/i:1', restartPolicy: Always, startupProbe: {exec: {command: [a]}}}]",
];

/// Splits the keys into those of the container and those of the pod.
fn split_keys(text: &str) -> (String, String) {
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
    let (container, pod) = split_keys(text);
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
    let (container, pod) = split_keys(text);
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

/// The text that a finding points at.
fn text_at_finding<'o>(outcome: &'o Outcome, found: &Diagnostic) -> &'o str {
    let span = found.primary.span;
    outcome.sources.text(span)
}

#[test]
fn manifests_and_patches_have_the_same_findings() {
    let mut wrong = Vec::new();
    let mistakes = read_mistakes();
    assert!(mistakes.len() > 50);
    for mistake in mistakes {
        let FieldMistake {
            text,
            place,
            message,
            help,
        } = mistake;
        for (outcome, code, message) in [
            (in_manifest(text), "GPUC4035", format!("Job a: {message}")),
            (in_patch(text), "GPUC3012", message.clone()),
        ] {
            let own = outcome.findings.iter().filter(|it| it.code.id == code);
            let own: Vec<_> = own.collect();
            let is_right = own.len() == 1
                && own[0].message == message
                && text_at_finding(&outcome, own[0]).starts_with(place)
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
fn valid_objects_are_accepted() {
    for text in VALID_CASES {
        for outcome in [in_manifest(text), in_patch(text)] {
            let own = outcome.findings.iter();
            let own = own.filter(|it| ["GPUC4035", "GPUC3012", "GPUC3013"].contains(&it.code.id));
            assert_eq!(own.count(), 0, "{text}:\n{}", outcome.text());
        }
    }
}

/// The pod lacks a volume that gpuc's own container mounts.
#[test]
fn patch_cannot_remove_a_mounted_volume() {
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
            .contains("the pod has no volume with this name"),
        "{}",
        outcome.text()
    );
    let outcome = patched("hostPID: false");
    assert!(!outcome.codes().contains(&"GPUC3012"), "{}", outcome.text());
}

/// Kustomize overlays contain partial objects.
#[test]
fn partial_objects_have_no_missing_fields() {
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

/// Another file can be an overlay of this one.
#[test]
fn overlay_can_add_missing_fields() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: \
               'r.example.com/a:1', tyt: true, volumeMounts: [{name: data, mountPath: /data}]}]\n";
    let found = |more: &str| {
        let (outcome, _) = check("a.yaml", &format!("{pod}---\n{more}"));
        outcome.findings.len()
    };
    assert_eq!(found(""), 2);
    let patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n";
    assert_eq!(found(patch), 1);
    assert_eq!(found(&patch.replace("name: a}\n", "name: b}\n")), 2);
    assert_eq!(
        found(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches: [{path: b.yaml}]\n"
        ),
        1
    );
}
