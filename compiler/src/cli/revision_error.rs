//! The error for a base that git does not know.

use anyhow::anyhow;

/// The error for a revision that is not a commit.
pub(super) fn unknown_revision(name: &str, has_commits: bool) -> anyhow::Error {
    if !has_commits {
        return anyhow!(
            "unknown revision `{name}`: the repository has no commits\n\
             help: commit once (`git add --all && git commit`), or name a folder to compare with"
        );
    }
    if let Some((one, other)) = name.split_once("..") {
        let one = if one.is_empty() { "HEAD" } else { one };
        return anyhow!(
            "`{name}` is a range, not one revision\n\
             help: name one revision, `{one}`, or the merge base of both, `{one}...{other}`"
        );
    }
    if name.starts_with("HEAD") {
        return anyhow!(
            "`{name}` is not a commit of this repository: its history is shorter, or damaged\n\
             help: compare with a commit that `git log` lists; in CI, check out the full history"
        );
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let help = match name.strip_prefix("origin/").unwrap_or(name) {
        branch if branch.starts_with(['-', '/']) || !branch.chars().all(is_plain) => {
            "name a folder, or a commit or branch that `git log --all` lists".to_owned()
        }
        branch => format!(
            "if it is a branch of the remote repository, fetch it with `git fetch origin {branch}`, and name it \
             `origin/{branch}`; in CI, check out the full history"
        ),
    };
    anyhow!("`{name}` is neither a folder nor a commit in this repository\nhelp: {help}")
}
