//! What is put into the cluster after what.
//!
//! Nobody writes the order down: a step comes after what makes its namespaces, after what brings the kinds of its
//! objects, and after the charts that its own chart names. A chart is waited for until its pods are ready, so that it
//! comes after what these wait for as well: runtime and storage classes, quotas, the driver. Whatever brings the tree
//! to the cluster follows this.

use std::collections::{BTreeMap, BTreeSet};

use super::{DRIVER_INSTALLER, workloads};
use crate::model::{POOL_LABEL, QUEUE_LABEL};
use crate::node::Node;
use crate::plan::{Identity, Need, Object, Release, Step, What};

/// Every component of objects and every release, each after what it needs.
pub(super) fn steps(objects: &[Object], releases: &[Release]) -> Vec<Step> {
    let makers = Makers::of(objects, releases);
    let mut components: BTreeMap<&str, BTreeSet<Need>> = BTreeMap::new();
    for object in objects {
        let needs = components.entry(&object.component).or_default();
        needs.extend(makers.of_object(object));
    }
    let components = components.into_iter().map(|(name, needs)| Step {
        name: name.to_owned(),
        what: What::Component,
        needs: once_each(name, needs),
    });
    let releases = releases.iter().map(|release| Step {
        name: release.name.clone(),
        what: What::Release,
        needs: once_each(&release.name, makers.of_release(release)),
    });
    in_order(components.chain(releases).collect())
}

/// Who makes what others need.
struct Makers<'t> {
    /// The component that makes each namespace.
    namespaces: BTreeMap<&'t str, &'t str>,
    /// The release that brings each API group.
    groups: BTreeMap<&'static str, &'t str>,
    /// The releases of each chart.
    charts: BTreeMap<&'static str, Vec<&'t str>>,
    /// Everything that components make: pods may wait for some of it.
    objects: &'t [Object],
}

impl<'t> Makers<'t> {
    fn of(objects: &'t [Object], releases: &'t [Release]) -> Self {
        let namespaces = objects.iter().filter_map(|object| {
            let identity = &object.identity;
            let makes = identity.kind == "Namespace";
            makes.then_some((identity.name.as_str(), object.component.as_str()))
        });
        let groups = releases.iter().flat_map(|release| {
            let groups = release.chart.groups.iter();
            groups.map(|group| (*group, release.name.as_str()))
        });
        let mut charts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for release in releases {
            let names = charts.entry(release.chart.name).or_default();
            names.push(release.name.as_str());
        }
        Self {
            namespaces: namespaces.collect(),
            groups: groups.collect(),
            charts,
            objects,
        }
    }

    fn of_namespace(&self, name: &str) -> Option<Need> {
        self.namespaces.get(name).map(|maker| Need {
            step: (*maker).to_owned(),
            because: format!("it makes the namespace {name}"),
        })
    }

    fn of_object(&self, object: &Object) -> impl Iterator<Item = Need> + use<'_, 't> {
        let identity = &object.identity;
        let namespace = identity.namespace.as_deref();
        let namespace = namespace.and_then(|name| self.of_namespace(name));
        let kind = self.groups.get(group(identity)).map(|maker| Need {
            step: (*maker).to_owned(),
            because: format!("it brings the kind {}", identity.kind),
        });
        // A job that its queue does not know of yet starts at once.
        let labels = object.node.get("metadata").and_then(|it| it.get("labels"));
        let is_queued = labels.is_some_and(|labels| labels.get(QUEUE_LABEL).is_some());
        let queues = self.charts.get("kueue").into_iter().flatten();
        let queue = queues.filter(move |_| is_queued).map(|name| Need {
            step: (*name).to_owned(),
            because: "it lets jobs start when their team's quota has room".to_owned(),
        });
        namespace
            .into_iter()
            .chain(kind)
            .chain(self.of_train_job(identity))
            .chain(self.of_networks(object))
            .chain(queue)
    }

    /// A `TrainJob` is refused while its runtime is not there.
    fn of_train_job(&self, identity: &Identity) -> Option<Need> {
        let mut objects = self.objects.iter();
        let makes = |object: &&Object| object.identity.kind == "TrainingRuntime";
        let runtimes = objects.find(makes);
        let runtimes = runtimes.filter(|_| identity.kind == "TrainJob");
        runtimes.map(|object| Need {
            step: object.component.clone(),
            because: "it makes the runtimes of training jobs".to_owned(),
        })
    }

    /// A pod that names a network is refused while the cluster does not know it.
    fn of_networks(&self, object: &Object) -> Option<Need> {
        let mut objects = self.objects.iter();
        let network = objects.find(|it| it.identity.kind == "Network")?;
        let has_pods = [workloads::COMPONENT, workloads::RUNTIMES].contains(&&*object.component);
        has_pods.then(|| Need {
            step: network.component.clone(),
            because: "it makes the networks that pods name".to_owned(),
        })
    }

    fn of_release(&self, release: &Release) -> BTreeSet<Need> {
        let after = release.chart.after.iter().flat_map(|(chart, because)| {
            let names = self.charts.get(chart).into_iter().flatten();
            names.map(|name| Need {
                step: (*name).to_owned(),
                because: (*because).to_owned(),
            })
        });
        let namespace = self.of_namespace(&release.namespace);
        let pods = self.objects.iter().filter_map(|object| {
            Some(Need {
                step: object.component.clone(),
                because: awaited(object, release)?,
            })
        });
        after.chain(namespace).chain(pods).collect()
    }
}

