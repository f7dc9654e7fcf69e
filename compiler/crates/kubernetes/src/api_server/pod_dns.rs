//! A pod's DNS settings and host aliases.

use std::net::IpAddr;

use super::ObjectContext;
use super::field_path::Step;
use super::names::is_subdomain;
use super::scalar::{ParsedValue, get_text, indexed_items, parse_value};

/// The maximum number of name servers of a pod.
const MAX_NAMESERVERS: usize = 3;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateHostAliases` and `validatePodDNSConfig`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "HostAlias" => {
            if let Some(ip) = get_text(ctx.node, "ip") {
                check_address(ctx, vec![Step::from("ip")], ip);
            }
            for (index, name) in indexed_items(ctx.node, "hostnames") {
                if let ParsedValue::Text(name) = parse_value(name) {
                    check_host_name(ctx, vec![Step::from("hostnames"), Step::from(index)], name);
                }
            }
        }
        "PodDNSConfig" => {
            let servers = indexed_items(ctx.node, "nameservers");
            for (index, server) in servers {
                if let ParsedValue::Text(server) = parse_value(server) {
                    check_address(
                        ctx,
                        vec![Step::from("nameservers"), Step::from(index)],
                        server,
                    );
                }
            }
            for (index, search) in indexed_items(ctx.node, "searches") {
                // Newer versions also allow `_` and `.`.
                if let ParsedValue::Text(search) = parse_value(search)
                    && search != "."
                    && !is_host_name(&search.replace('_', "a"))
                {
                    let below = vec![Step::from("searches"), Step::from(index)];
                    check_host_name(ctx, below, search);
                }
            }
            if indexed_items(ctx.node, "nameservers").count() > MAX_NAMESERVERS {
                ctx.report(
                    [Step::from("nameservers")],
                    |path| format!("`{path}` has more than {MAX_NAMESERVERS}"),
                    format!("write at most {MAX_NAMESERVERS}"),
                );
            }
        }
        _ => {}
    }
}

fn is_host_name(name: &str) -> bool {
    is_subdomain(name.strip_suffix('.').unwrap_or(name))
}

fn check_host_name(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, name: &str) {
    if !is_host_name(name) {
        ctx.report(
            below,
            |path| format!("`{path}` is `{name}`, which is not a valid host name"),
            "write lower-case letters, digits, `-` and `.`",
        );
    }
}

fn check_address(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, ip: &str) {
    if !is_ip_address(ip) {
        ctx.report(
            below,
            |path| format!("`{path}` is `{ip}`, which is not a valid IP address"),
            "write an address such as `10.0.0.8`",
        );
    }
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go`, `IsValidIPForLegacyField`, which
/// takes zeros before a number.
fn is_ip_address(ip: &str) -> bool {
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
            assert!(super::is_ip_address(ip), "{ip}");
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
            assert!(!super::is_ip_address(ip), "{ip}");
        }
    }
}
