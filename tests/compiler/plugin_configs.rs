//! Configurations of NVIDIA's device plugin in chart values: what the plugin advertises must be what the pool says.

use crate::support::compile_text;

const NONE: &str = "sharing: none";
const SLICED: &str = "sharing: {timeSlicing: {replicas: 4}}";
const MPS: &str = "sharing: {mps: {replicas: 4}}";
const MIG: &str =
    "sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}";

/// The messages and helps for a pool of A30s and values of the plugin's chart or of the operator.
fn findings(plugin: &str, sharing: &str, values: &str) -> Vec<String> {
    let (stack, chart) = match plugin {
        "operator" => ("driver: operator, devicePlugin: operator", "gpu-operator"),
        _ => (
            "driver: preinstalled, devicePlugin: nvidia",
            "nvidia-device-plugin",
        ),
    };
    let values = if values.is_empty() {
        String::new()
    } else {
        let lines = values.lines().map(|line| format!("      {line}\n"));
        format!(
            "charts:\n  {chart}:\n    values:\n{}",
            lines.collect::<String>()
        )
    };
    let outcome = compile_text(&format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{{stack}}}\nnodePools:\n\
         - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, {sharing}}}\n{values}"
    ));
    let found = outcome.findings.iter();
    found
        .map(|it| {
            let helps: Vec<_> = it.help.iter().map(ToString::to_string).collect();
            format!("{} {}; {}", it.code.id, it.message, helps.join(" "))
        })
        .collect()
}

fn config(name: &str, body: &str) -> String {
    let lines = body.lines().map(|line| format!("      {line}\n"));
    format!(
        "config:\n  map:\n    {name}: |\n      version: v1\n{}",
        lines.collect::<String>()
    )
}

fn shared(method: &str, replicas: u32) -> String {
    format!(
        "sharing:\n  {method}:\n    resources:\n    - {{name: nvidia.com/gpu, replicas: {replicas}}}"
    )
}

#[track_caller]
fn assert_findings(plugin: &str, sharing: &str, values: &str, expected: &[&str]) {
    assert_eq!(
        findings(plugin, sharing, values),
        expected,
        "{sharing}\n{values}"
    );
}

#[test]
fn pools_without_values_agree_with_their_configuration() {
    for sharing in [NONE, SLICED, MPS] {
        assert_findings("nvidia", sharing, "", &[]);
    }
    for sharing in [NONE, SLICED, MPS, MIG] {
        assert_findings("operator", sharing, "", &[]);
    }
}

#[test]
fn replicas_that_the_pool_does_not_have_are_reported() {
    let message = "GPUC3006 the device plugin advertises 4 replicas of each GPU by time-slicing on pool `gpu`; \
                   remove this value and write `sharing: {timeSlicing: {replicas: 4}}` for the pool";
    let four = shared("timeSlicing", 4);
    assert_findings("nvidia", NONE, &config("default", &four), &[message]);
    // The help, followed.
    assert_findings("nvidia", SLICED, "", &[]);
    // The same as gpuc writes, under the name of gpuc's own.
    assert_findings("nvidia", SLICED, &config("gpu", &four), &[]);
    let eight = shared("timeSlicing", 8);
    let message = message.replace('4', "8");
    assert_findings("nvidia", SLICED, &config("gpu", &eight), &[&message]);
    let by_mps = shared("mps", 4);
    let message = "GPUC3006 the device plugin advertises 4 replicas of each GPU by MPS on pool `gpu`; remove this \
                   value and write `sharing: {mps: {replicas: 4}}` for the pool";
    assert_findings("nvidia", SLICED, &config("gpu", &by_mps), &[message]);
}

