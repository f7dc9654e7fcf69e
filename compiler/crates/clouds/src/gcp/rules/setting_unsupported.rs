//! Setting that GKE does not support.

use gpuc_schema::Span;
use gpuc_schema::config::{Capacity, DriverOwner};

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2619",
        name: "gke-setting-unsupported",
        severity: Severity::Error,
        summary: "GKE does not support this setting",
        checks: r"Whether a pool has settings that GKE does not support: `hosts` (on premises), `subnets` (EKS and AKS),
`network.efa` (EKS), `capacity.spot.eviction` and `capacity.spot.maxPrice` (AKS). A GKE pool uses the
subnetwork of its cluster. The rule also reports `driverImage` if no DaemonSet installs the driver.",
        reason: r"gpuc does not ignore any key: a setting without effect is an error.",
        remedy: r"Remove the key.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    capacity: {spot: {maxPrice: 0.5}}
"#,
        correction: Correction::Replace("maxPrice: 0.5", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (span, message) in unsupported_settings(cluster, pool) {
            report
                .diagnostic(&RULE.code, span, message)
                .help("remove it")
                .emit();
        }
    }
}

fn unsupported_settings(cluster: &Cluster, pool: &Pool) -> Vec<(Span, &'static str)> {
    let settings = &pool.settings;
    let mut unsupported = Vec::new();
    let mut note = |span: Option<Span>, message| {
        unsupported.extend(span.map(|span| (span, message)));
    };
    let host = settings.hosts.first();
    note(
        host.map(|host| host.span),
        "`hosts` is not supported on GKE: GKE creates the nodes",
    );
    let subnet = settings.subnets.first();
    note(
        subnet.map(|subnet| subnet.span),
        "`subnets` is not supported on GKE: pools use the subnetwork of the cluster",
    );
    let efa = settings.network.efa.as_ref();
    note(
        efa.map(|efa| efa.span),
        "`efa` is not supported on GKE: the Elastic Fabric Adapter is specific to AWS",
    );
    if let Capacity::Spot(spot) = &settings.capacity.value {
        let eviction = spot.eviction.as_ref();
        note(
            eviction.map(|eviction| eviction.span),
            "`eviction` is not supported on GKE, which always deletes evicted spot machines",
        );
        let price = spot.max_price.as_ref();
        note(
            price.map(|price| price.span),
            "`maxPrice` is not supported on GKE, whose spot machines have no price limit",
        );
    }
    let image = cluster
        .pool_in_file(pool)
        .stack
        .driver_image
        .as_ref()
        .filter(|_| pool.driver.value != DriverOwner::DaemonSet);
    note(
        image.map(|image| image.span),
        "`driverImage` has no effect: no DaemonSet installs the driver here",
    );
    unsupported
}
