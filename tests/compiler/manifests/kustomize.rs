//! Kustomize: objects that a kustomization patches are not reported; all others are checked.

use super::{LAB, cluster};

const POD: &str = "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: \
                   [{name: c, image: 'r.example.com/a:1', resources: {limits: {nvidia.com/gpu: 1}}}]}}}";

/// The files with findings.
fn files_with_findings(kustomization: &str) -> Vec<String> {
    let deployment = |name: &str| {
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\n{POD}\n")
    };
    let (one, two) = (deployment("one"), deployment("two"));
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: one}\nspec: {template: {spec: {tolerations: \
                 [{operator: Exists}], containers: [{name: c, image: 'r.example.com/a:2', resources: {limits: \
                 {nvidia.com/gpu: 1}}}]}}}\n";
    let base = "resources: [one.yaml, ./two.yaml]\n";
    let mut outcome = cluster(LAB);
    outcome.add_manifests(&[
        ("k/base/kustomization.yaml", base),
        ("k/base/one.yaml", &one),
        ("k/base/two.yaml", &two),
        ("k/prod/kustomization.yaml", kustomization),
        ("k/prod/patch.yaml", patch),
    ]);
    let places = outcome.findings.iter();
    let places = places.map(|it| {
        outcome
            .sources
            .locate(it.primary.span)
            .unwrap()
            .0
            .to_owned()
    });
    let mut places: Vec<_> = places.filter(|it| it != "gpu-cluster.yaml").collect();
    places.sort();
    places.dedup();
    places
}

#[test]
fn patched_objects_are_not_checked() {
    let (one, two) = ("k/base/one.yaml", "k/base/two.yaml");
    for (patches, expected) in [
        ("", &[one, two][..]),
        ("images: [{name: a, newTag: b}]", &[one, two]),
        ("patches: [{path: patch.yaml}]", &[two]),
        ("patchesStrategicMerge: [patch.yaml]", &[two]),
        (
            "patches: [{path: patch.yaml, target: {kind: Deployment}}]",
            &[],
        ),
        (
            "patches: [{path: json.yaml, target: {kind: Deployment, name: two}}]",
            &[one],
        ),
        (
            "patches: [{path: json.yaml, target: {kind: Deployment, name: 't.*'}}]",
            &[],
        ),
        (
            "patches: [{path: json.yaml, target: {kind: Job}}]",
            &[one, two],
        ),
        (
            "patches: [{patch: '{kind: Deployment, metadata: {name: two}}'}]",
            &[one],
        ),
        ("components: [../more]", &[]),
    ] {
        let text = format!("resources: [../base]\n{patches}\n");
        assert_eq!(files_with_findings(&text), expected, "{patches}");
        let header = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
        assert_eq!(
            files_with_findings(&format!("{header}{text}")),
            expected,
            "{patches}"
        );
    }
    // A kustomization of another base.
    let other =
        "resources: [../other]\npatches: [{path: patch.yaml, target: {kind: Deployment}}]\n";
    assert_eq!(files_with_findings(other), [one, two]);
}

/// kustomize sets the namespaces of subjects and the labels of selectors: they are not missing.
#[test]
fn fields_of_kustomizations_are_not_missing() {
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n\
                   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n\
                   subjects: [{kind: ServiceAccount, name: a}]\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: \
                      {labels: {a: b}}, spec: {containers: [{name: c, image: 'r.example.com/a:1'}]}}}\n";
    for (kustomization, expected) in [
        ("", &["GPUC4035", "GPUC4097"][..]),
        ("namespace: prod", &["GPUC4097"]),
        (
            "labels: [{pairs: {a: b}, includeSelectors: true}]",
            &["GPUC4035"],
        ),
        ("commonLabels: {a: b}", &["GPUC4035"]),
    ] {
        let kustomization = format!("resources: [a.yaml, b.yaml]\n{kustomization}\n");
        let mut outcome = cluster(LAB);
        outcome.add_manifests(&[
            ("k/kustomization.yaml", &kustomization),
            ("k/a.yaml", binding),
            ("k/b.yaml", deployment),
        ]);
        assert_eq!(outcome.codes(), expected, "{kustomization}");
    }
}