/// Why the pods of a release are not ready before an object is there.
fn awaited(object: &Object, release: &Release) -> Option<String> {
    let Identity {
        kind,
        namespace,
        name,
        ..
    } = &object.identity;
    let values = &release.values;
    match kind.as_str() {
        "RuntimeClass" if mentions(values, "runtimeClassName", name) => {
            Some(format!("it makes the runtime class {name}"))
        }
        // A volume may be of the default class as well, which no value names.
        "StorageClass" => Some("it makes the classes of volumes".to_owned()),
        "ResourceQuota" if namespace.as_ref() == Some(&release.namespace) => {
            Some(format!("it makes the quota {name}"))
        }
        "DaemonSet" if object.component == DRIVER_INSTALLER => {
            let labels = object.node.get("metadata")?.get("labels")?;
            let pool = labels.get(POOL_LABEL)?.text()?;
            let serves = release.pools.iter().any(|served| served == pool);
            serves.then(|| format!("it installs the driver of pool {pool}"))
        }
        _ => None,
    }
}

/// Whether a key anywhere in the values has this text.
fn mentions(values: &Node, key: &str, text: &str) -> bool {
    let here = values.get(key).and_then(Node::text) == Some(text);
    let mut below = values.entries().iter().map(|entry| &entry.value);
    let mut items = values.items().iter();
    here || below.any(|node| mentions(node, key, text))
        || items.any(|node| mentions(node, key, text))
}

fn group(identity: &Identity) -> &str {
    let group = identity.api_version.split_once('/');
    group.map_or("", |(group, _)| group)
}

/// One need for each step, and none of itself.
fn once_each(name: &str, needs: BTreeSet<Need>) -> Vec<Need> {
    let mut once: Vec<Need> = Vec::new();
    for need in needs.into_iter().filter(|need| need.step != name) {
        match once.last_mut() {
            Some(last) if last.step == need.step => {
                last.because = format!("{}, {}", last.because, need.because);
            }
            _ => once.push(need),
        }
    }
    once
}

/// Each step after what it needs, and otherwise by name. Steps that wait for each other come last; the audit refuses
/// them.
fn in_order(steps: Vec<Step>) -> Vec<Step> {
    let mut left: BTreeMap<(String, What), Step> = steps
        .into_iter()
        .map(|step| ((step.name.clone(), step.what), step))
        .collect();
    let mut ordered: Vec<Step> = Vec::new();
    while let Some(key) = left
        .iter()
        .find(|(_, step)| {
            let mut needs = step.needs.iter();
            needs.all(|need| ordered.iter().any(|done| done.name == need.step))
        })
        .map(|(key, _)| key.clone())
    {
        ordered.extend(left.remove(&key));
    }
    ordered.extend(left.into_values());
    ordered
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chart::{Chart, Crds, PodSecurity};
    use crate::node::Origin;

    static OPERATOR: Chart = Chart {
        name: "operator",
        repository: "https://charts.example.com",
        version: "1.0.0",
        namespace: "operator",
        pod_security: PodSecurity::Baseline,
        crds: Crds::Folder,
        groups: &["example.com"],
        after: &[],
        releases: |_| Vec::new(),
        source: "",
    };

    static EXPORTER: Chart = Chart {
        name: "exporter",
        groups: &[],
        after: &[
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
    fn a_chart_comes_after_what_its_pods_wait_for() {
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
            let steps = steps(&objects, &[release]);
            let step = steps.into_iter().find(|step| step.what == What::Release);
            let step = step.expect("the release is a step");
            let needs = step.needs.into_iter().map(|need| need.step);
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
        let elsewhere = Release {
            values: Node::from_json(json!({"runtimeClassName": "other"})),
            pools: vec!["system".to_owned()],
            ..release("elsewhere", &EXPORTER, "b")
        };
        assert_eq!(needs(elsewhere), ["z-StorageClass"]);
    }

    #[test]
    fn the_order_follows_from_namespaces_kinds_and_charts() {
        let objects = [
            object("namespaces", "v1", "Namespace", ""),
            object("alerts", "example.com/v1", "Rule", "a"),
            object("apps", "apps/v1", "DaemonSet", "elsewhere"),
        ];
        let releases = [
            release("z-exporter", &EXPORTER, "a"),
            release("y-operator", &OPERATOR, "a"),
        ];
        let steps = steps(&objects, &releases);
        let shown: Vec<_> = steps
            .iter()
            .map(|step| {
                let needs = step.needs.iter();
                let needs: Vec<_> = needs
                    .map(|need| format!("{}: {}", need.step, need.because))
                    .collect();
                (step.name.as_str(), needs.join("; "))
            })
            .collect();
        let expected = [
            ("apps", ""),
            ("namespaces", ""),
            ("y-operator", "namespaces: it makes the namespace a"),
            (
                "alerts",
                "namespaces: it makes the namespace a; y-operator: it brings the kind Rule",
            ),
            (
                "z-exporter",
                "namespaces: it makes the namespace a; y-operator: its monitor is of the operator's kind",
            ),
        ];
        assert_eq!(
            shown,
            expected.map(|(name, needs)| (name, needs.to_owned()))
        );
    }
}
