//! Readable golden files of the runtime's output for each machine: the advertised resources, the allocation of a
//! container with each injection method, the CDI specs and the labels.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuc_runtime::allocate::allocate;
use gpuc_runtime::cdi::specs;
use gpuc_runtime::device::AdvertisedResource;
use gpuc_runtime::labels::node_labels;
use gpuc_runtime::state::State;
use gpuc_schema::node_config::{DeviceInjection, Extra, NodeSharing};
use serde_json::{Value, json};

use crate::machines::*;

#[test]
fn outputs_match_golden_files() {
    let mut stale = Vec::new();
    let mut expected = Vec::new();
    for (name, machine) in named_machines() {
        for (file, value) in machine_files(machine) {
            let path = folder().join(name).join(file);
            let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
            if fs::read_to_string(&path).is_ok_and(|found| found == text) {
                expected.push(path);
                continue;
            }
            if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            } else {
                stale.push(path.clone());
            }
            expected.push(path);
        }
    }
    for (name, _) in named_machines() {
        for entry in fs::read_dir(folder().join(name)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if !expected.contains(&path) {
                stale.push(path);
            }
        }
    }
    assert!(
        stale.is_empty(),
        "stale: {stale:?}; run UPDATE_EXPECT=1 cargo test, then read the diff"
    );
}

fn folder() -> PathBuf {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    runtime.parent().unwrap().join("golden/runtime")
}

fn named_machines() -> Vec<(&'static str, Machine)> {
    let extras = [Extra::Gdrcopy, Extra::Gds, Extra::Mofed];
    let mixed = [A100_3G, A100_2G, A100_1G, A100_1G];
    let time_slicing = NodeSharing::TimeSlicing {
        replicas: 4,
        rename: false,
        refuse_more_than_one: false,
    };
    let mps = NodeSharing::Mps {
        replicas: 4,
        rename: true,
        refuse_more_than_one: false,
        root: "/run/gpuc/mps".to_owned(),
    };
    vec![
        ("h100x8", machine(&[H100; 8]).with_extras(&extras)),
        (
            "a100x8-mig-single",
            machine(&[A100; 8]).with_mig_devices("single", 7, &[A100_1G; 7]),
        ),
        (
            "a100x8-mig-mixed",
            machine(&[A100; 8]).with_mig_devices("mixed", 1, &mixed),
        ),
        (
            "l4x4-time-slicing",
            machine(&[L4; 4]).with_sharing(time_slicing),
        ),
        ("l4x4-mps", machine(&[L4; 4]).with_sharing(mps)),
        (
            "gb200x4",
            machine(&[GB200; 4])
                .with_clique(1)
                .with_extras(&[Extra::Imex]),
        ),
        ("mixed-models", machine(&[T4, L4, L4])),
    ]
}

fn machine_files(mut machine: Machine) -> [(&'static str, Value); 4] {
    let state = machine.state();
    let hooks = ["create-symlinks", "update-ldcache"];
    let driver = driver_files(&hooks);
    let specs = specs(&state.config, &state.inventory, &state.files, &driver);
    let specs = specs
        .iter()
        .map(|(class, spec)| (class.file_name(), json!(spec)));
    let specs: serde_json::Map<_, _> = specs.collect();
    let mut answers = BTreeMap::new();
    for (method, devices, nodes) in injection_methods() {
        machine.config.devices = devices;
        machine.config.pass_device_nodes = nodes;
        answers.insert(method, allocations_by_resource(&machine.state()));
    }
    [
        ("devices.json", json!(state.advertised_resources)),
        ("cdi.json", json!(specs)),
        ("labels.json", json!(node_labels(&state, None))),
        ("allocate.json", json!(answers)),
    ]
}

fn injection_methods() -> Vec<(&'static str, DeviceInjection, bool)> {
    let cdi = |annotations| DeviceInjection::Cdi {
        spec_dir: "/var/run/cdi".to_owned(),
        annotations,
    };
    let nodes = DeviceInjection::DeviceNodes {
        driver_host_path: "/home/kubernetes/bin/nvidia".to_owned(),
        driver_container_path: "/usr/local/nvidia".to_owned(),
    };
    vec![
        (
            "environmentVariable",
            DeviceInjection::EnvironmentVariable,
            false,
        ),
        (
            "environmentVariable with nodes",
            DeviceInjection::EnvironmentVariable,
            true,
        ),
        ("volumeMounts", DeviceInjection::VolumeMounts, false),
        ("cdi", cdi(false), false),
        ("cdi by annotations", cdi(true), false),
        ("deviceNodes", nodes, false),
    ]
}

/// The allocations of a container that requests the last device of each resource, and the last two.
fn allocations_by_resource(state: &State) -> Value {
    let answers = state.advertised_resources.iter().map(|advertised| {
        let one = allocate_as_json(state, advertised, advertised.devices.len() - 1);
        let two = allocate_as_json(state, advertised, advertised.devices.len() - 2);
        (advertised.resource.clone(), json!({"one": one, "two": two}))
    });
    Value::Object(answers.collect())
}

fn allocate_as_json(state: &State, advertised: &AdvertisedResource, from: usize) -> Value {
    let ids: Vec<_> = advertised.devices[from..]
        .iter()
        .map(|share| share.id.clone())
        .collect();
    json!({"asked": ids, "given": allocate(state, advertised, &ids).unwrap()})
}
