//! PromQL in PrometheusRules: reads the expressions, and finds the metrics in them.
//!
//! [`read_expressions`] parses every expression once for all rules. Texts that may be templates or another query
//! language are skipped. Metrics are recognized by exact names.

mod parse;
mod query;
mod syntax_error;

use gpuc_syntax::node::Node;
use promql_parser::parser::Expr;

use super::context::CheckContext;
use super::object::Object;
pub(crate) use query::{
    is_dcgm_metric, metric_name, required_selectors, selector, strip_parens, visit,
};
use syntax_error::SyntaxError;

/// The group and the kind of the objects with expressions.
pub(crate) const RULE_KIND: (&str, &str) = ("monitoring.coreos.com", "PrometheusRule");

/// A part of the names of exporters, their monitors and their images.
const EXPORTER: &str = "dcgm";

/// An expression of a PrometheusRule.
pub(crate) struct RuleExpression<'s> {
    /// The object.
    pub(crate) object: &'s Object,
    /// The name of the alert or of the recorded series.
    pub(crate) name: &'s str,
    /// The value of `expr`.
    pub(crate) node: &'s Node,
    /// The expression, or the reason why Prometheus cannot read it.
    pub(crate) parsed: Result<Expr, SyntaxError>,
}

impl RuleExpression<'_> {
    /// The object and the name of the rule, for messages.
    pub(crate) fn title(&self) -> String {
        format!("{}: `{}`", self.object.title(), self.name)
    }
}

/// The expressions of all PrometheusRules, without those that may be templates, another language, or too long to read.
pub(crate) fn read_expressions(objects: &[Object]) -> Vec<RuleExpression<'_>> {
    let is_rule = |it: &&Object| it.is_in_group(RULE_KIND.0) && it.kind == RULE_KIND.1;
    let rules = objects
        .iter()
        .filter(is_rule)
        .flat_map(|object| rules(object).map(move |rule| (object, rule)));
    let expressions = rules.filter_map(|(object, rule)| {
        let node = rule.get("expr")?;
        let name = rule.get("alert").or_else(|| rule.get("record"));
        Some(RuleExpression {
            object,
            name: name.and_then(Node::text).unwrap_or_default(),
            node,
            parsed: parse::parse(node.text()?)?,
        })
    });
    expressions.collect()
}

/// The names of the series that the PrometheusRules record.
pub(crate) fn recorded_series(objects: &[Object]) -> impl Iterator<Item = &str> {
    let records = objects.iter().flat_map(rules);
    records.filter_map(|rule| rule.get("record")?.text())
}

/// Whether the manifests contain another exporter than those of gpuc, whose metrics are unknown.
pub(crate) fn has_other_exporter(ctx: &CheckContext<'_>) -> bool {
    let is_exporter = |text: &str| text.contains(EXPORTER);
    let objects = ctx.objects.iter();
    let mut objects = objects.filter(|it| it.kind != RULE_KIND.1 && it.kind != "ConfigMap");
    let mut containers = ctx.pods.iter().flat_map(|pod| &pod.containers);
    objects.any(|it| it.name.as_deref().is_some_and(is_exporter))
        || containers.any(|it| it.image().and_then(Node::text).is_some_and(is_exporter))
}

/// The rules of a PrometheusRule.
fn rules(object: &Object) -> impl Iterator<Item = &Node> {
    let groups = object.root.get("spec").and_then(|it| it.get("groups"));
    let groups = groups.map_or(&[][..], Node::items).iter();
    groups.flat_map(|group| group.get("rules").map_or(&[][..], Node::items))
}
