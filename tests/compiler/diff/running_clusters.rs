//! `gpuc diff --live`: differences between a tree and what an API server answers.
//!
//! The answers are planted here; `needs_api_server` takes them from a real one.

use std::collections::BTreeSet;

use gpuc_compile::compile::Compilation;
use gpuc_diff::diff::render::{Format, render};
use gpuc_diff::diff::{
    Answer, Diff, Diffs, GENERATED_KINDS, Impact, InstalledRelease, LiveState, Status, Unpredicted,
    VERSION, desired_objects, diff_live, find_other_cluster,
};
use gpuc_schema::config::CloudSection;
use gpuc_syntax::node::Node;
use serde_json::{Value, json};

use crate::corpus::cases;
use crate::support::Outcome;
use crate::support::examples::{compiled_examples, compiled_rich};

/// The compilation of the first cluster of an example.
fn example(name: &str) -> (&'static Outcome, &'static Compilation) {
    let (_, outcome) = (compiled_examples().iter())
        .find(|(example, _)| example.as_str() == name)
        .unwrap();
    (outcome, &outcome.compilations[0])
}

/// The state of a cluster to which the tree was applied.
fn applied(compilation: &Compilation) -> LiveState {
    let plan = compilation.plan.as_ref().unwrap();
    let answers = desired_objects(plan).into_iter().map(|object| {
        let predicted = serde_json::to_value(&object.node).unwrap();
        let mut live = predicted.clone();
        // The server sets fields of its own.
        live["metadata"]["uid"] = "1".into();
        live["metadata"]["resourceVersion"] = "2".into();
        live["status"] = json!({"numberReady": 1});
        Answer {
            live: Some(live),
            predicted: Ok(predicted),
            conflicts: Vec::new(),
            was_applied: true,
        }
    });
    let releases = plan.releases.iter().map(|release| {
        let chart = format!("{}-{}", release.chart.name, release.chart.version);
        let chart = Some(chart.replace('+', "_"));
        (release.name.clone(), InstalledRelease { chart })
    });
    LiveState {
        answers: answers.collect(),
        labeled: Vec::new(),
        releases: Some(releases.collect()),
        unlisted: Vec::new(),
    }
}

