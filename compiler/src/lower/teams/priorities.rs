//! How important pods are: `PriorityClass`.

use serde_json::json;

use crate::check::Checked;
use crate::node::Origin;
use crate::plan::Object;

/// The folder of the manifests.
const COMPONENT: &str = "priorities";

/// The classes that the file asks for.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let classes = cluster.written.priorities.iter();
    let object = |class: &gpuc_schema::Spanned<gpuc_schema::config::Priority>| {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": class.name.value,
                "labels": {"app.kubernetes.io/managed-by": "gpuc"},
            },
            "value": class.value.value.value,
            "globalDefault": class.default.value,
            "preemptionPolicy": if class.preempts.value { "PreemptLowerPriority" } else { "Never" },
            "description": class.description.as_ref().map(|it| &it.value),
        });
        let texts = class.description.iter().map(|it| it.span);
        let own = [
            class.name.span,
            class.value.value.span,
            class.default.span,
            class.preempts.span,
        ];
        let why = "the file asks for this class";
        Object::new(
            COMPONENT,
            &object,
            Origin::rule(own.into_iter().chain(texts), why),
        )
    };
    classes.map(object).collect()
}
