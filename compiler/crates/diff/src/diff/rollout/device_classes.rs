//! DeviceClasses that lose the name of an extended resource, which another class has too.
//!
//! The scheduler forgets the name with the class that loses it, and learns it again when another class with the name
//! changes, or when the scheduler restarts (kubernetes
//! `staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache`, `updateResourceName2class` and
//! `removeResourceName2class`, read 2026-11-29).

use std::collections::BTreeMap;

use gpuc_compile::charts::DRA_DRIVER_NVIDIA_GPU;
use gpuc_syntax::shell;

use super::super::entities::{Entities, EntityKey};
use super::super::report::{Change, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The field with the name of the extended resource.
const NAME_FIELD: &str = "spec.extendedResourceName";

/// The class of NVIDIA's chart, and its extended resource.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@v0.4.0
/// `deployments/helm/dra-driver-nvidia-gpu/templates/deviceclass-gpu.yaml`.
const DRIVER_CLASS: (&str, &str) = ("gpu.nvidia.com", "nvidia.com/gpu");

/// The step that makes the scheduler learn a name again after the class that had it is changed or deleted.
pub(super) fn restore_extended_resources(rollout: &Rollout<'_>) -> Vec<Planned> {
    let [before, after] = [rollout.setting.before, rollout.setting.after].map(named_classes);
    let lost = before
        .iter()
        .filter(|(class, name)| after.get(*class) != Some(*name));
    let mut classes: Vec<(&str, &str)> = lost
        .filter_map(|(_, name)| Some((rollout.class_with_name(&after, name)?, *name)))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let names: Vec<&str> = classes.iter().map(|(_, name)| *name).collect();
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| change.kind == "DeviceClass")
        .collect();
    let commands = classes.iter().map(|(class, _)| {
        format!(
            "{} annotate deviceclass {} gpuc.dev/renewed=\"$(date +%s)\" --overwrite",
            rollout.kubectl(),
            shell::quote(class)
        )
    });
    Phase::DeleteObjects.plan((!classes.is_empty()).then(|| Step {
        instruction: format!(
            "Change the annotations of the DeviceClass that also has the extended resource {}: the scheduler has \
             forgotten the name with the old class, and pods that request it stay pending",
            names.join(", ")
        ),
        commands: commands.collect(),
        changes: change_ids(&changes),
    }))
}

/// The extended resources of the DeviceClasses of a tree, by class.
fn named_classes(entities: &Entities) -> BTreeMap<&str, &str> {
    let classes = entities
        .by_key
        .iter()
        .filter_map(|(key, entity)| match key {
            EntityKey::Object { kind, name, .. } if kind == "DeviceClass" => {
                let name_of_resource = entity.fields.get(NAME_FIELD)?.value.as_str()?;
                Some((name.as_str(), name_of_resource))
            }
            _ => None,
        });
    classes.collect()
}

impl Rollout<'_> {
    /// A class that has an extended resource after the change: one of the tree, or that of the driver's chart.
    fn class_with_name<'a>(&self, after: &BTreeMap<&'a str, &str>, name: &str) -> Option<&'a str> {
        let own = after.iter().find(|(_, other)| **other == name);
        let (driver_class, driver_name) = DRIVER_CLASS;
        let mut entities = self.setting.after.by_key.values();
        let has_driver = entities.any(|entity| {
            (entity.chart).is_some_and(|chart| chart.name == DRA_DRIVER_NVIDIA_GPU.name)
        });
        let of_driver = (has_driver && name == driver_name).then_some(driver_class);
        own.map(|(class, _)| *class).or(of_driver)
    }
}
