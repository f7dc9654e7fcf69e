//! The environment for scripts: a tree on disk, real bash and jq, and fakes of the clouds' CLIs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use gpuc_model::Cluster;
use gpuc_model::plan::{self, Argument, Plan, Resource};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{compile_text, repository};

/// A cluster's tree and the fake clouds that its scripts use.
///
/// The environment is as unusual as a user's may be. The folder of the tree has spaces and quotes in its name, and
/// scripts run in another folder. The locale has a lower-case `I` that is not `i`, and the umask is strict. The
/// environment variables of the test are removed.
pub(crate) struct Environment {
    folder: TempDir,
    pub(crate) cluster: Cluster,
    pub(crate) plan: Plan,
}

/// The result of a run.
pub(crate) struct RunResult {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) stderr: String,
    /// The calls of fakes, in order.
    pub(crate) calls: Vec<FakeCall>,
}

/// A call of a fake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FakeCall {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) mutates: bool,
    pub(crate) code: i64,
}

/// The settings of a run that differ from the defaults.
#[derive(Default)]
pub(crate) struct RunOptions<'w> {
    /// Additional environment variables.
    pub(crate) environment: &'w [(&'w str, &'w str)],
    /// Standard input.
    pub(crate) input: &'w str,
}

impl Environment {
    /// Builds the tree of a file without findings, and runs `before`, a shell script, to create the state of the
    /// clouds.
    pub(crate) fn new(config: &str, before: &str) -> Self {
        let mut outcome = compile_text(config);
        let text = outcome.text();
        assert!(outcome.findings.is_empty(), "{text}");
        let compilation = outcome.compilations.remove(0);
        let (tree, _) = compilation.output.expect("a file without findings builds");
        let environment = Self {
            folder: TempDir::with_prefix("it's a test ").unwrap(),
            cluster: compilation.cluster.unwrap(),
            plan: compilation.plan.unwrap(),
        };
        for (path, file) in tree.files() {
            let path = environment.tree().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.contents).unwrap();
            let mode = if file.executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(environment.home_folder()).unwrap();
        fs::write(environment.state_path(), "").unwrap();
        // The first call of a fake creates the state.
        let before = format!("standin-state get nodes >/dev/null\n{before}");
        let run = environment.shell(&before, &[], &RunOptions::default());
        assert_eq!(run.code, 0, "{}", run.stderr);
        environment
    }

    /// The names of the scripts that change resources in the cloud.
    pub(crate) fn scripts(&self) -> Vec<String> {
        let resources = self.plan.provisioning.resources.iter();
        let mut scripts: Vec<_> = resources.map(|it| format!("{}.sh", it.script)).collect();
        scripts.dedup();
        scripts.extend(["apply.sh", "teardown.sh"].map(str::to_owned));
        scripts
    }

    /// Runs a script in the tree's `cloud/`.
    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> RunResult {
        self.run_with(script, arguments, &RunOptions::default())
    }

    /// Runs a script with other settings.
    pub(crate) fn run_with(
        &self,
        script: &str,
        arguments: &[&str],
        with: &RunOptions<'_>,
    ) -> RunResult {
        let script = self.tree().join("cloud").join(script);
        let mut words = vec![script.to_str().unwrap()];
        words.extend(arguments);
        self.shell("umask 077; exec \"$@\"", &words, with)
    }

    /// Runs a shell script with access to the fakes.
    pub(crate) fn shell(
        &self,
        script: &str,
        arguments: &[&str],
        with: &RunOptions<'_>,
    ) -> RunResult {
        fs::write(self.log_path(), "").unwrap();
        let bin = repository().join("tests/standins/bin");
        let path = format!("{}:{}", bin.display(), search_path());
        let mut command = Command::new("bash");
        command
            .args(["-euc", script, "bash"])
            .args(arguments)
            .current_dir(self.home_folder())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home_folder())
            .env("TMPDIR", self.folder.path())
            .env("LC_ALL", "tr_TR.UTF-8")
            .env("GPUC_STANDIN_SERVER", fake_server())
            .env("GPUC_STANDIN_STATE", self.state_path())
            .env("GPUC_STANDIN_LOG", self.log_path())
            .envs(with.environment.iter().copied());
        if let Some(facts) = std::env::var_os("GPUC_UPSTREAM_FACTS") {
            command.env("GPUC_FLAG_TABLES", facts);
        }
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn().expect("cannot run bash");
        // The pipe is closed if the script does not read its input.
        let _ = child.stdin.take().unwrap().write_all(with.input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let run = RunResult {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            calls: self.calls(),
        };
        assert!(
            !run.stderr.contains("stand-in: unsupported") && !run.stderr.contains("Traceback"),
            "a fake does not support this call\n{}",
            run.stderr
        );
        let stray: Vec<_> = fs::read_dir(self.home_folder()).unwrap().collect();
        assert!(
            stray.is_empty(),
            "the script left {stray:?} in the home folder\n{}",
            run.stderr
        );
        run
    }

    fn calls(&self) -> Vec<FakeCall> {
        let log = fs::read_to_string(self.log_path()).unwrap();
        let call = |line: &str| {
            let call: Value = serde_json::from_str(line).unwrap();
            let text = |word: &Value| word.as_str().unwrap().to_owned();
            let mut words = vec![text(&call["tool"])];
            words.extend(call["argv"].as_array().unwrap().iter().map(text));
            FakeCall {
                words,
                mutates: call["mutates"].as_bool().unwrap(),
                code: call["rc"].as_i64().unwrap(),
            }
        };
        let calls = log.lines().map(call);
        calls.filter(|call| !self.is_version_query(call)).collect()
    }

