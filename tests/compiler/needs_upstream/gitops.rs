//! The objects for Flux and Argo CD match their CRDs.

use std::collections::BTreeMap;

use gpuc_model::plan::Delivery;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::{assert_none, crds};
use crate::corpus::cases;

/// Every object for Flux or Argo CD, with its origin for messages.
fn objects() -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    for case in cases() {
        let Delivery::Gitops { objects: of, .. } = &case.plan().delivery else {
            continue;
        };
        // Values that cannot be in a HelmRelease are in a ConfigMap, which is not a custom resource.
        for object in of.iter().filter(|it| it.identity.kind != "ConfigMap") {
            let name = format!("{}: {:?}", case.name, object.identity);
            objects.push((name, serde_json::to_value(&object.node).unwrap()));
        }
    }
    objects
}

/// The validators for the kinds of Flux and Argo CD.
struct CrdValidators(BTreeMap<String, Validator>);

impl CrdValidators {
    fn load_all() -> Self {
        let is_gitops_kind =
            |kind: &String| kind.contains("fluxcd.io/") || kind.contains("argoproj.io/");
        let schemas = crds::schemas()
            .into_iter()
            .filter(|(kind, _)| is_gitops_kind(kind));
        let made =
            schemas.map(|(kind, schema)| (kind, jsonschema::validator_for(&schema).unwrap()));
        Self(made.collect())
    }

    fn validation_errors(&self, object: &Value) -> Vec<String> {
        let text = |key: &str| object[key].as_str().unwrap();
        let kind = format!("{} {}", text("apiVersion"), text("kind"));
        let errors = self.0[&kind].iter_errors(object);
        errors
            .map(|error| format!("{} {error}", error.instance_path()))
            .collect()
    }
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn objects_match_the_crds() {
    let crds = CrdValidators::load_all();
    let objects = objects();
    for kind in [
        "Kustomization",
        "GitRepository",
        "HelmRelease",
        "HelmRepository",
        "OCIRepository",
        "Application",
        "AppProject",
    ] {
        let mut of_kind = objects.iter().filter(|(_, object)| object["kind"] == kind);
        let (_, object) = of_kind
            .next()
            .unwrap_or_else(|| panic!("no CRD for {kind}"));
        let mut wrong = object.clone();
        wrong["spec"]["intervall"] = json!("1h");
        assert_eq!(crds.validation_errors(&wrong).len(), 1, "{kind}");
    }
    let wrong = objects.iter().flat_map(|(name, object)| {
        let wrong = crds.validation_errors(object).into_iter();
        wrong.map(move |wrong| format!("{name}: {wrong}"))
    });
    assert_none(&wrong.collect::<Vec<_>>());
}

/// `docs/gitops.md` removes Flux without removing any resource, by suspending all of its objects.
#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn flux_objects_can_be_suspended() {
    let crds = CrdValidators::load_all();
    let of_flux = |object: &Value| {
        object["apiVersion"]
            .as_str()
            .unwrap()
            .contains("fluxcd.io/")
    };
    let mut seen = 0;
    for (name, mut object) in objects() {
        if of_flux(&object) {
            object["spec"]["suspend"] = json!(true);
            assert_none(
                &crds
                    .validation_errors(&object)
                    .iter()
                    .map(|it| format!("{name}: {it}"))
                    .collect::<Vec<_>>(),
            );
            seen += 1;
        }
    }
    assert!(seen > 0, "no Flux object was checked");
}
