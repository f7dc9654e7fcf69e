//! Checks the fields of an object and the types of their values.

use gpuc_syntax::diag::words::nearest;
use gpuc_syntax::node::Node;

use super::{Field, Type, defined_by, fields, is_gone};
use crate::api_server::field_path::{Step, words};
use crate::api_server::scalar::{Read, get, read};
use crate::api_server::{ObjectContext, Refused, Visit, rules};

/// Checks a value and everything below it against a type.
pub(in crate::api_server) fn walk<'n>(look: &mut Visit<'n>, holds: &Type, node: &'n Node) {
    let is = read(node);
    match (holds, is) {
        (Type::Any, _)
        | (_, Read::Open | Read::Nothing)
        | (Type::Text, Read::Text(_))
        | (Type::Switch, Read::Switch(_))
        | (Type::Number, Read::Whole(_) | Read::Number(_))
        | (Type::NumberOrText, Read::Whole(_) | Read::Text(_))
        | (Type::Amount, Read::Whole(_) | Read::Number(_) | Read::Text(_)) => {}
        (Type::Whole(bits), Read::Whole(number)) => {
            let most = (1_i128 << (bits - 1)) - 1;
            if number > most || number < -most - 1 {
                let help = format!("write at most {most}");
                unreadable(look, &format!("it is {number}, which is too large"), help);
            }
        }
        (Type::List(item), Read::List) => {
            for (index, value) in node.items().iter().enumerate() {
                look.path.push(Step::Item(index));
                if read(value) == Read::Nothing && matches!(**item, Type::Object(_)) {
                    unreadable(look, "it is null", "write a value, or remove it".to_owned());
                }
                walk(look, item, value);
                look.path.pop();
            }
        }
        (Type::Map(value), Read::Mapping) => {
            for entry in node.entries() {
                look.path.push(Step::Key(entry.key.clone()));
                walk(look, value, &entry.value);
                look.path.pop();
            }
        }
        (Type::Object(name), Read::Mapping) => object(look, name, node),
        (holds, is) => {
            let problem = format!("it is {}, but must be {}", what(is), wanted(holds));
            unreadable(look, &problem, instead(holds, is, node));
        }
    }
}

fn object<'n>(look: &mut Visit<'n>, name: &'static str, node: &'n Node) {
    let fields = fields(name);
    look.above.push((name, node));
    for entry in node.entries() {
        look.path.push(Step::Key(entry.key.clone()));
        match fields.iter().find(|field| field.name == entry.key) {
            Some(field) => walk(look, &field.holds, &entry.value),
            // Helm and others also fill in keys; null values are ignored.
            None if entry.key.contains("{{") || entry.key.contains('$') => {}
            None if read(&entry.value) == Read::Nothing || is_gone(name, &entry.key) => {}
            None => unknown(look, fields, node, &entry.key),
        }
        look.path.pop();
    }
    if look.is_whole {
        for field in fields.iter().filter(|it| it.is_needed) {
            if get(node, field.name).is_none() {
                look.found.push(Refused {
                    path: look.path.clone(),
                    of_key: true,
                    message: format!("{} has no `{}`", titled(&look.path), field.name),
                    help: format!("write its `{}`", field.name),
                    meant: None,
                    unknown_to: None,
                    rule_of: None,
                });
            }
        }
    }
    look.above.pop();
    rules::validate(&mut ObjectContext {
        name,
        node,
        path: &look.path,
        above: &look.above,
        is_whole: look.is_whole,
        found: &mut look.found,
    });
}

fn titled(path: &[Step]) -> String {
    match path {
        [] => "the object".to_owned(),
        path => format!("`{}`", words(path)),
    }
}

fn unreadable(look: &mut Visit<'_>, problem: &str, help: String) {
    look.found.push(Refused {
        message: format!("invalid value for `{}`: {problem}", words(&look.path)),
        path: look.path.clone(),
        of_key: false,
        help,
        meant: None,
        unknown_to: None,
        rule_of: None,
    });
}

/// Reports an unknown field, with a similar field or the correct location.
fn unknown(look: &mut Visit<'_>, fields: &[Field], node: &Node, key: &str) {
    let (_, above) = look
        .path
        .split_last()
        .map_or((None, &[][..]), |(last, above)| (Some(last), above));
    let all = fields.iter().map(|field| field.name);
    let of_type = look.above.last().map(|(name, _)| *name);
    let project = of_type.and_then(defined_by);
    let near = nearest(key, all);
    let is_amount = of_type == Some("ResourceRequirements") && is_resource(key);
    let is_free = |meant: &&str| get(node, meant).is_none() && !is_amount;
    let is_label = of_type == Some("LabelSelector");
    let help = if let Some(instead) = of_older(of_type, key) {
        instead.to_owned()
    } else if is_label && near.is_none() {
        format!("write it below `{}.matchLabels`", words(above))
    } else if is_amount {
        format!("write it below `{}.limits`", words(above))
    } else if let Some(meant) = near {
        match get(node, meant) {
            Some(_) => format!("did you mean `{meant}`? write it there"),
            None => format!("did you mean `{meant}`?"),
        }
    } else if let Some(place) = outside(look, key).or_else(|| inside(fields, above, key)) {
        format!("move it to `{place}`")
    } else {
        format!(
            "remove it, or move it to the correct location for {}",
            project.unwrap_or("Kubernetes")
        )
    };
    look.found.push(Refused {
        message: format!(
            "{} has no field `{}`",
            project.unwrap_or("Kubernetes"),
            words(&look.path)
        ),
        path: look.path.clone(),
        of_key: true,
        help,
        meant: near.filter(is_free).map(str::to_owned),
        unknown_to: project,
        rule_of: None,
    });
}

