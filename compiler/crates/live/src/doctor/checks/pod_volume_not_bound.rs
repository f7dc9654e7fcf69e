//! A volume of a pending pod with GPUs cannot be used.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::node_terms;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::pending::PendingPod;
use crate::doctor::placement::{Misfit, matches_terms};
use crate::doctor::verdict::stuck_pods;
use crate::objects::{Object, ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7512",
        name: "pod-volume-not-bound",
        severity: Severity::Error,
        summary: "a PersistentVolumeClaim of a pending pod with GPUs has no volume that the pod can use",
        checks: "Whether each PersistentVolumeClaim of a pending pod with GPUs exists and is bound to a volume in \
the zone of nodes that the pod fits on. Claims that wait for their first pod are not reported.",
        reason: "The scheduler places a pod only where its volumes are. A volume of one zone keeps the pod away \
from GPUs of other zones.",
        remedy: "Create the claim, correct its StorageClass, or repair the CSI driver that the message names. Use \
`volumeBindingMode: WaitForFirstConsumer`, so that the volume is created in the zone of the node. A volume in \
another zone must be copied.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: data, namespace: ml}
    spec: {storageClassName: fast}
    status: {phase: Pending}
  - apiVersion: storage.k8s.io/v1
    kind: StorageClass
    metadata: {name: standard}
    provisioner: ebs.csi.aws.com
    volumeBindingMode: WaitForFirstConsumer
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status: {phase: Pending}
"#,
        correction: Correction::Replace(
            "spec: {storageClassName: fast}",
            "spec: {storageClassName: standard}",
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: false,
    needs: &[
        Kind::Node,
        Kind::Pod,
        Kind::PersistentVolumeClaim,
        Kind::PersistentVolume,
        Kind::StorageClass,
    ],
    needs_logs: Logs::None,
    run,
};

/// A problem of a claim: the message, the help, and the evidence.
type Problem = (String, String, Evidence);

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in stuck_pods(ctx) {
        let pod = pending.pod;
        let problem = claim_names(pod).find_map(|name| check_claim(ctx, pending, &name));
        let Some((message, help, evidence)) = problem else {
            continue;
        };
        let object = ObjectRef::of_kind("Pod", &pod.metadata);
        let namespace = &pod.metadata.namespace;
        findings.push(
            Finding::new(&CHECK.code, object, message)
                .evidence(evidence)
                .help(help)
                .command(format!(
                    "kubectl describe persistentvolumeclaims --namespace {namespace}"
                )),
        );
    }
}

/// The names of the claims that a pod uses; the controller of generic ephemeral volumes adds the pod's name.
fn claim_names(pod: &Pod) -> impl Iterator<Item = String> {
    pod.spec.volumes.iter().filter_map(|volume| {
        let claim = &volume["persistentVolumeClaim"]["claimName"];
        if let Some(name) = claim.as_str() {
            return Some(name.to_owned());
        }
        volume.get("ephemeral").filter(|it| !it.is_null())?;
        let name = volume["name"].as_str()?;
        Some(format!("{}-{name}", pod.metadata.name))
    })
}

/// The seconds in which a volume is created.
const PROVISION_SECONDS: u64 = 600;

fn check_claim(ctx: &Context<'_>, pending: &PendingPod<'_>, name: &str) -> Option<Problem> {
    let namespace = &pending.pod.metadata.namespace;
    let object = ObjectRef::new("PersistentVolumeClaim", namespace, name);
    let field = |path: &str, value: &str| Evidence::Field {
        object: object.clone(),
        path: path.to_owned(),
        value: value.to_owned(),
    };
    let Some(claim) = ctx
        .state
        .object(Kind::PersistentVolumeClaim, namespace, name)
    else {
        let is_known = is_complete(ctx, Kind::PersistentVolumeClaim);
        return is_known.then(|| {
            (
                format!("the PersistentVolumeClaim `{name}` of the pod does not exist"),
                format!("create the PersistentVolumeClaim `{name}` in the namespace `{namespace}`"),
                field("metadata.name", "absent"),
            )
        });
    };
    if let Some(time) = claim.metadata.deletion_timestamp {
        return Some((
            "a PersistentVolumeClaim of the pod is being deleted".to_owned(),
            "end the pods that use the claim, and create it again".to_owned(),
            field("metadata.deletionTimestamp", &time.to_string()),
        ));
    }
    match claim.text("/status/phase") {
        "Lost" => Some((
            "a PersistentVolumeClaim of the pod has lost its volume".to_owned(),
            "create the PersistentVolume again, or delete the claim and create a new one"
                .to_owned(),
            field("status.phase", "Lost"),
        )),
        "Bound" => check_zone(ctx, pending, claim),
        "Pending" => check_pending(ctx, claim, &object),
        _ => None,
    }
}

