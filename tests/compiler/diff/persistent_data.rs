//! Persistent data in plans: no step deletes it without a warning.

use gpuc_diff::diff::{Diff, Impact};

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

const NAME: &str = "eks-training-job";

/// The example, deployed by Flux.
fn example_with_flux(name: &str) -> String {
    example(name) + FLUX
}

fn edited_by_flux(name: &str, from: &str, to: &str) -> Diff {
    let text = example_with_flux(name);
    assert!(text.contains(from), "{from} in {name}");
    diff_of_texts(&text, &text.replacen(from, to, 1))
}

/// The text up to the first occurrence of `from`.
fn truncate_from(text: &str, from: &str) -> String {
    text[..text.find(from).unwrap()].to_owned()
}

#[test]
fn renamed_claim_starts_empty_and_the_old_one_is_deleted_last() {
    for found in [
        edited(NAME, "name: finetune\n", "name: tune\n"),
        edited_by_flux(NAME, "name: finetune\n", "name: tune\n"),
    ] {
        assert_order(
            &found,
            &[
                "PersistentVolumeClaim research/tune-checkpoints is new and empty",
                "research/finetune-checkpoints (2000Gi)",
                "`from: {existingClaim: finetune-checkpoints}`",
                "gpuc build",
                "cloud/verify.sh",
                "Only if the data is no longer needed",
                "deletes 2000Gi of research/finetune-checkpoints",
                "kubectl delete persistentvolumeclaim finetune-checkpoints --namespace research",
            ],
        );
        let steps_text = steps(&found);
        let needed = steps_text
            .split("Only if the data is no longer needed")
            .next()
            .unwrap();
        assert!(
            !needed.contains("delete persistentvolumeclaim"),
            "{steps_text}"
        );
    }
}

#[test]
fn kept_claim_can_be_referenced() {
    let text = example(NAME);
    let renamed = text.replacen("name: finetune\n", "name: tune\n", 1);
    let claim = "{claim: {sizeGiB: 2000, class: shared}}";
    assert!(renamed.contains(claim));
    let kept = renamed.replacen(claim, "{existingClaim: finetune-checkpoints}", 1);
    let found = diff_of_texts(&text, &kept);
    assert!(
        !steps(&found).contains("is new and empty"),
        "{}",
        steps(&found)
    );
}

