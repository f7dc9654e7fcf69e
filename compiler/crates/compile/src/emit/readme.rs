//! The README of the tree.

use std::sync::LazyLock;

use gpuc_model::plan::{
    Change, Contents, Credentials, Delivery, Plan, PoolSummary, Step, StepKind,
};
use gpuc_syntax::shell::{is_invisible, quote};
use gpuc_syntax::yaml::to_yaml;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, context};

use super::header::Header;
use super::{manifest, name, script};

const NAME: &str = "README.md";
const TEMPLATE: &str = include_str!("readme.md.j2");

/// The README of a cluster.
pub(super) fn readme(plan: &Plan, header: &Header) -> String {
    let input = if header.has_name() {
        code_or_text(header.name())
    } else {
        escape_markdown(header.name())
    };
    let pools = &plan.summary.pools;
    let credentials = &plan.provisioning.credentials;
    let fetch = match credentials {
        Credentials::Fetch(commands) => commands.first().map(script::single_line),
        Credentials::Context(_) => None,
    };
    let option = |flag: &str| match credentials {
        Credentials::Context(context) => format!(" {flag} {}", quote(context)),
        Credentials::Fetch(_) => String::new(),
    };
    let (tool, folder, guide) = match &plan.delivery {
        Delivery::Script => ("", "", None),
        Delivery::Gitops {
            tool,
            folder,
            guide,
            ..
        } => (*tool, *folder, Some(guide)),
    };
    let any = |predicate: fn(&PoolSummary) -> bool| pools.iter().any(predicate);
    let fabrics = plan.expectations.iter();
    let fabrics = fabrics.filter(|pool| pool.fabric_nodes.is_some());
    let fabrics: Vec<String> = fabrics.map(|pool| code_or_text(&pool.pool)).collect();
    let context = context! {
        fabrics => fabrics.join(", "),
        cluster => plan.cluster.as_str(),
        input => input,
        summary => Serde(&plan.summary),
        resources => any(|pool| !pool.resources.is_empty()),
        rooms => any(|pool| !pool.cpu.is_empty() || !pool.memory.is_empty()),
        classes => any(|pool| !pool.classes.is_empty()),
        claims => Serde(claim_examples(pools)),
        extended => any(|pool| pool.classes.iter().any(|class| !class.extended.is_empty())),
        taints => any(|pool| !pool.taints.is_empty()),
        layouts => any(|pool| !pool.layout.is_empty()),
        scripts => script::has_apply(plan),
        creates => plan.provisioning.creates_resources(),
        host_scripts => Serde(host_scripts(plan)),
        kubectl => format!("kubectl{}", option("--context")),
        credentials => fetch,
        tool_context => if guide.is_some_and(|guide| guide.elsewhere) {
            String::new()
        } else {
            option("--context")
        },
        install => script::has_install(plan),
        fixed => Serde(immutable_kinds(plan)),
        removal => Serde(removal_commands(plan, &option)),
        releases => !plan.releases.is_empty(),
        mirror => chart_mirror(plan),
        kinds => plan.releases.iter().any(|release| release.chart.installs_crds()),
        tool => tool,
        folder => folder,
        guide => Serde(guide),
    };
    let template = TEMPLATES.get_template(NAME);
    let rendered = template.and_then(|template| template.render(context));
    collapse_empty_lines(&rendered.expect("the template renders, which a test verifies"))
}

/// The template, parsed once for all clusters of a run.
static TEMPLATES: LazyLock<Environment> = LazyLock::new(|| {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the defaults"));
    environment.add_filter("text", escape_markdown);
    environment.add_filter("code", code_or_text);
    environment.add_filter("line", single_line);
    environment.add_function("range", format_range);
    let added = environment.add_template(NAME, TEMPLATE);
    added.expect("the template parses, which a test verifies");
    environment
});

/// The example of a ResourceClaim for each pool that has one: the pool's name and the lines of the example.
fn claim_examples(pools: &[PoolSummary]) -> Vec<(&str, Vec<String>)> {
    let example = |pool: &PoolSummary| {
        let documents: Vec<_> = pool.claim.iter().map(to_yaml).collect();
        let text = documents.join("---\n");
        text.lines().map(str::to_owned).collect()
    };
    pools
        .iter()
        .filter(|pool| !pool.claim.is_empty())
        .map(|pool| (pool.name.as_str(), example(pool)))
        .collect()
}

/// The fields of a kind of resource that cannot be updated in place.
#[derive(serde::Serialize)]
struct ImmutableKind {
    kind: &'static str,
    replaced: String,
    rolled: String,
}

