//! Detects misspelled keys and template names in the custom resources of operators.
//!
//! Their definitions are not available, so that only keys that nearly match a known one are reported.

use gpuc_syntax::diag::words;
use gpuc_syntax::node::{Entry, Node};

use super::pods::{ARGO, SERVED};
use super::read::Object;

/// A mistake in an object.
pub(super) enum Slip<'n> {
    /// A key that nearly matches a known one.
    Key {
        /// The key with its value.
        entry: &'n Entry,
        /// The known key.
        meant: &'static str,
    },
    /// The name of an unknown template.
    Template {
        /// The name.
        node: &'n Node,
        /// The names of the existing templates.
        known: Vec<&'n str>,
    },
}

/// The keys of one mapping: those that matter for pods, and others with similar names.
struct Keys {
    checked: &'static [&'static str],
    others: &'static [&'static str],
}

/// Source: ray-project/kuberay `ray-operator/apis/ray/v1/raycluster_types.go` (read on 2026-11-22),
/// `rayjob_types.go` and `rayservice_types.go` (from memory).
const RAY_CLUSTER: Keys = Keys {
    checked: &[
        "headGroupSpec",
        "workerGroupSpecs",
        "enableInTreeAutoscaling",
        "autoscalerOptions",
        "suspend",
    ],
    others: &[],
};
const RAY_GROUP: Keys = Keys {
    checked: &[
        "groupName",
        "replicas",
        "minReplicas",
        "maxReplicas",
        "numOfHosts",
        "template",
        "rayStartParams",
        "suspend",
    ],
    others: &[],
};
const RAY_JOB: Keys = Keys {
    checked: &[
        "rayClusterSpec",
        "clusterSelector",
        "shutdownAfterJobFinishes",
        "ttlSecondsAfterFinished",
        "suspend",
    ],
    others: &[],
};
const RAY_SERVICE: Keys = Keys {
    checked: &["rayClusterConfig"],
    others: &["rayClusterSpec"],
};

/// Source: kserve/kserve `pkg/apis/serving/v1beta1/inference_service.go`, `predictor.go` and `component.go` (read on
/// 2026-11-22).
const SERVICE: Keys = Keys {
    checked: &["predictor", "transformer", "explainer"],
    others: &[],
};
const SERVED_PART: Keys = Keys {
    checked: &[
        "minReplicas",
        "maxReplicas",
        "model",
        "workerSpec",
        "nodeSelector",
        "tolerations",
        "affinity",
        "containers",
        "containerConcurrency",
    ],
    others: &["initContainers", "ephemeralContainers"],
};
const SERVED_MODEL: Keys = Keys {
    checked: &["resources", "modelFormat", "runtime", "storageUri"],
    others: &["storage", "runtimeVersion"],
};

/// Source: kubeflow/spark-operator `api/v1beta2/sparkapplication_types.go` (read on 2026-11-22).
const SPARK: Keys = Keys {
    checked: &["driver", "executor", "dynamicAllocation"],
    others: &[],
};
const SPARK_ROLE: Keys = Keys {
    checked: &[
        "gpu",
        "cores",
        "coreRequest",
        "coreLimit",
        "memory",
        "memoryOverhead",
        "instances",
        "nodeSelector",
        "tolerations",
        "affinity",
        "template",
    ],
    others: &["memoryLimit", "memoryRequest"],
};
const SPARK_GPU: Keys = Keys {
    checked: &["name", "quantity"],
    others: &[],
};

