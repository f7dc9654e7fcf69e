//! The GPUs of a GKE pool in the format of gcloud's `--accelerator`, and in the format of the API.

use gpuc_model::{MachineType, Pool, PoolGpus, Sharing};
use gpuc_schema::config::{DevicePlugin, DriverOwner};
use gpuc_schema::gpu::GpuModel;
use serde_json::{Value, json};

use super::{attachable_gpus, cpu, machines};

/// The GPUs of a pool with all their settings.
///
/// An update sends all of them: it unsets every setting that it omits.
#[derive(Debug)]
pub(super) struct Accelerator {
    kind: &'static str,
    count: u32,
    driver: DriverInstallation,
    sharing: Option<(SharingStrategy, u32)>,
    partition: Option<String>,
}

/// The driver installation, in the terms of GKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriverInstallation {
    Default,
    Latest,
    Disabled,
}

/// Sharing strategy of GKE's device plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharingStrategy {
    TimeSharing,
    Mps,
}

/// The GPUs of a pool; `None` for a pool without GPUs.
pub(super) fn pool_accelerator(pool: &Pool) -> Option<Accelerator> {
    let gpus = pool.gpus.expect_resolved().as_ref()?;
    let advertised_by_gke = pool.plugin.value == DevicePlugin::Cloud;
    let sharing = pool.sharing.expect_resolved();
    Some(Accelerator {
        kind: accelerator_name(pool.machine.expect_resolved(), gpus)
            .unwrap_or_else(|| unreachable!("resolve calls `attach` before it attaches a GPU")),
        count: gpus.per_node,
        driver: driver_installation(pool),
        sharing: sharing_strategy(sharing).filter(|_| advertised_by_gke),
        partition: partition_size(sharing).filter(|_| advertised_by_gke),
    })
}

/// Google's name for the GPU model of a machine.
pub(super) fn accelerator_name(machine: &MachineType, gpus: &PoolGpus) -> Option<&'static str> {
    match machine {
        MachineType::Catalog(machine) => machines::find(machine.name).map(|row| row.accelerator),
        MachineType::Cpu(_) | MachineType::Host => {
            find_attachable(gpus.model).map(|attachable| attachable.accelerator)
        }
    }
}

/// Whether these GPUs can be attached to a machine type; otherwise the reason.
pub(super) fn check_attachment(
    machine: &str,
    model: &'static GpuModel,
    count: u32,
) -> Result<(), String> {
    let is_n1 = attachable_gpus::find_n1(machine).is_some()
        || ["custom-", "n1-custom-"]
            .iter()
            .any(|head| machine.starts_with(head));
    if !is_n1 {
        return Err("GPUs can be attached only to machine types of the N1 family".to_owned());
    }
    let Some(attachable) = find_attachable(model) else {
        let keys: Vec<_> = (attachable_gpus::ATTACHABLE.iter())
            .map(|attachable| attachable.model.key)
            .collect();
        return Err(format!("only {} can be attached", keys.join(", ")));
    };
    let Some(limit) = attachable.limit(count) else {
        let counts: Vec<_> = attachable
            .limits
            .iter()
            .map(|limit| limit.count.to_string())
            .collect();
        return Err(format!(
            "the number of attached GPUs must be one of {}",
            counts.join(", ")
        ));
    };
    let (vcpus, gib) = (limit.max_vcpus, limit.max_memory_gib);
    let fits = cpu::cpu_machine(machine)
        .is_some_and(|size| size.vcpus <= vcpus && size.memory_mib <= gib * 1024);
    if fits {
        Ok(())
    } else {
        Err(format!(
            "with {count} attached GPUs, a machine has at most {vcpus} vCPUs and {gib} GiB of memory"
        ))
    }
}

