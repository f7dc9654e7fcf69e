//! Machine type of a pool, its disks and images: fields that are immutable or whose change drains nodes.

use gpuc_model::MachineType;
use gpuc_schema::Span;
use gpuc_schema::config::{Capacity, GpudirectInterface, LocalDisks, Placement};
use serde_json::{Value, json};

use super::super::setting::Setting;
use super::super::{
    accelerator, create_section, flex_start, gpudirect, machines, os, section, system_config,
    workload_policy,
};
use super::{PoolLowering, kinds};

/// Google's network driver, which the machine types with GPUs need for their full bandwidth, and A3 and newer ones to
/// start. An existing pool without it is kept.
///
/// Source: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool (`enable_gvnic`, on by default) and
/// AI-Hypercomputer/xpk, 2026-11-22.
const GVNIC: &str = "--enable-gvnic";

impl PoolLowering<'_> {
    pub(super) fn machine(&self) -> Setting {
        let written = self.pool.machine_name.as_ref();
        let name = match self.pool.machine.expect_resolved() {
            MachineType::Catalog(machine) => machine.name,
            MachineType::Cpu(_) | MachineType::Host => written.map_or_else(
                || unreachable!("a machine type that is not from the catalog is set in the file"),
                |name| name.as_str(),
            ),
        };
        let flag = format!("--machine-type={name}");
        let span = written.map_or(self.pool.name.span, |name| name.span);
        if self.pool.has_gpus() {
            return Setting::new(&kinds::MACHINE_WITH_GPUS, json!(name), span).with_flag(flag);
        }
        Setting::new(&kinds::MACHINE, json!(name), span)
            .with_flag(flag.clone())
            .with_update(self.update([flag]))
    }

    /// A pool without GPUs also has the field: GPUs cannot be removed from a pool.
    pub(super) fn gpus(&self) -> Vec<Setting> {
        let span = self.pool.name.span;
        let Some(accelerator) = accelerator::pool_accelerator(self.pool) else {
            return vec![Setting::new(&kinds::GPUS, json!([]), span)];
        };
        let chosen = self
            .pool
            .gpus
            .expect_resolved()
            .map_or(span, |gpus| gpus.span);
        let flag = accelerator.flag();
        // Bare-metal machines have interfaces of another kind.
        let is_bare_metal = gpudirect::pool_adapters(self.pool).is_some_and(|it| it.is_bare_metal);
        vec![
            Setting::new(&kinds::GPUS, accelerator.immutable_json(), chosen)
                .with_flag(flag.clone())
                .with_flags((!is_bare_metal).then(|| GVNIC.to_owned())),
            Setting::new(
                &kinds::GPU_SETTINGS,
                accelerator.mutable_json(),
                self.pool.driver.span,
            )
            .with_update(self.update([flag])),
        ]
    }

    pub(super) fn local_ssds(&self) -> Option<Setting> {
        let MachineType::Catalog(machine) = self.pool.machine.expect_resolved() else {
            return None;
        };
        let count = machines::find(machine.name)?.local_ssd_count?;
        let written = self.pool.settings.local_disks;
        let machine = self.pool.machine_name.as_ref();
        let span = machine.map_or(self.pool.name.span, |name| name.span);
        let span = written.map_or(span, |disks| disks.span);
        let is_block = written.is_some_and(|disks| disks.value == LocalDisks::Block);
        let (purpose, flag) = if is_block {
            ("block", "--local-nvme-ssd-block")
        } else {
            ("scratch", "--ephemeral-storage-local-ssd")
        };
        let desired = json!({"count": count, "use": purpose});
        let setting = Setting::new(&kinds::LOCAL_SSDS, desired, span);
        Some(setting.with_flag(format!("{flag}=count={count}")))
    }

    pub(super) fn spot(&self) -> Setting {
        let capacity = &self.pool.settings.capacity;
        let spot = matches!(capacity.value, Capacity::Spot(_));
        let flag = spot.then(|| "--spot".to_owned());
        Setting::new(&kinds::SPOT, json!(spot), capacity.span).with_flags(flag)
    }

    /// Flex-start machines, and the time that they run.
    pub(super) fn flex_start(&self) -> Vec<Setting> {
        let span = self.pool.settings.capacity.span;
        let Some(flex) = self.pool.flex_start() else {
            return vec![Setting::new(&kinds::FLEX_START, Value::Null, span)];
        };
        let seconds = flex_start::run_seconds(flex).unwrap_or_else(|| {
            unreachable!("the rule `gke-flex-start-duration` rejects an invalid duration")
        });
        let duration = format!("{seconds}s");
        let queued = (flex.queued.value).then(|| "--enable-queued-provisioning".to_owned());
        let written = flex.max_run_duration.as_ref();
        let desired = json!({"queued": flex.queued.value});
        vec![
            Setting::new(&kinds::FLEX_START, desired, span)
                .with_flag("--flex-start")
                .with_flags(queued),
            Setting::new(
                &kinds::MAX_RUN_DURATION,
                json!(duration),
                written.map_or(span, |written| written.span),
            )
            .with_flag(format!("--max-run-duration={duration}")),
        ]
    }

    pub(super) fn reservation(&self) -> Setting {
        let capacity = &self.pool.settings.capacity;
        let Capacity::Reservation(reservation) = &capacity.value else {
            // Flex-start machines never come from a reservation.
            let none = self.pool.flex_start();
            let none = none.map(|_| "--reservation-affinity=none".to_owned());
            return Setting::new(&kinds::RESERVATION, Value::Null, capacity.span).with_flags(none);
        };
        let id = &reservation.id;
        Setting::new(&kinds::RESERVATION, json!(id.value), id.span)
            .with_flag("--reservation-affinity=specific")
            .with_flag(format!("--reservation={id}"))
    }

    pub(super) fn placement(&self) -> Setting {
        if let Some(policy) = workload_policy::policy_name(&self.cluster, self.pool) {
            let flag = format!("--placement-policy={policy}");
            let machine = self.pool.machine_name.as_ref();
            let span = machine.map_or(self.pool.name.span, |machine| machine.span);
            return Setting::new(&kinds::PLACEMENT, json!(policy), span).with_flag(flag);
        }
        let Some(placement) = &self.pool.settings.network.placement else {
            return Setting::new(&kinds::PLACEMENT, Value::Null, Span::NONE);
        };
        let (desired, flag) = match &placement.value {
            Placement::Compact => ("COMPACT", "--placement-type=COMPACT".to_owned()),
            Placement::Group(name) => (name.as_str(), format!("--placement-policy={name}")),
        };
        Setting::new(&kinds::PLACEMENT, json!(desired), placement.span).with_flag(flag)
    }

    /// The networks of GPUDirect interfaces, unless GKE creates them.
    pub(super) fn interfaces(&self) -> Setting {
        let written = self.pool.settings.network.gpudirect.as_ref();
        let span = written.map_or(Span::NONE, |written| written.span);
        let interfaces = gpudirect::pool_interfaces(&self.cluster, self.pool);
        let interfaces = interfaces.iter();
        let desired: Vec<_> = interfaces
            .clone()
            .map(|interface| json!({"network": interface.network.value, "subnetwork": interface.subnetwork.value}))
            .collect();
        let flags = interfaces.map(|interface| {
            let GpudirectInterface {
                network,
                subnetwork,
            } = interface;
            format!("--additional-node-network=network={network},subnetwork={subnetwork}")
        });
        Setting::new(&kinds::INTERFACES, json!(desired), span).with_flags(flags)
    }

    /// The networks of GPUDirect that GKE creates. Only pools of machine types for which GKE can create them have the
    /// field.
    pub(super) fn network_profile(&self) -> Option<Setting> {
        gpudirect::pool_adapters(self.pool)?;
        let written = self.pool.settings.network.gpudirect.as_ref();
        let managed = written.filter(|written| written.value.is_managed());
        let profile = managed.map(|_| "auto");
        let span = written.map_or(Span::NONE, |written| written.span);
        let flag = profile.map(|profile| format!("--accelerator-network-profile={profile}"));
        Some(Setting::new(&kinds::NETWORK_PROFILE, json!(profile), span).with_flags(flag))
    }

    /// Huge pages for the software of the network adapters.
    pub(super) fn huge_pages(&self) -> Option<Setting> {
        let pages = system_config::huge_pages(self.pool)?;
        let written = self.pool.settings.network.gpudirect.as_ref();
        let span = written.map_or(Span::NONE, |written| written.span);
        let path = system_config::file_path(self.pool)?;
        let update = system_config::with_flag(self.update([]), path);
        Some(Setting::new(&kinds::HUGE_PAGES, json!(pages), span).with_update(update))
    }

    pub(super) fn max_pods(&self) -> Option<Setting> {
        let max = self.pool.settings.max_pods?;
        let setting = Setting::new(&kinds::MAX_PODS, json!(max.value), max.span);
        Some(setting.with_flag(format!("--max-pods-per-node={max}")))
    }

    /// Without the key, an existing pool keeps its account.
    pub(super) fn service_account(&self) -> Option<Setting> {
        let account = section(&self.cluster.config)
            .node_service_account
            .as_ref()?;
        let setting = Setting::new(&kinds::SERVICE_ACCOUNT, json!(account.value), account.span);
        Some(setting.with_flag(format!("--service-account={account}")))
    }

    pub(super) fn image(&self) -> Setting {
        let image = os::image_type(self.pool);
        let flag = format!("--image-type={image}");
        let pool = format!("--node-pool={}", self.pool.name);
        let upgrade = self
            .target
            .cluster_command("upgrade")
            .with_arguments([pool, flag.clone()]);
        Setting::new(&kinds::IMAGE, json!(image), self.pool.os.span)
            .with_flag(flag)
            .with_update(upgrade)
    }

    pub(super) fn disk(&self) -> Setting {
        let size = self.pool.settings.disk_gib;
        let flag = format!("--disk-size={size}GB");
        Setting::new(&kinds::DISK, json!(size.value), size.span)
            .with_flag(flag.clone())
            .with_update(self.update([flag]))
    }

    /// The setting of an existing cluster is not known, so its pools use the default of GKE.
    pub(super) fn workload_metadata(&self) -> Option<Setting> {
        let identity = create_section(&self.cluster.config)?.workload_identity;
        let mode = if identity.value {
            "GKE_METADATA"
        } else {
            "GCE_METADATA"
        };
        let flag = format!("--workload-metadata={mode}");
        let setting = Setting::new(&kinds::WORKLOAD_METADATA, json!(mode), identity.span);
        let flags = identity.value.then(|| flag.clone());
        Some(setting.with_flags(flags).with_update(self.update([flag])))
    }
}
