//! The scheduling requirements of a PodSpec, computed as in Kubernetes.

use std::collections::BTreeMap;

use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::{Entry, Node, Scalar, Value};
use gpuc_syntax::variables::has_placeholder;

use super::affinity::{Operator, Requirement, Term};
use super::defaults::DefaultRequests;
use super::demand::{Amount, Demand, Image, PodToleration, Request};

/// The amount of each resource in thousandths, with the locations of its name and its amount.
type Amounts = BTreeMap<String, RequestedAmount>;

#[derive(Clone, Copy, Debug)]
struct RequestedAmount {
    amount: u64,
    name: Span,
    span: Span,
    is_default: bool,
}

impl RequestedAmount {
    /// The amount in units of this many thousandths, rounded up.
    fn amount(&self, unit: u64) -> Amount {
        Amount {
            value: self.amount.div_ceil(unit),
            span: self.span,
            is_default: self.is_default,
        }
    }

    /// A default of a container.
    fn from_default(amount: Amount, unit: u64) -> Self {
        Self {
            amount: amount.value.saturating_mul(unit),
            name: amount.span,
            span: amount.span,
            is_default: true,
        }
    }
}

impl Demand {
    /// The requirements of a PodSpec, with these defaults for containers that set no requests. Values of the wrong type
    /// are ignored.
    ///
    /// The amounts are those that the scheduler counts: containers and sidecars together, or the largest init container
    /// with the sidecars started before it, and the overhead. Source: kubernetes
    /// `staging/src/k8s.io/component-helpers/resource/helpers.go` (`PodRequests`).
    ///
    /// The content of a claim is in other objects, whose names are in [`Demand::unresolved_claims`].
    pub fn from_pod_spec(spec: &Node, defaults: &DefaultRequests) -> Self {
        let containers = list(spec, "containers");
        let inits = list(spec, "initContainers");
        let (total, largest) = pod_amounts(spec, containers, inits, defaults);
        let amount = |name: &str| total.get(name);
        let resources = total.iter().filter(|(name, _)| is_extended_resource(name));
        let resources = resources.map(|(name, requested)| Request {
            resource: Spanned::new(name.clone(), requested.name),
            count: requested.amount.div_ceil(1000),
            container_max: largest.get(name).map_or(0, |it| it.amount.div_ceil(1000)),
            span: requested.span,
        });
        let all = containers.iter().chain(inits);
        let images = all.filter_map(|container| {
            let image = container.get("image")?;
            Some(Image::new(Spanned::new(
                image.text()?.to_owned(),
                image.span(),
            )))
        });
        Self {
            resources: resources.collect(),
            unresolved_claims: claim_names(spec),
            cpu: amount("cpu").map(|requested| requested.amount(1)),
            memory: amount("memory").map(|requested| requested.amount(1000)),
            disk: amount("ephemeral-storage").map(|requested| requested.amount(1000)),
            selector: node_selector(spec),
            affinity: required_affinity(spec),
            tolerations: list(spec, "tolerations")
                .iter()
                .map(toleration_from_node)
                .collect(),
            images: images.collect(),
            ..Self::default()
        }
    }
}

fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

fn text(node: &Node, key: &str) -> String {
    let value = node.get(key).and_then(Node::text);
    value.unwrap_or_default().to_owned()
}

/// Whether a name is that of an extended resource: its domain is not reserved for Kubernetes.
///
/// Source: kubernetes `pkg/apis/core/v1/helper/helpers.go` (`IsExtendedResourceName`).
fn is_extended_resource(name: &str) -> bool {
    name.split_once('/').is_some_and(|(domain, _)| {
        !domain.ends_with("kubernetes.io") || domain == "deviceclass.resource.kubernetes.io"
    })
}

