//! The GKE cluster, and the removal of its default pool.
//!
//! GKE creates every cluster with a pool. gpuc requests the smallest one and deletes it after the first of its own
//! pools exists. The deletion is a separate resource, so that the next run completes it after an interrupted run.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::{
    Command, Credentials, Field, IdentityCheck, Observe, Provisioning, Resource, ResourceKind, Word,
};
use gpuc_schema::Span;
use gpuc_schema::config::{Gcp, GcpCreate};
use gpuc_syntax::node::{Because, Origin};
use serde_json::json;

use super::location::{self, Place};
use super::setting::Setting;
use super::{
    DEFAULT_POOL, addons, cluster_fields as kinds, created, gpudirect, maintenance, ownership,
    pool, section,
};

/// A GKE cluster.
pub(super) static CLUSTER: ResourceKind = ResourceKind {
    name: "GKE cluster",
    fields: kinds::FIELDS,
    definitions: concat!(include_str!("labels.jq"), include_str!("cluster.jq")),
};

/// The pool that GKE creates with a cluster.
pub(super) static FIRST_POOL: ResourceKind = ResourceKind {
    name: "GKE cluster's first pool",
    fields: kinds::FIRST_POOL_FIELDS,
    definitions: "",
};

/// All resources of a cluster.
pub(super) fn provision(cluster: Checked<'_>) -> Provisioning {
    let place = location::for_cluster(&cluster);
    let create = created(&cluster.config);
    let mut resources: Vec<_> = create
        .map(|create| resource(cluster, create, place))
        .into_iter()
        .collect();
    let created_pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    resources.extend(created_pools.map(|pool| pool::resource(cluster, pool, place)));
    resources.extend(create.map(|_| first_pool(cluster, place)));
    let ask = ["gcloud", "projects", "describe", place.project];
    Provisioning {
        tools: vec!["gcloud", "jq"],
        identity: vec![IdentityCheck {
            what: "Google Cloud project",
            is_place: true,
            ask: Command::new(ask).with(["--format=value(projectId)"]),
            want: place.project.to_owned(),
            otherwise: format!(
                "run `gcloud auth login` with an account that can see the project {}",
                place.project
            ),
        }]
        .into_iter()
        .chain(addons::existing_cluster_checks(cluster, place))
        .chain(gpudirect::existing_cluster_checks(cluster, place))
        .collect(),
        resources,
        credentials: Credentials::Fetch(place.cluster("get-credentials")),
        files: Vec::new(),
    }
}

fn resource(cluster: Checked<'_>, create: &GcpCreate, place: Place<'_>) -> Resource {
    let settings = settings(cluster, create, place);
    let mut command = place.cluster("create");
    command = command.with(settings.iter().flat_map(|setting| setting.flags.clone()));
    command = command.with([
        "--enable-ip-alias",
        "--num-nodes=1",
        "--machine-type=e2-medium",
        "--disk-size=30GB",
    ]);
    Resource {
        kind: &CLUSTER,
        name: place.cluster.to_owned(),
        script: "cluster".to_owned(),
        about: format!(
            "the GKE cluster {} in {} of project {}",
            place.cluster, place.location, place.project
        ),
        observe: observe(place),
        create: vec![command],
        by_hand: Vec::new(),
        comes_with: None,
        fields: settings.into_iter().map(|setting| setting.field).collect(),
        delete: vec![place.cluster("delete")],
        origin: Origin::made([section(&cluster.config).cluster.span], Because::Written),
    }
}

/// A cluster with this name in another location does not count as missing: gcloud then prints `Did you mean`, and the
/// script stops before it creates a second cluster.
fn observe(place: Place<'_>) -> Observe {
    Observe {
        command: place.cluster("describe").with(["--format=json"]),
        absent: "No cluster named '",
    }
}

/// All fields: immutable ones first.
fn settings(cluster: Checked<'_>, create: &GcpCreate, place: Place<'_>) -> Vec<Setting> {
    let mut settings = vec![network(create)];
    settings.extend(subnetwork(create));
    settings.push(private_nodes(create));
    settings.extend(networking(cluster, place));
    settings.push(release_channel(create, place));
    settings.push(control_plane(cluster, place));
    settings.push(workload_identity(create, place));
    settings.extend(addons::settings(cluster, place));
    settings.push(maintenance::setting(create, place));
    settings.push(resource_labels(section(&cluster.config), place));
    settings
}

fn network(create: &GcpCreate) -> Setting {
    match &create.network {
        Some(network) => Setting::new(&kinds::NETWORK, json!(last_segment(network)), network.span)
            .flag(format!("--network={network}")),
        None => Setting::new(&kinds::NETWORK, json!("default"), Span::NONE),
    }
}

