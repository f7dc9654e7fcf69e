//! Helm releases that nothing removes, because their CRDs may have other users' objects.

use gpuc_model::plan::{Chart, Crds, Delivery, Release};
use gpuc_syntax::shell;

use super::super::report::{Change, ClusterFate, Step};
use super::{Rollout, ids};

impl Rollout<'_> {
    fn release(&self, name: &str) -> Option<&Release> {
        let plan = self.before.and_then(|before| before.plan.as_ref())?;
        plan.releases.iter().find(|release| release.name == name)
    }

    /// Whether a release installs CRDs, which may have other users' objects.
    pub(super) fn brings_kinds(&self, name: &str) -> bool {
        let chart = self.release(name).map(|release| release.chart);
        chart.is_some_and(Chart::brings_kinds)
    }

    /// The commands that remove a release, depending on how it was deployed.
    pub(super) fn uninstalled(&self, name: &str) -> Vec<String> {
        let context = self.setting.before.context.as_ref();
        let context = context.map(|it| format!(" --kube-context {}", shell::quote(it)));
        let context = context.unwrap_or_default();
        let Some(release) = self.release(name) else {
            return Vec::new();
        };
        let namespace = shell::quote(&release.namespace);
        let plan = self.before.and_then(|before| before.plan.as_ref());
        match plan.map(|plan| &plan.delivery) {
            // Helm has no record of rendered charts.
            Some(Delivery::Gitops { guide, .. }) if guide.renders => {
                let chart = if release.is_oci() {
                    shell::quote(&release.oci_url())
                } else {
                    format!(
                        "{} --repo {}",
                        shell::quote(release.chart.name),
                        shell::quote(&release.repository)
                    )
                };
                // Values determine the objects of a chart and their names, so the controller's values are needed. Helm
                // reads them from standard input if the file is `-` (helm/helm `pkg/cli/values/options.go`, from
                // memory), and JSON is YAML.
                let values = serde_json::to_string(&release.values).unwrap_or_default();
                let (pipe, flag) = if matches!(values.as_str(), "" | "null" | "{}") {
                    (String::new(), "")
                } else {
                    (
                        format!("printf %s {} | ", shell::quote(&values)),
                        " --values -",
                    )
                };
                vec![format!(
                    "{pipe}helm template {} {chart} --version {} --namespace {namespace}{context}{flag} | {} delete \
                     --ignore-not-found --filename -",
                    shell::quote(name),
                    shell::quote(release.chart.version),
                    self.kubectl()
                )]
            }
            // The controller would reinstall a release that only Helm removed.
            Some(Delivery::Gitops { objects, guide, .. }) if self.setting.prunes => {
                let mut of_it: Vec<_> = objects.iter().filter(|it| it.component == name).collect();
                of_it.sort_by_key(|object| object.identity.kind != "HelmRelease");
                let kubectl = if guide.elsewhere {
                    "kubectl".to_owned()
                } else {
                    self.kubectl()
                };
                let delete = |object: &&gpuc_model::plan::Object| {
                    let identity = &object.identity;
                    let group = identity.api_version.split_once('/').map(|(group, _)| group);
                    let kind = identity.kind.to_lowercase();
                    let kind = match (group, kind.strip_suffix('y')) {
                        (None, _) => kind,
                        (Some(group), Some(stem)) => format!("{stem}ies.{group}"),
                        (Some(group), None) => format!("{kind}s.{group}"),
                    };
                    format!(
                        "{kubectl} delete {} {} --namespace {}",
                        shell::quote(&kind),
                        shell::quote(&identity.name),
                        shell::quote(identity.namespace.as_deref().unwrap_or(&guide.namespace))
                    )
                };
                of_it.iter().map(delete).collect()
            }
            _ => vec![format!(
                "helm uninstall {} --namespace {namespace}{context}",
                shell::quote(name)
            )],
        }
    }

    /// The optional steps that uninstall removed releases with CRDs, one for each.
    pub(super) fn kinds_left(&self) -> Vec<Step> {
        let is_removed =
            |change: &&Change| change.kind == "Helm release" && change.fate == ClusterFate::Removed;
        let mut removed: Vec<_> = (self.changes.iter().filter(is_removed))
            .flat_map(|change| change.names.iter().map(move |name| (change, name)))
            .filter(|(_, name)| self.brings_kinds(name) && !self.is_early(name))
            .collect();
        // Releases are uninstalled before those that they depend on.
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let position = |name: &String| {
            let mut steps = plan.iter().flat_map(|plan| &plan.steps);
            steps.position(|step| step.name == *name)
        };
        removed.sort_by_key(|(_, name)| std::cmp::Reverse(position(name)));
        let steps = removed.into_iter().filter_map(|(change, name)| {
            let chart = self.release(name)?.chart;
            let kubectl = self.kubectl();
            let list = |group: &&str| {
                format!(
                    "{kubectl} get \"$({kubectl} api-resources --api-group={group} --verbs=list --output=name | paste \
                     -sd, -)\" --all-namespaces"
                )
            };
            let effect = if chart.crds == Crds::Templates {
                "uninstalling it deletes its CRDs, and with them all users' objects of these kinds"
            } else {
                "its CRDs and all users' objects of these kinds stay, but no controller reconciles them any more"
            };
            let advice = if chart.crds == Crds::Templates {
                "Continue only if none of the listed objects is needed"
            } else {
                "Check the listed objects first"
            };
            let mut commands: Vec<String> = chart.groups.iter().map(list).collect();
            commands.extend(self.uninstalled(name));
            Some(Step {
                what: format!(
                    "Only if {name} is no longer needed by anything in the cluster, inside or outside this tree: \
                     {effect}. {advice}"
                ),
                commands,
                changes: ids(&[change]),
            })
        });
        steps.collect()
    }
}
