//! The installation order.
//!
//! The order is derived: a step depends on the steps that create its namespaces, on the charts that install the CRDs of
//! its objects, and on the charts that its own chart names. The installer waits until the pods of a chart are ready, so
//! a chart also depends on what its pods require: runtime classes, storage classes, quotas, the driver. Every delivery
//! method follows this order.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::derive::components::DRIVER_INSTALLER;
use gpuc_model::plan::{Identity, Object, Release, Step, StepDependency, StepKind};
use gpuc_model::{POOL_LABEL, QUEUE_LABEL};
use gpuc_syntax::node::Node;

use super::workloads;
use crate::charts::DRA_DRIVER_NVIDIA_GPU;

/// Every component and every release, each after its dependencies.
pub(super) fn install_steps(objects: &[Object], releases: &[Release]) -> Vec<Step> {
    let providers = Providers::new(objects, releases);
    let mut components: BTreeMap<&str, BTreeSet<StepDependency>> = BTreeMap::new();
    for object in objects {
        let needs = components.entry(&object.component).or_default();
        needs.extend(providers.object_dependencies(object));
    }
    let components = components.into_iter().map(|(name, needs)| Step {
        name: name.to_owned(),
        kind: StepKind::Component,
        dependencies: merge_dependencies(name, needs),
    });
    let releases = releases.iter().map(|release| Step {
        name: release.name.clone(),
        kind: StepKind::Release,
        dependencies: merge_dependencies(&release.name, providers.release_dependencies(release)),
    });
    sort_steps(components.chain(releases).collect())
}

/// The steps that provide the dependencies of others.
struct Providers<'t> {
    /// The component that creates each namespace.
    namespaces: BTreeMap<&'t str, &'t str>,
    /// The release that installs the CRDs of each API group.
    api_groups: BTreeMap<&'static str, &'t str>,
    /// The releases of each chart.
    charts: BTreeMap<&'static str, Vec<&'t str>>,
    /// The objects of all components: pods may depend on some of them.
    objects: &'t [Object],
}

impl<'t> Providers<'t> {
    fn new(objects: &'t [Object], releases: &'t [Release]) -> Self {
        let namespaces = objects.iter().filter_map(|object| {
            let identity = &object.identity;
            let is_namespace = identity.kind == "Namespace";
            is_namespace.then_some((identity.name.as_str(), object.component.as_str()))
        });
        let groups = releases.iter().flat_map(|release| {
            let groups = release.chart.api_groups.iter();
            groups.map(|group| (*group, release.name.as_str()))
        });
        let mut charts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for release in releases {
            let names = charts.entry(release.chart.name).or_default();
            names.push(release.name.as_str());
        }
        Self {
            namespaces: namespaces.collect(),
            api_groups: groups.collect(),
            charts,
            objects,
        }
    }

    fn namespace_dependency(&self, name: &str) -> Option<StepDependency> {
        self.namespaces.get(name).map(|provider| StepDependency {
            step: (*provider).to_owned(),
            reason: format!("it creates the namespace {name}"),
        })
    }

    fn object_dependencies(
        &self,
        object: &Object,
    ) -> impl Iterator<Item = StepDependency> + use<'_, 't> {
        let identity = &object.identity;
        let namespace = identity.namespace.as_deref();
        let namespace = namespace.and_then(|name| self.namespace_dependency(name));
        let kind = self
            .api_groups
            .get(group(identity))
            .map(|provider| StepDependency {
                step: (*provider).to_owned(),
                reason: format!("it installs the CRD of kind {}", identity.kind),
            });
        // A job starts immediately if Kueue does not manage it yet.
        let labels = object.node.get("metadata").and_then(|it| it.get("labels"));
        let is_queued = labels.is_some_and(|labels| labels.get(QUEUE_LABEL).is_some());
        let queues = self.charts.get("kueue").into_iter().flatten();
        let queue = queues
            .filter(move |_| is_queued)
            .map(|name| StepDependency {
                step: (*name).to_owned(),
                reason: "it admits jobs when their team's quota allows".to_owned(),
            });
        namespace
            .into_iter()
            .chain(kind)
            .chain(self.train_job_dependency(identity))
            .chain(self.network_dependency(object))
            .chain(self.device_class_dependency(identity))
            .chain(queue)
    }

    /// The chart of the DRA driver has a DeviceClass with the extended resource `nvidia.com/gpu`. Of several classes
    /// with one name, Kubernetes uses the newest.
    fn device_class_dependency(&self, identity: &Identity) -> Option<StepDependency> {
        let drivers = self.charts.get(DRA_DRIVER_NVIDIA_GPU.name)?;
        let driver = drivers.first()?;
        (identity.kind == "DeviceClass").then(|| StepDependency {
            step: (*driver).to_owned(),
            reason: "Kubernetes uses the newest DeviceClass for an extended resource".to_owned(),
        })
    }

