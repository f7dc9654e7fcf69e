//! Workload policies: Compute Engine places the machines of a pool in one rack, whose GPUs NVLink connects.
//!
//! Source: Google's guide to A4X Max
//! (docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06),
//! GoogleCloudPlatform/cluster-toolkit@10470803 `examples/gke-a4x` and
//! docs.cloud.google.com/sdk/gcloud/reference/compute/resource-policies/create/workload-policy, read 2026-11-28. A
//! placement policy of another type, or `--placement-type=COMPACT`, is refused for these machines (notes of a third
//! party, 2026-07-11).

use gpuc_model::check::Checked;
use gpuc_model::plan::{Change, Command, FieldKind, Mark, Observation, Resource, ResourceKind};
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::Placement;
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::location::Target;
use super::setting::Setting;
use super::{gpudirect, names};

/// A Compute Engine workload policy.
pub(super) static POLICY: ResourceKind = ResourceKind {
    name: "Compute Engine workload policy",
    protection: None,
    fields: FIELDS,
    definitions: "",
    state: None,
    mark: Some(&Mark {
        name: "description that starts with `gpuc: `",
        read: r#"(.description // "") | startswith("gpuc: ")"#,
    }),
};

const FIELDS: &[FieldKind] = &[TOPOLOGY, DESCRIPTION];

const IMMUTABLE: Change = Change::Replacement {
    reason: "a resource policy cannot be changed after creation",
};

const TOPOLOGY: FieldKind = FieldKind {
    name: "topology",
    read: ".workloadPolicy // {} | {type: (.type // null), accelerators: (.acceleratorTopology // null)}",
    create_flag: Some("--accelerator-topology"),
    change: IMMUTABLE,
    source: "gcloud compute resource-policies create workload-policy --help, Google Cloud SDK 528.0.0; there is no \
             command that updates it",
};

const DESCRIPTION: FieldKind = FieldKind {
    name: "description",
    read: r#".description // """#,
    create_flag: Some("--description"),
    change: IMMUTABLE,
    source: "gcloud compute resource-policies create workload-policy --help, Google Cloud SDK 528.0.0; there is no \
             command that updates it",
};

/// The GPUs of a rack that NVLink connects.
const RACK_TOPOLOGY: &str = "1x72";

/// The name of the policy that gpuc creates for a pool; `None` if the machine type needs none, or if the file names
/// one.
pub(super) fn policy_name(cluster: &Cluster, pool: &Pool) -> Option<String> {
    let is_named = matches!(
        pool.settings.network.placement.as_ref().map(|it| &it.value),
        Some(Placement::Group(_))
    );
    let is_rack = gpudirect::pool_adapters(pool).is_some_and(|adapters| adapters.is_rack);
    (is_rack && !is_named && !pool.is_existing()).then(|| format!("{}-{}", cluster.name, pool.name))
}

/// The resource of a pool's policy, if gpuc creates one.
pub(super) fn resource(cluster: Checked<'_>, pool: &Pool, target: Target<'_>) -> Option<Resource> {
    let name = policy_name(&cluster, pool)?;
    let region = names::region_of_zone(target.location).unwrap_or(target.location);
    let place = [
        format!("--project={}", target.project),
        format!("--region={region}"),
        "--quiet".to_owned(),
    ];
    let command = |verb: &[&str]| {
        let words = ["gcloud", "compute", "resource-policies"];
        let words = words.iter().chain(verb).copied();
        Command::new(words.chain([name.as_str()])).with_arguments(place.clone())
    };
    let machine = pool.machine_name.as_ref();
    let span = machine.map_or(pool.name.span, |machine| machine.span);
    let description = format!("gpuc: pool {} of cluster {}", pool.name, target.cluster);
    let topology = json!({"type": "HIGH_THROUGHPUT", "accelerators": RACK_TOPOLOGY});
    let settings = [
        Setting::new(&TOPOLOGY, topology, span)
            .with_flag("--type=HIGH_THROUGHPUT")
            .with_flag(format!("--accelerator-topology={RACK_TOPOLOGY}")),
        Setting::new(&DESCRIPTION, json!(description), pool.name.span)
            .with_flag(format!("--description={description}")),
    ];
    let flags = settings.iter().flat_map(|setting| setting.flags.clone());
    Some(Resource {
        kind: &POLICY,
        script: format!("policy-{}", pool.name),
        description: format!(
            "Creates the workload policy that places the machines of pool {} in one rack.",
            pool.name
        ),
        observation: Observation {
            command: command(&["describe"]).with_arguments(["--format=json"]),
            // The same message about a project is another failure.
            absent_pattern: "/resourcePolicies/[^/']+' was not found",
        },
        create: vec![command(&["create", "workload-policy"]).with_arguments(flags)],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: settings.into_iter().map(|setting| setting.field).collect(),
        delete: vec![command(&["delete"])],
        origin: Origin::fact(
            [span],
            "machines whose GPUs NVLink connects across nodes need a workload policy",
            "docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06",
        ),
        name,
    })
}
