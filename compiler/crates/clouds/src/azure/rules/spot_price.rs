//! Invalid spot price.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2710",
        name: "aks-spot-price",
        severity: Severity::Error,
        summary: "the maximum spot price is invalid",
        checks: "Whether `maxPrice` is -1, or more than 0 with at most five decimal places.",
        reason: "`az` and Azure refuse any other value.",
        remedy: "Write -1 to pay at most the on-demand price, or a price per hour in US dollars.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {min: 1, max: 4}
    capacity: {spot: {maxPrice: 0}}
"#,
        correction: Correction::Replace("maxPrice: 0", "maxPrice: 1.25"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Capacity::Spot(spot) = &pool.settings.capacity.value else {
            continue;
        };
        let Some(price) = spot
            .max_price
            .as_ref()
            .filter(|price| !is_spot_price(price.value))
        else {
            continue;
        };
        let message = format!("invalid spot price `{price}`");
        report
            .diagnostic(&RULE.code, price.span, message)
            .help("write -1, or a price above 0 with at most five decimal places")
            .emit();
    }
}

/// The upper limit of a million dollars an hour exceeds the price of every machine.
#[expect(
    clippy::float_cmp,
    reason = "-1 is a literal in the file, not the result of a calculation"
)]
fn is_spot_price(price: f64) -> bool {
    let decimals = format!("{price}")
        .split_once('.')
        .map_or(0, |(_, rest)| rest.len());
    price == -1.0 || (price > 0.0 && price < 1e6 && decimals <= 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_is_minus_one_or_positive() {
        for price in [-1.0, 0.98765, 4.0, 0.00001] {
            assert!(is_spot_price(price), "{price}");
        }
        for price in [0.0, -2.0, 0.123_456, f64::NAN, f64::INFINITY, 1e6, 1e7] {
            assert!(!is_spot_price(price), "{price}");
        }
    }
}
