//! Two clusters are deployed from the same path of a repository.

use std::collections::BTreeMap;

use gpuc_schema::config::{Gitops, GpuCluster};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::compile::Compilation;

/// Two clusters are deployed from the same path of a repository.
pub(super) static CODE: Code = Code {
    id: "GPUC2903",
    name: "gitops-path-shared",
    severity: Severity::Error,
    summary: "two clusters are deployed from the same path of a repository",
    checks: "Whether clusters whose `gitops` has the same repository and branch have different values of `path`.
HTTPS and SSH URLs of a repository are equal, with and without `.git`.",
        reason: "A directory contains the tree of one cluster. Both clusters would get this tree, with its pools,
taints and drivers. The GitOps controller prunes the resources of the other cluster.",
        remedy: "End each path with the cluster's name. If both clusters take `gitops` from the same base, set `path`
in each.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: one}
kubernetes: {version: "1.36"}
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
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: two}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: .}}
"#,
    correction: Correction::Whole(r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: one}
kubernetes: {version: "1.36"}
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
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: two}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/two}}
"#),
};

pub(super) fn check(compilations: &[Compilation], report: &mut Report) {
    let mut first: BTreeMap<_, (&GpuCluster, &Gitops)> = BTreeMap::new();
    for compilation in compilations {
        let config = compilation.config.as_deref();
        // The final values of a cluster with errors are not known yet.
        let Some(config) = config.filter(|_| compilation.output.is_some()) else {
            continue;
        };
        let Some(gitops) = config.gitops.as_ref().map(|it| &it.value) else {
            continue;
        };
        let key = (
            repository(gitops.repository()),
            gitops.branch().value.as_str(),
            path_parts(gitops.path()),
        );
        let before = *first.entry(key).or_insert((config, gitops));
        // Another rule reports clusters of the same name.
        if before.0.metadata.name.value != config.metadata.name.value {
            report_shared_path(before, (config, gitops), report);
        }
    }
}

fn report_shared_path(
    (before, its): (&GpuCluster, &Gitops),
    (config, gitops): (&GpuCluster, &Gitops),
    report: &mut Report,
) {
    let (one, other) = (&before.metadata.name, &config.metadata.name);
    let message =
        format!("clusters `{one}` and `{other}` are deployed from the same path of a repository");
    let builder = report.diagnostic(&CODE, gitops.path().span, message);
    let builder = if its.path().span == gitops.path().span {
        let builder = builder.label(one.span, "this cluster uses this path");
        builder.label(other.span, "this cluster uses the same path")
    } else {
        builder.label(its.path().span, format!("the same path for `{one}`"))
    };
    builder
        .help("end each path with its cluster's name: a directory contains the tree of one cluster")
        .emit();
}

/// Host and path of a repository, independent of the protocol.
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

/// The parts of a path, without `.` and empty parts.
fn path_parts(path: &str) -> Vec<&str> {
    let parts = path.split('/');
    parts.filter(|part| !matches!(*part, "" | ".")).collect()
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn repository_is_independent_of_the_protocol() {
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
