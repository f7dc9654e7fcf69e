//! The combined scheduling of workloads matches an exhaustive search.
//!
//! For pools, the search tries every placement of the pods of services on nodes. For teams, it tries every choice of
//! services within the team's quota of the pools that they can run on. For queues, it tries every choice of a pool for
//! each gang. The tests compute the expected results from the generated input.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::compile_text;

/// A pool: the number of GPUs per node, and the number of nodes.
type Pool = (u32, u32);

#[derive(Clone, Debug)]
struct PackingService {
    gpus: u32,
    replicas: u32,
    /// The pool that the service selects, if any.
    pool: Option<usize>,
}

#[derive(Clone, Debug)]
struct PackingCluster {
    pools: Vec<Pool>,
    services: Vec<PackingService>,
    /// The quota of the team for each pool, if any.
    limits: Vec<Option<u32>>,
}

fn cluster() -> impl Strategy<Value = PackingCluster> {
    let pools = prop::collection::vec((1..5u32, 1..4u32), 1..4);
    let service = (1..5u32, 1..4u32, prop::option::of(0..3usize));
    let services = prop::collection::vec(service, 1..5);
    let limits = prop::collection::vec(prop::option::weighted(0.8, 1..9u32), 3);
    (pools, services, limits).prop_map(|(pools, services, limits)| {
        let services = services
            .into_iter()
            .map(|(gpus, replicas, pool)| PackingService {
                gpus,
                replicas,
                pool: pool.map(|index| index % pools.len()),
            });
        PackingCluster {
            services: services.collect(),
            limits,
            pools,
        }
    })
}

impl PackingCluster {
    /// The pools whose nodes fit a pod of a service.
    fn fitting_pools(&self, service: &PackingService) -> BTreeSet<usize> {
        let pools = self.pools.iter().enumerate();
        let large = pools.filter(|(index, pool)| {
            pool.0 >= service.gpus && service.pool.is_none_or(|named| named == *index)
        });
        large.map(|(index, _)| index).collect()
    }

