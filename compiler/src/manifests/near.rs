//! Pods of one controller that have to be near each other, or apart.

use crate::node::Node;
use crate::source::Span;

use super::pod::Pod;

/// The label by which each node is a place of its own.
pub(super) const HOST: &str = "kubernetes.io/hostname";

/// A required term about the pods of a pod's own controller.
pub(super) struct OwnTerm<'n> {
    /// The label whose values are the places.
    pub(super) key: &'n str,
    /// Where the term stands.
    pub(super) span: Span,
}

/// Where the pods of a controller say, by `podAffinity` or `podAntiAffinity`, how they have to be to each other.
pub(super) fn own_term<'n>(pod: &Pod<'n>, kind: &str) -> Option<OwnTerm<'n>> {
    let spec = pod.object.root.get("spec")?;
    let template = spec.get("template")?;
    template
        .get("spec")
        .filter(|it| std::ptr::eq(*it, pod.spec))?;
    let labels = template.get("metadata")?.get("labels")?;
    let affinity = pod.spec.get("affinity")?.get(kind)?;
    let terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let is_own = |term: &&Node| {
        let elsewhere = [
            "namespaces",
            "namespaceSelector",
            "matchLabelKeys",
            "mismatchLabelKeys",
        ];
        let is_here = elsewhere.iter().all(|key| term.get(key).is_none());
        let selector = term.get("labelSelector");
        is_here && selector.is_some_and(|it| selects(it, labels))
    };
    let mut own = terms.items().iter().filter(is_own);
    let places = |term: &'n Node| {
        let key = term.get("topologyKey")?.text()?;
        let span = term.span();
        Some(OwnTerm { key, span })
    };
    let by_host = own.clone().filter_map(places).find(|it| it.key == HOST);
    by_host.or_else(|| own.find_map(places))
}

/// Whether a selector by labels alone takes something with these labels.
fn selects(selector: &Node, labels: &Node) -> bool {
    let wanted = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let expressions = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let has = |key: &str| labels.get(key).and_then(Node::text);
    let is_in = |expression: &Node| {
        let text = |key: &str| expression.get(key).and_then(Node::text);
        let own = text("key").and_then(has);
        let mut values = expression.get("values").map_or(&[][..], Node::items).iter();
        match text("operator") {
            Some("In") => own.is_some() && values.any(|value| value.text() == own),
            Some("Exists") => own.is_some(),
            _ => false,
        }
    };
    let is_some = !wanted.is_empty() || !expressions.is_empty();
    is_some
        && wanted
            .iter()
            .all(|entry| has(&entry.key) == entry.value.text())
        && expressions.iter().all(is_in)
}
