//! Pod priorities: PriorityClasses.

use serde_json::json;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;

/// The folder of the manifests.
const COMPONENT: &str = "priorities";

/// The PriorityClasses of the file.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let classes = cluster.config.priorities.iter();
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
        let description = class.description.iter().map(|it| it.span);
        let own = [
            class.name.span,
            class.value.value.span,
            class.default.span,
            class.preempts.span,
        ];
        let reason = "the file defines this class";
        Object::new(
            COMPONENT,
            &object,
            Origin::rule(own.into_iter().chain(description), reason),
        )
    };
    classes.map(object).collect()
}
