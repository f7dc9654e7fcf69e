//! Every row of the catalog matches the tables of facts.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_clouds::aws::machines as aws;
use gpuc_clouds::azure::machines as azure;
use gpuc_clouds::gcp::{attachable_gpus, machines as gcp, partitions, zones};
use gpuc_model::cloud::machine::{Machine, Status};
use gpuc_schema::gpu::{GpuModel, MODELS, Mig};
use serde_json::{Map, Value, json};

use super::assert_none;
use crate::external_data::{self, FACTS};

type Rows = BTreeMap<String, Value>;

/// Intentional differences: row, column and reason.
const INTENTIONAL_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "gh200-96gb",
        "arm64_host",
        "the facts mark only Grace Blackwell, and Grace Hopper's CPU is the same",
    ),
    (
        "t4g-16gb",
        "arm64_host",
        "the G of T4G is Graviton: the facts' own instances with it are arm64",
    ),
    (
        "p6e-gb200.36xlarge",
        "family",
        "EC2's family name is everything before the dot",
    ),
];

/// Every field that differs between rows with the same name, and every row that only one side has.
fn differences(ours: &Rows, theirs: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    let names: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        match (ours.get(name), theirs.get(name)) {
            (Some(ours), Some(theirs)) => {
                let empty = Map::new();
                let ours = ours.as_object().unwrap_or(&empty);
                let theirs = theirs.as_object().unwrap_or(&empty);
                let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
                let on_purpose = |key: &str| {
                    INTENTIONAL_DIFFERENCES
                        .iter()
                        .any(|it| (it.0, it.1) == (name, key))
                };
                let keys = keys.into_iter().filter(|key| !on_purpose(key));
                for key in keys
                    .into_iter()
                    .filter(|key| ours.get(*key) != theirs.get(*key))
                {
                    let (ours, theirs) = (ours.get(key), theirs.get(key));
                    wrong.push(format!(
                        "{name}: {key} is {ours:?}, the facts say {theirs:?}"
                    ));
                }
            }
            (Some(_), None) => wrong.push(format!("{name} is not in the facts")),
            _ => wrong.push(format!("{name} is missing")),
        }
    }
    wrong
}

/// The rows of a list by the value of `key`, each with these columns. A missing column is null.
fn rows(list: &Value, key: &str, columns: &[&str]) -> Rows {
    let list = list.as_array().unwrap().iter();
    let row = |row: &Value| {
        let columns = columns.iter();
        let columns = columns.map(|column| ((*column).to_owned(), row[*column].clone()));
        let name = row[key].as_str().unwrap().to_owned();
        (name, Value::Object(columns.collect()))
    };
    list.map(row).collect()
}

/// The columns that all clouds have, under their names in the tables of facts.
fn common_columns(machine: &Machine) -> Value {
    let gpus = &machine.gpus;
    json!({
        "vcpu": machine.vcpus,
        "memory_mib": machine.memory_mib,
        "arch": machine.architecture.label(),
        "gpu_model": gpus.model.key,
        "gpu_count": gpus.reported.unwrap_or(gpus.count),
    })
}

const COMMON: &[&str] = &["vcpu", "memory_mib", "arch", "gpu_model", "gpu_count"];

fn merge_row(mut row: Value, more: Value) -> Value {
    let Value::Object(more) = more else {
        panic!("a row must be a mapping");
    };
    row.as_object_mut().unwrap().extend(more);
    row
}

