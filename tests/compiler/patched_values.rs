//! Patched values: images and priorities.

use crate::support::compile_text;

/// The findings, as code and message, for a job with these other settings and this `podPatch`.
fn findings_for_patch(settings: &str, patch: &str) -> Vec<String> {
    let yaml = format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.36\"}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools:
  - name: gpu
    gpu: {{model: A30, perNode: 2}}
    hosts: [gpu-1, gpu-2]
    nodes: {{count: 2}}
priorities: [{{name: prod, value: 100}}, {{name: low, value: 1, default: true, preempts: false}}]
workloads:
  - name: w
    job: {{image: 'registry.example.com/m:1.0.0'}}
    {settings}
    podPatch: {{{patch}}}
"
    );
    let outcome = compile_text(&yaml);
    let found = outcome.findings.iter();
    found
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect()
}

#[track_caller]
fn assert_findings(settings: &str, patch: &str, expected: &[&str]) {
    assert_eq!(
        findings_for_patch(settings, patch),
        expected,
        "{settings} {patch}"
    );
}

#[test]
fn images_are_valid() {
    let main = |image: &str| format!("containers: [{{name: main, image: {image}}}]");
    let empty = "GPUC3012 the `image` of container `main` is empty";
    assert_findings("", &main("''"), &[empty]);
    let removed = "GPUC3012 `podPatch.containers.main.image` removes a required field";
    assert_findings("", &main("null"), &[removed]);
    let spaced = "GPUC3012 `spec.template.spec.containers[0].image` is `r.example.com/m: 1`, but an image name cannot \
                  contain spaces";
    assert_findings("", &main("'r.example.com/m: 1'"), &[spaced]);
    let side = "containers: [{name: side, image: ''}]";
    assert_findings("", side, &["GPUC3012 container `side` has no image"]);
    assert_findings("", &main("'r.example.com/m:2'"), &[]);
}

#[test]
fn patch_can_name_another_priority_class() {
    assert_findings("priority: prod", "priorityClassName: low", &[]);
    assert_findings(
        "priority: prod",
        "priorityClassName: system-node-critical",
        &[],
    );
    let unknown = "GPUC3014 unknown PriorityClass `lwo`";
    assert_findings("priority: prod", "priorityClassName: lwo", &[unknown]);
    assert_findings("", "priorityClassName: prod", &[]);
}

#[test]
fn priority_numbers_match_their_class() {
    let is = |key: &str, value: &str, of: &str| {
        format!("GPUC3013 the `{key}` of a pod is {value}, but {of}")
    };
    let prod = "its PriorityClass `prod` has 100";
    let default = "the default PriorityClass `low` has 1";
    for (settings, patch, message) in [
        ("priority: prod", "priority: 100", None),
        (
            "priority: prod",
            "priority: 5",
            Some(is("priority", "5", prod)),
        ),
        ("", "priority: 5", Some(is("priority", "5", default))),
        ("", "priority: 1", None),
        (
            "priority: prod",
            "preemptionPolicy: PreemptLowerPriority",
            None,
        ),
        (
            "priority: prod",
            "preemptionPolicy: Never",
            Some(is("preemptionPolicy", "`Never`", prod)),
        ),
        ("", "preemptionPolicy: Never", None),
        (
            "priority: prod",
            "priorityClassName: system-cluster-critical, priority: 100",
            Some(is(
                "priority",
                "100",
                "its PriorityClass `system-cluster-critical` has 2000000000",
            )),
        ),
    ] {
        let message: Vec<_> = message.iter().map(String::as_str).collect();
        assert_findings(settings, patch, &message);
    }
}
