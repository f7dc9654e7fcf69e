//! Test machines, written by hand from the output of such machines.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_runtime::device::{Gpu, Inventory, Topology, advertised_resources};
use gpuc_runtime::driver_files::{DriverFiles, HookProgram, Library};
use gpuc_runtime::host::{HostFiles, PciFacts};
use gpuc_runtime::nvml::{Clique, DriverInfo, Engines, GpuInfo, MigDeviceInfo, MigMode};
use gpuc_runtime::state::State;
use gpuc_schema::node_config::{DeviceInjection, Extra, NodeConfig, NodeSharing};

/// The properties of a GPU model that the runtime uses.
#[derive(Clone, Copy)]
pub(crate) struct TestGpu {
    name: &'static str,
    memory_mib: u64,
    compute_capability: (u32, u32),
    pci_id: u32,
    has_mig: bool,
}

pub(crate) const H100: TestGpu = TestGpu {
    name: "NVIDIA H100 80GB HBM3",
    memory_mib: 81_559,
    compute_capability: (9, 0),
    pci_id: 0x2330_10DE,
    has_mig: true,
};
pub(crate) const A100: TestGpu = TestGpu {
    name: "NVIDIA A100-SXM4-40GB",
    memory_mib: 40_960,
    compute_capability: (8, 0),
    pci_id: 0x20B0_10DE,
    has_mig: true,
};
pub(crate) const L4: TestGpu = TestGpu {
    name: "NVIDIA L4",
    memory_mib: 23_034,
    compute_capability: (8, 9),
    pci_id: 0x27B8_10DE,
    has_mig: false,
};
pub(crate) const T4: TestGpu = TestGpu {
    name: "Tesla T4",
    memory_mib: 15_360,
    compute_capability: (7, 5),
    pci_id: 0x1EB8_10DE,
    has_mig: false,
};
pub(crate) const GB200: TestGpu = TestGpu {
    name: "NVIDIA GB200",
    memory_mib: 189_471,
    compute_capability: (10, 0),
    pci_id: 0x2941_10DE,
    has_mig: true,
};

