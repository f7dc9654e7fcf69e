//! Runs the installed `git` for single answers.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, anyhow, bail};

/// The root of the working tree that contains a folder.
pub(super) fn repository_root(folder: &Path) -> Result<String> {
    let output = run_git(folder, &["rev-parse", "--show-toplevel"])?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.trim_end_matches(['\n', '\r']).to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    if reason.contains("must be run in a work tree") {
        bail!(
            "{} is in a bare repository, which has no files\nhelp: run gpuc in a clone or a worktree",
            folder.display()
        );
    }
    // Other errors, such as a repository of another user, have git's own help.
    if !reason.contains("not a git repository") {
        return Err(git_error("rev-parse", &output));
    }
    bail!(
        "{} is not in a Git repository\nhelp: use `--base DIR` to compare with another folder",
        folder.display()
    )
}

/// The commit that a revision names.
pub(super) fn commit(root: &Path, name: &str) -> Result<String> {
    // The name follows `--end-of-options`, so that a leading dash is not an option.
    let commit_expression = format!("{name}^{{commit}}");
    let verify = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &commit_expression,
    ];
    let output = run_git(root, &verify)?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.trim_end_matches(['\n', '\r']).to_owned());
    }
    // With `--quiet`, an unknown name has no message, and a damaged repository has one.
    if !output.stderr.is_empty() {
        return Err(git_error("rev-parse", &output));
    }
    let head = first_line(root, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    Err(super::revision_error::unknown_revision(
        name,
        head.is_some(),
    ))
}

/// The merge base of two revisions, in Git's notation `A...B`; an omitted side is HEAD.
pub(super) fn merge_base(root: &Path, name: &str, one: &str, other: &str) -> Result<String> {
    let side = |side: &str| commit(root, if side.is_empty() { "HEAD" } else { side });
    let (one, other) = (side(one)?, side(other)?);
    first_line(root, &["merge-base", &one, &other])?.ok_or_else(|| {
        anyhow!(
            "the two revisions of `{name}` have no merge base\n\
             help: in CI, check out the full history (`fetch-depth: 0`), or name only one revision"
        )
    })
}

/// The first line of git's output; `None` if git exits with an error.
pub(super) fn first_line(folder: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let output = run_git(folder, arguments)?;
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The command `git` in a folder, without the programs that the configuration of a repository can name: a stranger's
/// repository must not run any.
pub(super) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder);
    // A missing object of a partial clone is fetched, but not by a program of the repository, and without questions.
    command.env("GIT_TERMINAL_PROMPT", "0");
    // Some messages are recognized.
    command.env("LC_ALL", "C");
    command.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
    command.args(["-c", "core.sshCommand=ssh"]);
    command.args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]);
    command
}

pub(super) fn run_git(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let output = git_command(folder).args(arguments).output();
    output.context("cannot run git\nhelp: install git, or compare with a folder: `--base DIR`")
}

pub(super) fn git_error(command: &str, output: &Output) -> anyhow::Error {
    let error_output = String::from_utf8_lossy(&output.stderr);
    anyhow!("git {command}: {}", error_output.trim_end())
}
