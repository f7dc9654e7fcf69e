//! Stored data in plans: no step deletes any as if nobody needed it.

use gpuc::diff::{Diff, Impact};

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

const NAME: &str = "eks-training-job";

/// The example, brought by Flux.
fn by_flux(name: &str) -> String {
    example(name) + FLUX
}

fn edited_by_flux(name: &str, from: &str, to: &str) -> Diff {
    let text = by_flux(name);
    assert!(text.contains(from), "{from} in {name}");
    of_texts(&text, &text.replacen(from, to, 1))
}

/// Without what begins here, up to the end of the file.
fn without(text: &str, from: &str) -> String {
    text[..text.find(from).unwrap()].to_owned()
}

#[test]
fn a_claim_of_another_name_begins_empty_and_the_old_one_is_deleted_last_if_at_all() {
    for found in [
        edited(NAME, "name: finetune\n", "name: tune\n"),
        edited_by_flux(NAME, "name: finetune\n", "name: tune\n"),
    ] {
        in_order(
            &found,
            &[
                "claim research/tune-checkpoints is new and begins empty",
                "research/finetune-checkpoints (2000Gi)",
                "`from: {existingClaim: finetune-checkpoints}`",
                "gpuc build",
                "cloud/verify.sh",
                "Only when nobody wants the data any more",
                "deletes 2000Gi of research/finetune-checkpoints",
                "kubectl delete persistentvolumeclaim finetune-checkpoints --namespace research",
            ],
        );
        let said = steps(&found);
        let needed = said
            .split("Only when nobody wants the data")
            .next()
            .unwrap();
        assert!(!needed.contains("delete persistentvolumeclaim"), "{said}");
    }
}

#[test]
fn what_the_input_is_told_of_a_kept_claim_keeps_it() {
    let text = example(NAME);
    let renamed = text.replacen("name: finetune\n", "name: tune\n", 1);
    let claim = "{claim: {sizeGiB: 2000, class: shared}}";
    assert!(renamed.contains(claim));
    let kept = renamed.replacen(claim, "{existingClaim: finetune-checkpoints}", 1);
    let found = of_texts(&text, &kept);
    assert!(!steps(&found).contains("begins empty"), "{}", steps(&found));
}

