//! Findings that an object allows with the annotation `gpuc.dev/allow`.

use gpuc_manifests as manifests;
use gpuc_manifests::Manifests;
use gpuc_syntax::diag::{Levels, Report, Severity, apply_levels};

use super::{LAB, cluster};

/// A GPU pod with a floating image tag, which causes a warning.
const POD: &str = "tolerations: [{operator: Exists}], containers: [{name: a, image: \"r.example.com/a:latest\", \
    resources: {limits: {nvidia.com/gpu: 1}}}]";

fn pod_with_allow(allow: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{gpuc.dev/allow: \"{allow}\"}}}}\nspec: \
         {{{spec}}}\n---\n"
    )
}

fn deployment_with_allow(on_object: &str, on_template: &str) -> String {
    let annotations = |allow: &str| format!("annotations: {{gpuc.dev/allow: \"{allow}\"}}");
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a, {}}}\nspec:\n  \
         selector: {{matchLabels: {{a: b}}}}\n  \
         template:\n    metadata: {{labels: {{a: b}}, {}}}\n    spec: {{{POD}}}\n",
        annotations(on_object),
        annotations(on_template)
    )
}

/// The ids and severities of the findings.
fn ids_and_severities(text: &str, deny: &[&str]) -> Vec<(&'static str, Severity)> {
    let mut outcome = cluster(LAB);
    let (mut manifests, mut report) = (Manifests::default(), Report::default());
    manifests.read("a.yaml", text, &mut outcome.sources, &mut report);
    let compiled = outcome.compilations[0].cluster.as_ref().unwrap();
    manifests::check(compiled, &manifests, &outcome.sources, &mut report);
    let levels = Levels {
        deny: deny.iter().map(|it| (*it).to_owned()).collect(),
    };
    apply_levels(report.diagnostics_mut(), &[], &levels);
    let found = report.diagnostics().iter();
    found.map(|it| (it.code.id, it.severity)).collect()
}

#[test]
fn object_can_allow_its_own_warnings() {
    let floating = ("GPUC4016", Severity::Warning);
    assert_eq!(
        ids_and_severities(&pod_with_allow("", POD), &[]),
        [floating]
    );
    for allow in ["manifest-image-floating", "GPUC4016", " GPUC4016 ,"] {
        assert_eq!(
            ids_and_severities(&pod_with_allow(allow, POD), &[]),
            [],
            "{allow}"
        );
    }
    assert_eq!(
        ids_and_severities(&deployment_with_allow("GPUC4016", ""), &[]),
        []
    );
    assert_eq!(
        ids_and_severities(&deployment_with_allow("", "GPUC4016"), &[]),
        []
    );
    let of_one = format!(
        "{}{}",
        pod_with_allow("GPUC4016", POD),
        pod_with_allow("", POD).replace("{name: a, annotations", "{name: b, annotations")
    );
    assert_eq!(ids_and_severities(&of_one, &[]), [floating]);
    let denied = ids_and_severities(&pod_with_allow("GPUC4016", POD), &["GPUC4016"]);
    assert_eq!(denied, [("GPUC4016", Severity::Error)]);
}

#[test]
fn former_name_in_an_annotation_is_accepted() {
    let visible = "containers: [{name: a, image: \"r.example.com/a:1.0.0\", \
    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]";
    assert_eq!(
        ids_and_severities(&pod_with_allow("", visible), &[]),
        [("GPUC4012", Severity::Warning)]
    );
    assert_eq!(
        ids_and_severities(&pod_with_allow("manifest-sees-all-gpus", visible), &[]),
        []
    );
    let unused = ids_and_severities(
        &pod_with_allow("manifest-label-elsewhere, GPUC4012", visible),
        &[],
    );
    assert_eq!(unused, [("GPUC4089", Severity::Warning)]);
}

#[test]
fn unused_allow_annotations_are_reported() {
    let plain = "tolerations: [{operator: Exists}], containers: [{name: a, image: \"r.example.com/a:1.0.0\", \
    resources: {limits: {nvidia.com/gpu: 1}}}]";
    let unused = ("GPUC4089", Severity::Warning);
    let unknown = ("GPUC4088", Severity::Error);
    assert_eq!(
        ids_and_severities(&pod_with_allow("GPUC4016", plain), &[]),
        [unused]
    );
    assert_eq!(
        ids_and_severities(&pod_with_allow("GPUC4016, GPUC4087", POD), &[]),
        [unused]
    );
    assert_eq!(
        ids_and_severities(&pod_with_allow("manifest-image-floatin", plain), &[]),
        [unknown]
    );
    // An error cannot be allowed. The annotation for a finding behind the error is not reported as unused.
    let wrong = "tolerations: [{operator: Exists}], containers: [{name: a, image: \"r.example.com/a:1.0.0\", \
    resources: {limits: {nvidia.com/gpu: 0.5}}}]";
    let mut both = ids_and_severities(&pod_with_allow("GPUC4003, GPUC4016", wrong), &[]);
    both.sort_unstable_by_key(|it| it.0);
    assert_eq!(both, [("GPUC4003", Severity::Error), unknown]);
}
