//! The labels of a pool's nodes, as far as they are known in advance.
//!
//! A label is known if gpuc, the kubelet, the cloud or the GPU's device plugin sets it. Any other label may have been
//! added to a node by hand, so that its value is unknown.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::{Basis, product};

use crate::gpu_labels::{GPU_PRESENT, GpuLabelWriter, is_gpu_label};
use crate::{Cluster, DEDICATED_TO, POOL_LABEL, Pool, PoolGpus, Sharing};

/// The possible values of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LabelValue {
    /// The label has this value.
    Known(String),
    /// The label has one of these values; `None` means that it may be absent.
    OneOf(Vec<Option<String>>),
    /// The value begins with one of these prefixes.
    Prefix(Vec<String>),
    /// The label is absent.
    Absent,
    /// The label may have any value or be absent.
    Unknown,
}

/// The known labels of the nodes of a pool in one zone.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeLabels {
    known: BTreeMap<String, LabelValue>,
    /// Prefixes of absent labels.
    absent: Vec<&'static str>,
    /// Whether nothing writes the labels that describe the GPUs.
    lacks_gpu_labels: bool,
}

/// The label of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

impl NodeLabels {
    /// The possible values of a label.
    pub(super) fn get(&self, key: &str) -> LabelValue {
        let is_absent = || {
            self.absent.iter().any(|prefix| key.starts_with(prefix))
                || (self.lacks_gpu_labels && is_gpu_label(key))
        };
        match self.known.get(key) {
            Some(held) => held.clone(),
            None if is_absent() => LabelValue::Absent,
            None => LabelValue::Unknown,
        }
    }

    fn insert(&mut self, key: &str, held: LabelValue) {
        self.known.insert(key.to_owned(), held);
    }

    fn insert_known(&mut self, key: &str, value: &str) {
        self.insert(key, LabelValue::Known(value.to_owned()));
    }

    /// The labels of the nodes of each zone of a pool.
    pub(super) fn by_zone(cluster: &Cluster, pool: &Pool) -> Vec<Self> {
        let mut labels = Self::default();
        labels.add_labels_of_other_pools(cluster, pool);
        labels.add_gpu_labels(cluster, pool);
        labels.add_machine_labels(pool);
        let mut zones = Vec::new();
        labels.absent.extend(cluster.absent_label_prefixes(pool));
        for label in cluster.cloud.own_labels(cluster, pool) {
            match &label.values[..] {
                [] => labels.insert(label.key, LabelValue::Absent),
                values if label.is_prefix => {
                    labels.insert(label.key, LabelValue::Prefix(values.to_vec()));
                }
                [value] if label.is_certain => labels.insert_known(label.key, value),
                values if label.key == ZONE => zones = values.to_vec(),
                values => {
                    let lacking = (!label.is_certain).then_some(None);
                    let values = values.iter().cloned().map(Some).chain(lacking);
                    labels.insert(label.key, LabelValue::OneOf(values.collect()));
                }
            }
        }
        // Labels from the configuration take precedence.
        for label in pool.labels.iter().chain(&pool.selector) {
            labels.insert_known(&label.key, &label.value);
        }
        if zones.is_empty() {
            return vec![labels];
        }
        let in_zone = |zone: String| {
            let mut labels = labels.clone();
            labels.insert_known(ZONE, &zone);
            labels
        };
        zones.into_iter().map(in_zone).collect()
    }

    /// Labels of other pools in the file: nodes that gpuc creates for this pool do not have them.
    fn add_labels_of_other_pools(&mut self, cluster: &Cluster, pool: &Pool) {
        if pool.is_existing() {
            return;
        }
        for key in [POOL_LABEL, DEDICATED_TO] {
            self.insert(key, LabelValue::Absent);
        }
        for key in cluster.pools.iter().flat_map(|it| it.user_labels.keys()) {
            self.insert(key, LabelValue::Absent);
        }
    }

    /// Labels that the kubelet and the cloud controller manager set.
    fn add_machine_labels(&mut self, pool: &Pool) {
        for prefix in ["", "beta."] {
            self.insert_known(&format!("{prefix}kubernetes.io/os"), "linux");
            if let Some(architecture) = pool.known_architecture() {
                let key = format!("{prefix}kubernetes.io/arch");
                self.insert_known(&key, architecture.label());
            }
        }
        let key = "node.kubernetes.io/instance-type";
        match pool.machine_types()[..] {
            [] => {}
            [name] => self.insert_known(key, name),
            ref names => {
                let names = names.iter().map(|name| Some((*name).to_owned()));
                self.insert(key, LabelValue::OneOf(names.collect()));
            }
        }
    }