/// Fields of older versions of a project, each with its type and replacement.
///
/// Source: kubeflow/trainer@v2.3.0 `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `RuntimePatches` (read on
/// 2026-11-22); what came before, in 2.0 and 2.1, from memory.
const OF_OLDER: &[(&str, &str, &str)] = &[
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec",
        "podTemplateOverrides",
        PATCHES,
    ),
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec",
        "podSpecOverrides",
        PATCHES,
    ),
];

const PATCHES: &str = "write it as a patch of the runtime: `runtimePatches: [{manager: …, trainingRuntimeSpec: \
                       {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: \
                       …}}}}]}}}}]`";

/// The replacement of a removed field.
fn of_older(of_type: Option<&str>, key: &str) -> Option<&'static str> {
    let mut all = OF_OLDER.iter();
    let found = all.find(|(name, field, _)| of_type == Some(name) && *field == key)?;
    Some(found.2)
}

fn is_resource(key: &str) -> bool {
    key.contains('/') || ["cpu", "memory", "ephemeral-storage"].contains(&key)
}

/// The location in an enclosing object where the field is known.
fn outside(look: &Visit<'_>, key: &str) -> Option<String> {
    let mut path = &look.path[..look.path.len().checked_sub(1)?];
    for (name, _) in look.above.iter().rev().skip(1) {
        // Go to the field of the object, ignoring list indexes.
        while let Some((last, rest)) = path.split_last() {
            path = rest;
            if matches!(last, Step::Key(_)) {
                break;
            }
        }
        if fields(name).iter().any(|field| field.name == key) && !path.is_empty() {
            return Some(words(path));
        }
    }
    None
}

/// The location below an object where the field is known: pods are in templates.
fn inside(of: &[Field], above: &[Step], key: &str) -> Option<String> {
    const WAY: &[&str] = &["spec", "jobTemplate", "template"];
    let mut next: Vec<(Vec<Step>, &[Field])> = vec![(above.to_vec(), of)];
    for _ in 0..5 {
        let mut below = Vec::new();
        for (path, of) in next {
            for field in of.iter().filter(|it| WAY.contains(&it.name)) {
                let Type::Object(name) = field.holds else {
                    continue;
                };
                let mut path = path.clone();
                path.push(Step::from(field.name));
                if fields(name).iter().any(|it| it.name == key) {
                    return Some(words(&path));
                }
                below.push((path, fields(name)));
            }
        }
        next = below;
    }
    None
}

fn what(is: Read<'_>) -> &'static str {
    match is {
        Read::Mapping => "a mapping",
        Read::List => "a list",
        Read::Nothing => "null",
        Read::Text(_) | Read::Open => "a string",
        Read::Switch(_) => "a Boolean",
        Read::Whole(_) | Read::Number(_) => "a number",
    }
}

fn wanted(holds: &Type) -> &'static str {
    match holds {
        Type::Any => "anything",
        Type::Text => "a string",
        Type::Switch => "`true` or `false`",
        Type::Whole(_) => "an integer",
        Type::Number => "a number",
        Type::NumberOrText => "an integer or a string",
        Type::Amount => "a quantity, such as `1` or `16Gi`",
        Type::List(_) => "a list",
        Type::Map(_) | Type::Object(_) => "a mapping",
    }
}

fn instead(holds: &Type, is: Read<'_>, node: &Node) -> String {
    match (holds, is) {
        (Type::Whole(_), Read::Text(text)) if text.parse::<i64>().is_ok() => {
            format!("write `{text}`, without quotes")
        }
        (Type::Switch, Read::Text(text)) if ["true", "false"].contains(&text) => {
            format!("write `{text}`, without quotes")
        }
        (Type::Text, Read::Whole(number)) => format!("write `\"{number}\"`"),
        (Type::Text, Read::Number(_)) => {
            format!("write `\"{}\"`", node.text().unwrap_or_default())
        }
        (Type::Text, Read::Switch(on)) => format!("write `\"{on}\"`"),
        (Type::List(_), _) => "write a list: one item per line, each with `- `".to_owned(),
        (Type::Map(value), _) if **value == Type::Amount => {
            "write names and quantities, such as `{nvidia.com/gpu: 1}`".to_owned()
        }
        (Type::Map(_) | Type::Object(_), _) => {
            "write keys and values, such as `key: value`".to_owned()
        }
        _ => "write a value of the expected type".to_owned(),
    }
}
