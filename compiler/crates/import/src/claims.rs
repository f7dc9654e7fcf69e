//! GPUs that are allocated through Dynamic Resource Allocation (DRA): ResourceSlices and DeviceClasses.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_schema::gpu::{self, GpuModel};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::groups::Group;
use crate::json::{items, number, source, text};
use crate::sharing::{Layout, Sharing};
use crate::tree::Evidence;

/// The driver of NVIDIA's GPUs in ResourceSlices.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@95932046 `cmd/gpu-kubelet-plugin`.
const DRIVER: &str = "gpu.nvidia.com";

/// A GPU or a MIG device in a ResourceSlice.
struct Device<'s> {
    value: &'s Value,
}

impl<'s> Device<'s> {
    /// The text of an attribute; the attributes are in `basic` up to v1beta1.
    fn attribute(&self, name: &str) -> Option<&'s str> {
        let paths = [
            format!("/attributes/{name}/string"),
            format!("/basic/attributes/{name}/string"),
        ];
        paths.iter().find_map(|path| text(self.value, path))
    }

    fn is_mig(&self) -> bool {
        self.attribute("type") == Some("mig")
    }

    /// The identity of the physical GPU.
    fn gpu(&self) -> Option<&'s str> {
        let parent = self.attribute("parentUUID").filter(|_| self.is_mig());
        parent.or_else(|| text(self.value, "/name"))
    }
}

/// The ResourceSlices of the nodes of a group with their devices.
fn slices<'s>(cx: &Context<'s>, group: &Group<'_>) -> Vec<(&'s Object, Vec<Device<'s>>)> {
    let names: BTreeSet<&str> = group
        .nodes
        .iter()
        .map(|node| node.metadata.name.as_str())
        .collect();
    let all = cx.state.objects(Kind::ResourceSlice).iter();
    let own = all.filter(|it| {
        it.text("/spec/driver") == DRIVER && names.contains(it.text("/spec/nodeName"))
    });
    let devices = own.map(|slice| {
        let devices = items(&slice.body, "/spec/devices").iter();
        let devices = devices.map(|value| Device { value });
        let is_gpu = |it: &Device<'_>| {
            it.attribute("type")
                .is_none_or(|kind| kind == "gpu" || kind == "mig")
        };
        (slice, devices.filter(is_gpu).collect())
    });
    devices.collect()
}

/// The GPUs of the node of a group that has most, full or partitioned: their model and number.
pub(crate) fn gpus_of_slices(
    cx: &Context<'_>,
    group: &Group<'_>,
) -> Option<(&'static GpuModel, u32, Evidence)> {
    let counted = slices(cx, group)
        .into_iter()
        .filter_map(|(slice, devices)| {
            let product = devices.first()?.attribute("productName")?;
            let [model] = gpu::find_by_product(product)[..] else {
                return None;
            };
            let gpus: BTreeSet<&str> = devices.iter().filter_map(Device::gpu).collect();
            let count = u32::try_from(gpus.len()).ok()?;
            let at = source(
                name_of("ResourceSlice", slice),
                "spec.devices",
                format!("{count} x {product}"),
            );
            Some((model, count, Evidence::sure(at)))
        });
    counted.max_by_key(|(_, count, _)| *count)
}

