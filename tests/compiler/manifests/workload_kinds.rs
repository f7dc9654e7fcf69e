//! Values that YAML aliases share, pods that quotas and queues count, and pods of other controllers.

use super::{LAB, actual_findings, apply_fixes, check, clusters};
use crate::support::{Outcome, compile_text};

/// A Job in the team's namespace.
fn team_job(spec: &str, ask: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, namespace: research-dev}}\nspec:\n  {spec}\n  template:\n    \
         spec:\n      restartPolicy: Never\n      tolerations: [{{operator: Exists}}]\n      containers:\n      - name: a\n        \
         image: r.example.com/a:1\n        resources: {{limits: {{{ask}: 1}}}}\n"
    )
}

fn codes(outcome: &Outcome) -> Vec<&str> {
    let found = outcome.findings.iter();
    found.map(|it| it.code.id).collect()
}

fn codes_of(text: &str) -> Vec<String> {
    let (outcome, _) = check("a.yaml", text);
    codes(&outcome).into_iter().map(str::to_owned).collect()
}

/// Two pods, each with these resources. The second may refer to an anchor in the first.
fn two_pods(first: &str, second: &str) -> String {
    let pod = |name: &str, resources: &str| {
        format!(
            "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}}}\n  spec:\n    tolerations: [{{operator: Exists}}]\n    \
             containers:\n    - name: a\n      image: r.example.com/a:1\n      resources: {resources}\n"
        )
    };
    format!(
        "apiVersion: v1\nkind: List\nitems:\n{}{}",
        pod("a", first),
        pod("b", second)
    )
}

#[test]
fn aliased_values_are_reported_once_and_not_fixed() {
    let ask = "{requests: {nvidia.com/gpu: 1}}";
    let shared = two_pods(&format!("&r {ask}"), "*r");
    assert_eq!(codes_of(&shared), ["GPUC4002"]);
    assert_eq!(apply_fixes("a.yaml", &shared), (shared.clone(), 0));
    let merged = two_pods(&format!("&r {ask}"), "{<<: *r}");
    assert_eq!(apply_fixes("a.yaml", &merged).0, merged);
    let own = two_pods(&format!("&r {ask}"), "{}");
    let (after, count) = apply_fixes("a.yaml", &own);
    assert_eq!(count, 1);
    assert!(after.contains("limits: {nvidia.com/gpu: 1}"), "{after}");
}

#[test]
fn full_gpus_are_not_replaced_by_replicas() {
    let lab = &clusters()[LAB];
    let shares = lab.replace(
        "    hosts: [train-1, train-2]\n",
        "    hosts: [train-1, train-2]\n    sharing: {timeSlicing: {replicas: 4, rename: true}}\n",
    );
    let shares = shares.replace(
        "sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}\n",
        "sharing: {timeSlicing: {replicas: 2, rename: true}}\n",
    );
    let shares = shares.split("teams:").next().unwrap();
    let mut outcome = compile_text(shares);
    let text = two_pods(
        "{limits: {nvidia.com/gpu: 4}}",
        "{limits: {nvidia.com/GPU.shared: 1}}",
    );
    outcome.add_manifests(&[("a.yaml", &text)]);
    let fixes = outcome
        .findings
        .iter()
        .filter(|it| it.code.id == "GPUC4001");
    let fixes: Vec<_> = fixes.map(|it| it.fix.is_some()).collect();
    assert_eq!(fixes, [false, true], "{}", outcome.text());
}

#[test]
fn job_pods_are_limited_by_completions_and_suspension() {
    let ask = "nvidia.com/gpu";
    assert_eq!(codes_of(&team_job("parallelism: 16", ask)), ["GPUC4080"]);
    assert_eq!(
        codes_of(&team_job("parallelism: 16\n  completions: 8", ask)),
        [""; 0]
    );
    assert_eq!(
        codes_of(&team_job("parallelism: 16\n  suspend: true", ask)),
        [""; 0]
    );
}

#[test]
fn resources_outside_the_quota_are_zero() {
    assert_eq!(
        codes_of(&team_job("parallelism: 1", "nvidia.com/mig-1g.6gb")),
        ["GPUC4010"]
    );
}

