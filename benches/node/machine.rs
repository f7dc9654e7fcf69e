//! The machines that are measured, and how the daemon is started on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gpuc_runtime::host::Roots;
use gpuc_runtime::nvml::Nvml;
use gpuc_runtime::nvml::fake::Fake;

use crate::fake_driver::FakeDriver;
use crate::floor;

const GPU: &str = "nvidia.com/gpu";

/// A kind of machine.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) gpus: u32,
    /// How the configuration says that GPUs are shared.
    sharing: &'static str,
    /// What each GPU is cut into.
    layout: Option<&'static str>,
    pub(crate) resources: &'static [&'static str],
    plugin: DevicePlugin,
}

/// The device plugin of a machine.
#[derive(Clone, PartialEq, Eq)]
enum DevicePlugin {
    /// gpuc-runtime.
    Runtime,
    /// The minimal plugin of this program.
    Minimal,
    /// A program that starts another one (see `benches/README.md`).
    Other(PathBuf),
}

impl Scenario {
    /// All of them; the first one is what the others are compared with.
    pub(crate) fn scenarios(other: Option<&Path>) -> Vec<Self> {
        let whole = |name, gpus| Self {
            name,
            gpus,
            sharing: r#""exclusive""#,
            layout: None,
            resources: &[GPU],
            plugin: DevicePlugin::Runtime,
        };
        let mut scenarios = vec![
            Self {
                plugin: DevicePlugin::Minimal,
                ..whole("floor", 8)
            },
            whole("8 GPUs", 8),
            Self {
                sharing: r#"{"timeSlicing": {"replicas": 10, "rename": false}}"#,
                ..whole("8 x 10", 8)
            },
            Self {
                sharing: r#"{"mig": {"strategy": "single", "apply": false, "gpus": []}}"#,
                layout: Some(
                    "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6",
                ),
                ..whole("8 x 7 MIG", 8)
            },
            Self {
                sharing: r#"{"mig": {"strategy": "mixed", "apply": false, "gpus": []}}"#,
                layout: Some("1g.10gb@0 1g.10gb@1 2g.20gb@2 3g.40gb@4"),
                resources: &[
                    "nvidia.com/mig-1g.10gb",
                    "nvidia.com/mig-2g.20gb",
                    "nvidia.com/mig-3g.40gb",
                ],
                ..whole("MIG mixed", 8)
            },
            whole("16 GPUs", 16),
        ];
        for (name, gpus) in [("other, 8", 8), ("other, 16", 16)] {
            scenarios.extend(other.map(|program| Self {
                plugin: DevicePlugin::Other(program.to_owned()),
                ..whole(name, gpus)
            }));
        }
        scenarios
    }

    /// Puts the machine's files into a folder.
    pub(crate) fn set_up(&self) -> ScenarioFiles {
        let folder = tempfile::tempdir().unwrap();
        let words = format!("h100x{}", self.gpus);
        let fake = Fake::from_description(&words).unwrap();
        let mut driver = FakeDriver::new("driver = 570.86.15");
        driver.unset("calls");
        driver.set("gpus", &self.gpus.to_string());
        driver.set("gpu.model", "h100-sxm5-80gb");
        // A wait that ends early to look at the file is none that a driver would make.
        driver.set("poll_ms", "60000");
        for index in 0..self.gpus {
            let bus = fake.gpu(index).unwrap().pci_bus_id;
            driver.set(&format!("gpu.{index}.bus"), &bus);
        }
        match self.layout {
            Some(layout) => {
                driver.set("gpu.mig", "on");
                driver.set("gpu.layout", layout);
            }
            None if self.gpus == 8 => driver.set("gpu.links", &["switch"; 18].join(" ")),
            // Four on each PCIe switch.
            None => {
                for one in 0..self.gpus {
                    for other in one + 1..self.gpus {
                        let level = if one / 4 == other / 4 { "20" } else { "50" };
                        driver.set(&format!("level.{one}.{other}"), level);
                    }
                }
            }
        }
        let mut roots = fake.write_roots(folder.path()).unwrap();
        driver.root().clone_into(&mut roots.driver);
        let plugins = folder.path().join("device-plugins");
        fs::create_dir(&plugins).unwrap();
        let config = folder.path().join("config");
        fs::create_dir(&config).unwrap();
        let config = config.join("node.json");
        fs::write(&config, self.node_config(driver.root())).unwrap();
        ScenarioFiles {
            plugins,
            config,
            roots,
            driver,
            folder,
        }
    }

    fn node_config(&self, driver: &Path) -> String {
        let (count, sharing) = (self.gpus, self.sharing);
        let driver = driver.display();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        format!(
            r#"{{
            "apiVersion": "node.gpuc.dev/v1alpha1",
            "kind": "NodeConfig",
            "cluster": "bench",
            "pool": "bench",
            "expected": {{"model": "h100-sxm5-80gb", "count": {count}}},
            "driver": {{"hostRoot": "/", "containerRoot": "{driver}"}},
            "devices": "environmentVariable",
            "sharing": {sharing},
            "resources": {{}},
            "metrics": {{"port": {port}, "gpus": true}}
        }}"#
        )
    }

    /// Starts what is measured.
    pub(crate) fn start(&self, runtime: &Path, place: &ScenarioFiles) -> Child {
        let mut command = match &self.plugin {
            DevicePlugin::Minimal => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                let count = self.gpus.to_string();
                command.arg(floor::COMMAND).arg(&place.plugins).arg(count);
                command
            }
            DevicePlugin::Runtime => {
                let mut command = Command::new(runtime);
                command.arg("serve").arg("--config").arg(&place.config);
                command.arg("--dev").arg(&place.roots.dev);
                command.arg("--proc").arg(&place.roots.proc);
                command.arg("--sys").arg(&place.roots.sys);
                command.arg("--device-plugins").arg(&place.plugins);
                command.args(["--listen", "127.0.0.1"]);
                command
            }
            DevicePlugin::Other(program) => {
                let mut command = Command::new(program);
                command.arg(place.driver.root()).arg(&place.plugins);
                command
            }
        };
        let log = fs::File::create(place.folder.path().join("log")).unwrap();
        command
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.stderr(log).spawn().unwrap()
    }

    /// Whether another plugin runs on it, which may ask the driver for each answer.
    pub(crate) fn is_other_plugin(&self) -> bool {
        matches!(self.plugin, DevicePlugin::Other(_))
    }

    /// Whether it is the plugin that does nothing.
    pub(crate) fn is_minimal_plugin(&self) -> bool {
        self.plugin == DevicePlugin::Minimal
    }
}

/// A machine's files.
pub(crate) struct ScenarioFiles {
    /// The kubelet's folder.
    pub(crate) plugins: PathBuf,
    config: PathBuf,
    pub(crate) roots: Roots,
    pub(crate) driver: FakeDriver,
    folder: tempfile::TempDir,
}

impl ScenarioFiles {
    /// From now on, calls to the driver are written down.
    pub(crate) fn record_driver_calls(&mut self) {
        let calls = self.driver.root().join("calls").display().to_string();
        self.driver.set("calls", &calls);
    }

    /// How many questions the driver was asked since then; waiting for an event is none.
    pub(crate) fn driver_call_count(&self) -> usize {
        self.driver.all_calls() - self.driver.calls("nvmlEventSetWait_v2")
    }
}