#[test]
fn configuration_must_be_selected() {
    let four = shared("timeSlicing", 4);
    // In addition to gpuc's own `gpu`, a second configuration without a default.
    let message = "GPUC3006 no configuration of the device plugin is selected for pool `gpu`; remove this value, or \
                   set `config.default` to `gpu` or `other`";
    assert_findings("nvidia", SLICED, &config("other", &four), &[message]);
    let with_default = format!("{}  default: gpu\n", config("other", &four));
    assert_findings("nvidia", SLICED, &with_default, &[]);
    let with_missing = format!("{}  default: missing\n", config("other", &four));
    let message = "GPUC3006 the nodes of pool `gpu` select the configuration `missing` of the device plugin, which \
                   does not exist; add `missing`, or remove this value";
    assert_findings("nvidia", SLICED, &with_missing, &[message]);
    // gpuc cannot read an existing ConfigMap.
    assert_findings("nvidia", NONE, "config: {name: mine}\n", &[]);
}

#[test]
fn label_of_the_pool_must_select_an_existing_configuration() {
    let message = "GPUC3006 the nodes of pool `gpu` select the configuration `foo` of the device plugin, which does \
                   not exist; remove `nvidia.com/device-plugin.config: foo`: gpuc writes the configuration of the pool";
    let labelled = format!("{SLICED}, labels: {{nvidia.com/device-plugin.config: foo}}");
    assert_findings("nvidia", &labelled, "", &[message]);
}

#[test]
fn keys_that_the_plugin_does_not_read_are_reported() {
    for (body, message) in [
        (
            "sharing: {mig: {strategy: mixed}}",
            "GPUC3006 NVIDIA's device plugin does not read the key `sharing.mig`; remove it, and write `sharing: \
             {mig: ...}` for the pool",
        ),
        (
            "flags: {migStrategi: none}",
            "GPUC3006 NVIDIA's device plugin does not read the key `flags.migStrategi`; write `flags.migStrategy`",
        ),
        (
            "sharing: {timeSlicing: {renameByDefault: true}}",
            "GPUC3006 NVIDIA's device plugin refuses `sharing.timeSlicing` without `resources`; remove `timeSlicing`",
        ),
    ] {
        assert_findings("nvidia", NONE, &config("default", body), &[message]);
    }
    assert_findings(
        "nvidia",
        NONE,
        &config("default", "flags: {plugin: {passDeviceSpecs: true}}"),
        &[],
    );
    let [found] = &findings("nvidia", NONE, &config("default", "flags: [a"))[..] else {
        panic!("one finding");
    };
    assert!(found.contains("is not YAML: "), "{found}");
}

