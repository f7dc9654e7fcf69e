//! Graphs of clusters: layout, legibility in light and dark, and plain text.

mod geometry;
mod markup;
mod mermaid;
mod needs_chromium;
mod needs_mermaid;

use std::collections::BTreeMap;

use gpuc_diff::graph::{self, AdvertisedView, PlacedWorkload, PoolView, StepView, TeamView, View};
use gpuc_model::plan::{QuotaTotalSummary, StepKind, TeamQuotaSummary};

use crate::corpus::{Case, cases};
use crate::support::examples::compiled_examples;
use crate::support::expect_files;

/// The graph view of a case.
pub(crate) fn view_of_case(case: &Case) -> View {
    let plan = case.plan();
    View::from_cluster(case.cluster(), &plan.summary, &plan.steps)
}

/// The graph views of an example's clusters.
fn example(name: &str) -> Vec<View> {
    let outcome = &compiled_examples()[name];
    let views = outcome.compilations.iter().map(|one| {
        let (cluster, plan) = (one.cluster.as_ref().unwrap(), one.plan.as_ref().unwrap());
        View::from_cluster(cluster, &plan.summary, &plan.steps)
    });
    views.collect()
}

/// The views of every cluster of the corpus, of fleets, and of synthetic clusters.
fn all_views() -> Vec<(String, Vec<View>)> {
    let mut all: Vec<_> = cases()
        .iter()
        .map(|case| (case.name.clone(), vec![view_of_case(case)]))
        .collect();
    all.push(("fleet".to_owned(), example("fleet")));
    all.push(("nothing".to_owned(), vec![View::default()]));
    all.push(("huge".to_owned(), vec![huge_view(3000)]));
    all.push(("fleet of 40".to_owned(), vec![huge_view(3); 40]));
    all.extend(
        HOSTILE_NAMES
            .iter()
            .map(|name| ((*name).to_owned(), vec![view_with_name(name)])),
    );
    all
}

/// Names with special meaning in SVG, HTML or Mermaid.
pub(crate) const HOSTILE_NAMES: &[&str] = &[
    "\"quotes\" and 'apostrophes'",
    "</title></svg><script>alert(1)</script>",
    "a & b &amp; c ]]> <!-- d",
    "{{ title }} {% raw %} %%{init: {}}%%",
    "end",
    "1. one\n- two\r\n# three",
    "`code` **bold** __under__ $$x$$ \\n",
    "click c0p0 call alert()",
    "משתמשים ערבים العربية",
    "\u{202e}backwards\u{202c} \u{0}\u{1b}[31m \u{ffff}",
    "日本語のとても長い名前のプール日本語のとても長い名前のプール日本語のとても長い名前",
    "🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "﷽﷽﷽",
    "",
];

/// A view in which every name is this one.
pub(crate) fn view_with_name(name: &str) -> View {
    let mut view = example("eks-queues").remove(0);
    let name = || name.to_owned();
    view.name = name();
    view.facts = vec![name(), name(), name()];
    for pool in &mut view.pools {
        rename(pool, &name);
    }
    view.teams = vec![
        TeamView {
            name: name(),
            namespaces: vec![name(), name()],
            members: vec![name()],
        };
        4
    ];
    for promise in &mut view.quota_totals {
        (promise.pool, promise.resource) = (name(), name());
        for team in &mut promise.teams {
            team.name = name();
        }
    }
    for step in &mut view.steps {
        step.name = name();
        for need in &mut step.dependencies {
            need.1 = name();
        }
    }
    view
}

fn rename(pool: &mut PoolView, name: &dyn Fn() -> String) {
    pool.name = name();
    (pool.machine, pool.gpus) = (name(), name());
    (pool.sharing, pool.provided_by) = (name(), name());
    pool.marks = vec![name(), name(), name()];
    pool.taints = vec![name(), name()];
    for offer in &mut pool.advertised {
        offer.name = name();
    }
    pool.workloads = vec![
        PlacedWorkload {
            name: name(),
            requests: name(),
        };
        30
    ];
    if let Some(cards) = &mut pool.node_gpus {
        cards.model = name();
        for run in &mut cards.runs {
            if let graph::Partitioning::Mig {
                devices: slices, ..
            } = &mut run.partitioning
            {
                for slice in slices {
                    slice.profile = name();
                }
            }
        }
    }
}

