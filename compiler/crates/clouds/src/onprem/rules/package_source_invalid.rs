//! The URL, key or proxy of a package source is invalid.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::sources::{
    CUDA_PLACEHOLDERS, TOOLKIT_PLACEHOLDERS, Target, expand_cuda, expand_toolkit,
};
use super::super::{host, os, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2809",
        name: "package-source-invalid",
        severity: Severity::Error,
        summary: "the URL, key or proxy of a package source is invalid",
        checks: r"Whether each `url` in `cloud.onPrem.packages` begins with `https://` or `http://`, has a host, has no
placeholder that gpuc does not replace, and is another URL for hosts with another operating system or
architecture. Whether each `key` is a URL with `https://` or an absolute path. Whether `proxy` is
`http://` or `https://` with a host and a port only. None of them may have a user, a password, `?`, `#`,
spaces, quotes or other characters that package managers interpret.",
        reason: r"The script writes these values into the configuration of apt, dnf and curl on the hosts. The generated tree is
committed, so a password in it would be, too. A key from `http://` can be replaced on its way to the host,
and with it every package.",
        remedy: r"Write the URL without a user and a password. If a mirror requires them, put them on the hosts, which the
script does not change: for apt into a file in `/etc/apt/auth.conf.d`, for dnf as `username` and `password`
into `/etc/dnf/dnf.conf`. Name a key that the hosts can read without them, or copy the key to the hosts and write
its path. A proxy must accept the hosts without a password.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab, packages: {proxy: "http://gpu:secret@proxy.acme.dev:3128"}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("gpu:secret@", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(packages) = &section(cluster).packages else {
        return;
    };
    let mut check = |value: &Spanned<String>, problem: Option<Problem>| {
        if let Some(Problem { message, help }) = problem {
            report
                .diagnostic(&RULE.code, value.span, message)
                .help(help)
                .emit();
        }
    };
    let targets = targets(cluster);
    if let Some(cuda) = &packages.cuda {
        let problem = url_problem(&cuda.url, CUDA_PLACEHOLDERS)
            .or_else(|| ambiguity(&cuda.url, &targets, expand_cuda, CUDA_PLACEHOLDERS));
        check(&cuda.url, problem);
        check(&cuda.key, key_problem(&cuda.key));
    }
    if let Some(toolkit) = &packages.toolkit {
        let problem = url_problem(&toolkit.url, TOOLKIT_PLACEHOLDERS)
            .or_else(|| ambiguity(&toolkit.url, &targets, expand_toolkit, TOOLKIT_PLACEHOLDERS));
        check(&toolkit.url, problem);
        check(&toolkit.key, key_problem(&toolkit.key));
    }
    if let Some(proxy) = &packages.proxy {
        check(proxy, proxy_problem(proxy));
    }
}

/// The message and the help for an invalid value.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    message: String,
    help: String,
}

fn problem(message: impl Into<String>, help: impl Into<String>) -> Problem {
    Problem {
        message: message.into(),
        help: help.into(),
    }
}

/// Validates the URL of a mirror.
fn url_problem(url: &str, placeholders: &[&str]) -> Option<Problem> {
    let plain = placeholders
        .iter()
        .fold(url.to_owned(), |text, name| text.replace(name, "x"));
    if let Some(name) = placeholder(&plain) {
        return Some(problem(
            format!("unknown placeholder `{name}`"),
            format!("write {}", quoted_conjunction(placeholders, "and")),
        ));
    }
    let help = "write a URL such as `https://mirror.acme.dev/nvidia`";
    http_problem(url, &plain, &["https", "http"], help)
}

/// Validates a key: a URL that cannot be intercepted, or a file.
fn key_problem(key: &str) -> Option<Problem> {
    let help = "write a URL with `https://`, or the path of the key on the hosts";
    if key.starts_with('/') {
        let is_file = !key.ends_with('/') && key.chars().all(is_plain);
        return (!is_file).then(|| problem("invalid path of a key", help));
    }
    if let Some(rest) = key.strip_prefix("http://") {
        return Some(problem(
            "a key from `http://` can be replaced on its way to the host",
            format!("write `https://{rest}`, or the path of the key on the hosts"),
        ));
    }
    http_problem(key, key, &["https"], help)
}

