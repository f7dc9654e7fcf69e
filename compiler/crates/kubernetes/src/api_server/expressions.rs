//! CEL validation rules of CRDs, for created objects.

use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value as Cel};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, parse_value};
use super::types::{
    CelRule, DefaultValue, ValueType, cel_rules, defining_project, fields_of_type, is_custom_type,
};

/// Evaluates the rules of an object and its fields.
///
/// Source: kubernetes `staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go` (from
/// memory): they are evaluated on objects with valid types and values, with defaults.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    if !is_custom_type(name) {
        return;
    }
    // Partial objects can be incomplete, except list items.
    let is_present = ctx.is_complete || ctx.path.iter().any(|it| matches!(it, Step::Item(_)));
    if ctx.ancestors.is_empty() && is_present {
        let holds = ValueType::Object(name);
        evaluate_rules(ctx, cel_rules(name), &[], &holds, ctx.node);
    }
    for field in fields_of_type(name) {
        let own = cel_rules(&format!("{name}.{}", field.name));
        let of_items = cel_rules(&format!("{name}.{}[]", field.name));
        if own.is_empty() && of_items.is_empty() {
            continue;
        }
        let Some(value) = get_non_null(ctx.node, field.name) else {
            continue;
        };
        let below = Step::from(field.name);
        if is_present || parse_value(value) != ParsedValue::Mapping {
            evaluate_rules(
                ctx,
                own,
                std::slice::from_ref(&below),
                &field.value_type,
                value,
            );
        }
        let ValueType::List(item) = &field.value_type else {
            continue;
        };
        for (index, node) in value.items().iter().enumerate() {
            evaluate_rules(
                ctx,
                of_items,
                &[below.clone(), Step::from(index)],
                item,
                node,
            );
        }
    }
}

/// Reports the violated rules of a value.
fn evaluate_rules(
    ctx: &mut ObjectContext<'_, '_>,
    rules: &[CelRule],
    below: &[Step],
    holds: &ValueType,
    node: &Node,
) {
    let parent_path: Vec<_> = ctx.path.iter().chain(below).cloned().collect();
    // Skip the rules if the object's shape is invalid.
    let is_refused = |below: &[Step]| {
        let path: Vec<_> = parent_path.iter().chain(below).cloned().collect();
        ctx.violations.iter().any(|it| it.path.starts_with(&path))
    };
    let mut violations = Vec::new();
    for rule in rules {
        // For a whole object, report the field that the rule mentions.
        let named = if parent_path.is_empty() {
            first_referenced_path(rule.text, node)
        } else {
            Vec::new()
        };
        if is_refused(&named) {
            continue;
        }
        let Some(value) = rule_input(rule.text, holds, node) else {
            continue;
        };
        let missing = match rule.evaluate(value) {
            RuleResult::Satisfied | RuleResult::Unknown => continue,
            RuleResult::Violated => None,
            // A name that the API server generates is not missing.
            RuleResult::MissingKey(_) if !ctx.is_complete || parent_path.is_empty() => continue,
            RuleResult::MissingKey(key) => Some(key),
        };
        violations.push((named, rule.message, missing));
    }
    for (named, message, missing) in violations {
        let help = match missing {
            Some(key) => format!("write its `{key}`, which the rule requires"),
            None => "change it so that the rule is fulfilled".to_owned(),
        };
        let project = defining_project(ctx.type_name);
        let definition = project.unwrap_or("its definition").to_owned();
        ctx.report(
            below.iter().cloned().chain(named),
            |path| format!("{definition} rejects `{path}`: {message}"),
            help,
        );
        if let Some(found) = ctx.violations.last_mut() {
            found.rule_owner = project;
        }
    }
}

/// The first field in a rule: for `self.metadata.name.matches(…)` the name.
fn first_referenced_path(rule: &str, root: &Node) -> Vec<Step> {
    let Some((_, chain)) = rule.split_once("self.") else {
        return Vec::new();
    };
    let end = chain.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let mut node = root;
    let mut path = Vec::new();
    for key in chain[..end.unwrap_or(chain.len())].split('.') {
        let Some(next) = node.get(key) else { break };
        path.push(Step::from(key));
        node = next;
    }
    path
}

/// A value for evaluation; `None` if the rule uses values that are filled in later.
fn rule_input(rule: &str, holds: &ValueType, node: &Node) -> Option<Cel> {
    match holds {
        ValueType::Object(name) if parse_value(node) == ParsedValue::Mapping => cel_object(
            name,
            node.entries().iter().filter_map(|entry| {
                let is_referenced = rule.contains(&format!("self.{}", entry.key));
                is_referenced.then_some((entry.key.as_str(), &entry.value))
            }),
        ),
        _ => cel_value(holds, node),
    }
}

