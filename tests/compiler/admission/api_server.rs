//! A model of an API server with the admission policies of a tree: which policies match an object, and their results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cel::common::ast::IdedExpr;
use cel::extractors::This;
use cel::objects::{Key, Map};
use cel::parser::Parser;
use cel::{Context, Value as Cel};
use gpuc_model::plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::record;

/// The result of a validation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum AdmissionResult {
    Denied(String),
    Warned(String),
}

/// The name and labels of a namespace.
pub(crate) type Namespace<'n> = (&'n str, &'n [(&'n str, &'n str)]);

/// A user who may create pods.
const MEMBER: &str = "alice";

/// A request, as an admission policy sees it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) user: &'r str,
    /// Null for a new object.
    pub(crate) before: &'r Value,
    pub(crate) after: &'r Value,
    /// Part of the resource, such as `ephemeralcontainers`; otherwise empty.
    pub(crate) subresource: &'r str,
    pub(crate) namespace: Namespace<'r>,
}

impl<'r> Request<'r> {
    pub(crate) fn create(object: &'r Value, namespace: Namespace<'r>) -> Self {
        Self::update(&Value::Null, object, namespace)
    }

    pub(crate) fn update(before: &'r Value, after: &'r Value, namespace: Namespace<'r>) -> Self {
        Self {
            user: MEMBER,
            before,
            after,
            subresource: "",
            namespace,
        }
    }

    pub(crate) fn operation(&self) -> &'static str {
        if self.before.is_null() {
            "CREATE"
        } else {
            "UPDATE"
        }
    }
}

/// An API server with the policies of a tree.
pub(crate) struct ApiServer {
    /// The policies and bindings as they are applied.
    manifests: Vec<Value>,
    /// Each binding with the spec of its policy.
    policies: Vec<(Value, Value)>,
}

impl ApiServer {
    pub(crate) fn with_policies(plan: &Plan) -> Self {
        let of_kind = |kind: &'static str| {
            let objects = plan.objects.iter();
            let objects = objects.filter(move |it| it.identity.kind == kind);
            objects.map(|it| serde_json::to_value(&it.node).unwrap())
        };
        let policies: Vec<_> = of_kind("ValidatingAdmissionPolicy").collect();
        let of_namespaces = |binding: &Value| {
            let matched = &binding["spec"]["matchResources"];
            matched["namespaceSelector"].is_object()
        };
        let bindings = of_kind("ValidatingAdmissionPolicyBinding").filter(of_namespaces);
        let with_policy = bindings.map(|binding| {
            let name = &binding["spec"]["policyName"];
            let mut policies = policies.iter();
            let policy = policies.find(|it| it["metadata"]["name"] == *name);
            let spec = policy.unwrap()["spec"].clone();
            (binding, spec)
        });
        let policies_and_bindings: Vec<(Value, Value)> = with_policy.collect();
        let mut manifests: Vec<_> = policies.clone();
        manifests.extend(of_kind("ValidatingAdmissionPolicyBinding"));
        Self {
            manifests,
            policies: policies_and_bindings,
        }
    }

    /// The results for an object that is created in a namespace, by policy.
    pub(crate) fn admit_create(
        &self,
        object: &Value,
        namespace: Namespace<'_>,
    ) -> Vec<AdmissionResult> {
        self.admit(Request::create(object, namespace))
    }

    /// The results for an object that changes.
    pub(crate) fn admit_update(
        &self,
        before: &Value,
        after: &Value,
        namespace: Namespace<'_>,
    ) -> Vec<AdmissionResult> {
        self.admit(Request::update(before, after, namespace))
    }

    /// The results for a request.
    pub(crate) fn admit(&self, request: Request<'_>) -> Vec<AdmissionResult> {
        let mut results = Vec::new();
        for (binding, spec) in &self.policies {
            let selector = &binding["spec"]["matchResources"]["namespaceSelector"];
            if !is_selected(selector, request.namespace) || !is_matched(spec, request) {
                continue;
            }
            let actions = &binding["spec"]["validationActions"];
            let found = failed_validations(spec, request).into_iter();
            if *actions == json!(["Deny"]) {
                // Kubernetes reports the first failed validation of a policy.
                results.extend(found.take(1).map(AdmissionResult::Denied));
            } else {
                assert_eq!(*actions, json!(["Warn", "Audit"]));
                results.extend(found.map(AdmissionResult::Warned));
            }
        }
        record::record(&self.manifests, request, &results);
        results
    }
}