/// The amounts that the scheduler counts for the pod, and the maximum of a single container.
fn pod_amounts(
    spec: &Node,
    containers: &[Node],
    inits: &[Node],
    defaults: &DefaultRequests,
) -> (Amounts, Amounts) {
    let mut largest = Amounts::new();
    let mut total = Amounts::new();
    let container_requests = |container: &Node| {
        let mut requested = requests_or_limits(container.get("resources"));
        for (name, default, unit) in [("cpu", defaults.cpu, 1), ("memory", defaults.memory, 1000)] {
            if let Some(default) = default {
                let entry = requested.entry(name.to_owned());
                entry.or_insert(RequestedAmount::from_default(default, unit));
            }
        }
        requested
    };
    for container in containers {
        let requested = container_requests(container);
        raise_amounts(&mut largest, &requested);
        add_amounts(&mut total, &requested);
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in inits {
        let mut requested = container_requests(container);
        raise_amounts(&mut largest, &requested);
        let restarts = container.get("restartPolicy").and_then(Node::text);
        if restarts == Some("Always") {
            add_amounts(&mut total, &requested);
            add_amounts(&mut sidecars, &requested);
            requested.clone_from(&sidecars);
        } else {
            add_amounts(&mut requested, &sidecars);
        }
        raise_amounts(&mut starting, &requested);
    }
    raise_amounts(&mut total, &starting);
    // Pod-level resources take precedence.
    for (name, requested) in requests_or_limits(spec.get("resources")) {
        total.insert(name, requested);
    }
    if let Some(overhead) = spec.get("overhead") {
        add_amounts(&mut total, &parse_quantities(overhead));
    }
    (total, largest)
}

/// The requests of a container, with its limits for resources without a request.
fn requests_or_limits(resources: Option<&Node>) -> Amounts {
    let list = |key| resources.and_then(|resources| resources.get(key));
    let mut amounts = list("limits").map(parse_quantities).unwrap_or_default();
    amounts.extend(list("requests").map(parse_quantities).unwrap_or_default());
    amounts
}

fn parse_quantities(list: &Node) -> Amounts {
    let to_request = |entry: &Entry| {
        let amount = thousandths_of_node(&entry.value)?;
        let requested = RequestedAmount {
            amount,
            name: entry.key_span,
            span: entry.value.span(),
            is_default: false,
        };
        Some((entry.key.clone(), requested))
    };
    list.entries().iter().filter_map(to_request).collect()
}

/// A quantity in thousandths, as parsed by Kubernetes; `None` if it is invalid.
pub fn thousandths_of_node(node: &Node) -> Option<u64> {
    gpuc_schema::quantity::thousandths(&scalar(node)?)
}

/// A scalar as text, whether it is a number or a quoted string.
fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(Scalar::Written { text, .. } | Scalar::Text(text)) => Some(text.clone()),
        Value::Scalar(Scalar::Integer(value)) => Some(value.to_string()),
        Value::Scalar(Scalar::Float(value)) => Some(value.to_string()),
        _ => None,
    }
}

fn add_amounts(total: &mut Amounts, more: &Amounts) {
    for (name, requested) in more {
        let sum = total.entry(name.clone()).or_insert(RequestedAmount {
            amount: 0,
            ..*requested
        });
        let amount = sum.amount.saturating_add(requested.amount);
        if sum.is_default {
            *sum = *requested;
        }
        sum.amount = amount;
    }
}

fn raise_amounts(total: &mut Amounts, other: &Amounts) {
    for (name, requested) in other {
        let maximum = total.entry(name.clone()).or_insert(*requested);
        if maximum.amount < requested.amount {
            *maximum = *requested;
        }
    }
}

fn claim_names(spec: &Node) -> Vec<Spanned<String>> {
    let claims = list(spec, "resourceClaims").iter();
    let source = |claim: &Node| {
        let template = claim.get("resourceClaimTemplateName");
        let name = template.or_else(|| claim.get("resourceClaimName"))?;
        Some(Spanned::new(name.text()?.to_owned(), name.span()))
    };
    claims.filter_map(source).collect()
}

fn node_selector(spec: &Node) -> Vec<Requirement> {
    let entries = spec.get("nodeSelector").map_or(&[][..], Node::entries);
    let equals = |entry: &Entry| {
        let value = scalar(&entry.value)?;
        // What replaces a placeholder is unknown.
        if has_placeholder(&value) || has_placeholder(&entry.key) {
            return None;
        }
        Some(Requirement::equals(&entry.key, value, entry.value.span()))
    };
    entries.iter().filter_map(equals).collect()
}

fn required_affinity(spec: &Node) -> Option<Vec<Term>> {
    let required = spec
        .get("affinity")?
        .get("nodeAffinity")?
        .get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let requirements = |term: &Node, key: &str| {
        let expressions = list(term, key).iter();
        expressions.filter_map(requirement).collect()
    };
    let term = |term: &Node| Term {
        labels: requirements(term, "matchExpressions"),
        fields: requirements(term, "matchFields"),
    };
    let terms = list(required, "nodeSelectorTerms").iter();
    Some(terms.map(term).collect())
}

fn requirement(expression: &Node) -> Option<Requirement> {
    let mut values = list(expression, "values").iter().filter_map(scalar);
    if values.any(|value| has_placeholder(&value)) {
        return None;
    }
    Some(Requirement {
        key: expression.get("key")?.text()?.to_owned(),
        operator: Operator::parse(expression.get("operator")?.text()?)?,
        values: list(expression, "values")
            .iter()
            .filter_map(scalar)
            .collect(),
        is_expression: true,
        span: expression.span(),
    })
}

fn toleration_from_node(toleration: &Node) -> PodToleration {
    PodToleration {
        key: text(toleration, "key"),
        matches_any_value: text(toleration, "operator") == "Exists",
        value: text(toleration, "value"),
        effect: text(toleration, "effect"),
        span: toleration.span(),
    }
}