    /// The Trainer rejects a TrainJob whose runtime does not exist.
    fn train_job_dependency(&self, identity: &Identity) -> Option<StepDependency> {
        let mut objects = self.objects.iter();
        let is_namespace = |object: &&Object| object.identity.kind == "TrainingRuntime";
        let runtimes = objects.find(is_namespace);
        let runtimes = runtimes.filter(|_| identity.kind == "TrainJob");
        runtimes.map(|object| StepDependency {
            step: object.component.clone(),
            reason: "it creates the runtimes of TrainJobs".to_owned(),
        })
    }

    /// The API server rejects a pod that names a network that does not exist.
    fn network_dependency(&self, object: &Object) -> Option<StepDependency> {
        let mut objects = self.objects.iter();
        let network = objects.find(|it| it.identity.kind == "Network")?;
        let has_pods = [workloads::COMPONENT, workloads::RUNTIMES].contains(&&*object.component);
        has_pods.then(|| StepDependency {
            step: network.component.clone(),
            reason: "it creates the networks that pods use".to_owned(),
        })
    }

    fn release_dependencies(&self, release: &Release) -> BTreeSet<StepDependency> {
        let after = release
            .chart
            .dependencies
            .iter()
            .flat_map(|(chart, because)| {
                let names = self.charts.get(chart).into_iter().flatten();
                names.map(|name| StepDependency {
                    step: (*name).to_owned(),
                    reason: (*because).to_owned(),
                })
            });
        let namespace = self.namespace_dependency(&release.namespace);
        let pods = self.objects.iter().filter_map(|object| {
            Some(StepDependency {
                step: object.component.clone(),
                reason: pod_dependency_reason(object, release)?,
            })
        });
        after.chain(namespace).chain(pods).collect()
    }
}

/// The reason why the pods of a release depend on an object, if they do.
fn pod_dependency_reason(object: &Object, release: &Release) -> Option<String> {
    let Identity {
        kind,
        namespace,
        name,
        ..
    } = &object.identity;
    let values = &release.values;
    match kind.as_str() {
        "RuntimeClass" if mentions(values, "runtimeClassName", name) => {
            Some(format!("it creates the runtime class {name}"))
        }
        // A volume may use the default class, which no value names.
        "StorageClass" => Some("it creates the storage classes".to_owned()),
        "ResourceQuota" if namespace.as_ref() == Some(&release.namespace) => {
            Some(format!("it creates the quota {name}"))
        }
        "DaemonSet" if object.component == DRIVER_INSTALLER => {
            let labels = object.node.get("metadata")?.get("labels")?;
            let pool = labels.get(POOL_LABEL)?.text()?;
            let serves_pool = release.pools.iter().any(|served| served == pool);
            serves_pool.then(|| format!("it installs the driver of pool {pool}"))
        }
        _ => None,
    }
}

/// Whether a key anywhere in the values has this value.
fn mentions(values: &Node, key: &str, text: &str) -> bool {
    let is_here = values.get(key).and_then(Node::text) == Some(text);
    let mut below = values.entries().iter().map(|entry| &entry.value);
    let mut items = values.items().iter();
    is_here
        || below.any(|node| mentions(node, key, text))
        || items.any(|node| mentions(node, key, text))
}

fn group(identity: &Identity) -> &str {
    let group = identity.api_version.split_once('/');
    group.map_or("", |(group, _)| group)
}

/// Merges the dependencies on the same step, and removes those on the step itself.
fn merge_dependencies(name: &str, needs: BTreeSet<StepDependency>) -> Vec<StepDependency> {
    let mut merged: Vec<StepDependency> = Vec::new();
    for need in needs.into_iter().filter(|need| need.step != name) {
        match merged.last_mut() {
            Some(last) if last.step == need.step => {
                last.reason = format!("{}, {}", last.reason, need.reason);
            }
            _ => merged.push(need),
        }
    }
    merged
}