    /// The cluster file, in which all services belong to one team or to none.
    fn text(&self, with_team: bool) -> String {
        let mut text = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\n\
             kubernetes: {version: \"1.36\"}\ncloud: {onPrem: {context: lab}}\n\
             stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}\nnodePools:\n"
            .to_owned();
        for (index, (gpus, nodes)) in self.pools.iter().enumerate() {
            let hosts: Vec<_> = (0..*nodes)
                .map(|host| format!("h-{index}-{host}"))
                .collect();
            writeln!(
                text,
                "  - {{name: p{index}, gpu: {{model: A30, perNode: {gpus}}}, overcommit: true, \
                 hosts: [{}], nodes: {{count: {nodes}}}}}",
                hosts.join(", ")
            )
            .unwrap();
        }
        if with_team {
            let limits = self.limits.iter().zip(0..self.pools.len());
            let quotas: Vec<_> = limits
                .filter_map(|(limit, index)| {
                    Some(format!("{{pool: p{index}, limit: {}}}", (*limit)?))
                })
                .collect();
            writeln!(
                text,
                "teams: [{{name: t, quota: {{gpus: [{}]}}}}]",
                quotas.join(", ")
            )
            .unwrap();
        }
        text += "workloads:\n";
        for (index, service) in self.services.iter().enumerate() {
            let pool = service.pool.map(|pool| format!(", pool: p{pool}"));
            let team = if with_team { ", team: t" } else { "" };
            writeln!(
                text,
                "  - {{name: s{index}{team}{}, deployment: {{image: \"registry.example.com/m:1.0.0\", \
                 gpus: {}, replicas: {}}}}}",
                pool.unwrap_or_default(),
                service.gpus,
                service.replicas
            )
            .unwrap();
        }
        text
    }
}

/// Whether pods, each with its allowed pools, fit on nodes with these numbers of free GPUs.
fn can_pack(pods: &[(u32, BTreeSet<usize>)], nodes: &mut [(usize, u32)]) -> bool {
    let Some(((gpus, pools), rest)) = pods.split_first() else {
        return true;
    };
    let mut tried = BTreeSet::new();
    for index in 0..nodes.len() {
        let (pool, free) = nodes[index];
        if free < *gpus || !pools.contains(&pool) || !tried.insert((pool, free)) {
            continue;
        }
        nodes[index].1 -= gpus;
        let packed = can_pack(rest, nodes);
        nodes[index].1 += gpus;
        if packed {
            return true;
        }
    }
    false
}

fn count_findings(text: &str, code: &str) -> usize {
    let outcome = compile_text(text);
    let found = outcome.findings.iter();
    found.filter(|found| found.code.id == code).count()
}

fn run_property(test: impl Fn(PackingCluster) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: 450,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&cluster(), test);
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn oversubscribed_pools_are_reported() {
    let (over, fits) = (Cell::new(0), Cell::new(0));
    run_property(|cluster| {
        let mut pods: Vec<_> = cluster
            .services
            .iter()
            .flat_map(|service| {
                let pod = (service.gpus, cluster.fitting_pools(service));
                std::iter::repeat_n(pod, service.replicas as usize)
            })
            .filter(|(_, pools)| !pools.is_empty())
            .collect();
        pods.sort_by_key(|(gpus, pools)| (std::cmp::Reverse(*gpus), pools.len()));
        let pools = cluster.pools.iter().enumerate();
        let mut nodes: Vec<_> = pools
            .flat_map(|(index, (gpus, nodes))| std::iter::repeat_n((index, *gpus), *nodes as usize))
            .collect();
        let text = cluster.text(false);
        let is_reported = count_findings(&text, "GPUC2202") > 0;
        let packed = can_pack(&pods, &mut nodes);
        prop_assert!(!(is_reported && packed), "{text}");
        // For identical pods that select one pool, the result is exact.
        let identical = pods.windows(2).all(|pair| pair[0] == pair[1]);
        if identical && pods.iter().all(|(_, pools)| pools.len() == 1) {
            prop_assert_eq!(is_reported, !packed, "{}", text);
        }
        let cell = if is_reported { &over } else { &fits };
        cell.set(cell.get() + 1);
        Ok(())
    });
    assert!(over.get() > 20 && fits.get() > 20, "{over:?} {fits:?}");
}

#[test]
fn exceeded_team_quotas_are_reported() {
    let (over, fits) = (Cell::new(0), Cell::new(0));
    run_property(|cluster| {
        let limit = |index: usize| cluster.limits[index].unwrap_or(0);
        if cluster.limits[..cluster.pools.len()]
            .iter()
            .all(Option::is_none)
        {
            return Err(TestCaseError::reject("no quota"));
        }
        // The GPUs that each service requests, and its possible pools in which the team has a quota.
        let needs = cluster.services.iter().map(|service| {
            let pools = cluster.fitting_pools(service).into_iter();
            let pools = pools.filter(|index| cluster.limits[*index].is_some());
            (
                service.gpus * service.replicas,
                pools.collect::<BTreeSet<_>>(),
            )
        });
        // A service that exceeds the quota alone has another finding.
        let alone = |pools: &BTreeSet<usize>| pools.iter().map(|index| limit(*index)).sum::<u32>();
        let needs: Vec<_> = needs
            .filter(|(count, pools)| *count <= alone(pools))
            .collect();
        let choices = 1..1u32 << needs.len();
        let is_over = choices.into_iter().any(|choice| {
            let chosen = needs.iter().enumerate();
            let chosen = chosen.filter(|(index, _)| choice >> index & 1 == 1);
            let (mut count, mut pools) = (0, BTreeSet::new());
            for (_, (needed, of)) in chosen {
                count += needed;
                pools.extend(of);
            }
            count > alone(&pools)
        });
        let text = cluster.text(true);
        let is_reported = count_findings(&text, "GPUC2200") > 0;
        prop_assert_eq!(is_reported, is_over, "{}", text);
        let cell = if is_reported { &over } else { &fits };
        cell.set(cell.get() + 1);
        Ok(())
    });
    assert!(over.get() > 20 && fits.get() > 20, "{over:?} {fits:?}");
}

/// Workloads without a team violate a guarantee if no placement keeps every guarantee.
#[test]
fn violated_guarantees_are_reported() {
    let (taken, kept) = (Cell::new(0), Cell::new(0));
    run_property(|cluster| {
        let most: Vec<_> = cluster
            .pools
            .iter()
            .map(|(gpus, nodes)| gpus * nodes)
            .collect();
        let guaranteed: Vec<_> = most
            .iter()
            .zip(&cluster.limits)
            .map(|(most, limit)| limit.map_or(0, |limit| limit.min(*most)))
            .collect();
        if guaranteed.iter().all(|count| *count == 0) {
            return Err(TestCaseError::reject("no promise"));
        }
        let quotas: Vec<_> = guaranteed
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| format!("{{pool: p{index}, guaranteed: {count}}}"))
            .collect();
        let teams = format!(
            "teams: [{{name: t, quota: {{gpus: [{}]}}}}]\nworkloads:",
            quotas.join(", ")
        );
        let text = cluster.text(false).replace("overcommit: true, ", "");
        let text = text.replace("workloads:", &teams);
        // A pool without guarantees gets unlimited capacity here: its oversubscription is another finding.
        let free = most.iter().zip(&guaranteed);
        let free = free.map(|(most, guaranteed)| match guaranteed {
            0 => 1000,
            guaranteed => most - guaranteed,
        });
        let mut ways = BTreeSet::from([free.collect::<Vec<u32>>()]);
        for service in &cluster.services {
            let pools = cluster.fitting_pools(service);
            for _ in 0..service.gpus * service.replicas * u32::from(!pools.is_empty()) {
                let taken = ways.iter().flat_map(|free| {
                    let some = pools.iter().filter(|index| free[**index] > 0);
                    some.map(|index| {
                        let mut free = free.clone();
                        free[*index] -= 1;
                        free
                    })
                });
                ways = taken.collect();
            }
        }
        let is_reported = count_findings(&text, "GPUC2132") > 0;
        prop_assert_eq!(is_reported, ways.is_empty(), "{}", text);
        let cell = if is_reported { &taken } else { &kept };
        cell.set(cell.get() + 1);
        Ok(())
    });
    assert!(taken.get() > 20 && kept.get() > 20, "{taken:?} {kept:?}");
}

