//! Releases that nothing removes, because with what they bring would go what is other people's.

use super::super::shown::{Change, ClusterFate, Step};
use super::{Rollout, ids};
use crate::chart::{Chart, Crds};
use crate::plan::{Delivery, Release};
use crate::shell;

impl Rollout<'_> {
    fn release(&self, name: &str) -> Option<&Release> {
        let plan = self.before.and_then(|before| before.plan.as_ref())?;
        plan.releases.iter().find(|release| release.name == name)
    }

    /// Whether a release brings kinds, of which others may have objects.
    pub(super) fn brings_kinds(&self, name: &str) -> bool {
        let chart = self.release(name).map(|release| release.chart);
        chart.is_some_and(Chart::brings_kinds)
    }

    /// The commands that remove a release, by what brought it.
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
            // Helm knows nothing of what was rendered.
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
                // Values decide what a chart makes, and what that is called: those that the tool had, not the chart's.
                // Helm reads them from its standard input where the file is `-` (helm/helm `pkg/cli/values/options.go`,
                // from memory), and JSON is YAML.
                let values = serde_json::to_string(&release.values).unwrap_or_default();
                let (told, read) = if matches!(values.as_str(), "" | "null" | "{}") {
                    (String::new(), "")
                } else {
                    (
                        format!("printf %s {} | ", shell::quote(&values)),
                        " --values -",
                    )
                };
                vec![format!(
                    "{told}helm template {} {chart} --version {} --namespace {namespace}{context}{read} | {} delete \
                     --ignore-not-found --filename -",
                    shell::quote(name),
                    shell::quote(release.chart.version),
                    self.kubectl()
                )]
            }
            // The tool would bring again what Helm alone removes.
            Some(Delivery::Gitops { objects, guide, .. }) if self.setting.prunes => {
                let mut of_it: Vec<_> = objects.iter().filter(|it| it.component == name).collect();
                of_it.sort_by_key(|object| object.identity.kind != "HelmRelease");
                let kubectl = if guide.elsewhere {
                    "kubectl".to_owned()
                } else {
                    self.kubectl()
                };
                let delete = |object: &&crate::plan::Object| {
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

    /// Releases that left the tree and bring kinds: each is a step of its own, for those who want to.
    pub(super) fn kinds_left(&self) -> Vec<Step> {
        let gone =
            |change: &&Change| change.kind == "Helm release" && change.fate == ClusterFate::Removed;
        let gone = self.changes.iter().filter(gone);
        let all = gone.flat_map(|change| change.names.iter().map(move |name| (change, name)));
        let these = all.filter(|(_, name)| self.brings_kinds(name) && !self.is_early(name));
        let mut these: Vec<_> = these.collect();
        // What needs another one goes before it.
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let place = |name: &String| {
            let mut steps = plan.iter().flat_map(|plan| &plan.steps);
            steps.position(|step| step.name == *name)
        };
        these.sort_by_key(|(_, name)| std::cmp::Reverse(place(name)));
        let steps = these.into_iter().filter_map(|(change, name)| {
            let chart = self.release(name)?.chart;
            let kubectl = self.kubectl();
            let list = |group: &&str| {
                format!(
                    "{kubectl} get \"$({kubectl} api-resources --api-group={group} --verbs=list --output=name | paste -sd, -)\" \
                     --all-namespaces"
                )
            };
            let goes = if chart.crds == Crds::Templates {
                "with it go the kinds that it brings, and with these everybody's objects of them, whoever made them"
            } else {
                "the kinds that it brought stay, and so do everybody's objects of them, but nothing acts on these any more"
            };
            let rest = if chart.crds == Crds::Templates {
                "Go on only when nothing of them is listed that anybody needs"
            } else {
                "Look who has some"
            };
            let mut commands: Vec<String> = chart.groups.iter().map(list).collect();
            commands.extend(self.uninstalled(name));
            Some(Step {
                what: format!(
                    "Only if nobody in the cluster needs {name}, whatever this tree says: {goes}. {rest}"
                ),
                commands,
                changes: ids(&[change]),
            })
        });
        steps.collect()
    }
}
