//! Helm releases that nothing removes, because their CRDs may have other users' objects.

use std::cmp::Reverse;

use gpuc_model::plan::{Chart, Crds, Delivery, Guide, Object, Release};
use gpuc_syntax::shell;

use super::super::report::{Change, Status, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The optional steps that uninstall removed releases with CRDs, one for each.
pub(super) fn uninstall_releases_with_crds(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut removed: Vec<(&Change, &String)> = (rollout.changes.iter())
        .filter(|change| change.kind == "Helm release" && change.status == Status::Removed)
        .flat_map(|change| change.names.iter().map(move |name| (change, name)))
        .filter(|(_, name)| rollout.installs_crds(name) && !rollout.is_removed_plugin(name))
        .collect();
    // Releases are uninstalled before those that they depend on.
    let plan = rollout.before.and_then(|before| before.plan.as_ref());
    let install_position = |name: &String| {
        let mut steps = plan.iter().flat_map(|plan| &plan.steps);
        steps.position(|step| step.name == *name)
    };
    removed.sort_by_key(|(_, name)| Reverse(install_position(name)));
    let kubectl = rollout.kubectl();
    let list_objects = |group: &&str| {
        format!(
            "{kubectl} get \"$({kubectl} api-resources --api-group={group} --verbs=list --output=name | paste -sd, \
             -)\" --all-namespaces"
        )
    };
    let steps = removed.into_iter().filter_map(|(change, name)| {
        let chart = rollout.old_release(name)?.chart;
        let (effect, advice) = if chart.crds == Crds::Templates {
            (
                "uninstalling it deletes its CRDs, and with them all users' objects of these kinds",
                "Continue only if none of the listed objects is needed",
            )
        } else {
            (
                "its CRDs and all users' objects of these kinds stay, but no controller reconciles them any more",
                "Check the listed objects first",
            )
        };
        Some(Step {
            instruction: format!(
                "Only if {name} is no longer needed by anything in the cluster, inside or outside this tree: {effect}. \
                 {advice}"
            ),
            commands: (chart.api_groups.iter().map(list_objects))
                .chain(rollout.uninstall_commands(name))
                .collect(),
            changes: change_ids(&[change]),
        })
    });
    Phase::UninstallReleases.plan(steps)
}

impl Rollout<'_> {
    /// A release of the old state.
    fn old_release(&self, name: &str) -> Option<&Release> {
        let plan = self.before.and_then(|before| before.plan.as_ref())?;
        plan.releases.iter().find(|release| release.name == name)
    }

    /// Whether a release installs CRDs, which may have other users' objects.
    pub(super) fn installs_crds(&self, name: &str) -> bool {
        let chart = self.old_release(name).map(|release| release.chart);
        chart.is_some_and(Chart::installs_crds)
    }

    /// The commands that remove a release, depending on how it was deployed.
    pub(super) fn uninstall_commands(&self, name: &str) -> Vec<String> {
        let Some(release) = self.old_release(name) else {
            return Vec::new();
        };
        let plan = self.before.and_then(|before| before.plan.as_ref());
        match plan.map(|plan| &plan.delivery) {
            // Helm has no record of rendered charts.
            Some(Delivery::Gitops { guide, .. }) if guide.renders => {
                vec![self.delete_rendered_command(release)]
            }
            // The controller would reinstall a release that only Helm removed.
            Some(Delivery::Gitops { objects, guide, .. }) if self.setting.prunes_removed => {
                let mut controller_objects: Vec<&Object> = (objects.iter())
                    .filter(|object| object.component == name)
                    .collect();
                controller_objects.sort_by_key(|object| object.identity.kind != "HelmRelease");
                (controller_objects.iter())
                    .map(|object| self.delete_controller_object_command(guide, object))
                    .collect()
            }
            _ => vec![format!(
                "helm uninstall {} --namespace {}{}",
                shell::quote(name),
                shell::quote(&release.namespace),
                self.helm_context_flag()
            )],
        }
    }

    /// The flag of Helm that selects the old cluster, if the file sets a context.
    fn helm_context_flag(&self) -> String {
        let context = self.setting.before.context.as_ref();
        context.map_or_else(String::new, |context| {
            format!(" --kube-context {}", shell::quote(context))
        })
    }

    /// The command that renders a chart as the GitOps controller does, and deletes its objects.
    fn delete_rendered_command(&self, release: &Release) -> String {
        let chart = if release.is_oci() {
            shell::quote(&release.oci_url())
        } else {
            format!(
                "{} --repo {}",
                shell::quote(release.chart.name),
                shell::quote(&release.repository)
            )
        };
        // Values determine the objects of a chart and their names, so the controller's values are needed. Helm reads
        // them from standard input if the file is `-` (helm/helm `pkg/cli/values/options.go`, from memory), and JSON is
        // YAML.
        let values = serde_json::to_string(&release.values).unwrap_or_default();
        let (pipe, flag) = if matches!(values.as_str(), "" | "null" | "{}") {
            (String::new(), "")
        } else {
            (
                format!("printf %s {} | ", shell::quote(&values)),
                " --values -",
            )
        };
        format!(
            "{pipe}helm template {} {chart} --version {} --namespace {}{}{flag} | {} delete --ignore-not-found \
             --filename -",
            shell::quote(&release.name),
            shell::quote(release.chart.version),
            shell::quote(&release.namespace),
            self.helm_context_flag(),
            self.kubectl()
        )
    }

    /// The command that deletes an object of the GitOps controller, which may run in another cluster.
    fn delete_controller_object_command(&self, guide: &Guide, object: &Object) -> String {
        let identity = &object.identity;
        let group = identity.api_version.split_once('/').map(|(group, _)| group);
        let kind = identity.kind.to_lowercase();
        let resource = match (group, kind.strip_suffix('y')) {
            (None, _) => kind,
            (Some(group), Some(stem)) => format!("{stem}ies.{group}"),
            (Some(group), None) => format!("{kind}s.{group}"),
        };
        let kubectl = if guide.elsewhere {
            "kubectl".to_owned()
        } else {
            self.kubectl()
        };
        format!(
            "{kubectl} delete {} {} --namespace {}",
            shell::quote(&resource),
            shell::quote(&identity.name),
            shell::quote(identity.namespace.as_deref().unwrap_or(&guide.namespace))
        )
    }
}
