//! Checks the fields of an object and the types of their values.

use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::node::Node;

use super::{Field, ValueType, defining_project, fields_of_type, is_removed_field};
use crate::api_server::field_path::{Step, format_path};
use crate::api_server::scalar::{ParsedValue, get_non_null, parse_value};
use crate::api_server::{MAX_VIOLATIONS, ObjectContext, Violation, Visit, rules};

/// Checks a value and everything below it against a type.
pub(in crate::api_server) fn validate_value<'n>(
    visit: &mut Visit<'n>,
    holds: &ValueType,
    node: &'n Node,
) {
    let actual = parse_value(node);
    match (holds, actual) {
        (ValueType::Any, _)
        | (_, ParsedValue::Templated | ParsedValue::Null)
        | (ValueType::Text, ParsedValue::Text(_))
        | (ValueType::Bool, ParsedValue::Bool(_))
        | (ValueType::Number, ParsedValue::Integer(_) | ParsedValue::Float(_))
        | (ValueType::IntOrString, ParsedValue::Integer(_) | ParsedValue::Text(_))
        | (
            ValueType::Quantity,
            ParsedValue::Integer(_) | ParsedValue::Float(_) | ParsedValue::Text(_),
        ) => {}
        (ValueType::Integer(bits), ParsedValue::Integer(number)) => {
            let max = (1_i128 << (bits - 1)) - 1;
            if number > max || number < -max - 1 {
                let help = format!("write at most {max}");
                report_invalid_value(visit, &format!("it is {number}, which is too large"), help);
            }
        }
        (ValueType::List(item), ParsedValue::List) => {
            for (index, value) in node.items().iter().enumerate() {
                visit.path.push(Step::Item(index));
                if parse_value(value) == ParsedValue::Null && matches!(**item, ValueType::Object(_))
                {
                    report_invalid_value(
                        visit,
                        "it is null",
                        "write a value, or remove it".to_owned(),
                    );
                }
                validate_value(visit, item, value);
                visit.path.pop();
            }
        }
        (ValueType::Map(value), ParsedValue::Mapping) => {
            for entry in node.entries() {
                visit.path.push(Step::Key(entry.key.clone()));
                validate_value(visit, value, &entry.value);
                visit.path.pop();
            }
        }
        (ValueType::Object(name), ParsedValue::Mapping) => {
            validate_object_fields(visit, name, node);
        }
        (holds, is) => {
            let problem = format!(
                "it is {}, but must be {}",
                describe_actual(is),
                describe_expected(holds)
            );
            report_invalid_value(visit, &problem, conversion_help(holds, is, node));
        }
    }
}

fn validate_object_fields<'n>(look: &mut Visit<'n>, name: &'static str, node: &'n Node) {
    let fields = fields_of_type(name);
    look.ancestors.push((name, node));
    for entry in node.entries() {
        if look.violations.len() >= MAX_VIOLATIONS {
            break;
        }
        look.path.push(Step::Key(entry.key.clone()));
        match fields.iter().find(|field| field.name == entry.key) {
            Some(field) => validate_value(look, &field.value_type, &entry.value),
            // Helm and others also fill in keys; null values are ignored.
            None if entry.key.contains("{{") || entry.key.contains('$') => {}
            None if parse_value(&entry.value) == ParsedValue::Null
                || is_removed_field(name, &entry.key) => {}
            None => report_unknown_field(look, fields, node, &entry.key),
        }
        look.path.pop();
    }
    if look.is_complete {
        for field in fields.iter().filter(|it| it.is_required) {
            if get_non_null(node, field.name).is_none() {
                look.violations.push(Violation {
                    path: look.path.clone(),
                    is_key: true,
                    message: format!(
                        "{} has no `{}`",
                        quoted_path_or_object(&look.path),
                        field.name
                    ),
                    help: format!("write its `{}`", field.name),
                    suggestion: None,
                    unknown_to_project: None,
                    rule_owner: None,
                });
            }
        }
    }
    look.ancestors.pop();
    rules::validate(&mut ObjectContext {
        type_name: name,
        node,
        path: &look.path,
        ancestors: &look.ancestors,
        is_complete: look.is_complete,
        added_volumes: look.added_volumes,
        violations: &mut look.violations,
    });
}

fn quoted_path_or_object(path: &[Step]) -> String {
    match path {
        [] => "the object".to_owned(),
        path => format!("`{}`", format_path(path)),
    }
}

fn report_invalid_value(look: &mut Visit<'_>, problem: &str, help: String) {
    look.violations.push(Violation {
        message: format!("invalid value for `{}`: {problem}", format_path(&look.path)),
        path: look.path.clone(),
        is_key: false,
        help,
        suggestion: None,
        unknown_to_project: None,
        rule_owner: None,
    });
}

/// Reports an unknown field, with a similar field or the correct location.
fn report_unknown_field(look: &mut Visit<'_>, fields: &[Field], node: &Node, key: &str) {
    let (_, above) = look
        .path
        .split_last()
        .map_or((None, &[][..]), |(last, above)| (Some(last), above));
    let all = fields.iter().map(|field| field.name);
    let of_type = look.ancestors.last().map(|(name, _)| *name);
    let project = of_type.and_then(defining_project);
    let closest = closest_match(key, all);
    let is_amount = of_type == Some("ResourceRequirements") && is_resource_name(key);
    let is_unset = |meant: &&str| get_non_null(node, meant).is_none() && !is_amount;
    let is_label = of_type == Some("LabelSelector");
    let help = if let Some(instead) = moved_field_help(of_type, key) {
        instead.to_owned()
    } else if is_label && closest.is_none() {
        format!("write it below `{}.matchLabels`", format_path(above))
    } else if is_amount {
        format!("write it below `{}.limits`", format_path(above))
    } else if let Some(meant) = closest {
        match get_non_null(node, meant) {
            Some(_) => format!("did you mean `{meant}`? write it there"),
            None => format!("did you mean `{meant}`?"),
        }
    } else if let Some(location) =
        enclosing_location(look, key).or_else(|| nested_location(fields, above, key))
    {
        format!("move it to `{location}`")
    } else {
        format!(
            "remove it, or move it to the correct location for {}",
            project.unwrap_or("Kubernetes")
        )
    };
    look.violations.push(Violation {
        message: format!(
            "{} has no field `{}`",
            project.unwrap_or("Kubernetes"),
            format_path(&look.path)
        ),
        path: look.path.clone(),
        is_key: true,
        help,
        suggestion: closest.filter(is_unset).map(str::to_owned),
        unknown_to_project: project,
        rule_owner: None,
    });
}

