//! Required affinity and anti-affinity between the pods of one controller.

use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::pod::Pod;

/// The topology label with a different value on each node.
pub(super) const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// A required term that selects the pods of the same controller.
pub(super) struct SelfSelectingTerm<'n> {
    /// The topology key.
    pub(super) key: &'n str,
    /// The span of the term.
    pub(super) span: Span,
}

/// The required term of a pod, by `podAffinity` or `podAntiAffinity`, that selects the pods of its own controller.
pub(super) fn self_selecting_term<'n>(pod: &Pod<'n>, kind: &str) -> Option<SelfSelectingTerm<'n>> {
    let spec = pod.object.root.get("spec")?;
    let template = spec.get("template")?;
    template
        .get("spec")
        .filter(|it| std::ptr::eq(*it, pod.spec))?;
    let labels = template.get("metadata")?.get("labels")?;
    let affinity = pod.spec.get("affinity")?.get(kind)?;
    let terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let is_own = |term: &&Node| {
        let others = [
            "namespaces",
            "namespaceSelector",
            "matchLabelKeys",
            "mismatchLabelKeys",
        ];
        let is_plain = others.iter().all(|key| term.get(key).is_none());
        let selector = term.get("labelSelector");
        is_plain && selector.is_some_and(|it| matches_labels(it, labels))
    };
    let mut own = terms.items().iter().filter(is_own);
    let parse_term = |term: &'n Node| {
        let key = term.get("topologyKey")?.text()?;
        let span = term.span();
        Some(SelfSelectingTerm { key, span })
    };
    let by_host = own
        .clone()
        .filter_map(parse_term)
        .find(|it| it.key == HOSTNAME_LABEL);
    by_host.or_else(|| own.find_map(parse_term))
}

/// Whether a label selector matches these labels.
fn matches_labels(selector: &Node, labels: &Node) -> bool {
    let match_labels = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let expressions = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let label_value = |key: &str| labels.get(key).and_then(Node::text);
    let is_in = |expression: &Node| {
        let text = |key: &str| expression.get(key).and_then(Node::text);
        let own = text("key").and_then(label_value);
        let mut values = expression.get("values").map_or(&[][..], Node::items).iter();
        match text("operator") {
            Some("In") => own.is_some() && values.any(|value| value.text() == own),
            Some("Exists") => own.is_some(),
            _ => false,
        }
    };
    let has_terms = !match_labels.is_empty() || !expressions.is_empty();
    has_terms
        && match_labels
            .iter()
            .all(|entry| label_value(&entry.key) == entry.value.text())
        && expressions.iter().all(is_in)
}
