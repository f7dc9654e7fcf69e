//! The guard refuses no pod that a scheduler finds a node for, and most of those for which it finds none because of GPUs.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::drawn::{admitted, cluster, pod};
use super::{count, oracle};
use crate::admission::api_server::{Said, made};
use crate::support::compile_text;

#[test]
fn the_guard_refuses_no_pod_that_could_run() {
    let config = Config {
        cases: 24,
        max_shrink_iters: 60,
        max_global_rejects: 4000,
        failure_persistence: None,
        ..Config::default()
    };
    let (runs, refused, missed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let pods = prop::collection::vec(pod(), 40);
    let result = TestRunner::new(config).run(&(cluster(), pods), |(drawn, pods)| {
        let text = format!("{}admission: {{guard: enforce}}\n", drawn.text());
        let outcome = compile_text(&text);
        let plan = outcome.compilations.first().and_then(|it| it.plan.as_ref());
        let Some(plan) = plan else {
            return Err(TestCaseError::reject("refused"));
        };
        for spec in &pods {
            let object =
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec});
            let said = made(plan, &object, ("sandbox", &[]));
            let is_refused = said.iter().any(|it| matches!(it, Said::Refused(_)));
            let runnable = admitted(spec, drawn.is_gcp);
            let mut nodes = drawn.pools.iter().flat_map(|pool| drawn.nodes(pool));
            let fits = nodes.any(|node| oracle::fits(&runnable, &node));
            prop_assert!(!(fits && is_refused), "{said:?}\n{object:#}\n{text}");
            count(match (fits, is_refused) {
                (true, _) => &runs,
                (_, true) => &refused,
                _ => &missed,
            });
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // Others of those that cannot run choose nodes that there are not, or ask for too much memory.
    let counts = [&runs, &refused, &missed].map(Cell::get);
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}