/// The fraction of a GPU, to four digits; null for a full GPU.
fn fraction(machine: &Machine) -> Value {
    let fraction = machine.gpus.fraction.filter(|it| it.denominator > 0);
    let fraction = fraction.map(|it| {
        let exact = f64::from(it.numerator) / f64::from(it.denominator);
        (exact * 10_000.0).round() / 10_000.0
    });
    json!(fraction)
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Current => "current",
        Status::Preview => "preview",
        Status::PreviousGeneration => "previous-gen",
        Status::PartOfLarger => "ultraserver-only",
        Status::Retired { .. } => "retired",
    }
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn ec2_instances_match_the_facts() {
    let columns = [
        "family",
        "gpu_memory_mib",
        "efa",
        "local_nvme_gb",
        "network_mbps",
        "max_pods",
        "metal",
        "eksctl_knows",
        "capacity_blocks",
        "ami_type_al2023",
        "ami_type_bottlerocket",
        "status",
        "gpu_fraction",
    ];
    let facts = external_data::json(FACTS, "aws_instances.json");
    let theirs = rows(&facts["instances"], "type", &[COMMON, &columns].concat());
    let ours = aws::MACHINES.iter().map(|it| {
        let machine = &it.machine;
        let row = json!({
            "family": machine.family,
            "gpu_memory_mib": machine.gpus.memory_mib,
            "efa": it.efa,
            "local_nvme_gb": it.local_nvme_gb,
            "network_mbps": it.network_mbps,
            "max_pods": it.max_pods,
            "metal": it.metal,
            "eksctl_knows": it.eksctl_knows,
            "capacity_blocks": it.capacity_blocks,
            "ami_type_al2023": it.ami_al2023,
            "ami_type_bottlerocket": it.ami_bottlerocket,
            "status": status(machine.status),
            "gpu_fraction": fraction(machine),
        });
        (
            machine.name.to_owned(),
            merge_row(common_columns(machine), row),
        )
    });
    assert_none(&differences(&ours.collect(), &theirs));
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn compute_engine_machines_match_the_facts() {
    let columns = [
        "family",
        "accelerator",
        "local_ssd_count",
        "local_ssd_gb",
        "gpudirect",
        "gpu_fraction",
    ];
    let facts = external_data::json(FACTS, "gcp_machines.json");
    let theirs = rows(&facts["machines"], "type", &[COMMON, &columns].concat());
    let ours = gcp::MACHINES.iter().map(|it| {
        let machine = &it.machine;
        let row = json!({
            "family": machine.family,
            "accelerator": it.accelerator,
            "local_ssd_count": it.local_ssd_count,
            "local_ssd_gb": it.local_ssd_gb,
            "gpudirect": it.gpudirect.map(|way| format!("{way:?}").to_lowercase()),
            "gpu_fraction": fraction(machine),
        });
        (
            machine.name.to_owned(),
            merge_row(common_columns(machine), row),
        )
    });
    assert_none(&differences(&ours.collect(), &theirs));
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn compute_engine_attached_gpus_match_the_facts() {
    let facts = external_data::json(FACTS, "gcp_machines.json");
    let columns = ["vcpu", "memory_mib", "deprecated"];
    let theirs = rows(&facts["n1_machines"], "type", &columns);
    let ours = attachable_gpus::N1_MACHINES.iter().map(|it| {
        let row = json!({
            "vcpu": it.vcpus,
            "memory_mib": it.memory_mib,
            "deprecated": it.deprecated,
        });
        (it.name.to_owned(), row)
    });
    assert_none(&differences(&ours.collect(), &theirs));

    let theirs = rows(
        &facts["attachable"],
        "accelerator",
        &["gpu_model", "counts"],
    );
    let ours = attachable_gpus::ATTACHABLE.iter().map(|it| {
        let limits = it.limits.iter().map(|limit| {
            json!({
                "count": limit.count,
                "max_vcpu": limit.max_vcpus,
                "max_memory_gib": limit.max_memory_gib,
            })
        });
        let counts: Vec<_> = limits.collect();
        let row = json!({"gpu_model": it.model.key, "counts": counts});
        (it.accelerator.to_owned(), row)
    });
    assert_none(&differences(&ours.collect(), &theirs));
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn gke_partitions_and_zones_match_the_facts() {
    let facts = external_data::json(FACTS, "gcp_machines.json");
    let mut theirs = by_name(&facts["gpu_partition_sizes"]);
    // The API names of sizes with a `+` or `-` are unknown, and gpuc has none of these sizes.
    for sizes in theirs.values_mut() {
        let sizes = sizes.as_object_mut().unwrap();
        sizes.retain(|size, _| !size.contains(['+', '-']));
    }
    let ours = partitions::PARTITION_SIZES.iter().map(|it| {
        let sizes = it.sizes.iter().filter(|size| !size.0.contains(['+', '-']));
        let sizes = sizes.map(|(size, count)| ((*size).to_owned(), json!(count)));
        (it.accelerator.to_owned(), Value::Object(sizes.collect()))
    });
    assert_none(&differences(&ours.collect(), &theirs));

    let sorted = |zones: &[&str]| {
        let zones: BTreeSet<_> = zones.iter().copied().collect();
        json!({"zones": zones})
    };
    let theirs = by_name(&facts["accelerator_zones"]).into_iter();
    let theirs = theirs
        // Google's list of accelerators no longer contains the K80.
        .filter(|(name, _)| name != "nvidia-tesla-k80")
        .map(|(name, zones)| {
            let zones = zones.as_array().unwrap().iter();
            let zones: Vec<_> = zones.map(|zone| zone.as_str().unwrap()).collect();
            (name, sorted(&zones))
        });
    let ours = zones::ACCELERATOR_ZONES.iter();
    let ours = ours.map(|it| (it.accelerator.to_owned(), sorted(it.zones)));
    assert_none(&differences(&ours.collect(), &theirs.collect()));
}

fn by_name(mapping: &Value) -> Rows {
    let mapping = mapping.as_object().unwrap().clone();
    mapping.into_iter().collect()
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn azure_sizes_match_the_facts() {
    let columns = [
        "series",
        "gpu_memory_mib",
        "infiniband",
        "aks_driver_type",
        "aks_mig",
        "aks_os",
        "status",
        "temp_disk_gib",
        "gpu_fraction",
    ];
    let facts = external_data::json(FACTS, "azure_sizes.json");
    let mut theirs = rows(&facts["sizes"], "size", &[COMMON, &columns].concat());
    // Retired sizes with GPU models that gpuc does not know are in a separate list.
    let unknown = theirs.extract_if(.., |_, row| row["gpu_model"].is_null());
    let unknown: Vec<_> = unknown
        .map(|(name, row)| (name, row["status"].clone()))
        .collect();
    let retired = azure::RETIRED.iter();
    let retired: Vec<_> = retired
        .map(|it| (it.name.to_owned(), json!("retired")))
        .collect();
    assert_eq!(retired, unknown);
    let ours = azure::MACHINES.iter().map(|it| {
        let machine = &it.machine;
        let driver = match it.aks_driver {
            azure::AksDriver::CudaLts => "cuda-lts",
            azure::AksDriver::Grid => "grid",
            azure::AksDriver::GridV20 => "grid-v20",
        };
        let systems = it.aks_os.iter().map(|os| format!("{os:?}").to_lowercase());
        let row = json!({
            "series": machine.family,
            "gpu_memory_mib": machine.gpus.memory_mib,
            "infiniband": it.infiniband,
            "aks_driver_type": driver,
            "aks_mig": it.aks_mig,
            "aks_os": systems.collect::<Vec<_>>(),
            "status": status(machine.status),
            "temp_disk_gib": it.temp_disk_gib,
            "gpu_fraction": fraction(machine),
        });
        (
            machine.name.to_owned(),
            merge_row(common_columns(machine), row),
        )
    });
    assert_none(&differences(&ours.collect(), &theirs));
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn gpu_models_match_the_facts() {
    let facts = external_data::json(FACTS, "gpu_models.json");
    let models = facts["models"].as_array().unwrap().iter();
    let theirs = models.map(|it| {
        let flag = |key: &str| it[key].as_bool().unwrap_or(false);
        let ids = it["pci"].as_array().into_iter().flatten();
        let ids = ids.map(|id| u32::from_str_radix(&id.as_str().unwrap()[2..], 16).unwrap());
        let row = json!({
            "products": it["gfd_products"],
            "memory_gb": it["memory_gb"],
            "architecture": it["gfd_family"],
            "compute_capability": it["compute_capability"],
            "pci_ids": ids.collect::<BTreeSet<_>>(),
            "min_driver_branch": it["min_driver_branch"],
            "max_driver_branch": it["max_driver_branch"],
            "max_cuda": it["max_cuda"],
            "open_kernel_modules": flag("open_kernel_modules_required"),
            "arm64_host": flag("arm64_host"),
            "mps_clients": it["mps"]["max_clients"],
            "mig_profiles": counts_by_profile(&it["mig_profiles"]),
        });
        (it["key"].as_str().unwrap().to_owned(), row)
    });
    let ours = MODELS.iter().map(|it| {
        let row = json!({
            "products": it.products,
            "memory_gb": it.memory_gb,
            "architecture": it.architecture.gfd_family(),
            "compute_capability": it.compute_capability.to_string(),
            "pci_ids": it.pci_ids.iter().collect::<BTreeSet<_>>(),
            "min_driver_branch": it.min_driver_branch,
            "max_driver_branch": it.max_driver_branch,
            "max_cuda": it.max_cuda,
            "open_kernel_modules": it.open_kernel_modules,
            "arm64_host": it.arm64_host,
            "mps_clients": it.mps_max_clients(),
            "mig_profiles": model_counts(it),
        });
        (it.key.to_owned(), row)
    });
    assert_none(&differences(&ours.collect(), &theirs.collect()));
}

fn counts_by_profile(profiles: &Value) -> BTreeMap<String, u64> {
    let profiles = profiles.as_array().into_iter().flatten();
    let row = |it: &Value| {
        (
            it["name"].as_str().unwrap().to_owned(),
            it["max"].as_u64().unwrap(),
        )
    };
    profiles.map(row).collect()
}

fn model_counts(model: &GpuModel) -> BTreeMap<String, u64> {
    let profiles = model.mig.into_iter().flat_map(|mig| mig.profiles);
    profiles
        .map(|it| (it.name.to_owned(), it.max_instances.into()))
        .collect()
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn observed_memory_matches_the_facts() {
    let facts = external_data::json(FACTS, "gpu_models.json");
    let models = facts["models"].as_array().unwrap().iter();
    let wrong = models.filter_map(|it| {
        let theirs = it["gfd_memory_mib"].as_u64()?;
        let model = MODELS.iter().find(|model| it["key"] == model.key)?;
        let ours = u64::from(model.memory_mib);
        (ours != theirs).then(|| format!("{}: {ours} MiB, the facts say {theirs}", model.key))
    });
    assert_none(&wrong.collect::<Vec<_>>());
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn mig_profiles_and_placements_match_the_facts() {
    let facts = external_data::json(FACTS, "mig_placements.json");
    let columns = [
        "smi_profile_id",
        "nvml_constant_value",
        "slices",
        "memory_slices",
        "memory_mib",
        "max_instances",
        "placements",
    ];
    let (mut theirs, mut ours) = (Rows::new(), Rows::new());
    for model in facts["models"].as_array().unwrap() {
        let key = model["key"].as_str().unwrap();
        theirs.insert(
            key.to_owned(),
            json!({"slices": model["slices_total"], "memory_slices": model["memory_slices_total"]}),
        );
        let profiles = rows(&model["profiles"], "name", &columns).into_iter();
        let known = |(name, mut row): (String, Value)| {
            // For a machine without observed values, gpuc shows the count from the name, and the facts have no row.
            let row_of = row.as_object_mut().unwrap();
            row_of.retain(|_, value| !value.is_null());
            (name, row)
        };
        let profiles = profiles.map(known);
        theirs.extend(profiles.map(|(name, row)| (format!("{key} {name}"), row)));
    }
    let models = MODELS.iter().filter_map(|it| Some((it.key, it.mig?)));
    for (key, mig) in models {
        ours.insert(
            key.to_owned(),
            json!({"slices": mig.compute_slices, "memory_slices": mig.memory_slices}),
        );
        let profiles = profiles(mig);
        ours.extend(profiles.map(|(name, row)| (format!("{key} {name}"), row)));
    }
    for (name, row) in &mut ours {
        let known = &theirs[name];
        let row = row.as_object_mut().unwrap();
        row.retain(|column, _| column != "memory_mib" || !known[column].is_null());
    }
    assert_none(&differences(&ours, &theirs));
}

fn profiles(mig: &Mig) -> impl Iterator<Item = (&'static str, Value)> {
    mig.profiles.iter().map(|it| {
        let size = it.memory_slices;
        let places = it
            .starts
            .iter()
            .map(|start| json!({"start": start, "size": size}));
        let row = json!({
            "smi_profile_id": it.smi_id,
            "nvml_constant_value": it.nvml_profile,
            "slices": it.compute_slices,
            "memory_slices": it.memory_slices,
            "memory_mib": it.memory_mib,
            "max_instances": it.max_instances,
            "placements": places.collect::<Vec<_>>(),
        });
        (it.name, row)
    })
}

#[test]
fn differences_are_detected() {
    let row = |count: u32| Rows::from([("a".to_owned(), json!({"count": count}))]);
    assert_eq!(differences(&row(1), &row(1)).len(), 0);
    assert_eq!(differences(&row(1), &row(2)).len(), 1);
    assert_eq!(
        differences(&row(1), &Rows::new()),
        ["a is not in the facts"]
    );
    assert_eq!(differences(&Rows::new(), &row(1)), ["a is missing"]);
}
