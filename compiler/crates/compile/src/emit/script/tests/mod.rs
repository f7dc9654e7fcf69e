//! The scripts, run by bash against a cloud that is a JSON file.

mod climbs;
mod observed;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command as Process;

use gpuc_model::plan::*;
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::emit::emit;

/// A cloud: `cloud show NAME`, `cloud make NAME JSON`, `cloud set NAME KEY JSON`, `cloud drop NAME`, `cloud account`.
const CLOUD: &str = r#"#!/usr/bin/env bash
set -euo pipefail
printf '%q ' "$@" >>"$STATE.log"
echo >>"$STATE.log"
save() { cat >"$STATE.new"; mv "$STATE.new" "$STATE"; }
case $1 in
  account) jq -r .account "$STATE" ;;
  show)
    jq -e --arg n "$2" '.things | has($n)' "$STATE" >/dev/null || { echo "ERROR (NotFound): $2" >&2; exit 3; }
    jq --arg n "$2" '.things[$n]' "$STATE" ;;
  broken) echo 'no network' >&2; exit 1 ;;
  make) jq --arg n "$2" --argjson v "$3" '.things[$n] = $v' "$STATE" | save ;;
  set) jq --arg n "$2" --arg k "$3" --argjson v "$4" '.things[$n][$k] = $v' "$STATE" | save ;;
  drop) jq --arg n "$2" 'del(.things[$n])' "$STATE" | save ;;
  context) echo "context $2" >"$KUBECONFIG" ;;
esac
"#;

/// `kubectl` over files: nodes.json, daemonset.json, log; pods succeed.
const KUBECTL: &str = r#"#!/usr/bin/env bash
printf '%q ' "$@" >>"$STATE.kubectl"
echo "KUBECONFIG=$([ -e "${KUBECONFIG-}" ] && cat "$KUBECONFIG")" >>"$STATE.kubectl"
case "$*" in
  *'get nodes'*) cat "$STATE.nodes" ;;
  *'get daemonset'*) cat "$STATE.daemonset" ;;
  *'get deviceclasses'*) cat "$STATE.classes" ;;
  *'get resourceslices'*) cat "$STATE.slices" ;;
  *'create --namespace'*) cat "${!#}" >"$STATE.pod" ;;
  *'get pod'*) echo '{"status": {"phase": "Succeeded"}}' ;;
  *logs*) echo 'GPU 0: NVIDIA H100 (UUID: GPU-1)' ;;
esac
"#;

const SIZE: FieldKind = FieldKind {
    name: "machine type",
    read: ".size # as created",
    create_flag: None,
    change: Change::Replacement {
        reason: "the machine type of a pool is immutable",
    },
    source: "the test",
};
const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: "(.labels // {}) | to_entries | sort_by(.key) | from_entries",
    create_flag: None,
    change: Change::InPlace,
    source: "the test",
};
const IMAGE: FieldKind = FieldKind {
    name: "image",
    read: ".image",
    create_flag: None,
    change: Change::NodeRollout {
        reason: "every node is recreated",
    },
    source: "the test",
};
static POOL: ResourceKind = ResourceKind {
    protection: None,
    name: "pool",
    fields: &[SIZE, LABELS, IMAGE],
    definitions: "# The name of a pool.\ndef b: {b: \"?\"};\n",
    state: None,
    mark: None,
};

/// A text that breaks out of incorrect quotes and comments.
const HOSTILE: &str = "it's \"$(touch broken)\" `touch broken`\ntouch broken # \\";

