//! The workloads that prove a pool, and how their logs are judged.
//!
//! A proof is a workload of the cluster's file, so that its pods get the tolerations, the runtime class, the networks
//! and the mirrored images of any other workload. It runs in a namespace of its own.

use gpuc_model::cloud::Injection;
use gpuc_model::fabric::{self, NoFabric};
use gpuc_model::{Cluster, Pool, PoolGpus, Sharing};
use gpuc_syntax::diag::phrases::pluralize;
use serde_json::{Value, json};

use crate::judgement::Judgement;
use crate::transcript::Transcript;
use crate::{cuda, dcgm, judge};

/// The name of the workload.
pub const WORKLOAD: &str = "gpuc-prove";

/// A property of a pool that a workload proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// The network between GPUs, with the lowest accepted bus bandwidth in GB/s instead of that of the facts.
    Fabric {
        /// The bandwidth.
        min_bus_bandwidth: Option<u32>,
    },
    /// A CUDA program runs.
    Cuda,
    /// The diagnostics of DCGM succeed.
    Diagnostics {
        /// The level, from 1 to 4.
        level: u8,
    },
}

/// Why a pool cannot have a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotProvable {
    /// The reason: a sentence without a full stop.
    pub reason: String,
    /// What the user can do.
    pub help: String,
}

impl From<NoFabric> for NotProvable {
    fn from(NoFabric { reason, help }: NoFabric) -> Self {
        Self { reason, help }
    }
}

/// The proof of a property of a pool.
#[derive(Clone)]
pub struct Proof<'c> {
    cluster: &'c Cluster,
    pool: &'c Pool,
    gpus: &'c PoolGpus,
    property: Property,
    nodes: u32,
}

impl<'c> Proof<'c> {
    /// The proof of a property on a number of nodes.
    ///
    /// # Errors
    ///
    /// The pool cannot have the property, with the reason.
    pub fn new(
        cluster: &'c Cluster,
        pool: &'c Pool,
        property: Property,
        nodes: u32,
    ) -> Result<Self, NotProvable> {
        let name = &pool.name;
        let Some(Some(gpus)) = pool.gpus.get() else {
            return Err(NotProvable {
                reason: format!("the nodes of pool `{name}` have no GPUs"),
                help: "name a pool with GPUs".to_owned(),
            });
        };
        let is_exclusive = matches!(pool.sharing.get(), Some(Sharing::Exclusive));
        if is_exclusive && matches!(property, Property::Fabric { .. }) {
            fabric::pool_fabric(cluster, pool, nodes)?;
        }
        if property != Property::Cuda && !is_exclusive {
            return Err(NotProvable {
                reason: format!(
                    "pool `{name}` shares or partitions its GPUs, and this proof needs whole GPUs"
                ),
                help: "prove that a CUDA program runs: `--gpu cuda`".to_owned(),
            });
        }
        let max = pool.nodes.get().map(|range| range.max);
        if let Some(max) = max.filter(|max| *max < nodes) {
            return Err(NotProvable {
                reason: format!(
                    "pool `{name}` has at most {}, and the proof runs on {nodes}",
                    pluralize(max, "node")
                ),
                help: format!("prove fewer nodes: `--nodes {max}`"),
            });
        }
        Ok(Self {
            cluster,
            pool,
            gpus,
            property,
            nodes,
        })
    }

    /// The namespace in which it runs. Names with the prefix `gpuc-` are reserved.
    pub fn namespace(&self) -> String {
        format!("prove-{}", self.pool.name)
    }

    /// The workload, as an entry of `workloads` in the cluster's file. `image` replaces the default image; diagnostics
    /// have none.
    pub fn workload(&self, image: Option<&str>) -> Value {
        let gpus = self.gpus.per_node;
        let (kind, settings) = match self.property {
            Property::Fabric { min_bus_bandwidth } => {
                let uses_huge_pages = self.pool.settings.network.efa.is_some();
                // NCCL's processes, and memory for huge pages, which EFA needs.
                let memory = uses_huge_pages.then(|| format!("{}Gi", u64::from(gpus) * 16));
                let settings = json!({
                    "nodes": self.nodes,
                    "gpusPerNode": gpus,
                    "image": image,
                    "memory": memory,
                    "minBusBandwidth": min_bus_bandwidth,
                });
                ("fabricTest", settings)
            }
            Property::Cuda => ("cudaTest", json!({"image": image})),
            Property::Diagnostics { .. } => ("cudaTest", json!({"gpus": gpus, "image": image})),
        };
        json!({
            "name": WORKLOAD,
            "pool": self.pool.name.value,
            "namespace": self.namespace(),
            kind: settings,
        })
    }

