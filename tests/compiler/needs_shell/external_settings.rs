//! Externally managed labels, taints and tags are kept. Those that gpuc set and that are no longer in the file are
//! removed.

use serde_json::{Value, json};

use super::environment::Environment;
use super::lifecycle::Case;

/// External changes between runs, and settings that are removed from the file.
pub(crate) struct ExternalSettings {
    pub(crate) case: &'static Case,
    /// Texts in the file to replace, and their replacements.
    pub(crate) removals: &'static [(&'static str, &'static str)],
    /// Adds external entries to every set of labels, taints or tags.
    pub(crate) add_external: fn(&mut Value),
    /// Changes a value that gpuc set in every set for which the correction drains no node.
    pub(crate) change_own: fn(&mut Value),
    /// The current content of the sets.
    pub(crate) observed_sets: fn(&Value) -> Value,
    /// The messages about the kept entries.
    pub(crate) retention_messages: &'static [&'static str],
}

/// Asserts the content of the sets with external entries, and after settings are removed from the file.
pub(crate) fn assert_external_settings_are_kept(
    shared: &ExternalSettings,
    planted: &Value,
    left: &Value,
) {
    let environment = shared.case.environment_after_first_run();
    modify_state(&environment, shared.add_external);
    let state = environment.state();
    assert_eq!(
        (shared.observed_sets)(&state),
        *planted,
        "the external entries"
    );

    let run = environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    for kept in shared.retention_messages {
        assert!(
            run.stderr.contains(kept),
            "not reported: {kept}\n{}",
            run.stderr
        );
    }
    assert_eq!(environment.state(), state);

    modify_state(&environment, shared.change_own);
    assert_ne!((shared.observed_sets)(&environment.state()), *planted);
    environment.run("apply.sh", &[]).expect_success();
    assert_eq!(
        (shared.observed_sets)(&environment.state()),
        *planted,
        "the corrected sets"
    );
    environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();

    // The same cloud with another file.
    let mut config = shared.case.config.to_owned();
    for (before, after) in shared.removals {
        assert!(config.contains(before), "{before}");
        config = config.replace(before, after);
    }
    let next = Environment::new(&config, "");
    next.set_state(&environment.state());
    next.run("apply.sh", &["--allow-disruption"])
        .expect_success();
    assert_eq!(
        (shared.observed_sets)(&next.state()),
        *left,
        "the sets after the removal from the file"
    );
    let state = next.state();
    next.run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(next.state(), state);

    // External values are not recorded as set by gpuc, even under a name that gpuc set earlier.
    modify_state(&next, shared.add_external);
    next.run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    let name: &str = &next.plan.cluster;
    next.run("teardown.sh", &["--yes", name]).expect_success();
}

fn modify_state(environment: &Environment, how: fn(&mut Value)) {
    let mut state = environment.state();
    how(&mut state);
    environment.set_state(&state);
}

/// The entries of a map without these keys, which the cloud and its tools add.
pub(crate) fn without_keys(map: &Value, external_keys: &[&str]) -> Value {
    let Some(map) = map.as_object() else {
        return json!({});
    };
    let kept = map.iter();
    let kept = kept.filter(|(key, _)| !external_keys.iter().any(|prefix| key.starts_with(prefix)));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
