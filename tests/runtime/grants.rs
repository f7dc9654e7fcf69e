//! Allocations, compared with the responses of NVIDIA's plugin (v0.20.0, measured 2026-11).

use gpuc_runtime::allocate::{AllocationError, ContainerAllocation, allocate};
use gpuc_runtime::device::Gpu;
use gpuc_runtime::nvml::{NvmlError, NvmlErrorKind};
use gpuc_schema::node_config::{DeviceInjection, Extra, NodeSharing};
use proptest::prelude::*;

use crate::machines::*;

fn allocate_resource(
    machine: &Machine,
    resource: &str,
    ids: &[&str],
) -> Result<ContainerAllocation, AllocationError> {
    let state = machine.state();
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    allocate(&state, state.advertised_resource(resource).unwrap(), &ids)
}

fn allocate_gpus(machine: &Machine, ids: &[&str]) -> Result<ContainerAllocation, AllocationError> {
    allocate_resource(machine, "nvidia.com/gpu", ids)
}

fn cdi_injection(annotations: bool) -> DeviceInjection {
    DeviceInjection::Cdi {
        spec_dir: "/var/run/cdi".to_owned(),
        annotations,
    }
}

fn device_nodes_injection() -> DeviceInjection {
    DeviceInjection::DeviceNodes {
        driver_host_path: "/home/kubernetes/bin/nvidia".to_owned(),
        driver_container_path: "/usr/local/nvidia".to_owned(),
    }
}

fn time_slicing(replicas: u32, refuse_more_than_one: bool) -> NodeSharing {
    NodeSharing::TimeSlicing {
        replicas,
        rename: false,
        refuse_more_than_one,
    }
}

fn mps(replicas: u32) -> NodeSharing {
    NodeSharing::Mps {
        replicas,
        rename: false,
        refuse_more_than_one: false,
        root: "/run/nvidia/mps".to_owned(),
    }
}

fn device_paths(allocation: &ContainerAllocation) -> Vec<&str> {
    let devices = allocation.devices.iter();
    devices.map(|node| node.host_path.as_str()).collect()
}

fn mount_paths(allocation: &ContainerAllocation) -> Vec<(&str, &str, bool)> {
    let mounts = allocation.mounts.iter();
    mounts
        .map(|mount| {
            (
                mount.host_path.as_str(),
                mount.container_path.as_str(),
                mount.read_only,
            )
        })
        .collect()
}

#[test]
fn environment_variable_lists_gpus() {
    let machine = machine(&[H100; 8]);
    let (second, fourth) = (uuid(1), uuid(3));
    let allocation = allocate_gpus(&machine, &[&fourth, &second]).unwrap();
    assert_eq!(allocation.envs.len(), 1);
    // The order is that of the GPUs, not that of the kubelet's request.
    assert_eq!(
        allocation.envs["NVIDIA_VISIBLE_DEVICES"],
        format!("{second},{fourth}")
    );
    assert!(allocation.mounts.is_empty() && allocation.devices.is_empty());
    assert!(allocation.annotations.is_empty() && allocation.cdi_devices.is_empty());
}

#[test]
fn replicas_list_their_gpu_once() {
    let machine = machine(&[L4; 4]).with_sharing(time_slicing(4, false));
    let ids = [3, 0, 2].map(|replica| format!("{}::{replica}", uuid(2)));
    let allocation = allocate_gpus(&machine, &[&ids[0], &ids[1], &ids[2]]).unwrap();
    assert_eq!(allocation.envs["NVIDIA_VISIBLE_DEVICES"], uuid(2));
}

#[test]
fn volume_mounts_list_gpus() {
    let machine = machine(&[GB200; 4])
        .with_injection(DeviceInjection::VolumeMounts)
        .with_extras(&[Extra::Imex]);
    let allocation = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    let folder = "/var/run/nvidia-container-devices";
    assert_eq!(allocation.envs["NVIDIA_VISIBLE_DEVICES"], folder);
    assert_eq!(allocation.envs.len(), 1);
    let first = format!("{folder}/{}", uuid(0));
    let second = format!("{folder}/imex/0");
    let expected = [
        ("/dev/null", first.as_str(), false),
        ("/dev/null", &second, false),
    ];
    assert_eq!(mount_paths(&allocation), expected);
}