#[test]
fn queues_add_tolerations_but_fix_no_names() {
    let lab = &clusters()[LAB];
    let queued = lab.replace("\nteams:", "\nqueueing: kueue\nteams:");
    let good = team_job("parallelism: 1", "nvidia.com/gpu")
        .replace("      tolerations: [{operator: Exists}]\n", "");
    for (text, code) in [
        (good.clone(), None),
        (
            good.replace(
                "      containers",
                "      nodeSelector: {gpuc.dev/pool: trian}\n      containers",
            ),
            Some("GPUC4006"),
        ),
        (
            good.replace("nvidia.com/gpu:", "nvidia.com/mig-1g.6gb:"),
            Some("GPUC4010"),
        ),
        (
            good.replace(
                "namespace: research-dev",
                "namespace: research-dev, labels: {kueue.x-k8s.io/queue-name: research}",
            ),
            Some("GPUC4024"),
        ),
        (
            good.replace(
                "namespace: research-dev",
                "namespace: research-dev, labels: {kueue.x-k8s.io/queue-name: default}",
            ),
            None,
        ),
    ] {
        let mut outcome = compile_text(&queued);
        let before = outcome.findings.len();
        outcome.add_manifests(&[("a.yaml", &text)]);
        let found = codes(&outcome).split_off(before);
        assert_eq!(found, Vec::from_iter(code), "{text}\n{}", outcome.text());
    }
}

#[test]
fn nearest_pool_is_suggested() {
    let selector =
        "nodeSelector: {gpuc.dev/pool: slices, kubernetes.io/arch: arm64}\n      containers";
    let text = team_job("parallelism: 1", "nvidia.com/gpu").replace("containers", selector);
    let (outcome, _) = check("a.yaml", &text);
    assert!(outcome.text().contains("slices"), "{}", outcome.text());
}

#[test]
fn pods_of_other_controllers_are_checked_or_reported() {
    let workflow = |step: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: a}}\nspec:\n  templates:\n  - name: a\n    \
             {step}: {{image: \"r.example.com/a:1\", resources: {{limits: {{nvidia.com/gpu: 9}}}}}}\n"
        )
    };
    assert_eq!(codes_of(&workflow("container")), ["GPUC4008"]);
    assert_eq!(codes_of(&workflow("script")), ["GPUC4008"]);
    assert_eq!(codes_of(&workflow("plugin")), ["GPUC4023"]);
    let service = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
                   containers:\n      - image: r.example.com/a:1\n        resources: {limits: {nvidia.com/gpu: 1}}\n";
    assert_eq!(codes_of(service), ["GPUC4004"]);
    let (outcome, _) = check("a.yaml", &workflow("plugin"));
    assert_eq!(actual_findings(&outcome).into_iter().next().unwrap().0, 7);
}

#[test]
fn overlapping_fixes_are_applied_in_turn() {
    let pod = |name: &str, resources: &str| {
        format!(
            "apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
    - {{name: main, image: \"registry.example.com/a:1\", resources: {{{resources}}}}}
"
        )
    };
    let wrong = "requests: {nvidia.com/GPU: 1}";
    let right = "requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}";
    for count in 1..4 {
        let text = |resources: &str| {
            let pods = (0..count).map(|index| pod(&format!("p{index}"), resources));
            pods.collect::<Vec<_>>().join("---\n")
        };
        let (after, _) = apply_fixes("a.yaml", &text(wrong));
        let fixed = after.matches(right).count();
        assert_eq!(fixed, count, "{after}");
        assert_eq!(check("a.yaml", &after).0.codes(), Vec::<&str>::new());
        assert_eq!(apply_fixes("a.yaml", &after), (after.clone(), 0));
    }
    // Other findings near an overlapping fix are fixed too.
    let (after, _) = apply_fixes(
        "a.yaml",
        &format!(
            "{}---\n{}",
            pod("a", wrong),
            pod("b", "requests: {nvidia.com/gpu: 1}")
        ),
    );
    assert_eq!(after.matches(right).count(), 2, "{after}");
}