#[test]
fn claim_of_another_class_is_copied_before_deletion() {
    let (from, to) = ("sizeGiB: 2000, class: shared", "sizeGiB: 2000");
    let delete = "kubectl delete persistentvolumeclaim finetune-checkpoints --namespace research";
    assert_order(
        &edited(NAME, from, to),
        &[
            "gpuc build",
            "Stop the workloads that use PersistentVolumeClaim research/finetune-checkpoints",
            "kubectl delete trainjob finetune --namespace research",
            "Copy the data to keep (2000Gi",
            delete,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    // The class also determines the access mode: two immutable fields, one deletion.
    let scripted = steps(&edited(NAME, from, to));
    assert_eq!(scripted.matches(delete).count(), 1, "{scripted}");
    let by_flux = edited_by_flux(NAME, from, to);
    assert_order(
        &by_flux,
        &[
            "copy the data to keep (2000Gi",
            "gpuc build",
            "# Push or merge. Flux stops at objects that cannot be changed",
            &format!("{delete} --wait=false"),
            "kubectl delete trainjob finetune --namespace research",
            "kubectl wait --for=delete persistentvolumeclaim/finetune-checkpoints",
            "# Wait until Flux has synced it",
            "cloud/verify.sh",
        ],
    );
    let steps_text = steps(&by_flux);
    assert_eq!(
        steps_text.matches("Push or merge").count(),
        1,
        "{steps_text}"
    );
}

#[test]
fn releases_with_crds_are_uninstalled_only_if_unused() {
    let text = example(NAME);
    let removed = truncate_from(&text, "workloads:\n");
    assert_order(
        &diff_of_texts(&text, &removed),
        &[
            "cloud/verify.sh",
            "Only if kubeflow-trainer is no longer needed",
            "all users' objects of these kinds",
            "api-resources --api-group=trainer.kubeflow.org",
            "helm uninstall kubeflow-trainer --namespace kubeflow-system",
            "Only if jobset is no longer needed",
            "helm uninstall jobset --namespace jobset-system",
            "Only if the data is no longer needed",
        ],
    );
    // Flux would reinstall a release that was uninstalled with Helm alone.
    let by_flux = diff_of_texts(&example_with_flux(NAME), &format!("{removed}{FLUX}"));
    assert_order(
        &by_flux,
        &[
            "Only if kubeflow-trainer is no longer needed",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-training-job-kubeflow-trainer",
            "kubectl delete ocirepositories.source.toolkit.fluxcd.io eks-training-job-kubeflow-trainer",
        ],
    );
    assert!(!steps(&by_flux).contains("helm uninstall"));
    // Argo CD renders charts itself, so that Helm knows no release.
    let argo = FLUX.replace("flux", "argocd");
    let by_argo = diff_of_texts(&format!("{text}{argo}"), &format!("{removed}{argo}"));
    assert_order(
        &by_argo,
        &[
            "kubeflow-trainer is no longer needed",
            // The command needs the release's values, because with the default values the chart renders other objects.
            "printf %s '{",
            "helm template kubeflow-trainer ",
            " --values - | kubectl delete --ignore-not-found --filename -",
        ],
    );
    assert!(!steps(&by_argo).contains("helm uninstall"));
}

#[test]
fn hub_database_is_copied_before_deletion() {
    let name = "on-prem-mig";
    let text = example(name);
    let removed = truncate_from(&text, "notebooks:\n");
    let copy =
        "exec --namespace jupyterhub deployment/hub -- cat /srv/jupyterhub/jupyterhub.sqlite > ";
    assert_order(
        &diff_of_texts(&text, &removed),
        &[
            "cloud/verify.sh",
            "Only if JupyterHub is no longer needed",
            copy,
            "helm uninstall jupyterhub",
        ],
    );
    let by_flux = diff_of_texts(&example_with_flux(name), &format!("{removed}{FLUX}"));
    assert_order(
        &by_flux,
        &[
            "uninstalls JupyterHub as soon",
            copy,
            "gpuc build",
            "Push or merge",
        ],
    );
    assert!(!steps(&by_flux).contains("helm uninstall"));
}

#[test]
fn volume_in_use_is_deleted_after_its_claim() {
    let found = edited(
        "gke-inference-l4",
        "bucket: acme-models",
        "bucket: acme-models-2",
    );
    assert_order(
        &found,
        &[
            "gpuc build",
            "Save the manifest of PersistentVolumeClaim inference/models",
            "> claim-inference-models.json",
            "kubectl delete persistentvolumeclaim models --namespace inference --wait=false",
            "kubectl describe persistentvolumeclaim models --namespace inference",
            "kubectl wait --for=delete persistentvolumeclaim/models --namespace inference",
            "kubectl delete persistentvolume models\n",
            "./install.sh",
            "kubectl create --filename claim-inference-models.json",
        ],
    );
    let mut changes = found.changes.iter();
    let volume = changes.find(|it| it.kind == "PersistentVolume").unwrap();
    assert_eq!(volume.impact, Impact::WorkloadRestarted);
}

#[test]
fn dependents_of_deletions_are_named() {
    let found = edited(
        "eks-teams",
        "name: production, value: 1000",
        "name: production, value: 2000",
    );
    assert_order(
        &found,
        &[
            "right before they are recreated: running pods and existing volumes stay",
            "kubectl delete priorityclass production",
            "./install.sh",
        ],
    );
    // An annotation makes Flux recreate the object.
    let by_flux = edited_by_flux(
        "eks-teams",
        "production, value: 1000",
        "production, value: 2000",
    );
    for unneeded in ["priorityclass", "start over"] {
        let text = steps(&by_flux);
        assert!(!text.contains(unneeded), "{text}");
    }
}

#[test]
fn object_with_two_immutable_changes_is_deleted_once() {
    let found = edited(
        "eks-teams",
        "name: production, value: 1000",
        "name: production, value: 2000, preempts: false",
    );
    let text = steps(&found);
    let deletions = text.matches("kubectl delete priorityclass production");
    assert_eq!(deletions.count(), 1, "{text}");
}

#[test]
fn notebooks_without_a_hub_are_deleted_manually() {
    let pods = "pods --namespace jupyterhub -l component=singleuser-server";
    let without = |text: &str| {
        let (at, end) = (text.find("notebooks:\n").unwrap(), text.len());
        let tool = text.find("gitops:").unwrap_or(end);
        diff_of_texts(text, &format!("{}{}", &text[..at], &text[tool..]))
    };
    let text = example("on-prem-mig");
    for (text, last) in [
        (text.clone(), "helm uninstall jupyterhub"),
        (text + FLUX, "Push or merge"),
    ] {
        let found = without(&text);
        let (get, delete) = (format!("get {pods}"), format!("delete {pods}"));
        assert_order(
            &found,
            &["Running notebooks become unreachable", last, &get, &delete],
        );
        assert!(
            !steps(&found).contains("Running notebooks terminate"),
            "{}",
            steps(&found)
        );
    }
}
