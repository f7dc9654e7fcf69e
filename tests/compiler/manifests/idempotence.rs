//! `--fix` is idempotent: a second run changes nothing.

use super::apply_fixes;

/// Texts, and their expected content after one run.
const FIXED_TEXTS: &[(&str, &str)] = &[
    (
        "'apiVersion': v1\n\"kind\": Pod\n\"metadata\": {\"name\": x, 'namespace': other}\n\
         \"spec\":\n  \"containers\":\n  \
         - 'name': c\n    \"image\": a/a:1\n    \"resources\": {\"limits\": {\"nvidia.com/GPU\": '1'}}\n",
        "'apiVersion': v1\n\"kind\": Pod\n\"metadata\": {\"name\": x, 'namespace': other}\n\
         \"spec\":\n  \"containers\":\n  \
         - 'name': c\n    \"image\": a/a:1\n    \"resources\": {\"limits\": {\"nvidia.com/gpu\": '1'}}\n  \
         tolerations:\n  - key: nvidia.com/gpu\n    operator: Equal\n    value: present\n    effect: NoSchedule\n",
    ),
    (
        "'apiVersion': v1\n\"kind\": Pod\n\"metadata\": {\"name\": x}\n? spec\n: containers:\n  - name: c\n    \
         image: a/a:1\n    resources: {limits: {\"nvidia.com/GPU\": '1'}}\n",
        "'apiVersion': v1\n\"kind\": Pod\n\"metadata\": {\"name\": x}\n? spec\n: containers:\n  - name: c\n    \
         image: a/a:1\n    resources: {limits: {\"nvidia.com/gpu\": '1'}}\n",
    ),
    // The misspelled key is corrected, and no second list is added.
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  \
         toleration: [{key: nvidia.com/gpu, operator: Exists}]\n  containers:\n  - name: c\n    image: a/a:1\n    \
         resources:\n      limits:\n        nvidia.com/gpu: 1\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  \
         tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n  containers:\n  - name: c\n    image: a/a:1\n    \
         resources:\n      limits:\n        nvidia.com/gpu: 1\n",
    ),
    (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  tolerations: [{operator: Exists}]\n  \
         \"nodeSelectors\": {gpuc.dev/pool: train}\n  containers:\n  - name: c\n    image: a/a:1\n    \
         resources: {limits: {nvidia.com/gpu: 1}}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  tolerations: [{operator: Exists}]\n  \
         \"nodeSelector\": {gpuc.dev/pool: train}\n  containers:\n  - name: c\n    image: a/a:1\n    \
         resources: {limits: {nvidia.com/gpu: 1}}\n",
    ),
    // The correction of `cotainners` only helps after that of `siz%`: without the size of a group, the size of a
    // subgroup becomes a second mistake.
    (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: groups}\nspec:\n  \
         leaderWorkerTemplate:\n    siz%: 4\n    subGroupPolicy: {subGroupSize: 5}\n    \
         workerTemplate:\n      spec:\n        cotainners: [{name: c, image: \"a/a:1\"}]\n",
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: groups}\nspec:\n  \
         leaderWorkerTemplate:\n    size: 4\n    subGroupPolicy: {subGroupSize: 5}\n    \
         workerTemplate:\n      spec:\n        containers: [{name: c, image: \"a/a:1\"}]\n",
    ),
];

#[test]
fn fixes_are_idempotent() {
    for (text, after) in FIXED_TEXTS {
        let (fixed, _) = apply_fixes("a.yaml", text);
        assert_eq!(&fixed, after);
        assert_eq!(apply_fixes("a.yaml", &fixed), (fixed.clone(), 0));
    }
}
