//! The resource group and the cluster, created and updated with `az group` and `az aks`.

use gpuc_model::Cluster;
use gpuc_model::plan::{
    Argument, Command, Contained, Credentials, Field, FieldKind, IdentityCheck, Mark, Observation,
    Provisioning, Resource, ResourceKind, Tool,
};
use gpuc_schema::config::{AzureCreate, AzureNodeImageChannel, AzureTier, AzureUpgradeChannel};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Map, Value, json};

use super::cluster_fields as kinds;
use super::pool::{self, first_pool_flags, key_value_pairs};
use super::{
    access, address_ranges, az_command, blob, cluster_name, control_plane, create_section,
    maintenance, ownership, section, state, system_pool,
};

/// A resource group. It can belong to the user and contain other resources. gpuc creates it if it is missing, but never
/// changes or deletes it, so it has no fields to compare.
pub(super) static RESOURCE_GROUP: ResourceKind = ResourceKind {
    name: "resource group",
    protection: None,
    fields: &[],
    definitions: "",
    state: Some(&state::GROUP),
    mark: None,
};

/// An AKS cluster.
pub(super) static CLUSTER: ResourceKind = ResourceKind {
    name: "AKS cluster",
    protection: None,
    fields: kinds::FIELDS,
    definitions: include_str!("tags.jq"),
    state: Some(&state::MANAGED),
    mark: Some(&Mark {
        name: "tag gpuc-cluster with this name",
        read: r#"any(.tags // {} | to_entries[]; (.key | ascii_downcase) == "gpuc-cluster" and .value == $name)"#,
    }),
};