/// Whether absent objects of a kind do not exist.
fn is_complete(ctx: &Context<'_>, kind: Kind) -> bool {
    ctx.state.completeness(kind).is_complete()
}

/// Source of the reasons of events: kubernetes `pkg/controller/volume/events/event.go`, 2026-11-28.
fn check_pending(ctx: &Context<'_>, claim: &Object, object: &ObjectRef) -> Option<Problem> {
    let class = claim.text("/spec/storageClassName");
    let field = |path: &str, value: &str| Evidence::Field {
        object: object.clone(),
        path: path.to_owned(),
        value: value.to_owned(),
    };
    let found = ctx.state.object(Kind::StorageClass, "", class);
    if !class.is_empty() && found.is_none() && is_complete(ctx, Kind::StorageClass) {
        return Some((
            format!(
                "a PersistentVolumeClaim of the pod is not bound: the StorageClass `{class}` does not exist"
            ),
            format!(
                "create the StorageClass `{class}`, or create the claim again with another one"
            ),
            field("spec.storageClassName", class),
        ));
    }
    if let Some(event) = ctx.recent_event(object, "ProvisioningFailed") {
        return Some((
            "a PersistentVolumeClaim of the pod is not bound: its volume cannot be created".to_owned(),
            "correct what the message of the event names, such as the rights or the quota of the CSI driver".to_owned(),
            Evidence::event(event),
        ));
    }
    if class.is_empty() {
        let event = ctx.recent_event(object, "FailedBinding");
        let evidence =
            event.map_or_else(|| field("spec.storageClassName", "absent"), Evidence::event);
        return Some((
            "a PersistentVolumeClaim of the pod is not bound: it has no StorageClass, and no volume matches".to_owned(),
            "create the claim again with a StorageClass, or create a PersistentVolume that matches it".to_owned(),
            evidence,
        ));
    }
    let mode = found?.text("/volumeBindingMode");
    let is_old = ctx
        .age(claim.metadata.creation_timestamp)
        .is_some_and(|seconds| seconds > PROVISION_SECONDS);
    // With `WaitForFirstConsumer`, the claim waits for the pod.
    (mode != "WaitForFirstConsumer" && is_old).then(|| {
        let provisioner = found.map_or("", |it| it.text("/provisioner"));
        (
            format!(
                "a PersistentVolumeClaim of the pod is not bound: the provisioner `{provisioner}` creates no volume"
            ),
            format!("check that the controller of the CSI driver `{provisioner}` runs, and read its log"),
            field("status.phase", "Pending"),
        )
    })
}