/// The plugin does not start with a value of another type, version or range.
#[test]
fn values_that_the_plugin_refuses_are_reported() {
    let replicas = |value: &str| {
        format!(
            "sharing: {{timeSlicing: {{resources: [{{name: nvidia.com/gpu, replicas: {value}}}]}}}}"
        )
    };
    let key = "`sharing.timeSlicing.resources[].replicas`";
    let at_least_two =
        "write an integer of at least 2; to advertise each GPU once, remove the section";
    for value in ["-3", "0", "1", "2.5", "\"2\""] {
        let message = format!(
            "GPUC3006 NVIDIA's device plugin refuses `{value}` as the value of {key}; {at_least_two}"
        );
        assert_findings(
            "nvidia",
            SLICED,
            &config("gpu", &replicas(value)),
            &[&message],
        );
    }
    // The plugin reads a float without a fraction as an integer.
    assert_findings("nvidia", SLICED, &config("gpu", &replicas("4.0")), &[]);
    let boolean = "write `true` or `false`, without quotes";
    for (body, value, key, help) in [
        (
            "flags: {failOnInitError: maybe}",
            "`\"maybe\"`",
            "flags.failOnInitError",
            boolean,
        ),
        (
            "flags: {migStrategy: all}",
            "`\"all\"`",
            "flags.migStrategy",
            "write `none`, `single` or `mixed`",
        ),
        (
            "flags: {plugin: {deviceListStrategy: [envvar, cdi]}}",
            "`\"cdi\"`",
            "flags.plugin.deviceListStrategy[]",
            "write `envvar`, `volume-mounts`, `cdi-annotations` or `cdi-cri`",
        ),
        (
            "sharing: {timeSlicing: foo}",
            "`\"foo\"`",
            "sharing.timeSlicing",
            "write a mapping",
        ),
        (
            "sharing: [timeSlicing]",
            "a list",
            "sharing",
            "write a mapping",
        ),
        (
            "sharing: {mps: {resources: {}}}",
            "a mapping",
            "sharing.mps.resources",
            "write a list",
        ),
    ] {
        let message = format!(
            "GPUC3006 NVIDIA's device plugin refuses {value} as the value of `{key}`; {help}"
        );
        assert_findings("nvidia", NONE, &config("default", body), &[&message]);
    }
    let renamed = "sharing:\n  timeSlicing:\n    renameByDefault: \"true\"\n    resources: [{name: gpu, replicas: 4}]";
    let message = format!(
        "GPUC3006 NVIDIA's device plugin refuses `\"true\"` as the value of `sharing.timeSlicing.renameByDefault`; \
         {boolean}"
    );
    assert_findings("nvidia", SLICED, &config("gpu", renamed), &[&message]);
    let nameless = "sharing: {timeSlicing: {resources: [{replicas: 4}]}}";
    let message = "GPUC3006 NVIDIA's device plugin refuses `sharing.timeSlicing.resources[]` without `name`; add `name`";
    assert_findings("nvidia", SLICED, &config("gpu", nameless), &[message]);
    let newer = "config:\n  map:\n    default: |\n      version: v2\n";
    let message =
        "GPUC3006 NVIDIA's device plugin refuses `\"v2\"` as the value of `version`; write `v1`";
    assert_findings("nvidia", NONE, newer, &[message]);
    for accepted in [
        "flags: {plugin: {deviceListStrategy: cdi-cri}, gfd: {sleepInterval: 60s, oneshot: null}}",
        "flags: {plugin: {deviceListStrategy: [envvar, cdi-cri], deviceIDStrategy: index}}",
        "sharing: {}\nimex: {channelIDs: [0], required: true}",
    ] {
        assert_findings("nvidia", NONE, &config("default", accepted), &[]);
    }
}

#[test]
fn mig_strategy_of_the_values_takes_precedence() {
    let message = "GPUC3006 the device plugin advertises MIG devices with the strategy `single` on pool `gpu`; remove \
                   this value and write `strategy: single` in `sharing.mig` of the pool";
    assert_findings("operator", MIG, "mig: {strategy: single}\n", &[message]);
    assert_findings("operator", MIG, "mig: {strategy: mixed}\n", &[]);
    // GPUs that are not partitioned are advertised alike.
    assert_findings("nvidia", NONE, "migStrategy: single\n", &[]);
}

#[test]
fn operator_configurations_are_compared() {
    let data = |name: &str, body: &str| {
        let body = config(name, body).replace("  map:", "  data:");
        let lines = body.lines().map(|line| format!("  {line}\n"));
        format!("devicePlugin:\n{}", lines.collect::<String>())
    };
    let eight = shared("timeSlicing", 8);
    let message = "GPUC3006 the device plugin advertises 8 replicas of each GPU by time-slicing on pool `gpu`; remove \
                   this value and write `sharing: {timeSlicing: {replicas: 8}}` for the pool";
    assert_findings("operator", SLICED, &data("gpu", &eight), &[message]);
    assert_findings("operator", SLICED, &data("unused", &eight), &[]);
    let sliced = "GPUC3006 the device plugin advertises 8 replicas of each GPU by time-slicing on pool `gpu`; remove \
                  this value and write `sharing: {timeSlicing: {replicas: 8}}` for the pool";
    assert_findings("operator", MIG, &data("gpu", &eight), &[sliced]);
    // A configuration for all nodes, as in the operator's documentation.
    let all = format!(
        "{}    name: shared\n    create: true\n    default: any\n",
        data("any", &eight)
    );
    assert_findings("operator", NONE, &all, &[message]);
}
