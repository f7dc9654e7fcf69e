//! Profiles of JupyterHub in chart values: notebooks with GPUs must fit a pool, and the help makes them fit.

use crate::support::{Outcome, compile_text};

const OWN: &str = "kubespawner_override";

/// A cluster with a pool of A30s behind a taint, and these values below `singleuser`.
fn compile(singleuser: &str) -> Outcome {
    compile_text(&format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{devicePlugin: nvidia}}\nnodePools:\n\
         - {{name: cpu, hosts: [a], nodes: {{count: 1}}}}\n\
         - name: gpu\n  hosts: [b]\n  nodes: {{count: 1}}\n  gpu: {{model: A30, perNode: 4}}\n  \
         taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]\n\
         notebooks: {{jupyterHub: {{image: \"r.example.com/n:1\", secret: hub, \
         profiles: [{{name: CPU, pool: cpu}}, {{name: A30, pool: gpu}}]}}}}\n\
         charts: {{jupyterhub: {{values: {{hub: {{config: {{JupyterHub: {{authenticator_class: github}}}}}}, \
         singleuser: {singleuser}}}}}}}\n"
    ))
}

fn findings(singleuser: &str) -> Vec<String> {
    let outcome = compile(singleuser);
    let found = outcome.findings.iter();
    found
        .map(|it| {
            let help: Vec<_> = it.help.iter().map(ToString::to_string).collect();
            format!("{} {}; {}", it.code.id, it.message, help.join(" "))
        })
        .collect()
}

const GPU: &str = "extra_resource_limits: {nvidia.com/gpu: \"1\"}";
const TOLERATIONS: &str = "tolerations: [{\"effect\":\"NoSchedule\",\"key\":\"nvidia.com/gpu\",\
                           \"operator\":\"Equal\",\"value\":\"present\"}]";

fn profile(own: &str) -> String {
    format!("{{profileList: [{{display_name: A30, {OWN}: {{{own}}}}}]}}")
}

#[test]
fn missing_toleration_is_reported_and_its_help_fits() {
    let expected = format!(
        "GPUC3007 the notebooks of this profile fit no pool; add `{TOLERATIONS}` to `{OWN}`, or write the profile as \
         `notebooks.jupyterHub.profiles` with its `pool`"
    );
    assert_eq!(findings(&profile(GPU)), std::slice::from_ref(&expected));
    assert_eq!(
        findings(&profile(&format!("{GPU}, {TOLERATIONS}"))),
        [""; 0]
    );
    // gpuc's own profiles, and profiles without GPUs.
    assert_eq!(findings("{}"), [""; 0]);
    assert_eq!(findings(&profile("mem_limit: 2G")), [""; 0]);
    // A choice of an option, merged over its profile.
    let choice = |own: &str, choice: &str| {
        format!(
            "{{profileList: [{{display_name: a, {OWN}: {{{own}}}, profile_options: {{size: {{choices: {{one: \
             {{{OWN}: {{{choice}}}}}}}}}}}}}]}}"
        )
    };
    assert_eq!(findings(&choice("mem_limit: 2G", GPU)), [expected]);
    assert_eq!(findings(&choice(TOLERATIONS, GPU)), [""; 0]);
}

#[test]
fn tolerations_and_selectors_of_all_notebooks_count() {
    let all = "extraTolerations: [{key: nvidia.com/gpu, operator: Exists}]";
    let list =
        |own: &str| format!("{{{all}, profileList: [{{display_name: A30, {OWN}: {{{own}}}}}]}}");
    assert_eq!(findings(&list(GPU)), [""; 0]);
    // The list of a profile replaces the common one.
    assert_eq!(findings(&list(&format!("{GPU}, tolerations: []"))).len(), 1);
    assert_eq!(
        findings(&list(&format!(
            "{GPU}, node_selector: {{gpuc.dev/pool: gpu}}"
        ))),
        [""; 0]
    );
    let elsewhere = findings(&list(&format!(
        "{GPU}, node_selector: {{gpuc.dev/pool: cpu}}"
    )));
    assert_eq!(elsewhere.len(), 1, "{elsewhere:?}");
    assert!(!elsewhere[0].contains("tolerations"), "{elsewhere:?}");
    let many = list("extra_resource_limits: {nvidia.com/gpu: \"5\"}");
    assert_eq!(findings(&many).len(), 1);
    let missing = list("extra_resource_limits: {nvidia.com/mig-1g.6gb: \"1\"}");
    assert_eq!(findings(&missing).len(), 1);
}