/// Whether the volume of a bound claim is where the nodes with GPUs are.
fn check_zone(ctx: &Context<'_>, pending: &PendingPod<'_>, claim: &Object) -> Option<Problem> {
    let name = claim.text("/spec/volumeName");
    let volume = ctx.state.object(Kind::PersistentVolume, "", name)?;
    let terms = volume.items("/spec/nodeAffinity/required/nodeSelectorTerms");
    if terms.is_empty() {
        return None;
    }
    let terms = node_terms(terms);
    let fits = |misfits: &[Misfit]| {
        let mut misfits = misfits.iter();
        misfits.all(|it| matches!(it, Misfit::InUse { .. } | Misfit::Cordoned))
    };
    let nodes = pending.obstacles.nodes.iter();
    let nodes: Vec<_> = nodes
        .filter(|(_, misfits)| fits(misfits))
        .filter_map(|(node, _)| ctx.state.node(&node.name))
        .collect();
    if nodes.is_empty() || nodes.iter().any(|node| matches_terms(&terms, node)) {
        return None;
    }
    let requirements = terms.iter().flat_map(|term| &term.labels);
    let requirements: Vec<String> = requirements
        .map(|it| format!("{}: {}", it.key, it.values.join(", ")))
        .collect();
    Some((
        "a volume of the pod is not available on the nodes with GPUs that the pod fits on"
            .to_owned(),
        "add nodes with GPUs where the volume is, or copy the data to a volume where the nodes are"
            .to_owned(),
        Evidence::Field {
            object: ObjectRef::new("PersistentVolume", "", name),
            path: "spec.nodeAffinity".to_owned(),
            value: requirements.join("; "),
        },
    ))
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects, pending_pod};

    fn pod() -> String {
        pending_pod("nvidia.com/gpu", "11:00:00").replace(
            r#""spec": {"#,
            r#""spec": {"volumes": [{"name": "x", "emptyDir": {}}, {"name": 7}, {"ephemeral": null},
              {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}], "#,
        )
    }

    fn claim(name: &str, class: &str, status: &str) -> String {
        format!(
            r#"{{"kind": "PersistentVolumeClaim", "apiVersion": "v1",
              "metadata": {{"name": "{name}", "namespace": "ml", "creationTimestamp": "2026-11-28T11:00:00Z"}},
              "spec": {{"volumeName": "pv-1", "storageClassName": {class}}}, "status": {{"phase": "{status}"}}}}"#
        )
    }

    fn class(mode: &str) -> String {
        format!(
            r#"{{"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {{"name": "fast"}},
              "provisioner": "csi.example.com", "volumeBindingMode": {mode}}}"#
        )
    }

    fn volume(zone: &str) -> String {
        format!(
            r#"{{"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {{"name": "pv-1"}},
              "spec": {{"nodeAffinity": {{"required": {{"nodeSelectorTerms": [{{"matchExpressions": [
                {{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["{zone}"]}}]}}]}}}}}}}}"#
        )
    }

    /// The codes and the text of a pod, a node and these objects.
    fn find(more: &[String]) -> (Vec<&'static str>, String) {
        let mut items = vec![HEALTHY_NODE.to_owned(), pod()];
        items.extend_from_slice(more);
        codes(&list_objects(&items))
    }

    #[test]
    fn claims_with_problems_are_explained() {
        let failed = |reason| event("PersistentVolumeClaim", "data", reason, "no", "11:50:00");
        for (objects, expected) in [
            (
                vec![claim("other", "null", "Bound")],
                "`data` of the pod does not exist",
            ),
            (vec![claim("data", "null", "Lost")], "has lost its volume"),
            (
                vec![claim("data", "null", "Pending")],
                "has no StorageClass",
            ),
            (
                vec![claim("data", "null", "Pending"), failed("FailedBinding")],
                "event FailedBinding",
            ),
            (
                vec![
                    claim("data", r#""fast""#, "Pending"),
                    class(r#""Immediate""#),
                ],
                "`csi.example.com` creates no volume",
            ),
            (
                vec![
                    claim("data", r#""fast""#, "Pending"),
                    class(r#""WaitForFirstConsumer""#),
                    failed("ProvisioningFailed"),
                ],
                "cannot be created",
            ),
            (
                vec![claim("data", r#""fast""#, "Bound"), volume("b")],
                "is not available on the nodes",
            ),
        ] {
            let (found, text) = find(&objects);
            assert_eq!(found, ["GPUC7512"], "{text}");
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn healthy_and_unknown_claims_are_silent() {
        let wait = class(r#""WaitForFirstConsumer""#);
        let old = event(
            "PersistentVolumeClaim",
            "data",
            "ProvisioningFailed",
            "no",
            "10:50:00",
        );
        for objects in [
            vec![],
            vec![claim("data", r#""fast""#, "Bound"), volume("a")],
            vec![claim("data", r#""fast""#, "Bound")],
            vec![claim("data", r#""fast""#, "Pending"), wait.clone()],
            vec![claim("data", r#""fast""#, "Pending"), wait, old],
            vec![claim("data", r#""fast""#, "Pending")],
            vec![claim("data", "null", "")],
        ] {
            let (found, text) = find(&objects);
            assert!(found.is_empty(), "{text}");
        }
    }
}
