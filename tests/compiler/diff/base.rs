//! The base of a comparison: merge bases, renamed files, and trees that do not match their input.

use std::fs;

use super::diff_command::{commit, committed_example, edit, git, gpuc, standard_output};

const MORE_REPLICAS: (&str, &str) = ("replicas: 4", "replicas: 6");

#[test]
fn branch_is_compared_with_its_merge_base() {
    let folder = committed_example();
    let folder = folder.path();
    git(folder, &["branch", "-M", "main"]);
    git(folder, &["checkout", "-q", "-b", "mine"]);
    edit(folder, MORE_REPLICAS.0, MORE_REPLICAS.1);
    commit(folder);
    git(folder, &["checkout", "-q", "main"]);
    edit(folder, "max: 4}", "max: 8}");
    commit(folder);
    git(folder, &["checkout", "-q", "mine"]);
    let base_change = "nodes 0-8 → 0-4";
    let all = gpuc(folder, &["diff", "--base", "main"]);
    let hint = "HEAD does not contain main";
    let typed = "`--base main...HEAD`";
    let message = String::from_utf8_lossy(&all.stderr).into_owned();
    assert!(
        message.contains(hint) && message.contains(typed),
        "{message}"
    );
    let all = standard_output(&all);
    assert!(all.contains("8 → ") || all.contains(base_change), "{all}");
    for base in ["main...HEAD", "main..."] {
        let mine = gpuc(folder, &["diff", "--base", base]);
        let message = String::from_utf8_lossy(&mine.stderr).into_owned();
        assert!(!message.contains(hint), "{message}");
        let mine = standard_output(&mine);
        assert!(
            mine.contains("× 4 → ") || mine.contains("replicas 4 → 6"),
            "{mine}"
        );
        assert!(!mine.contains("capacity-lost"), "{mine}");
        assert!(mine.contains(&format!("since {base} (")), "{mine}");
    }
    let wrong = gpuc(folder, &["diff", "--base", "nowhere...HEAD"]);
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        message.contains("`nowhere` is neither a folder nor a commit"),
        "{message}"
    );
}

#[test]
fn renamed_file_is_compared_with_its_old_name() {
    for by_git in [true, false] {
        let folder = committed_example();
        let folder = folder.path();
        let new = "teams/here.gpu-cluster.yaml";
        fs::create_dir(folder.join("teams")).unwrap();
        if by_git {
            git(folder, &["mv", "gpu-cluster.yaml", new]);
        } else {
            fs::rename(folder.join("gpu-cluster.yaml"), folder.join(new)).unwrap();
        }
        let text = fs::read_to_string(folder.join(new)).unwrap();
        fs::write(
            folder.join(new),
            text.replacen(MORE_REPLICAS.0, MORE_REPLICAS.1, 1),
        )
        .unwrap();
        let found = standard_output(&gpuc(folder, &["diff", new]));
        assert!(
            !found.contains("a new cluster"),
            "by git: {by_git}: {found}"
        );
        assert!(
            !found.contains("(new)") && !found.contains("new pool"),
            "{found}"
        );
        assert!(found.contains("device-plugin-restarted"), "{found}");
    }
}

