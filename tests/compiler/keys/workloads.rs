//! The values to try at the keys of workloads. Most keys are common to all kinds.

/// The values to try at a key of a workload, by its path below `workloads.`.
pub(super) fn values(path: &str) -> &'static [&'static str] {
    let of_kinds = path.split_once('.').map(|(_, key)| key);
    let find = |key: &str| WORKLOAD_VALUES.iter().find(|(path, _)| *path == key);
    let row = find(path).or_else(|| of_kinds.and_then(find));
    row.map_or(&[], |(_, values)| *values)
}

/// By the full path, or by the path below a kind.
const WORKLOAD_VALUES: &[(&str, &[&str])] = &[
    ("name", &["renamed", "other"]),
    ("pool", &["old", "slices"]),
    ("team", &["research", "other"]),
    ("cudaTest.gpus", &["2", "9"]),
    ("minBusBandwidth", &["100", "200"]),
    (
        "image",
        &[
            "registry.example.com/model:1.0.0",
            "registry.example.com/other:2.0.0",
        ],
    ),
    ("namespace", &["serving", "other"]),
    ("cpu", &["2"]),
    ("memory", &["8Gi"]),
    ("sharedMemory", &["1Gi"]),
    ("env", &["{LOG_LEVEL: debug}"]),
    ("envFrom", &["[{secret: more}]", "[{configMap: more}]"]),
    ("envFrom.secret", &["more", "other"]),
    ("envFrom.configMap", &["more", "other"]),
    ("volumes.name", &["data", "other"]),
    ("volumes.mountPath", &["/data", "/other"]),
    ("volumes.from", &["{existingClaim: there}", "{scratch: {}}"]),
    ("volumes.from.existingClaim", &["there", "other"]),
    ("volumes.from.configMap", &["there", "other"]),
    ("volumes.from.secret", &["there", "other"]),
    ("volumes.from.claim.sizeGiB", &["10", "20"]),
    ("runAs.user", &["1000", "2000"]),
    ("profile", &["3g.20gb", "1g.5gb"]),
    ("gpus", &["1"]),
    ("nodes", &["1", "2", "3"]),
    ("gpusPerNode", &["1", "2"]),
    ("retries", &["1"]),
    ("restarts", &["1"]),
    ("ttlSeconds", &["60"]),
    ("service.port", &["80", "81"]),
    ("service.containerPort", &["8000"]),
    ("probes.startup.port", &["80", "81"]),
    ("probes.readiness.port", &["80", "81"]),
    ("probes.liveness.port", &["80", "81"]),
    (
        "disruptionBudget",
        &["{maxUnavailable: 1}", "{maxUnavailable: 2}"],
    ),
    ("disruptionBudget.maxUnavailable", &["1", "2"]),
    ("disruptionBudget.minAvailable", &["1", "2"]),
    ("autoscaling.min", &["1", "2"]),
    ("autoscaling.max", &["3", "4"]),
    ("autoscaling.metric.name", &["requests", "tokens"]),
    ("autoscaling.metric.average", &["10", "20"]),
];
