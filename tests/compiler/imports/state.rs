//! The state of a cluster that runs what its tree installs, as a snapshot that contains every kind.

use gpuc_live::read::{read_files, resource_name};
use gpuc_live::redact::redact_object;
use gpuc_live::state::{ClusterState, KINDS, Kind};
use serde_json::{Map, Value, json};

use super::super::live::healthy::{Healthy, NOW, documents};
use super::{clouds, releases};

/// Whether the files of the state are from `gpuc snapshot` and live clusters, or from `kubectl get -o json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    /// Environment variables, and the data of most ConfigMaps, are removed.
    Redacted,
    /// Everything is as in the cluster.
    Kept,
}

/// The state of a cluster.
pub(super) fn state(healthy: &Healthy, secrets: Secrets) -> ClusterState {
    let mut objects = objects(healthy);
    if secrets == Secrets::Redacted {
        for object in &mut objects {
            let group = object["apiVersion"].as_str().unwrap_or_default();
            let group = group.split_once('/').map_or("", |(group, _)| group);
            let kind = Kind::find(group, object["kind"].as_str().unwrap());
            if let Some(kind) = kind {
                redact_object(kind, object);
            }
        }
    }
    let count = |name: &str| objects.iter().filter(|it| it["kind"] == name).count();
    let kinds = KINDS.iter().map(|info| {
        let entry = json!({"state": "complete", "count": count(info.name)});
        (resource_name(info.kind), entry)
    });
    let kinds: Map<String, Value> = kinds.collect();
    let manifest = json!({
        "version": 1, "gpuc": "0.1.0", "time": NOW, "serverVersion": server_version(healthy), "kinds": kinds,
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let files = [
        ("gpuc-snapshot.json", manifest.to_string()),
        ("objects.json", list.to_string()),
    ];
    let paths = files.each_ref().map(|(path, _)| (*path).to_owned());
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found
            .map(|(_, text)| text.clone().into_bytes())
            .ok_or_else(String::new)
    };
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, [], "{}", healthy.name);
    state
}

fn server_version(healthy: &Healthy) -> String {
    let cluster = healthy.outcome.compilations[healthy.index]
        .cluster
        .as_ref()
        .unwrap();
    format!("v{}.2", cluster.kubernetes.expect_resolved().value)
}

/// The objects of the healthy cluster, with what the cloud writes to nodes, the objects of the GitOps controller, and
/// those of the charts.
fn objects(healthy: &Healthy) -> Vec<Value> {
    let compilation = &healthy.outcome.compilations[healthy.index];
    let cluster = compilation.cluster.as_ref().unwrap();
    let (tree, _) = compilation.output.as_ref().unwrap();
    let mut objects = healthy.objects.clone();
    let mut slices = Vec::new();
    for pool in &cluster.pools {
        let hosts = &pool.settings.hosts;
        for index in 0..hosts.len().max(8) {
            let name = hosts.get(index).map_or_else(
                || format!("{}-node-{index}", pool.name.value),
                |host| host.value.clone(),
            );
            let mut nodes = objects.iter_mut().filter(|it| it["kind"] == "Node");
            if let Some(node) = nodes.find(|it| it["metadata"]["name"] == name.as_str()) {
                node["status"]["nodeInfo"]["kubeletVersion"] = server_version(healthy).into();
                clouds::add_node_fields(cluster, pool, index, node);
                releases::add_gpu_labels(pool, node);
                slices.extend(releases::resource_slice(pool, node));
            }
        }
    }
    for (path, file) in tree.files() {
        let is_yaml = path.rsplit('.').next() == Some("yaml");
        if is_yaml && (path.starts_with("flux/") || path.starts_with("argocd/")) {
            let own = documents(&file.contents).into_iter();
            objects.extend(own.filter(|it| it["apiVersion"] != "kustomize.config.k8s.io/v1beta1"));
        }
    }
    objects.extend(slices);
    objects.extend(releases::objects(compilation));
    objects
}
