//! A setting of another cloud.

use gpuc_schema::Span;
use gpuc_schema::config::{Capacity, DriverOwner};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2619",
        name: "gke-not-here",
        severity: Severity::Error,
        summary: "a setting that GKE does not have",
        explain: r"### What it checks

Whether a pool has settings that mean nothing on GKE: `hosts` (on premises), `subnets` (EKS and
AKS: a GKE pool is in its cluster's subnetwork), `network.efa` (EKS), `capacity.spot.eviction`
and `capacity.spot.maxPrice` (AKS), a `driverImage` where no DaemonSet installs the driver.

### Why it matters

gpuc ignores no key: what would do nothing is an error.

### What to do

Remove the key.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    capacity: {spot: {maxPrice: 0.5}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    capacity: {spot: {}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (span, message) in foreign(pool) {
            report
                .draft(&RULE.code, span, message)
                .help("remove it")
                .emit();
        }
    }
}

fn foreign(pool: &Pool) -> Vec<(Span, &'static str)> {
    let written = &pool.written;
    let mut found = Vec::new();
    let mut note = |span: Option<Span>, message| {
        found.extend(span.map(|span| (span, message)));
    };
    let host = written.hosts.first();
    note(
        host.map(|host| host.span),
        "GKE makes the nodes: it has no `hosts`",
    );
    let subnet = written.subnets.first();
    note(
        subnet.map(|subnet| subnet.span),
        "a GKE pool is in its cluster's subnetwork: it has no `subnets`",
    );
    let efa = written.network.efa.as_ref();
    note(
        efa.map(|efa| efa.span),
        "the Elastic Fabric Adapter is AWS's",
    );
    if let Capacity::Spot(spot) = &written.capacity.value {
        let eviction = spot.eviction.as_ref();
        note(
            eviction.map(|eviction| eviction.span),
            "GKE deletes a spot machine that is taken back: there is no choice",
        );
        let price = spot.max_price.as_ref();
        note(
            price.map(|price| price.span),
            "spot machines of GKE have no price limit",
        );
    }
    let image = written.stack.driver_image.as_ref();
    let image = image.filter(|_| pool.driver.value != DriverOwner::DaemonSet);
    note(
        image.map(|image| image.span),
        "no DaemonSet installs the driver here: `driverImage` does nothing",
    );
    found
}
