//! The compiler's manifests for the runtime, read by the runtime's own code: the arguments, the configuration and the
//! volumes of each container. The tests compile every example and the clusters with full coverage, so that they include
//! every cloud and every sharing method.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use gpuc_compile::compile::{Options, compile};
use gpuc_model::plan::Plan;
use gpuc_model::resolve::Choices;
use gpuc_runtime::args::{Cli, Command, MigCommand, NodeArgs};
use gpuc_runtime::config::{self, NodeConfig};
use gpuc_schema::node_config::{DeviceInjection, NodeSharing, STARTUP_TAINT};
use gpuc_syntax::diag::{Levels, Report};
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::source::Sources;
use serde_yaml::Value;

/// The objects of a pool, parsed from the manifests.
pub(crate) struct Pool {
    pub(crate) name: String,
    /// Whether the cloud creates the pool's nodes with the startup taint.
    pub(crate) has_startup_taint: bool,
    pub(crate) pod: Value,
    pub(crate) config_map: String,
    pub(crate) config: NodeConfig,
    /// The folder of the kubelet on the host.
    pub(crate) kubelet_dir: &'static str,
}

/// A container and its parsed arguments.
pub(crate) struct Container<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) value: &'p Value,
    pub(crate) cli: Cli,
}

#[test]
fn every_kind_of_pool_is_covered() {
    let pools = runtime_pools();
    let count = |matches: &dyn Fn(&NodeConfig) -> bool| {
        pools.iter().filter(|pool| matches(&pool.config)).count()
    };
    assert!(pools.len() >= 10, "{}", pools.len());
    let devices: [&dyn Fn(&DeviceInjection) -> bool; 3] = [
        &|devices| matches!(devices, DeviceInjection::EnvironmentVariable),
        &|devices| matches!(devices, DeviceInjection::Cdi { .. }),
        &|devices| matches!(devices, DeviceInjection::DeviceNodes { .. }),
    ];
    for matches in devices {
        assert!(count(&|config| matches(&config.devices)) > 0);
    }
    let shared: [&dyn Fn(&NodeSharing) -> bool; 5] = [
        &|sharing| matches!(sharing, NodeSharing::Exclusive),
        &|sharing| matches!(sharing, NodeSharing::TimeSlicing { .. }),
        &|sharing| matches!(sharing, NodeSharing::Mps { .. }),
        &|sharing| matches!(sharing, NodeSharing::Mig { apply: true, .. }),
        &|sharing| matches!(sharing, NodeSharing::Mig { apply: false, .. }),
    ];
    for (number, matches) in shared.iter().enumerate() {
        assert!(count(&|config| matches(&config.sharing)) > 0, "{number}");
    }
}

#[test]
fn pods_run_the_configured_commands() {
    for pool in runtime_pools() {
        let commands: Vec<_> = pool.containers().iter().map(Container::command).collect();
        let expected = match &pool.config.sharing {
            NodeSharing::Mps { .. } => vec!["serve", "mps"],
            NodeSharing::Mig { apply: true, .. } => vec!["mig apply", "serve"],
            _ => vec!["serve"],
        };
        assert_eq!(commands, expected, "{}", pool.name);
        let shares_process_ids = pool.pod["hostPID"].as_bool().unwrap_or(false);
        assert_eq!(
            shares_process_ids,
            commands.contains(&"mps"),
            "{}",
            pool.name
        );
        assert!(
            pool.pod["serviceAccountName"].is_string(),
            "{}: the daemon updates its Node",
            pool.name
        );
    }
}

