//! The repository of `gitops` is no URL that the tool can read.

use gpuc_schema::config::Gitops;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The repository of `gitops` is no URL that the tool can read.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2080",
        name: "gitops-repository-invalid",
        severity: Severity::Error,
        summary: "the repository of `gitops` is no URL that the tool can read",
        explain: "### What it checks

Whether `repository` is a URL of a Git repository: `https://` or `ssh://`, for Argo CD also
`git@host:path`; with a host and a path; without a password or a token in it, and without `?` and
`#`.

### Why it matters

Flux refuses the short form of SSH that Git itself takes, and the objects are only looked at in the
cluster. A password in the URL would be committed with the tree, and so would a token after `?`,
which Git does not read; a branch after `#` is not read either.

### What to do

Write the URL in full: `ssh://git@host/path` for `git@host:path`. Credentials belong into a Secret:
`gitops.flux.secret`, or a repository that Argo CD knows.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "git@git.example.com:acme/gitops.git", branch: main, path: clusters/demo, secret: deploy-key}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "ssh://git@git.example.com/acme/gitops.git", branch: main, path: clusters/demo, secret: deploy-key}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.written.gitops else {
        return;
    };
    let repository = gitops.repository();
    let short = matches!(gitops.value, Gitops::Argocd(_));
    let Some((message, help)) = problem(repository, short) else {
        return;
    };
    let draft = report.draft(&RULE.code, repository.span, message);
    draft.help(help).emit();
}

/// What is wrong with a URL, and what to write instead. `short` says whether the tool takes Git's short form of SSH.
fn problem(url: &str, short: bool) -> Option<(String, String)> {
    let is_odd = |c: char| {
        let odd = matches!(c, '$' | '\\' | '"' | '\'' | '<' | '>');
        odd || c.is_whitespace() || c.is_control()
    };
    if url.contains(is_odd) {
        let message = "a URL has no blanks, quotes, brackets, `\\` or `$`".to_owned();
        return Some((message, full()));
    }
    if let Some(at) = url.find(['?', '#']) {
        let message = format!("`{}` is no part of a repository's URL", &url[at..]);
        let help = format!("write `{}`; the branch stands in `branch`", &url[..at]);
        return Some((message, help));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return without_scheme(url, short);
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if !matches!(scheme, "https" | "http" | "ssh") {
        let message = format!("no Git repository is read by `{scheme}://`");
        return Some((message, full()));
    }
    // A password for SSH is nothing that either tool would use.
    if user.contains(':') || (scheme != "ssh" && !user.is_empty()) {
        let message = "the URL has credentials in it, which would be committed".to_owned();
        let help =
            format!("write `{scheme}://{host}/{path}`, and keep the credentials in a Secret");
        return Some((message, help));
    }
    let is_named = !host.is_empty() && !path.trim_matches('/').is_empty();
    (!is_named).then(|| {
        let message = format!("`{url}` names no repository: it has no host or no path");
        (message, full())
    })
}

/// `git@host:path`, or nothing that Git knows.
fn without_scheme(url: &str, short: bool) -> Option<(String, String)> {
    let parts = url.split_once(':');
    let parts = parts.filter(|(host, path)| {
        !host.is_empty() && !host.contains('/') && !path.trim_matches('/').is_empty()
    });
    match parts {
        Some(_) if short => None,
        Some((host, path)) => {
            let message = format!("Flux does not read `{url}`, Git's short form of SSH");
            let path = path.trim_start_matches('/');
            Some((message, format!("write `ssh://{host}/{path}`")))
        }
        None => Some((format!("`{url}` is no URL of a Git repository"), full())),
    }
}

fn full() -> String {
    "write the whole URL, as `https://git.example.com/acme/gitops.git`".to_owned()
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn urls_that_the_tools_read() {
        for url in [
            "https://git.example.com/acme/gitops.git",
            "https://git.example.com:8443/acme/gitops",
            "http://git.internal/gitops.git",
            "ssh://git@git.example.com/acme/gitops.git",
            "ssh://git@git.example.com:2222/acme/gitops.git",
        ] {
            assert_eq!(problem(url, false), None, "{url}");
            assert_eq!(problem(url, true), None, "{url}");
        }
        assert_eq!(problem("git@git.example.com:acme/gitops.git", true), None);
    }

    #[test]
    fn others_are_refused_with_what_to_write() {
        let help = |url, short| problem(url, short).unwrap_or_default().1;
        let short = "git@git.example.com:acme/gitops.git";
        assert_eq!(
            help(short, false),
            "write `ssh://git@git.example.com/acme/gitops.git`"
        );
        assert_eq!(
            help("https://me:secret@git.example.com/a.git", true),
            "write `https://git.example.com/a.git`, and keep the credentials in a Secret"
        );
        assert_eq!(
            help("https://git.example.com/a.git?x#f", false),
            "write `https://git.example.com/a.git`; the branch stands in `branch`"
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
            assert!(problem(url, false).is_some(), "{url}");
            assert!(problem(url, true).is_some(), "{url}");
        }
    }
}
