//! Network policies and ingresses.

use std::net::IpAddr;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, items, read, text, whole};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "NetworkPolicyPort" => ports(ctx),
        "NetworkPolicyPeer" => peer(ctx),
        "IPBlock" => block(ctx),
        "HTTPIngressPath" => path(ctx),
        "IngressBackend" => backend(ctx),
        "ServiceBackendPort" => port(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPort`.
fn ports(ctx: &mut ObjectContext<'_, '_>) {
    let Some(end) = whole(ctx.node, "endPort") else {
        return;
    };
    let (problem, help) = match get(ctx.node, "port").map(read) {
        None => (
            "but `port` is not set".to_owned(),
            "write `port`, the first one",
        ),
        Some(Read::Text(name)) => (
            format!("and `port` is `{name}`, which is not a number"),
            "write the number of the first port",
        ),
        Some(Read::Whole(first)) if first > end => (
            format!("and `port` is {first}"),
            "write the lower one as `port`",
        ),
        _ => return,
    };
    ctx.refuse(
        [Step::from("endPort")],
        |path| format!("`{path}` is {end}, {problem}"),
        help,
    );
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPeer`.
fn peer(ctx: &mut ObjectContext<'_, '_>) {
    let by_labels = ["podSelector", "namespaceSelector"];
    let has = |key: &str| get(ctx.node, key).is_some();
    let by_labels = by_labels.into_iter().find(|key| has(key));
    match (by_labels, has("ipBlock")) {
        (Some(other), true) => ctx.refuse(
            [Step::from("ipBlock")],
            |path| format!("`{path}` cannot be combined with `{other}`"),
            "make it a separate item, with `- ` before it",
        ),
        // Misspelled keys are reported separately.
        (None, false) if ctx.node.entries().is_empty() => ctx.refuse(
            [],
            |path| format!("`{path}` has no peer"),
            "write `podSelector`, `namespaceSelector` or `ipBlock`",
        ),
        _ => {}
    }
}

/// Parses a CIDR range; leading zeros are allowed.
fn range(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let bare = |part: &str| match part.trim_start_matches('0') {
        "" => "0".to_owned(),
        part => part.to_owned(),
    };
    let is_old = !address.contains(':');
    let parts: Vec<_> = address.split('.').map(bare).collect();
    let plain = is_old.then(|| parts.join("."));
    let address: IpAddr = plain.as_deref().unwrap_or(address).parse().ok()?;
    let bits: u32 = bits.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((address, bits))
}

/// Whether a range is a strict subset of another one.
fn is_within(inner: (IpAddr, u32), outer: (IpAddr, u32)) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let is_alike = inner.0.is_ipv4() == outer.0.is_ipv4();
    let first = |address| bits(address).checked_shr(128 - outer.1).unwrap_or(0);
    is_alike && inner.1 > outer.1 && first(inner.0) == first(outer.0)
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateIPBlock`.
fn block(ctx: &mut ObjectContext<'_, '_>) {
    let Some(written) = text(ctx.node, "cidr") else {
        return;
    };
    let outer = range(written);
    if outer.is_none() {
        let help = match written.parse::<IpAddr>() {
            Ok(address) => format!(
                "write `{address}/{}`",
                if address.is_ipv4() { 32 } else { 128 }
            ),
            Err(_) => "write addresses such as `10.0.0.0/8`".to_owned(),
        };
        ctx.refuse(
            [Step::from("cidr")],
            |path| format!("`{path}` is `{written}`, which is not a valid CIDR range"),
            help,
        );
    }
    for (index, item) in items(ctx.node, "except") {
        let Read::Text(inner) = read(item) else {
            continue;
        };
        let is_good = match (range(inner), outer) {
            (Some(inner), Some(outer)) => is_within(inner, outer),
            (inner, _) => inner.is_some(),
        };
        if !is_good {
            ctx.refuse(
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
fn path(ctx: &mut ObjectContext<'_, '_>) {
    let kind = text(ctx.node, "pathType");
    let Some(kind) = kind.filter(|it| ["Exact", "Prefix"].contains(it)) else {
        return;
    };
    let Some(Read::Text(path)) = ctx.node.get("path").map(read) else {
        return;
    };
    if !path.starts_with('/') {
        ctx.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must start with `/` with `pathType: {kind}`"),
            format!("write `/{path}`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn backend(ctx: &mut ObjectContext<'_, '_>) {
    let [service, other] = ["service", "resource"].map(|key| get(ctx.node, key).is_some());
    if service && other {
        ctx.refuse(
            [Step::from("resource")],
            |path| format!("`{path}` cannot be combined with `service`"),
            "remove one of the two",
        );
    }
    if ctx.is_whole && ctx.node.entries().is_empty() {
        ctx.refuse(
            [],
            |path| format!("`{path}` has no backend"),
            "write `service`, with its `name` and `port`",
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn port(ctx: &mut ObjectContext<'_, '_>) {
    let [name, number] = ["name", "number"].map(|key| get(ctx.node, key).is_some());
    if name && number {
        ctx.refuse(
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
        let is_within =
            |inner: &str, outer: &str| is_within(range(inner).unwrap(), range(outer).unwrap());
        assert!(is_within("10.1.0.0/16", "10.0.0.0/8"));
        assert!(is_within("10.1.0.0/16", "0.0.0.0/0"));
        assert!(is_within("fd00:1::/32", "fd00::/8"));
        assert!(!is_within("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!is_within("11.0.0.0/16", "10.0.0.0/8"));
        assert!(!is_within("fd00::/16", "0.0.0.0/0"));
        assert!(range("010.0.0.0/8").is_some());
        for wrong in [
            "10.0.0.0",
            "10.0.0/8",
            "10.0.0.0/33",
            "a/8",
            "fd00::/129",
            "10.0.0.0/",
        ] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