/// A gang of pods with one GPU each, and the pool that it selects.
type PodSet = (u32, Option<usize>);

/// A JobSet with these gangs.
fn job_set(sets: &[PodSet]) -> String {
    let jobs = sets.iter().enumerate().map(|(index, (pods, pool))| {
        let pool = pool.map_or_else(String::new, |pool| {
            format!("nodeSelector: {{gpuc.dev/pool: p{pool}}}, ")
        });
        format!(
            "    - {{name: j{index}, template: {{spec: {{parallelism: {pods}, completions: {pods}, template: {{spec: \
             {{restartPolicy: Never, {pool}containers: [{{name: a, image: \"registry.example.com/m:1.0.0\", \
             resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}}}}}}}\n"
        )
    });
    let jobs: String = jobs.collect();
    format!(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: a, namespace: t}}\nspec:\n  \
         replicatedJobs:\n{jobs}"
    )
}

/// Whether the gangs can be assigned to pools without exceeding any pool.
fn has_pool_assignment(sets: &[PodSet], free: &mut [i64]) -> bool {
    let Some(((pods, named), rest)) = sets.split_first() else {
        return true;
    };
    (0..free.len()).any(|pool| {
        if named.is_some_and(|named| named != pool) || free[pool] < i64::from(*pods) {
            return false;
        }
        free[pool] -= i64::from(*pods);
        let fits = has_pool_assignment(rest, free);
        free[pool] += i64::from(*pods);
        fits
    })
}

#[test]
fn unschedulable_queued_workloads_are_reported() {
    let set = (1..9u32, prop::option::weighted(0.3, 0..3usize));
    let sets = prop::collection::vec(set, 1..4);
    let config = Config {
        cases: 450,
        failure_persistence: None,
        ..Config::default()
    };
    let (over, fits, split) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let result = TestRunner::new(config).run(&(cluster(), sets), |(cluster, sets)| {
        let limits = &cluster.limits[..cluster.pools.len()];
        let sets = sets.into_iter();
        let sets: Vec<PodSet> = sets
            .map(|(pods, pool)| (pods, pool.map(|pool| pool % cluster.pools.len())))
            .collect();
        if limits.iter().all(Option::is_none) {
            return Err(TestCaseError::reject("no quota"));
        }
        let alone = PackingCluster {
            services: Vec::new(),
            ..cluster.clone()
        };
        let text = alone
            .text(true)
            .replace("teams:", "queueing: kueue\nteams:");
        let text = text.replace("workloads:\n", "");
        // A team may borrow unguaranteed capacity up to its limit.
        let available = limits.iter().zip(&cluster.pools);
        let mut available: Vec<_> = available
            .map(|(limit, (gpus, nodes))| i64::from(limit.unwrap_or(0).min(gpus * nodes)))
            .collect();
        let mut outcome = compile_text(&text);
        let before = outcome.findings.len();
        if outcome.compilations[0].plan.is_none() {
            return Err(TestCaseError::reject("refused"));
        }
        outcome.add_manifests(&[("a.yaml", &job_set(&sets))]);
        let codes = outcome.findings[before..].iter().map(|it| it.code.id);
        let codes: BTreeSet<_> = codes.collect();
        let is_reported = ["GPUC4044", "GPUC4081", "GPUC4010"]
            .iter()
            .any(|it| codes.contains(it));
        let found = has_pool_assignment(&sets, &mut available);
        let context = || format!("{sets:?} {available:?} {codes:?}\n{text}");
        prop_assert!(!(is_reported && found), "{}", context());
        // The result is exact only if all gangs select the same pool: gpuc treats gangs that select different pools as
        // if each could run on any of these pools.
        let is_uniform = sets.iter().all(|(_, pool)| *pool == sets[0].1);
        if is_uniform {
            prop_assert_eq!(is_reported, !found, "{}", context());
        }
        let cell = if is_reported { &over } else { &fits };
        cell.set(cell.get() + 1);
        split.set(split.get() + u32::from(codes.contains("GPUC4081")));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let counts = [&over, &fits, &split].map(Cell::get);
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}
