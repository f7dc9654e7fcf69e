//! One Argo CD would be told of two things by one name.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Argocd, Gitops, GpuCluster};

use crate::compile::Compilation;
use crate::diag::{Code, Report, Severity};
use crate::plan::Identity;

/// One Argo CD would be told of two things by one name.
pub(super) static CODE: Code = Code {
    id: "GPUC2902",
    name: "gitops-names-collide",
    severity: Severity::Error,
    summary: "one Argo CD would be told of two things by one name",
    explain: "### What it checks

Whether the Applications and AppProjects of two clusters have names of their own, where one Argo CD
may bring both: in one namespace, at least one of them with `gitops.argocd.cluster`. Two clusters
without it have an Argo CD each. Flux always runs in the cluster that it brings things to.

### Why it matters

What Argo CD is told of is called after the cluster and the part, `<cluster>-<part>`: the part `root`
of a cluster `edge` is called as a cluster `edge-root` is. Of two objects with one name each commit
brings the other one, and what the first had brought is removed.

### What to do

Give one of the clusters another name. Clusters of different Argo CDs can be built by runs of their
own.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: edge}
kubernetes: {version: "1.34"}
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
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: edge-root}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/edge-root, cluster: edge-root}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: edge}
kubernetes: {version: "1.34"}
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
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: hub}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/hub, cluster: hub}}
"#,
};

/// What an Argo CD is told of for a cluster.
struct Told<'c> {
    cluster: &'c Spanned<String>,
    argocd: &'c Argocd,
}

/// What meets for two clusters: what it is, and what each is told of.
type Meeting<'t, 'c> = (&'t Identity, &'t Told<'c>, &'t Told<'c>);

pub(super) fn check(compilations: &[Compilation], report: &mut Report) {
    // Several of one name are looked at one after the other: only the first of each cluster with another is told.
    let mut by_name: BTreeMap<&Identity, Vec<Told<'_>>> = BTreeMap::new();
    let mut pairs: BTreeMap<(&str, &str), Vec<Meeting<'_, '_>>> = BTreeMap::new();
    for compilation in compilations {
        let Some((config, argocd)) = compilation.config.as_deref().and_then(argocd) else {
            continue;
        };
        for identity in &compilation.tool_objects {
            let cluster = &config.metadata.name;
            let told = by_name.entry(identity).or_default();
            told.push(Told { cluster, argocd });
        }
    }
    for (identity, told) in &by_name {
        for (index, one) in told.iter().enumerate() {
            for other in told[..index].iter().filter(|it| may_meet(it, one)) {
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
        let message = format!("the {names}{more} would stand for two clusters in one Argo CD");
        let draft = report.draft(&CODE, one.cluster.span, message);
        draft
            .label(other.cluster.span, "this cluster has it too")
            .help("give one of them another name: what Argo CD is told of is called `<cluster>-<part>`")
            .emit();
    }
}

/// The cluster's input and what it says of Argo CD.
fn argocd(config: &GpuCluster) -> Option<(&GpuCluster, &Argocd)> {
    match &config.gitops.as_ref()?.value {
        Gitops::Argocd(argocd) => Some((config, argocd)),
        Gitops::Flux(_) => None,
    }
}

/// Whether one Argo CD may be told of both. Clusters of one name are another finding.
fn may_meet(one: &Told<'_>, other: &Told<'_>) -> bool {
    let is_elsewhere = one.argocd.cluster.is_some() || other.argocd.cluster.is_some();
    is_elsewhere && one.cluster.value != other.cluster.value
}
