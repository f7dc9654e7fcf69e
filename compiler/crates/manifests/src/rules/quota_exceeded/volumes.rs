//! Checks the size of PersistentVolumeClaims against the quota of their namespace.

use gpuc_model::scheduling::{What, limits};
use gpuc_syntax::diag::Report;

use super::RULE;
use crate::{Scene, volumes};

pub(super) fn check_claims(scene: &Scene<'_>, report: &mut Report) {
    for (object, bytes, span) in volumes::claims(scene) {
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let Some((team, _)) = scene.cluster.team_of(namespace) else {
            continue;
        };
        let limits = limits(scene.cluster, team).into_iter();
        let mut limits = limits.filter(|it| it.namespace.is_none_or(|it| it == namespace));
        let Some(limit) = limits.find(|it| it.what == What::Storage && it.has < bytes) else {
            continue;
        };
        let message = format!(
            "{} exceeds the quota of its team: {}",
            object.title(),
            limit.what.words(bytes)
        );
        let quota = limit.what.words(limit.has);
        report
            .diagnostic(&RULE.code, span, message)
            .label(limit.span, format!("the quota of the team is {quota}"))
            .help("request less, or raise the team's quota")
            .emit();
    }
}