/// The position of an object in the answers.
fn position(compilation: &Compilation, kind: &str, name: &str) -> usize {
    let plan = compilation.plan.as_ref().unwrap();
    let mut objects = desired_objects(plan).into_iter();
    let found = objects.position(|it| it.identity.kind == kind && it.identity.name == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn compare(name: &str, state: &LiveState) -> Diff {
    let (outcome, compilation) = example(name);
    diff_live(compilation, state, &outcome.sources).unwrap()
}

fn text(diff: Diff) -> String {
    let diffs = Diffs {
        version: VERSION,
        base: "the running cluster".to_owned(),
        worst: diff.worst,
        clusters: vec![diff],
    };
    let format = Format::Text {
        all: false,
        plan: false,
    };
    let text = render(&diffs, format);
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn clusters_that_match_their_trees_have_no_changes() {
    let mut gitops = 0;
    for (name, outcome) in compiled_examples().iter().chain(compiled_rich()) {
        for compilation in &outcome.compilations {
            let state = applied(compilation);
            let found = diff_live(compilation, &state, &outcome.sources).unwrap();
            assert_eq!(found.changes, [], "{name}");
            assert_eq!(found.worst, None, "{name}");
            let notes = found.live.unwrap();
            assert_eq!(notes.compared, state.answers.len(), "{name}");
            assert!(!notes.has_unread(), "{name}: {notes:?}");
            gitops += usize::from(notes.is_empty());
        }
    }
    // Flux and Argo CD deploy the values as well, so that nothing stays uncompared.
    assert!(gitops > 3, "{gitops}");
}

#[test]
fn a_missing_object_is_added_and_a_leftover_is_removed() {
    let (_, compilation) = example("quickstart");
    let mut state = applied(compilation);
    let index = position(compilation, "ClusterRole", "gpuc-runtime");
    state.answers[index].live = None;
    state.labeled = vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old", "namespace": "gpuc-system"}}),
        // It is part of the tree.
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpuc-system"}}),
        // No object.
        json!({"kind": 3}),
    ];
    let found = compare("quickstart", &state);
    let changes: Vec<_> = (found.changes.iter())
        .map(|it| (it.kind.as_str(), it.names.join(","), it.status))
        .collect();
    let expected = [
        ("ClusterRole", "gpuc-runtime".to_owned(), Status::Added),
        ("ConfigMap", "gpuc-system/old".to_owned(), Status::Removed),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn a_changed_field_has_an_impact_and_its_line_in_the_input() {
    let (_, compilation) = example("eks-queues");
    let mut state = applied(compilation);
    let index = position(compilation, "ClusterQueue", "research");
    let live = state.answers[index].live.as_mut().unwrap();
    let groups = live["spec"]["resourceGroups"].as_array_mut().unwrap();
    let group = (groups.iter_mut()).find(|it| it["coveredResources"][0] == "nvidia.com/gpu");
    group.unwrap()["flavors"][0]["resources"][0]["nominalQuota"] = "999".into();
    let found = compare("eks-queues", &state);
    assert_eq!(found.worst, Some(Impact::QuotaCut));
    let [change] = found.changes.as_slice() else {
        panic!("{:?}", found.changes)
    };
    assert_eq!(change.names, ["research"]);
    assert_eq!(change.fields.len(), 1);
    assert_eq!(change.fields[0].from, Some(json!("999")));
    let causes: Vec<&str> = change.causes.iter().map(|it| it.path.as_str()).collect();
    assert!(
        causes
            .iter()
            .all(|it| it.starts_with("teams[research].quota.gpus[0]")),
        "{causes:?}"
    );
    assert!(!causes.is_empty() && change.causes[0].line.is_some());
}

#[test]
fn defaults_are_no_differences_and_removed_fields_are() {
    let (_, compilation) = example("quickstart");
    let mut state = applied(compilation);
    let plan = compilation.plan.as_ref().unwrap();
    let objects = desired_objects(plan);
    let index = objects
        .iter()
        .position(|it| it.identity.kind == "DaemonSet");
    let answer = &mut state.answers[index.unwrap()];
    // A default is in the object, and stays after a deployment.
    answer.live.as_mut().unwrap()["spec"]["revisionHistoryLimit"] = 10.into();
    answer.predicted.as_mut().unwrap()["spec"]["revisionHistoryLimit"] = 10.into();
    assert_eq!(compare("quickstart", &state).changes, []);
    let answer = &mut state.answers[index.unwrap()];
    answer.live.as_mut().unwrap()["spec"]["minReadySeconds"] = 7.into();
    let found = compare("quickstart", &state);
    let fields = &found.changes[0].fields;
    let field = (
        fields[0].path.as_str(),
        fields[0].from.as_ref(),
        fields[0].to.as_ref(),
    );
    assert_eq!(field, ("spec.minReadySeconds", Some(&json!(7)), None));
}

#[test]
fn without_a_dry_run_only_the_fields_of_the_tree_are_compared() {
    let (_, compilation) = example("quickstart");
    let mut state = applied(compilation);
    let index = position(compilation, "ClusterRole", "gpuc-runtime");
    let answer = &mut state.answers[index];
    answer.predicted = Err(Unpredicted::Forbidden("patch"));
    let live = answer.live.as_mut().unwrap();
    live["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    let found = compare("quickstart", &state);
    assert_eq!(found.changes, []);
    let notes = found.live.as_ref().unwrap();
    assert!(notes.has_unread());
    assert!(
        text(found).contains("ClusterRole gpuc-runtime: a dry run requires the right to patch")
    );
    let live = state.answers[index].live.as_mut().unwrap();
    live["rules"][0]["verbs"] = json!(["*"]);
    let found = compare("quickstart", &state);
    assert_eq!(found.changes.len(), 1);
    assert_eq!(found.worst, Some(Impact::AccessChanged));
}

#[test]
fn what_stops_a_deployment_is_named() {
    let (_, compilation) = example("eks-queues");
    let mut state = applied(compilation);
    let index = position(compilation, "ClusterRole", "gpuc-runtime");
    let reason = "422: roleRef: field is immutable".to_owned();
    state.answers[index].predicted = Err(Unpredicted::Rejected(reason));
    let index = position(compilation, "ClusterQueue", "vision");
    state.answers[index].conflicts = vec![(".spec.cohort".to_owned(), "kubectl-edit".to_owned())];
    for answer in &mut state.answers {
        let kind = answer.live.as_ref().unwrap()["kind"].clone();
        if kind == "LocalQueue" || kind == "PodMonitor" {
            answer.live = None;
            answer.predicted = Err(Unpredicted::KindNotServed);
        }
    }
    let found = compare("eks-queues", &state);
    assert_eq!(found.worst, Some(Impact::Refused));
    let text = text(found);
    for line in [
        "The API server rejects these objects, and a deployment stops there:",
        "ClusterRole gpuc-runtime: 422: roleRef: field is immutable",
        "install.sh stops there",
        "ClusterQueue vision: .spec.cohort (manager kubectl-edit)",
        "LocalQueue (kueue.x-k8s.io/v1beta2), 4 objects: the Helm release kueue installs its definition",
        "PodMonitor (monitoring.coreos.com/v1), 2 objects: no part of the tree installs its definition",
        "new 4 LocalQueues",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
}

#[test]
fn gitops_controllers_take_over_fields_and_values_of_releases_are_compared() {
    let (_, compilation) = example("eks-flux");
    let mut state = applied(compilation);
    let plan = compilation.plan.as_ref().unwrap();
    let objects = desired_objects(plan);
    let index = objects
        .iter()
        .position(|it| it.identity.kind == "HelmRelease")
        .unwrap();
    let live = state.answers[index].live.as_mut().unwrap();
    live["spec"]["values"]["nodeSelector"] = json!({"old": "label"});
    state.answers[index].conflicts = vec![(".spec.values".to_owned(), "kubectl-edit".to_owned())];
    let found = compare("eks-flux", &state);
    let [change] = found.changes.as_slice() else {
        panic!("{:?}", found.changes)
    };
    assert_eq!(change.kind, "Helm release");
    let paths: Vec<&str> = change.fields.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["values.nodeSelector.old"]);
    let text = text(found);
    assert!(text.contains("Flux takes them over"), "{text}");
    assert!(
        !text.contains("values of Helm releases are not compared"),
        "{text}"
    );
}

#[test]
fn versions_of_releases_are_compared() {
    let (_, compilation) = example("eks-queues");
    let mut state = applied(compilation);
    let releases = state.releases.as_mut().unwrap();
    releases.get_mut("kueue").unwrap().chart = Some("kueue-0.1.0".to_owned());
    releases.remove("cluster-autoscaler");
    let found = compare("eks-queues", &state);
    let text = text(found);
    assert!(text.contains("chart version 0.1.0 → "), "{text}");
    assert!(
        text.contains("new Helm release cluster-autoscaler"),
        "{text}"
    );
    state.releases = None;
    let found = compare("eks-queues", &state);
    assert_eq!(found.changes, []);
    assert!(found.live.unwrap().has_unread());
}

#[test]
fn what_could_not_be_read_is_no_difference_and_is_named() {
    let (_, compilation) = example("quickstart");
    for (index, unread) in [
        Unpredicted::Forbidden("get"),
        Unpredicted::NotAnswered("503: later".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let mut state = applied(compilation);
        state.answers[index].live = None;
        state.answers[index].predicted = Err(unread);
        let found = compare("quickstart", &state);
        assert_eq!(found.changes, []);
        assert!(found.live.unwrap().has_unread());
    }
    let mut state = applied(compilation);
    let live = state.answers[0].live.as_mut().unwrap();
    live["metadata"]["deletionTimestamp"] = "2026-11-28T12:00:00Z".into();
    let found = compare("quickstart", &state);
    assert!(text(found).contains("they are being deleted"));
    let mut state = applied(compilation);
    state.unlisted = vec![(
        "ConfigMap".to_owned(),
        "the right to list is missing".to_owned(),
    )];
    assert!(compare("quickstart", &state).live.unwrap().has_unread());
}

#[test]
fn values_from_the_cluster_cannot_change_the_terminal() {
    let (_, compilation) = example("quickstart");
    let mut state = applied(compilation);
    state.answers[0].predicted = Err(Unpredicted::Rejected("bad \x1b[2J news".to_owned()));
    let conflict = (".spec\x1b[2J".to_owned(), "x\x1b[2J".to_owned());
    state.answers[1].conflicts = vec![conflict];
    state.labeled = vec![json!({
        "apiVersion": "v1", "kind": "ConfigMap\x1b[2J", "metadata": {"name": "a\x1b[2J\n"},
    })];
    let found = compare("quickstart", &state);
    let diffs = Diffs {
        clusters: vec![found],
        ..Diffs::default()
    };
    for format in [
        Format::Text {
            all: true,
            plan: false,
        },
        Format::Markdown,
    ] {
        let text = render(&diffs, format);
        assert!(!text.contains("\x1b[2J"), "{text}");
    }
    let json: Value = serde_json::from_str(&render(&diffs, Format::Json)).unwrap();
    assert_eq!(
        json["clusters"][0]["live"]["conflicts"][0]["manager"],
        "x\x1b[2J"
    );
}

#[test]
fn leftovers_of_every_generated_kind_are_searched() {
    let mut generated = BTreeSet::new();
    for case in cases() {
        for object in &case.plan().objects {
            let metadata = object.node.get("metadata");
            let labels = metadata.and_then(|it| it.get("labels"));
            let manager = labels.and_then(|it| it.get("app.kubernetes.io/managed-by"));
            if manager.and_then(Node::text) == Some("gpuc") {
                let identity = &object.identity;
                generated.insert((identity.api_version.as_str(), identity.kind.as_str()));
            }
        }
    }
    let searched: BTreeSet<(&str, &str)> = GENERATED_KINDS.iter().copied().collect();
    assert_eq!(searched, generated);
}

/// A node with this provider id, region and name of its cluster.
fn node(id: &str, region: &str, cluster: &str) -> Value {
    json!({
        "metadata": {"name": "n", "labels": {
            "topology.kubernetes.io/region": region, "alpha.eksctl.io/cluster-name": cluster,
        }},
        "spec": {"providerID": id},
    })
}

#[test]
fn clusters_of_other_clouds_projects_and_regions_are_recognized() {
    for (name, id, region, expected) in [
        ("eks-teams", "aws:///us-east-1a/i-1", "us-east-1", None),
        (
            "eks-teams",
            "aws:///eu-west-1a/i-1",
            "eu-west-1",
            Some("the region `eu-west-1`"),
        ),
        (
            "eks-teams",
            "gce://p/us-east1-a/x",
            "us-east1",
            Some("a machine of Google Cloud"),
        ),
        (
            "eks-teams",
            "kind://docker/kind/kind-control-plane",
            "",
            None,
        ),
        ("eks-teams", "", "", None),
    ] {
        let (_, compilation) = example(name);
        let cluster = compilation.cluster.as_ref().unwrap();
        let found = find_other_cluster(cluster, &[node(id, region, &cluster.name.value)]);
        match expected {
            Some(text) => assert!(found.unwrap().contains(text), "{id}"),
            None => assert_eq!(found, None, "{id}"),
        }
    }
}

#[test]
fn every_example_accepts_its_own_nodes_and_refuses_those_of_another_cluster() {
    for (name, outcome) in compiled_examples() {
        for compilation in &outcome.compilations {
            let Some(cluster) = &compilation.cluster else {
                continue;
            };
            let own = &cluster.name.value;
            let (ids, other) = match &cluster.config.cloud.value {
                CloudSection::Aws(aws) => {
                    let region = &aws.region.value;
                    (
                        vec![node(&format!("aws:///{region}a/i-1"), region, own)],
                        Some(node("aws:///x/i-1", region, "z")),
                    )
                }
                CloudSection::Gcp(gcp) => {
                    let (project, location) = (&gcp.project.value, &gcp.location.value);
                    let parts: Vec<&str> = location.split('-').collect();
                    let region = parts[..2].join("-");
                    let id = |project: &str| format!("gce://{project}/{region}-a/x");
                    (
                        vec![node(&id(project), &region, own)],
                        Some(node(&id("other"), &region, own)),
                    )
                }
                CloudSection::Azure(azure) => {
                    let (location, subscription) = (
                        &azure.location.value,
                        azure.subscription.value.to_uppercase(),
                    );
                    let id = |it: &str| {
                        format!("azure:///subscriptions/{it}/resourceGroups/mc_a_b_c/providers/x")
                    };
                    (
                        vec![node(&id(&subscription), location, own)],
                        Some(node(&id("other"), location, own)),
                    )
                }
                CloudSection::OnPrem(_) | CloudSection::Existing(_) => {
                    (vec![node("aws:///us-east-1a/i-1", "us-east-1", "z")], None)
                }
            };
            assert_eq!(find_other_cluster(cluster, &ids), None, "{name}");
            if let Some(other) = other {
                assert!(find_other_cluster(cluster, &[other]).is_some(), "{name}");
            }
        }
    }
}