/// Fields of older versions of a project, each with its type and replacement.
///
/// Source: kubeflow/trainer@v2.3.0 `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `RuntimePatches` (read on
/// 2026-11-22); what came before, in 2.0 and 2.1, from memory.
const MOVED_FIELDS: &[(&str, &str, &str)] = &[
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec",
        "podTemplateOverrides",
        RUNTIME_PATCHES_HELP,
    ),
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec",
        "podSpecOverrides",
        RUNTIME_PATCHES_HELP,
    ),
];

const RUNTIME_PATCHES_HELP: &str = "write it as a patch of the runtime: `runtimePatches: [{manager: …, trainingRuntimeSpec: \
                       {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: \
                       …}}}}]}}}}]`";

/// The replacement of a removed field.
fn moved_field_help(of_type: Option<&str>, key: &str) -> Option<&'static str> {
    let mut all = MOVED_FIELDS.iter();
    let found = all.find(|(name, field, _)| of_type == Some(name) && *field == key)?;
    Some(found.2)
}

fn is_resource_name(key: &str) -> bool {
    key.contains('/') || ["cpu", "memory", "ephemeral-storage"].contains(&key)
}

/// The location in an enclosing object where the field is known.
fn enclosing_location(look: &Visit<'_>, key: &str) -> Option<String> {
    let mut path = &look.path[..look.path.len().checked_sub(1)?];
    for (name, _) in look.ancestors.iter().rev().skip(1) {
        // Go to the field of the object, ignoring list indexes.
        while let Some((last, rest)) = path.split_last() {
            path = rest;
            if matches!(last, Step::Key(_)) {
                break;
            }
        }
        if fields_of_type(name).iter().any(|field| field.name == key) && !path.is_empty() {
            return Some(format_path(path));
        }
    }
    None
}

/// The location below an object where the field is known: pods are in templates.
fn nested_location(of: &[Field], above: &[Step], key: &str) -> Option<String> {
    const NESTED_KEYS: &[&str] = &["spec", "jobTemplate", "template"];
    let mut next: Vec<(Vec<Step>, &[Field])> = vec![(above.to_vec(), of)];
    for _ in 0..5 {
        let mut below = Vec::new();
        for (path, of) in next {
            for field in of.iter().filter(|it| NESTED_KEYS.contains(&it.name)) {
                let ValueType::Object(name) = field.value_type else {
                    continue;
                };
                let mut path = path.clone();
                path.push(Step::from(field.name));
                if fields_of_type(name).iter().any(|it| it.name == key) {
                    return Some(format_path(&path));
                }
                below.push((path, fields_of_type(name)));
            }
        }
        next = below;
    }
    None
}

fn describe_actual(is: ParsedValue<'_>) -> &'static str {
    match is {
        ParsedValue::Mapping => "a mapping",
        ParsedValue::List => "a list",
        ParsedValue::Null => "null",
        ParsedValue::Text(_) | ParsedValue::Templated => "a string",
        ParsedValue::Bool(_) => "a Boolean",
        ParsedValue::Integer(_) | ParsedValue::Float(_) => "a number",
    }
}

fn describe_expected(holds: &ValueType) -> &'static str {
    match holds {
        ValueType::Any => "anything",
        ValueType::Text => "a string",
        ValueType::Bool => "`true` or `false`",
        ValueType::Integer(_) => "an integer",
        ValueType::Number => "a number",
        ValueType::IntOrString => "an integer or a string",
        ValueType::Quantity => "a quantity, such as `1` or `16Gi`",
        ValueType::List(_) => "a list",
        ValueType::Map(_) | ValueType::Object(_) => "a mapping",
    }
}

fn conversion_help(holds: &ValueType, is: ParsedValue<'_>, node: &Node) -> String {
    match (holds, is) {
        (ValueType::Integer(_), ParsedValue::Text(text)) if text.parse::<i64>().is_ok() => {
            format!("write `{text}`, without quotes")
        }
        (ValueType::Bool, ParsedValue::Text(text)) if ["true", "false"].contains(&text) => {
            format!("write `{text}`, without quotes")
        }
        (ValueType::Text, ParsedValue::Integer(number)) => format!("write `\"{number}\"`"),
        (ValueType::Text, ParsedValue::Float(_)) => {
            format!("write `\"{}\"`", node.text().unwrap_or_default())
        }
        (ValueType::Text, ParsedValue::Bool(on)) => format!("write `\"{on}\"`"),
        (ValueType::List(_), _) => "write a list: one item per line, each with `- `".to_owned(),
        (ValueType::Map(value), _) if **value == ValueType::Quantity => {
            "write names and quantities, such as `{nvidia.com/gpu: 1}`".to_owned()
        }
        (ValueType::Map(_) | ValueType::Object(_), _) => {
            "write a mapping with keys and values".to_owned()
        }
        _ => "write a value of the expected type".to_owned(),
    }
}
