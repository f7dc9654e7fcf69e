//! What a claim of a volume asks for, against the quota of its namespace.

use super::RULE;
use crate::diag::Report;
use crate::manifests::{Scene, volumes};
use crate::placement::{What, limits};

pub(super) fn of_claims(scene: &Scene<'_>, report: &mut Report) {
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
            "{} asks for more than its team may have: {}",
            object.title(),
            limit.what.words(bytes)
        );
        let has = limit.what.words(limit.has);
        report
            .draft(&RULE.code, span, message)
            .label(limit.span, format!("the team may have {has} at most"))
            .help("ask for less, or raise the team's quota")
            .emit();
    }
}
