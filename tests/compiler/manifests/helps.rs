//! Helps that misled users of public manifests: each must say what is right for the manifest.

use super::check;

fn pod(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: product}}\nspec: {{{spec}}}\n"
    )
}

/// The helps of the findings with a code. The name of the file selects the cluster.
fn helps(path: &str, text: &str, code: &str) -> Vec<String> {
    let (outcome, _) = check(path, text);
    let found = outcome.findings.into_iter().filter(|it| it.code.id == code);
    found.filter_map(|it| it.help).collect()
}

#[test]
fn helps_suit_the_manifest() {
    let container = "{name: a, image: \"r.example.com/a:1\"";
    let limits = |limits: &str| {
        let tolerations = "tolerations: [{operator: Exists}]";
        pod(&format!(
            "{tolerations}, containers: [{container}, resources: {{limits: {{{limits}}}}}}}]"
        ))
    };
    let class = |name: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {{name: t}}\nspec: {{spec: {{devices: \
             {{requests: [{{name: a, exactly: {{deviceClassName: {name}}}}}]}}}}}}\n"
        )
    };
    let allow = "check its RuntimeClass together with this file, or name the finding in `allow` if it exists";
    let driver = "remove the claim, or name the finding in `allow` if you install the driver of this class yourself";
    for (path, text, code, expected) in [
        // Without its RuntimeClass, the pod would run outside of the sandbox.
        (
            "eks.yaml",
            pod(&format!(
                "runtimeClassName: gvisor, containers: [{container}}}]"
            )),
            "GPUC4062",
            allow,
        ),
        (
            "eks.yaml",
            pod(&format!(
                "runtimeClassName: nvidia, containers: [{container}}}]"
            )),
            "GPUC4062",
            "remove `runtimeClassName`",
        ),
        // The pod requests the GPU already.
        (
            "lab.yaml",
            limits("nvidia.com/gpu: 1, nvidia.com/gpumem: 3000"),
            "GPUC4001",
            "remove it: `nvidia.com/gpu` is requested as well",
        ),
        // Programs for TPUs do not run on GPUs.
        (
            "lab.yaml",
            limits("google.com/tpu: 4"),
            "GPUC4033",
            "add the nodes with Google's TPUs to the cluster, and name the finding in `allow`",
        ),
        // An IMEX channel is no MIG device.
        ("claims.yaml", class("imex.nvidia.com"), "GPUC4019", driver),
        // Pod Security refuses the volume as well.
        (
            "pods.yaml",
            pod(&format!(
                "containers: [{container}}}], volumes: [{{name: h, hostPath: {{path: /dev/shm}}}}]"
            )),
            "GPUC4050",
            "replace the `hostPath` volume, and add the missing fields; or change `podSecurity` of the team",
        ),
    ] {
        assert_eq!(helps(path, &text, code), [expected], "{path}:\n{text}");
    }
}
