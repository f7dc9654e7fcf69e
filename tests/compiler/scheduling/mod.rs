//! The feasibility of a pod on a pool matches a model of the scheduler, and the reasons are helpful.

mod admission_guard;
pub(crate) mod generators;
pub(crate) mod oracle;
mod reasons;
mod reserved;

use std::cell::Cell;
use std::sync::Arc;

use gpuc_model::Cluster;
use gpuc_model::check::check;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_model::scheduling::{DefaultRequests, Demand, Feasibility, MisfitCause, check_pool};
use gpuc_schema::Spanned;
use gpuc_syntax::decode;
use gpuc_syntax::diag::Report;
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Sources;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use generators::{admit_on_gke, cluster, pod};

/// How often each result occurred.
#[derive(Default)]
struct AnswerCounts {
    fits: Cell<u32>,
    does_not_fit: Cell<u32>,
    unknown: Cell<u32>,
    over_capacity: Cell<u32>,
}

fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

/// Copies of the nodes with possible values for the labels that the file does not set.
fn possible_nodes(nodes: &[oracle::Node], unset_labels: &[&str]) -> Vec<Vec<oracle::Node>> {
    let worlds = [None, Some("1"), Some("10"), Some("x")].map(|value| {
        let mut nodes = nodes.to_vec();
        for node in &mut nodes {
            let labels = value
                .into_iter()
                .flat_map(|value| unset_labels.iter().map(move |key| (key, value)));
            let labels = labels.map(|(key, value)| ((*key).to_owned(), value.to_owned()));
            node.labels.extend(labels);
        }
        nodes
    });
    worlds.into()
}

/// The cluster in a file without errors. No tree is generated, because that takes most of the time.
fn resolve_valid(text: &str) -> Option<Cluster> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let files = MemoryFiles::with_file("gpu-cluster.yaml", text);
    let loaded = load::load(&files, "gpu-cluster.yaml", &mut sources, &mut report);
    let config = decode::decode_cluster(&loaded[0].root, &mut report)?;
    let cluster = resolve(
        Arc::new(config),
        &gpuc::REGISTRY,
        &Choices::default(),
        &mut report,
    );
    check(&cluster, &mut report).is_some().then_some(cluster)
}

fn check_agreement(
    generated: &generators::GeneratedCluster,
    pods: &[(serde_json::Value, u32, bool)],
    seen: &AnswerCounts,
) -> Result<(), TestCaseError> {
    let Some(cluster) = &resolve_valid(&generated.text()) else {
        return Err(TestCaseError::reject("refused"));
    };
    for (pod, replicas, apart) in pods {
        let mut demand =
            Demand::from_pod_spec(&Node::from_json(pod.clone()), &DefaultRequests::default());
        demand.pods = Some(Spanned::without_span(*replicas));
        demand.anti_affinity = *apart;
        let pod = admit_on_gke(pod, generated.is_gcp);
        for pool in &generated.pools {
            let verdict = check_pool(&demand, cluster, cluster.pool(&pool.name).unwrap());
            let scheduled = verdict.schedulability();
            let nodes = generated.nodes(pool);
            let found = possible_nodes(&nodes, &generated.externally_settable_labels()).into_iter();
            let found: Vec<_> = found
                .map(|nodes| nodes.iter().any(|node| oracle::fits(&pod, node)))
                .collect();
            let context = || {
                format!(
                    "{pod:#}\n{}\n{pool:?}\n{:#?}",
                    generated.text(),
                    verdict.reasons
                )
            };
            match scheduled {
                Feasibility::Fits => prop_assert!(found.iter().all(|fits| *fits), "{}", context()),
                Feasibility::DoesNotFit => {
                    // If the file names no zones, the pod may fit in some zone. The result must be Unknown, not
                    // DoesNotFit.
                    prop_assert!(!found.iter().any(|fits| *fits), "{}", context());
                }
                Feasibility::Unknown => {
                    prop_assert!(!generated.is_decided(pool, &pod), "{}", context());
                }
            }
            count(match scheduled {
                Feasibility::Fits => &seen.fits,
                Feasibility::DoesNotFit => &seen.does_not_fit,
                Feasibility::Unknown => &seen.unknown,
            });
            if scheduled != Feasibility::Fits {
                continue;
            }
            let fitting = nodes.iter().find(|node| oracle::fits(&pod, node)).unwrap();
            let placed = oracle::placeable_pods(&pod, fitting, pool.max_nodes, *apart);
            let mut reasons = verdict.reasons.iter();
            let is_over_capacity =
                reasons.any(|reason| matches!(reason.cause, MisfitCause::Nodes { .. }));
            let expected = placed < u64::from(*replicas);
            prop_assert_eq!(
                is_over_capacity,
                expected,
                "{} pods\n{}",
                replicas,
                context()
            );
            if is_over_capacity {
                count(&seen.over_capacity);
            }
        }
    }
    Ok(())
}

#[test]
fn feasibility_matches_the_scheduler() {
    let config = Config {
        cases: 60,
        max_shrink_iters: 100,
        max_global_rejects: 4000,
        failure_persistence: None,
        ..Config::default()
    };
    let seen = AnswerCounts::default();
    let pods = prop::collection::vec((pod(), 1..9u32, any::<bool>()), 40);
    let strategy = (cluster(), pods);
    let mut seen_often = false;
    let counts = || {
        [
            &seen.fits,
            &seen.does_not_fit,
            &seen.unknown,
            &seen.over_capacity,
        ]
        .map(Cell::get)
    };
    // A test in which one result dominates proves little. The generated inputs vary, so that the test generates more
    // until every result is frequent.
    for _ in 0..10 {
        let result = TestRunner::new(config.clone()).run(&strategy, |(cluster, pods)| {
            check_agreement(&cluster, &pods, &seen)
        });
        result.unwrap_or_else(|error| panic!("{error}"));
        seen_often = counts().iter().all(|count| *count > 20);
        if seen_often {
            break;
        }
    }
    assert!(seen_often, "{:?}", counts());
}
