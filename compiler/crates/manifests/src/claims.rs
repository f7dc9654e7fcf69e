//! The devices that pods request through ResourceClaims: from the manifests, and from the claims that gpuc generates
//! for workloads of the file.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;

use gpuc_model::scheduling::{Claim, Demand};
use gpuc_model::{Cluster, PodGpuRequest};
use gpuc_syntax::node::{Node, Value};

use super::object::Object;
use super::pod::Pod;
use super::resources::{ResourceCount, parse_count};

/// The kinds of claim templates and claims.
pub(super) const CLAIM_TEMPLATE_KIND: &str = "ResourceClaimTemplate";
pub(super) const CLAIM_KIND: &str = "ResourceClaim";

/// A claim of a pod.
pub(super) struct PodClaim<'n> {
    /// The name within the pod.
    pub(super) name: Option<&'n Node>,
    /// The name of the referenced object.
    pub(super) source: &'n Node,
    /// The key of the reference: `resourceClaimName` or `resourceClaimTemplateName`.
    pub(super) key: &'static str,
}

/// The keys of references to claims, with the kind of the object.
pub(super) const REFERENCE_KEYS: [(&str, &str); 2] = [
    ("resourceClaimTemplateName", CLAIM_TEMPLATE_KIND),
    ("resourceClaimName", CLAIM_KIND),
];

impl PodClaim<'_> {
    /// The kind of the referenced object.
    pub(super) fn kind(&self) -> &'static str {
        let mut keys = REFERENCE_KEYS.iter();
        keys.find(|(key, _)| *key == self.key)
            .map_or(CLAIM_KIND, |(_, kind)| kind)
    }

    /// The name of the referenced object.
    pub(super) fn object_name(&self) -> &str {
        self.source.text().unwrap_or_default()
    }
}

/// The claims of a pod.
pub(super) fn pod_claims<'n>(pod: &Pod<'n>) -> Vec<PodClaim<'n>> {
    let claims = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
    let claim = |node: &'n Node| {
        let (key, source) = REFERENCE_KEYS
            .iter()
            .find_map(|(key, _)| Some((*key, node.get(key)?)))?;
        source.text()?;
        Some(PodClaim {
            name: node.get("name"),
            source,
            key,
        })
    };
    claims.iter().filter_map(claim).collect()
}

/// Whether two objects may be in the same namespace. An object without a namespace may be applied to any.
pub(super) fn may_share_namespace(one: &Object, other: &Object) -> bool {
    match (&one.namespace, &other.namespace) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The claims and claim templates among the manifests, by kind and name.
pub(crate) struct ClaimIndex<'s>(BTreeMap<(&'s str, &'s str), Vec<&'s Object>>);

impl<'s> ClaimIndex<'s> {
    /// Indexes the claims among `objects`.
    pub(super) fn from_objects(objects: &'s [Object]) -> Self {
        let mut index: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let claims = objects
            .iter()
            .filter(|it| it.kind == CLAIM_KIND || it.kind == CLAIM_TEMPLATE_KIND);
        for object in claims {
            let name = object.name.as_deref().unwrap_or_default();
            let entry = index.entry((object.kind.as_str(), name));
            entry.or_default().push(object);
        }
        Self(index)
    }

    /// The object that a pod refers to.
    pub(super) fn find_claim(&self, pod: &Pod<'_>, kind: &str, name: &str) -> Option<&'s Object> {
        let mut named = self.0.get(&(kind, name))?.iter();
        named
            .find(|it| may_share_namespace(it, pod.object))
            .copied()
    }

    /// All objects of a kind.
    pub(super) fn claims_of_kind(&self, kind: &str) -> impl Iterator<Item = &'s Object> {
        let of_kind = self.0.iter().filter(move |((own, _), _)| *own == kind);
        of_kind.flat_map(|(_, objects)| objects.iter().copied())
    }
}

/// The names of the claim templates that NVIDIA's controller creates for `ComputeDomain`s, with these objects.
///
/// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0
/// deployments/helm/dra-driver-nvidia-gpu/crds/resource.nvidia.com_computedomains.yaml, `spec.channel`.
pub(super) fn compute_domain_templates(
    objects: &[Object],
) -> impl Iterator<Item = (&str, &Object)> {
    let is_domain =
        |it: &&Object| it.kind == "ComputeDomain" && it.is_in_group("resource.nvidia.com");
    objects.iter().filter(is_domain).filter_map(|object| {
        let channel = object.root.get("spec")?.get("channel")?;
        let name = channel.get("resourceClaimTemplate")?.get("name")?;
        Some((name.text()?, object))
    })
}

