//! The tree's README, for people.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, context};

use super::header::Header;
use super::helm::values_path;
use super::script;
use crate::plan::{Contents, Credentials, Plan, PoolSummary, Release};
use crate::shell::{is_unseen, quote};

const NAME: &str = "README.md";
const TEMPLATE: &str = include_str!("readme.md.j2");

/// The README of a cluster.
pub(super) fn readme(plan: &Plan, header: &Header) -> String {
    let input = if header.has_name() {
        code(header.name())
    } else {
        text(header.name())
    };
    let pools = &plan.summary.pools;
    let credentials = &plan.provisioning.credentials;
    let fetch = match credentials {
        Credentials::Fetch(command) => Some(script::line(command)),
        Credentials::Context(_) => None,
    };
    let option = |flag: &str| match credentials {
        Credentials::Context(context) => format!(" {flag} {}", quote(context)),
        Credentials::Fetch(_) => String::new(),
    };
    let helm = |release: &Release| helm(release, &option("--kube-context"));
    let any = |has: fn(&PoolSummary) -> bool| pools.iter().any(has);
    let context = context! {
        cluster => plan.cluster.as_str(),
        input => input,
        summary => Serde(&plan.summary),
        resources => any(|pool| !pool.resources.is_empty()),
        taints => any(|pool| !pool.taints.is_empty()),
        layouts => any(|pool| !pool.layout.is_empty()),
        scripts => script::has_apply(plan),
        host_scripts => Serde(host_scripts(plan)),
        credentials => fetch,
        kubectl_context => option("--context"),
        helm => Serde(plan.releases.iter().map(helm).collect::<Vec<_>>()),
        manifests => !plan.objects.is_empty(),
    };
    let template = TEMPLATES.get_template(NAME);
    let rendered = template.and_then(|template| template.render(context));
    squeezed(&rendered.expect("the template is right, which a test shows"))
}

/// The template, read once for all clusters of a run.
static TEMPLATES: LazyLock<Environment> = LazyLock::new(|| {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    environment.add_filter("text", text);
    environment.add_filter("code", code);
    environment.add_filter("line", line);
    environment.add_function("range", range);
    let added = environment.add_template(NAME, TEMPLATE);
    added.expect("the template is right, which a test shows");
    environment
});

/// The scripts that run on hosts, and not where the user is.
fn host_scripts(plan: &Plan) -> Vec<String> {
    let files = plan.provisioning.files.iter();
    let scripts = files.filter(|file| matches!(file.contents, Contents::Script(_)));
    scripts.map(|file| quote(&script::path(file))).collect()
}

/// A table's cell, or other text of one line: nothing in it is Markdown.
fn text(text: &str) -> String {
    let mut escaped = String::new();
    for character in line(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// A name in a table's cell, to be copied; what follows it in brackets is about it. Where a backtick or a bar is in it,
/// it cannot stand as code.
fn code(name: &str) -> String {
    let whole = line(name);
    let (name, about) = match whole.find(" (") {
        Some(at) => whole.split_at(at),
        None => (whole.as_str(), ""),
    };
    if name.contains(['`', '|', '\\']) {
        text(&whole)
    } else {
        format!("`{name}`{}", text(about))
    }
}

/// Text of one line, that does not end the block of code it stands in.
fn line(text: &str) -> String {
    let seen = |character| if is_unseen(character) { ' ' } else { character };
    let text: String = text.chars().map(seen).collect();
    text.trim_end().replace("```", "` ` `")
}

fn range(min: u64, max: u64) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min}–{max}")
    }
}

/// The command that installs a release.
fn helm(release: &Release, context: &str) -> String {
    let chart = release.chart;
    let source = if release.is_oci() {
        quote(&release.oci_url()).to_string()
    } else {
        format!("{} --repo {}", chart.name, quote(&release.repository))
    };
    format!(
        "helm{context} upgrade --install {} {source} --version {} \\\n  --namespace {} --create-namespace --values {}",
        quote(&release.name),
        quote(chart.version),
        quote(&release.namespace),
        values_path(release),
    )
}

