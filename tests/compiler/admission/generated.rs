//! Thousands of generated pods and pod controllers: the policies and `gpuc check --manifests` agree on each.

use std::collections::BTreeMap;

use gpuc_syntax::diag::Severity;
use serde_json::{Value, json};

use super::alike::SHARED_RULES;
use super::api_server::AdmissionResult;
use super::record::FOLDER_VARIABLE;
use super::{POOLS, cluster_text, enforced_server};
use crate::support::compile_text;

/// A choice for each part of a pod, by a generator with a fixed seed, so that every machine tests the same pods.
struct Generator(u64);

impl Generator {
    fn below(&mut self, number: usize) -> usize {
        // Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = u64::try_from(number).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % number).unwrap()
    }

    fn choose<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn container(&mut self, name: &str) -> Value {
        let resources = [
            json!({}),
            json!({"limits": {"cpu": "1"}}),
            json!({"limits": {"nvidia.com/gpu": "1"}}),
            json!({"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1}}),
            json!({"limits": {"nvidia.com/gpu": 4, "cpu": "500m"}}),
            json!({"limits": {"nvidia.com/gpu": "9"}}),
            json!({"limits": {"nvidia.com/gpu": "0"}}),
            json!({"limits": {"nvidia.com/gpu.shared": "1"}}),
            json!({"limits": {"nvidia.com/gpu.shared": 2}}),
            json!({"limits": {"nvidia.com/mig-1g.6gb": 1}}),
            json!({"limits": {"nvidia.com/mig-1g.6gb": "2"}}),
            json!({"limits": {"nvidia.com/mig-1g.5gb": 1}}),
            json!({"limits": {"nvidia.com/GPU": 1}}),
        ];
        let variables = [
            json!([{"name": "A", "value": "b"}]),
            json!([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
            json!([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]),
            json!([{"name": "NVIDIA_VISIBLE_DEVICES"}]),
            json!([{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        ];
        let mut container = json!({
            "name": name,
            "image": "registry.example.com/a:1.0.0",
            "resources": self.choose(&resources),
        });
        if self.below(3) == 0 {
            container["env"] = self.choose(&variables);
        }
        container
    }

    fn spec(&mut self) -> Value {
        let tolerations = [
            json!([]),
            json!([{"operator": "Exists"}]),
            json!([{"operator": "Exists", "effect": "NoExecute"}]),
            json!([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]),
            json!([{"key": "nvidia.com/gpu", "value": "other"}]),
            json!([{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}]),
            json!([{"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoExecute"}]),
            json!([{"key": "system", "operator": "Exists"}]),
            json!([{"key": "spot", "operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}]),
        ];
        let mut spec = json!({
            "restartPolicy": "Always",
            "containers": [self.container("a")],
            "tolerations": self.choose(&tolerations),
        });
        if self.below(4) == 0 {
            let second = self.container("b");
            spec["containers"].as_array_mut().unwrap().push(second);
        }
        if self.below(6) == 0 {
            let mut first = self.container("c");
            if self.below(2) == 0 {
                first["restartPolicy"] = json!("Always");
            }
            spec["initContainers"] = json!([first]);
        }
        if self.below(8) == 0 {
            spec["runtimeClassName"] = json!("nvidia");
        }
        if self.below(12) == 0 {
            let path = self.choose(&["/dev/nvidia0", "/dev/shm", "/dev/nvidia-uvm"]);
            spec["volumes"] = json!([{"name": "v", "hostPath": {"path": path}}]);
        }
        if self.below(12) == 0 {
            spec["nodeName"] = json!("node-1");
        }
        spec
    }

    fn object(&mut self, name: &str) -> Value {
        let mut spec = self.spec();
        let kind = self.choose(&[
            "Pod",
            "Pod",
            "Pod",
            "Deployment",
            "StatefulSet",
            "DaemonSet",
            "Job",
            "CronJob",
        ]);
        let labels = json!({"app": name});
        let selector = json!({"matchLabels": labels});
        let metadata = json!({"name": name, "namespace": "sandbox"});
        if ["Job", "CronJob"].contains(&kind) {
            spec["restartPolicy"] = json!("Never");
        }
        let template = json!({"metadata": {"labels": labels}, "spec": spec});
        let (version, spec) = match kind {
            "Pod" => ("v1", spec),
            "Job" => ("batch/v1", json!({"template": template})),
            "CronJob" => (
                "batch/v1",
                json!({"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}),
            ),
            "StatefulSet" => (
                "apps/v1",
                json!({"selector": selector, "serviceName": "a", "template": template}),
            ),
            _ => (
                "apps/v1",
                json!({"selector": selector, "template": template}),
            ),
        };
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    }
}

#[test]
fn policies_and_check_agree_on_generated_objects() {
    let mut generator = Generator(1);
    // Kubernetes' own code is asked about more of them.
    let number = if std::env::var_os(FOLDER_VARIABLE).is_some() {
        2000
    } else {
        300
    };
    let objects: BTreeMap<String, Value> = (0..number)
        .map(|index| {
            let name = format!("object-{index}");
            let object = generator.object(&name);
            (format!("{name}.yaml"), object)
        })
        .collect();
    let server = enforced_server();
    let mut outcome = compile_text(&cluster_text(POOLS));
    let start = outcome.findings.len();
    let texts: Vec<_> = (objects.iter())
        .map(|(path, object)| (path.as_str(), object.to_string()))
        .collect();
    let files: Vec<_> = texts
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    outcome.add_manifests(&files);
    let mut linted: BTreeMap<&str, Vec<&_>> = BTreeMap::new();
    for finding in &outcome.findings[start..] {
        let (path, _) = outcome.sources.locate(finding.primary.span).unwrap();
        linted.entry(path).or_default().push(finding);
    }
    let mut counts: BTreeMap<(bool, bool), usize> = BTreeMap::new();
    let mut last_of_kind: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut differences = Vec::new();
    for (path, object) in &objects {
        let results = server.admit_create(object, super::SANDBOX);
        let is_refused = |it: &AdmissionResult| matches!(it, AdmissionResult::Denied(_));
        let is_denied = results.iter().any(is_refused);
        let is_warned = results.iter().any(|it| !is_refused(it));
        *counts.entry((is_denied, is_warned)).or_default() += 1;
        // A changed pod template has the results of a new object, and an unchanged one has none.
        let kind = object["kind"].as_str().unwrap();
        if kind != "Pod"
            && let Some(before) = last_of_kind.insert(kind, object)
        {
            let changed = server.admit_update(before, object, super::SANDBOX);
            assert_eq!(changed, results, "{object}");
            let mut scaled = object.clone();
            scaled["metadata"]["labels"] = json!({"a": "b"});
            assert_eq!(server.admit_update(object, &scaled, super::SANDBOX), []);
        }
        let findings = linted.get(path.as_str()).map_or(&[][..], Vec::as_slice);
        let has = |severity: Severity, is_shared: bool| {
            findings.iter().any(|it| {
                it.severity == severity
                    && (!is_shared || SHARED_RULES.contains(&it.code.name))
                    // DaemonSets are exempt from this policy, but not from the rule.
                    && (object["kind"] != "DaemonSet" || it.code.name != "manifest-visible-devices-set")
            })
        };
        // The linter has further rules for errors, which can replace a shared one. The API server reports only denials
        // if it denies a request.
        let agrees = if is_denied {
            has(Severity::Error, false)
        } else {
            !has(Severity::Error, true)
                && (has(Severity::Error, false) || is_warned == has(Severity::Warning, true))
        };
        if !agrees {
            let found: Vec<_> = findings.iter().map(|it| &it.message).collect();
            differences.push(format!("{object}\npolicies: {results:?}\ncheck: {found:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        objects.len(),
        differences
            .into_iter()
            .take(20)
            .collect::<Vec<_>>()
            .join("\n")
    );
    for verdict in [(false, false), (true, false), (false, true), (true, true)] {
        let count = counts.get(&verdict).copied().unwrap_or_default();
        assert!(count > number / 20, "{verdict:?}: {count}");
    }
}
