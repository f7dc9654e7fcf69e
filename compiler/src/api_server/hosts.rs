//! What a pod knows of other hosts: addresses and names.

use std::net::IpAddr;

use super::Here;
use super::names::is_subdomain;
use super::place::Step;
use super::read::{Read, items, read, text};

/// The most name servers that a pod can have.
const SERVERS: usize = 3;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateHostAliases` and `validatePodDNSConfig`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "HostAlias" => {
            if let Some(ip) = text(here.node, "ip") {
                address(here, vec![Step::from("ip")], ip);
            }
            for (index, name) in items(here.node, "hostnames") {
                if let Read::Text(name) = read(name) {
                    host(here, vec![Step::from("hostnames"), Step::from(index)], name);
                }
            }
        }
        "PodDNSConfig" => {
            let servers = items(here.node, "nameservers");
            for (index, server) in servers {
                if let Read::Text(server) = read(server) {
                    address(
                        here,
                        vec![Step::from("nameservers"), Step::from(index)],
                        server,
                    );
                }
            }
            for (index, search) in items(here.node, "searches") {
                // Newer versions take `_` and `.` too.
                if let Read::Text(search) = read(search)
                    && search != "."
                    && !is_host(&search.replace('_', "a"))
                {
                    let below = vec![Step::from("searches"), Step::from(index)];
                    host(here, below, search);
                }
            }
            if items(here.node, "nameservers").count() > SERVERS {
                here.refuse(
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

fn host(here: &mut Here<'_, '_>, below: Vec<Step>, name: &str) {
    if !is_host(name) {
        here.refuse(
            below,
            |path| format!("`{path}` is `{name}`, which is no name of a host"),
            "write lower-case letters, digits, `-` and `.`",
        );
    }
}

fn address(here: &mut Here<'_, '_>, below: Vec<Step>, ip: &str) {
    if !is_address(ip) {
        here.refuse(
            below,
            |path| format!("`{path}` is `{ip}`, which is no IP address"),
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
    fn addresses_are_what_kubernetes_takes() {
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
