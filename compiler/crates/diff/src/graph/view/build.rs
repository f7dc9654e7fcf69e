//! Builds the content of a picture from the resolved cluster and its plan.

use gpuc_model::plan::{PoolSummary, Step, Summary};
use gpuc_model::{Cluster, ExtendedResourceRequest, PodGpuRequest, Pool, scheduling};
use gpuc_schema::config::{Autoscaler, Capacity, Task, Workload};

use super::{AdvertisedView, NodeGpus, PlacedWorkload, PoolView, StepView, TeamView, View};

impl View {
    /// The view of a valid cluster.
    pub fn from_cluster(cluster: &Cluster, summary: &Summary, steps: &[Step]) -> Self {
        let pools = cluster.pools.iter().zip(&summary.pools);
        let mut pools: Vec<_> = pools.map(|(pool, words)| pool_view(pool, words)).collect();
        for workload in &cluster.config.workloads {
            for pool in scheduling::fitting_pools(cluster, workload) {
                pools[pool.index]
                    .workloads
                    .push(placed_workload(workload, pool));
            }
        }
        for (pool, notebook) in notebooks_by_pool(cluster) {
            pools[pool].workloads.push(notebook);
        }
        Self {
            name: cluster.name.value.clone(),
            facts: facts(cluster, summary),
            pools,
            teams: summary
                .teams
                .iter()
                .map(|team| TeamView {
                    name: team.name.clone(),
                    namespaces: team.namespaces.clone(),
                    members: team.members.clone(),
                })
                .collect(),
            quota_totals: summary.quotas.clone(),
            steps: step_views(cluster, steps),
            workloads: cluster.config.workloads.len(),
        }
    }
}

fn facts(cluster: &Cluster, summary: &Summary) -> Vec<String> {
    let scaler = match cluster.autoscaler.value {
        Autoscaler::None => None,
        Autoscaler::ClusterAutoscaler => Some("Cluster Autoscaler"),
        Autoscaler::Karpenter => Some("Karpenter"),
        Autoscaler::Managed => Some("cloud autoscaler"),
    };
    let mut facts = vec![
        summary.location.clone(),
        format!("Kubernetes {}", summary.kubernetes),
    ];
    facts.extend(scaler.map(str::to_owned));
    facts.extend(cluster.has_queues().then(|| "Kueue queues".to_owned()));
    facts
}

fn pool_view(pool: &Pool, words: &PoolSummary) -> PoolView {
    let resources = words.resources.iter();
    let resources = resources.map(|it| (&it.name, it.per_node, it.min, it.max));
    let classes = words.classes.iter();
    let classes = classes.map(|it| (&it.name, it.per_node, it.min, it.max));
    let offers = resources
        .chain(classes)
        .map(|(name, per_node, min, max)| AdvertisedView {
            name: name.clone(),
            per_node,
            min,
            max,
        });
    let gpus = pool.gpus.get().and_then(Option::as_ref);
    PoolView {
        name: pool.name.value.clone(),
        machine: words.machine.clone(),
        gpus: words.gpus.replace(" x ", " × "),
        sharing: words.sharing.clone(),
        marks: pool_marks(pool),
        node_gpus: gpus.map(|gpus| NodeGpus::for_pool(pool, gpus)),
        min_nodes: words.min_nodes,
        max_nodes: words.max_nodes,
        advertised: offers.collect(),
        taints: words.taints.clone(),
        workloads: Vec::new(),
        provided_by: if words.driver.is_empty() {
            String::new()
        } else {
            format!(
                "driver: {}; GPUs advertised by {}",
                words.driver, words.plugin
            )
        },
    }
}

