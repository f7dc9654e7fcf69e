//! Two clusters are brought from one folder of one repository.

use std::collections::BTreeMap;

use gpuc_schema::config::{Gitops, GpuCluster};

use crate::compile::Compilation;
use crate::diag::{Code, Report, Severity};

/// Two clusters are brought from one folder of one repository.
pub(super) static CODE: Code = Code {
    id: "GPUC2903",
    name: "gitops-path-shared",
    severity: Severity::Error,
    summary: "two clusters are brought from one folder of one repository",
    explain: "### What it checks

Whether the clusters whose `gitops` has the same repository and branch have a `path` each. A
repository is the same by `https://` and by SSH, with and without `.git`.

### Why it matters

A folder holds the tree of one cluster. Both clusters would get that one, with its pools, taints and
drivers, and what the other one had would be removed from it.

### What to do

End each path in its cluster's name. Where both take `gitops` from one base, write `path` in each.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: one}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: one}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: .}}
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: two}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: two}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: .}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: one}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: one}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/one}}
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: two}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: two}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/two}}
"#,
};

pub(super) fn check(compilations: &[Compilation], report: &mut Report) {
    let mut first: BTreeMap<_, (&GpuCluster, &Gitops)> = BTreeMap::new();
    for compilation in compilations {
        let config = compilation.config.as_deref();
        // Of a cluster with errors nobody knows yet what its keys will say.
        let Some(config) = config.filter(|_| compilation.output.is_some()) else {
            continue;
        };
        let Some(gitops) = config.gitops.as_ref().map(|it| &it.value) else {
            continue;
        };
        let key = (
            repository(gitops.repository()),
            gitops.branch().value.as_str(),
            folder(gitops.path()),
        );
        let before = *first.entry(key).or_insert((config, gitops));
        // Clusters of one name are another finding.
        if before.0.metadata.name.value != config.metadata.name.value {
            emit(before, (config, gitops), report);
        }
    }
}

fn emit(
    (before, its): (&GpuCluster, &Gitops),
    (config, gitops): (&GpuCluster, &Gitops),
    report: &mut Report,
) {
    let (one, other) = (&before.metadata.name, &config.metadata.name);
    let message = format!("`{one}` and `{other}` are brought from one folder of one repository");
    let draft = report.draft(&CODE, gitops.path().span, message);
    let draft = if its.path().span == gitops.path().span {
        let draft = draft.label(one.span, "it takes the path from there");
        draft.label(other.span, "and so does this one")
    } else {
        draft.label(its.path().span, format!("the same for `{one}`"))
    };
    draft
        .help("end each path in its cluster's name: a folder holds one cluster's tree")
        .emit();
}

/// Host and path of a repository, however it is reached.
fn repository(url: &str) -> String {
    let (host, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/'),
        None => url.split_once(':'),
    }
    .unwrap_or((url, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    format!("{}/{path}", host.to_ascii_lowercase())
}

/// A path without `.` and doubled or last slashes.
fn folder(path: &str) -> Vec<&str> {
    let parts = path.split('/');
    parts.filter(|part| !matches!(*part, "" | ".")).collect()
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn a_repository_is_the_same_however_it_is_reached() {
        for url in [
            "https://git.example.com/acme/gitops.git",
            "https://Git.example.com/acme/gitops",
            "https://git.example.com:8443/acme/gitops/",
            "ssh://git@git.example.com:2222/acme/gitops.git",
            "git@git.example.com:acme/gitops.git",
        ] {
            assert_eq!(repository(url), "git.example.com/acme/gitops", "{url}");
        }
        for url in [
            "https://git.example.com/acme/other.git",
            "https://git.example.org/acme/gitops.git",
            "https://git.example.com/Acme/gitops.git",
        ] {
            assert_ne!(repository(url), "git.example.com/acme/gitops", "{url}");
        }
    }
}
