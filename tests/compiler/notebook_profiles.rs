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
        "GPUC3007 the notebooks of this profile fit no pool; set `{TOLERATIONS}` in `{OWN}`, or write the profile as \
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

/// A profile with these overrides and options: the overrides of each option's choices.
fn profile_with_options(own: &str, options: &[&[&str]]) -> String {
    let options = options.iter().enumerate().map(|(option, choices)| {
        let choices = choices.iter().enumerate();
        let choices = choices.map(|(choice, own)| format!("c{choice}: {{{OWN}: {{{own}}}}}"));
        let choices = choices.collect::<Vec<_>>().join(", ");
        format!("o{option}: {{choices: {{{choices}}}}}")
    });
    let options = options.collect::<Vec<_>>().join(", ");
    format!(
        "{{profileList: [{{display_name: a, {OWN}: {{{own}}}, profile_options: {{{options}}}}}]}}"
    )
}

/// A notebook has the overrides of its profile, and then those of one choice of each option.
#[test]
fn choices_of_all_options_are_combined() {
    let image = "image: \"r.example.com/other:1\"";
    for (own, options) in [
        // One option has the resource, another the tolerations.
        (
            "mem_limit: 2G",
            &[&[image, GPU][..], &[image, TOLERATIONS]][..],
        ),
        // The profile has the resource, an option the tolerations.
        (GPU, &[&[TOLERATIONS][..], &[image, "mem_limit: 2G"]]),
        (GPU, &[&[image][..], &[image, TOLERATIONS]]),
        // A choice removes the resource of the profile.
        (
            GPU,
            &[&["extra_resource_limits: {nvidia.com/gpu: null}"][..]],
        ),
        (
            GPU,
            &[&["extra_resource_limits: {nvidia.com/gpu: \"0\"}"][..]],
        ),
    ] {
        let found = findings(&profile_with_options(own, options));
        assert_eq!(found, [""; 0], "{own} {options:?}");
    }
    let cpu = "node_selector: {gpuc.dev/pool: cpu}";
    let with_tolerations = format!("{GPU}, {TOLERATIONS}");
    for (own, options) in [
        (GPU, &[&[image][..], &[image, "mem_limit: 2G"]][..]),
        ("mem_limit: 2G", &[&[image, GPU][..], &[image, cpu]]),
        ("mem_limit: 2G", &[&[image, cpu][..], &[image, GPU]]),
        (
            &with_tolerations,
            &[&[image, cpu][..], &[image, "mem_limit: 2G"]],
        ),
        (
            &with_tolerations,
            &[&["tolerations: []"][..], &["mem_limit: 2G"]],
        ),
    ] {
        let found = findings(&profile_with_options(own, options));
        assert_eq!(found.len(), 1, "{own} {options:?} {found:#?}");
    }
    let too_many: Vec<String> = (0..12)
        .map(|it| format!("tolerations: [{{key: k{it}}}]"))
        .collect();
    let too_many: Vec<&str> = too_many.iter().map(String::as_str).collect();
    let options = [&too_many[..]; 4];
    assert_eq!(findings(&profile_with_options(GPU, &options)), [""; 0]);
}

/// A person can enter a value instead of a choice.
#[test]
fn entered_values_are_unknown() {
    let profile = |own: &str| {
        format!(
            "{{profileList: [{{display_name: a, {OWN}: {{{GPU}}}, profile_options: {{size: {{unlisted_choice: \
             {{enabled: true, {OWN}: {{{own}}}}}}}}}}}]}}"
        )
    };
    assert_eq!(
        findings(&profile("tolerations: [{key: \"{value}\"}]")),
        [""; 0]
    );
    assert_eq!(findings(&profile("image: \"{value}\"")).len(), 1);
}

/// `extra_pod_config` replaces the keys of the pod, after every other override.
#[test]
fn pod_config_decides() {
    let pod = |tolerations: &str| format!("{GPU}, extra_pod_config: {{{tolerations}}}");
    assert_eq!(findings(&profile(&pod(TOLERATIONS))), [""; 0]);
    let none = findings(&profile(&format!(
        "{TOLERATIONS}, {}",
        pod("tolerations: []")
    )));
    assert_eq!(none.len(), 1, "{none:?}");
    assert!(none[0].contains("in `extra_pod_config`"), "{none:?}");
    let snake = pod(&format!(
        "{TOLERATIONS}, node_selector: {{gpuc.dev/pool: cpu}}"
    ));
    assert_eq!(findings(&profile(&snake)).len(), 1);
    let all = format!(
        "{{extraPodConfig: {{{TOLERATIONS}}}, profileList: [{{display_name: A30, {OWN}: {{{GPU}}}}}]}}"
    );
    assert_eq!(findings(&all), [""; 0]);
    let elsewhere = "node_affinity_required: [{matchExpressions: [{key: gpuc.dev/pool, operator: In, values: [cpu]}]}]";
    assert_eq!(
        findings(&profile(&format!("{GPU}, {TOLERATIONS}, {elsewhere}"))).len(),
        1
    );
}

#[test]
fn help_names_the_largest_number() {
    let many = format!("extra_resource_limits: {{nvidia.com/gpu: \"5\"}}, {TOLERATIONS}");
    let found = findings(&profile(&many));
    assert_eq!(
        found,
        ["GPUC3007 the notebooks of this profile fit no pool; request at most 4 `nvidia.com/gpu`"]
    );
    let other = format!("extra_resource_limits: {{amd.com/gpu: \"1\"}}, {TOLERATIONS}");
    assert_eq!(findings(&profile(&other)), [""; 0]);
}
