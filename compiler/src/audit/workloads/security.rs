//! Pods that a patch makes into what the Pod Security Standard of their namespace refuses.
//!
//! Source: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>, and kubernetes
//! `staging/src/k8s.io/pod-security-admission/policy/` (from memory).

use std::collections::BTreeSet;

use gpuc_schema::config::{PodSecurityLevel, Workload};
use gpuc_schema::{Span, Spanned};

use super::{Wrong, patch_of};
use crate::check::Checked;
use crate::lower::workloads::{made, patched, pod_specs};
use crate::node::{Node, Scalar, Value};

/// Capabilities that `baseline` lets containers add.
const BASELINE: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The capability that `restricted` lets containers add.
const RESTRICTED: &[&str] = &["NET_BIND_SERVICE"];

/// The settings of the kernel that `baseline` lets pods change.
const SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// The kinds of volumes that `restricted` lets pods have.
const VOLUMES: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// What the namespace of a workload refuses with its patches, and did not without them.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Wrong> {
    let namespace = cluster.namespace_of(workload);
    let Some((team, _)) = cluster.team_of(namespace) else {
        return BTreeSet::new();
    };
    let level = team.written.pod_security.value;
    let word = match level {
        PodSecurityLevel::Privileged => return BTreeSet::new(),
        PodSecurityLevel::Baseline => "baseline",
        PodSecurityLevel::Restricted => "restricted",
    };
    let specs = |objects: &[crate::plan::Object]| {
        let specs = objects.iter().flat_map(|object| pod_specs(&object.node));
        specs
            .flat_map(|spec| refused(spec, level))
            .collect::<Vec<_>>()
    };
    let own = specs(&made(cluster, workload));
    let own: BTreeSet<_> = own.into_iter().map(|(_, what)| what).collect();
    let now = specs(&patched(cluster, workload));
    let now = now.into_iter().filter(|(_, what)| !own.contains(what));
    let wrong = now.map(|(span, what)| Wrong {
        span: span.unwrap_or(patch_of(workload)),
        message: format!(
            "with its patch, workload `{}` {what}, which `podSecurity: {word}` of team `{}` refuses",
            workload.name, team.name
        ),
        help: "change the patch, or the team's `podSecurity`".to_owned(),
    });
    wrong.collect()
}

/// What of a pod a level refuses, and where that was written.
fn refused(spec: &Node, level: PodSecurityLevel) -> Vec<(Option<Span>, String)> {
    let mut pod = Pod { found: Vec::new() };
    let containers = ["containers", "initContainers", "ephemeralContainers"];
    let containers = containers.iter().filter_map(|key| spec.get(key));
    let containers: Vec<_> = containers.flat_map(Node::items).collect();
    pod.baseline(spec, &containers);
    if level == PodSecurityLevel::Restricted {
        pod.restricted(spec, &containers);
    }
    pod.found
}

struct Pod {
    found: Vec<(Option<Span>, String)>,
}

impl Pod {
    fn add(&mut self, node: Option<&Node>, what: impl Into<String>) {
        let span = node.map(Node::span).filter(|span| span.is_written());
        self.found.push((span, what.into()));
    }

    fn baseline(&mut self, spec: &Node, containers: &[&Node]) {
        for key in ["hostNetwork", "hostPID", "hostIPC"] {
            if let Some(node) = spec.get(key).filter(|node| is_true(node)) {
                self.add(Some(node), format!("has `{key}`"));
            }
        }
        for volume in spec.get("volumes").map_or(&[][..], Node::items) {
            if let Some(path) = volume.get("hostPath") {
                self.add(Some(path), "sees folders of the node by `hostPath`");
            }
        }
        let whole = spec.get("securityContext");
        let sysctls = whole.and_then(|it| it.get("sysctls"));
        for sysctl in sysctls.map_or(&[][..], Node::items) {
            let name = sysctl.get("name");
            let name = name.and_then(|node| Some((node, node.text()?)));
            if let Some((node, name)) = name.filter(|(_, name)| !SYSCTLS.contains(name)) {
                self.add(Some(node), format!("sets the sysctl `{name}`"));
            }
        }
        let contexts = containers.iter().filter_map(|it| it.get("securityContext"));
        for context in whole.into_iter().chain(contexts) {
            self.context(context);
        }
        for container in containers {
            for port in container.get("ports").map_or(&[][..], Node::items) {
                let host = port.get("hostPort");
                if let Some(node) = host.filter(|node| !is_zero(node)) {
                    self.add(Some(node), "takes a port of the node by `hostPort`");
                }
            }
        }
    }

