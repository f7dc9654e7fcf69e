//! Notebook servers of JupyterHub on drained nodes: pods that no controller recreates.

use gpuc_compile::charts::JUPYTERHUB;
use gpuc_syntax::shell;

use super::super::entities::Key;
use super::super::fields::below;
use super::super::report::{Change, ClusterFate, Step};
use super::{Rollout, ids};

/// The label selector of notebook server pods.
///
/// Source: jupyterhub/kubespawner `kubespawner/spawner.py` (`component_label`), as of 91f9768, read 2026-11-22.
const SERVERS: &str = "component=singleuser-server";

impl Rollout<'_> {
    /// Inserts a step about notebook servers before each step that drains their nodes.
    pub(super) fn with_servers(&self, steps: Vec<Step>) -> Vec<Step> {
        let (pools, namespace) = self.of_servers();
        let mut all = Vec::new();
        for step in steps {
            let drains: Vec<&String> = step
                .commands
                .iter()
                .filter(|command| command.contains(" drain "))
                .collect();
            let has_some = |(pool, nodes): &&(String, Vec<String>)| {
                drains.iter().any(|command| {
                    if command.contains(&shell::quote(&self.labels(pool))) {
                        return true;
                    }
                    let mut words = command.split([' ', '\'', ',', '=']);
                    words.any(|word| word == pool || nodes.iter().any(|node| node == word))
                })
            };
            for (pool, _) in pools.iter().filter(has_some) {
                all.push(Step {
                    what: format!(
                        "JupyterHub starts notebook servers on pool {pool}, and nothing recreates their pods: `kubectl \
                         drain` does not evict them without --force, and data that is not on a volume is lost with \
                         them. Ask users to save their work and stop them before you continue, and to start none there \
                         until the nodes are uncordoned"
                    ),
                    commands: vec![format!(
                        "{} get pods --namespace {} -l {SERVERS} --output wide",
                        self.kubectl(),
                        shell::quote(&namespace)
                    )],
                    changes: step.changes.clone(),
                });
            }
            all.push(step);
        }
        all
    }

    /// The step that deletes notebook servers of a removed hub: it does not stop them when it terminates.
    ///
    /// Source: jupyterhub/zero-to-jupyterhub-k8s `jupyterhub/files/hub/jupyterhub_config.py`
    /// (`c.JupyterHub.cleanup_servers = False`), read 2026-11-22.
    pub(super) fn servers_left(&self) -> Option<Step> {
        let gone = self.changes.iter().filter(|change| {
            let mut names = change.names.iter();
            change.kind == "Helm release"
                && change.fate == ClusterFate::Removed
                && names.any(|name| {
                    let part = self.setting.before.all.get(&Key::Release(name.clone()));
                    let chart = part.and_then(|part| part.chart);
                    chart.is_some_and(|chart| chart.name == JUPYTERHUB.name)
                })
        });
        let gone: Vec<&Change> = gone.collect();
        let (_, namespace) = self.of_servers();
        let pods = |verb: &str| {
            format!(
                "{} {verb} pods --namespace {} -l {SERVERS}",
                self.kubectl(),
                shell::quote(&namespace)
            )
        };
        (!gone.is_empty()).then(|| Step {
            what: "When the hub is gone, delete the notebook servers that still run: nothing stops them when they are \
                   idle, and they hold their GPUs. Data that is not on a volume is lost with them; the users' own \
                   PersistentVolumeClaims stay"
                .to_owned(),
            commands: vec![pods("get"), pods("delete")],
            changes: ids(&gone),
        })
    }

    /// The pools on which JupyterHub starts notebook servers, with their hosts, and its namespace.
    fn of_servers(&self) -> (Vec<(String, Vec<String>)>, String) {
        let mut parts = self.setting.before.all.iter();
        let hub = parts.find_map(|(_, part)| {
            let chart = part.chart.filter(|chart| chart.name == JUPYTERHUB.name);
            chart.map(|_| part)
        });
        let Some(hub) = hub else {
            return (Vec::new(), String::new());
        };
        let starts_on = |key: &str, value: &str| {
            let ending = below("node_selector", key);
            hub.leaves
                .iter()
                .any(|(path, leaf)| path.ends_with(&ending) && leaf.value == *value)
        };
        let cluster = self.before.and_then(|before| before.cluster.as_ref());
        let pools = cluster.iter().flat_map(|cluster| &cluster.pools);
        let pools = pools.filter(|pool| {
            let labels = &pool.selector;
            labels
                .iter()
                .all(|label| starts_on(&label.key, &label.value))
        });
        let pools = pools.map(|pool| {
            let name = pool.name.value.clone();
            let part = self.setting.before.all.get(&Key::Pool(name.clone()));
            let is_host = self.setting.before.own_hosts;
            let hosts = part.filter(|_| is_host).map(|part| part.members.clone());
            (name, hosts.unwrap_or_default().into_iter().collect())
        });
        let namespace = hub.leaves.get("namespace");
        let namespace = namespace.and_then(|leaf| leaf.value.as_str());
        (pools.collect(), namespace.unwrap_or_default().to_owned())
    }
}
