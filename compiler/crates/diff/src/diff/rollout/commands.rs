//! Commands of the steps, as typed by the user.

use gpuc_model::POOL_LABEL;
use gpuc_model::plan::{Argument, Command, Resource};
use gpuc_syntax::shell;

use super::super::entities::EntityKey;
use super::states::Rollout;

/// Kinds whose names also exist in other API groups.
const AMBIGUOUS: &[&str] = &["Network"];

impl Rollout<'_> {
    /// `kubectl`, with the context of the cluster if the file sets one.
    pub(super) fn kubectl(&self) -> String {
        let [old, new] =
            [self.setting.before, self.setting.after].map(|side| side.context.as_ref());
        match old.or(new) {
            Some(context) => format!("kubectl --context {}", shell::quote(context)),
            None => "kubectl".to_owned(),
        }
    }

    /// The label selector of a pool's current nodes: existing nodes have their own labels.
    pub(super) fn node_selector(&self, pool: &str) -> String {
        let [old, new] = self.both_pools(pool);
        let selector = old.or(new).map(|pool| pool.selector.as_slice());
        let labels: Vec<String> = (selector.unwrap_or_default().iter())
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        if labels.is_empty() {
            format!("{POOL_LABEL}={pool}")
        } else {
            labels.join(",")
        }
    }

    /// The command that lists a pool's current nodes.
    pub(super) fn get_nodes_command(&self, pool: &str) -> String {
        let selector = shell::quote(&self.node_selector(pool));
        format!("{} get nodes -l {selector}", self.kubectl())
    }

    /// The commands that drain a pool's current nodes.
    pub(super) fn drain_pool_commands(&self, pool: &str) -> Vec<String> {
        self.drain_commands(&shell::quote(&self.node_selector(pool)))
    }

    /// The commands that drain the nodes of a label selector, which is quoted for the shell.
    pub(super) fn drain_commands(&self, selector: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        vec![
            format!("{kubectl} cordon -l {selector}"),
            format!("{kubectl} drain -l {selector} --ignore-daemonsets --delete-emptydir-data"),
        ]
    }

    /// The resource name of a kind for kubectl: with its group if other groups have a kind of that name.
    fn kubectl_kind(&self, kind: &str, name: &str) -> String {
        let resource = kind.to_lowercase();
        if !AMBIGUOUS.contains(&kind) {
            return resource;
        }
        let group = [self.setting.before, self.setting.after]
            .into_iter()
            .flat_map(|side| side.by_key.keys())
            .find_map(|key| match key {
                EntityKey::Object { group, .. } if key.kind() == kind && key.name() == name => {
                    Some(group)
                }
                _ => None,
            })
            .filter(|group| !group.is_empty());
        match group {
            Some(group) => format!("{resource}s.{group}"),
            None => resource,
        }
    }

    /// The command that deletes an object, by its kind and `namespace/name`.
    pub(super) fn delete_command(&self, kind: &str, name: &str) -> String {
        let kind = shell::quote(&self.kubectl_kind(kind, name));
        let kubectl = self.kubectl();
        match name.split_once('/') {
            Some((namespace, name)) => format!(
                "{kubectl} delete {kind} {} --namespace {}",
                shell::quote(name),
                shell::quote(namespace)
            ),
            None => format!("{kubectl} delete {kind} {}", shell::quote(name)),
        }
    }

    /// The command that waits until an object is deleted, by its kind and `namespace/name`.
    pub(super) fn wait_for_deletion_command(&self, kind: &str, full_name: &str) -> String {
        let kind = kind.to_lowercase();
        let (flag, name) = match full_name.split_once('/') {
            Some((namespace, name)) => (format!(" --namespace {}", shell::quote(namespace)), name),
            None => (String::new(), full_name),
        };
        format!(
            "{} wait --for=delete {}{flag} --timeout=10m",
            self.kubectl(),
            shell::quote(&format!("{kind}/{name}")),
        )
    }

    /// The commands that remove matching cloud resources of the old state, if they can be typed by hand.
    pub(super) fn removal_commands(&self, matches: impl Fn(&Resource) -> bool) -> Vec<String> {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        (plan.iter().flat_map(|plan| &plan.provisioning.resources))
            .filter(|resource| matches(resource))
            .flat_map(|resource| {
                if resource.manual_delete.is_empty() {
                    &resource.delete
                } else {
                    &resource.manual_delete
                }
            })
            .filter_map(command_line)
            .collect()
    }
}

/// A command as typed; `None` if a part of it is known only to the script.
fn command_line(command: &Command) -> Option<String> {
    let word = |word: &Argument| match word {
        Argument::Text(text) => Some(shell::quote(text)),
        _ => None,
    };
    let words: Option<Vec<String>> = command.0.iter().map(word).collect();
    Some(words?.join(" "))
}