/// The kinds of resources of the scripts that have fields that cannot be updated in place, each once.
fn immutable_kinds(plan: &Plan) -> Vec<ImmutableKind> {
    let mut rows: Vec<ImmutableKind> = Vec::new();
    for resource in &plan.provisioning.resources {
        let kind = resource.kind;
        if rows.iter().any(|row| row.kind == kind.name) {
            continue;
        }
        let names = |test: fn(&Change) -> bool| {
            let fields = kind.fields.iter().filter(|field| test(&field.change));
            let mut names = Vec::new();
            for field in fields {
                if !names.contains(&field.name) {
                    names.push(field.name);
                }
            }
            names
        };
        let replaced = names(|change| matches!(change, Change::Replacement { .. }));
        let rolled = names(|change| matches!(change, Change::NodeRollout { .. }));
        // The effect of some fields depends on the pool: GKE replaces the machine type only of pools with GPUs.
        let list = |names: &[&str], others: &[&str]| {
            let names = names.iter().map(|name| {
                if others.contains(name) {
                    format!("{name} (of some pools)")
                } else {
                    (*name).to_owned()
                }
            });
            names.collect::<Vec<_>>().join(", ")
        };
        let row = ImmutableKind {
            kind: kind.name,
            replaced: list(&replaced, &rolled),
            rolled: list(&rolled, &replaced),
        };
        if !row.replaced.is_empty() || !row.rolled.is_empty() {
            rows.push(row);
        }
    }
    rows
}

/// The registry from which charts are pulled instead of their publishers' repositories.
fn chart_mirror(plan: &Plan) -> Option<String> {
    let mut releases = plan.releases.iter();
    let mirrored = releases.find(|release| release.repository != release.chart.repository);
    mirrored.map(|release| release.repository.clone())
}

/// A script that runs on the hosts of a pool.
#[derive(serde::Serialize)]
struct HostScript {
    /// Its path in the tree, quoted for the shell.
    path: String,
    /// Its name, quoted for the shell.
    name: String,
    /// A node of the pool, quoted for the shell; `NODE` if the tree does not know the nodes.
    node: String,
}

/// The scripts that run on hosts, not on the user's machine.
fn host_scripts(plan: &Plan) -> Vec<HostScript> {
    let files = plan.provisioning.files.iter();
    let scripts = files.filter(|file| matches!(file.contents, Contents::Script(_)));
    let node_of = |file: &str| {
        let pool = file.strip_prefix("host-")?.strip_suffix(".sh")?;
        let script = format!("pool-{pool}");
        let mut resources = plan.provisioning.resources.iter();
        let node = resources.find(|resource| resource.script == script)?;
        Some(quote(&node.name))
    };
    scripts
        .map(|file| HostScript {
            path: quote(&script::file_path(file)),
            name: quote(&file.path),
            node: node_of(&file.path).unwrap_or_else(|| "NODE".to_owned()),
        })
        .collect()
}

/// Escapes text for a table cell or another single line: no character in it is Markdown.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in single_line(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Formats a name in a table cell as code; a remark in parentheses after it is plain text. A name that contains a
/// backtick, a bar or a backslash is plain text too.
fn code_or_text(name: &str) -> String {
    let cell = single_line(name);
    let (name, remark) = match cell.find(" (") {
        Some(at) => cell.split_at(at),
        None => (cell.as_str(), ""),
    };
    if name.contains(['`', '|', '\\']) {
        escape_markdown(&cell)
    } else {
        format!("`{name}`{}", escape_markdown(remark))
    }
}

/// Text on one line that cannot end the code block that contains it.
fn single_line(text: &str) -> String {
    let visible = |character| {
        if is_invisible(character) {
            ' '
        } else {
            character
        }
    };
    let text: String = text.chars().map(visible).collect();
    text.trim_end().replace("```", "` ` `")
}

fn format_range(min: u64, max: u64) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min}–{max}")
    }
}

