//! What a container gets, against what NVIDIA's plugin answers (v0.20.0, measured 2026-11).

use gpuc_runtime::allocate::{Grant, Refusal, allocate};
use gpuc_runtime::device::Gpu;
use gpuc_runtime::nvml::{NvmlError, NvmlErrorKind};
use gpuc_schema::node_config::{DeviceInjection, Extra, NodeSharing};
use proptest::prelude::*;

use crate::machines::*;

fn ask(machine: &Machine, resource: &str, ids: &[&str]) -> Result<Grant, Refusal> {
    let state = machine.state();
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    allocate(&state, state.offer(resource).unwrap(), &ids)
}

fn gpus(machine: &Machine, ids: &[&str]) -> Result<Grant, Refusal> {
    ask(machine, "nvidia.com/gpu", ids)
}

fn cdi(annotations: bool) -> DeviceInjection {
    DeviceInjection::Cdi {
        spec_dir: "/var/run/cdi".to_owned(),
        annotations,
    }
}

fn device_nodes() -> DeviceInjection {
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

fn paths(grant: &Grant) -> Vec<&str> {
    let devices = grant.devices.iter();
    devices.map(|node| node.host_path.as_str()).collect()
}

fn mounts(grant: &Grant) -> Vec<(&str, &str, bool)> {
    let mounts = grant.mounts.iter();
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
fn a_variable_names_the_gpus() {
    let machine = machine(&[H100; 8]);
    let (second, fourth) = (uuid(1), uuid(3));
    let grant = gpus(&machine, &[&fourth, &second]).unwrap();
    assert_eq!(grant.envs.len(), 1);
    // In the order of the GPUs, whatever the kubelet's.
    assert_eq!(
        grant.envs["NVIDIA_VISIBLE_DEVICES"],
        format!("{second},{fourth}")
    );
    assert!(grant.mounts.is_empty() && grant.devices.is_empty());
    assert!(grant.annotations.is_empty() && grant.cdi_devices.is_empty());
}

#[test]
fn replicas_of_one_gpu_name_it_once() {
    let machine = machine(&[L4; 4]).shared(time_slicing(4, false));
    let ids = [3, 0, 2].map(|replica| format!("{}::{replica}", uuid(2)));
    let grant = gpus(&machine, &[&ids[0], &ids[1], &ids[2]]).unwrap();
    assert_eq!(grant.envs["NVIDIA_VISIBLE_DEVICES"], uuid(2));
}

#[test]
fn mounts_name_the_gpus() {
    let machine = machine(&[GB200; 4])
        .injecting(DeviceInjection::VolumeMounts)
        .with_extras(&[Extra::Imex]);
    let grant = gpus(&machine, &[&uuid(0)]).unwrap();
    let folder = "/var/run/nvidia-container-devices";
    assert_eq!(grant.envs["NVIDIA_VISIBLE_DEVICES"], folder);
    assert_eq!(grant.envs.len(), 1);
    let first = format!("{folder}/{}", uuid(0));
    let second = format!("{folder}/imex/0");
    let wanted = [
        ("/dev/null", first.as_str(), false),
        ("/dev/null", &second, false),
    ];
    assert_eq!(mounts(&grant), wanted);
}

#[test]
fn the_kubelet_passes_nodes_where_it_is_told_to() {
    let mut machine = machine(&[H100; 8]);
    machine.config.pass_device_nodes = true;
    let grant = gpus(&machine, &[&uuid(6)]).unwrap();
    let nodes = [
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia6",
    ];
    assert_eq!(paths(&grant), nodes);
    assert!(grant.devices.iter().all(|node| node.permissions == "rw"));
    assert_eq!(grant.envs["NVIDIA_VISIBLE_DEVICES"], uuid(6));
}

#[test]
fn nodes_of_a_driver_container_come_from_below_its_root() {
    let mut machine = machine(&[H100]);
    machine.config.pass_device_nodes = true;
    machine.files.dev_root = "/run/nvidia/driver".to_owned();
    let grant = gpus(&machine, &[&uuid(0)]).unwrap();
    let last = grant.devices.last().unwrap();
    assert_eq!(last.container_path, "/dev/nvidia0");
    assert_eq!(last.host_path, "/run/nvidia/driver/dev/nvidia0");
}

#[test]
fn a_mig_device_is_opened_by_its_gpu_and_two_capabilities() {
    let mut machine = machine(&[A100; 8]).cut("single", 7, &[A100_1G; 7]);
    machine.config.pass_device_nodes = true;
    machine.files.control_nodes.truncate(1);
    let id = slice_uuid(1, 0);
    let grant = gpus(&machine, &[&id]).unwrap();
    // Instance 7 of the second GPU: 3 + 135 + 9 * 7.
    let nodes = [
        "/dev/nvidiactl",
        "/dev/nvidia1",
        "/dev/nvidia-caps/nvidia-cap201",
        "/dev/nvidia-caps/nvidia-cap202",
    ];
    assert_eq!(paths(&grant), nodes);
    assert_eq!(grant.envs["NVIDIA_VISIBLE_DEVICES"], id);
    machine.files.mig_minors.remove("gpu1/gi7/ci0/access");
    let refusal = gpus(&machine, &[&id]).unwrap_err();
    assert!(
        refusal.to_string().contains("`gpu1/gi7/ci0/access`"),
        "{refusal}"
    );
}

#[test]
fn slices_of_one_gpu_pass_its_node_once() {
    let machine = machine(&[A100])
        .cut("mixed", 1, &[A100_3G, A100_1G, A100_1G])
        .injecting(device_nodes());
    let ids = [slice_uuid(0, 1), slice_uuid(0, 2)];
    let grant = ask(&machine, "nvidia.com/mig-1g.5gb", &[&ids[0], &ids[1]]).unwrap();
    let gpu = paths(&grant)
        .into_iter()
        .filter(|path| *path == "/dev/nvidia0");
    assert_eq!(gpu.count(), 1);
}

#[test]
fn cdi_names_devices_and_nothing_else() {
    let machine = machine(&[GB200; 4]).injecting(cdi(false)).with_extras(&[
        Extra::Imex,
        Extra::Gds,
        Extra::Mofed,
        Extra::Gdrcopy,
    ]);
    let grant = gpus(&machine, &[&uuid(2)]).unwrap();
    let vendor = "k8s.device-plugin.nvidia.com";
    let wanted = [
        format!("{vendor}/gpu={}", uuid(2)),
        format!("{vendor}/gdrcopy=all"),
        format!("{vendor}/gds=all"),
        format!("{vendor}/mofed=all"),
        format!("{vendor}/imex-channel=0"),
    ];
    assert_eq!(grant.cdi_devices, wanted);
    let rest = Grant {
        cdi_devices: grant.cdi_devices.clone(),
        ..Grant::default()
    };
    assert_eq!(grant, rest);
}

#[test]
fn cdi_annotations_have_a_key_for_every_answer() {
    let machine = machine(&[H100; 2]).injecting(cdi(true));
    let one = gpus(&machine, &[&uuid(0)]).unwrap();
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
    assert_eq!(gpus(&machine, &[&uuid(0)]).unwrap(), one);
    let other = gpus(&machine, &[&uuid(1)]).unwrap();
    assert_ne!(other.annotations.first_key_value().unwrap().0, key);
}

#[test]
fn extras_are_given_where_they_are_wanted_and_there() {
    let extras = [Extra::Gdrcopy, Extra::Gds, Extra::Mofed, Extra::Imex];
    let mut machine = machine(&[GB200; 4]).with_extras(&extras);
    let grant = gpus(&machine, &[&uuid(0)]).unwrap();
    for name in ["NVIDIA_GDRCOPY", "NVIDIA_GDS", "NVIDIA_MOFED"] {
        assert_eq!(grant.envs[name], "enabled");
    }
    assert_eq!(grant.envs["NVIDIA_IMEX_CHANNELS"], "0");
    machine.files.gds_nodes.clear();
    machine.files.imex_channels = vec![1];
    machine.config.extras.retain(|extra| *extra != Extra::Mofed);
    let grant = gpus(&machine, &[&uuid(0)]).unwrap();
    let names: Vec<_> = grant.envs.keys().map(String::as_str).collect();
    assert_eq!(names, ["NVIDIA_GDRCOPY", "NVIDIA_VISIBLE_DEVICES"]);
}

#[test]
fn without_nvidias_runtime_the_kubelet_does_everything() {
    let machine = machine(&[L4; 4])
        .injecting(device_nodes())
        .with_extras(&[Extra::Gdrcopy]);
    let grant = gpus(&machine, &[&uuid(0)]).unwrap();
    assert!(paths(&grant).contains(&"/dev/nvidia0"));
    assert!(paths(&grant).contains(&"/dev/gdrdrv"));
    let driver = ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia", true);
    assert_eq!(mounts(&grant), [driver]);
    assert!(
        grant.envs.is_empty(),
        "a PATH of ours would replace the image's"
    );
}

#[test]
fn mps_gives_pipes_memory_and_a_share_for_each_share() {
    let machine = machine(&[L4; 2]).shared(mps(4));
    let one = format!("{}::0", uuid(0));
    let grant = gpus(&machine, &[&one]).unwrap();
    let pipe = "/mps/nvidia.com/gpu/pipe";
    assert_eq!(grant.envs["CUDA_MPS_PIPE_DIRECTORY"], pipe);
    let wanted = [
        ("/run/nvidia/mps/nvidia.com/gpu/pipe", pipe, false),
        ("/run/nvidia/mps/shm", "/dev/shm", false),
    ];
    assert_eq!(mounts(&grant), wanted);
    assert_eq!(grant.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    assert_eq!(grant.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=5758M");
    let two = gpus(&machine, &[&one, &format!("{}::3", uuid(0))]).unwrap();
    assert_eq!(two.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "50");
    assert_eq!(two.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=11517M");
    let three = [&one, &format!("{}::3", uuid(0)), &format!("{}::1", uuid(1))];
    let three = gpus(&machine, &three.map(String::as_str)).unwrap();
    assert_eq!(three.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    let both = gpus(&machine, &[&one, &format!("{}::3", uuid(1))]).unwrap();
    assert_eq!(both.envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25");
    let limit = &both.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"];
    assert_eq!(limit, "0=5758M,1=5758M");
}

#[test]
fn mps_reaches_containers_that_get_their_gpus_by_cdi() {
    let machine = machine(&[L4; 2]).shared(mps(4)).injecting(cdi(false));
    let grant = gpus(&machine, &[&format!("{}::0", uuid(0))]).unwrap();
    assert!(grant.envs.contains_key("CUDA_MPS_PIPE_DIRECTORY"));
    assert!(!grant.envs.contains_key("NVIDIA_VISIBLE_DEVICES"));
    assert_eq!(grant.mounts.len(), 2);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let machine = machine(&[H100; 8]);
    let refusal = gpus(&machine, &[&uuid(0), "GPU-x"]).unwrap_err();
    assert!(matches!(&refusal, Refusal::Unknown { ids, .. } if *ids == ["GPU-x"]));
    assert!(refusal.to_string().contains("`GPU-x`"), "{refusal}");
    let refusal = gpus(&machine, &[]).unwrap_err();
    assert!(matches!(refusal, Refusal::Empty { .. }));
    let refusal = gpus(&machine, &[&uuid(0), &uuid(0)]).unwrap_err();
    assert!(matches!(&refusal, Refusal::Repeated { ids, .. } if *ids == [uuid(0)]));
}

#[test]
fn what_is_ill_is_refused_with_the_reason() {
    let mut machine = machine(&[L4; 4]).shared(time_slicing(4, false));
    machine.unhealthy.insert(uuid(1), "XID 79".to_owned());
    // Any replica of it: NVIDIA's plugin hands out nine of ten.
    for replica in 0..4 {
        let refusal = gpus(&machine, &[&format!("{}::{replica}", uuid(1))]).unwrap_err();
        assert!(refusal.to_string().contains("XID 79"), "{refusal}");
    }
    assert!(gpus(&machine, &[&format!("{}::0", uuid(2))]).is_ok());
}

#[test]
fn a_slice_is_ill_where_its_gpu_is() {
    let mut machine = machine(&[A100; 2]).cut("single", 7, &[A100_1G; 7]);
    machine.unhealthy.insert(uuid(0), "XID 79".to_owned());
    machine
        .unhealthy
        .insert(slice_uuid(1, 3), "XID 94".to_owned());
    assert!(gpus(&machine, &[&slice_uuid(0, 5)]).is_err());
    assert!(gpus(&machine, &[&slice_uuid(1, 3)]).is_err());
    assert!(gpus(&machine, &[&slice_uuid(1, 4)]).is_ok());
}

#[test]
fn a_gpu_that_does_not_answer_is_refused_and_the_others_are_not() {
    let mut machine = machine(&[H100; 8]);
    let last = machine.inventory.gpus[3].info().cloned();
    let error = NvmlError {
        kind: NvmlErrorKind::GpuLost,
        message: "GPU 3 is lost".to_owned(),
    };
    machine.inventory.gpus[3] = Gpu::Silent {
        index: 3,
        last,
        error,
    };
    let refusal = gpus(&machine, &[&uuid(3)]).unwrap_err();
    assert!(refusal.to_string().contains("GPU 3 is lost"), "{refusal}");
    assert!(gpus(&machine, &[&uuid(2), &uuid(4)]).is_ok());
}

#[test]
fn more_than_one_share_is_refused_where_that_is_wanted() {
    let ids = [format!("{}::0", uuid(0)), format!("{}::1", uuid(1))];
    let asking = |sharing| gpus(&machine(&[L4; 4]).shared(sharing), &[&ids[0], &ids[1]]);
    let refusal = asking(time_slicing(4, true)).unwrap_err();
    assert!(matches!(refusal, Refusal::MoreThanOne { asked: 2, .. }));
    assert!(refusal.to_string().contains("request `nvidia.com/gpu: 1`"));
    assert!(asking(time_slicing(4, false)).is_ok());
    // Whole GPUs are no shares.
    let whole = machine(&[L4; 4]).shared(time_slicing(1, true));
    assert!(gpus(&whole, &[&uuid(0), &uuid(1)]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a kubelet sends, it gets an answer, and one that names exactly what was asked for.
    #[test]
    fn every_request_has_an_answer(picks in prop::collection::vec(0_usize..18, 0..6)) {
        let machine = machine(&[L4; 4]).shared(time_slicing(4, false));
        let state = machine.state();
        let offer = &state.offers[0];
        let id = |pick: &usize| offer.shares.get(*pick).map_or("?".to_owned(), |share| share.id.clone());
        let ids: Vec<_> = picks.iter().map(id).collect();
        let mut different = ids.clone();
        different.sort();
        different.dedup();
        let valid = !ids.is_empty() && different.len() == ids.len() && !ids.contains(&"?".to_owned());
        let answer = allocate(&state, offer, &ids);
        prop_assert_eq!(answer.is_ok(), valid);
        if let Ok(grant) = answer {
            let visible: Vec<_> = grant.envs["NVIDIA_VISIBLE_DEVICES"].split(',').map(str::to_owned).collect();
            let mut wanted: Vec<_> = ids.iter().map(|id| id.split("::").next().unwrap().to_owned()).collect();
            wanted.sort();
            wanted.dedup();
            prop_assert_eq!(visible, wanted);
        }
    }
}
