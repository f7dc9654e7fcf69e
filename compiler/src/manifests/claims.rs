//! What the claims of pods ask for: by the manifests that are given, and by what gpuc makes for workloads of the file.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;

use crate::model::{Cluster, GpuAsk};
use crate::node::{Node, Value};
use crate::placement::{Claim, Demand};

use super::pod::Pod;
use super::read::Object;
use super::resources::{Amount, amount};

/// A template of claims, and a claim.
pub(super) const TEMPLATE: &str = "ResourceClaimTemplate";
pub(super) const CLAIM: &str = "ResourceClaim";

/// A claim of a pod.
pub(super) struct PodClaim<'n> {
    /// What the pod calls it.
    pub(super) name: Option<&'n Node>,
    /// The object that it names.
    pub(super) source: &'n Node,
    /// The key of that: `resourceClaimName` or `resourceClaimTemplateName`.
    pub(super) key: &'static str,
}

/// The keys by which a pod names an object, and its kind.
pub(super) const KEYS: [(&str, &str); 2] = [
    ("resourceClaimTemplateName", TEMPLATE),
    ("resourceClaimName", CLAIM),
];

impl PodClaim<'_> {
    /// The kind of the object that it names.
    pub(super) fn kind(&self) -> &'static str {
        let mut keys = KEYS.iter();
        keys.find(|(key, _)| *key == self.key)
            .map_or(CLAIM, |(_, kind)| kind)
    }

    /// The name of that object.
    pub(super) fn object(&self) -> &str {
        self.source.text().unwrap_or_default()
    }
}

/// The claims of a pod.
pub(super) fn of_pod<'n>(pod: &Pod<'n>) -> Vec<PodClaim<'n>> {
    let claims = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
    let claim = |node: &'n Node| {
        let (key, source) = KEYS
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

/// Whether two objects may be in one namespace: one that nobody says is whichever it is applied to.
pub(super) fn may_meet(one: &Object, other: &Object) -> bool {
    match (&one.namespace, &other.namespace) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The claims and templates of claims among the objects that are given, by kind and name.
pub(crate) struct Given<'s>(BTreeMap<(&'s str, &'s str), Vec<&'s Object>>);

impl<'s> Given<'s> {
    /// Those of some objects.
    pub(super) fn of(objects: &'s [Object]) -> Self {
        let mut given: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let claims = objects
            .iter()
            .filter(|it| it.kind == CLAIM || it.kind == TEMPLATE);
        for object in claims {
            let name = object.name.as_deref().unwrap_or_default();
            let own = given.entry((object.kind.as_str(), name));
            own.or_default().push(object);
        }
        Self(given)
    }

    /// The object that a pod names.
    pub(super) fn find(&self, pod: &Pod<'_>, kind: &str, name: &str) -> Option<&'s Object> {
        let mut named = self.0.get(&(kind, name))?.iter();
        named.find(|it| may_meet(it, pod.object)).copied()
    }

    /// Those of a kind.
    pub(super) fn all(&self, kind: &str) -> impl Iterator<Item = &'s Object> {
        let of_kind = self.0.iter().filter(move |((own, _), _)| *own == kind);
        of_kind.flat_map(|(_, objects)| objects.iter().copied())
    }
}

/// The templates that NVIDIA's controller makes of the `ComputeDomain`s among some objects, with those.
///
/// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0
/// deployments/helm/dra-driver-nvidia-gpu/crds/resource.nvidia.com_computedomains.yaml, `spec.channel`.
pub(super) fn of_domains(objects: &[Object]) -> impl Iterator<Item = (&str, &Object)> {
    let is_domain = |it: &&Object| it.kind == "ComputeDomain" && it.is_of("resource.nvidia.com");
    objects.iter().filter(is_domain).filter_map(|object| {
        let channel = object.root.get("spec")?.get("channel")?;
        let name = channel.get("resourceClaimTemplate")?.get("name")?;
        Some((name.text()?, object))
    })
}