/// The commands that delete everything that is installed in the cluster, in order. Objects with machines stay.
fn removal_commands(plan: &Plan, context: &dyn Fn(&str) -> String) -> Vec<String> {
    let Delivery::Gitops {
        tool,
        objects,
        guide,
        ..
    } = &plan.delivery
    else {
        let has_machines = |step: &Step| {
            let mut objects = plan.objects.iter();
            step.kind == StepKind::Component
                && objects.any(|it| it.component == step.name && it.has_machines)
        };
        return plan
            .steps
            .iter()
            .rev()
            .filter(|step| !has_machines(step))
            .map(|step| removal_command(plan, step, context))
            .collect();
    };
    let kind = if *tool == "Flux" {
        "Kustomization"
    } else {
        "Application"
    };
    let of_kind = objects.iter().filter(|it| it.identity.kind == kind);
    // Deleting the root Kustomization of Flux deletes the others.
    let (roots, others): (Vec<_>, Vec<_>) =
        of_kind.partition(|it| it.identity.name == plan.cluster);
    let others = others.iter().rev().filter(|_| *tool != "Flux");
    let kind = kind.to_lowercase();
    let context = if guide.elsewhere {
        String::new()
    } else {
        context("--context")
    };
    let namespace = quote(&guide.namespace);
    let delete = |kind: &str, name: &str| {
        let name = quote(name);
        format!("kubectl{context} delete {kind} {name} --namespace {namespace}")
    };
    let applications = roots.iter().chain(others);
    let applications = applications.map(|it| delete(&kind, &it.identity.name));
    // An Application needs its AppProject until it is deleted.
    let projects = objects
        .iter()
        .filter(|it| it.identity.kind == "AppProject")
        .map(|it| delete("appproject", &it.identity.name));
    applications.chain(projects).collect()
}

fn removal_command(plan: &Plan, step: &Step, context: &dyn Fn(&str) -> String) -> String {
    match step.kind {
        StepKind::Component => format!(
            "kubectl{} delete --ignore-not-found --kustomize {}/{}",
            context("--context"),
            manifest::FOLDER,
            quote(&name::file_name_part(&step.name)),
        ),
        StepKind::Release => {
            let mut releases = plan.releases.iter();
            let release = releases.find(|release| release.name == step.name);
            let release = release.expect("the audit verifies that each such step is a release");
            format!(
                "helm{} uninstall {} --ignore-not-found --namespace {}",
                context("--kube-context"),
                quote(&release.name),
                quote(&release.namespace),
            )
        }
    }
}