#[test]
fn a_claim_of_another_class_is_copied_before_it_is_deleted() {
    let (from, to) = ("sizeGiB: 2000, class: shared", "sizeGiB: 2000");
    let delete = "kubectl delete persistentvolumeclaim finetune-checkpoints --namespace research";
    in_order(
        &edited(NAME, from, to),
        &[
            "gpuc build",
            "Stop what uses claim research/finetune-checkpoints",
            "kubectl delete trainjob finetune --namespace research",
            "Copy what is to be kept of the 2000Gi",
            delete,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    let by_flux = edited_by_flux(NAME, from, to);
    in_order(
        &by_flux,
        &[
            "copy what is to be kept of the 2000Gi",
            "gpuc build",
            "# Push, or merge. Flux stops at what cannot be changed",
            &format!("{delete} --wait=false"),
            "kubectl delete trainjob finetune --namespace research",
            "kubectl wait --for=delete persistentvolumeclaim/finetune-checkpoints",
            "# Wait until Flux has brought it",
            "cloud/verify.sh",
        ],
    );
    let said = steps(&by_flux);
    assert_eq!(said.matches("Push, or merge").count(), 1, "{said}");
}

#[test]
fn releases_that_bring_kinds_leave_only_where_nobody_else_has_objects_of_them() {
    let text = example(NAME);
    let gone = without(&text, "workloads:\n");
    in_order(
        &of_texts(&text, &gone),
        &[
            "cloud/verify.sh",
            "Only if nobody in the cluster needs kubeflow-trainer",
            "everybody's objects of them",
            "api-resources --api-group=trainer.kubeflow.org",
            "helm uninstall kubeflow-trainer --namespace kubeflow-system",
            "Only if nobody in the cluster needs jobset",
            "helm uninstall jobset --namespace jobset-system",
            "Only when nobody wants the data any more",
        ],
    );
    // Flux would install again what only Helm was told to remove.
    let by_flux = of_texts(&by_flux(NAME), &format!("{gone}{FLUX}"));
    in_order(
        &by_flux,
        &[
            "Only if nobody in the cluster needs kubeflow-trainer",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-training-job-kubeflow-trainer",
            "kubectl delete ocirepositories.source.toolkit.fluxcd.io eks-training-job-kubeflow-trainer",
        ],
    );
    assert!(!steps(&by_flux).contains("helm uninstall"));
    // Helm knows nothing of what Argo CD renders.
    let argo = FLUX.replace("flux", "argocd");
    let by_argo = of_texts(&format!("{text}{argo}"), &format!("{gone}{argo}"));
    in_order(
        &by_argo,
        &[
            "needs kubeflow-trainer",
            // With the values that it had: the chart's own make other objects.
            "printf %s '{",
            "helm template kubeflow-trainer ",
            " --values - | kubectl delete --ignore-not-found --filename -",
        ],
    );
    assert!(!steps(&by_argo).contains("helm uninstall"));
}

#[test]
fn the_database_of_a_hub_is_copied_before_it_goes() {
    let name = "on-prem-mig";
    let text = example(name);
    let gone = without(&text, "notebooks:\n");
    let copy =
        "exec --namespace jupyterhub deployment/hub -- cat /srv/jupyterhub/jupyterhub.sqlite > ";
    in_order(
        &of_texts(&text, &gone),
        &[
            "cloud/verify.sh",
            "Only when nobody wants JupyterHub any more",
            copy,
            "helm uninstall jupyterhub",
        ],
    );
    let by_flux = of_texts(&by_flux(name), &format!("{gone}{FLUX}"));
    in_order(
        &by_flux,
        &[
            "uninstalls JupyterHub as soon",
            copy,
            "gpuc build",
            "Push, or merge",
        ],
    );
    assert!(!steps(&by_flux).contains("helm uninstall"));
}

#[test]
fn a_volume_in_use_is_deleted_after_its_claim() {
    let found = edited(
        "gke-inference-l4",
        "bucket: acme-models",
        "bucket: acme-models-2",
    );
    in_order(
        &found,
        &[
            "gpuc build",
            "Save what claim inference/models says",
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
fn it_is_said_what_ends_with_what_is_deleted() {
    let found = edited(
        "eks-teams",
        "name: production, value: 1000",
        "name: production, value: 2000",
    );
    in_order(
        &found,
        &[
            "right before it is brought anew: pods that run and volumes that are there stay",
            "kubectl delete priorityclass production",
            "./install.sh",
        ],
    );
    // Flux makes it anew itself, by a mark on it.
    let by_flux = edited_by_flux(
        "eks-teams",
        "production, value: 1000",
        "production, value: 2000",
    );
    assert!(
        !steps(&by_flux).contains("delete priorityclass"),
        "{}",
        steps(&by_flux)
    );
}

#[test]
fn notebooks_without_a_hub_are_deleted_by_somebody() {
    let pods = "pods --namespace jupyterhub -l component=singleuser-server";
    let without = |text: &str| {
        let (at, end) = (text.find("notebooks:\n").unwrap(), text.len());
        let tool = text.find("gitops:").unwrap_or(end);
        of_texts(text, &format!("{}{}", &text[..at], &text[tool..]))
    };
    let text = example("on-prem-mig");
    for (text, last) in [
        (text.clone(), "helm uninstall jupyterhub"),
        (text + FLUX, "Push, or merge"),
    ] {
        let found = without(&text);
        let (get, delete) = (format!("get {pods}"), format!("delete {pods}"));
        in_order(
            &found,
            &["Notebooks that run stay without a hub", last, &get, &delete],
        );
        assert!(
            !steps(&found).contains("Notebooks that run end"),
            "{}",
            steps(&found)
        );
    }
}