/// One empty line where the template leaves several, so that sections may come and go.
fn squeezed(text: &str) -> String {
    let mut squeezed = String::new();
    let mut was_empty = true;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        if !(is_empty && was_empty) {
            squeezed.push_str(line);
            squeezed.push('\n');
        }
        was_empty = is_empty;
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;

    use super::*;
    use crate::node::Origin;
    use crate::plan::{Command, Delivery, File, Object, Provisioning, ResourceSummary, Summary};

    fn plan(pools: Vec<PoolSummary>) -> Plan {
        Plan {
            cluster: "ml".to_owned(),
            provisioning: Provisioning {
                tools: Vec::new(),
                identity: Vec::new(),
                resources: Vec::new(),
                credentials: Credentials::Context("ml".to_owned()),
                files: Vec::new(),
            },
            objects: Vec::new(),
            releases: Vec::new(),
            steps: Vec::new(),
            delivery: Delivery::Script,
            expectations: Vec::new(),
            summary: Summary {
                place: "Amazon EKS".to_owned(),
                kubernetes: "1.34".to_owned(),
                pools,
                notes: vec!["a | note\nof <two> lines".to_owned()],
            },
        }
    }

    fn shown(plan: &Plan) -> String {
        readme(plan, &Header::new(Some("gpu-cluster.yaml")))
    }

    #[test]
    fn pools_resources_taints_and_layouts_are_told() {
        let slices = PoolSummary {
            image: "Ubuntu".to_owned(),
            name: "slices".to_owned(),
            machine: "p4d.24xlarge".to_owned(),
            gpus: "8 x A100-40GB".to_owned(),
            sharing: "MIG, mixed".to_owned(),
            layout: vec!["GPUs 0-7: |3g.20gb|".to_owned()],
            min_nodes: 0,
            max_nodes: 2,
            min_gpus: 0,
            max_gpus: 16,
            resources: vec![ResourceSummary {
                name: "nvidia.com/mig-3g.20gb".to_owned(),
                per_node: 16,
                min: 0,
                max: 32,
            }],
            taints: ["a=b|c:NoSchedule", "d=e:NoSchedule (set by the cloud)"]
                .map(str::to_owned)
                .into(),
            driver: "the node image".to_owned(),
            plugin: "gpuc-runtime".to_owned(),
        };
        let system = PoolSummary {
            name: "system".to_owned(),
            machine: "m7i.xlarge".to_owned(),
            min_nodes: 2,
            max_nodes: 2,
            ..PoolSummary::default()
        };
        let text = shown(&plan(vec![slices, system]));
        for line in [
            "# ml",
            "| slices | p4d.24xlarge | Ubuntu | 8 x A100-40GB | MIG, mixed | 0–2 | 0–16 | the node image | gpuc-runtime |",
            "| system | m7i.xlarge | – | none | – | 2 | 0 | – | – |",
            "| `nvidia.com/mig-3g.20gb` | slices | 16 | 0–32 |",
            "| slices | a=b\\|c:NoSchedule |",
            "| slices | `d=e:NoSchedule` (set by the cloud) |",
            "GPUs 0-7: |3g.20gb|",
            "- a \\| note of \\<two\\> lines",
            "cloud/verify.sh",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        for (before, line) in text.lines().zip(text.lines().skip(1)) {
            assert!(
                !line.starts_with("## ") || before.is_empty(),
                "{line}:\n{text}"
            );
        }
        assert!(!text.contains("\n\n\n") && !text.contains("apply.sh") && text.ends_with(".\n"));
    }

    #[test]
    fn sections_without_anything_to_say_are_left_out() {
        let mut plan = plan(Vec::new());
        plan.summary.notes.clear();
        let text = shown(&plan);
        for heading in ["## What pods", "## Taints", "## Slices", "## To know"] {
            assert!(!text.contains(heading), "{heading}:\n{text}");
        }
    }

    #[test]
    fn commands_go_to_this_cluster_and_no_other() {
        let mut plan = plan(Vec::new());
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("gpuc-system".to_owned());
        plan.objects = vec![Object::new(
            "runtime",
            &namespace,
            Origin::rule([], "a test"),
        )];
        let has = |plan: &Plan, line: &str| shown(plan).lines().any(|found| found == line);
        plan.provisioning.credentials = Credentials::Context("dgx lab".to_owned());
        let apply = "kubectl --context 'dgx lab' apply --server-side --kustomize manifests";
        assert!(has(&plan, apply), "{}", shown(&plan));
        let fetch = Command::new(["aws", "eks", "update-kubeconfig", "--name", "ml"]);
        plan.provisioning.credentials = Credentials::Fetch(fetch);
        let fetch = "aws eks update-kubeconfig --name ml";
        assert!(has(&plan, fetch), "{}", shown(&plan));
        assert!(has(
            &plan,
            "kubectl apply --server-side --kustomize manifests"
        ));
    }

    #[test]
    fn hosts_are_prepared_first() {
        let mut plan = plan(Vec::new());
        plan.provisioning.files = vec![File {
            path: "host-dgx.sh".to_owned(),
            contents: Contents::Script("true\n".to_owned()),
            origin: Origin::rule([], "a test"),
        }];
        let text = shown(&plan);
        assert!(text.contains("```sh\ncloud/host-dgx.sh\n```\n"), "{text}");
        // zsh takes a comment that is pasted for arguments.
        let blocks = text.split("```").skip(1).step_by(2);
        assert!(blocks.clone().count() > 1);
        assert!(
            blocks.into_iter().all(|block| !block.contains('#')),
            "{text}"
        );
    }
}
