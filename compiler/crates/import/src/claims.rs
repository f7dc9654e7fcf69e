//! GPUs that are allocated through Dynamic Resource Allocation (DRA): ResourceSlices and DeviceClasses.

use std::collections::BTreeSet;

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_schema::gpu::{self, GpuModel};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::groups::Group;
use crate::json::{items, number, source, text};
use crate::sharing::Sharing;
use crate::tree::Evidence;

/// The driver of NVIDIA's GPUs in ResourceSlices.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@95932046 `cmd/gpu-kubelet-plugin`.
const DRIVER: &str = "gpu.nvidia.com";

/// The full GPUs of the node of a group that has most: their model and number.
pub(crate) fn gpus_of_slices(
    cx: &Context<'_>,
    group: &Group<'_>,
) -> Option<(&'static GpuModel, u32, Evidence)> {
    let names: BTreeSet<&str> = group
        .nodes
        .iter()
        .map(|node| node.metadata.name.as_str())
        .collect();
    let slices = cx.state.objects(Kind::ResourceSlice).iter();
    let own = slices.filter(|it| {
        it.text("/spec/driver") == DRIVER && names.contains(it.text("/spec/nodeName"))
    });
    let counted = own.filter_map(|slice| {
        // The attributes are in `basic` up to v1beta1.
        let attribute = |device: &Value, name: &str| {
            let paths = [
                format!("/attributes/{name}/string"),
                format!("/basic/attributes/{name}/string"),
            ];
            paths
                .iter()
                .find_map(|path| Some(text(device, path)?.to_owned()))
        };
        let devices = items(&slice.body, "/spec/devices").iter();
        let gpus: Vec<&Value> = devices
            .filter(|it| attribute(it, "type").is_none_or(|kind| kind == "gpu"))
            .collect();
        let product = attribute(gpus.first()?, "productName")?;
        let [model] = gpu::find_by_product(&product)[..] else {
            return None;
        };
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

/// gpuc's DeviceClass of the pool with a name.
fn class_of<'s>(cx: &Context<'s>, pool: &str) -> Option<&'s Object> {
    let mut classes = cx.state.objects(Kind::DeviceClass).iter();
    classes.find(|it| it.metadata.name == format!("{pool}.gpuc.dev"))
}

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
