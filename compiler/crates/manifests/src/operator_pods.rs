//! Pods that an operator creates for its own kinds: the nodes of a TrainJob, the servers of `KServe`, the driver and
//! executors of Spark. A runtime or the operator adds the rest of their specification.

use gpuc_model::scheduling::{DefaultRequests, Demand};
use gpuc_syntax::node::{Entry, Node, Origin, Scalar, Value};
use gpuc_syntax::source::Span;

use super::object::Object;
use super::pod::Pod;
use super::pod_count::{PodCount, parse_pod_count};

/// The runtimes that the Trainer chart installs. They have no node selectors and no tolerations.
///
/// Source: kubeflow/trainer@v2.3.0 `charts/kubeflow-trainer/files/runtimes`, the names of the files (2026-11-22).
pub(super) const INSTALLED_RUNTIMES: &[&str] = &[
    "deepspeed-distributed",
    "jax-distributed",
    "mlx-distributed",
    "torch-distributed",
    "torch-distributed-with-cache",
    "xgboost-distributed",
];

/// The components of an `InferenceService` of `KServe`.
///
/// Source: kserve/kserve `pkg/apis/serving/v1beta1/inference_service.go`, `InferenceServiceSpec` (from memory).
pub(super) const INFERENCE_COMPONENTS: &[&str] = &["predictor", "transformer", "explainer"];

/// The name of the training job in Trainer's runtimes.
///
/// Source: kubeflow/trainer `pkg/constants/constants.go`, `Node` (from memory).
const TRAINING_JOB: &str = "node";

/// The only patch of a TrainJob for the pods of its nodes; `None` if there are several, whose order is not known.
///
/// Source: kubeflow/trainer `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `RuntimePatch` (read on 2026-11-22).
pub(super) fn node_pod_patch(job: &Object) -> Option<&Node> {
    let to_jobs = ["trainingRuntimeSpec", "template", "spec", "replicatedJobs"];
    let patches = job.root.get("spec")?.get("runtimePatches")?.items().iter();
    let jobs = patches.filter_map(|it| node_at(it, &to_jobs));
    let own = jobs.flat_map(Node::items);
    let own = own.filter(|it| it.get("name").and_then(Node::text) == Some(TRAINING_JOB));
    let mut specs = own.filter_map(|it| node_at(it, &["template", "spec", "template", "spec"]));
    let only = specs.next()?;
    specs.next().is_none().then_some(only)
}

fn node_at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    let mut path = path.iter();
    path.try_fold(node, |node, key| node.get(key))
}

/// Whether a TrainJob's runtime is one that Trainer installs.
pub(super) fn uses_installed_runtime(job: &Object) -> bool {
    let runtime = node_at(&job.root, &["spec", "runtimeRef", "name"]);
    let name = runtime.and_then(Node::text);
    name.is_some_and(|name| INSTALLED_RUNTIMES.contains(&name))
}

/// Whether the written tolerations are all tolerations of a pod: a list replaces that of the runtime, which has none.
pub(super) fn has_all_tolerations(pod: &Pod<'_>) -> bool {
    let written = pod.operator_placement.and_then(|it| it.get("tolerations"));
    let has_tolerations = written.is_some_and(|it| !it.items().is_empty());
    has_tolerations && pod.object.kind == "TrainJob" && uses_installed_runtime(pod.object)
}

/// The minimum requests of such a pod, as far as its object sets them.
pub(super) fn min_demand(pod: &Pod<'_>) -> Demand {
    let containers = pod.containers.iter().map(|it| {
        let resources = match pod.object.kind.as_str() {
            "SparkApplication" | "ScheduledSparkApplication" => Some(spark_resources(it.node)),
            _ => it.resources().map(|entry| entry.value.clone()),
        };
        let image = it.image().cloned();
        let fields = [("resources", resources), ("image", image)];
        mapping_node(fields.into_iter().filter_map(|(key, it)| Some((key, it?))))
    });
    let containers = Node {
        value: Value::Sequence(containers.collect()),
        origin: Origin::Inherited,
    };
    let node_selection = ["nodeSelector", "affinity", "tolerations"].into_iter();
    let fields =
        node_selection.filter_map(|key| Some((key, pod.operator_placement?.get(key)?.clone())));
    let spec = mapping_node(fields.chain([("containers", containers)]));
    Demand::from_pod_spec(&spec, &DefaultRequests::default())
}

fn mapping_node<'k>(fields: impl Iterator<Item = (&'k str, Node)>) -> Node {
    let entries = fields.map(|(key, value)| Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    });
    Node {
        value: Value::Mapping(entries.collect()),
        origin: Origin::Inherited,
    }
}