#[test]
fn headers_change_only_with_the_file_name() {
    let folder = committed_example();
    let folder = folder.path();
    let new = "here.gpu-cluster.yaml";
    edit(folder, MORE_REPLICAS.0, MORE_REPLICAS.1);
    git(folder, &["mv", "gpu-cluster.yaml", new]);
    let json = standard_output(&gpuc(folder, &["diff", "--format", "json", new]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let changes = json["clusters"][0]["changes"].as_array().unwrap();
    let causes = |change: &serde_json::Value| -> Vec<String> {
        let causes = change["causes"].as_array().unwrap().iter();
        causes
            .map(|cause| cause["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let name = "the name of this file, formerly gpu-cluster.yaml";
    let more = "nodePools[infer].sharing.timeSlicing.replicas";
    let of = |kind: &str, file: &str| {
        let is_it = |change: &&serde_json::Value| {
            let names = change["names"].as_array().unwrap();
            change["kind"] == kind && names.iter().any(|it| it == file)
        };
        changes
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{file}: {changes:#?}"))
    };
    let header = of("file", "cloud/cluster.sh");
    assert_eq!(causes(header), [name]);
    assert_eq!(
        header["reason"],
        "its header names the file that it was generated from"
    );
    assert_eq!(causes(of("file", "README.md")), [more, name]);
    assert_eq!(causes(of("pool", "infer")), [more]);
}

#[test]
fn tree_that_differs_from_its_input_is_reported() {
    let folder = committed_example();
    let folder = folder.path();
    let mut lock = fs::read_dir(folder.join("clusters")).unwrap();
    let tree = lock.next().unwrap().unwrap().path();
    let readme = tree.join("README.md");
    fs::write(&readme, "edited\n").unwrap();
    commit(folder);
    let message =
        "the tree on disk does not match this input: 1 file edited by hand; run `gpuc build`";
    for format in ["text", "markdown", "github"] {
        let found = standard_output(&gpuc(folder, &["diff", "--format", format]));
        assert!(found.contains(message), "{format}: {found}");
        assert!(found.contains("README.md"), "{format}: {found}");
    }
    let found = standard_output(&gpuc(folder, &["diff", "--format", "json"]));
    assert!(found.contains("\"edited\": true"), "{found}");
    fs::remove_dir_all(&tree).unwrap();
    let found = standard_output(&gpuc(folder, &["diff"]));
    assert!(!found.contains("the tree on disk"), "{found}");
}

#[test]
fn insignificant_tree_differences_are_identified() {
    let folder = committed_example();
    let folder = folder.path();
    let tree = folder.join("clusters/eks-teams");
    let lock = tree.join("gpuc.lock.json");
    let built = fs::read_to_string(&lock).unwrap();
    let version = format!("\"gpuc\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(built.contains(&version));
    fs::write(&lock, built.replace(&version, "\"gpuc\": \"0.0.1\"")).unwrap();
    let touches = "; running workloads unaffected; run `gpuc build`";
    for format in ["text", "markdown", "github"] {
        let found = standard_output(&gpuc(folder, &["diff", "--format", format]));
        let message = format!("gpuc.lock.json (written by another version of gpuc){touches}");
        assert!(found.contains(&message), "{format}: {found}");
    }
    fs::write(&lock, &built).unwrap();
    git(folder, &["config", "core.fileMode", "true"]);
    for script in ["apply.sh", "verify.sh"] {
        let script = tree.join("cloud").join(script);
        let text = fs::read(&script).unwrap();
        // A recreated file is not executable.
        fs::remove_file(&script).unwrap();
        fs::write(&script, text).unwrap();
    }
    let found = standard_output(&gpuc(folder, &["diff"]));
    let message = format!("apply.sh and 1 file more (only the executable bit differs){touches}");
    assert!(found.contains(&message), "{found}");
    git(folder, &["checkout", "-q", "."]);
    // The committed lock has the same content with other white space.
    fs::write(&lock, built.replacen('{', "{ ", 1)).unwrap();
    commit(folder);
    for format in ["text", "markdown"] {
        let found = standard_output(&gpuc(folder, &["diff", "--format", format]));
        let message = "in the tree only gpuc.lock.json differs: running workloads unaffected";
        assert!(found.contains(message), "{format}: {found}");
        assert!(!found.contains("nothing differs"), "{format}: {found}");
    }
}

/// A change of a base file changes every cluster that uses it.
#[test]
fn changed_base_file_changes_its_clusters() {
    let folder = committed_example();
    let folder = folder.path();
    let base = folder.join("shared.gpu-cluster.yaml");
    fs::rename(folder.join("gpu-cluster.yaml"), &base).unwrap();
    for name in ["one", "two"] {
        let text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\n\
             base: shared.gpu-cluster.yaml\nmetadata: {{name: {name}}}\n"
        );
        fs::write(folder.join(format!("{name}.gpu-cluster.yaml")), text).unwrap();
    }
    commit(folder);
    let found = standard_output(&gpuc(folder, &["diff", "."]));
    assert!(
        found.starts_with("2 clusters unchanged since HEAD"),
        "{found}"
    );
    let two = folder.join("two.gpu-cluster.yaml");
    let text = fs::read_to_string(&two).unwrap();
    fs::write(&two, format!("# a comment\n{text}")).unwrap();
    let found = standard_output(&gpuc(folder, &["diff", "."]));
    assert!(
        found.starts_with("2 clusters unchanged since HEAD"),
        "{found}"
    );
    fs::write(&two, &text).unwrap();
    let shared = fs::read_to_string(&base).unwrap();
    fs::write(&base, shared.replacen(MORE_REPLICAS.0, MORE_REPLICAS.1, 1)).unwrap();
    let found = standard_output(&gpuc(folder, &["diff", "."]));
    for name in ["one", "two"] {
        assert!(found.contains(&format!("{name}, since HEAD")), "{found}");
    }
    assert_eq!(
        found.matches("device-plugin-restarted").count(),
        4,
        "{found}"
    );
}

#[test]
fn merged_but_unbuilt_changes_are_reported_by_field() {
    let folder = committed_example();
    let folder = folder.path();
    edit(folder, "max: 4}", "max: 8}");
    commit(folder);
    edit(folder, MORE_REPLICAS.0, MORE_REPLICAS.1);
    let found = standard_output(&gpuc(folder, &["diff"]));
    assert!(
        found.contains("the committed tree was not built from the base's input"),
        "{found}"
    );
    assert!(
        found.contains("was last built from the input in "),
        "{found}"
    );
    let (mine, others) = found
        .split_once("Not caused by an edit of the input")
        .unwrap();
    assert!(
        mine.contains("device-plugin-restarted") && !mine.contains("capacity-gained"),
        "{found}"
    );
    assert!(others.contains("capacity-gained"), "{found}");
    assert!(!found.contains("is unknown"), "{found}");
}

#[test]
fn clusters_without_a_tree_are_listed_once() {
    let folder = committed_example();
    let folder = folder.path();
    let text = fs::read_to_string(folder.join("gpu-cluster.yaml")).unwrap();
    let name = text
        .lines()
        .find(|line| line.starts_with("metadata:"))
        .unwrap();
    for other in ["one", "two"] {
        let text = text.replace(name, &format!("metadata: {{name: {other}}}"));
        fs::write(folder.join(format!("{other}.gpu-cluster.yaml")), text).unwrap();
    }
    commit(folder);
    let found = gpuc(folder, &["diff", "."]);
    let messages = String::from_utf8_lossy(&found.stderr).into_owned();
    assert_eq!(messages.matches("note: ").count(), 1, "{messages}");
    assert!(
        messages.contains("the base has no tree in clusters of one, two: "),
        "{messages}"
    );
}

#[test]
fn steps_are_printed_in_other_formats() {
    let folder = committed_example();
    let folder = folder.path();
    edit(folder, "machine: g6e.xlarge", "machine: g6e.2xlarge");
    let steps = standard_output(&gpuc(folder, &["diff", "--plan", "--format", "markdown"]));
    assert!(
        steps.starts_with("### gpuc: rollout steps since `HEAD"),
        "{steps}"
    );
    assert!(
        steps.contains("\nRun the commands in `clusters/"),
        "{steps}"
    );
    assert!(
        steps.contains(
            "\n2. Build the tree from the input, review and commit\n   ```sh\n   gpuc build\n   ```\n"
        ),
        "{steps}"
    );
    let json = standard_output(&gpuc(folder, &["diff", "--plan", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        !json["clusters"][0]["rollout"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let wrong = gpuc(folder, &["diff", "--plan", "--format", "github"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`--plan` cannot be used"));
}