/// A view with this number of pools, teams, quotas and steps.
pub(crate) fn huge_view(pools: u32) -> View {
    let pool = |index: u32| PoolView {
        name: format!("pool-{index}"),
        machine: "p5.48xlarge".to_owned(),
        min_nodes: index % 3,
        max_nodes: index % 3 + index * 977 % 5000,
        advertised: vec![AdvertisedView {
            name: "nvidia.com/gpu".to_owned(),
            per_node: 8,
            min: 0,
            max: u64::MAX / 2,
        }],
        ..PoolView::default()
    };
    let promise = |index: u32| QuotaTotalSummary {
        pool: format!("pool-{index}"),
        resource: "nvidia.com/gpu".to_owned(),
        min: 0,
        max: u64::from(index) * 1_000_000_007,
        teams: vec![TeamQuotaSummary {
            name: format!("team-{index}"),
            guaranteed: 3,
            limit: u64::from(index % 7) * 4_000_000_000,
        }],
    };
    let step = |index: u32| StepView {
        name: format!("step-{index}"),
        stem: format!("step-{index}"),
        kind: [StepKind::Component, StepKind::Release][index as usize % 2],
        dependencies: (0..index)
            .filter(|before| (index * 7 + before * 3).is_multiple_of(11))
            .map(|before| (before as usize, "it must".to_owned()))
            .collect(),
    };
    View {
        name: "huge".to_owned(),
        pools: (0..pools).map(pool).collect(),
        teams: (0..pools)
            .map(|index| TeamView {
                name: format!("team-{index}"),
                ..TeamView::default()
            })
            .collect(),
        quota_totals: (0..pools).map(promise).collect(),
        steps: (0..pools.min(400)).map(step).collect(),
        workloads: pools as usize,
        ..View::default()
    }
}

#[test]
fn graphs_match_golden_files() {
    let mut expected = BTreeMap::new();
    for name in ["eks-queues", "fleet", "on-prem-mps"] {
        let views = example(name);
        expected.insert(format!("{name}.svg"), graph::svg(&views));
        expected.insert(
            format!("{name}.mmd"),
            graph::mermaid(&views, graph::MAX_MERMAID_LENGTH),
        );
    }
    expected.insert(
        "on-prem-mps.html".to_owned(),
        graph::html(&example("on-prem-mps")),
    );
    expect_files("golden/graph", &expected);
}

#[test]
fn graphs_are_deterministic() {
    for name in ["eks-queues", "fleet"] {
        assert_eq!(graph::svg(&example(name)), graph::svg(&example(name)));
        assert_eq!(graph::html(&example(name)), graph::html(&example(name)));
    }
}

/// The graph shows the workloads that the compiler places on each pool.
#[test]
fn graph_shows_what_is_built() {
    let view = example("eks-queues").remove(0);
    let pools: Vec<_> = view
        .pools
        .iter()
        .map(|it| (it.name.as_str(), it.gpu_count()))
        .collect();
    let known = [
        ("system", (0, 0)),
        ("train", (16, 32)),
        ("spot", (0, 10)),
        ("slices", (8, 8)),
        ("infer", (6, 6)),
    ];
    assert_eq!(pools, known);
    let node_runs = &view.pools[3].node_gpus.as_ref().unwrap().runs;
    let graph::Partitioning::Mig {
        memory_slices: 8,
        devices: slices,
    } = &node_runs[0].partitioning
    else {
        panic!("{node_runs:?}");
    };
    let slices: Vec<_> = slices.iter().map(|it| (it.start, it.size)).collect();
    assert_eq!(slices, [(0, 1), (1, 1), (2, 1), (3, 1), (4, 4)]);
    for case in cases() {
        let view = self::view_of_case(case);
        let plan = case.plan();
        assert_eq!(view.steps.len(), plan.steps.len(), "{}", case.name);
        let runs: usize = view.pools.iter().map(|it| it.workloads.len()).sum();
        assert!(
            runs >= view.workloads,
            "{}: a workload has no pool",
            case.name
        );
        let (_, most) = view.sum(PoolView::gpu_count);
        let planned: u64 = plan.summary.pools.iter().map(|it| it.max_gpus).sum();
        assert_eq!(most, planned, "{}", case.name);
    }
}
