//! The tests of GPUs and of networks, which gpuc generates as Jobs.

use std::collections::BTreeMap;

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;

use crate::context::Context;
use crate::json::{items, number, text, texts};
use crate::pool::Pool;
use crate::tree::{Entries, Item};

use super::pods::PodTemplate;

/// The image of NVIDIA's sample, without registry and version.
const SAMPLE: &str = "/k8s/cuda-sample:";

/// The program of a test of the network.
const FABRIC_PROGRAM: &str = "/fabric-test/fabric_test.py";

/// The keys of a test of the network, if a Job is one.
pub(super) fn fabric_test(object: &Object) -> Option<Item> {
    let template = PodTemplate::new(&object.body, "/spec/template/spec")?;
    if !texts(template.container, "/command").contains(&FABRIC_PROGRAM) {
        return None;
    }
    let mut keys = Entries::default();
    let nodes = number(&object.body, "/spec/completions");
    keys.push_some("nodes", nodes.map(Item::number));
    let variables = items(template.container, "/env").iter();
    let value = |name: &str| {
        let mut variables = variables.clone();
        let found = variables.find(|it| text(it, "/name") == Some(name))?;
        text(found, "/value")?.parse::<u32>().ok()
    };
    let limits = crate::json::text_entries(template.container, "/resources/limits");
    let of_plugin = limits
        .iter()
        .find(|(name, _)| name.starts_with("nvidia.com/"));
    let gpus = of_plugin.and_then(|(_, amount)| amount.parse().ok());
    let gpus: u32 = gpus.or_else(|| value("PET_NPROC_PER_NODE"))?;
    keys.push("gpusPerNode", Item::number(gpus));
    keys.push("image", Item::text(text(template.container, "/image")?));
    let memory = text(template.container, "/resources/limits/memory");
    keys.push_some("memory", memory.map(Item::text));
    // With the number of bytes, it is gpuc's own lower limit.
    if value("MIN_BYTES").is_none() {
        keys.push_some(
            "minBusBandwidth",
            value("MIN_BUS_BANDWIDTH").map(Item::number),
        );
    }
    Some(keys.into_item())
}

/// A test of GPUs: one Job for each pool.
pub(super) struct CudaTest<'s> {
    /// The name of the workload.
    pub(super) name: &'s str,
    /// The namespace.
    pub(super) namespace: &'s str,
    /// The pool, if it is one of several.
    pub(super) pool: Option<&'s str>,
    /// The Jobs.
    pub(super) jobs: Vec<&'s Object>,
    /// The keys.
    pub(super) keys: Item,
}

/// The tests of GPUs.
pub(super) fn cuda_tests<'s>(cx: &Context<'s>, pools: &[Pool<'_>]) -> Vec<CudaTest<'s>> {
    let mut jobs: BTreeMap<(&str, &str), Vec<(&str, &Object)>> = BTreeMap::new();
    for job in cx.state.objects(Kind::Job) {
        let Some(name) = job.metadata.label(gpuc_model::WORKLOAD_LABEL) else {
            continue;
        };
        let rest = job.metadata.name.strip_prefix(name);
        let pool = rest.and_then(|rest| rest.strip_prefix('-'));
        if let Some(pool) = pool {
            let key = (job.metadata.namespace.as_str(), name);
            jobs.entry(key).or_default().push((pool, job));
        }
    }
    let tests = jobs.into_iter().filter_map(|((namespace, name), jobs)| {
        let (_, first) = jobs.first()?;
        let template = PodTemplate::new(&first.body, "/spec/template/spec")?;
        let mut keys = Entries::default();
        if texts(template.container, "/command") == ["nvidia-smi"] {
            keys.push("run", Item::text("nvidiaSmi"));
        }
        let gpus = template.gpus(cx, namespace).count;
        if gpus > 1 {
            keys.push("gpus", Item::number(gpus));
        }
        let image = text(template.container, "/image").filter(|image| !image.contains(SAMPLE));
        keys.push_some("image", image.map(Item::text));
        let with_gpus = pools.iter().filter(|pool| pool.has_gpus()).count();
        let pool = match jobs[..] {
            [(pool, _)] if with_gpus > 1 => Some(pool),
            _ => None,
        };
        Some(CudaTest {
            name,
            namespace,
            pool,
            jobs: jobs.iter().map(|(_, job)| *job).collect(),
            keys: keys.into_item(),
        })
    });
    tests.collect()
}
