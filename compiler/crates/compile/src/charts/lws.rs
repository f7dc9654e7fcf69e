//! `LeaderWorkerSet`: pods that serve one model over several nodes, and start and fail together.

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_schema::config::Task;
use serde_json::json;

use super::{required_by, single_release};

/// The chart.
pub static LWS: Chart = Chart {
    name: "lws",
    repository: "oci://registry.k8s.io/lws/charts",
    version: "0.10.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(26),
        newest: None,
        source: "kubernetes-sigs/lws@v0.10.0 site/content/en/docs/installation/_index.md, 2026-08-11",
    }),
    namespace: "lws-system",
    pod_security: PodSecurity::Baseline,
    crds: Crds::Folder,
    api_groups: &["leaderworkerset.x-k8s.io"],
    dependencies: &[],
    releases,
    source: "kubernetes-sigs/lws@v0.10.0 charts/lws/values.yaml, 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let settings = cluster.config.charts.lws.as_ref();
    let wanted = required_by(cluster, settings, |task| {
        matches!(task, Task::LeaderWorkerSet(_))
    });
    let image = json!({"manager": {
        "repository": "registry.k8s.io/lws/lws",
        "tag": "v0.10.0",
        "pullPolicy": "IfNotPresent",
    }});
    single_release(&LWS, wanted, &json!({"image": image}))
}
