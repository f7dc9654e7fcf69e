//! Notebook servers of JupyterHub on drained nodes: pods that no controller recreates.

use gpuc_compile::charts::JUPYTERHUB;
use gpuc_model::Pool;
use gpuc_syntax::shell;

use super::super::entities::{Entity, EntityKey};
use super::super::fields::child_path;
use super::super::report::{Change, Status, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The label selector of notebook server pods.
///
/// Source: jupyterhub/kubespawner `kubespawner/spawner.py` (`component_label`), as of 91f9768, read 2026-11-22.
const SERVERS: &str = "component=singleuser-server";

/// A pool on which JupyterHub starts notebook servers.
struct NotebookPool {
    name: String,
    /// The names of its nodes, if they are the user's own hosts.
    hosts: Vec<String>,
}

/// Inserts a step about notebook servers before each step that drains their nodes.
pub(super) fn insert_notebook_warnings(rollout: &Rollout<'_>, steps: Vec<Step>) -> Vec<Step> {
    let pools = rollout.notebook_pools();
    let list = rollout.notebook_servers_command("get");
    let warn = |pool: &NotebookPool, drain: &Step| Step {
        instruction: format!(
            "JupyterHub starts notebook servers on pool {}, and nothing recreates their pods: `kubectl drain` does not \
             evict them without --force, and data that is not on a volume is lost with them. Ask users to save their \
             work and stop them before you continue, and to start none there until the nodes are uncordoned",
            pool.name
        ),
        commands: vec![format!("{list} --output wide")],
        changes: drain.changes.clone(),
    };
    let mut all = Vec::new();
    for step in steps {
        let affected = pools.iter().filter(|pool| rollout.drains_pool(&step, pool));
        all.extend(affected.map(|pool| warn(pool, &step)));
        all.push(step);
    }
    all
}

/// The step that deletes notebook servers of a removed hub: it does not stop them when it terminates.
///
/// Source: jupyterhub/zero-to-jupyterhub-k8s `jupyterhub/files/hub/jupyterhub_config.py`
/// (`c.JupyterHub.cleanup_servers = False`), read 2026-11-22.
pub(super) fn delete_notebook_servers(rollout: &Rollout<'_>) -> Vec<Planned> {
    let is_hub = |release: &String| {
        let key = EntityKey::Release(release.clone());
        rollout
            .setting
            .before
            .by_key
            .get(&key)
            .is_some_and(is_jupyterhub)
    };
    let removed: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| change.kind == "Helm release" && change.status == Status::Removed)
        .filter(|change| change.names.iter().any(is_hub))
        .collect();
    Phase::DeleteData.plan((!removed.is_empty()).then(|| Step {
        instruction: "When the hub is gone, delete the notebook servers that still run: nothing stops them when they are \
               idle, and they hold their GPUs. Data that is not on a volume is lost with them; the users' own \
               PersistentVolumeClaims stay"
            .to_owned(),
        commands: vec![
            rollout.notebook_servers_command("get"),
            rollout.notebook_servers_command("delete"),
        ],
        changes: change_ids(&removed),
    }))
}

impl Rollout<'_> {
    /// The old release of JupyterHub.
    fn find_hub(&self) -> Option<&Entity> {
        self.setting
            .before
            .by_key
            .values()
            .find(|entity| is_jupyterhub(entity))
    }

    /// The command that applies a verb of kubectl to all notebook servers.
    fn notebook_servers_command(&self, verb: &str) -> String {
        let namespace = (self.find_hub())
            .and_then(|hub| hub.fields.get("namespace")?.value.as_str())
            .unwrap_or_default();
        format!(
            "{} {verb} pods --namespace {} -l {SERVERS}",
            self.kubectl(),
            shell::quote(namespace)
        )
    }

    /// The pools on which JupyterHub starts notebook servers.
    fn notebook_pools(&self) -> Vec<NotebookPool> {
        let (Some(hub), Some(before)) = (self.find_hub(), self.before) else {
            return Vec::new();
        };
        let selects = |key: &str, value: &str| {
            let suffix = child_path("node_selector", key);
            (hub.fields.iter()).any(|(path, leaf)| path.ends_with(&suffix) && leaf.value == *value)
        };
        let has_servers =
            |pool: &&Pool| (pool.selector.iter()).all(|label| selects(&label.key, &label.value));
        (before.cluster.iter().flat_map(|cluster| &cluster.pools))
            .filter(has_servers)
            .map(|pool| {
                let name = pool.name.value.clone();
                let entity = self
                    .setting
                    .before
                    .by_key
                    .get(&EntityKey::Pool(name.clone()));
                let hosts = entity
                    .filter(|_| self.setting.before.has_user_hosts)
                    .map(|entity| entity.members.iter().cloned().collect())
                    .unwrap_or_default();
                NotebookPool { name, hosts }
            })
            .collect()
    }

    /// Whether a step drains nodes of a pool.
    fn drains_pool(&self, step: &Step, pool: &NotebookPool) -> bool {
        let selector = shell::quote(&self.node_selector(&pool.name));
        (step.commands.iter())
            .filter(|command| command.contains(" drain "))
            .any(|command| {
                command.contains(&selector)
                    || (command.split([' ', '\'', ',', '=']))
                        .any(|word| word == pool.name || pool.hosts.iter().any(|host| host == word))
            })
    }
}

fn is_jupyterhub(entity: &Entity) -> bool {
    entity
        .chart
        .is_some_and(|chart| chart.name == JUPYTERHUB.name)
}