#[test]
fn containers_have_required_privileges() {
    for pool in runtime_pools() {
        for container in pool.containers() {
            let security = &container.value["securityContext"];
            let privileged = security["privileged"].as_bool().unwrap_or(false);
            let added = security["capabilities"]["add"][0].as_str();
            // The driver requires administrator rights to change a GPU. Without NVIDIA's container runtime, only
            // privileged containers have the device nodes.
            let changes_gpus = !matches!(container.cli.command, Command::Serve(_));
            let has_runtime_class = pool.pod["runtimeClassName"].is_string();
            let has_nodes = match &pool.config.devices {
                DeviceInjection::Cdi { .. } => has_runtime_class,
                DeviceInjection::DeviceNodes { .. } => false,
                DeviceInjection::EnvironmentVariable | DeviceInjection::VolumeMounts => true,
            };
            assert_eq!(privileged, changes_gpus || !has_nodes, "{container}");
            if matches!(pool.config.sharing, NodeSharing::Mig { .. }) {
                assert!(
                    privileged || added == Some("SYS_ADMIN"),
                    "{container}: NVML lists MIG devices for administrators only"
                );
            }
        }
    }
}

impl Pool {
    /// The keys of the taints that the pod tolerates.
    pub(crate) fn tolerations(&self) -> Vec<&str> {
        let tolerations = self.pod["tolerations"].as_sequence();
        let tolerations = tolerations.into_iter().flatten();
        tolerations.filter_map(|it| it["key"].as_str()).collect()
    }

    pub(crate) fn containers(&self) -> Vec<Container<'_>> {
        let lists = ["initContainers", "containers"].map(|list| self.pod[list].as_sequence());
        let values = lists.into_iter().flatten().flatten();
        values.map(|value| Container::read(self, value)).collect()
    }
}

impl<'p> Container<'p> {
    fn read(pool: &'p Pool, value: &'p Value) -> Self {
        assert!(value["command"].is_null(), "the image sets the command");
        let args = value["args"].as_sequence().unwrap().iter();
        let args = args.map(|arg| arg.as_str().unwrap());
        let cli = Cli::try_parse_from(["gpuc-runtime"].into_iter().chain(args));
        let cli = cli.unwrap_or_else(|error| panic!("{}: {error}", pool.name));
        Self { pool, value, cli }
    }

    fn command(&self) -> &'static str {
        match &self.cli.command {
            Command::Serve(_) => "serve",
            Command::Inspect(_) => "inspect",
            Command::Mig { .. } => "mig apply",
            Command::Mps(_) => "mps",
        }
    }

    pub(crate) fn node(&self) -> &NodeArgs {
        let node = match &self.cli.command {
            Command::Serve(args) => {
                assert!(args.simulation.fake.is_none(), "{self}: --fake is set");
                &args.node
            }
            Command::Inspect(args) => &args.node,
            Command::Mig {
                command: MigCommand::Apply(args),
            } => &args.node,
            Command::Mps(args) => args,
        };
        // The container runtime mounts these folders into every container.
        assert_eq!(
            (&*node.proc, &*node.sys),
            (Path::new("/proc"), Path::new("/sys"))
        );
        node
    }

    /// The volume and the mount of a path in the container: the mount with the longest matching prefix.
    pub(crate) fn mount_of(&self, path: &Path) -> (&Value, &Value) {
        let mounts = self.value["volumeMounts"].as_sequence().unwrap().iter();
        let at = |mount: &Value| PathBuf::from(mount["mountPath"].as_str().unwrap());
        let mount = mounts
            .filter(|mount| path.starts_with(at(mount)))
            .max_by_key(|mount| at(mount).as_os_str().len())
            .unwrap_or_else(|| panic!("{self}: {} is not mounted", path.display()));
        let mut volumes = self.pool.pod["volumes"].as_sequence().unwrap().iter();
        let volume = volumes
            .find(|volume| volume["name"] == mount["name"])
            .unwrap_or_else(|| panic!("{self}: no volume {:?}", mount["name"]));
        (volume, mount)
    }

    /// The host path of a path in the container.
    pub(crate) fn host_path(&self, path: &Path) -> PathBuf {
        let (volume, mount) = self.mount_of(path);
        let host = volume["hostPath"]["path"].as_str();
        let host = Path::new(host.unwrap_or_else(|| panic!("{self}: {}", path.display())));
        let below = path
            .strip_prefix(mount["mountPath"].as_str().unwrap())
            .unwrap();
        let below = Path::new(mount["subPath"].as_str().unwrap_or("")).join(below);
        host.join(below).components().collect()
    }

    pub(crate) fn assert_probes(&self, port: u16) {
        let ports = self.value["ports"].as_sequence().unwrap();
        for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
            let get = &self.value[probe]["httpGet"];
            assert_eq!(get["path"].as_str(), Some(path), "{self}");
            let named = ports.iter().find(|port| port["name"] == get["port"]);
            let number = named.map_or(&get["port"], |port| &port["containerPort"]);
            assert_eq!(number.as_u64(), Some(port.into()), "{self}: {probe}");
        }
    }

    pub(crate) fn assert_environment(&self) {
        let name = self.variable("NODE_NAME");
        let field = &name["valueFrom"]["fieldRef"]["fieldPath"];
        assert_eq!(field.as_str(), Some("spec.nodeName"), "{self}");
        let gpus = self.variable("NVIDIA_VISIBLE_DEVICES");
        assert_eq!(gpus["value"].as_str(), Some("all"), "{self}");
        let capabilities = &self.variable("NVIDIA_DRIVER_CAPABILITIES")["value"];
        assert!(capabilities.as_str().unwrap().contains("utility"), "{self}");
        if matches!(self.pool.config.sharing, NodeSharing::Mig { .. }) {
            self.variable("NVIDIA_MIG_MONITOR_DEVICES");
        }
    }

    pub(crate) fn variable(&self, name: &str) -> &Value {
        let mut variables = self.value["env"].as_sequence().unwrap().iter();
        let variable = variables.find(|variable| variable["name"].as_str() == Some(name));
        variable.unwrap_or_else(|| panic!("{self}: {name} is not set"))
    }
}