fn pool_marks(pool: &Pool) -> Vec<String> {
    let had = match &pool.settings.capacity.value {
        Capacity::OnDemand => None,
        Capacity::Spot(_) => Some("spot".to_owned()),
        Capacity::Reservation(_) => Some("reserved".to_owned()),
        Capacity::CapacityBlock(_) => Some("capacity block".to_owned()),
        Capacity::FlexStart(flex) if flex.queued.value => Some("flex-start, queued".to_owned()),
        Capacity::FlexStart(_) => Some("flex-start".to_owned()),
    };
    let whom = pool.settings.dedicated_to.as_ref();
    let whom = whom.map(|whom| format!("for {}", whom.value));
    let existing = pool.is_existing().then(|| "existing".to_owned());
    had.into_iter().chain(whom).chain(existing).collect()
}

fn placed_workload(workload: &Workload, pool: &Pool) -> PlacedWorkload {
    let task = workload.task();
    PlacedWorkload {
        name: workload.name.value.clone(),
        requests: task.map_or_else(String::new, |task| requests_text(task, pool)),
    }
}

/// The requests of all pods of a workload: `2 × 8 GPUs`, `3 × 1g.10gb`.
fn requests_text(task: Task<'_>, pool: &Pool) -> String {
    let pods = task.max_pods();
    let Some(ask) = PodGpuRequest::for_task(task) else {
        return match pods {
            1 => String::new(),
            pods => format!("{pods} pods"),
        };
    };
    let is_test = matches!(task, Task::CudaTest(_));
    let device = ask.device_request(pool, is_test);
    let one = device_text(
        ask.count,
        device.as_ref(),
        ask.profile.map(|it| it.value.as_str()),
    );
    match pods {
        1 => one,
        pods if one.contains('×') => format!("{pods} × ({one})"),
        pods => format!("{pods} × {one}"),
    }
}

/// `8 GPUs`, `3g.20gb`, `2 replicas`.
fn device_text(
    count: u32,
    device: Option<&ExtendedResourceRequest>,
    profile: Option<&str>,
) -> String {
    let name = device.map_or("", |it| it.resource.as_str());
    if let Some(slice) = profile.or(name.strip_prefix("nvidia.com/mig-")) {
        return match count {
            1 => slice.to_owned(),
            count => format!("{count} × {slice}"),
        };
    }
    let (one, several) = if name.ends_with(".shared") {
        ("replica", "replicas")
    } else {
        ("GPU", "GPUs")
    };
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The notebooks that users may start, each with the index of its pool.
fn notebooks_by_pool(cluster: &Cluster) -> Vec<(usize, PlacedWorkload)> {
    let Some(hub) = cluster.jupyter_hub() else {
        return Vec::new();
    };
    let offered = hub.profiles.iter().filter_map(|profile| {
        let pool = cluster.pool(profile.pool.as_ref()?)?;
        let device =
            ExtendedResourceRequest::for_notebook(profile, pool).filter(|_| pool.has_gpus());
        let asks = device.map_or_else(String::new, |device| {
            device_text(device.count, Some(&device), None)
        });
        let placed = PlacedWorkload {
            name: format!("notebook {}", profile.name.value),
            requests: asks,
        };
        Some((pool.index, placed))
    });
    offered.collect()
}

fn step_views(cluster: &Cluster, steps: &[Step]) -> Vec<StepView> {
    let index = |name: &str| steps.iter().position(|step| step.name == name);
    let stem = |name: &str| {
        let pools = cluster.pools.iter().map(|pool| pool.name.value.as_str());
        let stems = pools.filter_map(|pool| name.strip_suffix(pool)?.strip_suffix('-'));
        // `train` and `big-train` are both suffixes of `exporter-big-train`; the longer one matches.
        let shortest = stems.min_by_key(|stem| stem.len());
        shortest.unwrap_or(name).to_owned()
    };
    let view = |step: &Step| {
        let needs = step.dependencies.iter();
        let needs = needs.filter_map(|need| Some((index(&need.step)?, need.reason.clone())));
        StepView {
            name: step.name.clone(),
            stem: stem(&step.name),
            kind: step.kind,
            dependencies: needs.collect(),
        }
    };
    steps.iter().map(view).collect()
}