fn subnetwork(create: &GcpCreate) -> Option<Setting> {
    let subnetwork = create.subnetwork.as_ref()?;
    let setting = Setting::new(
        &kinds::SUBNETWORK,
        json!(last_segment(subnetwork)),
        subnetwork.span,
    );
    Some(setting.flag(format!("--subnetwork={subnetwork}")))
}

fn private_nodes(create: &GcpCreate) -> Setting {
    let private = create.private_nodes;
    let flag = private.value.then(|| "--enable-private-nodes".to_owned());
    Setting::new(&kinds::PRIVATE_NODES, json!(private.value), private.span).flags(flag)
}

/// Dataplane V2 enforces the NetworkPolicies of isolated teams. It is also a requirement for pods with several network
/// interfaces.
fn networking(cluster: Checked<'_>, place: Place<'_>) -> Vec<Setting> {
    const DATAPLANE: &str = "--enable-dataplane-v2";
    const MULTI_NETWORKING: &str = "--enable-multi-networking";
    if let Some((_, written, _)) = gpudirect::pools(&cluster).next() {
        let multi_networking = Setting::new(&kinds::MULTI_NETWORKING, json!(true), written.span);
        let update = place.cluster("update").with([MULTI_NETWORKING]);
        return vec![
            Setting::new(&kinds::DATAPLANE, json!(true), written.span).flag(DATAPLANE),
            multi_networking.flag(MULTI_NETWORKING).update(update),
        ];
    }
    let isolated = cluster.isolation().next();
    let policies = |span| Setting::new(&kinds::POLICIES, json!(true), span).flag(DATAPLANE);
    isolated.map(policies).into_iter().collect()
}

fn release_channel(create: &GcpCreate, place: Place<'_>) -> Setting {
    let channel = super::upgrades::name(create.release_channel.value);
    let flag = format!("--release-channel={channel}");
    let want = json!(channel.to_uppercase());
    Setting::new(&kinds::RELEASE_CHANNEL, want, create.release_channel.span)
        .flag(flag.clone())
        .update(place.cluster("update").with([flag]))
}

fn control_plane(cluster: Checked<'_>, place: Place<'_>) -> Setting {
    let version = cluster.kubernetes.expect_resolved();
    let flag = format!("--cluster-version={}", version.value);
    let upgrade = place.cluster("upgrade").with(["--master", flag.as_str()]);
    let want = json!(version.value.to_string());
    Setting::new(&kinds::CONTROL_PLANE, want, version.span)
        .flag(flag)
        .update(upgrade)
}

fn workload_identity(create: &GcpCreate, place: Place<'_>) -> Setting {
    let identity = create.workload_identity;
    let pool = identity
        .value
        .then(|| format!("{}.svc.id.goog", place.project));
    let flag = pool.as_ref().map(|pool| format!("--workload-pool={pool}"));
    let change = flag
        .clone()
        .unwrap_or_else(|| "--disable-workload-identity".to_owned());
    Setting::new(&kinds::WORKLOAD_IDENTITY, json!(pool), identity.span)
        .flags(flag)
        .update(place.cluster("update").with([change]))
}

fn resource_labels(gcp: &Gcp, place: Place<'_>) -> Setting {
    let written = &gcp.resource_labels;
    let span = written
        .iter()
        .next()
        .map_or(Span::NONE, |(key, _)| key.span);
    let records = ownership::resource_labels(written.keys().map(|key| key.as_str()));
    let labels = written
        .iter()
        .map(|(key, value)| (key.value.clone(), value.value.clone()));
    let labels: BTreeMap<_, _> = labels.chain(records).collect();
    let pairs: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let flag = (!pairs.is_empty()).then(|| format!("--labels={}", pairs.join(",")));
    let all = Word::Observed("all_labels".to_owned());
    Setting::new(&kinds::RESOURCE_LABELS, json!(labels), span)
        .flags(flag)
        .update(place.cluster("update").with_word(all))
        .others("their_labels")
}

fn first_pool(cluster: Checked<'_>, place: Place<'_>) -> Resource {
    let delete = place.pool("delete", DEFAULT_POOL);
    let origin = Origin::fact(
        [section(&cluster.config).cluster.span],
        "GKE creates every cluster with a default pool",
        "gcloud container clusters create --help, Google Cloud SDK 528.0.0",
    );
    Resource {
        kind: &FIRST_POOL,
        name: DEFAULT_POOL.to_owned(),
        script: "remove-first-pool".to_owned(),
        about: format!(
            "the deletion of {DEFAULT_POOL}, which GKE created together with the cluster"
        ),
        observe: observe(place),
        create: vec![delete.clone()],
        by_hand: Vec::new(),
        comes_with: None,
        fields: vec![Field {
            kind: &kinds::FIRST_POOL,
            want: json!(false),
            update: vec![delete],
            others: None,
            origin: origin.clone(),
        }],
        delete: Vec::new(),
        origin,
    }
}