/// Validates the proxy: a scheme, a host and a port.
fn proxy_problem(proxy: &str) -> Option<Problem> {
    let help = "write a URL such as `http://proxy.acme.dev:3128`";
    http_problem(proxy, proxy, &["http", "https"], help).or_else(|| {
        let (scheme, rest) = proxy.split_once("://")?;
        let host = rest.trim_end_matches('/');
        host.contains('/').then(|| Problem {
            message: "the URL of a proxy has a path".to_owned(),
            help: format!(
                "write `{scheme}://{}`",
                host.split('/').next().unwrap_or_default()
            ),
        })
    })
}

/// Validates a URL. `plain` is the URL with its placeholders replaced.
fn http_problem(url: &str, plain: &str, schemes: &[&str], help: &str) -> Option<Problem> {
    let (scheme, rest) = match plain.split_once("://") {
        Some((scheme, rest)) if schemes.contains(&scheme) => (scheme, rest),
        _ => return Some(problem(format!("invalid URL `{url}`"), help)),
    };
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some((_, host)) = authority.rsplit_once('@') {
        let host_and_path = url.rsplit_once(host).map_or("", |(_, path)| path);
        return Some(problem(
            "the URL contains credentials, which would be committed",
            format!(
                "write `{scheme}://{host}{host_and_path}`, and put the credentials on the hosts"
            ),
        ));
    }
    if authority.is_empty() || authority.starts_with([':', '.', '-']) {
        return Some(problem(format!("`{url}` has no host"), help));
    }
    if let Some(character) = plain.chars().find(|character| !is_plain(*character)) {
        return Some(problem(
            format!("the URL must not contain {character:?}"),
            help,
        ));
    }
    None
}

/// Whether apt, dnf, curl and shells all read a character as itself.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~:/%+".contains(character)
}

/// The first text in braces.
fn placeholder(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('{')?;
    let end = rest.find('}')?;
    let start = text.len() - rest.len() - 1;
    Some(&text[start..start + end + 2])
}

/// The kinds of hosts that scripts prepare: the name of the operating system in NVIDIA's repositories, and whether the
/// hosts have Arm CPUs.
fn targets(cluster: &Cluster) -> BTreeSet<(&'static str, bool)> {
    let pools = cluster.pools.iter().filter(|pool| host::has_script(pool));
    pools
        .filter_map(|pool| {
            let gpus = pool.gpus.get()?.as_ref()?;
            Some((os::repository_name(pool.os.value)?, gpus.model.arm64_host))
        })
        .collect()
}

