//! Pods that an operator makes of its own kinds: a TrainJob's nodes, what `KServe` serves, Spark's driver and
//! executors. A runtime, or the operator, says the rest of them.

use crate::node::{Entry, Node, Origin, Scalar, Value};
use crate::placement::{Defaults, Demand};
use crate::source::Span;

use super::find::SERVED;
use super::pod::Pod;
use super::read::Object;
use super::services::{Count, number};

/// The runtimes that Trainer's chart installs. They choose no nodes and tolerate nothing.
///
/// Source: kubeflow/trainer@v2.3.0 `charts/kubeflow-trainer/files/runtimes`, the names of the files (2026-11-22).
pub(super) const INSTALLED: &[&str] = &[
    "deepspeed-distributed",
    "jax-distributed",
    "mlx-distributed",
    "torch-distributed",
    "torch-distributed-with-cache",
    "xgboost-distributed",
];

/// What Trainer's runtimes call the job of the nodes that train.
///
/// Source: kubeflow/trainer `pkg/constants/constants.go`, `Node` (from memory).
const NODE: &str = "node";

/// The one patch that a TrainJob has for the pods of its nodes; of several nobody knows here which one comes last.
///
/// Source: kubeflow/trainer `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `RuntimePatch` (read on 2026-11-22).
pub(super) fn patch(job: &Object) -> Option<&Node> {
    let to_jobs = ["trainingRuntimeSpec", "template", "spec", "replicatedJobs"];
    let patches = job.root.get("spec")?.get("runtimePatches")?.items().iter();
    let jobs = patches.filter_map(|it| below(it, &to_jobs));
    let own = jobs.flat_map(Node::items);
    let own = own.filter(|it| it.get("name").and_then(Node::text) == Some(NODE));
    let mut specs = own.filter_map(|it| below(it, &["template", "spec", "template", "spec"]));
    let only = specs.next()?;
    specs.next().is_none().then_some(only)
}

fn below<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    let mut path = path.iter();
    path.try_fold(node, |node, key| node.get(key))
}

/// Whether a TrainJob's runtime is one that Trainer installs.
pub(super) fn is_installed(job: &Object) -> bool {
    let runtime = below(&job.root, &["spec", "runtimeRef", "name"]);
    let name = runtime.and_then(Node::text);
    name.is_some_and(|name| INSTALLED.contains(&name))
}

/// Whether what is written are all tolerations of a pod: a list takes the place of the runtime's, which has none.
pub(super) fn tolerates_no_more(pod: &Pod<'_>) -> bool {
    let written = pod.placed.and_then(|it| it.get("tolerations"));
    let is_some = written.is_some_and(|it| !it.items().is_empty());
    is_some && pod.object.kind == "TrainJob" && is_installed(pod.object)
}

/// What such a pod asks for at least, as far as its object says it.
pub(super) fn demand(pod: &Pod<'_>) -> Demand {
    let containers = pod.containers.iter().map(|it| {
        let resources = match pod.object.kind.as_str() {
            "SparkApplication" | "ScheduledSparkApplication" => Some(of_spark(it.node)),
            _ => it.resources().map(|entry| entry.value.clone()),
        };
        let image = it.image().cloned();
        let parts = [("resources", resources), ("image", image)];
        mapping(parts.into_iter().filter_map(|(key, it)| Some((key, it?))))
    });
    let containers = Node {
        value: Value::Sequence(containers.collect()),
        origin: Origin::Inherited,
    };
    let places = ["nodeSelector", "affinity", "tolerations"].into_iter();
    let places = places.filter_map(|key| Some((key, pod.placed?.get(key)?.clone())));
    let spec = mapping(places.chain([("containers", containers)]));
    Demand::of_pod(&spec, &Defaults::default())
}

fn mapping<'k>(parts: impl Iterator<Item = (&'k str, Node)>) -> Node {
    let entries = parts.map(|(key, value)| Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    });
    Node {
        value: Value::Mapping(entries.collect()),
        origin: Origin::Inherited,
    }
}