/// The name at the end of a path such as `projects/host/global/networks/shared`.
fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cluster, command_line, provisioned, resource_of};
    use serde_json::Value;

    use super::*;

    #[test]
    fn default_pool_is_small_and_deleted_last() {
        let provisioning = provisioned(cluster(&[]));
        let scripts: Vec<_> = provisioning
            .resources
            .iter()
            .map(|resource| resource.script.as_str())
            .collect();
        assert_eq!(scripts, ["cluster", "pool-system", "remove-first-pool"]);
        assert_eq!(
            command_line(&resource_of(&provisioning, "cluster").create[0]),
            "gcloud container clusters create demo --project=acme-ml-prod --location=us-central1-a \
             --quiet --release-channel=regular --cluster-version=1.34 \
             --workload-pool=acme-ml-prod.svc.id.goog --enable-ip-alias --num-nodes=1 \
             --machine-type=e2-medium --disk-size=30GB"
        );
        let removal = &resource_of(&provisioning, "remove-first-pool").fields[0];
        assert_eq!(
            command_line(&removal.update[0]),
            "gcloud container node-pools delete default-pool --cluster=demo \
             --project=acme-ml-prod --location=us-central1-a --quiet"
        );
    }

    #[test]
    fn isolated_teams_enable_network_policies() {
        let mut config = cluster(&[]);
        config["teams"] = json!([{"name": "a"}]);
        let without = provisioned(config.clone());
        assert!(!command_line(&resource_of(&without, "cluster").create[0]).contains("dataplane"));
        config["teams"] = json!([{"name": "a"}, {"name": "b", "network": "isolated"}]);
        let provisioning = provisioned(config);
        let cluster = resource_of(&provisioning, "cluster");
        assert!(command_line(&cluster.create[0]).contains(" --enable-dataplane-v2 "));
        let fields = cluster.fields.iter();
        let names: Vec<_> = fields.map(|field| field.kind.name).collect();
        assert!(names.contains(&"network policies"), "{names:?}");
    }

    #[test]
    fn networks_are_compared_by_name() {
        let mut config = cluster(&[]);
        config["cloud"]["gcp"]["cluster"] = json!({"create": {
            "network": "projects/host/global/networks/shared", "subnetwork": "nodes",
            "privateNodes": true, "workloadIdentity": false, "releaseChannel": "extended",
        }});
        let provisioning = provisioned(config);
        let cluster = resource_of(&provisioning, "cluster");
        let create = command_line(&cluster.create[0]);
        for flag in [
            "--network=projects/host/global/networks/shared",
            "--subnetwork=nodes",
            "--enable-private-nodes --",
            "--release-channel=extended",
        ] {
            assert!(create.contains(flag), "{flag} in {create}");
        }
        assert!(!create.contains("--workload-pool"));
        let wanted = cluster
            .fields
            .iter()
            .map(|field| (field.kind.name, field.want.clone()));
        let wanted: std::collections::BTreeMap<_, _> = wanted.collect();
        assert_eq!(wanted["network"], json!("shared"));
        assert_eq!(wanted["private nodes"], json!(true));
        assert_eq!(wanted["workload identity"], Value::Null);
        assert!(
            cluster
                .fields
                .iter()
                .all(|field| CLUSTER.fields.contains(field.kind))
        );
    }

    #[test]
    fn existing_cluster_gets_only_pools() {
        let mut config = cluster(&[]);
        config["cloud"]["gcp"]["cluster"] = json!({"existing": {"name": "shared"}});
        let provisioning = provisioned(config);
        let scripts: Vec<_> = provisioning
            .resources
            .iter()
            .map(|resource| resource.script.as_str())
            .collect();
        assert_eq!(scripts, ["pool-system"]);
        let create = command_line(&provisioning.resources[0].create[0]);
        assert!(create.contains("--cluster=shared "), "{create}");
        assert!(!create.contains("--workload-metadata"), "{create}");
        let Credentials::Fetch(command) = &provisioning.credentials else {
            panic!("GKE has a command for credentials");
        };
        assert!(
            command_line(command).starts_with("gcloud container clusters get-credentials shared ")
        );
    }
}
