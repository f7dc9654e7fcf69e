//! The GKE cluster, and the removal of its default pool.
//!
//! GKE creates every cluster with a pool. gpuc requests the smallest one and deletes it after the first of its own
//! pools exists. The deletion is a separate resource, so that the next run completes it after an interrupted run.

use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::check::Checked;
use gpuc_model::plan::{
    Argument, Command, Contained, Credentials, Field, IdentityCheck, Mark, Observation,
    Provisioning, Resource, ResourceKind, Tool,
};
use gpuc_schema::Span;
use gpuc_schema::config::{Gcp, GcpCreate};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::json;

use super::location::{self, Target};
use super::setting::Setting;
use super::{
    DEFAULT_POOL, access, addons, cluster_fields as kinds, control_plane, create_section,
    gpudirect, maintenance, ownership, pool, section, state, system_config, workload_policy,
};

/// A GKE cluster.
pub(super) static CLUSTER: ResourceKind = ResourceKind {
    name: "GKE cluster",
    protection: None,
    fields: kinds::FIELDS,
    definitions: concat!(include_str!("labels.jq"), include_str!("cluster.jq")),
    state: Some(&state::CLUSTER),
    mark: Some(&Mark {
        name: "label gpuc-cluster with this name",
        read: r#".resourceLabels["gpuc-cluster"] == $name"#,
    }),
};

/// The pool that GKE creates with a cluster.
pub(super) static DEFAULT_POOL_REMOVAL: ResourceKind = ResourceKind {
    name: "GKE cluster's first pool",
    protection: None,
    fields: kinds::DEFAULT_POOL_FIELDS,
    definitions: "",
    state: None,
    mark: None,
};

/// Labels the nodes of the pool that GKE creates with the cluster, so that the scripts delete no other pool of this
/// name.
const FIRST_POOL_FLAG: &str = "--node-labels=gpuc.dev/first-pool=yes";

/// The oldest release of gcloud whose parser the commands of the scripts are tested with, of June 2025.
/// Source: `needs_clouds::gcloud` with Google Cloud SDK 528.0.0, 2026-11-22.
const GCLOUD: Tool = Tool {
    name: "gcloud",
    minimum_versions: &["528.0.0"],
    version_arguments: &["version"],
    version_prefix: "Google Cloud SDK ",
};

/// A release with `--add-maintenance-exclusion-until-end-of-support`: its own release notes, of 2026-05-19.
const GCLOUD_WITH_UNTIL_END_OF_SUPPORT: Tool = Tool {
    minimum_versions: &["569.0.0"],
    ..GCLOUD
};

/// A release with `--accelerator-network-profile`: its own release notes, of 2026-03-31.
const GCLOUD_WITH_NETWORK_PROFILE: Tool = Tool {
    minimum_versions: &["563.0.0"],
    ..GCLOUD
};

/// The gcloud that the scripts require.
fn gcloud(cluster: &Cluster, create: Option<&GcpCreate>) -> Tool {
    let exclusion = create.and_then(|create| create.maintenance_exclusion.as_ref());
    let mut pools = gpudirect::gpudirect_pools(cluster);
    if exclusion.is_some_and(|exclusion| exclusion.end.is_none()) {
        GCLOUD_WITH_UNTIL_END_OF_SUPPORT
    } else if pools.any(|(pool, written, _)| written.value.is_managed() && !pool.is_existing()) {
        GCLOUD_WITH_NETWORK_PROFILE
    } else {
        GCLOUD
    }
}

/// All resources of a cluster.
pub(super) fn provision(cluster: Checked<'_>) -> Provisioning {
    let target = location::cluster_target(&cluster);
    let create = create_section(&cluster.config);
    let mut resources = gpudirect::network_resources(cluster, target);
    resources.extend(create.map(|create| resource(cluster, create, target)));
    let created_pools = || cluster.pools.iter().filter(|pool| !pool.is_existing());
    resources.extend(
        created_pools().filter_map(|pool| workload_policy::resource(cluster, pool, target)),
    );
    resources.extend(created_pools().map(|pool| pool::resource(cluster, pool, target)));
    resources.extend(create.map(|_| default_pool_removal(cluster, target)));
    let query = ["gcloud", "projects", "describe", target.project];
    Provisioning {
        tools: vec![gcloud(&cluster, create), Tool::any_version("jq")],
        identity: vec![IdentityCheck {
            subject: "Google Cloud project",
            is_location: true,
            query: Command::new(query).with_arguments(["--format=value(projectId)"]),
            expected: target.project.to_owned(),
            mismatch_message: format!(
                "run `gcloud auth login` with an account that can see the project {}",
                target.project
            ),
        }]
        .into_iter()
        .chain(addons::existing_cluster_checks(cluster, target))
        .chain(gpudirect::existing_cluster_checks(cluster, target))
        .collect(),
        known_errors: state::KNOWN_ERRORS,
        update_state: None,
        resources,
        credentials: Credentials::Fetch(vec![access::credentials(create, target)]),
        files: system_config::files(cluster),
    }
}

