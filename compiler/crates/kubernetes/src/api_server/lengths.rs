//! Lengths of strings and lists, and patterns of strings, from the CRDs of custom resources.

use gpuc_syntax::node::Node;
use regex::Regex;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, parse_value};
use super::types::{fields_of_type, is_custom_type};

/// Descriptions of the patterns in CRDs.
const PATTERN_HELP: &[(&str, &str)] = &[
    (
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "use lower-case letters, digits and `-`, with a letter or digit at each end",
    ),
    (
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        "write the key of a label, such as `topology.kubernetes.io/zone`",
    ),
    (
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "write the name of an object: small letters, digits, `-` and `.`",
    ),
    (
        "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$",
        "write letters, digits and `-`, starting with a letter",
    ),
    ("^[^:]+$", "write it without `:`"),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    if !is_custom_type(name) {
        return;
    }
    for field in fields_of_type(name) {
        let Some(value) = get_non_null(ctx.node, field.name) else {
            continue;
        };
        let limits = &field.constraints;
        check_item_count(ctx, field.name, value, limits.max_items);
        // The length of names is checked with their syntax.
        let max_length = limits.max_length.filter(|_| !limits.is_object_name);
        check_text(
            ctx,
            &[Step::from(field.name)],
            value,
            (max_length, limits.pattern),
        );
        for (index, item) in value.items().iter().enumerate() {
            let path = [Step::from(field.name), Step::from(index)];
            check_text(
                ctx,
                &path,
                item,
                (limits.max_item_length, limits.item_pattern),
            );
        }
    }
}

fn check_item_count(
    ctx: &mut ObjectContext<'_, '_>,
    field: &str,
    value: &Node,
    max: Option<usize>,
) {
    let (count, noun) = match parse_value(value) {
        ParsedValue::List => (value.items().len(), "items"),
        ParsedValue::Mapping => (value.entries().len(), "keys"),
        _ => return,
    };
    if let Some(max) = max.filter(|max| count > *max) {
        ctx.report(
            [Step::from(field)],
            |path| format!("`{path}` has {count} {noun}, but at most {max} are allowed"),
            format!("write {max} or fewer"),
        );
    }
}

fn check_text(
    ctx: &mut ObjectContext<'_, '_>,
    key_path: &[Step],
    value: &Node,
    (long, pattern): (Option<usize>, Option<&str>),
) {
    let ParsedValue::Text(text) = parse_value(value) else {
        return;
    };
    let count = text.chars().count();
    if let Some(max) = long.filter(|max| count > *max) {
        ctx.report(
            key_path.to_vec(),
            |path| format!("`{path}` has {count} characters, but at most {max} are allowed"),
            format!("write {max} characters or fewer"),
        );
        return;
    }
    // Empty values are reported separately.
    let Some(pattern) = pattern.filter(|_| !text.is_empty()) else {
        return;
    };
    if Regex::new(pattern).is_ok_and(|it| !it.is_match(text)) {
        let mut words = PATTERN_HELP.iter().filter(|it| it.0 == pattern);
        let help = words.next().map_or("write a matching value", |it| it.1);
        ctx.report(
            key_path.to_vec(),
            |path| format!("`{path}` is `{text}`, but must match `{pattern}`"),
            help,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_server::{Completeness, validate_object};
    use gpuc_syntax::diag::Report;
    use gpuc_syntax::source::Sources;
    use gpuc_syntax::yaml;

    #[track_caller]
    fn check(api_version: &str, kind: &str, spec: &str, expected: &str) {
        let mut sources = Sources::default();
        let id = sources.add(
            "a.yaml",
            &format!("{{metadata: {{name: a}}, spec: {spec}}}"),
        );
        let root = yaml::parse(&sources, id, &mut Report::default())
            .remove(0)
            .root;
        let found = validate_object(api_version, kind, &root, Completeness::Partial);
        let found: Vec<_> = found.into_iter().map(|it| it.message).collect();
        assert_eq!(found.join("; "), expected);
    }

    #[test]
    fn lengths_are_limited() {
        let kueue =
            |kind, spec: &str, expected| check("kueue.x-k8s.io/v1beta2", kind, spec, expected);
        let levels = |count: usize| {
            let levels: Vec<_> = (0..count)
                .map(|it| format!("{{nodeLabel: a{it}}}"))
                .collect();
            format!("{{levels: [{}]}}", levels.join(", "))
        };
        kueue("Topology", &levels(16), "");
        kueue(
            "Topology",
            &levels(17),
            "`spec.levels` has 17 items, but at most 16 are allowed",
        );
        let labels: Vec<_> = (0..9).map(|it| format!("a{it}: b")).collect();
        let labels = format!("{{nodeLabels: {{{}}}}}", labels.join(", "));
        kueue(
            "ResourceFlavor",
            &labels,
            "`spec.nodeLabels` has 9 keys, but at most 8 are allowed",
        );
        let job =
            |spec: &str, expected: &str| check("batch.volcano.sh/v1alpha1", "Job", spec, expected);
        job("{tasks: [{name: a-1}]}", "");
        let name = "a".repeat(64);
        let expected = "`spec.tasks[0].name` has 64 characters, but at most 63 are allowed";
        job(&format!("{{tasks: [{{name: {name}}}]}}"), expected);
        let expected =
            "`spec.tasks[0].name` is `A`, but must match `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`";
        job("{tasks: [{name: A}]}", expected);
        job("{tasks: [{name: '{{ .name }}'}]}", "");
    }

    /// Every pattern of a CRD is valid and has a description.
    #[test]
    fn patterns_have_descriptions() {
        let all = crate::api_server::types::all_constraints();
        let patterns = all.flat_map(|it| [it.pattern, it.item_pattern]).flatten();
        let mut count = 0;
        for pattern in patterns {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
            assert!(PATTERN_HELP.iter().any(|it| it.0 == pattern), "{pattern}");
            count += 1;
        }
        assert!(count > 8);
    }
}