/// The layout of MIG devices in the ResourceSlices of a group.
pub(crate) fn mig_of_slices(cx: &Context<'_>, group: &Group<'_>) -> Option<(Sharing, Evidence)> {
    let (slice, devices) = slices(cx, group)
        .into_iter()
        .find(|(_, it)| it.iter().any(Device::is_mig))?;
    // The names of the devices begin with the index of their GPU: gpu-0-mig-19-0-1.
    let mut gpus: BTreeMap<u32, Layout> = BTreeMap::new();
    for device in &devices {
        let name = text(device.value, "/name")?.strip_prefix("gpu-")?;
        let index = name.split('-').next()?.parse().ok()?;
        let layout = gpus.entry(index).or_default();
        if let Some(profile) = device.attribute("profile").filter(|_| device.is_mig()) {
            *layout.entry(profile.to_owned()).or_default() += 1;
        }
    }
    let mut layouts: Vec<(Vec<u32>, Layout)> = Vec::new();
    for (index, layout) in gpus.into_iter().filter(|(_, layout)| !layout.is_empty()) {
        match layouts.iter_mut().find(|(_, it)| *it == layout) {
            Some((indexes, _)) => indexes.push(index),
            None => layouts.push((vec![index], layout)),
        }
    }
    let layouts = layouts.into_iter().map(|(indexes, layout)| {
        let indexes = indexes
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(",");
        (Some(indexes), layout)
    });
    let at = format!("{}#spec.devices", name_of("ResourceSlice", slice));
    let sharing = Sharing::Mig {
        strategy: "mixed",
        layouts: layouts.collect(),
        packed: false,
    };
    Some((sharing, Evidence::sure(at)))
}

/// gpuc's DeviceClass of the pool with a name.
fn class_of<'s>(cx: &Context<'s>, pool: &str) -> Option<&'s Object> {
    let mut classes = cx.state.objects(Kind::DeviceClass).iter();
    classes.find(|it| it.metadata.name == format!("{pool}.gpuc.dev"))
}

/// The field of gpuc's DeviceClasses of a pool with the name of an extended resource.
pub(crate) fn extended_resource_source(cx: &Context<'_>, pool: &str) -> Option<String> {
    let of_pool = format!(".{pool}.gpuc.dev");
    extended_classes(cx)
        .filter(|(class, _)| format!(".{}", class.metadata.name).ends_with(&of_pool))
        .map(|(class, name)| source(name_of("DeviceClass", class), NAME_FIELD, name))
        .next()
}

/// The DeviceClasses of gpuc with the name of an extended resource.
pub(crate) fn extended_classes<'s>(
    cx: &Context<'s>,
) -> impl Iterator<Item = (&'s Object, &'s str)> + use<'s> {
    let classes = cx.state.objects(Kind::DeviceClass).iter();
    classes.filter_map(|class| {
        let is_own = class.metadata.name.ends_with(".gpuc.dev");
        let name = class.body.pointer("/spec/extendedResourceName")?.as_str()?;
        is_own.then_some((class, name))
    })
}

/// The field of a DeviceClass with the name of an extended resource.
const NAME_FIELD: &str = "spec.extendedResourceName";

/// The GPU model in the selector of gpuc's DeviceClass of a pool.
pub(crate) fn model_of_class(
    cx: &Context<'_>,
    pool: &str,
) -> Option<(&'static GpuModel, Evidence)> {
    let class = class_of(cx, pool)?;
    let expression = class.text("/spec/selectors/0/cel/expression");
    let (_, product) = expression.rsplit_once("== '")?;
    let product = product.trim_end_matches('\'');
    let [model] = gpu::find_by_product(product)[..] else {
        return None;
    };
    let at = source(
        name_of("DeviceClass", class),
        "spec.selectors[0].cel.expression",
        product,
    );
    Some((model, Evidence::sure(at)))
}

/// The sharing that gpuc's DeviceClass of a pool configures.
pub(crate) fn sharing_of_class(cx: &Context<'_>, pool: &str) -> Option<(Sharing, Evidence)> {
    let class = class_of(cx, pool)?;
    let pointer = "/spec/config/0/opaque/parameters/sharing";
    let sharing = class.get(pointer);
    let percentage = number(sharing, "/mpsConfig/defaultActiveThreadPercentage")?;
    let percentage = u64::try_from(percentage)
        .ok()
        .filter(|it| (1..=50).contains(it))?;
    let at = source(
        name_of("DeviceClass", class),
        "spec.config[0].opaque.parameters.sharing",
        sharing,
    );
    let evidence = if 100 % percentage == 0 {
        Evidence::sure(at)
    } else {
        Evidence::guess(
            at,
            "the number of replicas follows from their part of the threads",
        )
    };
    let sharing = Sharing::Replicas {
        key: "mps",
        replicas: 100 / percentage,
        rename: false,
        packed: false,
    };
    Some((sharing, evidence))
}