/// A URL that is the same for hosts whose repositories differ.
fn ambiguity(
    url: &str,
    targets: &BTreeSet<(&'static str, bool)>,
    expand: fn(&str, Target<'_>) -> String,
    placeholders: &[&str],
) -> Option<Problem> {
    let count = |url: &str| {
        let urls = targets.iter().map(|&(distribution, is_arm64)| {
            let target = Target {
                distribution,
                is_arm64,
            };
            expand(url, target)
        });
        urls.collect::<BTreeSet<_>>().len()
    };
    if count(url) == count(&placeholders.concat()) {
        return None;
    }
    Some(problem(
        "the URL is the same for hosts whose repositories differ",
        format!(
            "write {} in the URL",
            quoted_conjunction(placeholders, "and")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_values_pass() {
        for url in [
            "https://mirror.acme.dev/cuda/{distribution}/{architecture}",
            "http://mirror.internal:8081/repository/cuda-{distribution}-{architecture}/",
            "https://satellite.acme.dev/pulp/content/Acme/Library/custom/NVIDIA/cuda-rhel9",
            "https://10.0.0.1/a%20b/~x+y",
        ] {
            assert_eq!(url_problem(url, CUDA_PLACEHOLDERS), None, "{url}");
        }
        for key in [
            "https://mirror.acme.dev/keys/cuda.pub",
            "/etc/pki/acme/cuda.pub",
        ] {
            assert_eq!(key_problem(key), None, "{key}");
        }
        for proxy in ["http://proxy.acme.dev:3128", "https://proxy.acme.dev:3128/"] {
            assert_eq!(proxy_problem(proxy), None, "{proxy}");
        }
    }

    #[test]
    fn invalid_values_are_rejected() {
        for url in [
            "",
            "mirror.acme.dev/cuda",
            "ftp://mirror.acme.dev/cuda",
            "file:///srv/cuda",
            "https://",
            "https:///cuda",
            "https://:8080/cuda",
            "https://me:secret@mirror.acme.dev/cuda",
            "https://token@mirror.acme.dev/cuda",
            "https://mirror.acme.dev/cuda?token=a",
            "https://mirror.acme.dev/cuda#a",
            "https://mirror.acme.dev/a b",
            "https://mirror.acme.dev/a'b",
            "https://mirror.acme.dev/a\"b",
            "https://mirror.acme.dev/$(reboot)",
            "https://mirror.acme.dev/`reboot`",
            "https://mirror.acme.dev/a\nb",
            "https://mirror.acme.dev/a\\b",
            "https://mirror.acme.dev/a;b",
            "https://mirror.acme.dev/[trusted=yes]",
            "https://mirror.acme.dev/ä",
            "https://mirror.acme.dev/{release}",
            "https://mirror.acme.dev/{distribution",
        ] {
            assert!(url_problem(url, CUDA_PLACEHOLDERS).is_some(), "{url}");
        }
        for key in [
            "",
            "http://mirror.acme.dev/cuda.pub",
            "keys/cuda.pub",
            "/etc/pki/a b",
            "/etc/pki/",
            "https://me@mirror.acme.dev/cuda.pub",
        ] {
            assert!(key_problem(key).is_some(), "{key}");
        }
        for proxy in [
            "",
            "proxy.acme.dev:3128",
            "socks5://proxy.acme.dev:1080",
            "http://me:secret@proxy.acme.dev:3128",
            "http://proxy.acme.dev:3128/path",
            "http://proxy.acme.dev:3128\";",
        ] {
            assert!(proxy_problem(proxy).is_some(), "{proxy}");
        }
    }

    #[test]
    fn help_shows_the_value_to_write() {
        let help = |problem: Option<Problem>| problem.map(|problem| problem.help);
        assert_eq!(
            help(url_problem(
                "https://me:a@b@mirror.acme.dev/cuda/{distribution}",
                CUDA_PLACEHOLDERS
            ))
            .as_deref(),
            Some(
                "write `https://mirror.acme.dev/cuda/{distribution}`, and put the credentials on the hosts"
            )
        );
        assert_eq!(
            help(key_problem("http://mirror.acme.dev/cuda.pub")).as_deref(),
            Some("write `https://mirror.acme.dev/cuda.pub`, or the path of the key on the hosts")
        );
        assert_eq!(
            help(proxy_problem("http://proxy.acme.dev:3128/a/b")).as_deref(),
            Some("write `http://proxy.acme.dev:3128`")
        );
    }

    #[test]
    fn one_url_is_ambiguous_for_several_systems() {
        let both = BTreeSet::from([("rhel9", false), ("ubuntu2204", false)]);
        let arm = BTreeSet::from([("ubuntu2204", true), ("ubuntu2204", false)]);
        let one = BTreeSet::from([("ubuntu2204", false)]);
        let (fixed, distribution) = ("https://a/b", "https://a/{distribution}");
        for (url, targets, is_ambiguous) in [
            (fixed, &one, false),
            (fixed, &both, true),
            (fixed, &arm, true),
            (distribution, &both, false),
            (distribution, &arm, true),
        ] {
            let found = ambiguity(url, targets, expand_cuda, CUDA_PLACEHOLDERS);
            assert_eq!(found.is_some(), is_ambiguous, "{url}: {targets:?}");
        }
        // The packages of the toolkit are the same for all distributions of a format.
        let ubuntu = BTreeSet::from([("ubuntu2404", false), ("ubuntu2204", false)]);
        assert_eq!(
            ambiguity(fixed, &ubuntu, expand_toolkit, TOOLKIT_PLACEHOLDERS),
            None
        );
        assert!(ambiguity(fixed, &both, expand_toolkit, TOOLKIT_PLACEHOLDERS).is_some());
    }
}