    /// Completes the objects that gpuc generates for the workload: the Job runs on the number of nodes, a failed pod
    /// leaves the others running, so that the logs of all nodes are complete, and diagnostics replace the program.
    pub fn complete(&self, objects: &mut [Value]) {
        let is_privileged = matches!(self.property, Property::Diagnostics { .. });
        for object in objects {
            match object["kind"].as_str() {
                Some("Job") => self.complete_job(object),
                Some("Namespace") if is_privileged => {
                    for mode in ["audit", "enforce", "warn"] {
                        let label = format!("pod-security.kubernetes.io/{mode}");
                        object["metadata"]["labels"][label] = json!("privileged");
                    }
                }
                _ => {}
            }
        }
    }

    fn complete_job(&self, job: &mut Value) {
        let spec = &mut job["spec"];
        spec["completions"] = json!(self.nodes);
        spec["parallelism"] = json!(self.nodes);
        spec["completionMode"] = json!("Indexed");
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("backoffLimit");
        }
        spec["backoffLimitPerIndex"] = json!(0);
        spec["activeDeadlineSeconds"] = json!(self.deadline_seconds());
        let labels = spec["template"]["metadata"]["labels"].clone();
        let pod = &mut spec["template"]["spec"];
        if self.nodes > 1 {
            pod["affinity"]["podAntiAffinity"] = json!({
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "labelSelector": {"matchLabels": labels},
                    "topologyKey": "kubernetes.io/hostname",
                }],
            });
        }
        let Property::Diagnostics { level } = self.property else {
            return;
        };
        // The diagnostics read the hardware of the host, and `dcgmi` needs the host engine.
        pod["securityContext"] = json!({"seccompProfile": {"type": "RuntimeDefault"}});
        let container = &mut pod["containers"][0];
        let command = format!("nv-hostengine && exec dcgmi diag --run {level} --json");
        container["command"] = json!(["/bin/sh", "-c", command]);
        container["securityContext"] =
            json!({"runAsUser": 0, "capabilities": {"add": ["SYS_ADMIN"]}});
        // Without NVIDIA's container runtime, the dynamic linker does not find the driver's libraries by itself.
        let access = self.cluster.driver_access(self.pool);
        if let Some(Injection::DeviceNodes {
            container: root, ..
        }) = access.map(|it| it.injection)
        {
            let path = format!("{root}/lib64");
            container["env"] = json!([{"name": "LD_LIBRARY_PATH", "value": path}]);
        }
    }

    /// The time limit of the Job, with half an hour in which nodes can be created. The times of the diagnostics are
    /// those of `facts/live.md`: level 2 takes two minutes, 3 a quarter of an hour, 4 one to two hours.
    pub fn deadline_seconds(&self) -> u32 {
        const START: u32 = 1800;
        START
            + match self.property {
                Property::Cuda | Property::Diagnostics { level: 0 | 1 } => 300,
                Property::Fabric { .. } | Property::Diagnostics { level: 2 } => 1800,
                Property::Diagnostics { level: 3 } => 3600,
                Property::Diagnostics { level: 4.. } => 3 * 3600,
            }
    }

    /// Judges the logs of all pods.
    ///
    /// # Errors
    ///
    /// The pool cannot have the property, with the reason.
    pub fn judge(&self, log: &str) -> Result<Judgement, NotProvable> {
        let gpus_per_node = self.gpus.per_node;
        Ok(match self.property {
            Property::Fabric { min_bus_bandwidth } => {
                let floor = min_bus_bandwidth.map(f64::from);
                let expected =
                    judge::Expectation::for_pool(self.cluster, self.pool, self.nodes, floor)?;
                judge::judge(&expected, &Transcript::parse(log))
            }
            Property::Cuda => cuda::judge(self.nodes, log),
            Property::Diagnostics { level } => {
                let expected = dcgm::Expectation {
                    level,
                    nodes: self.nodes,
                    gpus_per_node,
                };
                dcgm::judge(&expected, log)
            }
        })
    }
}