/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `WorkflowSpec` and `Template` (from
/// memory).
const WORKFLOW: Keys = Keys {
    checked: &[
        "entrypoint",
        "templates",
        "nodeSelector",
        "tolerations",
        "podSpecPatch",
        "parallelism",
    ],
    others: &["templateDefaults", "podMetadata", "podPriorityClassName"],
};
const TEMPLATE: Keys = Keys {
    checked: &[
        "container",
        "script",
        "containerSet",
        "steps",
        "dag",
        "nodeSelector",
        "tolerations",
        "podSpecPatch",
        "parallelism",
    ],
    others: &[
        "data", "http", "inputs", "outputs", "plugin", "name", "daemon",
    ],
};

/// The misspelled keys and unknown templates of an object.
pub(super) fn slips(object: &Object) -> Vec<Slip<'_>> {
    let mut slips = Vec::new();
    let Some(spec) = object.root.get("spec") else {
        return slips;
    };
    if object.is_of("ray.io") {
        ray(object, spec, &mut slips);
    } else if object.is_of("serving.kserve.io") && object.kind == "InferenceService" {
        keys(spec, &SERVICE, &mut slips);
        for part in SERVED.iter().filter_map(|key| spec.get(key)) {
            keys(part, &SERVED_PART, &mut slips);
            if let Some(model) = part.get("model") {
                keys(model, &SERVED_MODEL, &mut slips);
            }
        }
    } else if object.is_of("sparkoperator.k8s.io") {
        let spec = match object.kind.as_str() {
            "SparkApplication" => Some(spec),
            "ScheduledSparkApplication" => spec.get("template"),
            _ => None,
        };
        if let Some(spec) = spec {
            spark(spec, &mut slips);
        }
    } else if object.is_of("argoproj.io") && ARGO.contains(&object.kind.as_str()) {
        let spec = match object.kind.as_str() {
            "CronWorkflow" => spec.get("workflowSpec"),
            _ => Some(spec),
        };
        if let Some(spec) = spec {
            argo(spec, &mut slips);
        }
    }
    slips
}

fn ray<'n>(object: &Object, spec: &'n Node, slips: &mut Vec<Slip<'n>>) {
    let cluster = match object.kind.as_str() {
        "RayCluster" => Some(spec),
        "RayJob" => {
            keys(spec, &RAY_JOB, slips);
            spec.get("rayClusterSpec")
        }
        "RayService" => {
            keys(spec, &RAY_SERVICE, slips);
            spec.get("rayClusterConfig")
        }
        _ => None,
    };
    let Some(cluster) = cluster else {
        return;
    };
    keys(cluster, &RAY_CLUSTER, slips);
    let groups = cluster.get("workerGroupSpecs").map_or(&[][..], Node::items);
    for group in groups {
        keys(group, &RAY_GROUP, slips);
    }
}

fn spark<'n>(spec: &'n Node, slips: &mut Vec<Slip<'n>>) {
    keys(spec, &SPARK, slips);
    for role in ["driver", "executor"]
        .iter()
        .filter_map(|key| spec.get(key))
    {
        keys(role, &SPARK_ROLE, slips);
        if let Some(gpu) = role.get("gpu") {
            keys(gpu, &SPARK_GPU, slips);
        }
    }
}

fn argo<'n>(spec: &'n Node, slips: &mut Vec<Slip<'n>>) {
    keys(spec, &WORKFLOW, slips);
    let templates = spec.get("templates").map_or(&[][..], Node::items);
    for template in templates {
        keys(template, &TEMPLATE, slips);
    }
    let names = templates.iter().map(|it| it.get("name")?.text());
    // A workflow may use the templates of another one.
    let names = names.collect::<Option<Vec<_>>>();
    let Some(known) =
        names.filter(|it| !it.is_empty() && spec.get("workflowTemplateRef").is_none())
    else {
        return;
    };
    let mut used: Vec<&Node> = Vec::new();
    used.extend(
        ["entrypoint", "onExit"]
            .iter()
            .filter_map(|key| spec.get(key)),
    );
    for template in templates {
        let tasks = template.get("dag").and_then(|it| it.get("tasks"));
        let tasks = tasks.map_or(&[][..], Node::items).iter();
        let steps = template.get("steps").map_or(&[][..], Node::items).iter();
        // Parallel steps are a nested list.
        let steps = steps.flat_map(|step| match step.items() {
            [] => std::slice::from_ref(step),
            several => several,
        });
        let of_task = |task: &'n Node| [task.get("template"), task.get("onExit")];
        used.extend(tasks.chain(steps).flat_map(of_task).flatten());
    }
    for node in used {
        let name = node.text().filter(|it| !it.is_empty() && !it.contains('{'));
        if name.is_some_and(|name| !known.contains(&name)) {
            let known = known.clone();
            slips.push(Slip::Template { node, known });
        }
    }
}

/// Reports the keys of a mapping that nearly match a known one.
fn keys<'n>(node: &'n Node, known: &Keys, slips: &mut Vec<Slip<'n>>) {
    for entry in node.entries() {
        let key = entry.key.as_str();
        let mut all = known.checked.iter().chain(known.others);
        if all.any(|it| *it == key) {
            continue;
        }
        let all = known.checked.iter().chain(known.others).copied();
        let Some(meant) = words::slip(key, all) else {
            continue;
        };
        if known.checked.contains(&meant) && node.get(meant).is_none() {
            slips.push(Slip::Key { entry, meant });
        }
    }
}
