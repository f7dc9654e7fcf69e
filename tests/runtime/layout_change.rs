//! From a changed file to the slices of a node: the compiler's manifests of two layouts, the controller of
//! `DaemonSets`, the kubelet, and `gpuc-runtime mig apply` on a simulated driver.

use std::fs;
use std::process::Command;

use gpuc_runtime::nvml::MigControl;
use serde_yaml::Value;

use crate::command::CommandOutput;
use crate::fake_driver::FakeDriver;
use crate::manifests::compile_cluster;

const SMALL: &str = "{profile: 1g.10gb, count: 7}";
const LARGE: &str = "{profile: 3g.40gb, count: 2}";

fn cluster(layout: &str, labels: &str) -> Vec<Value> {
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         nodePools:\n- name: train\n  hosts: [a]\n  nodes: {{count: 1}}\n  labels: {{{labels}}}\n  \
         gpu: {{model: h100-sxm5-80gb, perNode: 8}}\n  \
         sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{layout}]}}]}}}}\n"
    );
    compile_cluster("gpu-cluster.yaml", &text).objects
}

/// A node with one pod of the pool's `DaemonSet`.
///
/// The controller replaces a pod only if the template differs (kubernetes/kubernetes
/// pkg/controller/daemon/update.go, `PodMatchesTemplate`), and a pod runs its init containers once.
struct SimulatedNode {
    driver: FakeDriver,
    template: Option<Value>,
}

impl SimulatedNode {
    fn new() -> Self {
        Self {
            driver: FakeDriver::new("gpus = 8\ngpu.model = h100-sxm5-80gb\n"),
            template: None,
        }
    }

    /// Applies objects. Returns what the init containers of a new pod print, unless the pod stays.
    fn apply(&mut self, objects: &[Value]) -> Option<CommandOutput> {
        let of_kind =
            |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        let template = &of_kind("DaemonSet").next().unwrap()["spec"]["template"];
        if self.template.as_ref() == Some(template) {
            return None;
        }
        self.template = Some(template.clone());
        let pod = &template["spec"];
        let [container] = pod["initContainers"].as_sequence().unwrap().as_slice() else {
            panic!("one init container");
        };
        let volumes = pod["volumes"].as_sequence().unwrap().iter();
        let mut names = volumes.filter_map(|volume| volume["configMap"]["name"].as_str());
        let name = names.next().unwrap();
        let config_map = of_kind("ConfigMap").find(|object| object["metadata"]["name"] == name);
        let text = config_map.unwrap()["data"]["node.json"].as_str().unwrap();
        Some(self.run(container, text))
    }

    /// Runs a container with its configuration, the driver in the fake one's folder.
    fn run(&self, container: &Value, config: &str) -> CommandOutput {
        let folder = tempfile::tempdir().unwrap();
        let mut config: serde_json::Value = serde_json::from_str(config).unwrap();
        config["driver"]["containerRoot"] = self.driver.root().to_str().unwrap().into();
        let file = folder.path().join("node.json");
        fs::write(&file, config.to_string()).unwrap();
        let args = container["args"].as_sequence().unwrap().iter();
        let words = args.map(|arg| arg.as_str().unwrap());
        let subcommand = words.take_while(|word| !word.starts_with("--"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
        command.args(subcommand).arg("--config").arg(file);
        for option in ["--dev", "--proc", "--sys"] {
            command.arg(option).arg(folder.path());
        }
        command.output().unwrap().into()
    }

    /// The profiles of the MIG devices of each GPU.
    fn profiles(&self) -> Vec<Vec<String>> {
        let driver = self.driver.open().unwrap();
        let instances = (0..8).map(|gpu| driver.gpu_instances(gpu).unwrap());
        instances
            .map(|gpu| gpu.into_iter().map(|it| it.profile).collect())
            .collect()
    }
}

#[test]
fn changed_layout_reaches_the_gpus() {
    let mut node = SimulatedNode::new();
    let output = node.apply(&cluster(SMALL, "")).unwrap();
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert_eq!(node.profiles(), vec![vec!["1g.10gb"; 7]; 8]);
    assert!(node.apply(&cluster(SMALL, "")).is_none(), "nothing changed");
    let output = node.apply(&cluster(LARGE, "")).unwrap();
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert_eq!(node.profiles(), vec![vec!["3g.40gb"; 2]; 8]);
}

/// Pods in use keep their slices: the new layout is applied after the node is drained, as the plan says.
#[test]
fn gpus_in_use_keep_their_layout_until_the_node_is_drained() {
    let mut node = SimulatedNode::new();
    node.apply(&cluster(SMALL, "")).unwrap();
    node.driver.set("gpu.3.processes", "1");
    let output = node.apply(&cluster(LARGE, "")).unwrap();
    assert_eq!(output.code, Some(3), "{}", output.log);
    assert!(
        output.log.contains("drain the node first"),
        "{}",
        output.log
    );
    let profiles = node.profiles();
    assert_eq!(profiles[3], vec!["1g.10gb"; 7]);
    assert_eq!(profiles[2], vec!["3g.40gb"; 2]);
    // The kubelet repeats a failed init container.
    node.driver.set("gpu.3.processes", "0");
    node.template = None;
    assert_eq!(node.apply(&cluster(LARGE, "")).unwrap().code, Some(0));
    assert_eq!(node.profiles(), vec![vec!["3g.40gb"; 2]; 8]);
}
