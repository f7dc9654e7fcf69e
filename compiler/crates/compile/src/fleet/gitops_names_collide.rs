//! Objects of two clusters have the same name in one Argo CD.

use std::collections::BTreeMap;

use gpuc_model::plan::Identity;
use gpuc_schema::Spanned;
use gpuc_schema::config::{Argocd, Gitops, GpuCluster};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::compile::Compilation;

/// Objects of two clusters have the same name in one Argo CD.
pub(super) static CODE: Code = Code {
    id: "GPUC2902",
    name: "gitops-names-collide",
    severity: Severity::Error,
    summary: "objects of two clusters have the same name in one Argo CD",
    checks: "Whether the Applications and AppProjects of two clusters have different names if one Argo CD may
manage both: in the same namespace, with `gitops.argocd.cluster` in at least one of them. Two
clusters without it have separate Argo CD instances. Flux always runs in the cluster that it
manages.",
        reason: "The names of the objects are `<cluster>-<part>`: the part `root` of a cluster `edge` has the same
name as a cluster `edge-root`. Of two objects with the same name, each commit applies the other one,
and Argo CD prunes the resources of the first.",
        remedy: "Rename one of the clusters. Clusters of different Argo CD instances can be built in separate runs.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: edge}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: edge}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/edge, cluster: edge}}
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: edge-root}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: edge-root}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/edge-root, cluster: edge-root}}
"#,
    correction: Correction::Whole(r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: edge}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: edge}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/edge, cluster: edge}}
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: hub}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: hub}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/hub, cluster: hub}}
"#),
};

/// A cluster that Argo CD manages.
struct Managed<'c> {
    cluster: &'c Spanned<String>,
    argocd: &'c Argocd,
}

/// An object of the same name in two clusters.
type Collision<'t, 'c> = (&'t Identity, &'t Managed<'c>, &'t Managed<'c>);

pub(super) fn check(compilations: &[Compilation], report: &mut Report) {
    // Each pair of clusters is reported once, with its first common object.
    let mut by_name: BTreeMap<&Identity, Vec<Managed<'_>>> = BTreeMap::new();
    let mut pairs: BTreeMap<(&str, &str), Vec<Collision<'_, '_>>> = BTreeMap::new();
    for compilation in compilations {
        let Some((config, argocd)) = compilation.config.as_deref().and_then(argocd) else {
            continue;
        };
        for identity in &compilation.controller_objects {
            let cluster = &config.metadata.name;
            let managed = by_name.entry(identity).or_default();
            managed.push(Managed { cluster, argocd });
        }
    }
    for (identity, managed) in &by_name {
        for (index, one) in managed.iter().enumerate() {
            for other in managed[..index].iter().filter(|it| may_collide(it, one)) {
                let names = (other.cluster.as_str(), one.cluster.as_str());
                pairs.entry(names).or_default().push((identity, other, one));
            }
        }
    }
    for found in pairs.values() {
        let (identity, other, one) = found[0];
        let names = format!("{} `{}`", identity.kind, identity.name);
        let more = match found.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let message = format!("the {names}{more} would exist for two clusters in one Argo CD");
        let builder = report.diagnostic(&CODE, one.cluster.span, message);
        builder
            .label(other.cluster.span, "this cluster has the same object")
            .help("rename one of the clusters: the names of these objects are `<cluster>-<part>`")
            .emit();
    }
}

/// The configuration of a cluster with its Argo CD settings.
fn argocd(config: &GpuCluster) -> Option<(&GpuCluster, &Argocd)> {
    match &config.gitops.as_ref()?.value {
        Gitops::Argocd(argocd) => Some((config, argocd)),
        Gitops::Flux(_) => None,
    }
}

/// Whether one Argo CD may manage both clusters. Another rule reports clusters of the same name.
fn may_collide(one: &Managed<'_>, other: &Managed<'_>) -> bool {
    let is_remote = one.argocd.cluster.is_some() || other.argocd.cluster.is_some();
    is_remote && one.cluster.value != other.cluster.value
}
