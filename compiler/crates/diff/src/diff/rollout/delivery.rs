//! Delivery of a change: the build of the tree, the deployment and the verification.

use gpuc_compile::emit::has_install;
use gpuc_model::plan::Delivery;
use gpuc_syntax::shell;
use serde_json::Value as Json;

use super::super::entities::EntityKey;
use super::super::report::Step;
use super::changed_pools::change_ids;
use super::command_names::BUILD;
use super::phases::{Phase, Planned};
use super::recreate::recreate_immutable_objects;
use super::states::Rollout;

/// Kinds of GitOps controllers whose status shows whether a tree is synced.
const SYNCING_KINDS: &[&str] = &["Kustomization", "HelmRelease", "Application"];

/// The steps for settings of the cluster that the scripts only check, and the user must change first.
pub(super) fn change_unmanaged_cluster(rollout: &Rollout<'_>) -> Vec<Planned> {
    let as_text = |value: &Json| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let steps = (rollout.changes.iter())
        .filter(|change| change.kind == EntityKey::Location.kind())
        .flat_map(|change| change.fields.iter().map(move |field| (change, field)))
        .filter(|(_, field)| rollout.setting.after.conditions.contains(&field.path))
        .filter_map(|(change, field)| {
            let (from, to) = (field.from.as_ref()?, field.to.as_ref()?);
            Some(Step {
                instruction: format!(
                    "gpuc does not manage this cluster itself: change the {} from {} to {} first, with the tool that \
                     created it. Every script stops until then",
                    field.path,
                    as_text(from),
                    as_text(to)
                ),
                commands: Vec::new(),
                changes: change_ids(&[change]),
            })
        });
    Phase::Preconditions.plan(steps)
}

/// The step that builds the tree. It requires an order only if it also prunes the tree of the cluster's former name.
pub(super) fn build_tree(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut step = match rollout.version_after_intermediates() {
        Some(version) => rollout.build_step(&format!("Set kubernetes.version to {version}, build")),
        None => rollout.build_step("Build the tree from the input"),
    };
    let renamed = rollout.names_if_renamed();
    if let Some([old, new]) = renamed {
        step.instruction +=
            &format!(". The directory of the tree is now {new}: the directory {old} is deleted");
        step.commands = vec![format!("{BUILD} --prune")];
    }
    Phase::Build.plan_routine([step], renamed.is_some())
}

/// The steps that deploy the objects. They require an order only if the cloud scripts must run before or after them.
pub(super) fn deploy_objects(rollout: &Rollout<'_>) -> Vec<Planned> {
    if let Some(steps) = rollout.hand_over_delivery() {
        return Phase::Deploy.plan(steps);
    }
    let deletes_objects = (recreate_immutable_objects(rollout).iter())
        .any(|planned| planned.phase == Phase::DeleteImmutable);
    if rollout.is_delivered_by_commit() && deletes_objects {
        // A GitOps controller stops at immutable fields, and would recreate the old object if it was deleted before.
        let mut steps = Phase::Push.plan([rollout.push_step()]);
        steps.extend(Phase::Deploy.plan(rollout.wait_for_sync_steps()));
        return steps;
    }
    let follows_cloud = rollout.before.is_none() || rollout.removes_taints_by_script();
    Phase::Deploy.plan_routine(
        rollout.deploy_steps(),
        follows_cloud || rollout.is_cloud_late(),
    )
}

/// The step that verifies the cluster.
pub(super) fn verify_cluster(_: &Rollout<'_>) -> Vec<Planned> {
    Phase::Verify.plan_routine([Rollout::verify_step()], false)
}

impl Rollout<'_> {
    /// Whether the tree is deployed by a commit: the existing GitOps controller syncs every push.
    pub(super) fn is_delivered_by_commit(&self) -> bool {
        let [before, after] = [self.setting.before, self.setting.after];
        !after.controller.is_empty() && (before.is_deployed_like(after) || self.before.is_none())
    }

    /// The note that a step precedes the push, if a push deploys the change.
    pub(super) fn before_push_note(&self) -> String {
        if self.is_delivered_by_commit() {
            format!(
                " before you push the change, because {} then deploys it",
                self.setting.after.controller
            )
        } else {
            String::new()
        }
    }

    /// The command that deploys the tree; none if a GitOps controller does, or if there is nothing to deploy.
    pub(super) fn deploy_command(&self) -> Option<String> {
        let plan = self.after?.plan.as_ref()?;
        has_install(plan).then(|| "./install.sh".to_owned())
    }

    /// The step that builds the tree. `build`: the instruction to build, before the review and the commit.
    fn build_step(&self, build: &str) -> Step {
        let push = if self.is_delivered_by_commit() {
            "; push in a later step"
        } else {
            ""
        };
        Step {
            instruction: format!("{build}, review and commit{push}"),
            commands: vec![BUILD.to_owned()],
            changes: Vec::new(),
        }
    }

    /// The steps that deploy the objects with the script, or by a push; none if there is nothing to deploy.
    pub(super) fn deploy_steps(&self) -> Vec<Step> {
        if let Some(command) = self.deploy_command() {
            return vec![Step {
                instruction: "Deploy the changes to the cluster".to_owned(),
                commands: vec![command],
                changes: Vec::new(),
            }];
        }
        self.sync_steps("Push or merge, and wait", &self.kubectl())
    }

    /// The push alone, if further steps must unblock the GitOps controller.
    fn push_step(&self) -> Step {
        Step {
            instruction: format!(
                "Push or merge. {} stops at objects that cannot be changed in place, reports an error, and retries \
                 until the next steps are done",
                self.setting.after.controller
            ),
            commands: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The step that waits for the GitOps controller, if there is one.
    pub(super) fn wait_for_sync_steps(&self) -> Vec<Step> {
        self.sync_steps("Wait", &self.kubectl())
    }

    /// The step that shows whether the GitOps controller has synced the tree, if there is one. `own_kubectl`: `kubectl`
    /// for the cluster that the tree describes.
    pub(super) fn sync_steps(&self, instruction: &str, own_kubectl: &str) -> Vec<Step> {
        let plan = self.after.and_then(|after| after.plan.as_ref());
        let Some(Delivery::Gitops { guide, .. }) = plan.map(|plan| &plan.delivery) else {
            return Vec::new();
        };
        let mut resources: Vec<String> = Vec::new();
        for identity in plan.iter().flat_map(|plan| plan.delivery.identities()) {
            let kind = identity.kind.to_lowercase();
            let resource = match identity.api_version.split_once('/') {
                Some((group, _)) => format!("{kind}s.{group}"),
                None => kind,
            };
            if SYNCING_KINDS.contains(&identity.kind.as_str()) && !resources.contains(&resource) {
                resources.push(resource);
            }
        }
        let (kubectl, location) = if guide.elsewhere {
            ("kubectl", ": check in the cluster that it runs in")
        } else {
            (own_kubectl, "")
        };
        vec![Step {
            instruction: format!(
                "{instruction} until {} has synced it{location}",
                self.setting.after.controller
            ),
            commands: vec![format!(
                "{kubectl} get {} --namespace {}",
                resources.join(","),
                shell::quote(&guide.namespace)
            )],
            changes: Vec::new(),
        }]
    }

    /// The step that verifies the cluster.
    pub(super) fn verify_step() -> Step {
        Step {
            instruction:
                "Verify that all resources exist and nodes advertise the expected resources"
                    .to_owned(),
            commands: vec!["cloud/verify.sh".to_owned()],
            changes: Vec::new(),
        }
    }
}
