//! The pod templates of workloads, for all kinds.

use std::collections::BTreeMap;

use gpuc_model::plan::Object;
use gpuc_model::{Pool, Sharing, topology_levels};
use gpuc_schema::Spanned;
use gpuc_schema::config::{
    EnvFrom, Leader, PodSecurityLevel, Pods, Probe, Quantity, Task, ValueFrom,
};
use serde_json::{Map, Value, json};

use super::interconnect::{self, InterconnectNeeds};
use super::{WorkloadContext, volumes, without_empty_fields};
use crate::charts::{node_affinity, union_of_tolerations};
use crate::lower::{claims, test_pod_class};

/// The settings of a kind for its pods, in addition to those of the user.
#[derive(Clone, Copy)]
pub(super) struct PodRole<'r> {
    /// The name of the container.
    pub(super) container: &'static str,
    /// The restart policy; `None` if the controller of the pods sets it.
    pub(super) restart_policy: Option<&'static str>,
    /// The command and arguments that override those of the pods.
    pub(super) command: Option<&'r Leader>,
    /// Environment variables that gpuc sets.
    pub(super) env: &'r [Value],
    /// Whether it has the ports and probes of a service.
    pub(super) serves_requests: bool,
}

impl PodRole<'_> {
    /// A container with the name `main` and no other settings.
    pub(super) const MAIN: Self = Self {
        container: "main",
        restart_policy: None,
        command: None,
        env: &[],
        serves_requests: false,
    };
}

/// A pod's template on the pools of a workload.
pub(super) fn pod_template(
    work: &WorkloadContext<'_>,
    pods: &Pods<'_>,
    role: PodRole<'_>,
) -> Value {
    let needs = combined_needs(work, &work.pools);
    let spec = pod_spec(work, pods, role, &work.pools, &needs);
    let mut metadata = pod_metadata(work);
    for (key, value) in &needs.additions.annotations {
        metadata["annotations"][key] = value.clone();
    }
    json!({"metadata": metadata, "spec": spec})
}

/// The metadata of its pods.
pub(super) fn pod_metadata(work: &WorkloadContext<'_>) -> Value {
    let mut metadata = json!({"labels": work.labels()});
    if let Some(annotations) = topology_annotations(work) {
        metadata["annotations"] = annotations;
    }
    metadata
}

/// The annotation for Kueue's topology-aware scheduling.
pub(super) const PREFERRED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-preferred-topology";

/// The annotations for pools with topology-aware scheduling: Kueue places the pods as close together as possible.
///
/// Source: <https://kueue.sigs.k8s.io/docs/tasks/run/topology_aware_scheduling/>, 2026-11-21.
fn topology_annotations(work: &WorkloadContext<'_>) -> Option<Value> {
    let topology = work.cluster.config.kueue.as_ref()?.topology.as_ref()?;
    let mut pools = work.pools.iter();
    pools.find(|pool| topology.pools.contains(&pool.name))?;
    let levels = topology_levels(work.cluster, topology);
    Some(json!({PREFERRED_TOPOLOGY: levels.first()}))
}

fn pod_spec(
    work: &WorkloadContext<'_>,
    pods: &Pods<'_>,
    role: PodRole<'_>,
    pools: &[&Pool],
    needs: &InterconnectNeeds,
) -> Value {
    let additions = &needs.additions;
    let mut volumes = volumes::pod_volumes(work, pods);
    volumes.volumes.extend(additions.volumes.iter().cloned());
    volumes.mounts.extend(additions.mounts.iter().cloned());
    let mut container = json!({
        "name": role.container,
        "image": pods.image.value,
        "command": needs.command(&texts(role.command.map_or(pods.command, |it| &it.command))),
        "args": texts(role.command.map_or(pods.args, |it| &it.args)),
        "env": env(pods, role, needs),
        "envFrom": pods.env_from.iter().map(|from| match &from.value {
            EnvFrom::Secret(name) => json!({"secretRef": {"name": name.value}}),
            EnvFrom::ConfigMap(name) => json!({"configMapRef": {"name": name.value}}),
        }).collect::<Vec<_>>(),
        "resources": resources(work, pods, pools, needs),
        "securityContext": container_security(needs),
        "volumeMounts": volumes.mounts,
    });
    if role.serves_requests {
        add_port_and_probes(work.task, &mut container);
    }
    let mut spec = placement_fields(work, pools);
    let more = json!({
        "restartPolicy": role.restart_policy,
        "serviceAccountName": pods.service_account.map(|name| &name.value),
        "automountServiceAccountToken": pods.service_account.is_none().then_some(false),
        "terminationGracePeriodSeconds": pods.grace_seconds.map(|it| it.value),
        "imagePullSecrets": pods.image_pull_secrets.iter()
            .map(|name| json!({"name": name.value})).collect::<Vec<_>>(),
        "securityContext": pod_security(work, pods),
        "initContainers": additions.sidecars,
        "containers": [without_empty_fields(container)],
        "volumes": volumes.volumes,
    });
    if let (Value::Object(spec), Value::Object(more)) = (&mut spec, without_empty_fields(more)) {
        spec.extend(more);
    }
    needs.add_to_spec(&mut spec);
    spec
}

