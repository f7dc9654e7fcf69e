"""The parts of EKS that the fakes of `aws` and `eksctl` have in common: stacks, deletions, OIDC providers."""

from .cli import Unsupported

ACCOUNT = "123456789012"
GROUPS = ("nodegroups", "unmanaged")
DEFAULT_ADDONS = ("vpc-cni", "kube-proxy", "coredns", "metrics-server")
_CAPACITY = ("Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient"
             " {} capacity in the Availability Zone you requested. Launching EC2 instance failed.")
_QUOTA = ("Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your"
          " current vCPU limit of 0 allows. Launching EC2 instance failed.")


def stacks(call):
    return call.data["eks"].setdefault("stacks", {})


def cluster_stack(cluster):
    return f"eksctl-{cluster}-cluster"


def group_stack(cluster, group):
    return f"eksctl-{cluster}-nodegroup-{group}"


def add_stack(call, name, cluster, tags):
    """Begin to create a stack of eksctl, which is protected. All have the tags of the cluster (pkg/cfn/manager/api.go)."""
    common = {"alpha.eksctl.io/cluster-name": cluster, "eksctl.cluster.k8s.io/v1alpha1/cluster-name": cluster,
              "alpha.eksctl.io/eksctl-version": "0.231.0"}
    stacks(call)[name] = {"StackName": name, "StackStatus": "CREATE_IN_PROGRESS", "_cluster": cluster,
                          "EnableTerminationProtection": True,
                          "Tags": [{"Key": key, "Value": str(value)} for key, value in (common | tags).items()]}


def stack_changes(name, status, resource=None, reason=None, failed="CREATE_FAILED"):
    """Return the changes that give a stack its status, and the event of the resource that failed."""
    keys = ["eks", "stacks", name]
    changes = [["set", [*keys, "StackStatus"], status]]
    if resource:
        verb = failed.partition("_")[0].lower()
        summary = f"The following resource(s) failed to {verb}: [{resource}]. "
        event = {"LogicalResourceId": resource, "ResourceStatus": failed, "ResourceStatusReason": reason}
        changes += [["set", [*keys, "StackStatusReason"], summary], ["set", [*keys, "_events"], [event]]]
    return changes


def group_issue(call, group):
    """Return the health issue of a node group for the outcome of a call."""
    asg = [each["name"] for each in group["resources"]["autoScalingGroups"]]
    if call.how == "create_failed":
        return {"code": "NodeCreationFailure", "message": "Instances failed to join the kubernetes cluster",
                "resourceIds": ["i-0a0a0a0a0a0a0a0a0"]}
    message = _QUOTA if call.how == "quota" else _CAPACITY.format(group["instanceTypes"][0])
    return {"code": "AsgInstanceLaunchFailures", "message": message, "resourceIds": asg}


def failure_reason(name, issue):
    return (f"Nodegroup {name} failed to stabilize: [{{Code: {issue['code']}, Message: {issue['message']},"
            f" ResourceIds: {issue['resourceIds']}}}]")


def issuer_arn(cluster):
    issuer = cluster["identity"]["oidc"]["issuer"].removeprefix("https://")
    return f"arn:aws:iam::{ACCOUNT}:oidc-provider/{issuer}"


def add_issuer(call, cluster):
    providers = call.data["eks"].setdefault("oidcProviders", [])
    if issuer_arn(cluster) not in providers:
        providers.append(issuer_arn(cluster))


def addon_versions(name):
    """Return the versions of an add-on as EKS lists them, the newest first. Each Kubernetes version has its default,
    one newer and one older version. A version of kube-proxy is for one Kubernetes version. The numbers are made up."""
    found = []
    for minor in reversed(range(25, 45)):
        base = f"v1.{minor if name == 'kube-proxy' else minor - 16}"
        minors = [minor] if name == "kube-proxy" else [minor - 1, minor, minor + 1]
        for rest, is_default in (("1-eksbuild.1", False), ("0-eksbuild.10", True), ("0-eksbuild.2", False)):
            compatible = [{"clusterVersion": f"1.{each}", "platformVersions": ["*"],
                           "defaultVersion": is_default and each == minor} for each in minors]
            found.append({"addonVersion": f"{base}.{rest}", "architecture": ["amd64", "arm64"],
                          "compatibilities": compatible, "requiresIamPermissions": False})
    return found


def supports(version, kubernetes):
    return any(each["clusterVersion"] == kubernetes for each in version["compatibilities"])


def default_version(name, kubernetes):
    for version in addon_versions(name):
        for each in version["compatibilities"]:
            if each["clusterVersion"] == kubernetes and each["defaultVersion"]:
                return version["addonVersion"]
    raise Unsupported(f"add-ons of Kubernetes {kubernetes}")


def addon(call, cluster, name, associations=()):
    """Return an add-on with the default version."""
    kubernetes = call.data["eks"]["clusters"][cluster]["version"]
    return {"addonName": name, "clusterName": cluster, "status": "ACTIVE",
            "addonVersion": default_version(name, kubernetes), "podIdentityAssociations": list(associations)}


