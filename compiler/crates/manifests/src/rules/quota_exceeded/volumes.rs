//! Checks the size of PersistentVolumeClaims against the quota of their namespace.

use gpuc_model::scheduling::{QuotaResource, resource_limits};
use gpuc_syntax::diag::Report;

use super::RULE;
use crate::{CheckContext, volumes};

pub(super) fn check_claims(ctx: &CheckContext<'_>, report: &mut Report) {
    for (object, bytes, span) in volumes::claim_objects(ctx) {
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let Some((team, _)) = ctx.cluster.team_of_namespace(namespace) else {
            continue;
        };
        let limits = resource_limits(ctx.cluster, team).into_iter();
        let mut limits = limits.filter(|it| it.namespace.is_none_or(|it| it == namespace));
        let Some(limit) =
            limits.find(|it| it.resource == QuotaResource::Storage && it.amount < bytes)
        else {
            continue;
        };
        let message = format!(
            "{} exceeds the quota of its team: {}",
            object.title(),
            limit.resource.format_amount(bytes)
        );
        let quota = limit.resource.format_amount(limit.amount);
        report
            .diagnostic(&RULE.code, span, message)
            .label(limit.span, format!("the quota of the team is {quota}"))
            .help("request less, or raise the team's quota")
            .emit();
    }
}
