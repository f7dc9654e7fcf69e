//! Pools that cannot exist next to their replacement. The old pool is removed first, or renamed in the input.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

const SECOND_POOL_HINT: &str = "add a second pool";

fn diff_of_edit(text: &str, from: &str, to: &str) -> gpuc_diff::diff::Diff {
    assert!(text.contains(from), "{from}");
    diff_of_texts(text, &text.replace(from, to))
}

#[test]
fn full_reservation_has_no_machines_for_another_pool() {
    let network = "    network:\n";
    let placed = "    network:\n      placement: {group: a3-mega}\n";
    let found = edited("gke-training-a3", network, placed);
    assert_order(
        &found,
        &[
            "gpuc build",
            "Remove pool train before its replacement is created, because its reservation",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "gcloud container node-pools delete train",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    let steps_text = steps(&found);
    assert!(!steps_text.contains(SECOND_POOL_HINT), "{steps_text}");
    assert_eq!(
        steps_text.matches("node-pools delete").count(),
        1,
        "{steps_text}"
    );
    let pool = "  - name: train\n";
    let text = example("gke-training-a3");
    let at = text.find(pool).unwrap();
    let fixed = "    nodes: {count: 4}\n";
    let text = text.replace(fixed, "    nodes: {min: 2, max: 4}\n");
    let end = text.find("\nteams:").unwrap() + 1;
    let second = text[at..end].replace("name: train\n", "name: other\n");
    let second = second.replace("{min: 2, max: 4}", "{count: 2}");
    let found = diff_of_texts(&text, &format!("{}{second}{}", &text[..end], &text[end..]));
    assert_order(
        &found,
        &[
            "Reservation a3-mega has 4 machines, of which train may use 4. The new pool other needs 2,",
        ],
    );
    // A reservation of twice the size has capacity for both pools.
    let text = example("gke-training-a3").replace("id: a3-mega, count: 4", "id: a3-mega, count: 8");
    let found = diff_of_edit(&text, network, placed);
    assert_order(
        &found,
        &[SECOND_POOL_HINT, "cloud/apply.sh\n", "kubectl drain"],
    );
}

#[test]
fn reserved_pool_is_removed_before_its_renamed_successor() {
    for tool in ["", FLUX] {
        let text = example("eks-operator-h100") + tool;
        let found = diff_of_edit(&text, "name: train\n", "name: learn\n");
        assert_order(
            &found,
            &[
                "kubectl drain -l 'gpuc.dev/pool=train'",
                "eksctl delete nodegroup",
                "cloud/apply.sh\n",
                "cloud/verify.sh",
            ],
        );
        let steps_text = steps(&found);
        assert_eq!(
            steps_text.matches("kubectl drain").count(),
            1,
            "{steps_text}"
        );
        assert!(
            !steps_text.contains("leave it in gpu-cluster.yaml"),
            "{steps_text}"
        );
    }
}

#[test]
fn scripts_create_nodes_after_reserved_ones_are_gone() {
    let from = "    zones: [us-east-1a]\n    nodes: {min: 0, max: 2}\n";
    let to = "    zones: [us-east-1a]\n    nodes: {count: 2}\n";
    let text = example("eks-karpenter");
    assert_order(
        &diff_of_edit(&text, from, to),
        &[
            "gpuc build",
            "kubectl delete nodepools.karpenter.sh train",
            "cloud/apply.sh\n",
            "./install.sh",
        ],
    );
    assert_order(
        &diff_of_edit(&(text + FLUX), from, to),
        &[
            "gpuc build",
            "Right before the push",
            "kubectl drain -l 'gpuc.dev/pool=train,karpenter.sh/nodepool'",
            "Push or merge",
            "Wait until the nodes of pool train are gone",
            "cloud/apply.sh\n",
            "cloud/verify.sh",
        ],
    );
}

const VERSION: &str = "version: \"1.34\"";

#[test]
fn version_is_upgraded_after_incompatible_nodes_are_gone() {
    let found = edited("eks-operator-h100", VERSION, "version: \"1.35\"");
    let delete = "eksctl delete nodegroup --cluster=eks-operator-h100 --name=train";
    assert_order(
        &found,
        &[
            "gpuc build",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            delete,
            "cloud/apply.sh --allow-disruption",
            "./install.sh",
        ],
    );
    assert!(
        !steps(&found).contains(SECOND_POOL_HINT),
        "{}",
        steps(&found)
    );
    let over = edited("eks-operator-h100", VERSION, "version: \"1.36\"");
    assert_order(
        &over,
        &[
            "leave it out of gpu-cluster.yaml until the last",
            delete,
            "Set kubernetes.version to 1.35",
            "--allow-disruption",
            "# Set kubernetes.version to 1.36, build, review and commit",
            "--allow-disruption",
        ],
    );
}

#[test]
fn incompatible_nodes_are_renamed_if_both_have_machines() {
    let text = example("eks-operator-h100");
    let reserved = text.find("    capacity:\n").unwrap();
    let image = text.find("    # An image without a driver").unwrap();
    let with_reservation = format!("{}{}", &text[..reserved], &text[image..]);
    let raised = with_reservation.replace(VERSION, "version: \"1.35\"");
    let found = diff_of_texts(&with_reservation, &raised);
    assert_order(&found, &["rename it there", "gpuc build", "cloud/apply.sh"]);
    assert!(
        !steps(&found).contains(SECOND_POOL_HINT),
        "{}",
        steps(&found)
    );
    let renamed = raised.replace("name: train\n", "name: learn\n");
    assert_order(
        &diff_of_texts(&with_reservation, &renamed),
        &[
            "gpuc build",
            "cloud/apply.sh --allow-disruption",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "eksctl delete nodegroup",
        ],
    );
    // After the push, the GitOps controller no longer serves the pool under its old name, so that the pool is drained
    // before.
    let found = diff_of_texts(&(with_reservation + FLUX), &(renamed + FLUX));
    assert_order(
        &found,
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "gpuc build",
            "Push or merge",
        ],
    );
    assert!(
        !steps(&found).contains("leave it in gpu-cluster.yaml"),
        "{}",
        steps(&found)
    );
}

#[test]
fn original_pool_is_deleted_after_its_replacement_serves() {
    let machine = "machine: Standard_D4s_v5";
    let found = edited("aks-mig-a100", machine, "machine: Standard_D8s_v5");
    assert_order(
        &found,
        &["it was created together with the cluster: rename it"],
    );
    assert!(
        !steps(&found).contains(SECOND_POOL_HINT),
        "{}",
        steps(&found)
    );
    let delete = "az aks nodepool delete --subscription 00000000-1111-2222-3333-444444444444 --resource-group \
                  ml-notebooks --cluster-name aks-mig-a100 --name system --output none";
    for tool in ["", FLUX] {
        let text = example("aks-mig-a100") + tool;
        let other = text
            .replace("name: system\n", "name: system2\n")
            .replace(machine, "machine: Standard_D8s_v5");
        let found = diff_of_texts(&text, &other);
        assert_order(
            &found,
            &[
                "gpuc build",
                "cloud/apply.sh\n",
                "cloud/verify.sh",
                "kubectl drain -l 'gpuc.dev/pool=system'",
                delete,
            ],
        );
        assert!(
            !steps(&found).contains("leave it in gpu-cluster.yaml"),
            "{}",
            steps(&found)
        );
        let first = "  - name: system\n    machine: Standard_D4s_v5\n    nodes: {min: 2, max: 3}\n";
        assert!(text.contains(first));
        let with_system = text.replace(
            first,
            &format!("{first}{}", first.replace("system", "system2")),
        );
        let alone = text.replace(first, &first.replace("system", "system2"));
        assert_order(
            &diff_of_texts(&with_system, &alone),
            &[
                "cloud/apply.sh\n",
                "kubectl drain -l 'gpuc.dev/pool=system'",
                delete,
            ],
        );
    }
}

#[test]
fn full_reservation_has_no_machines_for_scripts() {
    let (from, to) = ("autoscaler: karpenter", "autoscaler: clusterAutoscaler");
    let found = edited("eks-karpenter", from, to);
    assert_order(
        &found,
        &[
            "gpuc build",
            "Remove pool train before its replacement is created, because its reservation",
            "kubectl delete nodepools.karpenter.sh train",
            "cloud/apply.sh\n",
            "./install.sh",
            "When the nodes that the scripts created for pool infer are ready",
        ],
    );
    let steps_text = steps(&found);
    assert!(
        !steps_text.contains("scripts created for pool train are ready"),
        "{steps_text}"
    );
    let text = example("eks-karpenter");
    let large = text.replace(
        "id: cr-0123456789abcdef0, count: 2",
        "id: cr-0123456789abcdef0, count: 4",
    );
    let found = diff_of_edit(&large, from, to);
    assert_order(&found, &["scripts created for pool train are ready"]);
}

#[test]
fn pool_that_is_removed_first_is_drained_once() {
    let text = example("eks-operator-h100");
    let os = text.find("    os: {family: Ubuntu").unwrap();
    let end = os + text[os..].find('\n').unwrap() + 1;
    let version = text.find("  driverVersion:").unwrap();
    let after = version + text[version..].find('\n').unwrap() + 1;
    let other = format!("{}{}{}", &text[..version], &text[after..os], &text[end..]);
    let other = other.replace("driver: operator", "driver: preinstalled");
    let found = diff_of_texts(&text, &other);
    let steps_text = steps(&found);
    assert_eq!(
        steps_text.matches("kubectl drain").count(),
        1,
        "{steps_text}"
    );
    assert!(!steps_text.contains("uncordon"), "{steps_text}");
    let found = edited(
        "gke-training-a3",
        "{network: gpu-7, subnetwork: gpu-7-us-central1}",
        "{network: gpu-7b, subnetwork: gpu-7b-us-central1}",
    );
    assert_order(
        &found,
        &[
            "gpuc build",
            "kubectl delete jobset pretrain --namespace research",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "./install.sh",
            "kubectl delete networks.networking.gke.io gpu-7-us-central1",
            "kubectl delete gkenetworkparamset gpu-7-us-central1",
        ],
    );
    assert_eq!(steps(&found).matches("delete jobset").count(), 1);
}