impl std::fmt::Display for Container<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.value["name"].as_str().unwrap_or_default();
        write!(f, "{}: container {name}", self.pool.name)
    }
}

/// The pools with the runtime's `DaemonSet`.
pub(crate) fn runtime_pools() -> Vec<Pool> {
    let mut pools = Vec::new();
    for (path, text) in clusters() {
        let compiled = compile_cluster(&path, &text);
        let objects = &compiled.objects;
        let config_maps: BTreeMap<String, &Value> = objects
            .iter()
            .filter(|object| object["kind"].as_str() == Some("ConfigMap"))
            .map(|object| (name(object), object))
            .collect();
        let daemon_sets = objects.iter();
        for daemon_set in daemon_sets.filter(|object| object["kind"].as_str() == Some("DaemonSet"))
        {
            let pod = daemon_set["spec"]["template"]["spec"].clone();
            let mut volumes = pod["volumes"].as_sequence().unwrap().iter();
            let config_map = volumes.find_map(|volume| volume["configMap"]["name"].as_str());
            let config_map = config_map.unwrap().to_owned();
            let text = config_maps[&config_map]["data"]["node.json"]
                .as_str()
                .unwrap();
            let config = config::parse(text);
            let config = config.unwrap_or_else(|error| panic!("{path}: {error}"));
            pools.push(Pool {
                name: format!("{path}: {}", name(daemon_set)),
                has_startup_taint: compiled.has_startup_taint(&config.pool),
                config,
                config_map,
                pod,
                kubelet_dir: compiled.kubelet_dir,
            });
        }
    }
    pools
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// The folder with Karpenter's `NodePools`.
pub(crate) const KARPENTER_FOLDER: &str = "karpenter-node-pools";

/// The field of a `NodePool` with the startup taints.
pub(crate) const STARTUP_TAINTS_FIELD: &str = "startupTaints";

/// The compiler's output for a cluster.
pub(crate) struct CompiledCluster {
    /// The runtime's manifests, parsed with a different YAML library than the compiler's.
    pub(crate) objects: Vec<Value>,
    /// The path and contents of every file.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) plan: Plan,
    /// The folder of the kubelet on the host.
    pub(crate) kubelet_dir: &'static str,
}

impl CompiledCluster {
    /// Returns whether the cloud's resources or Karpenter create the pool's nodes with the startup taint.
    fn has_startup_taint(&self, pool: &str) -> bool {
        let script = format!("pool-{pool}");
        let resources = self.plan.provisioning.resources.iter();
        let mut fields = resources
            .filter(|resource| resource.script == script)
            .flat_map(|resource| &resource.fields);
        let by_cloud = fields.any(|field| {
            field.kind.name == "taints" && field.desired.to_string().contains(STARTUP_TAINT)
        });
        let mut node_pools = self.node_pools().filter(|it| name(it) == pool);
        by_cloud
            || node_pools.any(|it| {
                let taints = &it["spec"]["template"]["spec"][STARTUP_TAINTS_FIELD];
                let taints = taints.as_sequence().into_iter().flatten();
                let mut keys = taints.map(|taint| taint["key"].as_str());
                keys.any(|key| key == Some(STARTUP_TAINT))
            })
    }

    /// Karpenter's `NodePools`.
    fn node_pools(&self) -> impl Iterator<Item = Value> {
        let folder = format!("manifests/{KARPENTER_FOLDER}/");
        let files = self.files.iter();
        let files = files.filter(move |(path, _)| path.starts_with(&folder));
        let objects = files.map(|(_, text)| serde_yaml::from_str(text).unwrap());
        objects.filter(|object: &Value| object["kind"] == "NodePool")
    }
}

pub(crate) fn compile_cluster(path: &str, text: &str) -> CompiledCluster {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let files = MemoryFiles::with_file(path, text);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let mut loaded = load::load_all(&files, &[path], &mut sources, &mut report);
    assert_eq!(loaded.len(), 1, "{path}: not one cluster");
    let compilation = compile(loaded.remove(0), &options);
    let cluster = compilation.cluster.as_ref().unwrap();
    let kubelet_dir = cluster.cloud.facts().kubelet_dir;
    let (Some((tree, _)), Some(plan)) = (compilation.output, compilation.plan) else {
        panic!("{path} does not compile");
    };
    let files = tree.files();
    let files: Vec<_> = files
        .map(|(path, file)| (path.to_owned(), file.contents.clone()))
        .collect();
    let runtime_manifests = files.iter().filter(|(path, _)| {
        path.contains("/gpuc-runtime/") && Path::new(path).extension() == Some("yaml".as_ref())
    });
    let objects = runtime_manifests.map(|(_, text)| serde_yaml::from_str(text).unwrap());
    CompiledCluster {
        objects: objects.collect(),
        plan,
        files,
        kubelet_dir,
    }
}

/// The examples with a single file, and the clusters with full coverage. The examples of fleets are omitted: they
/// include others and differ only in names.
pub(crate) fn clusters() -> BTreeMap<String, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = |folder: &str| {
        let entries = fs::read_dir(repository.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let examples = files("examples").map(|path| path.join("gpu-cluster.yaml"));
    let all = examples.chain(files("tests/compiler/rich"));
    let read = all.filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let name = path
            .strip_prefix(&repository)
            .unwrap()
            .display()
            .to_string();
        Some((name, text))
    });
    read.collect()
}

/// An Xid is fatal for the alerts if the daemon requires a reset after it. Both ignore the same Xids of applications.
#[test]
fn alerts_match_the_xid_table() {
    use gpuc_compile::lower::monitoring::alerts::{FATAL_XIDS, XIDS_OF_PROGRAMS};
    use gpuc_runtime::health::xid::{Effect, XIDS};

    let numbers = |matches: fn(Effect) -> bool| {
        let found = XIDS.iter().filter(move |xid| matches(xid.effect));
        found.map(|xid| xid.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(|effect| effect >= Effect::Reset), FATAL_XIDS);
    assert_eq!(
        numbers(|effect| effect == Effect::Application),
        XIDS_OF_PROGRAMS
    );
}
