//! Keys of a pool that configure machines that a cloud creates.

use gpuc_model::Pool;
use gpuc_schema::Span;
use gpuc_schema::config::Capacity;

/// The keys that are set and have an effect only on machines that a cloud creates, each with its location.
pub(crate) fn machine_keys(pool: &Pool) -> Vec<(&'static str, Span)> {
    let settings = &pool.settings;
    let capacity = match settings.capacity.value {
        Capacity::OnDemand => None,
        _ => Some(settings.capacity.span),
    };
    let disk = settings.disk_gib.span;
    let initial = pool.nodes.get().and_then(|nodes| nodes.initial);
    let keys = [
        ("machine", pool.machine_name.as_ref().map(|name| name.span)),
        ("nodes.initial", initial.map(|initial| initial.span)),
        ("zones", settings.zones.first().map(|zone| zone.span)),
        (
            "subnets",
            settings.subnets.first().map(|subnet| subnet.span),
        ),
        ("capacity", capacity),
        (
            "network.efa",
            settings.network.efa.as_ref().map(|efa| efa.span),
        ),
        (
            "network.placement",
            settings
                .network
                .placement
                .as_ref()
                .map(|placement| placement.span),
        ),
        ("diskGiB", disk.is_written().then_some(disk)),
        ("maxPods", settings.max_pods.map(|pods| pods.span)),
        ("tags", settings.tags.keys().next().map(|key| key.span)),
        (
            "upgrade",
            settings.upgrade.as_ref().map(|upgrade| upgrade.span),
        ),
    ];
    keys.into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .collect()
}