fn cel_object<'n>(name: &str, entries: impl Iterator<Item = (&'n str, &'n Node)>) -> Option<Cel> {
    let mut object = empty_map();
    let all = Arc::make_mut(&mut object.map);
    let fields = fields_of_type(name);
    for (key, node) in entries.filter(|(_, node)| parse_value(node) != ParsedValue::Null) {
        let field = fields.iter().find(|it| it.name == key);
        let holds = field.map_or(&ValueType::Any, |it| &it.value_type);
        all.insert(Key::from(key), cel_value(holds, node)?);
    }
    for field in fields {
        if let Some(default) = field.default
            && !all.contains_key(&Key::from(field.name))
        {
            all.insert(
                Key::from(field.name),
                cel_default(&field.value_type, default)?,
            );
        }
    }
    Some(Cel::Map(object))
}

fn empty_map() -> Map {
    Map {
        map: Arc::default(),
    }
}

/// Adds the defaults that the API server sets.
fn cel_default(holds: &ValueType, default: DefaultValue) -> Option<Cel> {
    match (default, holds) {
        (DefaultValue::Object, ValueType::Object(name)) => cel_object(name, std::iter::empty()),
        (DefaultValue::Object, _) => Some(Cel::Map(empty_map())),
        (DefaultValue::Text(text), _) => Some(Cel::from(text)),
        (DefaultValue::Integer(number), _) => Some(Cel::Int(number)),
        (DefaultValue::Bool(on), _) => Some(Cel::Bool(on)),
    }
}

fn cel_value(holds: &ValueType, node: &Node) -> Option<Cel> {
    Some(match (parse_value(node), holds) {
        (ParsedValue::Templated, _) => return None,
        (ParsedValue::Null, _) => Cel::Null,
        (ParsedValue::Bool(on), _) => Cel::Bool(on),
        (ParsedValue::Integer(number), _) => Cel::Int(i64::try_from(number).ok()?),
        (ParsedValue::Float(number), _) => Cel::Float(number),
        (ParsedValue::Text(text), _) => Cel::from(text),
        (ParsedValue::List, holds) => {
            let item = match holds {
                ValueType::List(item) => item,
                _ => &ValueType::Any,
            };
            let items = node.items().iter().map(|it| cel_value(item, it));
            Cel::from(items.collect::<Option<Vec<_>>>()?)
        }
        (ParsedValue::Mapping, holds) => {
            let entries = node.entries().iter();
            let entries = entries.map(|it| (it.key.as_str(), &it.value));
            match holds {
                ValueType::Object(name) => cel_object(name, entries)?,
                ValueType::Map(each) => {
                    let mut map = empty_map();
                    for (key, node) in entries {
                        let all = Arc::make_mut(&mut map.map);
                        all.insert(Key::from(key), cel_value(each, node)?);
                    }
                    Cel::Map(map)
                }
                _ => cel_object("", entries)?,
            }
        }
    })
}

/// Whether a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleResult {
    Satisfied,
    Violated,
    /// The rule uses a missing key, which the API server rejects as well.
    MissingKey(String),
    /// The rule could not be evaluated.
    Unknown,
}