/// Sorts each step after its dependencies, and otherwise by name. Steps in a cycle come last; the audit rejects them.
fn sort_steps(steps: Vec<Step>) -> Vec<Step> {
    let mut remaining: BTreeMap<(String, StepKind), Step> = steps
        .into_iter()
        .map(|step| ((step.name.clone(), step.kind), step))
        .collect();
    let mut ordered: Vec<Step> = Vec::new();
    while let Some(key) = remaining
        .iter()
        .find(|(_, step)| {
            let mut needs = step.dependencies.iter();
            needs.all(|need| ordered.iter().any(|done| done.name == need.step))
        })
        .map(|(key, _)| key.clone())
    {
        ordered.extend(remaining.remove(&key));
    }
    ordered.extend(remaining.into_values());
    ordered
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use gpuc_model::plan::{Chart, Crds, PodSecurity};
    use gpuc_syntax::node::Origin;

    static OPERATOR: Chart = Chart {
        name: "operator",
        repository: "https://charts.example.com",
        version: "1.0.0",
        kubernetes: None,
        namespace: "operator",
        pod_security: PodSecurity::Baseline,
        crds: Crds::Folder,
        api_groups: &["example.com"],
        dependencies: &[],
        releases: |_| Vec::new(),
        source: "",
    };

    static EXPORTER: Chart = Chart {
        name: "exporter",
        api_groups: &[],
        dependencies: &[
            ("operator", "its monitor is of the operator's kind"),
            ("absent", ""),
        ],
        ..OPERATOR
    };

    fn object(component: &str, api: &str, kind: &str, namespace: &str) -> Object {
        let metadata =
            json!({"name": "a", "namespace": Some(namespace).filter(|it| !it.is_empty())});
        let object = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
        Object::new(component, &object, Origin::default())
    }

    fn release(name: &str, chart: &'static Chart, namespace: &str) -> Release {
        Release {
            name: name.to_owned(),
            chart,
            repository: chart.repository.to_owned(),
            namespace: namespace.to_owned(),
            values: Node::from_json(json!({})),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    }

    #[test]
    fn charts_follow_the_dependencies_of_their_pods() {
        let installer = json!({
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "i", "namespace": "kube-system", "labels": {POOL_LABEL: "gpu"}},
        });
        let named = |kind: &str, api: &str, name: &str, namespace: &str| {
            let metadata =
                json!({"name": name, "namespace": Some(namespace).filter(|it| !it.is_empty())});
            let object = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
            Object::new(&format!("z-{kind}"), &object, Origin::default())
        };
        let objects = [
            Object::new(DRIVER_INSTALLER, &installer, Origin::default()),
            named("RuntimeClass", "node.k8s.io/v1", "nvidia", ""),
            named("ResourceQuota", "v1", "critical", "a"),
            named("StorageClass", "storage.k8s.io/v1", "fast", ""),
        ];
        let exporter = Release {
            values: Node::from_json(json!({"pod": [{"runtimeClassName": "nvidia"}]})),
            pools: vec!["gpu".to_owned()],
            ..release("exporter", &EXPORTER, "a")
        };
        let needs = |release: Release| {
            let steps = install_steps(&objects, &[release]);
            let step = steps
                .into_iter()
                .find(|step| step.kind == StepKind::Release);
            let step = step.expect("the release is a step");
            let needs = step.dependencies.into_iter().map(|need| need.step);
            needs.collect::<Vec<_>>()
        };
        assert_eq!(
            needs(exporter),
            [
                DRIVER_INSTALLER,
                "z-ResourceQuota",
                "z-RuntimeClass",
                "z-StorageClass"
            ]
        );
        let unrelated = Release {
            values: Node::from_json(json!({"runtimeClassName": "other"})),
            pools: vec!["system".to_owned()],
            ..release("elsewhere", &EXPORTER, "b")
        };
        assert_eq!(needs(unrelated), ["z-StorageClass"]);
    }

    #[test]
    fn order_follows_namespaces_crds_and_charts() {
        let objects = [
            object("namespaces", "v1", "Namespace", ""),
            object("alerts", "example.com/v1", "Rule", "a"),
            object("apps", "apps/v1", "DaemonSet", "elsewhere"),
        ];
        let releases = [
            release("z-exporter", &EXPORTER, "a"),
            release("y-operator", &OPERATOR, "a"),
        ];
        let steps = install_steps(&objects, &releases);
        let actual: Vec<_> = steps
            .iter()
            .map(|step| {
                let needs = step.dependencies.iter();
                let needs: Vec<_> = needs
                    .map(|need| format!("{}: {}", need.step, need.reason))
                    .collect();
                (step.name.as_str(), needs.join("; "))
            })
            .collect();
        let expected = [
            ("apps", ""),
            ("namespaces", ""),
            ("y-operator", "namespaces: it creates the namespace a"),
            (
                "alerts",
                "namespaces: it creates the namespace a; y-operator: it installs the CRD of kind Rule",
            ),
            (
                "z-exporter",
                "namespaces: it creates the namespace a; y-operator: its monitor is of the operator's kind",
            ),
        ];
        assert_eq!(
            actual,
            expected.map(|(name, needs)| (name, needs.to_owned()))
        );
    }
}