/// Collapses the consecutive empty lines that the template leaves around omitted sections.
fn collapse_empty_lines(text: &str) -> String {
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
    use super::*;
    use gpuc_model::plan::{Command, File, Guide, Object, Provisioning, ResourceSummary, Summary};
    use gpuc_syntax::node::Origin;

    fn plan(pools: Vec<PoolSummary>) -> Plan {
        Plan {
            cluster: "ml".to_owned(),
            provisioning: Provisioning {
                tools: Vec::new(),
                identity: Vec::new(),
                resources: Vec::new(),
                known_errors: &[],
                update_state: None,
                credentials: Credentials::Context("ml".to_owned()),
                files: Vec::new(),
            },
            objects: Vec::new(),
            releases: Vec::new(),
            images: Vec::new(),
            steps: Vec::new(),
            delivery: Delivery::Script,
            expectations: Vec::new(),
            summary: Summary {
                location: "Amazon EKS".to_owned(),
                kubernetes: "1.34".to_owned(),
                pools,
                teams: Vec::new(),
                quotas: Vec::new(),
                workloads: Vec::new(),
                monitoring: vec!["a *sentence*".to_owned()],
                notes: vec!["a | note\nof <two> lines".to_owned()],
            },
        }
    }

    fn shown(plan: &Plan) -> String {
        readme(plan, &Header::new(Some("gpu-cluster.yaml")))
    }

    #[test]
    fn readme_lists_pools_resources_taints_and_mig_devices() {
        let pool = PoolSummary {
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
            ..PoolSummary::default()
        };
        let system = PoolSummary {
            name: "system".to_owned(),
            machine: "m7i.xlarge".to_owned(),
            min_nodes: 2,
            max_nodes: 2,
            ..PoolSummary::default()
        };
        let text = shown(&plan(vec![pool, system]));
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
    fn empty_sections_are_omitted() {
        let mut plan = plan(Vec::new());
        plan.summary.notes.clear();
        let text = shown(&plan);
        for heading in [
            "## Resources",
            "## Devices",
            "## Taints",
            "## MIG devices",
            "## Notes",
        ] {
            assert!(!text.contains(heading), "{heading}:\n{text}");
        }
    }

    fn with_a_step(delivery: Delivery) -> Plan {
        let mut plan = plan(Vec::new());
        plan.steps = vec![Step {
            name: "runtime".to_owned(),
            kind: StepKind::Component,
            dependencies: Vec::new(),
        }];
        plan.delivery = delivery;
        plan
    }

    fn gitops(tool: &'static str, folder: &'static str, elsewhere: bool) -> Delivery {
        Delivery::Gitops {
            tool,
            folder,
            objects: Vec::new(),
            guide: Guide {
                repository: "https://git.example.com/gitops.git".to_owned(),
                branch: "main".to_owned(),
                path: "clusters/ml".to_owned(),
                namespace: "tool-system".to_owned(),
                secret: None,
                chart_secret: None,
                elsewhere,
                renders: false,
                leaving: &[],
            },
        }
    }

    #[test]
    fn commands_target_only_this_cluster() {
        let removed = "delete --ignore-not-found --kustomize manifests/runtime";
        let flux = "apply --server-side --kustomize flux";
        let argocd = "apply --server-side --kustomize argocd";
        for (delivery, command, for_this_cluster) in [
            (Delivery::Script, removed, true),
            (gitops("Flux", "flux", false), flux, true),
            (gitops("Argo CD", "argocd", false), argocd, true),
            (gitops("Argo CD", "argocd", true), argocd, false),
        ] {
            let mut plan = with_a_step(delivery);
            let has_line = |plan: &Plan, line: &str| shown(plan).lines().any(|found| found == line);
            plan.provisioning.credentials = Credentials::Context("dgx lab".to_owned());
            let context = if for_this_cluster {
                " --context 'dgx lab'"
            } else {
                ""
            };
            let command = |context| format!("kubectl{context} {command}");
            assert!(has_line(&plan, &command(context)), "{}", shown(&plan));
            let fetch = Command::new(["aws", "eks", "update-kubeconfig", "--name", "ml"]);
            plan.provisioning.credentials = Credentials::Fetch(vec![fetch]);
            let fetch = "aws eks update-kubeconfig --name ml";
            assert_eq!(has_line(&plan, fetch), for_this_cluster, "{}", shown(&plan));
            assert!(has_line(&plan, &command("")), "{}", shown(&plan));
        }
    }

    #[test]
    fn projects_are_deleted_after_their_applications() {
        let object = |kind: &str, name: &str| {
            let metadata = serde_json::json!({"name": name, "namespace": "argocd"});
            let api = "argoproj.io/v1alpha1";
            let object = serde_json::json!({"apiVersion": api, "kind": kind, "metadata": metadata});
            Object::new("", &object, Origin::rule([], "a test"))
        };
        let mut delivery = gitops("Argo CD", "argocd", false);
        let Delivery::Gitops { objects, .. } = &mut delivery else {
            unreachable!("`gitops` returns this variant");
        };
        let cluster = plan(Vec::new()).cluster;
        objects.push(object("AppProject", "x-root"));
        objects.push(object("Application", &cluster));
        objects.push(object("AppProject", &cluster));
        objects.push(object("Application", "x-first"));
        objects.push(object("Application", "x-last"));
        let text = shown(&with_a_step(delivery));
        let deleted = text
            .lines()
            .filter_map(|line| line.split_once(" delete "))
            .filter(|(_, rest)| rest.starts_with("app"));
        let deleted: Vec<_> = deleted.map(|(_, rest)| rest).collect();
        let wanted = [
            format!("application {cluster}"),
            "application x-last".to_owned(),
            "application x-first".to_owned(),
            "appproject x-root".to_owned(),
            format!("appproject {cluster}"),
        ];
        let wanted = wanted.map(|it| it + " --namespace tool-system");
        assert_eq!(deleted, wanted);
    }

    #[test]
    fn script_delivery_does_not_mention_gitops() {
        let script = shown(&with_a_step(Delivery::Script));
        assert!(script.contains("./install.sh --dry-run"), "{script}");
        assert!(
            !script.contains("Flux") && !script.contains("Argo"),
            "{script}"
        );
    }

    #[test]
    fn host_scripts_are_listed() {
        let mut plan = plan(Vec::new());
        plan.provisioning.files = vec![File {
            path: "host-dgx.sh".to_owned(),
            contents: Contents::Script("true\n".to_owned()),
            origin: Origin::rule([], "a test"),
        }];
        let text = shown(&plan);
        assert!(text.contains("```sh\ncloud/host-dgx.sh\n```\n"), "{text}");
        // zsh reads a pasted comment as arguments.
        let blocks = text.split("```").skip(1).step_by(2);
        assert!(blocks.clone().count() > 1);
        assert!(
            blocks.into_iter().all(|block| !block.contains('#')),
            "{text}"
        );
    }
}
