//! Patches of the pods of a team's workloads, checked against the team's permissions and limits.

use crate::support::compile_text;

/// The findings, as code and message, for one workload of a team with these settings on this pool.
fn findings_for_team(team: &str, pool: &str, task: &str, patch: &str) -> Vec<String> {
    let yaml = format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.36\"}}
cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools: [{{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}, {{name: gpu, {pool}}}]
teams: [{{name: t, {team}}}]
workloads: [{{name: w, team: t, {task}, {patch}}}]
"
    );
    let outcome = compile_text(&yaml);
    let found = outcome.findings.iter();
    found
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect()
}

const L4: &str = "machine: g6.12xlarge, nodes: {count: 2}";

#[test]
fn patches_respect_pod_security() {
    let job = "job: {image: 'registry.example.com/m:1.0.0', gpus: 1, runAs: {user: 1000}}";
    let refused = |level: &str, what: &str| {
        format!(
            "GPUC3013 with its patch, workload `w` {what}, which `podSecurity: {level}` of team `t` forbids"
        )
    };
    let of_container = |keys: &str| format!("podPatch: {{containers: [{{name: main, {keys}}}]}}");
    let context = |keys: &str| of_container(&format!("securityContext: {{{keys}}}"));
    for (patch, baseline, restricted) in [
        (
            "podPatch: {hostNetwork: true}".to_owned(),
            Some("has `hostNetwork`"),
            true,
        ),
        ("podPatch: {hostIPC: false}".to_owned(), None, false),
        (
            "podPatch: {volumes: [{name: h, hostPath: {path: /}}]}".to_owned(),
            Some("has a `hostPath` volume"),
            true,
        ),
        (
            context("privileged: true, allowPrivilegeEscalation: null"),
            Some("has a `privileged` container"),
            true,
        ),
        (
            context("capabilities: {add: [SYS_PTRACE]}"),
            Some("adds the capability `SYS_PTRACE`"),
            true,
        ),
        (
            of_container("ports: [{containerPort: 80, hostPort: 80}]"),
            Some("uses a `hostPort`"),
            true,
        ),
        (
            "podPatch: {securityContext: {seccompProfile: {type: Unconfined}}}".to_owned(),
            Some("has `seccompProfile.type: Unconfined`"),
            true,
        ),
        (
            "podPatch: {securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}}"
                .to_owned(),
            Some("sets the sysctl `kernel.msgmax`"),
            true,
        ),
        (
            "podPatch: {securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}]}}"
                .to_owned(),
            None,
            false,
        ),
        (
            context("capabilities: {add: [NET_BIND_SERVICE]}"),
            None,
            false,
        ),
    ] {
        let of = |level: &str| findings_for_team(&format!("podSecurity: {level}"), L4, job, &patch);
        assert_eq!(of("privileged"), [""; 0], "{patch}");
        let expected: Vec<_> = baseline.iter().map(|it| refused("baseline", it)).collect();
        assert_eq!(of("baseline"), expected, "{patch}");
        let found = of("restricted");
        assert_eq!(!found.is_empty(), restricted, "{patch}: {found:?}");
    }
    // Only the strictest level rejects these.
    for (patch, what) in [
        (
            "podPatch: {securityContext: {runAsNonRoot: false}}".to_owned(),
            "does not set `runAsNonRoot: true`",
        ),
        (
            context("allowPrivilegeEscalation: true"),
            "does not set `allowPrivilegeEscalation: false`",
        ),
        (context("capabilities: {drop: []}"), "does not drop all capabilities"),
        (context("capabilities: {add: [CHOWN]}"), "adds the capability `CHOWN`"),
        (
            "podPatch: {volumes: [{name: n, nfs: {server: a, path: /}}]}".to_owned(),
            "has a volume of kind `nfs`",
        ),
        (
            "podPatch: {containers: [{name: side, image: 'registry.example.com/s:1.0.0', securityContext: \
             {allowPrivilegeEscalation: false}}]}"
                .to_owned(),
            "does not drop all capabilities",
        ),
    ] {
        let of = |level: &str| findings_for_team(&format!("podSecurity: {level}"), L4, job, &patch);
        assert_eq!(of("baseline"), [""; 0], "{patch}");
        assert_eq!(of("restricted"), [refused("restricted", what)], "{patch}");
    }
}