    /// Whether a call only reads the version of a tool.
    fn is_version_query(&self, call: &FakeCall) -> bool {
        let mut tools = self.plan.provisioning.tools.iter();
        tools.any(|tool| call.words[0] == tool.name && call.words[1..] == *tool.version_arguments)
    }

    /// The state of the fakes.
    pub(crate) fn state(&self) -> Value {
        let text = fs::read_to_string(self.state_path()).unwrap();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Whether a call failed because of a rule in the state.
    pub(crate) fn failures_occurred(&self) -> bool {
        let path = format!("{}.time", self.state_path().display());
        let text = fs::read_to_string(path).unwrap();
        let time: Value = serde_json::from_str(&text).unwrap();
        let mut used = time["used"].as_object().unwrap().values();
        used.any(|count| count.as_u64() > Some(0))
    }

    /// Changes the state of the fakes.
    pub(crate) fn set_state(&self, state: &Value) {
        fs::write(self.state_path(), state.to_string()).unwrap();
    }

    /// The read-only commands before the first change: those for the identity and for observed resources, which exist.
    pub(crate) fn read_commands(&self, script: &str) -> Vec<&plan::Command> {
        let identity = self.plan.provisioning.identity.iter().map(|it| &it.query);
        let resources = self.resources(script).flat_map(read_commands);
        identity.chain(resources).collect()
    }

    /// The resources that a script creates and changes.
    pub(crate) fn resources(&self, script: &str) -> impl Iterator<Item = &Resource> {
        let resources = self.plan.provisioning.resources.iter();
        let resources = resources.filter(|resource| !resource.is_only_deleted());
        resources.filter(move |resource| resource.script == script)
    }

    /// Whether a call matches a command. Arguments that are known only at run time match any value.
    pub(crate) fn matches_command(&self, call: &FakeCall, command: &plan::Command) -> bool {
        let cloud = self.tree().join("cloud");
        words_match(&command.0, &call.words, &cloud)
    }

    /// Whether the calls are exactly these commands, in this order.
    pub(crate) fn match_commands(&self, calls: &[FakeCall], commands: &[&plan::Command]) -> bool {
        let mut pairs = calls.iter().zip(commands);
        calls.len() == commands.len()
            && pairs.all(|(call, command)| self.matches_command(call, command))
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.root().join("a tree").join(&*self.plan.cluster)
    }

    fn home_folder(&self) -> PathBuf {
        self.root().join("elsewhere")
    }

    fn state_path(&self) -> PathBuf {
        self.root().join("state.json")
    }

    fn log_path(&self) -> PathBuf {
        self.root().join("log.jsonl")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }
}

/// The commands that read a resource, with the desired values that the cloud chooses.
pub(crate) fn read_commands(resource: &Resource) -> impl Iterator<Item = &plan::Command> {
    let lookups = resource.fields.iter().filter_map(|it| it.lookup.as_ref());
    let lookups = lookups.map(|lookup| &lookup.command);
    [&resource.observation.command].into_iter().chain(lookups)
}

/// Whether arguments match those of a command.
fn words_match(command: &[Argument], words: &[String], cloud: &Path) -> bool {
    let Some((word, more)) = command.split_first() else {
        return words.is_empty();
    };
    let Some((actual, left)) = words.split_first() else {
        return false;
    };
    let is_it = match word {
        Argument::Text(text) => text == actual,
        Argument::CloudFile(file) => *actual == cloud.join(file).to_str().unwrap(),
        Argument::Observed(_) | Argument::ObservedOptional(_) | Argument::UpdateId => true,
        Argument::ObservedList(_) => {
            return (1..=words.len()).any(|count| words_match(more, &words[count..], cloud));
        }
    };
    is_it && words_match(more, left, cloud)
}

impl RunResult {
    /// The calls that change resources.
    pub(crate) fn mutating_calls(&self) -> Vec<&FakeCall> {
        self.calls.iter().filter(|call| call.mutates).collect()
    }

    /// Asserts that the run succeeded.
    pub(crate) fn expect_success(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    /// Asserts that the run stopped before any change, and reported the reason.
    pub(crate) fn expect_refusal(self, why: &str) -> Self {
        assert!(self.code != 0, "the script succeeded\n{}", self.stderr);
        assert!(
            self.stderr.contains(why),
            "not reported: {why}\n{}",
            self.stderr
        );
        self.expect_no_changes()
    }

    /// Asserts that the run changed nothing.
    pub(crate) fn expect_no_changes(self) -> Self {
        let calls = self.mutating_calls();
        assert!(calls.is_empty(), "{calls:#?}\n{}", self.stderr);
        self
    }
}

/// The port of the server that runs the fakes. It ends with this process, which closes its standard input.
fn fake_server() -> &'static str {
    static SERVER: OnceLock<(Child, String)> = OnceLock::new();
    let (_, port) = SERVER.get_or_init(|| {
        for (tool, argument) in [("bash", "--version"), ("jq", "--version")] {
            let found = Command::new(tool).arg(argument).output();
            assert!(found.is_ok(), "these tests need {tool}");
        }
        let mut command = Command::new("python3");
        command
            .arg(repository().join("tests/standins"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(facts) = std::env::var_os("GPUC_UPSTREAM_FACTS") {
            command.env("GPUC_FLAG_TABLES", facts);
        }
        let mut server = command.spawn().expect("these tests need python3");
        let mut port = String::new();
        let output = server.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        assert!(!port.is_empty(), "these tests need PyYAML for python3");
        (server, port.trim().to_owned())
    });
    port
}

fn search_path() -> String {
    std::env::var("PATH").unwrap()
}
