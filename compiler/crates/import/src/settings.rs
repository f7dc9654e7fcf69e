//! The keys `storage`, `priorities` and `admission`.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_model::cloud::storage::{Parameter, VolumeType};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{source, text_entries};
use crate::report::Report;
use crate::teams::is_system;
use crate::tree::{Entries, Item};

/// The annotation of the default StorageClass.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The key `storage`.
pub(crate) fn storage(cx: &Context<'_>, report: &mut Report) -> Option<Item> {
    let facts = cx.cloud.facts().storage;
    let known = facts.map_or(&[][..], |facts| facts.classes);
    let mut classes = Vec::new();
    let mut default = None;
    for class in cx.state.objects(Kind::StorageClass) {
        let name = class.metadata.name.as_str();
        let is_default = class
            .metadata
            .annotations
            .get(DEFAULT_CLASS)
            .is_some_and(|it| it == "true");
        let types = facts.into_iter().flat_map(|facts| {
            let disks = facts
                .disks
                .iter()
                .map(|it| ("disk", it, facts.disks.first()));
            disks.chain(
                facts
                    .files
                    .iter()
                    .map(|it| ("files", it, facts.files.first())),
            )
        });
        let is_own = known.contains(&name);
        let mut found = types.filter_map(|(kind, volumes, first)| {
            let item = volumes_item(class, volumes)?;
            let is_first = first.is_some_and(|first| std::ptr::eq(first, volumes));
            Some((kind, item, volumes, is_first))
        });
        let imported = if is_own { None } else { found.next() };
        if let Some((kind, mut volumes, of_type, is_first)) = imported {
            let at = source(
                name_of("StorageClass", class),
                "parameters",
                class.get("/parameters"),
            );
            if !is_first {
                volumes
                    .0
                    .insert(0, ("type".to_owned(), Item::text(of_type.name)));
            }
            let mut entries = Entries::default();
            entries.push("name", Item::text(name));
            entries.push("volumes", Item::single(kind, volumes.into_item()));
            if class.text("/reclaimPolicy") == "Retain" {
                entries.push("reclaim", Item::text("retain"));
            }
            classes.push(entries.into_item().sure(at));
        } else if !is_own {
            let at = source(
                name_of("StorageClass", class),
                "provisioner",
                class.text("/provisioner"),
            );
            report.leave_out(
                Some("storage.classes"),
                at,
                "gpuc has no volumes with this provisioner and these parameters",
            );
        }
        let is_listed = classes.iter().any(|it| named(it, name));
        if is_default && is_listed {
            let at = source(
                name_of("StorageClass", class),
                format!("metadata.annotations[{DEFAULT_CLASS}]"),
                true,
            );
            default = Some(Item::text(name).sure(at));
        }
    }
    let mut entries = Entries::default();
    entries.push_list("classes", classes);
    entries.push_list("buckets", buckets(cx));
    entries.push_some("default", default);
    entries.into_some()
}

fn named(item: &Item, name: &str) -> bool {
    let crate::tree::Value::Map(entries) = &item.value else {
        return false;
    };
    entries
        .iter()
        .any(|(key, it)| key == "name" && it.value == crate::tree::Value::Text(name.to_owned()))
}

/// The settings of a type of volume, if a class has exactly its parameters.
fn volumes_item(class: &Object, volumes: &VolumeType) -> Option<Entries> {
    if class.text("/provisioner") != volumes.provisioner {
        return None;
    }
    let mut parameters = text_entries(&class.body, "/parameters");
    for fixed in volumes.parameters {
        let place = parameters.iter().position(|it| it == fixed)?;
        parameters.remove(place);
    }
    let mut take = |parameter: Option<Parameter>| {
        let parameter = parameter?;
        let place = parameters
            .iter()
            .position(|(key, _)| *key == parameter.key)?;
        let (_, value) = parameters.remove(place);
        Some(value.trim_end_matches(parameter.unit).to_owned())
    };
    let mut entries = Entries::default();
    for (key, parameter) in [
        ("iops", volumes.iops),
        ("throughputMiB", volumes.throughput),
    ] {
        if let Some(value) = take(parameter) {
            entries.push(key, Item::number(value.parse::<u64>().ok()?));
        }
    }
    for (key, parameter) in [
        ("id", volumes.id),
        ("subnet", volumes.subnet),
        ("securityGroup", volumes.security_group),
    ] {
        entries.push_some(key, take(parameter).map(Item::text));
    }
    // The network of GKE's shares follows from the cluster.
    parameters.retain(|(key, _)| !matches!(*key, "network" | "connect-mode"));
    parameters.is_empty().then_some(entries)
}

