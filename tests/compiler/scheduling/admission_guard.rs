//! The admission policy rejects no pod that the scheduler can place.

use std::cell::Cell;

use gpuc_model::scheduling::{DefaultRequests, Demand, Feasibility, check_pools};
use gpuc_syntax::node::Node;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::generators::{admit_on_gke, cluster, pod};
use super::{count, oracle, resolve_valid};
use crate::admission::api_server::{AdmissionResult, ApiServer};
use crate::support::compile_text;

#[test]
fn admission_policy_rejects_no_schedulable_pod() {
    let config = Config {
        cases: 12,
        max_shrink_iters: 60,
        max_global_rejects: 4000,
        failure_persistence: None,
        ..Config::default()
    };
    let (run, stopped, missed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let pods = prop::collection::vec(pod(), 24);
    let result = TestRunner::new(config).run(&(cluster(), pods), |(generated, pods)| {
        let text = format!("{}admission: {{guard: enforce}}\n", generated.text());
        let outcome = compile_text(&text);
        let plan = outcome.compilations.first().and_then(|it| it.plan.as_ref());
        let Some(plan) = plan else {
            return Err(TestCaseError::reject("refused"));
        };
        let server = ApiServer::with_policies(plan);
        let cluster = resolve_valid(&text).unwrap();
        for spec in &pods {
            let object = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec,
            });
            let results = server.admit_create(&object, ("sandbox", &[]));
            let refused = results.iter().filter_map(|it| match it {
                AdmissionResult::Denied(message) => Some(message),
                AdmissionResult::Warned(_) => None,
            });
            let refused: Vec<_> = refused.collect();
            let runnable = admit_on_gke(spec, generated.is_gcp);
            let mut nodes = generated
                .pools
                .iter()
                .flat_map(|pool| generated.nodes(pool));
            let fits = nodes.any(|node| oracle::fits(&runnable, &node));
            // The scheduler places a container with several replicas, but the policy rejects it because a program can
            // use only one.
            let by_shares = |message: &&&String| message.contains("replicas of ");
            let is_refused = refused.len() > refused.iter().filter(by_shares).count();
            prop_assert!(!(fits && is_refused), "{results:?}\n{object:#}\n{text}");
            // gpuc's scheduling checks agree, including for replicas.
            let demand =
                Demand::from_pod_spec(&Node::from_json(spec.clone()), &DefaultRequests::default());
            let verdicts = check_pools(&demand, &cluster);
            let of_gpus = verdicts.iter().filter(|it| it.pool.has_gpus());
            let held = of_gpus
                .filter(|it| it.feasibility() != Feasibility::DoesNotFit)
                .count();
            prop_assert!(
                refused.is_empty() || held == 0,
                "{results:?}\n{object:#}\n{text}"
            );
            count(match (fits, is_refused) {
                (true, _) => &run,
                (_, true) => &stopped,
                _ => &missed,
            });
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // Other unschedulable pods select labels of nodes that do not exist, or request too much memory.
    let counts = [&run, &stopped, &missed].map(Cell::get);
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}