/// `az` with `--max-unavailable` for node pools, the newest of the flags that the scripts use.
/// Source: Azure/azure-cli `src/azure-cli/HISTORY.rst` @003f1aee, "2.74.0", read 2026-11-24.
const AZ: Tool = Tool {
    name: "az",
    minimum_versions: &["2.74.0"],
    version_arguments: &["version", "--query", r#""azure-cli""#, "--output", "tsv"],
    version_prefix: "",
};

/// All resources: the group and the cluster if gpuc creates them, then the pools.
pub(super) fn provision(cluster: &Cluster) -> Provisioning {
    let mut resources = Vec::new();
    if let Some(create) = create_section(cluster) {
        resources.push(resource_group(cluster));
        resources.push(aks_cluster(cluster, create));
        resources.extend(maintenance::resources(cluster, create));
    }
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    resources.extend(pools.map(|pool| pool::resource(cluster, pool)));
    Provisioning {
        tools: vec![AZ, Tool::any_version("jq")],
        identity: (std::iter::once(subscription_check(cluster)))
            .chain(blob::existing_cluster_check(cluster))
            .collect(),
        known_errors: state::KNOWN_ERRORS,
        update_state: None,
        resources,
        credentials: credentials(cluster),
        files: Vec::new(),
    }
}

fn subscription_check(cluster: &Cluster) -> IdentityCheck {
    // Azure returns lower-case letters.
    let subscription = section(&cluster.config).subscription.to_ascii_lowercase();
    let query = Command::new(["az", "account", "show", "--subscription", &subscription]);
    IdentityCheck {
        subject: "Azure subscription",
        is_location: true,
        query: query.with_arguments(["--query", "id", "--output", "tsv"]),
        mismatch_message: format!(
            "run `az login` with an account that can see subscription {subscription}"
        ),
        expected: subscription,
    }
}

/// `az` writes to the file that `KUBECONFIG` names if `--file` is not set (azure-cli 2.91.0, `acs/custom.py`).
fn credentials(cluster: &Cluster) -> Credentials {
    let name = cluster_name(cluster);
    let command = az_command(&cluster.config, &["aks", "get-credentials"]);
    let fetch = command.with_arguments(["--name", name, "--overwrite-existing"]);
    let commands = std::iter::once(fetch).chain(access::login_command(cluster));
    Credentials::Fetch(commands.collect())
}

fn resource_group(cluster: &Cluster) -> Resource {
    let section = section(&cluster.config);
    let name = &section.resource_group;
    let az = |verb: &str| {
        Command::new(["az", "group", verb])
            .with_arguments(["--subscription", &section.subscription])
            .with_arguments(["--name", name])
    };
    let location = &section.location;
    let mut create = az("create").with_arguments(["--location", location, "--output", "none"]);
    let tags = key_value_pairs(&cluster_tags(cluster));
    if !tags.is_empty() {
        create = create.with_arguments(["--tags"]).with_arguments(tags);
    }
    Resource {
        kind: &RESOURCE_GROUP,
        name: name.value.clone(),
        script: "cluster".to_owned(),
        description: format!("Creates resource group {name} if it does not exist."),
        observation: Observation {
            command: az("show").with_arguments(["--output", "json"]),
            absent_pattern: "\\(ResourceGroupNotFound\\)",
        },
        create: vec![create],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: Vec::new(),
        delete: Vec::new(),
        origin: Origin::derived([name.span], DerivationReason::Written),
    }
}

fn aks_cluster(cluster: &Cluster, create: &AzureCreate) -> Resource {
    let az = |words: &[&str]| {
        az_command(&cluster.config, words).with_arguments(["--name", &cluster.name])
    };
    let section = section(&cluster.config);
    Resource {
        kind: &CLUSTER,
        name: cluster.name.value.clone(),
        script: "cluster".to_owned(),
        description: format!(
            "Creates and updates AKS cluster {} with its first node pool.",
            cluster.name
        ),
        observation: observe_cluster(cluster),
        create: vec![create_command(cluster, create, az(&["aks", "create"]))],
        contents: Some(contained_pools(cluster)),
        manual_delete: Vec::new(),
        remnant: None,
        recovery: state::recovery(az(&["aks", "start"]).with_arguments(["--output", "none"])),
        created_with: None,
        fields: cluster_fields(cluster, create),
        delete: vec![az(&["aks", "delete"]).with_arguments(["--yes", "--output", "none"])],
        origin: Origin::derived(
            [section.cluster.span, cluster.name.span],
            DerivationReason::Written,
        ),
    }
}

/// The node pools of a cluster.
fn contained_pools(cluster: &Cluster) -> Contained {
    let created = cluster.pools.iter().filter(|pool| !pool.is_existing());
    Contained {
        kind: "node pools",
        list: az_command(&cluster.config, &["aks", "nodepool", "list"]).with_arguments([
            "--cluster-name",
            cluster_name(cluster),
            "--output",
            "json",
        ]),
        read: ".[].name",
        created: created.map(|pool| pool.name.value.clone()).collect(),
    }
}

/// Command that reads the state of a cluster that gpuc creates.
pub(super) fn observe_cluster(cluster: &Cluster) -> Observation {
    let command =
        az_command(&cluster.config, &["aks", "show"]).with_arguments(["--name", &cluster.name]);
    Observation {
        command: command.with_arguments(["--output", "json"]),
        absent_pattern: "\\(Resource(Group)?NotFound\\)",
    }
}

/// Flags that enforce the NetworkPolicies of isolated teams.
const NETWORK_POLICY_FLAGS: [&str; 2] = ["--network-policy", "calico"];

/// The command generates no SSH key pair in the user's home directory. It also skips the question that `az` asks before
/// it grants the cluster access to a subnet of the user.
fn create_command(cluster: &Cluster, create: &AzureCreate, command: Command) -> Command {
    let version = cluster.kubernetes.expect_resolved().to_string();
    let mut command = command
        .with_arguments(["--location", &section(&cluster.config).location])
        .with_arguments(["--kubernetes-version", &version])
        .with_arguments(tier_flags(create))
        .with_arguments(["--enable-managed-identity", "--no-ssh-key", "--yes"])
        .with_arguments(["--network-plugin", "azure"])
        .with_arguments(["--network-plugin-mode", "overlay"])
        .with_arguments(["--output", "none"]);
    if let Some(identity) = &create.identity {
        command = command.with_arguments(["--assign-identity", identity]);
    }
    command = command.with_arguments(control_plane::create_flags(create));
    command = command.with_arguments(address_ranges::flags(create));
    if cluster.isolation_spans().next().is_some() {
        command = command.with_arguments(NETWORK_POLICY_FLAGS);
    }
    if create.private_cluster.value {
        command = command.with_arguments(["--enable-private-cluster"]);
    }
    command = command.with_arguments(access::create_flags(create));
    if create.workload_identity.value {
        command = command.with_arguments(["--enable-oidc-issuer", "--enable-workload-identity"]);
    }
    if blob::required_by(cluster).is_some() {
        command = command.with_arguments([blob::ENABLE_FLAG]);
    }
    command = command.with_arguments(["--auto-upgrade-channel", upgrade_channel(create)]);
    command = command.with_arguments(["--node-os-upgrade-channel", node_image_channel(create)]);
    let tags = key_value_pairs(&ownership::cluster_tags_with_records(
        cluster_tags(cluster),
        &cluster.name,
    ));
    if !tags.is_empty() {
        command = command.with_arguments(["--tags"]).with_arguments(tags);
    }
    let first = system_pool(cluster)
        .unwrap_or_else(|| unreachable!("GPUC2705 rejects clusters without a system pool"));
    command.with_arguments(first_pool_flags(cluster, first))
}

/// Without --yes, az asks for confirmation. It accepts the identity only together with the first flag.
fn identity_flags(identity: &str) -> [&str; 4] {
    [
        "--enable-managed-identity",
        "--assign-identity",
        identity,
        "--yes",
    ]
}

fn cluster_fields(cluster: &Cluster, create: &AzureCreate) -> Vec<Field> {
    let section = section(&cluster.config);
    let field = |kind: &'static FieldKind, desired: Value, span, update: Vec<Command>| Field {
        kind,
        desired,
        update,
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin: Origin::derived([section.cluster.span, span], DerivationReason::Written),
    };
    let az = |words: &[&str]| {
        let command = az_command(&cluster.config, words).with_arguments(["--name", &cluster.name]);
        command.with_arguments(["--output", "none"])
    };
    let update =
        |flags: &[&str]| vec![az(&["aks", "update"]).with_arguments(flags.iter().copied())];
    let version = cluster.kubernetes.expect_resolved();
    let upgrade = az(&["aks", "upgrade", "--control-plane-only", "--yes"])
        .with_arguments(["--kubernetes-version", &version.to_string()]);
    let tags = ownership::cluster_tags_with_records(cluster_tags(cluster), &cluster.name);
    let set_tags = set_all_tags(az(&["aks", "update", "--yes"]));

    let ranges = address_ranges::ranges(create)
        .map(|(kind, range)| field(kind, json!(range.value), range.span, Vec::new()));
    let mut fields = vec![
        field(
            &kinds::LOCATION,
            json!(section.location.value),
            section.location.span,
            Vec::new(),
        ),
        field(
            &kinds::NETWORK,
            json!(["azure", "overlay"]),
            section.cluster.span,
            Vec::new(),
        ),
        field(
            &kinds::PRIVATE_CLUSTER,
            json!(create.private_cluster.value),
            create.private_cluster.span,
            Vec::new(),
        ),
        field(
            &kinds::VERSION,
            json!(version.to_string()),
            version.span,
            vec![upgrade],
        ),
        field(
            &kinds::TIER,
            json!([tier(create), support_plan(create)]),
            create.tier.span,
            vec![az(&["aks", "update"]).with_arguments(tier_flags(create))],
        ),
    ];
    fields.extend(ranges);
    fields.extend(access::fields(cluster, create));
    // Without the key, the identity stays: another one would need the same roles first.
    if let Some(identity) = &create.identity {
        let desired = json!(identity.to_ascii_lowercase());
        let set = update(&identity_flags(identity));
        fields.push(field(&kinds::IDENTITY, desired, identity.span, set));
    }
    fields.extend(control_plane::fields(cluster, create));
    if let Some(span) = cluster.isolation_spans().next() {
        let set = update(&NETWORK_POLICY_FLAGS);
        fields.push(field(&kinds::POLICIES, json!(true), span, set));
    }
    let identity = create.workload_identity;
    // An OIDC issuer cannot be disabled once enabled; without workload identity it is not required.
    if identity.value {
        let issuer = update(&["--enable-oidc-issuer"]);
        fields.push(field(&kinds::ISSUER, json!(true), identity.span, issuer));
    }
    let switch = if identity.value {
        "--enable-workload-identity"
    } else {
        "--disable-workload-identity"
    };
    fields.push(field(
        &kinds::WORKLOAD_IDENTITY,
        json!(identity.value),
        identity.span,
        update(&[switch]),
    ));
    // Without --yes, az asks for confirmation.
    let blob = blob::required_by(cluster);
    let enable = || update(&[blob::ENABLE_FLAG, "--yes"]);
    fields.extend(blob.map(|span| field(&blob::BLOB_DRIVER, json!(true), span, enable())));
    let channel = upgrade_channel(create);
    // Without --yes, az asks for confirmation before it removes the channel.
    let set = update(&["--auto-upgrade-channel", channel, "--yes"]);
    let span = create.upgrade_channel.span;
    fields.push(field(&kinds::UPGRADES, json!(channel), span, set));
    let images = node_image_channel(create);
    let set = update(&["--node-os-upgrade-channel", images]);
    let span = create.node_image_channel.span;
    fields.push(field(&kinds::NODE_IMAGES, json!(images), span, set));
    let tags = json!(tags);
    fields.push(Field {
        external_entries: Some("their_tags"),
        ..field(&kinds::TAGS, tags, section.cluster.span, vec![set_tags])
    });
    fields
}