#[test]
fn device_nodes_are_passed_if_configured() {
    let mut machine = machine(&[H100; 8]);
    machine.config.pass_device_nodes = true;
    let allocation = allocate_gpus(&machine, &[&uuid(6)]).unwrap();
    let nodes = [
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia6",
    ];
    assert_eq!(device_paths(&allocation), nodes);
    assert!(
        allocation
            .devices
            .iter()
            .all(|node| node.permissions == "rw")
    );
    assert_eq!(allocation.envs["NVIDIA_VISIBLE_DEVICES"], uuid(6));
}

#[test]
fn driver_container_nodes_are_below_its_root() {
    let mut machine = machine(&[H100]);
    machine.config.pass_device_nodes = true;
    machine.files.dev_root = "/run/nvidia/driver".to_owned();
    let allocation = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    let last = allocation.devices.last().unwrap();
    assert_eq!(last.container_path, "/dev/nvidia0");
    assert_eq!(last.host_path, "/run/nvidia/driver/dev/nvidia0");
}

#[test]
fn mig_device_has_gpu_and_capability_nodes() {
    let mut machine = machine(&[A100; 8]).with_mig_devices("single", 7, &[A100_1G; 7]);
    machine.config.pass_device_nodes = true;
    machine.files.control_nodes.truncate(1);
    let id = mig_device_uuid(1, 0);
    let allocation = allocate_gpus(&machine, &[&id]).unwrap();
    // Instance 7 of the second GPU: 3 + 135 + 9 * 7.
    let nodes = [
        "/dev/nvidiactl",
        "/dev/nvidia1",
        "/dev/nvidia-caps/nvidia-cap201",
        "/dev/nvidia-caps/nvidia-cap202",
    ];
    assert_eq!(device_paths(&allocation), nodes);
    assert_eq!(allocation.envs["NVIDIA_VISIBLE_DEVICES"], id);
    machine.files.mig_minors.remove("gpu1/gi7/ci0/access");
    let error = allocate_gpus(&machine, &[&id]).unwrap_err();
    assert!(
        error.to_string().contains("`gpu1/gi7/ci0/access`"),
        "{error}"
    );
}

#[test]
fn mig_devices_pass_their_gpu_once() {
    let machine = machine(&[A100])
        .with_mig_devices("mixed", 1, &[A100_3G, A100_1G, A100_1G])
        .with_injection(device_nodes_injection());
    let ids = [mig_device_uuid(0, 1), mig_device_uuid(0, 2)];
    let allocation =
        allocate_resource(&machine, "nvidia.com/mig-1g.5gb", &[&ids[0], &ids[1]]).unwrap();
    let gpu = device_paths(&allocation)
        .into_iter()
        .filter(|path| *path == "/dev/nvidia0");
    assert_eq!(gpu.count(), 1);
}

#[test]
fn cdi_allocation_has_only_device_names() {
    let machine = machine(&[GB200; 4])
        .with_injection(cdi_injection(false))
        .with_extras(&[Extra::Imex, Extra::Gds, Extra::Mofed, Extra::Gdrcopy]);
    let allocation = allocate_gpus(&machine, &[&uuid(2)]).unwrap();
    let vendor = "k8s.device-plugin.nvidia.com";
    let expected = [
        format!("{vendor}/gpu={}", uuid(2)),
        format!("{vendor}/gdrcopy=all"),
        format!("{vendor}/gds=all"),
        format!("{vendor}/mofed=all"),
        format!("{vendor}/imex-channel=0"),
    ];
    assert_eq!(allocation.cdi_devices, expected);
    let rest = ContainerAllocation {
        cdi_devices: allocation.cdi_devices.clone(),
        ..ContainerAllocation::default()
    };
    assert_eq!(allocation, rest);
}

#[test]
fn cdi_annotation_keys_are_unique() {
    let machine = machine(&[H100; 2]).with_injection(cdi_injection(true));
    let one = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    let (key, value) = one.annotations.first_key_value().unwrap();
    assert_eq!(
        *value,
        format!("k8s.device-plugin.nvidia.com/gpu={}", uuid(0))
    );
    let name = key.strip_prefix("cdi.k8s.io/").unwrap();
    assert!(
        name.starts_with("nvidia-device-plugin_") && name.len() <= 63,
        "{name}"
    );
    assert!(one.envs.is_empty() && one.cdi_devices.is_empty());
    assert_eq!(allocate_gpus(&machine, &[&uuid(0)]).unwrap(), one);
    let other = allocate_gpus(&machine, &[&uuid(1)]).unwrap();
    assert_ne!(other.annotations.first_key_value().unwrap().0, key);
}