/// The claim that gpuc generates under this name for a workload of the file, as a DeviceClass and a count.
pub(super) fn generated_claim<'c>(
    cluster: &'c Cluster,
    pod: &Pod<'_>,
    name: &str,
) -> Option<(&'c str, u32)> {
    let workloads = cluster.config.workloads.iter();
    let mut all = workloads.flat_map(|workload| {
        let gpu_request = workload.task().and_then(PodGpuRequest::for_task);
        let pools = cluster.pools.iter().filter(move |_| gpu_request.is_some());
        pools.filter_map(move |pool| {
            let class = gpu_request?.device_class(pool)?;
            let namespace = cluster.namespace_of(workload);
            let of_pod = pod.object.namespace.as_deref();
            let in_namespace = of_pod.is_none_or(|it| it == namespace);
            let is_named = cluster.claim_name(workload, pool) == name;
            let count = gpu_request.map_or(1, |it| it.count);
            (in_namespace && is_named).then_some((class.name.as_str(), count))
        })
    });
    all.next()
}

/// Resolves the unread claims of a demand, as far as their objects are known.
pub(super) fn resolve_claims(
    cluster: &Cluster,
    claim_index: &ClaimIndex<'_>,
    pod: &Pod<'_>,
    demand: &mut Demand,
) {
    for claim in pod_claims(pod) {
        let Some(claims) = requested_devices(cluster, claim_index, pod, &claim) else {
            continue;
        };
        demand
            .unresolved_claims
            .retain(|it| it.span != claim.source.span());
        demand.claims.extend(claims);
    }
}

/// The devices that a claim of a pod requests, if they are known.
pub(super) fn requested_devices(
    cluster: &Cluster,
    claims: &ClaimIndex<'_>,
    pod: &Pod<'_>,
    claim: &PodClaim<'_>,
) -> Option<Vec<Claim>> {
    let name = claim.object_name();
    if let Some(object) = claims.find_claim(pod, claim.kind(), name) {
        return parse_requests(object);
    }
    let (class, count) = generated_claim(cluster, pod, name)?;
    let span = claim.source.span();
    let class = Spanned::new(class.to_owned(), span);
    let count = u64::from(count);
    Some(vec![Claim { class, count, span }])
}

/// The requests of an object; `None` if they are not certain, as with alternatives or `allocationMode: All`.
fn parse_requests(object: &Object) -> Option<Vec<Claim>> {
    request_nodes(object)?.iter().map(parse_request).collect()
}

/// The requests of a claim or a claim template, as written.
pub(super) fn request_nodes(object: &Object) -> Option<&[Node]> {
    let spec = object.root.get("spec")?;
    let spec = if object.kind == CLAIM_TEMPLATE_KIND {
        spec.get("spec")?
    } else {
        spec
    };
    Some(spec.get("devices")?.get("requests")?.items())
}

/// Whether an object is a claim or a claim template.
pub(super) fn is_claim(object: &Object) -> bool {
    object.is_in_group("resource.k8s.io")
        && [CLAIM_KIND, CLAIM_TEMPLATE_KIND].contains(&object.kind.as_str())
}

/// The fields of a request: below `exactly`, or next to its name as before `v1beta2`.
pub(super) fn exact_fields(request: &Node) -> &Node {
    request.get("exactly").unwrap_or(request)
}

/// Parses one request; `None` if its devices are not certain.
pub(super) fn parse_request(request: &Node) -> Option<Claim> {
    let exactly = exact_fields(request);
    let class = exactly.get("deviceClassName")?;
    let text = |key: &str| exactly.get(key).and_then(Node::text);
    if text("allocationMode") == Some("All") || text("adminAccess") == Some("true") {
        return None;
    }
    let (count, span) = match exactly.get("count") {
        None => (1, class.span()),
        Some(count) => match parse_count(count) {
            ResourceCount::Whole(number) => (number, count.span()),
            ResourceCount::Invalid | ResourceCount::Templated => return None,
        },
    };
    let class = Spanned::new(class.text()?.to_owned(), class.span());
    Some(Claim { class, count, span })
}

/// The names of DeviceClasses below a node.
pub(super) fn device_class_nodes(node: &Node) -> Vec<&Node> {
    let mut found = Vec::new();
    collect_classes(node, &mut found);
    found
}

fn collect_classes<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            collect_classes(item, found);
        }
    }
    for entry in node.entries() {
        if entry.key == "deviceClassName" {
            found.push(&entry.value);
        } else {
            collect_classes(&entry.value, found);
        }
    }
}
