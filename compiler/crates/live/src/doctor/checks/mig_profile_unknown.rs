//! The MIG configuration that a node names does not exist.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Severity};
use serde_json::Value;

use super::mig_configuration_failed::{CONFIG_LABEL, STATE_LABEL};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7412",
        name: "mig-profile-unknown",
        severity: Severity::Error,
        summary: "the MIG configuration that a node names does not exist",
        checks: "Whether the label `nvidia.com/mig.config` of each node whose MIG configuration failed names a \
configuration in a ConfigMap of NVIDIA's MIG manager.",
        reason: "The MIG manager refuses the configuration, and the node keeps its earlier MIG devices.",
        remedy: "Correct the label, or add the configuration to the ConfigMap. The names of profiles depend on the GPU \
model: `1g.10gb` of an H100 with 80 GB is `1g.12gb` on one with 96 GB.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels:
        nvidia.com/gpu.present: "true"
        nvidia.com/mig.config: all-1g.5bg
        nvidia.com/mig.config.state: failed
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: default-mig-parted-config, namespace: gpu-operator}
    data:
      config.yaml: |
        version: v1
        mig-configs:
          all-disabled: [{devices: all, mig-enabled: false}]
          all-1g.5gb: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
"#,
        correction: Correction::Replace(
            "nvidia.com/mig.config: all-1g.5bg
        nvidia.com/mig.config.state: failed",
            "nvidia.com/mig.config: all-1g.5gb
        nvidia.com/mig.config.state: success",
        ),
    },
    layer: Layer::Sharing,
    is_symptom: false,
    needs: &[Kind::Node, Kind::ConfigMap],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let failed = ctx.nodes.iter().filter(|node| {
        node.node.is_ready() && node.node.metadata.label(STATE_LABEL) == Some("failed")
    });
    let failed: Vec<_> = failed.collect();
    if failed.is_empty() {
        return;
    }
    let maps = ctx.state.objects(Kind::ConfigMap).iter();
    let maps: Vec<_> = maps
        .filter_map(|map| Some((map, configurations(map)?)))
        .collect();
    let Some((first, _)) = maps.first() else {
        return;
    };
    let known: BTreeSet<&str> = maps
        .iter()
        .flat_map(|(_, names)| names.iter().map(String::as_str))
        .collect();
    // The configuration may be in a ConfigMap that is not part of the state.
    let is_complete = ctx.state.completeness(Kind::ConfigMap).is_complete();
    for node in failed {
        let Some(config) = node.node.metadata.label(CONFIG_LABEL) else {
            continue;
        };
        if known.contains(config) || !is_complete {
            continue;
        }
        let names: Vec<_> = known.iter().copied().collect();
        let message = format!("the MIG configuration `{config}` does not exist");
        let object = ObjectRef::of_kind("ConfigMap", &first.metadata);
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .field(node.object(), &format!("metadata.labels[\"{CONFIG_LABEL}\"]"), config)
                .field(object, "data[\"config.yaml\"].mig-configs", names.join(", "))
                .input(node.pool.map(|pool| pool.sharing_span))
                .help("set the label `nvidia.com/mig.config` to a configuration that exists, or add the configuration")
                .command(format!(
                    "kubectl get configmap --namespace {} {} -o yaml",
                    first.metadata.namespace, first.metadata.name
                )),
        );
    }
}

/// The names of the MIG configurations in a ConfigMap; `None` if it is not one of the MIG manager.
///
/// Source: NVIDIA/mig-parted `api/spec/v1/spec.go`; NVIDIA/gpu-operator
/// `assets/state-mig-manager/0400_configmap.yaml`, 2026-11-28.
fn configurations(map: &Object) -> Option<Vec<String>> {
    let data = map.get("/data").as_object()?;
    let texts = data.values().filter_map(Value::as_str);
    let mut names = Vec::new();
    let mut is_found = false;
    for text in texts.filter(|text| text.contains("mig-configs")) {
        // A configuration that cannot be read may contain the name.
        let content: Value = serde_saphyr::from_str(text).ok()?;
        if let Some(configs) = content.get("mig-configs").and_then(Value::as_object) {
            is_found = true;
            names.extend(configs.keys().cloned());
        }
    }
    is_found.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn an_unknown_configuration_explains_the_failure() {
        let (codes, text) = check("", "");
        assert_eq!(codes, [CHECK.code.id]);
        assert!(
            text.contains("explains: the MIG manager could not apply"),
            "{text}"
        );
    }

    #[test]
    fn configurations_that_exist_fail_for_other_reasons() {
        let (codes, text) = check("mig.config: all-1g.5bg", "mig.config: all-1g.5gb");
        assert_eq!(codes, ["GPUC7410"], "{text}");
    }

    #[test]
    fn unreadable_configurations_are_not_judged() {
        for (from, to) in [
            ("mig-configs:", "mig-configs: ["),
            ("mig-configs:", "other:"),
            ("kind: ConfigMap", "kind: Secret"),
        ] {
            let (codes, text) = check(from, to);
            assert_eq!(codes, ["GPUC7410"], "{text}");
        }
    }
}