#[test]
fn patches_respect_team_limits() {
    let job = "job: {image: 'registry.example.com/m:1.0.0', gpus: 1}";
    let limits = "limits: {max: {cpu: 4, memory: 8Gi}, default: {cpu: 2}, gpusPerContainer: 2}";
    let patch =
        |keys: &str| format!("podPatch: {{containers: [{{name: main, resources: {{{keys}}}}}]}}");
    let more = "GPUC3013 with its patch, Job w exceeds the limit of its team per container: ";
    let more = |what: &str| vec![format!("{more}{what}")];
    for (keys, expected) in [
        ("limits: {cpu: '4'}, requests: {cpu: '4'}", Vec::new()),
        ("limits: {cpu: '5'}, requests: {cpu: '4'}", more("5 cores for `main`")),
        (
            "limits: {memory: 9Gi}, requests: {memory: 1Gi}",
            more("9 GiB of memory for `main`"),
        ),
        ("requests: {cpu: '2'}", Vec::new()),
        (
            "requests: {cpu: '3'}",
            vec![
                "GPUC3013 with its patch, Job w requests 3 cores for `main`, more than the default limit"
                    .to_owned(),
            ],
        ),
    ] {
        assert_eq!(findings_for_team(limits, L4, job, &patch(keys)), expected, "{keys}");
    }
    let gpus = patch("limits: {nvidia.com/gpu: '3'}, requests: {nvidia.com/gpu: '3'}");
    let found = findings_for_team(limits, L4, job, &gpus);
    assert!(
        found.iter().any(|it| it.starts_with("GPUC3013")),
        "{found:?}"
    );
    // A container that a patch adds without requests gets half a core.
    let quota = "quota: {cpu: 3, memory: 100Gi}";
    let service = "deployment: {image: 'registry.example.com/m:1.0.0', cpu: 1, replicas: 2}";
    let side = "podPatch: {containers: [{name: side, image: 'registry.example.com/s:1.0.0'}]}";
    let roll = "patch: {spec: {strategy: {type: Recreate}}}";
    assert_eq!(
        findings_for_team(quota, L4, service, &format!("{side}, {roll}")),
        [""; 0]
    );
    let three = service.replace("replicas: 2", "replicas: 3");
    let found = findings_for_team(quota, L4, &three, &format!("{side}, {roll}"));
    assert!(!found.is_empty(), "4.5 cores of 3");
}

#[test]
fn replaced_variables_are_reported() {
    let efa = "machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a]";
    let set =
        "jobSet: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 8, memory: 64Gi}";
    let patch = |env: &str| format!("podPatch: {{containers: [{{name: main, env: [{env}]}}]}}");
    let undoes =
        |what: &str| format!("GPUC3010 `{what}` overrides a value that workload `w` requires");
    for (env, expected) in [
        ("{name: FI_PROVIDER, value: tcp}", Some("FI_PROVIDER")),
        ("{name: FI_PROVIDER, value: efa}", None),
        ("{name: PET_NNODES, value: '3'}", Some("PET_NNODES")),
        ("{name: NCCL_DEBUG, value: INFO}", None),
        (
            "{name: NVIDIA_VISIBLE_DEVICES, value: all}",
            Some("NVIDIA_VISIBLE_DEVICES"),
        ),
    ] {
        let expected: Vec<_> = expected.into_iter().map(undoes).collect();
        assert_eq!(
            findings_for_team("", efa, set, &patch(env)),
            expected,
            "{env}"
        );
    }
}
