//! Policies of the network, and ways in.

use std::net::IpAddr;

use super::Here;
use super::place::Step;
use super::read::{Read, get, items, read, text, whole};

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "NetworkPolicyPort" => ports(here),
        "NetworkPolicyPeer" => peer(here),
        "IPBlock" => block(here),
        "HTTPIngressPath" => path(here),
        "IngressBackend" => backend(here),
        "ServiceBackendPort" => port(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPort`.
fn ports(here: &mut Here<'_, '_>) {
    let Some(end) = whole(here.node, "endPort") else {
        return;
    };
    let (problem, help) = match get(here.node, "port").map(read) {
        None => (
            "and no `port` is beside it".to_owned(),
            "write `port`, the first one",
        ),
        Some(Read::Text(name)) => (
            format!("and `port` is `{name}`, which is no number"),
            "write the number of the first port",
        ),
        Some(Read::Whole(first)) if first > end => (
            format!("and `port` is {first}"),
            "write the lower one as `port`",
        ),
        _ => return,
    };
    here.refuse(
        [Step::from("endPort")],
        |path| format!("`{path}` is {end}, {problem}"),
        help,
    );
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `ValidateNetworkPolicyPeer`.
fn peer(here: &mut Here<'_, '_>) {
    let by_labels = ["podSelector", "namespaceSelector"];
    let has = |key: &str| get(here.node, key).is_some();
    let by_labels = by_labels.into_iter().find(|key| has(key));
    match (by_labels, has("ipBlock")) {
        (Some(other), true) => here.refuse(
            [Step::from("ipBlock")],
            |path| format!("`{path}` cannot be with `{other}`"),
            "make it an item of its own, with `- ` before it",
        ),
        // A key that is misspelt is found by itself.
        (None, false) if here.node.entries().is_empty() => here.refuse(
            [],
            |path| format!("`{path}` says nobody"),
            "write `podSelector`, `namespaceSelector` or `ipBlock`",
        ),
        _ => {}
    }
}

/// Addresses and how many bits of them count; zeros before numbers are taken.
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

/// Whether a range is within another one, and smaller.
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
fn block(here: &mut Here<'_, '_>) {
    let Some(written) = text(here.node, "cidr") else {
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
        here.refuse(
            [Step::from("cidr")],
            |path| format!("`{path}` is `{written}`, which is no range of addresses"),
            help,
        );
    }
    for (index, item) in items(here.node, "except") {
        let Read::Text(inner) = read(item) else {
            continue;
        };
        let is_good = match (range(inner), outer) {
            (Some(inner), Some(outer)) => is_within(inner, outer),
            (inner, _) => inner.is_some(),
        };
        if !is_good {
            here.refuse(
                [Step::from("except"), Step::from(index)],
                |path| format!("`{path}` is `{inner}`, which is no part of `{written}`"),
                "write a smaller range that is within `cidr`",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateHTTPIngressPath`.
fn path(here: &mut Here<'_, '_>) {
    let kind = text(here.node, "pathType");
    let Some(kind) = kind.filter(|it| ["Exact", "Prefix"].contains(it)) else {
        return;
    };
    let Some(Read::Text(path)) = here.node.get("path").map(read) else {
        return;
    };
    if !path.starts_with('/') {
        here.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, and has to begin with `/` with `pathType: {kind}`"),
            format!("write `/{path}`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn backend(here: &mut Here<'_, '_>) {
    let [service, other] = ["service", "resource"].map(|key| get(here.node, key).is_some());
    if service && other {
        here.refuse(
            [Step::from("resource")],
            |path| format!("`{path}` cannot be with `service`"),
            "remove one of the two",
        );
    }
    if here.is_whole && here.node.entries().is_empty() {
        here.refuse(
            [],
            |path| format!("`{path}` names nothing"),
            "write `service`, with its `name` and `port`",
        );
    }
}

/// Source: kubernetes `pkg/apis/networking/validation/validation.go`, `validateIngressBackend`.
fn port(here: &mut Here<'_, '_>) {
    let [name, number] = ["name", "number"].map(|key| get(here.node, key).is_some());
    if name && number {
        here.refuse(
            [Step::from("name")],
            |path| format!("`{path}` cannot be with `number`"),
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