def logging(enabled):
    """The logs of a control plane, as EKS describes them."""
    kinds = {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    setups = [{"types": sorted(enabled), "enabled": True}, {"types": sorted(kinds - set(enabled)), "enabled": False}]
    return {"clusterLogging": [setup for setup in setups if setup["types"]]}


def access_entry(cluster, principal, region, tags):
    """Return an access entry without groups and policies."""
    kind, _, name = principal.rpartition(":")[2].partition("/")
    user = principal
    if kind == "role":
        user = f"arn:aws:sts::{ACCOUNT}:assumed-role/{name.rpartition('/')[2]}/{{{{SessionName}}}}"
    arn = f"arn:aws:eks:{region}:{ACCOUNT}:access-entry/{cluster}/{kind}/{ACCOUNT}/{name}/00000000"
    return {"clusterName": cluster, "principalArn": principal, "kubernetesGroups": [], "accessEntryArn": arn,
            "tags": tags, "username": user, "type": "STANDARD", "_policies": []}


def find_group(call, cluster, name):
    """Return (kind, node group) of a cluster."""
    for kind in GROUPS:
        found = call.data["eks"][kind].get(name)
        if found and found["clusterName"] == cluster:
            return kind, found
    return None, None


def delete_group(call, cluster, name, stack=None):
    """Begin to delete a node group and its stack. The outcome `delete_failed` ends in failure."""
    kind, group = find_group(call, cluster, name)
    now, done, failed = [], [], []
    if group:
        keys = ["eks", kind, name]
        call.data.cancel(*keys)
        now.append(["set", [*keys, "status"], "DELETING"])
        done.append(["del", keys])
        groups = [each["name"] for each in group.get("resources", {}).get("autoScalingGroups", [])]
        done += [["del", ["eks", "autoScalingGroups", each]] for each in groups]
        issue = {"code": "Ec2SecurityGroupDeletionFailure", "resourceIds": ["sg-0b0b0b0b0b0b0b0b0"],
                 "message": "DependencyViolation - resource sg-0b0b0b0b0b0b0b0b0 has a dependent object"}
        failed += [["set", [*keys, "status"], "DELETE_FAILED"], ["set", [*keys, "health"], {"issues": [issue]}]]
    _delete(call, stack, now, done, failed)


def delete_cluster(call, name):
    """Begin to delete a cluster with everything in it. Its stack can be without a cluster."""
    stored = call.data["eks"]
    now, done, failed = [], [], []
    for kind in GROUPS:
        for group in [key for key, each in stored[kind].items() if each["clusterName"] == name]:
            delete_group(call, name, group)
    cluster = stored["clusters"].get(name)
    if cluster:
        keys = ["eks", "clusters", name]
        call.data.cancel(*keys)
        now.append(["set", [*keys, "status"], "DELETING"])
        done += [["del", keys], ["del", ["eks", "addons", name]], ["del", ["eks", "accessEntries", name]]]
        failed.append(["set", [*keys, "status"], "ACTIVE"])
        others = {issuer_arn(each) for key, each in stored["clusters"].items() if key != name and "identity" in each}
        if "identity" in cluster and issuer_arn(cluster) in set(stored.get("oidcProviders", [])) - others:
            stored["oidcProviders"].remove(issuer_arn(cluster))
    own = cluster_stack(name)
    for key in [key for key, each in stacks(call).items() if each["_cluster"] == name and key != own]:
        _delete(call, key)
    _delete(call, own, now, done, failed)


def _delete(call, stack, now=(), done=(), failed=()):
    """Delete a stack together with the resources that these changes delete."""
    now, done, failed = list(now), list(done), list(failed)
    if stack in stacks(call):
        keys = ["eks", "stacks", stack]
        call.data.cancel(*keys)
        now.append(["set", [*keys, "StackStatus"], "DELETE_IN_PROGRESS"])
        done.append(["del", keys])
        failed += stack_changes(stack, "DELETE_FAILED", "SecurityGroup", failed="DELETE_FAILED",
                                reason="resource sg-0b0b0b0b0b0b0b0b0 has a dependent object")
    call.data.later(0, *now)
    call.data.later(call.delay, *(failed if call.how == "delete_failed" else done))


def delete_stack(call, name):
    """Begin to delete a stack, with the cluster or the node group that it created."""
    cluster = stacks(call)[name]["_cluster"]
    if cluster and name == cluster_stack(cluster):
        stored, kept = stacks(call), {}
        # CloudFormation deletes no other stack.
        for key in [key for key in stored if key != name]:
            kept[key] = stored.pop(key)
        delete_cluster(call, cluster)
        stored |= kept
    elif cluster and name.startswith(group_stack(cluster, "")):
        delete_group(call, cluster, name.removeprefix(group_stack(cluster, "")), name)
    else:
        _delete(call, name)