/// The resources of the driver or the executors of Spark: GPUs, cores or their request, and memory. A memory overhead
/// factor is not included: it may be set elsewhere.
///
/// Source: apache/spark `docs/running-on-kubernetes.md`, `spark.kubernetes.executor.request.cores` (from memory);
/// kubeflow/spark-operator `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec` (read on 2026-11-22).
fn spark_resources(role: &Node) -> Node {
    let limits = node_at(role, &["resources", "limits"]);
    let cores = role.get("coreRequest").or_else(|| role.get("cores"));
    let memory = role.get("memory").and_then(|written| {
        let own = parse_spark_memory(written.text()?, None)?;
        let overhead = role.get("memoryOverhead");
        let more = overhead.and_then(|it| parse_spark_memory(it.text()?, Some(1 << 20)));
        let all = own.saturating_add(more.unwrap_or(0)).to_string();
        Some(Node {
            value: Value::Scalar(Scalar::Text(all)),
            origin: written.origin.clone(),
        })
    });
    let requests = [("cpu", cores.cloned()), ("memory", memory)];
    let requests = requests
        .into_iter()
        .filter_map(|(key, it)| Some((key, it?)));
    let requests = mapping_node(requests);
    let fields = [("limits", limits.cloned()), ("requests", Some(requests))];
    mapping_node(fields.into_iter().filter_map(|(key, it)| Some((key, it?))))
}

/// Parses a memory size of Spark, where `16g` means gibibytes. A bare number is in units of `plain`.
///
/// Source: apache/spark `common/utils/src/main/java/org/apache/spark/network/util/JavaUtils.java`, `byteSuffixes`
/// (from memory).
fn parse_spark_memory(text: &str, plain: Option<u64>) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let unit = match suffix {
        "" => plain?,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The number of executors of a Spark application, if it is fixed.
pub(super) fn spark_pods(pod: &Pod<'_>) -> Option<PodCount> {
    let object = pod.object;
    if object.kind != "SparkApplication" {
        return None;
    }
    let spec = object.root.get("spec")?;
    let is_dynamic = node_at(spec, &["dynamicAllocation", "enabled"]).and_then(Node::text);
    let executor = spec.get("executor")?;
    let is_driver = !std::ptr::eq(executor, pod.placement());
    if is_driver {
        return Some(PodCount {
            pods: 1,
            span: None,
        });
    }
    parse_pod_count(executor, "instances").filter(|_| is_dynamic != Some("true"))
}

/// The minimum number of pods of a component of an `InferenceService`.
///
/// Source: kserve/kserve `pkg/apis/serving/v1beta1/component.go`, `ComponentExtensionSpec.MinReplicas` and
/// `validateReplicas` (read on 2026-11-22); `pkg/constants/constants.go`, `StopAnnotationKey` and `DeploymentMode`
/// (from memory).
pub(super) fn component_pods(pod: &Pod<'_>) -> Option<PodCount> {
    let object = pod.object;
    let spec = object.root.get("spec")?;
    let annotations = node_at(&object.root, &["metadata", "annotations"]);
    let annotation = |key: &str| annotations.and_then(|it| it.get(key)).and_then(Node::text);
    if annotation("serving.kserve.io/stop") == Some("true")
        || annotation("serving.kserve.io/deploymentMode") == Some("ModelMesh")
    {
        return None;
    }
    // Containers next to a server are in its pod, and workers are not counted.
    let is_counted = pod.operator_placement.is_some() || !pod.is_partial;
    let mut components = INFERENCE_COMPONENTS.iter().filter_map(|key| spec.get(key));
    let component = components.find(|component| std::ptr::eq(*component, pod.placement()))?;
    parse_pod_count(component, "minReplicas").filter(|_| is_counted)
}

/// Whether an object is an `InferenceService` of `KServe`.
pub(super) fn is_inference_service(object: &Object) -> bool {
    object.is_in_group("serving.kserve.io") && object.kind == "InferenceService"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spark_sizes_are_parsed() {
        assert_eq!(parse_spark_memory("16g", None), Some(16 << 30));
        assert_eq!(parse_spark_memory("512MB", None), Some(512 << 20));
        assert_eq!(parse_spark_memory("384", Some(1 << 20)), Some(384 << 20));
        assert_eq!(parse_spark_memory("384", None), None);
        assert_eq!(parse_spark_memory("1.5g", None), None);
        assert_eq!(parse_spark_memory("{{x}}", None), None);
    }
}