fn is_selected(selector: &Value, (name, labels): Namespace<'_>) -> bool {
    let value = |key: &str| match key {
        "kubernetes.io/metadata.name" => Some(name),
        _ => labels.iter().find(|it| it.0 == key).map(|it| it.1),
    };
    let expressions = selector["matchExpressions"].as_array().unwrap();
    expressions.iter().all(|it| {
        let value = value(it["key"].as_str().unwrap());
        match it["operator"].as_str().unwrap() {
            "Exists" => value.is_some(),
            "NotIn" => {
                let values = it["values"].as_array().unwrap();
                !values.iter().any(|it| it.as_str() == value)
            }
            other => panic!("{other}"),
        }
    })
}

fn is_matched(spec: &Value, request: Request<'_>) -> bool {
    let version = request.after["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let mut resource = request.after["kind"].as_str().unwrap().to_lowercase() + "s";
    if !request.subresource.is_empty() {
        resource = format!("{resource}/{}", request.subresource);
    }
    let has = |list: &Value, item: &str| list.as_array().unwrap().contains(&json!(item));
    let rules = spec["matchConstraints"]["resourceRules"]
        .as_array()
        .unwrap();
    rules.iter().any(|rule| {
        has(&rule["apiGroups"], group)
            && has(&rule["apiVersions"], version)
            && has(&rule["operations"], request.operation())
            && has(&rule["resources"], &resource)
    })
}

/// The messages of the failed validations.
fn failed_validations(spec: &Value, request: Request<'_>) -> Vec<String> {
    let mut context = Context::default();
    let (name, labels) = request.namespace;
    let labels: std::collections::BTreeMap<_, _> = labels.iter().copied().collect();
    let namespace = json!({"metadata": {"name": name, "labels": labels}});
    context.add_variable("namespaceObject", &namespace).unwrap();
    context.add_variable("object", request.after).unwrap();
    context.add_variable("oldObject", request.before).unwrap();
    let attributes = json!({
        "operation": request.operation(),
        "userInfo": {"username": request.user},
    });
    context.add_variable("request", &attributes).unwrap();
    // Functions that Kubernetes has and this evaluator lacks: <https://kubernetes.io/docs/reference/using-api/cel/>.
    context.add_function("sum", sum).unwrap();
    let items = |key: &str| spec[key].as_array().unwrap().clone();
    let conditions = items("matchConditions");
    if !conditions
        .iter()
        .all(|it| is_true(&context, &it["expression"]))
    {
        return Vec::new();
    }
    let mut variables = Map {
        map: Arc::default(),
    };
    for variable in items("variables") {
        let value = evaluate(&context, &variable["expression"]);
        let name = Key::from(variable["name"].as_str().unwrap());
        Arc::make_mut(&mut variables.map).insert(name, value);
        context.add_variable_from_value("variables", Cel::Map(variables.clone()));
    }
    let validations = items("validations");
    let mut found = Vec::new();
    for it in validations {
        if is_true(&context, &it["expression"]) {
            continue;
        }
        let message = it["message"].as_str().unwrap().to_owned();
        found.push(match &it["messageExpression"] {
            Value::Null => message,
            saying => match evaluate(&context, saying) {
                Cel::String(message) => message.to_string(),
                other => panic!("{saying}: {other:?}"),
            },
        });
    }
    found
}

fn sum(This(list): This<Arc<Vec<Cel>>>) -> i64 {
    let number = |value: &Cel| match value {
        Cel::Int(number) => *number,
        other => panic!("unsupported item of a sum: {other:?}"),
    };
    list.iter().map(number).sum()
}

fn is_true(context: &Context<'_, '_>, expression: &Value) -> bool {
    match evaluate(context, expression) {
        Cel::Bool(is_true) => is_true,
        other => panic!("{expression}: {other:?}"),
    }
}

fn evaluate(context: &Context<'_, '_>, expression: &Value) -> Cel {
    thread_local! {
        /// The parsed expressions by their text.
        static PARSED: RefCell<BTreeMap<String, Rc<IdedExpr>>> = RefCell::default();
    }
    let text = expression.as_str().unwrap();
    let known = PARSED.with_borrow(|all| all.get(text).cloned());
    let parsed = known.unwrap_or_else(|| {
        let parser = Parser::default().enable_optional_syntax(true);
        let parsed = parser.parse(text);
        let parsed = Rc::new(parsed.unwrap_or_else(|error| panic!("{text}: {error}")));
        PARSED.with_borrow_mut(|all| all.insert(text.to_owned(), Rc::clone(&parsed)));
        parsed
    });
    Cel::resolve(&parsed, context).unwrap_or_else(|error| panic!("{text}: {error}"))
}
