//! Externally managed labels, taints and tags are kept; those that gpuc set and no longer wants are removed.

use serde_json::{Value, json};

use super::environment::Environment;
use super::lifecycle::Case;

/// External changes between runs, and settings that are removed from the file.
pub(crate) struct ExternalSettings {
    pub(crate) case: &'static Case,
    /// Texts in the file to replace, and their replacements.
    pub(crate) removals: &'static [(&'static str, &'static str)],
    /// Adds external entries to every set.
    pub(crate) add_external: fn(&mut Value),
    /// Others change a value of gpuc's in every set, where the change drains no node.
    pub(crate) change_own: fn(&mut Value),
    /// The current sets.
    pub(crate) observed_sets: fn(&Value) -> Value,
    /// What a run says of those it keeps.
    pub(crate) retention_messages: &'static [&'static str],
}

/// The expected sets with external entries, and after the removal from the file.
pub(crate) fn assert_external_settings_are_kept(
    shared: &ExternalSettings,
    planted: &Value,
    left: &Value,
) {
    let stage = shared.case.stage_after_first_run();
    modify_state(&stage, shared.add_external);
    let world = stage.state();
    assert_eq!((shared.observed_sets)(&world), *planted, "what others add");

    let run = stage
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    for kept in shared.retention_messages {
        assert!(
            run.stderr.contains(kept),
            "not said: {kept}\n{}",
            run.stderr
        );
    }
    assert_eq!(stage.state(), world);

    modify_state(&stage, shared.change_own);
    assert_ne!((shared.observed_sets)(&stage.state()), *planted);
    stage.run("apply.sh", &[]).expect_success();
    assert_eq!(
        (shared.observed_sets)(&stage.state()),
        *planted,
        "what is set back"
    );
    stage
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();

    // The same cloud, and another file.
    let mut config = shared.case.config.to_owned();
    for (before, after) in shared.removals {
        assert!(config.contains(before), "{before}");
        config = config.replace(before, after);
    }
    let next = Environment::new(&config, "");
    next.set_state(&stage.state());
    next.run("apply.sh", &["--allow-disruption"])
        .expect_success();
    assert_eq!(
        (shared.observed_sets)(&next.state()),
        *left,
        "what left the file"
    );
    let world = next.state();
    next.run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_eq!(next.state(), world);

    // Externally set values are not recorded as gpuc's, even under a name that gpuc once used.
    modify_state(&next, shared.add_external);
    next.run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    let name: &str = &next.plan.cluster;
    next.run("teardown.sh", &["--yes", name]).expect_success();
}

fn modify_state(stage: &Environment, how: fn(&mut Value)) {
    let mut world = stage.state();
    how(&mut world);
    stage.set_state(&world);
}

/// The entries of a map that a test speaks of: none of those that the cloud and its tools add.
pub(crate) fn without_keys(map: &Value, theirs: &[&str]) -> Value {
    let Some(map) = map.as_object() else {
        return json!({});
    };
    let kept = map.iter();
    let kept = kept.filter(|(key, _)| !theirs.iter().any(|prefix| key.starts_with(prefix)));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