#[test]
fn components_are_injected_if_configured_and_present() {
    let extras = [Extra::Gdrcopy, Extra::Gds, Extra::Mofed, Extra::Imex];
    let mut machine = machine(&[GB200; 4]).with_extras(&extras);
    let allocation = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    for name in ["NVIDIA_GDRCOPY", "NVIDIA_GDS", "NVIDIA_MOFED"] {
        assert_eq!(allocation.envs[name], "enabled");
    }
    assert_eq!(allocation.envs["NVIDIA_IMEX_CHANNELS"], "0");
    machine.files.gds_nodes.clear();
    machine.files.imex_channels = vec![1];
    machine.config.extras.retain(|extra| *extra != Extra::Mofed);
    let allocation = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    let names: Vec<_> = allocation.envs.keys().map(String::as_str).collect();
    assert_eq!(names, ["NVIDIA_GDRCOPY", "NVIDIA_VISIBLE_DEVICES"]);
}

#[test]
fn device_nodes_need_no_nvidia_runtime() {
    let machine = machine(&[L4; 4])
        .with_injection(device_nodes_injection())
        .with_extras(&[Extra::Gdrcopy]);
    let allocation = allocate_gpus(&machine, &[&uuid(0)]).unwrap();
    assert!(device_paths(&allocation).contains(&"/dev/nvidia0"));
    assert!(device_paths(&allocation).contains(&"/dev/gdrdrv"));
    let driver = ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia", true);
    assert_eq!(mount_paths(&allocation), [driver]);
    assert!(
        allocation.envs.is_empty(),
        "a PATH variable would replace the one of the image"
    );
}

