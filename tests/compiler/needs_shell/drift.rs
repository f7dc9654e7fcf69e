//! Resources that differ from the file. The scripts keep those that differ in values that apply only to a new resource.

use gpuc_model::plan::{Change, Field, Resource};

use super::environment::Environment;
use super::lifecycle::Case;

/// Changes the fields of an existing resource, as the case defines it.
pub(super) fn drift(
    case: &Case,
    environment: &Environment,
    resource: &Resource,
    fields: &[&Field],
) {
    let mut state = environment.state();
    for field in fields {
        let before = state.clone();
        let known = (case.drift)(&mut state, resource, field);
        let about = format!("{}: {}", resource.kind.name, field.kind.name);
        assert!(
            known,
            "no drift is defined for {about}: add it to the function of this cloud"
        );
        assert_ne!(state, before, "{about} of {} does not drift", resource.name);
    }
    environment.set_state(&state);
}

/// Whether a field applies only to a new resource.
pub(super) fn applies_at_creation(field: &Field) -> bool {
    matches!(field.kind.change, Change::AtCreation { .. })
}

/// Asserts that the scripts keep an existing resource whose fields differ from values that apply at the creation.
pub(super) fn assert_keeps_initial_values(
    case: &Case,
    environment: &Environment,
    resource: &Resource,
    initial: &[&Field],
) {
    let before = environment.state();
    for field in initial {
        drift(case, environment, resource, &[field]);
        let script = format!("{}.sh", resource.script);
        let run = environment.run(&script, &["--allow-disruption"]);
        run.expect_success().expect_no_changes();
        environment.set_state(&before);
    }
}