fn resource(cluster: Checked<'_>, create: &GcpCreate, target: Target<'_>) -> Resource {
    let settings = cluster_settings(cluster, create, target);
    let mut command = target.cluster_command("create");
    command = command.with_arguments(settings.iter().flat_map(|setting| setting.flags.clone()));
    // The first pool of a cluster also needs an account that exists and may run nodes.
    let account = section(&cluster.config).node_service_account.as_ref();
    command = command.with_arguments(account.map(|account| format!("--service-account={account}")));
    command = command.with_arguments([
        "--enable-ip-alias",
        FIRST_POOL_FLAG,
        "--num-nodes=1",
        "--machine-type=e2-medium",
        "--disk-size=30GB",
    ]);
    Resource {
        kind: &CLUSTER,
        name: target.cluster.to_owned(),
        script: "cluster".to_owned(),
        description: format!(
            "Creates and updates GKE cluster {} in {} of project {}.",
            target.cluster, target.location, target.project
        ),
        observation: observe_cluster(target),
        create: std::iter::once(command)
            .chain(maintenance::add_exclusion(create, target))
            .collect(),
        contents: Some(contained_pools(&cluster, target)),
        manual_delete: Vec::new(),
        remnant: None,
        recovery: state::recovery(&target.cluster_command("delete")),
        created_with: None,
        fields: settings.into_iter().map(|setting| setting.field).collect(),
        delete: vec![target.cluster_command("delete")],
        origin: Origin::derived(
            [section(&cluster.config).cluster.span],
            DerivationReason::Written,
        ),
    }
}

/// The node pools of a cluster, without the first one, if GKE created it for these scripts.
fn contained_pools(cluster: &Cluster, target: Target<'_>) -> Contained {
    let created = cluster.pools.iter().filter(|pool| !pool.is_existing());
    Contained {
        kind: "node pools",
        list: target.list_pools(),
        read: r#".[] | select(.config.labels["gpuc.dev/first-pool"] != "yes") | .name"#,
        created: created.map(|pool| pool.name.value.clone()).collect(),
    }
}

/// A cluster with this name in another location is another cluster. gcloud names it (`Did you mean`) with the same
/// code.
fn observe_cluster(target: Target<'_>) -> Observation {
    Observation {
        command: target
            .cluster_command("describe")
            .with_arguments(["--format=json"]),
        absent_pattern: "code=404",
    }
}

/// All fields: immutable ones first.
fn cluster_settings(cluster: Checked<'_>, create: &GcpCreate, target: Target<'_>) -> Vec<Setting> {
    let mut settings = vec![network(create)];
    settings.extend(subnetwork(create));
    settings.extend(control_plane::range_settings(create));
    settings.push(private_nodes(create));
    settings.extend(access::settings(create, target));
    settings.extend(dataplane_settings(cluster, target));
    settings.extend(shielded_nodes(cluster, target));
    settings.push(release_channel(create, target));
    settings.push(control_plane(cluster, target));
    settings.push(workload_identity(create, target));
    settings.extend(control_plane::settings(create, target));
    settings.extend(addons::addon_settings(cluster, target));
    settings.push(maintenance::maintenance_setting(create, target));
    settings.push(maintenance::exclusion_setting(create, target));
    settings.push(resource_labels(section(&cluster.config), target));
    settings
}