/// The fields of a pod's spec that follow from its pools: node selector, affinity, tolerations, ResourceClaims.
pub(super) fn placement_fields(work: &WorkloadContext<'_>, pools: &[&Pool]) -> Value {
    let mut all_affinity = json!({});
    let mut selector = Map::new();
    match pools {
        [only] => {
            let labels = only.selector.iter();
            selector.extend(labels.map(|label| (label.key.clone(), json!(label.value))));
        }
        several => all_affinity = node_affinity(several.iter().copied()),
    }
    if interconnect::uses_interconnect(work.task) {
        // Networks between zones are slower, and clouds charge for the traffic. NVLink connects the nodes of a rack.
        let has_domains = |pool: &&Pool| pool.settings.network.compute_domains.is_some();
        let rack = pools.iter().any(has_domains).then_some(RACK_LABEL);
        let keys = rack.into_iter().chain(["topology.kubernetes.io/zone"]);
        let near = keys.map(|key| {
            json!({
                "weight": 100,
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": work.selector()},
                    "topologyKey": key,
                },
            })
        });
        all_affinity["podAffinity"] =
            json!({"preferredDuringSchedulingIgnoredDuringExecution": near.collect::<Vec<_>>()});
    }
    let spread =
        matches!(work.task, Task::Deployment(_) | Task::StatefulSet(_)) && work.task.max_pods() > 1;
    let spread = spread.then(|| {
        json!([{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": work.selector()},
        }])
    });
    let class = pools
        .first()
        .and_then(|pool| test_pod_class(work.cluster, pool));
    without_empty_fields(json!({
        "runtimeClassName": class.filter(|_| work.gpu_request.is_some()),
        "priorityClassName": work.workload.value.priority.as_ref().map(|name| &name.value),
        "nodeSelector": selector,
        "affinity": all_affinity,
        "topologySpreadConstraints": spread,
        "tolerations": union_of_tolerations(pools.iter().copied()),
        "resourceClaims": pod_claim(work, pools).map(|(name, kind)| json!([{"name": POD_CLAIM_NAME, kind: name}])),
    }))
}

/// The label of nodes with the NVLink partition of their GPUs, which gpuc-runtime and GPU feature discovery set.
const RACK_LABEL: &str = "nvidia.com/gpu.clique";

/// The name of the ResourceClaim in a pod.
const POD_CLAIM_NAME: &str = "gpus";

/// The ResourceClaim or template of a workload's pods, and the key that refers to it; `None` if a device plugin
/// allocates the GPUs.
fn pod_claim(work: &WorkloadContext<'_>, pools: &[&Pool]) -> Option<(String, &'static str)> {
    let pool = pools.first()?;
    work.gpu_request?.device_class(pool)?;
    let shared = matches!(pool.sharing.expect_resolved(), Sharing::Mps { .. });
    let kind = if shared {
        "resourceClaimName"
    } else {
        "resourceClaimTemplateName"
    };
    Some((work.cluster.claim_name(work.workload, pool), kind))
}

/// The names of the ResourceClaims of the container.
pub(super) fn container_claims(
    work: &WorkloadContext<'_>,
    pools: &[&Pool],
    needs: &InterconnectNeeds,
) -> Vec<Value> {
    let gpus = pod_claim(work, pools).map(|_| POD_CLAIM_NAME);
    let interconnect = needs.claims.iter().map(|(name, _)| *name);
    gpus.into_iter()
        .chain(interconnect)
        .map(|name| json!({"name": name}))
        .collect()
}

/// The ResourceClaims, or their templates, of a workload's pods.
pub(super) fn claim_objects(work: &WorkloadContext<'_>) -> Vec<Object> {
    let Some(gpu_request) = work.gpu_request else {
        return Vec::new();
    };
    let claimed = work.pools.iter().filter_map(|pool| {
        let class = gpu_request.device_class(pool)?;
        let name = work.cluster.claim_name(work.workload, pool);
        let mut claim = claims::resource_claim(
            &name,
            Some(work.namespace()),
            pool,
            class,
            gpu_request.count,
        );
        claim["metadata"]["labels"] = work.labels();
        Some(work.object(super::COMPONENT, &claim))
    });
    claimed.chain(interconnect::claim_objects(work)).collect()
}

/// The resources of the container: the limits equal the requests.
pub(super) fn resources(
    work: &WorkloadContext<'_>,
    pods: &Pods<'_>,
    pools: &[&Pool],
    needs: &InterconnectNeeds,
) -> Value {
    let mut amounts = Map::new();
    let mut set = |key: &str, amount: Option<&Spanned<Quantity>>| {
        if let Some(amount) = amount {
            amounts.insert(key.to_owned(), json!(amount.value.0));
        }
    };
    set("cpu", pods.cpu);
    set("memory", pods.memory);
    amounts.extend(device_resources(work, pools));
    amounts.extend(needs.resources.clone());
    if let Some(huge_pages) = needs.huge_pages.as_ref().filter(|_| pods.memory.is_some()) {
        amounts.insert("hugepages-2Mi".to_owned(), json!(huge_pages));
    }
    let claims = container_claims(work, pools, needs);
    without_empty_fields(json!({"requests": amounts, "limits": amounts, "claims": claims}))
}

