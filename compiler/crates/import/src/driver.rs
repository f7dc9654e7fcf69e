//! Who installs the driver: the keys `driver` and `driverVersion`.

use gpuc_live::objects::{Object, Pod};
use gpuc_live::state::Kind;
use gpuc_schema::config::{DevicePlugin, DriverOwner};

use crate::cloud_files::CloudPool;
use crate::configs::{cluster_policy, name_of};
use crate::context::{Context, label_source};
use crate::groups::Group;
use crate::json::{source, text, word};
use crate::stack::pod_source;
use crate::tree::{Evidence, Item};

/// The label with which the GPU Operator marks nodes that have a driver.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 `controllers/state_manager.go`; the value is from memory.
const DRIVER_LABEL: &str = "nvidia.com/gpu.deploy.driver";

/// Settings of `stack`.
type Settings = Vec<(&'static str, Item)>;

/// The settings of the driver on the nodes of a group: first what runs on the nodes, then what the cloud and the labels
/// say, and last what follows from pods that do not run.
pub(crate) fn driver(
    cx: &Context<'_>,
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    pods: &[&Pod],
    plugin: Option<DevicePlugin>,
) -> Settings {
    of_pods(cx, group, pods)
        .or_else(|| of_cloud(described?))
        .or_else(|| of_label(cx, group))
        .or_else(|| of_policy(cx, group))
        .or_else(|| of_absent_pods(cx, plugin?))
        .unwrap_or_default()
}

fn owner(driver: DriverOwner, evidence: Evidence) -> (&'static str, Item) {
    ("driver", Item::text(word(&driver)).with(evidence))
}

fn of_pods(cx: &Context<'_>, group: &Group<'_>, pods: &[&Pod]) -> Option<Settings> {
    let has_name = |pod: &Pod, part: &str| {
        let own = pod.metadata.name.as_str();
        let name = pod.metadata.controller().map_or(own, |it| &it.name);
        name.contains(part)
    };
    let is_driver = |pod: &&&Pod| has_name(pod, "nvidia-driver-daemonset") || is_driver_pod(pod);
    if let Some(pod) = pods.iter().find(is_driver) {
        let own = owner(DriverOwner::Operator, Evidence::sure(pod_source(pod)));
        let version = version(cx, group, Some(pod));
        return Some(std::iter::once(own).chain(version).collect());
    }
    let pod = pods.iter().find(|pod| has_name(pod, "driver-installer"))?;
    Some(vec![owner(
        DriverOwner::DaemonSet,
        Evidence::sure(pod_source(pod)),
    )])
}

/// The driver that GKE or AKS installs.
fn of_cloud(pool: &CloudPool<'_>) -> Option<Settings> {
    let pointer = "/config/accelerators/0/gpuDriverInstallationConfig/gpuDriverVersion";
    if let Some(version) = text(pool.value, pointer) {
        let field = "config.accelerators[0].gpuDriverInstallationConfig.gpuDriverVersion";
        let at = source(pool.object(), field, version);
        if version == "INSTALLATION_DISABLED" {
            return Some(vec![owner(DriverOwner::DaemonSet, Evidence::sure(at))]);
        }
        let latest =
            (version == "LATEST").then(|| ("driverVersion", Item::text("latest").sure(&at)));
        let own = owner(DriverOwner::Preinstalled, Evidence::sure(at));
        return Some(std::iter::once(own).chain(latest).collect());
    }
    let driver = text(pool.value, "/gpuProfile/driver").filter(|it| *it == "None")?;
    let at = source(pool.object(), "gpuProfile.driver", driver);
    Some(vec![owner(
        DriverOwner::Operator,
        Evidence::guess(at, "AKS installs no driver"),
    )])
}

fn of_label(cx: &Context<'_>, group: &Group<'_>) -> Option<Settings> {
    let label = group.label(DRIVER_LABEL);
    let (value, node) = label.filter(|(value, _)| *value == "pre-installed")?;
    let evidence = Evidence::sure(label_source(node, DRIVER_LABEL, value));
    Some(vec![owner(on_the_nodes(cx), evidence)])
}

fn of_policy(cx: &Context<'_>, group: &Group<'_>) -> Option<Settings> {
    let policy = cluster_policy(cx).filter(|it| it.get("/spec/driver/enabled") == true)?;
    let at = source(
        name_of("ClusterPolicy", policy),
        "spec.driver.enabled",
        "true",
    );
    if cx.is_complete(Kind::Pod) {
        // No driver pod runs: the operator found a driver on the nodes.
        let evidence = Evidence::guess(at, "the operator runs no driver pod on the nodes");
        return Some(vec![owner(on_the_nodes(cx), evidence)]);
    }
    let own = owner(
        DriverOwner::Operator,
        Evidence::guess(at, "the pods are not known"),
    );
    Some(
        std::iter::once(own)
            .chain(version(cx, group, None))
            .collect(),
    )
}

/// An existing cluster does not say who installed the driver. Where the default is a pod, and none runs, it is not the
/// default.
fn of_absent_pods(cx: &Context<'_>, plugin: DevicePlugin) -> Option<Settings> {
    let default = cx.cloud.default_driver(plugin);
    let is_pod = matches!(default, DriverOwner::Operator | DriverOwner::DaemonSet);
    if !is_pod || !cx.is_complete(Kind::Pod) {
        return None;
    }
    let evidence = Evidence::guess("Pods", "no pod installs a driver on the nodes");
    Some(vec![owner(on_the_nodes(cx), evidence)])
}

/// The version of the driver that the GPU Operator installs: in the NVIDIADriver that selects the nodes, in the image
/// of the driver's pod, or in the `ClusterPolicy`.
fn version(cx: &Context<'_>, group: &Group<'_>, pod: Option<&Pod>) -> Option<(&'static str, Item)> {
    let selects = |driver: &&Object| {
        let selector = driver.get("/spec/nodeSelector").as_object();
        selector.is_some_and(|selector| {
            let mut nodes = group.nodes.iter();
            nodes.all(|node| {
                let mut labels = selector.iter();
                labels.all(|(key, value)| node.metadata.label(key) == value.as_str())
            })
        })
    };
    let mut drivers = cx.state.objects(Kind::NvidiaDriver).iter();
    let of_driver = drivers.find(selects).map(|it| {
        let version = it.text("/spec/version");
        (
            version,
            source(name_of("NVIDIADriver", it), "spec.version", version),
        )
    });
    let of_pod = || Some((driver_tag(pod?)?.0, pod_source(pod?)));
    let of_policy = || {
        let policy = cluster_policy(cx)?;
        let version = policy.text("/spec/driver/version");
        let at = source(
            name_of("ClusterPolicy", policy),
            "spec.driver.version",
            version,
        );
        Some((version, at))
    };
    let found = of_driver.or_else(of_pod).or_else(of_policy);
    let (version, at) = found.filter(|(version, _)| !version.is_empty())?;
    Some(("driverVersion", Item::text(version).sure(at)))
}

/// The version of the driver and the operating system in the tag of NVIDIA's driver container:
/// `580.95.05-ubuntu24.04`, or with the kernel in between.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 `internal/image` and `controllers/object_controls.go` (`getDriverSpec`).
pub(crate) fn driver_tag(pod: &Pod) -> Option<(&str, &str)> {
    let mut images = pod.spec.containers.iter().map(|it| it.image.as_str());
    let image = images.find(|image| image.contains("/driver:"))?;
    let (_, tag) = image.split_once("/driver:")?;
    let (version, rest) = tag.split_once('-')?;
    let is_version =
        version.starts_with(|c: char| c.is_ascii_digit()) && version.matches('.').count() == 2;
    let os = rest.rsplit('-').next().unwrap_or(rest);
    is_version.then_some((version, os))
}

/// The owner of a driver that no pod installs.
fn on_the_nodes(cx: &Context<'_>) -> DriverOwner {
    if cx.cloud.facts().creates_machines {
        DriverOwner::Preinstalled
    } else {
        DriverOwner::Host
    }
}

/// Whether a pod is a driver container of the GPU Operator, by its labels.
fn is_driver_pod(pod: &Pod) -> bool {
    let component = pod.metadata.label("app.kubernetes.io/component");
    component == Some("nvidia-driver")
        || pod.metadata.label("app") == Some("nvidia-driver-daemonset")
}