/// What gpuc makes for the workloads of the file under this name, as a class and a count.
pub(super) fn made<'c>(cluster: &'c Cluster, pod: &Pod<'_>, name: &str) -> Option<(&'c str, u32)> {
    let workloads = cluster.written.workloads.iter();
    let mut all = workloads.flat_map(|workload| {
        let ask = workload.task().and_then(GpuAsk::of);
        let pools = cluster.pools.iter().filter(move |_| ask.is_some());
        pools.filter_map(move |pool| {
            let class = ask?.class(pool)?;
            let namespace = cluster.namespace_of(workload);
            let of_pod = pod.object.namespace.as_deref();
            let is_near = of_pod.is_none_or(|it| it == namespace);
            let made = cluster.claim_of(workload, pool);
            (is_near && made == name).then(|| (class.name.as_str(), ask.map_or(1, |it| it.count)))
        })
    });
    all.next()
}

/// Moves to a demand's claims what is known of those that it could not read.
pub(super) fn read(cluster: &Cluster, given: &Given<'_>, pod: &Pod<'_>, demand: &mut Demand) {
    for claim in of_pod(pod) {
        let Some(claims) = asked(cluster, given, pod, &claim) else {
            continue;
        };
        demand
            .unread_claims
            .retain(|it| it.span != claim.source.span());
        demand.claims.extend(claims);
    }
}

/// What a claim of a pod asks for, where that is known.
pub(super) fn asked(
    cluster: &Cluster,
    given: &Given<'_>,
    pod: &Pod<'_>,
    claim: &PodClaim<'_>,
) -> Option<Vec<Claim>> {
    let name = claim.object();
    if let Some(object) = given.find(pod, claim.kind(), name) {
        return requests(object);
    }
    let (class, count) = made(cluster, pod, name)?;
    let span = claim.source.span();
    let class = Spanned::new(class.to_owned(), span);
    let count = u64::from(count);
    Some(vec![Claim { class, count, span }])
}

/// What an object claims; `None` where that is not certain: a request of alternatives, or of as many as there are.
fn requests(object: &Object) -> Option<Vec<Claim>> {
    requested(object)?.iter().map(request).collect()
}

/// The requests of a claim or a template of claims, as written.
pub(super) fn requested(object: &Object) -> Option<&[Node]> {
    let spec = object.root.get("spec")?;
    let spec = if object.kind == TEMPLATE {
        spec.get("spec")?
    } else {
        spec
    };
    Some(spec.get("devices")?.get("requests")?.items())
}

/// Whether an object is a claim or a template of claims.
pub(super) fn is_claim(object: &Object) -> bool {
    object.is_of("resource.k8s.io") && [CLAIM, TEMPLATE].contains(&object.kind.as_str())
}

/// What a request asks for: below `exactly`, or beside its name as before `v1beta2`.
pub(super) fn exactly(request: &Node) -> &Node {
    request.get("exactly").unwrap_or(request)
}

/// One request.
pub(super) fn request(request: &Node) -> Option<Claim> {
    let exactly = exactly(request);
    let class = exactly.get("deviceClassName")?;
    let is = |key: &str| exactly.get(key).and_then(Node::text);
    if is("allocationMode") == Some("All") || is("adminAccess") == Some("true") {
        return None;
    }
    let (count, span) = match exactly.get("count") {
        None => (1, class.span()),
        Some(count) => match amount(count) {
            Amount::Whole(whole) => (whole, count.span()),
            Amount::Refused | Amount::Open => return None,
        },
    };
    let class = Spanned::new(class.text()?.to_owned(), class.span());
    Some(Claim { class, count, span })
}

/// Every `DeviceClass` that is named below a node.
pub(super) fn classes(node: &Node) -> Vec<&Node> {
    let mut found = Vec::new();
    named(node, &mut found);
    found
}

fn named<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            named(item, found);
        }
    }
    for entry in node.entries() {
        if entry.key == "deviceClassName" {
            found.push(&entry.value);
        } else {
            named(&entry.value, found);
        }
    }
}
