//! The admission policy rejects no pod for which a scheduler finds a node.

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
    let result = TestRunner::new(config).run(&(cluster(), pods), |(drawn, pods)| {
        let text = format!("{}admission: {{guard: enforce}}\n", drawn.text());
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
            let said = server.admit_create(&object, ("sandbox", &[]));
            let refused = said.iter().filter_map(|it| match it {
                AdmissionResult::Denied(message) => Some(message),
                AdmissionResult::Warned(_) => None,
            });
            let refused: Vec<_> = refused.collect();
            let runnable = admit_on_gke(spec, drawn.is_gcp);
            let mut nodes = drawn.pools.iter().flat_map(|pool| drawn.nodes(pool));
            let fits = nodes.any(|node| oracle::fits(&runnable, &node));
            // The scheduler gives several replicas to one container, which the policy rejects as useless.
            let by_shares = |message: &&&String| message.contains("replicas of ");
            let is_refused = refused.len() > refused.iter().filter(by_shares).count();
            prop_assert!(!(fits && is_refused), "{said:?}\n{object:#}\n{text}");
            // The report on a pull request agrees, replicas included.
            let demand =
                Demand::from_pod_spec(&Node::from_json(spec.clone()), &DefaultRequests::default());
            let verdicts = check_pools(&demand, &cluster);
            let of_gpus = verdicts.iter().filter(|it| it.pool.has_gpus());
            let held = of_gpus
                .filter(|it| it.feasibility() != Feasibility::DoesNotFit)
                .count();
            prop_assert!(
                refused.is_empty() || held == 0,
                "{said:?}\n{object:#}\n{text}"
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
    // Others of those that cannot run select nodes that do not exist, or request too much memory.
    let counts = [&run, &stopped, &missed].map(Cell::get);
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}
