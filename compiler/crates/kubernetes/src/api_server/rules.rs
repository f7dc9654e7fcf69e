//! Runs all rules on a visited object.

use super::{
    ObjectContext, containers, data, enums, expressions, job_sets, jobs, kernel, lengths, limits,
    names, network, pod_dns, pods, priority, quantities, ranges, rbac, references, required,
    scaling, scheduling, services, sources, storage, strategies, volumes,
};

/// Runs all rules.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    for validate in VALIDATORS {
        validate(ctx);
    }
}

/// The rules, in the order in which they run. The CEL rules of CRDs come last, as they skip objects with an invalid
/// shape.
const VALIDATORS: &[fn(&mut ObjectContext<'_, '_>)] = &[
    enums::validate,
    ranges::validate,
    names::validate,
    quantities::validate,
    references::validate,
    containers::validate,
    pods::validate,
    scheduling::validate,
    strategies::validate,
    jobs::validate,
    sources::validate,
    pod_dns::validate,
    required::validate,
    volumes::validate,
    kernel::validate,
    services::validate,
    scaling::validate,
    network::validate,
    limits::validate,
    storage::validate,
    rbac::validate,
    data::validate,
    priority::validate,
    job_sets::validate,
    lengths::validate,
    expressions::validate,
];