fn pool(name: &str, script: &str) -> Resource {
    let cloud = |words: &[&str]| Command::new(["cloud"]).with_arguments(words.to_vec());
    let labels = json!({"a": HOSTILE, "b": "1"});
    let value = json!({"size": "big", "labels": labels, "image": "x"});
    let field = |kind: &'static FieldKind, desired: Value, update: Vec<Command>| Field {
        kind,
        desired,
        update,
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin: Origin::default(),
    };
    let set = |key: &str, value: &str| cloud(&["set", name, key, value]);
    // The command depends on both the observed and the wanted labels.
    let computed = "b + (.labels // {}) + $want | del(.gone) | tojson";
    let labels_update =
        cloud(&["set", name, "labels"]).with_argument(Argument::Observed(computed.into()));
    Resource {
        kind: &POOL,
        name: name.to_owned(),
        script: script.to_owned(),
        description: format!("A pool for {HOSTILE}"),
        observation: Observation {
            command: cloud(&["show", name]),
            absent_pattern: r"\(NotFound\)",
        },
        create: vec![cloud(&["make", name, &value.to_string()])],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: vec![
            field(&POOL.fields[0], json!("big"), Vec::new()),
            field(&POOL.fields[1], labels, vec![labels_update]),
            field(&POOL.fields[2], json!("x"), vec![set("image", "\"x\"")]),
        ],
        delete: vec![cloud(&["drop", name])],
        origin: Origin::default(),
    }
}

fn plan(resources: Vec<Resource>) -> Plan {
    let identity = IdentityCheck {
        is_location: true,
        subject: "account",
        query: Command::new(["cloud", "account"]),
        expected: "me".to_owned(),
        mismatch_message: format!("log in as {HOSTILE}"),
    };
    let script = File {
        path: "hosts/x.sh".to_owned(),
        contents: Contents::Script("echo \"x $LC_ALL\"\n".to_owned()),
        origin: Origin::default(),
    };
    let yaml = File {
        path: "config.yaml".to_owned(),
        contents: Contents::Yaml(Node::from_serializable(
            &json!({"a": "no"}),
            Origin::default(),
        )),
        origin: Origin::default(),
    };
    Plan {
        cluster: "ml".to_owned(),
        provisioning: Provisioning {
            tools: vec![Tool::any_version("cloud")],
            identity: vec![identity],
            resources,
            known_errors: &[],
            update_state: None,
            credentials: Credentials::Fetch(vec![Command::new(["cloud", "context", "ml"])]),
            files: vec![script, yaml],
        },
        objects: Vec::new(),
        releases: Vec::new(),
        images: Vec::new(),
        steps: Vec::new(),
        delivery: Delivery::Script,
        expectations: vec![Expectation {
            fabric_nodes: None,
            required_taints: Vec::new(),
            pool: "train".to_owned(),
            selector: BTreeMap::from([("gpuc.dev/pool".to_owned(), "train".to_owned())]),
            min_nodes: 1,
            period: None,
            allocatable: BTreeMap::from([("nvidia.com/gpu".to_owned(), 8)]),
            devices: Vec::new(),
            interconnect: BTreeMap::new(),
            daemon_sets: vec![("gpuc".to_owned(), "device-plugin".to_owned())],
            tolerations: vec![json!({"operator": "Exists"})],
            runtime_class: Some("nvidia".to_owned()),
        }],
        summary: Summary::default(),
    }
}

/// A folder with a tree and a cloud.
struct World {
    folder: TempDir,
}

struct Outcome {
    code: i32,
    out: String,
    stderr: String,
}

impl World {
    fn new(plan: &Plan, resources: &Value) -> Self {
        let world = Self {
            folder: TempDir::new().unwrap(),
        };
        world.put(
            "state",
            &json!({"account": "me", "things": resources}).to_string(),
            false,
        );
        world.put("bin/cloud", CLOUD, true);
        world.put("bin/kubectl", KUBECTL, true);
        for (path, file) in emit(plan, Some("gpu-cluster.yaml")).files() {
            world.put(
                &format!("tree of it's/{path}"),
                &file.contents,
                file.executable,
            );
        }
        world
    }

    fn put(&self, path: &str, contents: &str, executable: bool) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn run(&self, script: &str, flags: &[&str]) -> Outcome {
        self.run_with_input(script, flags, "/dev/null")
    }

