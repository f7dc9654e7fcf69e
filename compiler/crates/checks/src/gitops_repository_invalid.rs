//! The repository in `gitops` is not a supported URL.

use gpuc_schema::config::Gitops;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2080",
        name: "gitops-repository-invalid",
        severity: Severity::Error,
        summary: "the repository in `gitops` is not a supported URL",
        checks: "Whether `repository` is a URL of a Git repository: `https://` or `ssh://`, for Argo CD also
`git@host:path`. It must have a host and a path, no password or token, and no `?` or `#`.",
        reason: "Flux does not support Git's short form of SSH URLs, and rejects the objects only in the cluster. A
password in the URL would be committed with the tree. So would a token after `?`, which Git ignores.
Git also ignores a branch after `#`.",
        remedy: "Write the full URL: `ssh://git@host/path` for `git@host:path`. Put credentials in a Secret:
`gitops.flux.secret`, or a repository that is registered with Argo CD.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "git@git.example.com:acme/gitops.git", branch: main, path: clusters/demo, secret: deploy-key}}
"#,
        correction: Correction::Replace(r#""git@git.example.com:acme/gitops.git""#, r#""ssh://git@git.example.com/acme/gitops.git""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let repository = gitops.repository();
    let allows_short = matches!(gitops.value, Gitops::Argocd(_));
    let Some((message, help)) = repository_problem(repository, allows_short) else {
        return;
    };
    report
        .diagnostic(&RULE.code, repository.span, message)
        .help(help)
        .emit();
}

/// The message and the help for an invalid URL. `allows_short` is set if Git's short form of SSH URLs is supported.
fn repository_problem(url: &str, allows_short: bool) -> Option<(String, String)> {
    let is_forbidden = |c: char| {
        matches!(c, '$' | '\\' | '"' | '\'' | '<' | '>') || c.is_whitespace() || c.is_control()
    };
    if url.contains(is_forbidden) {
        let message = "the URL must not contain spaces, quotes, brackets, `\\` or `$`".to_owned();
        return Some((message, full_url_help()));
    }
    if let Some(at) = url.find(['?', '#']) {
        let message = format!("the URL of a repository must not contain `{}`", &url[at..]);
        let help = format!("write `{}`, and the branch in `branch`", &url[..at]);
        return Some((message, help));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return problem_without_scheme(url, allows_short);
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if !matches!(scheme, "https" | "http" | "ssh") {
        let message = format!("the scheme `{scheme}://` is not supported");
        return Some((message, full_url_help()));
    }
    // Neither Flux nor Argo CD uses a password for SSH.
    if user.contains(':') || (scheme != "ssh" && !user.is_empty()) {
        let message = "the URL contains credentials, which would be committed".to_owned();
        let help = format!("write `{scheme}://{host}/{path}`, and put the credentials in a Secret");
        return Some((message, help));
    }
    let is_complete = !host.is_empty() && !path.trim_matches('/').is_empty();
    (!is_complete).then(|| {
        let message = format!("`{url}` has no host or no path");
        (message, full_url_help())
    })
}

/// Validates a URL without a scheme, which can be Git's short form `git@host:path`.
fn problem_without_scheme(url: &str, allows_short: bool) -> Option<(String, String)> {
    let parts = url.split_once(':').filter(|(host, path)| {
        !host.is_empty() && !host.contains('/') && !path.trim_matches('/').is_empty()
    });
    match parts {
        Some(_) if allows_short => None,
        Some((host, path)) => {
            let message = format!("Flux does not support Git's short form of SSH URLs: `{url}`");
            let path = path.trim_start_matches('/');
            Some((message, format!("write `ssh://{host}/{path}`")))
        }
        None => Some((
            format!("`{url}` is not a URL of a Git repository"),
            full_url_help(),
        )),
    }
}

fn full_url_help() -> String {
    "write the full URL, such as `https://git.example.com/acme/gitops.git`".to_owned()
}

#[cfg(test)]
mod tests {
    use super::repository_problem;

    #[test]
    fn valid_urls_pass() {
        for url in [
            "https://git.example.com/acme/gitops.git",
            "https://git.example.com:8443/acme/gitops",
            "http://git.internal/gitops.git",
            "ssh://git@git.example.com/acme/gitops.git",
            "ssh://git@git.example.com:2222/acme/gitops.git",
        ] {
            assert_eq!(repository_problem(url, false), None, "{url}");
            assert_eq!(repository_problem(url, true), None, "{url}");
        }
        assert_eq!(
            repository_problem("git@git.example.com:acme/gitops.git", true),
            None
        );
    }

    #[test]
    fn invalid_urls_are_rejected_with_a_help() {
        let help = |url, short| repository_problem(url, short).unwrap_or_default().1;
        let short = "git@git.example.com:acme/gitops.git";
        assert_eq!(
            help(short, false),
            "write `ssh://git@git.example.com/acme/gitops.git`"
        );
        assert_eq!(
            help("https://me:secret@git.example.com/a.git", true),
            "write `https://git.example.com/a.git`, and put the credentials in a Secret"
        );
        assert_eq!(
            help("https://git.example.com/a.git?x#f", false),
            "write `https://git.example.com/a.git`, and the branch in `branch`"
        );
        for url in [
            "",
            "gitops",
            "acme/gitops",
            "/srv/git/gitops",
            "file:///srv/git/gitops",
            "oci://registry.example.com/gitops",
            "https://",
            "https://git.example.com",
            "https://git.example.com/",
            "https:///gitops.git",
            "https://token@git.example.com/gitops.git",
            "ssh://git:secret@git.example.com/gitops.git",
            "https://git.example.com/a b",
            "https://git.example.com/${name}.git",
            "https://git.example.com/a.git?ref=main",
            "https://git.example.com/a.git#main",
            "https://git.example.com/a.git?token=b#c",
            "git@git.example.com:a.git#main",
            "https://git.example.com/a\u{7}.git",
            "https://git.example.com/a\u{85}.git",
            "git@git.example.com:",
            "./a:b",
        ] {
            assert!(repository_problem(url, false).is_some(), "{url}");
            assert!(repository_problem(url, true).is_some(), "{url}");
        }
    }
}