    /// Labels of GPUs that gpuc-runtime and NVIDIA's GPU Feature Discovery set, with the same names
    /// (`runtime/src/labels`; NVIDIA/k8s-device-plugin@v0.20.0 docs/gpu-feature-discovery/README.md).
    fn add_gpu_labels(&mut self, cluster: &Cluster, pool: &Pool) {
        let gpus = match pool.gpus.get() {
            Some(Some(gpus)) => gpus,
            Some(None) => {
                self.absent
                    .extend(["nvidia.com/gpu", "nvidia.com/mig", "nvidia.com/cuda"]);
                return;
            }
            None => return,
        };
        let Some(sharing) = pool.sharing.get() else {
            return;
        };
        let present = format!("nvidia.com/{GPU_PRESENT}");
        let yes = Some("true".to_owned());
        let is_certain = match cluster.gpu_label_writer(pool) {
            GpuLabelWriter::Runtime | GpuLabelWriter::FeatureDiscovery => true,
            GpuLabelWriter::Unknown => false,
            GpuLabelWriter::None => {
                self.lacks_gpu_labels = true;
                match cluster.operator_labels_gpus(pool) {
                    Some(true) => self.insert_known(&present, "true"),
                    Some(false) => {}
                    None => self.insert(&present, LabelValue::OneOf(vec![yes, None])),
                }
                return;
            }
        };
        let mut set = |name: &str, values: Vec<String>| {
            let mut values: Vec<_> = values.into_iter().map(Some).collect();
            if !is_certain {
                values.push(None);
            }
            self.insert(&format!("nvidia.com/{name}"), LabelValue::OneOf(values));
        };
        set(GPU_PRESENT, vec!["true".to_owned()]);
        let is_single = matches!(
            sharing,
            Sharing::Mig { strategy, .. } if strategy.value == MigStrategy::Single
        );
        if let Sharing::Mig { strategy, .. } = sharing {
            set("mig.strategy", vec![strategy.as_str().to_owned()]);
        }
        let (major, minor) = driver_version_labels(gpus);
        set("gpu.compute.major", vec![major]);
        set("gpu.compute.minor", vec![minor]);
        let family = gpus.model.architecture.gfd_family();
        set("gpu.family", vec![family.to_owned()]);
        if gpus.fraction.is_none() && gpus.model.product_basis <= Basis::Documented {
            set("gpu.product", product_names(gpus, sharing));
        }
        if !is_single && gpus.fraction.is_none() {
            set("gpu.count", vec![gpus.per_node.to_string()]);
        }
    }
}

fn driver_version_labels(gpus: &PoolGpus) -> (String, String) {
    let version = gpus.model.compute_capability.to_string();
    let (major, minor) = version.split_once('.').unwrap_or((&version, "0"));
    (major.to_owned(), minor.to_owned())
}

/// The possible product names of the GPU model, which depend on the sharing.
fn product_names(gpus: &PoolGpus, sharing: &Sharing) -> Vec<String> {
    let profiles: Vec<_> = match sharing {
        Sharing::Mig { strategy, gpus } if strategy.value == MigStrategy::Single => {
            let slices = gpus.iter().flat_map(|gpu| &gpu.placements);
            slices.map(|slice| slice.profile).collect()
        }
        _ => Vec::new(),
    };
    let product_name = |product: &&'static str| match sharing {
        Sharing::TimeSlicing { replicas, rename } | Sharing::Mps { replicas, rename }
            if replicas.value > 1 && !rename =>
        {
            product::shared_label(product)
        }
        _ => match profiles.first() {
            Some(profile) => product::mig_label(product, profile),
            None => (*product).to_owned(),
        },
    };
    gpus.model.products.iter().map(product_name).collect()
}

/// The values of a label on a pool's nodes, if all of them have it and all possible values are known.
pub fn known_label_values(cluster: &Cluster, pool: &Pool, key: &str) -> Option<BTreeSet<String>> {
    let mut values = BTreeSet::new();
    for labels in NodeLabels::by_zone(cluster, pool) {
        match labels.get(key) {
            LabelValue::Known(value) => values.extend([value]),
            LabelValue::OneOf(all) => {
                for value in all {
                    values.insert(value?);
                }
            }
            LabelValue::Prefix(_) | LabelValue::Absent | LabelValue::Unknown => return None,
        }
    }
    Some(values)
}