/// The GPUs, MIG devices or replicas that a device plugin allocates.
pub(super) fn device_resources(work: &WorkloadContext<'_>, pools: &[&Pool]) -> Map<String, Value> {
    let is_test = matches!(work.task, Task::CudaTest(_));
    let devices = pools
        .first()
        .zip(work.gpu_request)
        .and_then(|(pool, gpu_request)| {
            let claimed = gpu_request.device_class(pool).is_some();
            gpu_request
                .device_request(pool, is_test)
                .filter(|_| !claimed)
        });
    (devices.into_iter())
        .map(|devices| (devices.resource, json!(devices.count.to_string())))
        .collect()
}

pub(super) fn combined_needs(work: &WorkloadContext<'_>, pools: &[&Pool]) -> InterconnectNeeds {
    let needs = pools
        .first()
        .zip(work.gpu_request)
        .map(|(pool, gpu_request)| interconnect::interconnect_needs(work, gpu_request, pool));
    needs.unwrap_or_default()
}

/// The environment variables: gpuc's, overridden by the user's.
fn env(pods: &Pods<'_>, role: PodRole<'_>, needs: &InterconnectNeeds) -> Vec<Value> {
    let mut all: BTreeMap<&str, Value> = BTreeMap::new();
    let interconnect = needs.env.iter();
    all.extend(interconnect.map(|(name, value)| (*name, json!({"name": name, "value": value}))));
    for value in role.env {
        if let Some(name) = value["name"].as_str() {
            all.insert(name, value.clone());
        }
    }
    for (name, from) in pods.env_value_from {
        let (kind, key) = match &from.value {
            ValueFrom::Secret(key) => ("secretKeyRef", key),
            ValueFrom::ConfigMap(key) => ("configMapKeyRef", key),
        };
        let from = json!({kind: {"name": key.name.value, "key": key.key.value}});
        all.insert(name, json!({"name": name.value, "valueFrom": from}));
    }
    let own = pods.env.iter();
    all.extend(own.map(|(name, value)| {
        (
            name.as_str(),
            json!({"name": name.value, "value": value.value}),
        )
    }));
    all.into_values().collect()
}

/// The security context of the container: no privilege escalation, and only the capabilities that the interconnect
/// requires. CUDA programs need none.
pub(super) fn container_security(needs: &InterconnectNeeds) -> Value {
    let mut capabilities = json!({"drop": ["ALL"]});
    if !needs.capabilities.is_empty() {
        capabilities["add"] = json!(needs.capabilities);
    }
    json!({"allowPrivilegeEscalation": false, "capabilities": capabilities})
}

/// The user of the pod. Images of frameworks run as root; the pod forbids that if the team's namespaces do.
fn pod_security(work: &WorkloadContext<'_>, pods: &Pods<'_>) -> Value {
    let team = work.workload.value.team.as_ref();
    let team = team.and_then(|name| work.cluster.team(name));
    let strict =
        team.is_some_and(|team| team.settings.pod_security.value == PodSecurityLevel::Restricted);
    let group = pods
        .run_as
        .map(|it| it.group.as_ref().unwrap_or(&it.user).value);
    without_empty_fields(json!({
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": (strict || pods.run_as.is_some()).then_some(true),
        "runAsUser": pods.run_as.map(|it| it.user.value),
        "runAsGroup": group,
        "fsGroup": pods.run_as.and_then(|it| it.volumes_group.as_ref()).map(|it| it.value).or(group),
    }))
}

/// Sets the port and the probes of a container that serves requests.
fn add_port_and_probes(task: Task<'_>, container: &mut Value) {
    if let Some(service) = task.service() {
        container["ports"] = json!([{"name": PORT, "containerPort": service.target_port()}]);
    }
    let Some(probes) = task.probes() else {
        return;
    };
    for (key, written) in [
        ("startupProbe", &probes.startup),
        ("readinessProbe", &probes.readiness),
        ("livenessProbe", &probes.liveness),
    ] {
        if let Some(written) = written {
            container[key] = probe(written);
        }
    }
}

/// The name of the port in Services and containers.
pub(super) const PORT: &str = "main";

fn probe(probe: &Probe) -> Value {
    let port = probe.port.map(|port| port.value);
    let (kind, action) = match &probe.path {
        _ if !probe.exec.is_empty() => ("exec", json!({"command": texts(&probe.exec)})),
        Some(path) => ("httpGet", json!({"port": port, "path": path.value})),
        None => ("tcpSocket", json!({"port": port})),
    };
    without_empty_fields(json!({
        kind: action,
        "periodSeconds": probe.period_seconds.map(|it| it.value),
        "timeoutSeconds": probe.timeout_seconds.map(|it| it.value),
        "failureThreshold": probe.failures.map(|it| it.value),
    }))
}

fn texts(written: &[Spanned<String>]) -> Vec<&str> {
    written.iter().map(|text| text.as_str()).collect()
}
