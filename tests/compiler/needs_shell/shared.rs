//! Externally managed labels, taints and tags are kept; those that gpuc set and no longer wants are removed.

use serde_json::{Value, json};

use super::life::Case;
use super::stage::Stage;

/// External changes between runs, and settings that are removed from the file.
pub(crate) struct Shared {
    pub(crate) case: &'static Case,
    /// Texts in the file to replace, and their replacements.
    pub(crate) leaves: &'static [(&'static str, &'static str)],
    /// Adds external entries to every set.
    pub(crate) plant: fn(&mut Value),
    /// Others change a value of gpuc's in every set, where the change drains no node.
    pub(crate) spoil: fn(&mut Value),
    /// The current sets.
    pub(crate) shown: fn(&Value) -> Value,
    /// What a run says of those it keeps.
    pub(crate) kept: &'static [&'static str],
}

/// The expected sets with external entries, and after the removal from the file.
pub(crate) fn others_are_left_alone(shared: &Shared, planted: &Value, left: &Value) {
    let stage = shared.case.applied();
    change(&stage, shared.plant);
    let world = stage.state();
    assert_eq!((shared.shown)(&world), *planted, "what others add");

    let run = stage.run("apply.sh", &[]).went_well().changed_nothing();
    for kept in shared.kept {
        assert!(run.said.contains(kept), "not said: {kept}\n{}", run.said);
    }
    assert_eq!(stage.state(), world);

    change(&stage, shared.spoil);
    assert_ne!((shared.shown)(&stage.state()), *planted);
    stage.run("apply.sh", &[]).went_well();
    assert_eq!((shared.shown)(&stage.state()), *planted, "what is set back");
    stage.run("apply.sh", &[]).went_well().changed_nothing();

    // The same cloud, and another file.
    let mut config = shared.case.config.to_owned();
    for (before, after) in shared.leaves {
        assert!(config.contains(before), "{before}");
        config = config.replace(before, after);
    }
    let next = Stage::new(&config, "");
    next.set_state(&stage.state());
    next.run("apply.sh", &["--allow-disruption"]).went_well();
    assert_eq!((shared.shown)(&next.state()), *left, "what left the file");
    let world = next.state();
    next.run("apply.sh", &[]).went_well().changed_nothing();
    assert_eq!(next.state(), world);

    // Externally set values are not recorded as gpuc's, even under a name that gpuc once used.
    change(&next, shared.plant);
    next.run("apply.sh", &[]).went_well().changed_nothing();
    let name: &str = &next.plan.cluster;
    next.run("teardown.sh", &["--yes", name]).went_well();
}

fn change(stage: &Stage, how: fn(&mut Value)) {
    let mut world = stage.state();
    how(&mut world);
    stage.set_state(&world);
}

/// The entries of a map that a test speaks of: none of those that the cloud and its tools add.
pub(crate) fn without(map: &Value, theirs: &[&str]) -> Value {
    let Some(map) = map.as_object() else {
        return json!({});
    };
    let kept = map.iter();
    let kept = kept.filter(|(key, _)| !theirs.iter().any(|prefix| key.starts_with(prefix)));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
