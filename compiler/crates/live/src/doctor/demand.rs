//! What a pod requires of a node, with the amounts and rules of the scheduler.

use std::collections::BTreeMap;

use gpuc_model::scheduling::{Operator, PodToleration, Requirement, Term};
use gpuc_schema::Span;
use serde_json::Value;

use crate::objects::{Container, Pod, PodSpec, ResourceList, Resources, Toleration};

/// Amounts in thousandths, by resource name.
pub(super) type Amounts = BTreeMap<String, u64>;

/// What a pod requires of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDemand {
    /// The requests of the pod.
    pub requests: Amounts,
    /// The labels of `nodeSelector`.
    pub selector: Vec<Requirement>,
    /// The terms of the required node affinity, of which one must match.
    pub terms: Option<Vec<Term>>,
    /// The tolerations.
    pub tolerations: Vec<PodToleration>,
}

impl PodDemand {
    /// The demand of a pod.
    pub fn new(pod: &Pod) -> Self {
        Self::from_spec(&pod.spec)
    }

    /// The demand of pods with this specification.
    pub fn from_spec(spec: &PodSpec) -> Self {
        let selector = spec.node_selector.iter();
        Self {
            requests: requests(spec),
            selector: selector
                .map(|(key, value)| Requirement::equals(key, value, Span::NONE))
                .collect(),
            terms: spec.affinity.as_deref().and_then(required_terms),
            tolerations: spec.tolerations.iter().map(to_toleration).collect(),
        }
    }

    /// The requested units of a resource, rounded up.
    pub fn units(&self, resource: &str) -> u64 {
        self.requests
            .get(resource)
            .map_or(0, |it| it.div_ceil(1000))
    }

    /// The resources of NVIDIA that the pod requests, with the units.
    pub fn gpus(&self) -> impl Iterator<Item = (&str, u64)> {
        let requests = self.requests.iter();
        requests
            .filter(|(name, amount)| name.starts_with("nvidia.com/") && **amount > 0)
            .map(|(name, amount)| (name.as_str(), amount.div_ceil(1000)))
    }
}

/// The amounts that the scheduler counts for a pod: containers and sidecars together, or the largest init container
/// with the sidecars started before it, and the overhead.
///
/// Source: kubernetes `staging/src/k8s.io/component-helpers/resource/helpers.go` (`PodRequests`), 2026-11-28.
pub fn requests(spec: &PodSpec) -> Amounts {
    let mut total = Amounts::new();
    for container in &spec.containers {
        add(&mut total, &container_requests(&container.resources));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in &spec.init_containers {
        let mut own = container_requests(&container.resources);
        if is_sidecar(container) {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            own.clone_from(&sidecars);
        } else {
            add(&mut own, &sidecars);
        }
        raise(&mut starting, &own);
    }
    raise(&mut total, &starting);
    total.extend(container_requests(&spec.resources));
    add(&mut total, &parse(&spec.overhead));
    total
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy == "Always"
}

/// The requests of a container, with its limits for resources without a request.
fn container_requests(resources: &Resources) -> Amounts {
    let mut amounts = parse(&resources.limits);
    amounts.extend(parse(&resources.requests));
    amounts
}

fn parse(list: &ResourceList) -> Amounts {
    let amounts = list.iter();
    amounts
        .filter_map(|(name, quantity)| Some((name.clone(), quantity.thousandths()?)))
        .collect()
}

/// Adds amounts to others.
pub(super) fn add(total: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        let sum = total.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

fn raise(total: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        let largest = total.entry(name.clone()).or_default();
        *largest = (*largest).max(*amount);
    }
}

/// A toleration as the compiler's placement rules read it.
fn to_toleration(toleration: &Toleration) -> PodToleration {
    PodToleration {
        key: toleration.key.clone(),
        matches_any_value: toleration.operator == "Exists",
        value: toleration.value.clone(),
        effect: toleration.effect.clone(),
        span: Span::NONE,
    }
}

/// The terms of the required node affinity.
fn required_terms(affinity: &Value) -> Option<Vec<Term>> {
    let required = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    Some(node_terms(affinity.pointer(required)?.as_array()?))
}

/// The terms of a node selector.
pub(super) fn node_terms(terms: &[Value]) -> Vec<Term> {
    let expressions = |term: &Value, key: &str| {
        let list = term.get(key).and_then(Value::as_array);
        let list = list.map_or(&[][..], Vec::as_slice).iter();
        list.filter_map(to_requirement).collect()
    };
    let terms = terms.iter().map(|term| Term {
        labels: expressions(term, "matchExpressions"),
        fields: expressions(term, "matchFields"),
    });
    terms.collect()
}

/// The requirement of an expression in a selector.
pub(super) fn to_requirement(expression: &Value) -> Option<Requirement> {
    let values = expression.get("values").and_then(Value::as_array);
    let values = values.map_or(&[][..], Vec::as_slice).iter();
    Some(Requirement {
        key: expression.get("key")?.as_str()?.to_owned(),
        operator: Operator::parse(expression.get("operator")?.as_str()?)?,
        values: values
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        is_expression: true,
        span: Span::NONE,
    })
}
