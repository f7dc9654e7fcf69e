//! Violations of Pod Security Standards.
//!
//! Source: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>, and kubernetes
//! `staging/src/k8s.io/pod-security-admission/policy/` (from memory).

use gpuc_schema::Span;
use gpuc_schema::config::PodSecurityLevel;
use gpuc_syntax::node::Node;

use super::Extent;
use super::scalar::{Read, read};

/// Capabilities that `baseline` allows containers to add.
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

/// The capability that `restricted` allows containers to add.
const RESTRICTED: &[&str] = &["NET_BIND_SERVICE"];

/// The sysctls that `baseline` allows.
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

/// The volume types that `restricted` allows.
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

/// The name of a level; `None` for `privileged`.
pub fn level_name(level: PodSecurityLevel) -> Option<&'static str> {
    match level {
        PodSecurityLevel::Privileged => None,
        PodSecurityLevel::Baseline => Some("baseline"),
        PodSecurityLevel::Restricted => Some("restricted"),
    }
}

/// The violations of a level by a pod with these containers, as phrases after the pod's name, with their spans. For a
/// partial pod, missing fields are not reported.
pub fn insecure(
    spec: &Node,
    containers: &[&Node],
    level: PodSecurityLevel,
    extent: Extent,
) -> Vec<(Option<Span>, String)> {
    let mut pod = Pod {
        found: Vec::new(),
        is_whole: extent == Extent::Whole,
    };
    if level != PodSecurityLevel::Privileged {
        pod.baseline(spec, containers);
    }
    if level == PodSecurityLevel::Restricted {
        pod.restricted(spec, containers);
    }
    pod.found
}

struct Pod {
    found: Vec<(Option<Span>, String)>,
    is_whole: bool,
}

impl Pod {
    fn add(&mut self, node: Option<&Node>, what: impl Into<String>) {
        let span = node.map(Node::span).filter(|span| span.is_written());
        self.found.push((span, what.into()));
    }

    /// Reports a required setting that is missing or different.
    fn lacks(&mut self, written: Option<&Node>, near: Option<&Node>, what: &str) {
        if written.is_some() || self.is_whole {
            self.add(written.or(near), what);
        }
    }

    fn baseline(&mut self, spec: &Node, containers: &[&Node]) {
        for key in ["hostNetwork", "hostPID", "hostIPC"] {
            if let Some(node) = spec.get(key).filter(|node| is_true(node)) {
                self.add(Some(node), format!("has `{key}`"));
            }
        }
        for volume in spec.get("volumes").map_or(&[][..], Node::items) {
            if let Some(path) = volume.get("hostPath") {
                self.add(Some(path), "has a `hostPath` volume");
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
                    self.add(Some(node), "uses a `hostPort`");
                }
            }
        }
    }

    /// The `baseline` violations of a security context of a pod or container.
    fn context(&mut self, context: &Node) {
        let at = |path: &[&str]| path.iter().try_fold(context, |node, key| node.get(key));
        if let Some(node) = at(&["privileged"]).filter(|node| is_true(node)) {
            self.add(Some(node), "has a `privileged` container");
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

    /// The added capabilities of a container that are not allowed.
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
            if escalates.is_none_or(|node| !may_be(node, Read::Switch(false))) {
                let what = "does not set `allowPrivilegeEscalation: false`";
                self.lacks(escalates, context, what);
            }
            let root = either(&["runAsNonRoot"]);
            if root.is_none_or(|node| !may_be(node, Read::Switch(true))) {
                self.lacks(root, whole, "does not set `runAsNonRoot: true`");
            }
            for user in [own(&["runAsUser"]), of_pod(&["runAsUser"])] {
                if let Some(node) = user.filter(|node| is_zero(node)) {
                    self.add(Some(node), "runs as root");
                }
            }
            if either(&["seccompProfile", "type"]).is_none() {
                let written = own(&["seccompProfile"]);
                self.lacks(written, whole, "has no `seccompProfile`");
            }
            let dropped = own(&["capabilities", "drop"]);
            let mut names = dropped.map_or(&[][..], Node::items).iter();
            if !names.any(|name| name.text() == Some("ALL")) {
                self.lacks(dropped, context, "does not drop all capabilities");
            }
            if let Some(context) = context {
                self.adds(context, RESTRICTED);
            }
        }
    }
}

fn is_true(node: &Node) -> bool {
    read(node) == Read::Switch(true)
}

/// Whether a condition holds, or can hold after values are filled in.
fn may_be(node: &Node, wanted: Read<'_>) -> bool {
    [wanted, Read::Open].contains(&read(node))
}

fn is_zero(node: &Node) -> bool {
    read(node) == Read::Whole(0)
}