impl CelRule {
    fn evaluate(&self, value: Cel) -> RuleResult {
        let Ok(program) = Program::compile(self.text) else {
            return RuleResult::Unknown;
        };
        let mut context = Context::default();
        context.add_variable_from_value("self", value);
        match program.execute(&context) {
            Ok(Cel::Bool(true)) => RuleResult::Satisfied,
            Ok(Cel::Bool(false)) => RuleResult::Violated,
            Err(ExecutionError::NoSuchKey(key)) => RuleResult::MissingKey(key.to_string()),
            Ok(_) | Err(_) => RuleResult::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api_server::types::cel_rule_locations;
    use crate::api_server::{Completeness, Violation};
    use gpuc_syntax::diag::Report;
    use gpuc_syntax::source::Sources;
    use gpuc_syntax::yaml;

    fn node(text: &str) -> Node {
        let mut sources = Sources::default();
        let id = sources.add("test.yaml", text);
        yaml::parse(&sources, id, &mut Report::default())
            .remove(0)
            .root
    }

    /// For each rule, a valid and an invalid value, by location after the version.
    const CASES: &[(&str, &str, &str, &str)] = &[
        (
            "JobSet.spec",
            "StartupPolicy and DependsOn APIs are mutually exclusive",
            "{startupPolicy: {startupPolicyOrder: AnyOrder}, replicatedJobs: [{name: a, dependsOn: []}]}",
            "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: a, dependsOn: []}]}",
        ),
        (
            "TrainingRuntime.spec.template.spec",
            "StartupPolicy and DependsOn APIs are mutually exclusive",
            "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: a}]}",
            "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: a}, {dependsOn: []}]}",
        ),
        (
            ".volumeClaimPolicies[]",
            "namespace cannot be set for VolumeClaimPolicies templates",
            "{templates: [{metadata: {name: a}}]}",
            "{templates: [{metadata: {name: a, namespace: b}}]}",
        ),
        (
            "ClusterQueue.spec",
            "borrowingLimit must be nil when cohort is empty",
            "{resourceGroups: [{flavors: [{resources: [{nominalQuota: 1}]}]}]}",
            "{resourceGroups: [{flavors: [{resources: [{borrowingLimit: 1}]}]}]}",
        ),
        (
            "ClusterQueue.spec.flavorFungibility",
            "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
            "{preference: BorrowingOverPreemption, whenCanBorrow: TryNextFlavor}",
            "{preference: BorrowingOverPreemption}",
        ),
        (
            "ClusterQueue.spec.preemption",
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            "{reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}}",
            "{borrowWithinCohort: {policy: LowerPriority}}",
        ),
        (
            ".spec.resourceGroups[]",
            "flavors must have the same number of resources as the coveredResources",
            "{coveredResources: [cpu], flavors: [{resources: [{name: cpu}]}]}",
            "{coveredResources: [cpu, memory], flavors: [{resources: [{name: cpu}]}]}",
        ),
        (
            "ResourceFlavor.spec",
            "at least one nodeLabel is required when topology is set",
            "{topologyName: racks, nodeLabels: {a: b}}",
            "{topologyName: racks}",
        ),
        (
            "ResourceFlavor.spec.nodeTaints",
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
            "[{key: a, effect: NoExecute}]",
            "[{key: a, effect: Never}]",
        ),
        (
            "ResourceFlavor.spec.tolerations",
            "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
            "[{operator: Exists}]",
            "[{operator: Equal}]",
        ),
        (
            "ResourceFlavor.spec.tolerations",
            "effect must be 'NoExecute' when 'tolerationSeconds' is set",
            "[{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]",
            "[{key: a, operator: Exists, tolerationSeconds: 3}]",
        ),
        (
            "ResourceFlavor.spec.tolerations",
            "supported toleration values: 'Equal'(default), 'Exists'",
            "[{key: a}, {key: b, operator: Equal}]",
            "[{key: a}, {key: b, operator: In}]",
        ),
        (
            "ResourceFlavor.spec.tolerations",
            "a value must be empty when 'operator' is 'Exists'",
            "[{key: a, operator: Exists}, {key: b, value: c}]",
            "[{key: a, operator: Exists, value: c}]",
        ),
        (
            "ResourceFlavor.spec.tolerations",
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
            "[{key: a}, {key: b, effect: NoSchedule}]",
            "[{key: a, effect: Never}]",
        ),
        (
            "Topology.spec.levels",
            "must be unique",
            "[{nodeLabel: a}, {nodeLabel: b}]",
            "[{nodeLabel: a}, {nodeLabel: a}]",
        ),
        (
            "Topology.spec.levels",
            "the kubernetes.io/hostname label can only be used at the lowest level of topology",
            "[{nodeLabel: a}, {nodeLabel: kubernetes.io/hostname}]",
            "[{nodeLabel: kubernetes.io/hostname}, {nodeLabel: a}]",
        ),
        (
            "TrainingRuntime.spec.mlPolicy",
            "Only one of the policy can be configured",
            "{numNodes: 1, torch: {}}",
            "{torch: {}, mpi: {}}",
        ),
        (
            ".spec.mlPolicy.flux.numProcPerNode",
            "NumProcPerNode in fluxPolicy must be >= 1",
            "1",
            "0",
        ),
        (
            ".envInjection.targets.containerNames",
            "containerNames must not include the main node container because PET_* envs are always injected into it",
            "[a]",
            "[a, node]",
        ),
        (
            "/TrainJob",
            "metadata.name must match RFC 1035 DNS label format",
            "{metadata: {name: a-1}}",
            "{metadata: {name: 1-a}}",
        ),
        (
            "/TrainJob",
            "metadata.name must be no more than 63 characters",
            "{metadata: {name: a}}",
            "{metadata: {name: a123456789a123456789a123456789a123456789a123456789a123456789a123}}",
        ),
        (
            ".storageUri",
            "storageUri may be empty, or it must be a valid URI (scheme://...)",
            "hf://a/b",
            "a/b",
        ),
        (
            "TrainJob.spec.managedBy",
            "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set",
            "kueue.x-k8s.io/multikueue",
            "nobody",
        ),
    ];

    /// The type of the value at the location of rules.
    fn holds_at(location: &'static str) -> ValueType {
        let bare = location.trim_end_matches("[]");
        let (around, last) = bare.rsplit_once('.').unwrap();
        let Some(field) = fields_of_type(around).iter().find(|it| it.name == last) else {
            return ValueType::Object(location);
        };
        match &field.value_type {
            ValueType::List(item) if location != bare => (**item).clone(),
            holds => holds.clone(),
        }
    }

    #[test]
    fn rules_accept_valid_and_reject_invalid_values() {
        let mut tested = BTreeSet::new();
        for location in cel_rule_locations() {
            let holds = holds_at(location);
            for rule in cel_rules(location) {
                let mut cases = CASES.iter();
                let case = cases.find(|it| location.ends_with(it.0) && it.1 == rule.message);
                let (_, _, good, bad) = case.unwrap_or_else(|| panic!("{location}: {rule:?}"));
                let evaluate =
                    |yaml: &str| rule.evaluate(rule_input(rule.text, &holds, &node(yaml)).unwrap());
                assert_eq!(
                    evaluate(good),
                    RuleResult::Satisfied,
                    "{location}: {}",
                    rule.text
                );
                let result = evaluate(bad);
                assert!(
                    matches!(result, RuleResult::Violated | RuleResult::MissingKey(_)),
                    "{location}: {result:?}"
                );
                tested.insert(rule.message);
            }
        }
        let cases: BTreeSet<_> = CASES.iter().map(|it| it.1).collect();
        assert_eq!(tested, cases);
    }

    fn validate_kind(
        api_version: &str,
        kind: &str,
        extent: Completeness,
        yaml: &str,
    ) -> Vec<Violation> {
        crate::api_server::validate_object(api_version, kind, &node(yaml), extent)
    }

    #[test]
    fn violations_have_the_path_of_the_field() {
        let words = |found: Vec<Violation>| {
            let found = found.into_iter();
            found
                .map(|it| format!("{} | {}", it.message, it.help))
                .collect::<Vec<_>>()
        };
        let flavor = |extent, spec: &str| {
            let yaml = format!("{{metadata: {{name: a}}, spec: {spec}}}");
            words(validate_kind(
                "kueue.x-k8s.io/v1beta2",
                "ResourceFlavor",
                extent,
                &yaml,
            ))
        };
        let kueue = defining_project("kueue.x-k8s.io/v1beta2/ResourceFlavor").unwrap();
        let labels = format!(
            "{kueue} rejects `spec`: at least one nodeLabel is required when topology is set | write its `nodeLabels`, \
             which the rule requires"
        );
        assert_eq!(
            flavor(Completeness::Complete, "{topologyName: racks}"),
            [labels]
        );
        // Labels can be set elsewhere; a list is complete.
        assert!(flavor(Completeness::Partial, "{topologyName: racks}").is_empty());
        let tolerations = "{tolerations: [{operator: Equal}]}";
        assert_eq!(flavor(Completeness::Partial, tolerations).len(), 1);
        // A value that is filled in later can be anything.
        assert!(
            flavor(
                Completeness::Complete,
                "{tolerations: [{key: '{{ .a }}', value: b, operator: Exists}]}"
            )
            .len()
                <= 1
        );
        // Shape errors are reported once.
        assert_eq!(
            flavor(
                Completeness::Complete,
                "{nodeTaints: [{key: a, effect: Never}]}"
            )
            .len(),
            1
        );
        let job = |name: &str| {
            let yaml = format!("{{metadata: {name}, spec: {{runtimeRef: {{name: a}}}}}}");
            let found = validate_kind(
                "trainer.kubeflow.org/v1alpha1",
                "TrainJob",
                Completeness::Complete,
                &yaml,
            );
            found.into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        assert_eq!(
            job("{name: 1-a}"),
            [[Step::from("metadata"), Step::from("name")]]
        );
        // The API server generates the name before it evaluates the rules.
        assert!(job("{generateName: a-}").is_empty() && job("{name: a-1}").is_empty());
    }
}
