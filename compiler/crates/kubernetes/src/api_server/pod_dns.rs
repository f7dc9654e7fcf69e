//! A pod's DNS settings and host aliases.

use std::net::IpAddr;

use super::ObjectContext;
use super::field_path::Step;
use super::names::is_subdomain;
use super::scalar::{Read, items, read, text};

/// The maximum number of name servers of a pod.
const SERVERS: usize = 3;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateHostAliases` and `validatePodDNSConfig`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "HostAlias" => {
            if let Some(ip) = text(ctx.node, "ip") {
                address(ctx, vec![Step::from("ip")], ip);
            }
            for (index, name) in items(ctx.node, "hostnames") {
                if let Read::Text(name) = read(name) {
                    host(ctx, vec![Step::from("hostnames"), Step::from(index)], name);
                }
            }
        }
        "PodDNSConfig" => {
            let servers = items(ctx.node, "nameservers");
            for (index, server) in servers {
                if let Read::Text(server) = read(server) {
                    address(
                        ctx,
                        vec![Step::from("nameservers"), Step::from(index)],
                        server,
                    );
                }
            }
            for (index, search) in items(ctx.node, "searches") {
                // Newer versions also allow `_` and `.`.
                if let Read::Text(search) = read(search)
                    && search != "."
                    && !is_host(&search.replace('_', "a"))
                {
                    let below = vec![Step::from("searches"), Step::from(index)];
                    host(ctx, below, search);
                }
            }
            if items(ctx.node, "nameservers").count() > SERVERS {
                ctx.refuse(
                    [Step::from("nameservers")],
                    |path| format!("`{path}` has more than {SERVERS}"),
                    format!("write at most {SERVERS}"),
                );
            }
        }
        _ => {}
    }
}

fn is_host(name: &str) -> bool {
    is_subdomain(name.strip_suffix('.').unwrap_or(name))
}

fn host(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, name: &str) {
    if !is_host(name) {
        ctx.refuse(
            below,
            |path| format!("`{path}` is `{name}`, which is not a valid host name"),
            "write lower-case letters, digits, `-` and `.`",
        );
    }
}

fn address(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, ip: &str) {
    if !is_address(ip) {
        ctx.refuse(
            below,
            |path| format!("`{path}` is `{ip}`, which is not a valid IP address"),
            "write an address such as `10.0.0.8`",
        );
    }
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go`, `IsValidIPForLegacyField`, which
/// takes zeros before a number.
fn is_address(ip: &str) -> bool {
    let short = |part: &str| match part.trim_start_matches('0') {
        "" => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let parts: Vec<_> = ip.split('.').collect();
    let plain = if parts.len() == 4 && parts.iter().all(|it| !it.is_empty()) && !ip.contains(':') {
        parts.into_iter().map(short).collect::<Vec<_>>().join(".")
    } else {
        ip.to_owned()
    };
    plain.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn addresses_match_kubernetes() {
        for ip in ["10.0.0.8", "010.000.0.1", "fd00::1", "::ffff:10.0.0.1"] {
            assert!(super::is_address(ip), "{ip}");
        }
        for ip in [
            "",
            "host",
            "10.0.0",
            "10.0.0.256",
            "10..0.1",
            "10.0.0.8/24",
            "10.0.0.8 ",
        ] {
            assert!(!super::is_address(ip), "{ip}");
        }
    }
}
