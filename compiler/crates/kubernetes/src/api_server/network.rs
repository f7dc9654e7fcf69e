//! Network policies and ingresses.

use std::net::IpAddr;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_integer, get_non_null, get_text, indexed_items, parse_value};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "NetworkPolicyPort" => check_port_range(ctx),
        "NetworkPolicyPeer" => check_peer(ctx),
        "IPBlock" => check_ip_block(ctx),
        "HTTPIngressPath" => check_ingress_path(ctx),
        "IngressBackend" => check_backend(ctx),
        "ServiceBackendPort" => check_backend_port(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPort`.
fn check_port_range(ctx: &mut ObjectContext<'_, '_>) {
    let Some(end) = get_integer(ctx.node, "endPort") else {
        return;
    };
    let (problem, help) = match get_non_null(ctx.node, "port").map(parse_value) {
        None => (
            "but `port` is not set".to_owned(),
            "write `port`, the first one",
        ),
        Some(ParsedValue::Text(name)) => (
            format!("and `port` is `{name}`, which is not a number"),
            "write the number of the first port",
        ),
        Some(ParsedValue::Integer(first)) if first > end => (
            format!("and `port` is {first}"),
            "write the lower one as `port`",
        ),
        _ => return,
    };
    ctx.report(
        [Step::from("endPort")],
        |path| format!("`{path}` is {end}, {problem}"),
        help,
    );
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPeer`.
fn check_peer(ctx: &mut ObjectContext<'_, '_>) {
    let by_labels = ["podSelector", "namespaceSelector"];
    let has = |key: &str| get_non_null(ctx.node, key).is_some();
    let by_labels = by_labels.into_iter().find(|key| has(key));
    match (by_labels, has("ipBlock")) {
        (Some(other), true) => ctx.report(
            [Step::from("ipBlock")],
            |path| format!("`{path}` cannot be combined with `{other}`"),
            "make it a separate item, with `- ` before it",
        ),
        // Misspelled keys are reported separately.
        (None, false) if ctx.node.entries().is_empty() => ctx.report(
            [],
            |path| format!("`{path}` has no peer"),
            "write `podSelector`, `namespaceSelector` or `ipBlock`",
        ),
        _ => {}
    }
}

/// Parses a CIDR range; leading zeros are allowed.
fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let bare = |part: &str| match part.trim_start_matches('0') {
        "" => "0".to_owned(),
        part => part.to_owned(),
    };
    let is_ipv4 = !address.contains(':');
    let parts: Vec<_> = address.split('.').map(bare).collect();
    let plain = is_ipv4.then(|| parts.join("."));
    let address: IpAddr = plain.as_deref().unwrap_or(address).parse().ok()?;
    let bits: u32 = bits.parse().ok()?;
    let max_bits = if address.is_ipv4() { 32 } else { 128 };
    (bits <= max_bits).then_some((address, bits))
}

/// Whether a range is a strict subset of another one.
fn is_strict_subset(inner: (IpAddr, u32), outer: (IpAddr, u32)) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let is_same_family = inner.0.is_ipv4() == outer.0.is_ipv4();
    let first = |address| bits(address).checked_shr(128 - outer.1).unwrap_or(0);
    is_same_family && inner.1 > outer.1 && first(inner.0) == first(outer.0)
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateIPBlock`.
fn check_ip_block(ctx: &mut ObjectContext<'_, '_>) {
    let Some(written) = get_text(ctx.node, "cidr") else {
        return;
    };
    let outer = parse_cidr(written);
    if outer.is_none() {
        let help = match written.parse::<IpAddr>() {
            Ok(address) => format!(
                "write `{address}/{}`",
                if address.is_ipv4() { 32 } else { 128 }
            ),
            Err(_) => "write addresses such as `10.0.0.0/8`".to_owned(),
        };
        ctx.report(
            [Step::from("cidr")],
            |path| format!("`{path}` is `{written}`, which is not a valid CIDR range"),
            help,
        );
    }
    for (index, item) in indexed_items(ctx.node, "except") {
        let ParsedValue::Text(inner) = parse_value(item) else {
            continue;
        };
        let is_good = match (parse_cidr(inner), outer) {
            (Some(inner), Some(outer)) => is_strict_subset(inner, outer),
            (inner, _) => inner.is_some(),
        };
        if !is_good {
            ctx.report(
                [Step::from("except"), Step::from(index)],
                |path| {
                    format!("`{path}` is `{inner}`, which is not a strict subset of `{written}`")
                },
                "write a smaller range within `cidr`",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateHTTPIngressPath`.
fn check_ingress_path(ctx: &mut ObjectContext<'_, '_>) {
    let kind = get_text(ctx.node, "pathType");
    let Some(kind) = kind.filter(|it| ["Exact", "Prefix"].contains(it)) else {
        return;
    };
    let Some(ParsedValue::Text(path)) = ctx.node.get("path").map(parse_value) else {
        return;
    };
    if !path.starts_with('/') {
        ctx.report(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must start with `/` with `pathType: {kind}`"),
            format!("write `/{path}`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn check_backend(ctx: &mut ObjectContext<'_, '_>) {
    let [service, other] = ["service", "resource"].map(|key| get_non_null(ctx.node, key).is_some());
    if service && other {
        ctx.report(
            [Step::from("resource")],
            |path| format!("`{path}` cannot be combined with `service`"),
            "remove one of the two",
        );
    }
    if ctx.is_complete && ctx.node.entries().is_empty() {
        ctx.report(
            [],
            |path| format!("`{path}` has no backend"),
            "write `service`, with its `name` and `port`",
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn check_backend_port(ctx: &mut ObjectContext<'_, '_>) {
    let [name, number] = ["name", "number"].map(|key| get_non_null(ctx.node, key).is_some());
    if name && number {
        ctx.report(
            [Step::from("name")],
            |path| format!("`{path}` cannot be combined with `number`"),
            "remove one of the two",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lie_within_others() {
        let is_within = |inner: &str, outer: &str| {
            is_strict_subset(parse_cidr(inner).unwrap(), parse_cidr(outer).unwrap())
        };
        assert!(is_within("10.1.0.0/16", "10.0.0.0/8"));
        assert!(is_within("10.1.0.0/16", "0.0.0.0/0"));
        assert!(is_within("fd00:1::/32", "fd00::/8"));
        assert!(!is_within("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!is_within("11.0.0.0/16", "10.0.0.0/8"));
        assert!(!is_within("fd00::/16", "0.0.0.0/0"));
        assert!(parse_cidr("010.0.0.0/8").is_some());
        for wrong in [
            "10.0.0.0",
            "10.0.0/8",
            "10.0.0.0/33",
            "a/8",
            "fd00::/129",
            "10.0.0.0/",
        ] {
            assert_eq!(parse_cidr(wrong), None, "{wrong}");
        }
    }
}