/// Buckets that PersistentVolumes mount.
fn buckets(cx: &Context<'_>) -> Vec<Item> {
    let facts = cx
        .cloud
        .facts()
        .storage
        .and_then(|storage| storage.buckets.as_ref());
    let Some(facts) = facts else {
        return Vec::new();
    };
    let volumes = cx.state.objects(Kind::PersistentVolume).iter();
    let own = volumes.filter(|it| it.text("/spec/csi/driver") == facts.driver);
    let items = own.filter_map(|volume| {
        let claim = (
            volume.text("/spec/claimRef/name"),
            volume.text("/spec/claimRef/namespace"),
        );
        let bucket = volume.text("/spec/csi/volumeHandle");
        let name = volume.metadata.name.as_str();
        if bucket.is_empty() || claim.1.is_empty() || claim.0 != name {
            return None;
        }
        let mut entries = Entries::default();
        entries.push("name", Item::text(name));
        entries.push("namespace", Item::text(claim.1));
        entries.push("bucket", Item::text(bucket));
        if volume.get("/spec/csi/readOnly") == true {
            entries.push("readOnly", Item::bool(true));
        }
        Some(entries.into_item().sure(source(
            name_of("PersistentVolume", volume),
            "spec.csi.volumeHandle",
            bucket,
        )))
    });
    items.collect()
}

/// The key `priorities`: the PriorityClasses that no component installs.
pub(crate) fn priorities(cx: &Context<'_>, report: &mut Report) -> Vec<Item> {
    let mut items = Vec::new();
    for class in cx.state.objects(Kind::PriorityClass) {
        let name = class.metadata.name.as_str();
        // Kubernetes and the clouds create classes of their own.
        if name.starts_with("system-") || name.starts_with("gmp-") || name.starts_with("gke-") {
            continue;
        }
        let value = class.get("/value").as_i64().unwrap_or_default();
        let at = source(name_of("PriorityClass", class), "value", value);
        let manager = class.metadata.label("app.kubernetes.io/managed-by");
        if manager.is_some_and(|manager| manager != "gpuc") {
            report.leave_out(
                Some("priorities"),
                at,
                format!("{} manages this class", manager.unwrap_or_default()),
            );
            continue;
        }
        if value > 1_000_000_000 {
            report.leave_out(
                Some("priorities"),
                at,
                "values above 1000000000 are reserved for Kubernetes",
            );
            continue;
        }
        let mut entries = Entries::default();
        entries.push("name", Item::text(name));
        entries.push("value", Item::number(value));
        if class.text("/preemptionPolicy") == "Never" {
            entries.push("preempts", Item::bool(false));
        }
        if class.get("/globalDefault") == true {
            entries.push("default", Item::bool(true));
        }
        let description = class.text("/description");
        if !description.is_empty() {
            entries.push("description", Item::text(description));
        }
        items.push(entries.into_item().sure(at));
    }
    items
}

/// The key `admission`, from the bindings of gpuc's policies.
pub(crate) fn admission(cx: &Context<'_>) -> Option<Item> {
    let bindings = cx
        .state
        .objects(Kind::ValidatingAdmissionPolicyBinding)
        .iter();
    // This policy warns or denies as `guard` says; others always do one of both.
    let own: Vec<&Object> = bindings
        .filter(|it| it.text("/spec/policyName").starts_with("gpuc-gpu-"))
        .collect();
    let guard = own
        .iter()
        .find(|it| it.metadata.name == "gpuc-gpu-names")
        .or(own.first())?;
    let actions = guard.get("/spec/validationActions");
    let at = source(
        name_of("ValidatingAdmissionPolicyBinding", guard),
        "spec.validationActions",
        actions,
    );
    let denies = actions
        .as_array()
        .is_some_and(|list| list.iter().any(|it| it == "Deny"));
    let mut entries = Entries::default();
    if denies {
        entries.push("guard", Item::text("enforce").sure(at.clone()));
    }
    let exempt = exempt(cx, guard);
    entries.push_list("exempt", exempt);
    Some(entries.into_item().sure(at))
}

/// The namespaces that the policies ignore, without those that gpuc excludes by itself.
fn exempt(cx: &Context<'_>, binding: &Object) -> Vec<Item> {
    // Without teams, the policies ignore the namespaces of the system as well.
    let has_teams = cx
        .state
        .objects(Kind::Namespace)
        .iter()
        .any(|it| it.metadata.label(gpuc_model::TEAM_LABEL).is_some());
    let expressions = binding
        .items("/spec/matchResources/namespaceSelector/matchExpressions")
        .iter();
    let excluded = expressions
        .filter(|it| it["key"] == "kubernetes.io/metadata.name" && it["operator"] == "NotIn");
    let names = excluded.flat_map(|it| it["values"].as_array().into_iter().flatten());
    let at = name_of("ValidatingAdmissionPolicyBinding", binding);
    names
        .filter_map(Value::as_str)
        .filter(|name| has_teams || !is_system(name))
        .map(|name| Item::text(name).sure(at.clone()))
        .collect()
}