/// The resources of one of Spark's roles: its GPUs, its cores or what is requested for them, and its memory. What the
/// memory has beside it by a factor may be said elsewhere.
///
/// Source: apache/spark `docs/running-on-kubernetes.md`, `spark.kubernetes.executor.request.cores` (from memory);
/// kubeflow/spark-operator `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec` (read on 2026-11-22).
fn of_spark(role: &Node) -> Node {
    let limits = below(role, &["resources", "limits"]);
    let cores = role.get("coreRequest").or_else(|| role.get("cores"));
    let memory = role.get("memory").and_then(|written| {
        let own = bytes(written.text()?, None)?;
        let more = role.get("memoryOverhead");
        let more = more.and_then(|it| bytes(it.text()?, Some(1 << 20)));
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
    let requests = mapping(requests);
    let parts = [("limits", limits.cloned()), ("requests", Some(requests))];
    mapping(parts.into_iter().filter_map(|(key, it)| Some((key, it?))))
}

/// How many bytes Spark takes a text for: `16g` are gibibytes. A number alone is counted in the unit that is given.
///
/// Source: apache/spark `common/utils/src/main/java/org/apache/spark/network/util/JavaUtils.java`, `byteSuffixes`
/// (from memory).
fn bytes(text: &str, plain: Option<u64>) -> Option<u64> {
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

/// How many executors a Spark application asks for, where that is a fixed number.
pub(super) fn executors(pod: &Pod<'_>) -> Option<Count> {
    let object = pod.object;
    if object.kind != "SparkApplication" {
        return None;
    }
    let spec = object.root.get("spec")?;
    let grows = below(spec, &["dynamicAllocation", "enabled"]).and_then(Node::text);
    let executor = spec.get("executor")?;
    let is_driver = !std::ptr::eq(executor, pod.nodes());
    if is_driver {
        return Some(Count {
            pods: 1,
            span: None,
        });
    }
    number(executor, "instances").filter(|_| grows != Some("true"))
}

/// How many pods of a part of an `InferenceService` are there at least.
///
/// Source: kserve/kserve `pkg/apis/serving/v1beta1/component.go`, `ComponentExtensionSpec.MinReplicas` and
/// `validateReplicas` (read on 2026-11-22); `pkg/constants/constants.go`, `StopAnnotationKey` and `DeploymentMode`
/// (from memory).
pub(super) fn served(pod: &Pod<'_>) -> Option<Count> {
    let object = pod.object;
    let spec = object.root.get("spec")?;
    let annotations = below(&object.root, &["metadata", "annotations"]);
    let says = |key: &str| annotations.and_then(|it| it.get(key)).and_then(Node::text);
    if says("serving.kserve.io/stop") == Some("true")
        || says("serving.kserve.io/deploymentMode") == Some("ModelMesh")
    {
        return None;
    }
    // Containers beside a server are in its pod, and workers are counted by nobody here.
    let is_counted = pod.placed.is_some() || !pod.is_open;
    let mut parts = SERVED.iter().filter_map(|key| spec.get(key));
    let part = parts.find(|part| std::ptr::eq(*part, pod.nodes()))?;
    number(part, "minReplicas").filter(|_| is_counted)
}

/// Whether an object is a service of `KServe`'s.
pub(super) fn is_served(object: &Object) -> bool {
    object.is_of("serving.kserve.io") && object.kind == "InferenceService"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_spark_reads_them() {
        assert_eq!(bytes("16g", None), Some(16 << 30));
        assert_eq!(bytes("512MB", None), Some(512 << 20));
        assert_eq!(bytes("384", Some(1 << 20)), Some(384 << 20));
        assert_eq!(bytes("384", None), None);
        assert_eq!(bytes("1.5g", None), None);
        assert_eq!(bytes("{{x}}", None), None);
    }
}