    /// What `baseline` refuses of a security context, a pod's or a container's.
    fn context(&mut self, context: &Node) {
        let at = |path: &[&str]| path.iter().try_fold(context, |node, key| node.get(key));
        if let Some(node) = at(&["privileged"]).filter(|node| is_true(node)) {
            self.add(Some(node), "has a container that is `privileged`");
        }
        if let Some(node) = at(&["windowsOptions", "hostProcess"]).filter(|node| is_true(node)) {
            self.add(Some(node), "has a `hostProcess`");
        }
        let is_not = |node: &&Node, allowed: &[&str]| {
            let text = node.text();
            text.is_some_and(|text| !allowed.contains(&text))
        };
        for (path, allowed) in [
            (
                &["appArmorProfile", "type"][..],
                &["RuntimeDefault", "Localhost"][..],
            ),
            (
                &["seccompProfile", "type"],
                &["RuntimeDefault", "Localhost"],
            ),
            (&["procMount"], &["Default"]),
            (
                &["seLinuxOptions", "type"],
                &[
                    "",
                    "container_t",
                    "container_init_t",
                    "container_kvm_t",
                    "container_engine_t",
                ],
            ),
            (&["seLinuxOptions", "user"], &[""]),
            (&["seLinuxOptions", "role"], &[""]),
        ] {
            if let Some(node) = at(path).filter(|node| is_not(node, allowed)) {
                let text = node.text().unwrap_or_default();
                self.add(Some(node), format!("has `{}: {text}`", path.join(".")));
            }
        }
        self.adds(context, BASELINE);
    }

    /// The capabilities that a container adds beside those that it may.
    fn adds(&mut self, context: &Node, allowed: &[&str]) {
        let added = context.get("capabilities").and_then(|it| it.get("add"));
        for node in added.map_or(&[][..], Node::items) {
            let name = node.text().unwrap_or_default();
            if !allowed.contains(&name) {
                self.add(Some(node), format!("adds the capability `{name}`"));
            }
        }
    }

    fn restricted(&mut self, spec: &Node, containers: &[&Node]) {
        for volume in spec.get("volumes").map_or(&[][..], Node::items) {
            let mut kinds = volume.entries().iter().filter(|it| it.key != "name");
            let other = kinds.find(|it| !VOLUMES.contains(&it.key.as_str()));
            if let Some(kind) = other.filter(|it| it.key != "hostPath") {
                self.add(
                    Some(&kind.value),
                    format!("has a volume of kind `{}`", kind.key),
                );
            }
        }
        let whole = spec.get("securityContext");
        let of_pod = |path: &[&str]| {
            let mut path = path.iter();
            path.try_fold(whole?, |node, key| node.get(key))
        };
        for container in containers {
            let context = container.get("securityContext");
            let own = |path: &[&str]| {
                let mut path = path.iter();
                path.try_fold(context?, |node, key| node.get(key))
            };
            let either = |path: &[&str]| own(path).or_else(|| of_pod(path));
            let escalates = own(&["allowPrivilegeEscalation"]);
            if escalates.is_none_or(|node| !is_false(node)) {
                self.add(
                    escalates.or(context),
                    "does not say `allowPrivilegeEscalation: false`",
                );
            }
            let root = either(&["runAsNonRoot"]);
            if root.is_none_or(|node| !is_true(node)) {
                self.add(root.or(whole), "does not say `runAsNonRoot: true`");
            }
            for user in [own(&["runAsUser"]), of_pod(&["runAsUser"])] {
                if let Some(node) = user.filter(|node| is_zero(node)) {
                    self.add(Some(node), "runs as root");
                }
            }
            if either(&["seccompProfile", "type"]).is_none() {
                let place = own(&["seccompProfile"]).or(whole);
                self.add(place, "has no `seccompProfile`");
            }
            let dropped = own(&["capabilities", "drop"]);
            let mut names = dropped.map_or(&[][..], Node::items).iter();
            if !names.any(|name| name.text() == Some("ALL")) {
                self.add(dropped.or(context), "does not drop all capabilities");
            }
            if let Some(context) = context {
                self.adds(context, RESTRICTED);
            }
        }
    }
}

fn is_true(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Scalar::Bool(true)))
}

fn is_false(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Scalar::Bool(false)))
}

fn is_zero(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Scalar::Integer(0)))
}
