//! What to do in which order, where one run of the scripts and one sync are not enough.

use std::collections::BTreeSet;

use super::impact::Impact;
use super::judge::Setting;
use super::parts::Key;
use super::shown::{Change, ClusterFate, Step};
use crate::compile::Compilation;
use crate::model::POOL_LABEL;
use crate::plan::{Command, Word};
use crate::shell;

/// The steps; none where a run of the scripts and a sync do it.
pub(super) fn rollout(
    setting: &Setting<'_>,
    before: Option<&Compilation>,
    changes: &[Change],
) -> Vec<Step> {
    let of = |impacts: &[Impact]| -> Vec<&Change> {
        let these = changes
            .iter()
            .filter(|change| impacts.contains(&change.impact));
        these.collect()
    };
    let pools = |changes: &[&Change], gone: bool| -> BTreeSet<String> {
        let pools = changes.iter().filter(|change| change.kind == "pool");
        let these = pools.filter(|change| (change.fate == ClusterFate::Removed) == gone);
        these.flat_map(|change| change.names.clone()).collect()
    };
    let ids = |changes: &[&Change]| changes.iter().map(|change| change.id).collect::<Vec<_>>();
    let leaving = of(&[Impact::Deleted, Impact::Replaced]);
    let (gone, replaced) = (pools(&leaving, true), pools(&leaving, false));
    let rolled = of(&[Impact::NodesRecreated]);
    let drained = of(&[Impact::SlicesRecut, Impact::DriverRestarted]);
    let mut steps = Vec::new();
    for name in &replaced {
        steps.push(Step {
            what: format!(
                "Pool {name} cannot be changed as it is. In gpu-cluster.yaml leave it as it was and add a pool beside it, \
                 under another name, as it shall be; then build, review and commit"
            ),
            commands: vec!["gpuc build".to_owned()],
            changes: ids(&leaving),
        });
    }
    let makes = of(&[Impact::CapacityGained, Impact::Added, Impact::CapacityLost]);
    if !steps.is_empty() || !gone.is_empty() || !rolled.is_empty() {
        steps.push(Step {
            what: "Make what is new in the cloud, and see that its nodes are ready".to_owned(),
            commands: vec![
                "cloud/apply.sh --dry-run".to_owned(),
                "cloud/apply.sh".to_owned(),
            ],
            changes: ids(&makes),
        });
    }
    let driver = of(&[Impact::DriverRestarted]);
    let plugin = of(&[Impact::PluginRestarted]);
    if !driver.is_empty() && !plugin.is_empty() {
        steps.push(Step {
            what: "Bring the driver before the plugin: let the sync finish what installs drivers, and look that \
                   nvidia-smi answers on a node, before what advertises GPUs follows"
                .to_owned(),
            commands: Vec::new(),
            changes: ids(&[driver, plugin].concat()),
        });
    }
    for name in &pools(&drained, false) {
        steps.push(Step {
            what: format!(
                "Free the GPUs of pool {name}, node by node, so that they can be taken out of use"
            ),
            commands: drain(name),
            changes: ids(&drained),
        });
    }
    if !rolled.is_empty() {
        steps.push(Step {
            what: "Let the cloud drain nodes and make them again, when jobs may be interrupted"
                .to_owned(),
            commands: vec!["cloud/apply.sh --allow-disruption".to_owned()],
            changes: ids(&rolled),
        });
    }
    for name in gone.iter().chain(&replaced) {
        steps.push(Step {
            what: format!("When nothing needs the old nodes of pool {name} any more, drain them"),
            commands: drain(name),
            changes: ids(&leaving),
        });
        let commands = removal(setting, before, name);
        let out = if gone.contains(name) {
            ""
        } else {
            ", take it out of gpu-cluster.yaml, build and commit"
        };
        if !commands.is_empty() {
            steps.push(Step {
                what: format!("Delete pool {name}{out}: nothing else does"),
                commands,
                changes: ids(&leaving),
            });
        }
    }
    steps
}

fn drain(pool: &str) -> Vec<String> {
    let nodes = shell::quote(&format!("{POOL_LABEL}={pool}"));
    vec![
        format!("kubectl cordon -l {nodes}"),
        format!("kubectl drain -l {nodes} --ignore-daemonsets --delete-emptydir-data"),
    ]
}

/// The commands that remove a pool from the cloud.
fn removal(setting: &Setting<'_>, before: Option<&Compilation>, pool: &str) -> Vec<String> {
    let key = Key::Pool(pool.to_owned());
    let plan = before.and_then(|before| before.plan.as_ref());
    let Some(plan) = plan.filter(|_| setting.before.all.contains_key(&key)) else {
        return Vec::new();
    };
    let script = format!("pool-{pool}");
    let resources = plan.provisioning.resources.iter();
    let of_pool = resources.filter(|resource| resource.script == script);
    let commands = of_pool.flat_map(|resource| &resource.delete);
    commands.filter_map(text).collect()
}

/// A command as it is typed; `None` where a part of it is known only to the script.
fn text(command: &Command) -> Option<String> {
    let word = |word: &Word| match word {
        Word::Text(text) => Some(shell::quote(text)),
        _ => None,
    };
    let words: Option<Vec<String>> = command.0.iter().map(word).collect();
    Some(words?.join(" "))
}
