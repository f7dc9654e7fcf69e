//! A cloud reports an error of a node pool.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7103",
        name: "cloud-pool-failed",
        severity: Severity::Error,
        summary: "the cloud reports an error of a node pool",
        checks: "Whether the state of each node pool in the output of the cloud's command-line tool is free of errors: \
`status` and `health.issues` of EKS, `status` and `conditions` of GKE, `provisioningState`, `powerState` and \
`provisioningError` of AKS. gpuc reads files with such output in the folder of `--from`.",
        reason: "Machines are not created or do not join the cluster, because of a quota, missing capacity, a role, a \
subnet or an image. Nothing in the cluster reports nodes that do not exist.",
        remedy: "Correct what the message of the cloud names, then run `cloud/apply.sh` of the tree.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: cpu-1, labels: {eks.amazonaws.com/nodegroup: system}}
    status: {conditions: [{type: Ready, status: "True"}]}
--- # cloud/infer.json
{"nodegroup": {"nodegroupName": "infer", "status": "DEGRADED", "health": {"issues": [
  {"code": "AsgInstanceLaunchFailures", "message": "You have requested more vCPU capacity than your current vCPU limit"}
]}}}
"#,
        correction: Correction::Replace(
            r#""status": "DEGRADED", "health": {"issues": [
  {"code": "AsgInstanceLaunchFailures", "message": "You have requested more vCPU capacity than your current vCPU limit"}
]}"#,
            r#""status": "ACTIVE", "health": {"issues": []}"#,
        ),
    },
    layer: Layer::Cloud,
    is_symptom: false,
    needs: &[],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pool in &ctx.state.cloud_pools {
        if !pool.has_error() {
            continue;
        }
        let first = pool.problems.first();
        let object = ObjectRef::new("Pool", "", &pool.name);
        let mut message = format!("the {} is in the state `{}`", pool.title, pool.status);
        if let Some(problem) = first {
            let parts = [problem.code.as_str(), problem.message.trim_end_matches('.')];
            let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
            message.push_str(&format!(": {}", parts.join(": ")));
        }
        let own = ctx.cluster.and_then(|cluster| cluster.pool(&pool.name));
        let mut finding = Finding::new(&CHECK.code, object.clone(), message)
            .field(object.clone(), "status", &pool.status)
            .input(own.map(|it| it.name.span))
            .help("correct what the cloud names; if nodes are missing, then run `cloud/apply.sh` of the tree");
        for problem in pool.problems.iter().skip(1) {
            finding = finding.field(object.clone(), &problem.code, &problem.message);
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{codes, diagnose_objects};
    use super::super::pool_without_nodes;
    use super::CHECK;

    #[test]
    fn a_pool_that_is_updated_has_no_finding() {
        let bad = CHECK.code.bad;
        for status in ["UPDATING", "CREATING", "ACTIVE"] {
            let objects = bad
                .replace("DEGRADED", status)
                .replace("{\"code\"", "{\"kode\"");
            let objects = objects.replace("\"message\"", "\"massage\"");
            assert_eq!(codes(&objects).0, [] as [&str; 0], "{status}");
            let with_issue = bad.replace("DEGRADED", status);
            assert_eq!(codes(&with_issue).0, [CHECK.code.id], "{status}");
        }
    }

    #[test]
    fn without_descriptions_the_check_could_not_run() {
        let (objects, _) = CHECK.code.bad.split_once("--- # cloud").unwrap();
        let is_skipped = |objects: &str| {
            let (diagnosis, _) = diagnose_objects("", objects);
            let mut skipped = diagnosis.skipped.iter();
            let found = skipped.find(|it| it.check.code.id == CHECK.code.id);
            // It is optional: `--strict` does not require it.
            found.is_some_and(|it| it.lacks_optional_only)
        };
        assert!(is_skipped(objects));
        assert!(!is_skipped(CHECK.code.bad));
    }

    #[test]
    fn the_error_explains_a_pool_without_nodes() {
        let (configuration, objects) = pool_without_nodes::CHECK
            .code
            .bad
            .split_once("--- # objects.yaml\n")
            .unwrap();
        let (_, cloud) = CHECK.code.bad.split_once("--- # cloud").unwrap();
        let (diagnosis, text) =
            diagnose_objects(configuration, &format!("{objects}--- # cloud{cloud}"));
        let causes: Vec<&str> = diagnosis
            .causes
            .iter()
            .map(|it| it.finding.code.id)
            .collect();
        assert_eq!(causes, [CHECK.code.id], "{text}");
        assert!(text.contains("explains: the pool has no nodes"), "{text}");
        assert!(text.contains("gpu-cluster.yaml:"), "{text}");
    }
}