    fn run_with_input(&self, script: &str, flags: &[&str], input: &str) -> Outcome {
        let folder = self.folder.path();
        let path = std::env::var("PATH").unwrap();
        let output = Process::new(folder.join("tree of it's/cloud").join(script))
            .args(flags)
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("STATE", folder.join("state"))
            .env("TMPDIR", folder)
            .stdin(fs::File::open(input).unwrap())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        assert!(
            !folder.join("broken").exists(),
            "a value was run as a command"
        );
        let remaining = fs::read_dir(folder).unwrap().flatten();
        let remaining: Vec<_> = remaining
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("tmp."))
            .collect();
        assert!(remaining.is_empty(), "{remaining:?}");
        Outcome {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn resources(&self) -> Value {
        let state = fs::read_to_string(self.folder.path().join("state")).unwrap();
        serde_json::from_str::<Value>(&state).unwrap()["things"].clone()
    }

    /// The mutating calls since the last call of this function.
    fn changes(&self) -> Vec<String> {
        let log = self.folder.path().join("state.log");
        let calls = fs::read_to_string(&log).unwrap_or_default();
        fs::write(&log, "").unwrap();
        let changing = |line: &&str| {
            ["make", "set", "drop"]
                .iter()
                .any(|verb| line.starts_with(verb))
        };
        calls.lines().filter(changing).map(str::to_owned).collect()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

fn whole() -> Value {
    json!({"size": "big", "labels": {"a": HOSTILE, "b": "1"}, "image": "x"})
}

#[test]
fn missing_resources_are_created_once() {
    let world = World::new(
        &plan(vec![pool("one", "pool-one"), pool("two", "pool-two")]),
        &json!({}),
    );
    let run = world.run("apply.sh", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(world.resources(), json!({"one": whole(), "two": whole()}));
    assert_eq!(world.changes().len(), 2);
    let run = world.run("apply.sh", &[]);
    assert_eq!(
        (run.code, world.changes()),
        (0, Vec::new()),
        "{}",
        run.stderr
    );
    assert_eq!(
        run.stderr.matches("nothing to do").count(),
        2,
        "{}",
        run.stderr
    );
}

#[test]
fn dry_run_prints_runnable_commands() {
    let world = World::new(&plan(vec![pool("one", "pool-one")]), &json!({}));
    let run = world.run("pool-one.sh", &["--dry-run"]);
    assert_eq!(
        (run.code, world.changes()),
        (0, Vec::new()),
        "{}",
        run.stderr
    );
    world.put(
        "rerun.sh",
        &format!(
            "set -e\nexport STATE=\"$PWD/state\" PATH=\"$PWD/bin:$PATH\"\n{}",
            run.out
        ),
        true,
    );
    let rerun = Process::new("bash")
        .arg("rerun.sh")
        .current_dir(world.folder.path())
        .status();
    assert!(rerun.unwrap().success(), "{}", run.out);
    assert_eq!(world.resources(), json!({"one": whole()}));
}

#[test]
fn one_drifted_field_is_one_change() {
    let mut live = whole();
    live["labels"] = json!({"a": "other", "c": "theirs", "gone": "1"});
    let world = World::new(&plan(vec![pool("one", "pool-one")]), &json!({"one": live}));
    let run = world.run("pool-one.sh", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("pool one: labels: {"), "{}", run.stderr);
    let changes = world.changes();
    assert!(
        changes.len() == 1 && changes[0].starts_with("set one labels"),
        "{changes:?}"
    );
    assert_eq!(
        world.resources()["one"]["labels"],
        json!({"b": "1", "a": HOSTILE, "c": "theirs"})
    );
}

#[test]
fn immutable_difference_stops_before_any_change() {
    let drifted = json!({"size": "small", "labels": {}, "image": "y"});
    let resources = vec![
        pool("one", "pools"),
        pool("two", "pools"),
        pool("three", "pools"),
    ];
    let world = World::new(
        &plan(resources),
        &json!({"one": {"size": "big"}, "two": drifted}),
    );
    for flags in [&[][..], &["--allow-disruption"], &["--dry-run"]] {
        let run = world.run("pools.sh", flags);
        assert_eq!(
            (run.code, world.changes()),
            (1, Vec::new()),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("machine type: \"small\" -> \"big\""),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("immutable: requires replacement:")
                && run
                    .stderr
                    .contains("the machine type of a pool is immutable"),
            "{}",
            run.stderr
        );
        assert!(
            !run.stderr.contains("three") && run.out.is_empty(),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn draining_nodes_requires_allow_disruption() {
    let mut live = whole();
    live["image"] = json!("y");
    let world = World::new(&plan(vec![pool("one", "pool-one")]), &json!({"one": live}));
    let run = world.run("pool-one.sh", &[]);
    assert_eq!(
        (run.code, world.changes()),
        (1, Vec::new()),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("every node is recreated") && run.stderr.contains("--allow-disruption")
    );
    let run = world.run("apply.sh", &["--allow-disruption"]);
    assert_eq!((run.code, world.changes().len()), (0, 1), "{}", run.stderr);
    assert_eq!(world.resources()["one"], whole());
}

#[test]
fn wrong_account_stops_every_script() {
    let world = World::new(&plan(vec![pool("one", "pool-one")]), &json!({"one": {}}));
    world.put(
        "state",
        &json!({"account": "you", "things": {}}).to_string(),
        false,
    );
    for script in ["apply.sh", "pool-one.sh", "teardown.sh", "verify.sh"] {
        let run = world.run(script, &[]);
        assert_eq!(
            (run.code, world.changes()),
            (1, Vec::new()),
            "{script}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("the account is you, expected me"),
            "{script}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(HOSTILE), "{script}: {}", run.stderr);
    }
}

#[test]
fn failed_read_stops_the_script() {
    let mut broken = pool("one", "pool-one");
    broken.observation.command = Command::new(["cloud", "broken"]);
    let mut silent = pool("two", "pool-two");
    silent.observation.command = Command::new(["true"]);
    let world = World::new(&plan(vec![broken, silent]), &json!({}));
    let run = world.run("apply.sh", &[]);
    assert_eq!((run.code, world.changes()), (1, Vec::new()));
    assert!(
        run.stderr.contains("no network") && !run.stderr.contains("pool two"),
        "{}",
        run.stderr
    );
    let run = world.run("pool-two.sh", &[]);
    assert_eq!((run.code, world.changes()), (1, Vec::new()));
    assert!(
        run.stderr
            .contains("pool two: unexpected output of command"),
        "{}",
        run.stderr
    );
}

#[test]
fn creation_may_create_the_next_resource_too() {
    let mut first = pool("one", "pools");
    first
        .create
        .push(Command::new(["cloud", "make", "two", &whole().to_string()]));
    let world = World::new(&plan(vec![first, pool("two", "pools")]), &json!({}));
    let run = world.run("pools.sh", &[]);
    assert_eq!((run.code, world.changes().len()), (0, 2), "{}", run.stderr);
}

#[test]
fn missing_resource_without_create_command_fails() {
    let mut host = pool("one", "pools");
    host.create = Vec::new();
    let world = World::new(&plan(vec![host]), &json!({}));
    let run = world.run("pools.sh", &[]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr
            .contains("error: not found, and no script creates them: pool one"),
        "{}",
        run.stderr
    );
}

#[test]
fn fields_with_the_same_commands_are_updated_together() {
    let mut twice = pool("one", "pools");
    let both = vec![Command::new(["cloud", "make", "one", &whole().to_string()])];
    twice.fields[1].update = both.clone();
    twice.fields[2].update = both;
    let world = World::new(&plan(vec![twice]), &json!({"one": {"size": "big"}}));
    let run = world.run("pools.sh", &["--allow-disruption"]);
    assert_eq!((run.code, world.changes().len()), (0, 1), "{}", run.stderr);
}

#[test]
fn teardown_asks_and_deletes_in_reverse_order() {
    let plan = plan(vec![
        pool("one", "cluster"),
        pool("two", "pool-two"),
        pool("three", "pool-three"),
    ]);
    let resources = json!({"one": whole(), "two": whole(), "theirs": {}});
    let world = World::new(&plan, &resources);
    world.put("no", "yes\n", false);
    world.put("name", "ml\n", false);
    let answer = |name: &str| world.folder.path().join(name).display().to_string();
    for (flags, input) in [
        (&[][..], "/dev/null".to_owned()),
        (&[], answer("no")),
        (&["--yes", "mm"], answer("name")),
    ] {
        let run = world.run_with_input("teardown.sh", flags, &input);
        assert_eq!(
            (run.code, world.changes()),
            (1, Vec::new()),
            "{}",
            run.stderr
        );
    }
    let run = world.run("teardown.sh", &["--dry-run"]);
    assert_eq!(
        (run.code, world.changes()),
        (0, Vec::new()),
        "{}",
        run.stderr
    );
    assert_eq!(run.out, "cloud drop two\ncloud drop one\n");
    let run = world.run_with_input("teardown.sh", &[], &answer("name"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(world.changes(), ["drop two ", "drop one "]);
    assert_eq!(world.resources(), json!({"theirs": {}}));
    let run = world.run("teardown.sh", &["--yes", "ml"]);
    assert_eq!(
        (run.code, world.changes()),
        (0, Vec::new()),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("nothing to do"));
}

#[test]
fn every_script_has_help_and_rejects_unknown_flags() {
    let world = World::new(&plan(vec![pool("one", "pool-one")]), &json!({}));
    for script in ["apply.sh", "pool-one.sh", "teardown.sh", "verify.sh"] {
        let run = world.run(script, &["--help"]);
        assert!(
            run.code == 0 && run.out.contains(&format!("usage: {script}")),
            "{}",
            run.stderr
        );
        let run = world.run(script, &["--what now"]);
        assert!(
            run.code == 2 && run.stderr.contains(r"unknown flag: --what\ now"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(world.changes(), Vec::<String>::new());
}

fn node(name: &str, ready: &str, gpus: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"nvidia.com/gpu": gpus}},
    })
}

#[test]
fn verify_passes_on_a_healthy_cluster() {
    let world = World::new(&plan(Vec::new()), &json!({}));
    world.put(
        "state.nodes",
        &json!({"items": [node("a", "True", "8")]}).to_string(),
        false,
    );
    let ready = json!({
        "metadata": {"generation": 2},
        "status": {"observedGeneration": 2, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 1},
    });
    world.put("state.daemonset", &ready.to_string(), false);
    let run = world.run("verify.sh", &["--image", "cuda:13"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("a pod with one nvidia.com/gpu sees GPU 0: NVIDIA H100"),
        "{}",
        run.stderr
    );
    let pod: Value = serde_json::from_str(&world.read("state.pod")).unwrap();
    assert_eq!(
        pod["spec"]["containers"][0]["resources"],
        json!({"limits": {"nvidia.com/gpu": "1"}})
    );
    assert_eq!(
        pod["spec"]["nodeSelector"],
        json!({"gpuc.dev/pool": "train"})
    );
    assert_eq!(pod["spec"]["tolerations"], json!([{"operator": "Exists"}]));
    assert_eq!(pod["spec"]["runtimeClassName"], "nvidia");
    let calls = world.read("state.kubectl");
    assert!(
        calls
            .lines()
            .all(|line| line.ends_with("KUBECONFIG=context ml")),
        "{calls}"
    );
    assert!(
        calls
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("delete pod gpuc-verify-train-0"),
        "{calls}"
    );
    let run = world.run("verify.sh", &["--context", "mine"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let calls = world.read("state.kubectl");
    assert!(
        calls.contains("--context mine get nodes") && run.stderr.contains("add --image"),
        "{calls}"
    );
}

#[test]
fn verify_fails_on_an_unhealthy_cluster() {
    let world = World::new(&plan(Vec::new()), &json!({}));
    let idle = json!({"status": {"desiredNumberScheduled": 0}});
    world.put("state.daemonset", &idle.to_string(), false);
    let cases = [
        (json!({"items": []}), "0 nodes ready, expected at least 1"),
        (
            json!({"items": [node("a", "True", "8"), node("b", "False", "8")]}),
            "1 of 2 nodes ready",
        ),
        (json!({"items": [node("a", "True", "7")]}), "a has 7"),
        (json!({"items": [node("a", "True", "8")]}), "0 desired pods"),
    ];
    for (nodes, message) in cases {
        world.put("state.nodes", &nodes.to_string(), false);
        let run = world.run("verify.sh", &["--no-pods"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
        assert!(
            run.stderr.contains("error: 1 check failed")
                || run.stderr.contains("error: 2 checks failed"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn verify_checks_the_newest_class_of_a_resource() {
    let mut plan = plan(Vec::new());
    plan.expectations[0].allocatable.clear();
    plan.expectations[0].daemon_sets.clear();
    plan.expectations[0].devices = vec![ExpectedDevices {
        class: "train.gpuc.dev".to_owned(),
        driver: "gpu.nvidia.com".to_owned(),
        kind: "gpu",
        profile: None,
        per_node: 1,
        resource: Some(("nvidia.com/gpu".to_owned(), "train.gpuc.dev".to_owned())),
    }];
    let world = World::new(&plan, &json!({}));
    let device = json!({"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}});
    let slice = json!({"driver": "gpu.nvidia.com", "nodeName": "a", "pool": {"generation": 1}, "devices": [device]});
    let slices = json!({"items": [{"spec": slice}]});
    world.put("state.slices", &slices.to_string(), false);
    let run = |classes: &[(&str, &str, &str)], gpus: &str| {
        let class = |(name, time, resource): &(&str, &str, &str)| {
            let metadata =
                json!({"name": name, "creationTimestamp": format!("2026-11-29T{time}:00Z")});
            json!({"metadata": metadata, "spec": {"extendedResourceName": resource}})
        };
        let classes: Vec<Value> = classes.iter().map(class).collect();
        world.put(
            "state.classes",
            &json!({"items": classes}).to_string(),
            false,
        );
        let nodes = json!({"items": [node("a", "True", gpus)]});
        world.put("state.nodes", &nodes.to_string(), false);
        let run = world.run("verify.sh", &["--image", "cuda:13"]);
        (run.code, run.stderr)
    };
    let own = |time| ("train.gpuc.dev", time, "nvidia.com/gpu");
    let chart = ("gpu.nvidia.com", "10:00", "nvidia.com/gpu");
    let other = ("other.example.com", "12:00", "example.com/gpu");
    let (code, text) = run(&[chart, own("10:01"), other], "0");
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("DeviceClass train.gpuc.dev serves nvidia.com/gpu"),
        "{text}"
    );
    assert!(
        text.contains("a pod with one nvidia.com/gpu sees GPU 0"),
        "{text}"
    );
    let cases: [(&[_], &str, &str); 4] = [
        (
            &[chart, own("09:59")],
            "0",
            "DeviceClass gpu.nvidia.com serves nvidia.com/gpu instead",
        ),
        // Of two classes of the same age, the first by name counts.
        (
            &[chart, own("10:00")],
            "0",
            "DeviceClass gpu.nvidia.com serves nvidia.com/gpu instead",
        ),
        (
            &[other],
            "0",
            "no DeviceClass has the extended resource nvidia.com/gpu",
        ),
        (
            &[own("10:01")],
            "8",
            "a device plugin still advertises nvidia.com/gpu: a",
        ),
    ];
    for (classes, gpus, message) in cases {
        let (code, text) = run(classes, gpus);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains(message), "{message}: {text}");
    }
}

#[test]
fn verify_names_the_failure_of_a_test_pod() {
    let world = World::new(&plan(Vec::new()), &json!({}));
    let nodes = json!({"items": [node("a", "True", "8")]});
    world.put("state.nodes", &nodes.to_string(), false);
    let status = |phase: &str| format!(r#"{{"status": {{"phase": "{phase}"}}}}"#);
    // Only the pending pod waits until the timeout.
    for (answer, timeout, message) in [
        (
            format!("echo '{}'", status("Failed")),
            "60",
            "nvidia-smi failed in a pod with one nvidia.com/gpu",
        ),
        (
            format!("echo '{}'", status("Pending")),
            "1",
            "a pod with one nvidia.com/gpu did not complete within 1 second; its phase is Pending",
        ),
        (
            "exit 1".to_owned(),
            "60",
            "cannot read the status of pod gpuc-verify-train-0",
        ),
    ] {
        let healthy = "echo '{\"status\": {\"phase\": \"Succeeded\"}}'";
        let kubectl = KUBECTL.replace(healthy, &answer);
        assert_ne!(kubectl, KUBECTL);
        world.put("bin/kubectl", &kubectl, true);
        let run = world.run("verify.sh", &["--image", "cuda:13", "--timeout", timeout]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
    }
}

#[test]
fn scripts_for_existing_hosts_speak_of_labels_and_taints() {
    let mut host = pool("one", "pool-one");
    host.create = Vec::new();
    let mut plan = plan(vec![host]);
    plan.provisioning.credentials = Credentials::Context(HOSTILE.to_owned());
    let world = World::new(&plan, &json!({"one": whole()}));
    let help = |script: &str| world.run(script, &["--help"]).out;
    let deletion = help("teardown.sh");
    assert!(
        deletion.starts_with("Removes the labels and taints that the scripts in this folder set")
            && !deletion.contains("lost"),
        "{deletion}"
    );
    let creation = help("apply.sh");
    assert!(
        creation.starts_with("Sets the labels and taints of the nodes of cluster ml."),
        "{creation}"
    );
    let checks = help("verify.sh");
    assert!(
        checks.contains(&format!("(default: {HOSTILE})")) && !checks.contains("fetched"),
        "{checks}"
    );
    let run = world.run("teardown.sh", &["--yes", "ml"]);
    assert!(
        run.stderr.contains("pool one: removing labels and taints"),
        "{}",
        run.stderr
    );
    let readme = world.read("tree of it's/README.md");
    assert!(
        !readme.contains("in the cloud") && readme.contains("The nodes and running jobs stay;"),
        "{readme}"
    );
}

#[test]
fn other_files_have_the_header_comment() {
    let tree = emit(&plan(Vec::new()), Some("gpu-cluster.yaml"));
    let yaml = tree.get("cloud/config.yaml").unwrap();
    assert!(
        yaml.contents.starts_with("# Generated by gpuc") && yaml.contents.ends_with("a: \"no\"\n")
    );
    let script = tree.get("cloud/hosts/x.sh").unwrap();
    assert!(
        script.executable
            && script
                .contents
                .starts_with("#!/usr/bin/env bash\n# Generated")
    );
    assert!(tree.get("cloud/apply.sh").is_none());
    assert!(!tree.get("cloud/lib.sh").unwrap().executable);
    let world = World::new(&plan(Vec::new()), &json!({}));
    assert_eq!(world.run("hosts/x.sh", &[]).out, "x C\n");
}