#[test]
fn mps_sets_pipes_memory_and_limits() {
    let machine = machine(&[L4; 2]).with_sharing(mps(4));
    let one = format!("{}::0", uuid(0));
    let allocation = allocate_gpus(&machine, &[&one]).unwrap();
    let pipe = "/mps/nvidia.com/gpu/pipe";
    assert_eq!(allocation.envs["CUDA_MPS_PIPE_DIRECTORY"], pipe);
    let expected = [
        ("/run/nvidia/mps/nvidia.com/gpu/pipe", pipe, false),
        ("/run/nvidia/mps/shm", "/dev/shm", false),
    ];
    assert_eq!(mount_paths(&allocation), expected);
    assert_eq!(allocation.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    assert_eq!(
        allocation.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"],
        "0=5758M"
    );
    let two = allocate_gpus(&machine, &[&one, &format!("{}::3", uuid(0))]).unwrap();
    assert_eq!(two.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "50");
    assert_eq!(two.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=11517M");
    let three = [&one, &format!("{}::3", uuid(0)), &format!("{}::1", uuid(1))];
    let three = allocate_gpus(&machine, &three.map(String::as_str)).unwrap();
    assert_eq!(three.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    let both = allocate_gpus(&machine, &[&one, &format!("{}::3", uuid(1))]).unwrap();
    assert_eq!(both.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    let limit = &both.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"];
    assert_eq!(limit, "0=5758M,1=5758M");
}

#[test]
fn mps_works_with_cdi() {
    let machine = machine(&[L4; 2])
        .with_sharing(mps(4))
        .with_injection(cdi_injection(false));
    let allocation = allocate_gpus(&machine, &[&format!("{}::0", uuid(0))]).unwrap();
    assert!(allocation.envs.contains_key("CUDA_MPS_PIPE_DIRECTORY"));
    assert!(!allocation.envs.contains_key("NVIDIA_VISIBLE_DEVICES"));
    assert_eq!(allocation.mounts.len(), 2);
}

#[test]
fn unknown_devices_are_rejected() {
    let machine = machine(&[H100; 8]);
    let error = allocate_gpus(&machine, &[&uuid(0), "GPU-x"]).unwrap_err();
    assert!(matches!(&error, AllocationError::Unknown { ids, .. } if *ids == ["GPU-x"]));
    assert!(error.to_string().contains("`GPU-x`"), "{error}");
    let error = allocate_gpus(&machine, &[]).unwrap_err();
    assert!(matches!(error, AllocationError::Empty { .. }));
    let error = allocate_gpus(&machine, &[&uuid(0), &uuid(0)]).unwrap_err();
    assert!(matches!(&error, AllocationError::Duplicate { ids, .. } if *ids == [uuid(0)]));
}

#[test]
fn unhealthy_devices_are_rejected() {
    let mut machine = machine(&[L4; 4]).with_sharing(time_slicing(4, false));
    machine.unhealthy.insert(uuid(1), "XID 79".to_owned());
    // Every replica is rejected. NVIDIA's plugin allocates nine of ten.
    for replica in 0..4 {
        let error = allocate_gpus(&machine, &[&format!("{}::{replica}", uuid(1))]).unwrap_err();
        assert!(error.to_string().contains("XID 79"), "{error}");
    }
    assert!(allocate_gpus(&machine, &[&format!("{}::0", uuid(2))]).is_ok());
}

#[test]
fn mig_device_is_unhealthy_with_its_gpu() {
    let mut machine = machine(&[A100; 2]).with_mig_devices("single", 7, &[A100_1G; 7]);
    machine.unhealthy.insert(uuid(0), "XID 79".to_owned());
    machine
        .unhealthy
        .insert(mig_device_uuid(1, 3), "XID 94".to_owned());
    assert!(allocate_gpus(&machine, &[&mig_device_uuid(0, 5)]).is_err());
    assert!(allocate_gpus(&machine, &[&mig_device_uuid(1, 3)]).is_err());
    assert!(allocate_gpus(&machine, &[&mig_device_uuid(1, 4)]).is_ok());
}

#[test]
fn unresponsive_gpu_is_rejected() {
    let mut machine = machine(&[H100; 8]);
    let last_info = machine.inventory.gpus[3].info().cloned();
    let lost = NvmlError {
        kind: NvmlErrorKind::GpuLost,
        message: "GPU 3 is lost".to_owned(),
    };
    machine.inventory.gpus[3] = Gpu::Unresponsive {
        index: 3,
        last_info,
        error: lost,
    };
    let error = allocate_gpus(&machine, &[&uuid(3)]).unwrap_err();
    assert!(error.to_string().contains("GPU 3 is lost"), "{error}");
    assert!(allocate_gpus(&machine, &[&uuid(2), &uuid(4)]).is_ok());
}

#[test]
fn several_replicas_are_rejected_if_configured() {
    let ids = [format!("{}::0", uuid(0)), format!("{}::1", uuid(1))];
    let allocate_two = |sharing| {
        allocate_gpus(
            &machine(&[L4; 4]).with_sharing(sharing),
            &[&ids[0], &ids[1]],
        )
    };
    let error = allocate_two(time_slicing(4, true)).unwrap_err();
    assert!(matches!(
        error,
        AllocationError::TooMany { requested: 2, .. }
    ));
    assert!(error.to_string().contains("request `nvidia.com/gpu: 1`"));
    assert!(allocate_two(time_slicing(4, false)).is_ok());
    // The limit does not apply to full GPUs.
    let full = machine(&[L4; 4]).with_sharing(time_slicing(1, true));
    assert!(allocate_gpus(&full, &[&uuid(0), &uuid(1)]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An allocation has exactly the GPUs that the kubelet requests. An invalid request is an error, not a panic.
    #[test]
    fn any_request_is_handled(picks in prop::collection::vec(0_usize..18, 0..6)) {
        let machine = machine(&[L4; 4]).with_sharing(time_slicing(4, false));
        let state = machine.state();
        let advertised = &state.advertised_resources[0];
        let id = |pick: &usize| advertised.devices.get(*pick).map_or("?".to_owned(), |share| share.id.clone());
        let ids: Vec<_> = picks.iter().map(id).collect();
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        let valid = !ids.is_empty() && unique.len() == ids.len() && !ids.contains(&"?".to_owned());
        let answer = allocate(&state, advertised, &ids);
        prop_assert_eq!(answer.is_ok(), valid);
        if let Ok(allocation) = answer {
            let visible: Vec<_> = allocation.envs["NVIDIA_VISIBLE_DEVICES"].split(',').map(str::to_owned).collect();
            let mut expected: Vec<_> = ids.iter().map(|id| id.split("::").next().unwrap().to_owned()).collect();
            expected.sort();
            expected.dedup();
            prop_assert_eq!(visible, expected);
        }
    }
}