/// az treats an empty set as no change and asks whether to reconcile; with --yes it applies the empty set
/// (azure-cli 2.91.0, `acs/managed_cluster_decorator.py`, `check_raw_parameters`).
fn set_all_tags(update: Command) -> Command {
    let tags = Argument::ObservedList("all_tags".to_owned());
    update.with_arguments(["--tags"]).with_argument(tags)
}

fn tier(create: &AzureCreate) -> &'static str {
    match create.tier.value {
        AzureTier::Free => "free",
        AzureTier::Standard => "standard",
        AzureTier::Premium => "premium",
    }
}

fn upgrade_channel(create: &AzureCreate) -> &'static str {
    match create.upgrade_channel.value {
        AzureUpgradeChannel::None => "none",
        AzureUpgradeChannel::Patch => "patch",
        AzureUpgradeChannel::Stable => "stable",
        AzureUpgradeChannel::Rapid => "rapid",
    }
}

/// What upgrades the node images of a cluster that gpuc creates.
///
/// Source: MicrosoftDocs/azure-aks-docs articles/aks/auto-upgrade-node-os-image.md @fb060abe, read 2026-11-22.
pub(super) fn node_image_note(cluster: &Cluster) -> Option<String> {
    let create = create_section(cluster)?;
    let when = match create.maintenance {
        Some(_) => "in the maintenance window",
        None => "at any time",
    };
    Some(match create.node_image_channel.value {
        AzureNodeImageChannel::NodeImage => {
            format!("Node images: AKS upgrades them weekly, {when}, and recreates the nodes for it.")
        }
        AzureNodeImageChannel::SecurityPatch => {
            format!("Node images: AKS installs security fixes {when}, and nothing else.")
        }
        AzureNodeImageChannel::Unmanaged => {
            "Node images: the operating system of the nodes installs security fixes by itself.".to_owned()
        }
        AzureNodeImageChannel::None => {
            "Node images: nothing installs security fixes. To upgrade, run az aks nodepool upgrade --node-image-only."
                .to_owned()
        }
    })
}