fn find_attachable(model: &'static GpuModel) -> Option<&'static attachable_gpus::AttachableGpu> {
    let mut all = attachable_gpus::ATTACHABLE.iter();
    all.find(|attachable| std::ptr::eq(attachable.model, model))
}

fn driver_installation(pool: &Pool) -> DriverInstallation {
    let version = pool.driver_version.as_ref().map(|version| version.as_str());
    match (pool.driver.value, version) {
        (DriverOwner::Preinstalled, Some("latest")) => DriverInstallation::Latest,
        (DriverOwner::Preinstalled, _) => DriverInstallation::Default,
        _ => DriverInstallation::Disabled,
    }
}

fn sharing_strategy(sharing: &Sharing) -> Option<(SharingStrategy, u32)> {
    match sharing {
        Sharing::TimeSlicing { replicas, .. } => {
            Some((SharingStrategy::TimeSharing, replicas.value))
        }
        Sharing::Mps { replicas, .. } => Some((SharingStrategy::Mps, replicas.value)),
        Sharing::Exclusive | Sharing::Mig { .. } => None,
    }
}

/// MIG profile of all MIG devices of a pool. The rule `gke-mig-layout` rejects other geometries.
pub(super) fn partition_size(sharing: &Sharing) -> Option<String> {
    match sharing {
        Sharing::Mig { gpus, .. } => {
            let placement = gpus.first()?.placements.first()?;
            Some(placement.profile.to_string())
        }
        _ => None,
    }
}

impl Accelerator {
    /// The flag with all settings: gcloud replaces omitted settings with its defaults.
    pub(super) fn flag(&self) -> String {
        let mut options = vec![
            format!("type={}", self.kind),
            format!("count={}", self.count),
            format!("gpu-driver-version={}", self.driver.flag_value()),
        ];
        if let Some((strategy, clients)) = self.sharing {
            options.push(format!("gpu-sharing-strategy={}", strategy.flag_value()));
            options.push(format!("max-shared-clients-per-gpu={clients}"));
        }
        if let Some(size) = &self.partition {
            options.push(format!("gpu-partition-size={size}"));
        }
        format!("--accelerator={}", options.join(","))
    }

    /// The immutable part, in the format of the field's `read` program.
    pub(super) fn immutable_json(&self) -> Value {
        json!([{"type": self.kind, "count": self.count, "partition": self.partition}])
    }

    /// The mutable part, in the format of the field's `read` program.
    pub(super) fn mutable_json(&self) -> Value {
        json!({
            "driver": self.driver.api_value(),
            "strategy": self.sharing.map(|(strategy, _)| strategy.api_value()),
            "clients": self.sharing.map(|(_, clients)| clients),
        })
    }
}

impl DriverInstallation {
    fn flag_value(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Latest => "latest",
            Self::Disabled => "disabled",
        }
    }

    fn api_value(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::Latest => "LATEST",
            Self::Disabled => "INSTALLATION_DISABLED",
        }
    }
}

impl SharingStrategy {
    fn flag_value(self) -> &'static str {
        match self {
            Self::TimeSharing => "time-sharing",
            Self::Mps => "mps",
        }
    }

    fn api_value(self) -> &'static str {
        match self {
            Self::TimeSharing => "TIME_SHARING",
            Self::Mps => "MPS",
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::{L4_24GB, T4_16GB, V100_SXM2_16GB};

    use super::*;

    #[test]
    fn attach_checks_machine_family_and_gpu_count() {
        assert_eq!(check_attachment("n1-standard-8", &T4_16GB, 1), Ok(()));
        assert_eq!(check_attachment("custom-8-16384", &T4_16GB, 1), Ok(()));
        for (machine, model, count, reason) in [
            ("n2-standard-8", &T4_16GB, 1, "N1"),
            ("n1-standard-8", &L4_24GB, 1, "t4-16gb"),
            ("n1-standard-8", &T4_16GB, 3, "1, 2, 4"),
            ("n1-standard-64", &T4_16GB, 1, "48 vCPUs"),
            ("n1-highmem-16", &V100_SXM2_16GB, 1, "12 vCPUs and 78 GiB"),
        ] {
            let error = check_attachment(machine, model, count).expect_err(machine);
            assert!(error.contains(reason), "{machine}: {error}");
        }
    }
}