/// A kind of MIG device of the A100 with 40 GB: profile, memory in MiB, multiprocessors, compute slices, copy engines
/// and decoders. The values are examples of what a driver reports.
pub(crate) type Profile = (&'static str, u64, u32, u32, u32, u32);

pub(crate) const A100_1G: Profile = ("1g.5gb", 4_864, 14, 1, 1, 0);
pub(crate) const A100_2G: Profile = ("2g.10gb", 9_984, 28, 2, 2, 1);
pub(crate) const A100_3G: Profile = ("3g.20gb", 20_096, 42, 3, 3, 2);

/// A machine. A test creates one and changes what the test is about.
pub(crate) struct Machine {
    pub(crate) config: NodeConfig,
    pub(crate) inventory: Inventory,
    pub(crate) files: HostFiles,
    pub(crate) unhealthy: BTreeMap<String, String>,
}

/// Creates a machine with these GPUs, without sharing.
pub(crate) fn machine(models: &[TestGpu]) -> Machine {
    let gpus: Vec<_> = (0..)
        .zip(models)
        .map(|(index, model)| gpu(index, model))
        .collect();
    let pci = gpus.iter().map(|gpu| {
        let facts = PciFacts {
            class: Some(0x0302),
            vgpu: None,
        };
        (gpu.pci_bus_id.clone(), facts)
    });
    let files = HostFiles {
        control_nodes: [
            "/dev/nvidiactl",
            "/dev/nvidia-modeset",
            "/dev/nvidia-uvm",
            "/dev/nvidia-uvm-tools",
        ]
        .map(str::to_owned)
        .to_vec(),
        machine: Some("p5.48xlarge".to_owned()),
        pci: pci.collect(),
        ..HostFiles::default()
    };
    let responding = |info: GpuInfo| Gpu::Responding {
        numa: Some(u32::from(
            info.index * 2 >= u32::try_from(models.len()).unwrap(),
        )),
        info,
    };
    Machine {
        config: config(),
        inventory: Inventory {
            driver: DriverInfo {
                version: "570.86.15".to_owned(),
                cuda: (12, 8),
            },
            gpus: gpus.into_iter().map(responding).collect(),
            topology: Topology::default(),
        },
        files,
        unhealthy: BTreeMap::new(),
    }
}

impl Machine {
    /// Sets the sharing method.
    pub(crate) fn with_sharing(mut self, sharing: NodeSharing) -> Self {
        self.config.sharing = sharing;
        self
    }

    /// Sets the injection method.
    pub(crate) fn with_injection(mut self, devices: DeviceInjection) -> Self {
        self.config.devices = devices;
        self
    }

    /// Injects these components into containers, and adds their device nodes.
    pub(crate) fn with_extras(mut self, extras: &[Extra]) -> Self {
        self.config.extras = extras.to_vec();
        for extra in extras {
            match extra {
                Extra::Gdrcopy => self.files.gdrcopy_nodes = vec!["/dev/gdrdrv".to_owned()],
                Extra::Gds => self.files.gds_nodes = vec!["/dev/nvidia-fs0".to_owned()],
                Extra::Mofed => {
                    let nodes = ["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"];
                    self.files.mofed_nodes = nodes.map(str::to_owned).to_vec();
                }
                Extra::Imex => self.files.imex_channels = vec![0, 1],
            }
        }
        self
    }

    /// Puts its GPUs in one NVLink partition.
    pub(crate) fn with_clique(mut self, id: u32) -> Self {
        for info in self.gpus_mut() {
            info.clique = Some(Clique {
                cluster: "3c5f9f3a-9b0a-4b8e-8f0c-1d2e3f405162".to_owned(),
                id,
            });
        }
        self
    }

    /// Partitions every GPU into these MIG devices, with instance IDs from `first` on.
    pub(crate) fn with_mig_devices(
        mut self,
        strategy: &str,
        first: u32,
        profiles: &[Profile],
    ) -> Self {
        self.config.sharing = NodeSharing::Mig {
            strategy: serde_json::from_value(strategy.into()).unwrap(),
            apply: false,
            gpus: Vec::new(),
        };
        let mut minors = BTreeMap::new();
        for info in self.gpus_mut() {
            info.mig = Some(MigMode {
                enabled: true,
                pending: true,
            });
            info.slices = (0..)
                .zip(profiles)
                .map(|(index, profile)| slice(info.index, index, first + index, profile))
                .collect();
            for slice in &info.slices {
                // Each number is unique: a GPU has up to 15 GPU instances, each with up to 8 compute instances.
                let minor = 3 + 135 * info.minor + 9 * slice.gi;
                let path = format!("gpu{}/gi{}", info.minor, slice.gi);
                minors.insert(format!("{path}/access"), minor);
                minors.insert(
                    format!("{path}/ci{}/access", slice.ci),
                    minor + 1 + slice.ci,
                );
            }
        }
        self.files.mig_minors = minors;
        self
    }

    /// The GPUs that respond.
    pub(crate) fn gpus_mut(&mut self) -> impl Iterator<Item = &mut GpuInfo> {
        self.inventory.gpus.iter_mut().filter_map(|gpu| match gpu {
            Gpu::Responding { info, .. } => Some(info),
            Gpu::Unresponsive { .. } => None,
        })
    }

    /// The daemon's state on this machine.
    pub(crate) fn state(&self) -> State {
        State {
            advertised_resources: advertised_resources(&self.inventory, &self.config.sharing),
            config: Arc::new(self.config.clone()),
            inventory: Arc::new(self.inventory.clone()),
            files: Arc::new(self.files.clone()),
            unhealthy: self.unhealthy.clone(),
        }
    }
}

/// The UUID of a GPU.
pub(crate) fn uuid(index: u32) -> String {
    format!("GPU-00000000-0000-4000-8000-{index:012x}")
}

/// The UUID of a MIG device.
pub(crate) fn mig_device_uuid(gpu: u32, index: u32) -> String {
    format!("MIG-00000000-0000-5000-8000-{gpu:06x}{index:06x}")
}

/// Some of the files that NVIDIA's driver package and container toolkit install on a Red Hat machine.
pub(crate) fn driver_files(hooks: &[&str]) -> DriverFiles {
    let library = |name: &str, links: &[&str]| Library {
        path: format!("/usr/lib64/{name}.so.570.86.15"),
        links: links
            .iter()
            .map(|link| format!("/usr/lib64/{link}"))
            .collect(),
    };
    DriverFiles {
        libraries: vec![
            library("libcuda", &["libcuda.so", "libcuda.so.1"]),
            library("libnvidia-ml", &["libnvidia-ml.so.1"]),
            library(
                "libnvidia-ptxjitcompiler",
                &["libnvidia-ptxjitcompiler.so.1"],
            ),
        ],
        programs: vec!["/usr/bin/nvidia-smi".to_owned()],
        firmware: vec!["/lib/firmware/nvidia/570.86.15/gsp_ga10x.bin".to_owned()],
        sockets: vec!["/run/nvidia-persistenced/socket".to_owned()],
        storage: vec!["/etc/cufile.json".to_owned()],
        hook: (!hooks.is_empty()).then(|| HookProgram {
            path: "/usr/bin/nvidia-cdi-hook".to_owned(),
            hooks: hooks.iter().map(|hook| (*hook).to_owned()).collect(),
        }),
        ..DriverFiles::default()
    }
}

fn gpu(index: u32, model: &TestGpu) -> GpuInfo {
    let mode = MigMode {
        enabled: false,
        pending: false,
    };
    GpuInfo {
        index,
        uuid: uuid(index),
        minor: index,
        name: model.name.to_owned(),
        pci_bus_id: format!("00000000:{:02X}:00.0", 0x10 + index),
        pci_id: model.pci_id,
        memory_bytes: Some(model.memory_mib << 20),
        compute_capability: model.compute_capability,
        mig: model.has_mig.then_some(mode),
        slices: Vec::new(),
        clique: None,
    }
}

fn slice(gpu: u32, index: u32, gi: u32, profile: &Profile) -> MigDeviceInfo {
    let (name, memory_mib, multiprocessors, slices, copy, decoder) = *profile;
    MigDeviceInfo {
        index,
        uuid: mig_device_uuid(gpu, index),
        gi,
        ci: 0,
        profile: name.to_owned(),
        place: None,
        memory_mib,
        multiprocessors,
        gi_slices: slices,
        ci_slices: slices,
        engines: Engines {
            copy,
            decoder,
            ..Engines::default()
        },
    }
}

fn config() -> NodeConfig {
    let text = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "pool",
        "expected": {"model": "h100-sxm5-80gb", "count": 8},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {}
    }"#;
    gpuc_runtime::config::parse(text).unwrap()
}
