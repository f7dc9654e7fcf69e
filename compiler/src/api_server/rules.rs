//! Everything that is asked of an object on the way.

use super::{
    Here, amounts, containers, counts, data, empty, enums, expressions, hosts, jobs, kernel,
    limits, names, network, pods, priority, references, rights, scaling, scheduling, services,
    sets, sizes, sources, storage, strategies, volumes,
};

/// Asks all rules.
pub(super) fn look(here: &mut Here<'_, '_>) {
    enums::look(here);
    counts::look(here);
    names::look(here);
    amounts::look(here);
    references::look(here);
    containers::look(here);
    pods::look(here);
    scheduling::look(here);
    strategies::look(here);
    jobs::look(here);
    sources::look(here);
    hosts::look(here);
    empty::look(here);
    volumes::look(here);
    kernel::look(here);
    services::look(here);
    scaling::look(here);
    network::look(here);
    limits::look(here);
    storage::look(here);
    rights::look(here);
    data::look(here);
    priority::look(here);
    sets::look(here);
    sizes::look(here);
    // What is refused as it is gives rules nothing to look at.
    expressions::look(here);
}