fn node_image_channel(create: &AzureCreate) -> &'static str {
    match create.node_image_channel.value {
        AzureNodeImageChannel::None => "None",
        AzureNodeImageChannel::Unmanaged => "Unmanaged",
        AzureNodeImageChannel::SecurityPatch => "SecurityPatch",
        AzureNodeImageChannel::NodeImage => "NodeImage",
    }
}

/// The premium tier exists for long-term support.
fn support_plan(create: &AzureCreate) -> &'static str {
    match create.tier.value {
        AzureTier::Premium => "AKSLongTermSupport",
        AzureTier::Free | AzureTier::Standard => "KubernetesOfficial",
    }
}

fn tier_flags(create: &AzureCreate) -> [&'static str; 4] {
    [
        "--tier",
        tier(create),
        "--k8s-support-plan",
        support_plan(create),
    ]
}

fn cluster_tags(cluster: &Cluster) -> Map<String, Value> {
    let tags = section(&cluster.config).tags.iter();
    tags.map(|(key, value)| (key.value.clone(), json!(value.value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::azure::testing::{provision, with_cluster, with_pools};
    use gpuc_model::plan::{Argument, Command, Credentials};

    const POOL: &str = "- {name: train, machine: Standard_NC4as_T4_v3, nodes: {count: 2}}";

    fn command_line(command: &Command) -> String {
        let text = |word: &Argument| match word {
            Argument::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        command.0.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cluster_is_created_with_its_first_cpu_pool() {
        let provisioning = provision(&with_pools(POOL));
        let kinds: Vec<_> = provisioning
            .resources
            .iter()
            .map(|resource| {
                (
                    resource.kind.name,
                    resource.name.as_str(),
                    resource.script.as_str(),
                )
            })
            .collect();
        assert_eq!(
            kinds,
            [
                ("resource group", "demo", "cluster"),
                ("AKS cluster", "demo", "cluster"),
                ("AKS node pool", "system", "pool-system"),
                ("AKS node pool", "train", "pool-train"),
            ]
        );
        assert_eq!(
            command_line(&provisioning.resources[1].create[0]),
            "az aks create --subscription 00000000-1111-2222-3333-444444444444 --resource-group demo \
             --name demo --location eastus --kubernetes-version 1.36 --tier standard \
             --k8s-support-plan KubernetesOfficial --enable-managed-identity --no-ssh-key --yes \
             --network-plugin azure --network-plugin-mode overlay --output none \
             --enable-oidc-issuer --enable-workload-identity \
             --auto-upgrade-channel none --node-os-upgrade-channel NodeImage --tags gpuc-cluster=demo \
             --nodepool-name system --node-vm-size Standard_D4s_v5 --os-sku Ubuntu --node-count 2 \
             --node-osdisk-size 100 --nodepool-labels gpuc.dev/pool=system"
        );
        let fields = provisioning.resources[2].fields.iter();
        let modes = fields.filter(|field| field.kind.name == "mode");
        assert_eq!(
            modes.map(|field| &field.desired).collect::<Vec<_>>(),
            [&json!("System")]
        );
    }

    #[test]
    fn existing_cluster_gets_only_pools() {
        let provisioning = provision(&with_cluster("{existing: {name: ml_prod}}", POOL));
        assert_eq!(provisioning.resources.len(), 2);
        assert!(
            provisioning
                .resources
                .iter()
                .all(|resource| resource.kind.name == "AKS node pool")
        );
        let Credentials::Fetch(commands) = &provisioning.credentials else {
            panic!("AKS has a command for credentials");
        };
        assert!(command_line(&commands[0]).ends_with("--name ml_prod --overwrite-existing"));
    }

    #[test]
    fn premium_tier_enables_long_term_support() {
        let provisioning = provision(&with_cluster(
            "{create: {tier: premium, workloadIdentity: false}}",
            POOL,
        ));
        let create = command_line(&provisioning.resources[1].create[0]);
        assert!(create.contains("--tier premium --k8s-support-plan AKSLongTermSupport"));
        assert!(!create.contains("oidc"));
    }

    #[test]
    fn identity_is_assigned_and_compared() {
        let id = "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/Net/providers/\
                  Microsoft.ManagedIdentity/userAssignedIdentities/Demo";
        let with = provision(&with_cluster(
            &format!("{{create: {{identity: {id}}}}}"),
            POOL,
        ));
        let create = command_line(&with.resources[1].create[0]);
        assert!(create.contains(&format!(" --assign-identity {id}")));
        let mut fields = with.resources[1].fields.iter();
        let field = fields.find(|field| field.kind.name == "identity");
        let field = field.expect("the field");
        assert_eq!(field.desired, json!(id.to_ascii_lowercase()));
        let update = command_line(&field.update[0]);
        assert!(update.ends_with(&format!(
            "--enable-managed-identity --assign-identity {id} --yes"
        )));
        let without = provision(&with_pools(POOL));
        let mut fields = without.resources[1].fields.iter();
        assert!(fields.all(|field| field.kind.name != "identity"));
    }

    #[test]
    fn every_command_names_the_subscription() {
        let provisioning = provision(&with_pools(POOL));
        for resource in &provisioning.resources {
            let updates = resource.fields.iter().flat_map(|field| &field.update);
            let commands = resource
                .create
                .iter()
                .chain(&resource.delete)
                .chain(updates);
            for command in commands.chain([&resource.observation.command]) {
                let flag = Argument::Text("--subscription".to_owned());
                assert!(command.0.contains(&flag), "{command:?}");
            }
        }
    }
}
