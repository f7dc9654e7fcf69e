//! Clusters that share a GitOps controller or a repository.

use crate::support::compile_text;

/// A cluster with this name and this value of `gitops`.
fn cluster(name: &str, gitops: &str) -> String {
    format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: {name}}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: a}}}}
stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}
nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
charts: {{kueue: {{}}}}
gitops: {gitops}
"
    )
}

/// The messages of the findings with this code for several clusters.
fn findings_among(code: &str, clusters: &[String]) -> Vec<String> {
    let outcome = compile_text(&clusters.join("---\n"));
    let of_code = outcome.findings.iter().filter(|it| it.code.id == code);
    of_code.map(|it| it.message.clone()).collect()
}

fn argocd(name: &str, more: &str) -> String {
    let repository = "https://git.example.com/a.git";
    let gitops = format!(
        "{{argocd: {{repository: '{repository}', branch: main, path: clusters/{name}{more}}}}}"
    );
    cluster(name, &gitops)
}

#[test]
fn names_in_one_argo_cd_are_distinct() {
    let found = |clusters: &[String]| findings_among("GPUC2902", clusters);
    let elsewhere = ", cluster: x";
    let kueue = "the Application `ml-kueue` would exist for two clusters in one Argo CD";
    // Argo CD runs in the first cluster of each pair, or in another cluster.
    for (hub, other) in [("", elsewhere), (elsewhere, ""), (elsewhere, elsewhere)] {
        let of = |one: &str, another: &str| found(&[argocd(one, hub), argocd(another, other)]);
        assert_eq!(of("ml", "ml-kueue").len(), 1);
        assert_eq!(of("ml-kueue", "ml").len(), 1);
        assert!(of("ml", "lm").is_empty());
        // The root Application of `ml` is `ml-root`, so that `ml-other` does not collide with it.
        assert!(of("ml", "ml-other").is_empty());
    }
    let both = found(&[argocd("ml", elsewhere), argocd("ml-kueue", elsewhere)]);
    assert_eq!(both, [kueue]);
    // Each cluster has its own Argo CD.
    assert!(found(&[argocd("ml", ""), argocd("ml-kueue", "")]).is_empty());
    let namespaced = argocd("ml-kueue", ", cluster: x, namespace: other");
    assert!(found(&[argocd("ml", elsewhere), namespaced]).is_empty());
    // Clusters with equal names have another finding.
    assert!(found(&[argocd("ml", elsewhere), argocd("ml", elsewhere)]).is_empty());
    // Each collision is reported.
    let three = ["ml", "ml-root", "ml-kueue"].map(|name| argocd(name, elsewhere));
    assert_eq!(found(&three).len(), 2);
}

#[test]
fn folder_belongs_to_one_cluster() {
    let found = |one: &str, other: &str| {
        let clusters = [cluster("one", one), cluster("two", other)];
        findings_among("GPUC2903", &clusters)
    };
    let flux = |host: &str, branch: &str, path: &str| {
        format!(
            "{{flux: {{repository: '{host}a.git', branch: {branch}, path: {path}, secret: s}}}}"
        )
    };
    let one = flux("https://git.example.com/", "main", "clusters/one");
    for same in [
        flux("https://git.example.com/", "main", "./clusters//one/"),
        flux("ssh://git@git.example.com/", "main", "clusters/one"),
        one.replace("flux", "argocd").replace(", secret: s", ""),
    ] {
        assert_eq!(
            found(&one, &same),
            ["clusters `one` and `two` are deployed from the same path of a repository"],
            "{same}"
        );
    }
    for other in [
        flux("https://git.example.com/", "main", "clusters/two"),
        flux("https://git.example.com/", "test", "clusters/one"),
        flux("https://git.example.org/", "main", "clusters/one"),
        flux("https://git.example.com/", "main", "clusters/one/two"),
    ] {
        assert!(found(&one, &other).is_empty(), "{other}");
    }
}