fn network(create: &GcpCreate) -> Setting {
    match &create.network {
        Some(network) => Setting::new(&kinds::NETWORK, json!(last_segment(network)), network.span)
            .with_flag(format!("--network={network}")),
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
    Some(setting.with_flag(format!("--subnetwork={subnetwork}")))
}

fn private_nodes(create: &GcpCreate) -> Setting {
    let private = create.private_nodes;
    let flag = private.value.then(|| "--enable-private-nodes".to_owned());
    Setting::new(&kinds::PRIVATE_NODES, json!(private.value), private.span).with_flags(flag)
}

/// Dataplane V2 enforces the NetworkPolicies of isolated teams. It is also a requirement for pods with several
/// network interfaces.
fn dataplane_settings(cluster: Checked<'_>, target: Target<'_>) -> Vec<Setting> {
    const DATAPLANE: &str = "--enable-dataplane-v2";
    const MULTI_NETWORKING: &str = "--enable-multi-networking";
    let pools = || gpudirect::gpudirect_pools(&cluster);
    let mut settings = Vec::new();
    if let Some((_, written, _)) = pools().next() {
        let dataplane = Setting::new(&kinds::DATAPLANE, json!(true), written.span);
        settings.push(dataplane.with_flag(DATAPLANE));
    }
    if let Some((_, written, _)) = pools().find(|(_, written, _)| !written.value.is_managed()) {
        let multi_networking = Setting::new(&kinds::MULTI_NETWORKING, json!(true), written.span);
        let update = target
            .cluster_command("update")
            .with_arguments([MULTI_NETWORKING]);
        settings.push(
            multi_networking
                .with_flag(MULTI_NETWORKING)
                .with_update(update),
        );
    }
    if !settings.is_empty() {
        return settings;
    }
    let isolated = cluster.isolation_spans().next();
    let policies = |span| Setting::new(&kinds::POLICIES, json!(true), span).with_flag(DATAPLANE);
    isolated.map(policies).into_iter().collect()
}

/// Bare-metal machines do not support shielded nodes, which GKE otherwise enables.
fn shielded_nodes(cluster: Checked<'_>, target: Target<'_>) -> Option<Setting> {
    const FLAG: &str = "--no-enable-shielded-nodes";
    let mut pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let pool =
        pools.find(|pool| gpudirect::pool_adapters(pool).is_some_and(|it| it.is_bare_metal))?;
    let machine = pool.machine_name.as_ref()?;
    let setting = Setting::new(&kinds::SHIELDED_NODES, json!(false), machine.span);
    let update = target.cluster_command("update").with_arguments([FLAG]);
    Some(setting.with_flag(FLAG).with_update(update))
}

fn release_channel(create: &GcpCreate, target: Target<'_>) -> Setting {
    let channel = super::upgrades::channel_name(create.release_channel.value);
    let flag = format!("--release-channel={channel}");
    let desired = json!(channel.to_uppercase());
    Setting::new(
        &kinds::RELEASE_CHANNEL,
        desired,
        create.release_channel.span,
    )
    .with_flag(flag.clone())
    .with_update(target.cluster_command("update").with_arguments([flag]))
}

fn control_plane(cluster: Checked<'_>, target: Target<'_>) -> Setting {
    let version = cluster.kubernetes.expect_resolved();
    let flag = format!("--cluster-version={}", version.value);
    let upgrade = target
        .cluster_command("upgrade")
        .with_arguments(["--master", flag.as_str()]);
    let desired = json!(version.value.to_string());
    Setting::new(&kinds::CONTROL_PLANE, desired, version.span)
        .with_flag(flag)
        .with_update(upgrade)
}

fn workload_identity(create: &GcpCreate, target: Target<'_>) -> Setting {
    let identity = create.workload_identity;
    let pool = identity
        .value
        .then(|| format!("{}.svc.id.goog", target.project));
    let flag = pool.as_ref().map(|pool| format!("--workload-pool={pool}"));
    let change = flag
        .clone()
        .unwrap_or_else(|| "--disable-workload-identity".to_owned());
    Setting::new(&kinds::WORKLOAD_IDENTITY, json!(pool), identity.span)
        .with_flags(flag)
        .with_update(target.cluster_command("update").with_arguments([change]))
}

fn resource_labels(gcp: &Gcp, target: Target<'_>) -> Setting {
    let written = &gcp.resource_labels;
    let span = written
        .iter()
        .next()
        .map_or(Span::NONE, |(key, _)| key.span);
    let records = ownership::resource_label_records(written.keys().map(|key| key.as_str()));
    let labels = written
        .iter()
        .map(|(key, value)| (key.value.clone(), value.value.clone()));
    let mark = (
        ownership::CLUSTER_MARK.to_owned(),
        target.cluster.to_string(),
    );
    let labels: BTreeMap<_, _> = labels.chain(records).chain([mark]).collect();
    let pairs: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let flag = Some(format!("--labels={}", pairs.join(",")));
    let all = Argument::Observed("all_labels".to_owned());
    Setting::new(&kinds::RESOURCE_LABELS, json!(labels), span)
        .with_flags(flag)
        .with_update(target.cluster_command("update").with_argument(all))
        .with_external("their_labels")
}

fn default_pool_removal(cluster: Checked<'_>, target: Target<'_>) -> Resource {
    let delete = target.pool_command("delete", DEFAULT_POOL);
    let origin = Origin::fact(
        [section(&cluster.config).cluster.span],
        "GKE creates every cluster with a default pool",
        "gcloud container clusters create --help, Google Cloud SDK 528.0.0",
    );
    Resource {
        kind: &DEFAULT_POOL_REMOVAL,
        name: DEFAULT_POOL.to_owned(),
        script: "remove-first-pool".to_owned(),
        description: format!(
            "Deletes node pool {DEFAULT_POOL}, which GKE creates together with the cluster."
        ),
        observation: observe_cluster(target),
        create: vec![delete.clone()],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: vec![Field {
            kind: &kinds::DEFAULT_POOL_EXISTS,
            desired: json!(false),
            update: vec![delete],
            lookup: None,
            is_set_after_creation: false,
            external_entries: Some(kinds::OTHER_FIRST_POOL),
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
    use super::super::testing::{cluster, command_line, provision_config, resource_of};
    use serde_json::Value;

    use super::*;

    #[test]
    fn default_pool_is_small_and_deleted_last() {
        let provisioning = provision_config(cluster(&[]));
        let scripts: Vec<_> = provisioning
            .resources
            .iter()
            .map(|resource| resource.script.as_str())
            .collect();
        assert_eq!(scripts, ["cluster", "pool-system", "remove-first-pool"]);
        assert_eq!(
            command_line(&resource_of(&provisioning, "cluster").create[0]),
            "gcloud container clusters create demo --project=acme-ml-prod --location=us-central1-a \
             --quiet --release-channel=regular --cluster-version=1.36 \
             --workload-pool=acme-ml-prod.svc.id.goog --labels=gpuc-cluster=demo --enable-ip-alias \
             --node-labels=gpuc.dev/first-pool=yes --num-nodes=1 \
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
        let without = provision_config(config.clone());
        assert!(!command_line(&resource_of(&without, "cluster").create[0]).contains("dataplane"));
        config["teams"] = json!([{"name": "a"}, {"name": "b", "network": "isolated"}]);
        let provisioning = provision_config(config);
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
            "podRange": "pods", "serviceRange": "services",
            "privateNodes": true, "workloadIdentity": false, "releaseChannel": "extended",
        }});
        let provisioning = provision_config(config);
        let cluster = resource_of(&provisioning, "cluster");
        let create = command_line(&cluster.create[0]);
        for flag in [
            "--network=projects/host/global/networks/shared",
            "--subnetwork=nodes",
            "--cluster-secondary-range-name=pods",
            "--services-secondary-range-name=services",
            "--enable-private-nodes --",
            "--release-channel=extended",
        ] {
            assert!(create.contains(flag), "{flag} in {create}");
        }
        assert!(!create.contains("--workload-pool"));
        let wanted = cluster
            .fields
            .iter()
            .map(|field| (field.kind.name, field.desired.clone()));
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
        let provisioning = provision_config(config);
        let scripts: Vec<_> = provisioning
            .resources
            .iter()
            .map(|resource| resource.script.as_str())
            .collect();
        assert_eq!(scripts, ["pool-system"]);
        let create = command_line(&provisioning.resources[0].create[0]);
        assert!(create.contains("--cluster=shared "), "{create}");
        assert!(!create.contains("--workload-metadata"), "{create}");
        let Credentials::Fetch(commands) = &provisioning.credentials else {
            panic!("GKE has a command for credentials");
        };
        assert!(
            command_line(&commands[0])
                .starts_with("gcloud container clusters get-credentials shared ")
        );
    }
}
