"""A fake of `eksctl`, which creates the missing resources of a ClusterConfig in the EKS part of the state."""

import fnmatch
import re

from . import eks
from .cli import Command, CommandError, Failure, Tool, Unsupported, flag_table, flags, print_json
from .cli import version_command, yaml
from .eks import ACCOUNT

DEFAULT_VERSION = "1.34"
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE",
            "NoExecute": "NO_EXECUTE"}
# Flags that eksctl rejects together with --config-file (pkg/ctl/cmdutils, 0.231.0-dev).
_WITHOUT_FILE = ("name cluster region version tags zones nodes nodes-min nodes-max node-type managed"
                 " spot node-labels node-zones").split()


def _command_error(text):
    return CommandError(1, f"Error: {text}")


def _log(text):
    print(f"[ℹ]  {text}")


def _config(call):
    """Read the ClusterConfig of -f. Check that metadata.name and metadata.region are set."""
    for name in _WITHOUT_FILE:
        if call.has("--" + name):
            raise _command_error(f"cannot use --{name} when --config-file/-f is set")
    try:
        with open(call.get("--config-file"), encoding="utf-8") as file:
            config = yaml().safe_load(file)
    except (OSError, yaml().YAMLError) as error:
        raise _command_error(f'reading config file "{call.get("--config-file")}": {error}') from error
    schema = flag_table("eksctl_schema.json")
    if schema:
        _check(config, schema, schema, "")
    if config.get("apiVersion") != "eksctl.io/v1alpha5" or config.get("kind") != "ClusterConfig":
        raise _command_error("the config file is not an eksctl.io/v1alpha5 ClusterConfig")
    for key in ("name", "region"):
        if not config.get("metadata", {}).get(key):
            raise _command_error(f"metadata.{key} must be set")
    return config


def _check(value, schema, root, path):
    """Reject fields that are not in eksctl's JSON schema."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        schema = root["definitions"][name.replace("%7C", "|")]
    if isinstance(value, list):
        for each in value:
            _check(each, schema.get("items", {}), root, path)
    elif isinstance(value, dict):
        known = schema.get("properties")
        for key, each in value.items():
            if known is None:
                continue
            if key not in known and schema.get("additionalProperties") is False:
                raise _command_error(f'couldn\'t load config file: unknown field "{path}{key}"')
            _check(each, known.get(key, {}), root, f"{path}{key}.")


def _name(call):
    """Return (cluster name, region, config or None) of a call with -f or with flags."""
    if call.has("--config-file"):
        config = _config(call)
        return config["metadata"]["name"], config["metadata"]["region"], config
    name = call.get("--cluster") or call.get("--name") or (call.words or [None])[0]
    if not name:
        raise _command_error("--cluster must be set")
    return name, call.get("--region"), None


def _cluster(call, name, region):
    found = call.data["eks"]["clusters"].get(name)
    if not found or (region and found["_region"] != region):
        raise _command_error(f'unable to describe cluster control plane: operation error EKS:'
                             f" DescribeCluster, https response error StatusCode: 404,"
                             f" ResourceNotFoundException: No cluster found for name: {name}.")
    return found


def _working_cluster(call, name, region):
    """Return a cluster for a command that uses its Kubernetes API."""
    found = _cluster(call, name, region)
    if found["status"] in ("CREATING", "DELETING", "FAILED"):
        raise _command_error(f'cannot perform Kubernetes API operations on cluster "{name}" in "{region}" region due'
                             f' to status "{found["status"]}"')
    return found


def _arn(region, what):
    return f"arn:aws:eks:{region}:{ACCOUNT}:{what}"


def create_cluster(call):
    if not call.has("--config-file"):
        raise Unsupported("eksctl create cluster without --config-file")
    name, region, config = _name(call)
    if call.has("--dry-run"):
        return _dry_run(call, config)
    stored = call.data["eks"]["clusters"]
    if name in stored or eks.cluster_stack(name) in eks.stacks(call):
        raise _command_error(f'creating CloudFormation stack "eksctl-{name}-cluster": operation error'
                             f" CloudFormation: CreateStack, AlreadyExistsException: Stack"
                             f" [eksctl-{name}-cluster] already exists")
    network = config.get("vpc") or {}
    vpc = network.get("id", "vpc-0a0a0a0a0a0a0a0a0")
    subnets = _network(config, region, vpc)
    endpoints = network.get("clusterEndpoints") or {}
    call.data["eks"]["subnets"] |= subnets
    tags = {"alpha.eksctl.io/cluster-name": name, "alpha.eksctl.io/eksctl-version": "0.231.0",
            "eksctl.cluster.k8s.io/v1alpha1/cluster-name": name}
    stored[name] = {
        "_region": region, "_config": {k: v for k, v in config.items() if not k.endswith("Groups")},
        "arn": _arn(region, f"cluster/{name}"), "name": name, "status": "CREATING",
        "version": str(config["metadata"].get("version", DEFAULT_VERSION)),
        "endpoint": f"https://{name}.gr7.{region}.eks.amazonaws.com", "platformVersion": "eks.9",
        "resourcesVpcConfig": {
            "vpcId": vpc, "subnetIds": sorted(subnets),
            "securityGroupIds": [network.get("securityGroup", "sg-0a0a0a0a0a0a0a0a0")],
            "endpointPublicAccess": endpoints.get("publicAccess", True),
            "endpointPrivateAccess": endpoints.get("privateAccess", False),
            "publicAccessCidrs": network.get("publicAccessCIDRs", ["0.0.0.0/0"]),
        },
        "accessConfig": {"authenticationMode": (config.get("accessConfig") or {}).get(
            "authenticationMode", "API_AND_CONFIG_MAP")},
        "roleArn": (config.get("iam") or {}).get(
            "serviceRoleARN", f"arn:aws:iam::{ACCOUNT}:role/eksctl-{name}-cluster-ServiceRole"),
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": (config.get(
            "kubernetesNetworkConfig") or {}).get("serviceIPv4CIDR", "10.100.0.0/16")},
        "logging": eks.logging(((config.get("cloudWatch") or {}).get("clusterLogging") or {}).get("enableTypes", [])),
        "deletionProtection": False, "upgradePolicy": config.get("upgradePolicy") or {"supportType": "EXTENDED"},
        "identity": {"oidc": {"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/STANDIN"}},
        "tags": {"Name": f"eksctl-{name}-cluster/ControlPlane"} | tags
        | (config["metadata"].get("tags") or {}),
    }
    if config.get("secretsEncryption"):
        provider = {"keyArn": config["secretsEncryption"]["keyARN"]}
        stored[name]["encryptionConfig"] = [{"resources": ["secrets"], "provider": provider}]
    # EKS makes the creator an administrator.
    creator = f"arn:aws:iam::{ACCOUNT}:user/stand-in"
    entry = eks.access_entry(name, creator, region, {})
    entry["_policies"].append({"policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                               "accessScope": {"type": "cluster", "namespaces": []}})
    call.data["eks"].setdefault("accessEntries", {})[name] = {creator: entry}
    _wait_for_cluster(call, name, config["metadata"].get("tags") or {})
    # eksctl creates a cluster without the add-ons of EKS, and then installs its own.
    if call.how == "no_addons":
        raise _failed('operation error EKS: CreateAddon, exceeded maximum number of attempts, 3, request send failed,'
                      f' Post "https://eks.{region}.amazonaws.com/clusters/{name}/addons": dial tcp: i/o timeout')
    if not (config.get("addonsConfig") or {}).get("disableDefaultAddons"):
        addons = call.data["eks"].setdefault("addons", {}).setdefault(name, {})
        addons |= {each: eks.addon(call, name, each) for each in eks.DEFAULT_ADDONS}
        for addon, version in call.data["eks"].get("addonVersions", {}).items():
            addons[addon]["addonVersion"] = version
    if (config.get("iam") or {}).get("withOIDC"):
        eks.add_issuer(call, stored[name])
    _log(f'EKS cluster "{name}" in "{region}" region is ready')
    context = f"stand-in@{name}.{region}.eksctl.io"
    if call.get("--write-kubeconfig", True):
        call.data["contexts"][context] = {"server": stored[name]["endpoint"]}
        call.data["currentContext"] = context
    if not call.has("--without-nodegroup"):
        call.how = None
        _create_groups(call, name, region, config)
    return 0


def _failed(text):
    return Failure(1, f"Error: {text}")


_TIMED_OUT = "exceeded max wait time for StackCreateComplete waiter"


def _wait_for_cluster(call, name, tags):
    """Create the stack of a cluster, and wait for it. It continues after eksctl's own limit."""
    stack, keys = eks.cluster_stack(name), ["eks", "clusters", name]
    eks.add_stack(call, stack, name, tags)
    delay = max(2, call.delay) if call.how == "timeout" else call.delay
    if call.how in ("rollback", "quota"):
        reason = ("The maximum number of VPCs has been reached. (Service: Ec2, Status Code: 400)" if call.how == "quota"
                  else "Cannot create cluster because the targeted Availability Zone does not currently have sufficient"
                  " capacity to support the cluster.")
        resource = "VPC" if call.how == "quota" else "ControlPlane"
        call.data.later((delay + 1) // 2, *eks.stack_changes(stack, "ROLLBACK_IN_PROGRESS", resource, reason))
        call.data.later(delay, ["del", keys], *eks.stack_changes(stack, "ROLLBACK_COMPLETE"))
    else:
        call.data.later(delay, ["set", [*keys, "status"], "ACTIVE"], *eks.stack_changes(stack, "CREATE_COMPLETE"))
    if call.how == "timeout":
        raise _failed(f'failed to create cluster "{name}": {_TIMED_OUT}')
    call.wait(delay)
    if call.how in ("rollback", "quota"):
        raise _failed(f'failed to create cluster "{name}": {reason}\nunexpected status "ROLLBACK_IN_PROGRESS" while'
                      f' waiting for CloudFormation stack "{stack}"')


def _network(config, region, vpc):
    """Return the subnets of an existing VPC, or of a new one: a public and a private subnet per zone."""
    found = {}
    for visibility, digit in (("public", "1"), ("private", "2")):
        given = (config.get("vpc") or {}).get("subnets")
        zones = config.get("availabilityZones") or [f"{region}{zone}" for zone in "abc"]
        created = {zone: {"id": f"subnet-{digit}{number:016x}"} for number, zone in enumerate(zones)}
        for key, about in (created if given is None else given.get(visibility) or {}).items():
            found[about["id"]] = {
                "SubnetId": about["id"], "AvailabilityZone": about.get("az", key), "VpcId": vpc,
                "MapPublicIpOnLaunch": visibility == "public", "State": "available"}
    return found


def _dry_run(call, config):
    for name in ("install-nvidia-plugin", "install-neuron-plugin", "timeout", "cfn-role-arn", "profile"):
        if call.has("--" + name):
            raise _command_error(f"cannot use --{name} with --dry-run")
    call.mutates = False
    print(yaml().safe_dump(config, sort_keys=True), end="")
    return 0


def create_nodegroup(call):
    if not call.has("--config-file"):
        raise Unsupported("eksctl create nodegroup without --config-file")
    name, region, config = _name(call)
    if call.has("--dry-run"):
        return _dry_run(call, config)
    _working_cluster(call, name, region)
    if eks.cluster_stack(name) not in eks.stacks(call):
        _check_network(name, config.get("vpc") or {})
    return _create_groups(call, name, region, config)


def _check_network(name, vpc):
    """What eksctl requires for a cluster that it did not create: pkg/actions/nodegroup/create.go, loadVPCFromConfig."""
    if not vpc.get("subnets") or not vpc.get("securityGroup") or not vpc.get("id"):
        raise _command_error(f'loading VPC spec for cluster "{name}": VPC configuration required for creating'
                             " nodegroups on clusters not owned by eksctl: vpc.subnets, vpc.id, vpc.securityGroup")


def _is_selected(call, name):
    include = [each for each in call.get("--include", call.get("--only", "")).split(",") if each]
    exclude = [each for each in call.get("--exclude", "").split(",") if each]
    matched = any(fnmatch.fnmatch(name, each) for each in include) or not include
    return matched and not any(fnmatch.fnmatch(name, each) for each in exclude)


def _create_groups(call, name, region, config):
    stored, unmanaged = call.data["eks"]["nodegroups"], call.data["eks"]["unmanaged"]
    created, existing = [], []
    for key, kind, target in (("managedNodeGroups", "nodegroups", stored), ("nodeGroups", "unmanaged", unmanaged)):
        for group in config.get(key) or []:
            if not re.fullmatch(r"[a-zA-Z][-a-zA-Z0-9]*", group["name"]):
                raise _command_error(f"validation for {group['name']} failed, name must satisfy regular"
                                     " expression pattern: [a-zA-Z][-a-zA-Z0-9]*")
            if not _is_selected(call, group["name"]):
                continue
            if group["name"] in target and target[group["name"]]["clusterName"] != name:
                raise Unsupported(f"two EKS nodegroups named {group['name']}")
            # eksctl lists stacks, not only node groups. A rolled back stack is one (eksctl#8712).
            stack = eks.stacks(call).get(eks.group_stack(name, group["name"]), {"StackStatus": "DELETE_COMPLETE"})
            if group["name"] in target or stack["StackStatus"] not in ("DELETE_COMPLETE", "DELETE_FAILED"):
                existing.append(group["name"])
                continue
            target[group["name"]] = _nodegroup(call, name, region, group)
            created.append((kind, group))
    if existing:
        _log(f"{len(existing)} existing nodegroup(s) ({','.join(existing)}) will be excluded")
    _wait_for_groups(call, name, created, config["metadata"].get("tags") or {})
    _log(f"created {len(created)} nodegroup(s) in cluster \"{name}\"")
    if call.get("--install-nvidia-plugin", True) and any(_needs_device_plugin(group) for _, group in created):
        call.data["objects"]["daemonset/kube-system/nvidia-device-plugin-daemonset"] = {
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [
                {"name": "nvidia-device-plugin-ctr", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}
            ]}}},
        }
    return 0


def _wait_for_groups(call, cluster, created, tags):
    """Create the stacks of node groups, and wait for them. They continue after eksctl's own limit."""
    delay = max(2, call.delay) if call.how == "timeout" else call.delay
    errors = []
    for kind, group in created:
        name = group["name"]
        stack, keys = eks.group_stack(cluster, name), ["eks", kind, name]
        stored = call.data["eks"][kind][name]
        stored["status"] = "CREATING"
        own = {"alpha.eksctl.io/nodegroup-name": name,
               "alpha.eksctl.io/nodegroup-type": "managed" if kind == "nodegroups" else "unmanaged"}
        eks.add_stack(call, stack, cluster, tags | (group.get("tags") or {}) | own)
        issue = eks.group_issue(call, stored)
        reason, health = eks.failure_reason(name, issue), {"issues": [issue]}
        if call.how in ("rollback", "quota"):
            call.data.later((delay + 1) // 2, ["set", [*keys, "status"], "DELETING"],
                            ["set", [*keys, "health"], health],
                            *eks.stack_changes(stack, "ROLLBACK_IN_PROGRESS", "ManagedNodeGroup", reason))
            groups = [["eks", "autoScalingGroups", each["name"]] for each in stored["resources"]["autoScalingGroups"]]
            call.data.later(delay, ["del", keys], *(["del", each] for each in groups),
                            *eks.stack_changes(stack, "ROLLBACK_COMPLETE"))
            errors.append(reason)
        elif call.how == "create_failed":
            call.data.later(delay, ["set", [*keys, "status"], "CREATE_FAILED"], ["set", [*keys, "health"], health],
                            *eks.stack_changes(stack, "CREATE_FAILED", "ManagedNodeGroup", reason))
            errors.append(reason)
        else:
            call.data.later(delay, ["set", [*keys, "status"], "ACTIVE"], *eks.stack_changes(stack, "CREATE_COMPLETE"))
        if call.how == "degraded":
            call.data.later(delay + 1, ["set", [*keys, "status"], "DEGRADED"], ["set", [*keys, "health"], health])
    if created and call.how == "timeout":
        errors = [_TIMED_OUT]
    elif created:
        call.wait(delay)
    if errors:
        raise _failed(f'failed to create nodegroups for cluster "{cluster}"\n' + "\n".join(errors))


def _types(group):
    return group.get("instanceTypes") or [group.get("instanceType", "m5.large")]


def _is_nvidia(kind):
    """Return whether eksctl's instance map has this type as NVIDIA: not p3.* and not bare metal."""
    return bool(re.match(r"(g\d|gr\d|p\d)", kind)) and not re.match(r"p3\.|.*\.metal", kind)


def _needs_device_plugin(group):
    family = group.get("amiFamily", "AmazonLinux2023")
    return family in ("AmazonLinux2023", "AmazonLinux2") and any(map(_is_nvidia, _types(group)))


def _image(group):
    gpu, arm = any(map(_is_nvidia, _types(group))), any(re.match(r"\w+g[dn]*\.|p6e-gb", t) for t in _types(group))
    family = group.get("amiFamily", "AmazonLinux2023")
    arch = "ARM_64" if arm else "x86_64"
    if family == "AmazonLinux2023":
        return f"AL2023_{arch}_{'NVIDIA' if gpu else 'STANDARD'}"
    if family == "Bottlerocket":
        return f"BOTTLEROCKET_{arch}" + ("_NVIDIA" if gpu else "")
    return "CUSTOM"


def _scaling(group):
    minimum, desired, maximum = (group.get(key) for key in ("minSize", "desiredCapacity", "maxSize"))
    desired = desired if desired is not None else (minimum if minimum is not None else 2)
    minimum = minimum if minimum is not None else desired
    maximum = maximum if maximum is not None else max(desired, 1)
    if not minimum <= desired <= maximum or maximum < 1:
        raise _command_error(f"nodegroup {group['name']}: minSize <= desiredCapacity <= maxSize must hold"
                             f" ({minimum}, {desired}, {maximum})")
    return {"minSize": minimum, "maxSize": maximum, "desiredSize": desired}


def _taint(given):
    if given.get("effect") not in _EFFECTS:
        raise _command_error(f"taint effect {given.get('effect')} is not one of {sorted(_EFFECTS)}")
    result = {"effect": _EFFECTS[given["effect"]], "key": given["key"]}
    return result | ({"value": given["value"]} if given.get("value") else {})


def _subnets(call, name, group):
    cluster = call.data["eks"]["clusters"][name]["resourcesVpcConfig"]["subnetIds"]
    if group.get("subnets"):
        return group["subnets"]
    zones, stored = group.get("availabilityZones"), call.data["eks"]["subnets"]
    public = not group.get("privateNetworking")
    return [each for each in cluster if stored[each]["MapPublicIpOnLaunch"] == public
            and (not zones or stored[each]["AvailabilityZone"] in zones)]


def _nodegroup(call, name, region, group):
    """Return a node group as the EKS API describes it. eksctl sets disk and placement in a launch template."""
    if group.get("efaEnabled") and len(group.get("availabilityZones") or group.get("subnets") or []) != 1:
        raise _command_error(f"nodegroup {group['name']}: efaEnabled needs exactly one zone or subnet")
    market = (group.get("instanceMarketOptions") or {}).get("marketType")
    capacity = "CAPACITY_BLOCK" if market == "capacity-block" else "ON_DEMAND"
    version = call.data["eks"]["clusters"][name]["version"]
    asg = f"eks-{group['name']}-5ec0ffee"
    sizes = _scaling(group)
    own = {"alpha.eksctl.io/cluster-name": name, "alpha.eksctl.io/nodegroup-name": group["name"]}
    kind = {"alpha.eksctl.io/nodegroup-type": "managed", "alpha.eksctl.io/eksctl-version": "0.231.0",
            "eksctl.cluster.k8s.io/v1alpha1/cluster-name": name}
    found = {
        "_config": group, "amiType": _image(group), "clusterName": name,
        "nodeRole": (group.get("iam") or {}).get(
            "instanceRoleARN", f"arn:aws:iam::{ACCOUNT}:role/eksctl-{name}-nodegroup-{group['name']}-NodeInstanceRole"),
        "capacityType": "SPOT" if group.get("spot") else capacity, "health": {"issues": []},
        "instanceTypes": _types(group), "labels": own | (group.get("labels") or {}),
        "launchTemplate": {"id": "lt-0" + (group["name"].encode().hex() + "0" * 16)[:16],
                           "name": f"eksctl-{name}-nodegroup-{group['name']}", "version": "1"},
        "nodegroupArn": _arn(region, f"nodegroup/{name}/{group['name']}/5ec0ffee"),
        "nodegroupName": group["name"], "releaseVersion": group.get("releaseVersion") or f"{version}.1-20261101",
        "resources": {"autoScalingGroups": [{"name": asg}]}, "scalingConfig": sizes,
        "status": "ACTIVE", "subnets": _subnets(call, name, group),
        "tags": own | kind | (group.get("tags") or {}),
        "updateConfig": group.get("updateConfig") or {"maxUnavailable": 1}, "version": version,
    }
    if group.get("nodeRepairConfig"):
        found["nodeRepairConfig"] = group["nodeRepairConfig"]
    if group.get("taints"):
        found["taints"] = [_taint(each) for each in group["taints"]]
    tags = {"eks:cluster-name": name, "eks:nodegroup-name": group["name"],
            "k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{name}": "owned",
            f"kubernetes.io/cluster/{name}": "owned"}
    call.data["eks"]["autoScalingGroups"][asg] = {"_nodegroup": group["name"], "_tags": tags}
    return found


def delete_nodegroup(call):
    name, region, config = _name(call)
    _working_cluster(call, name, region)
    if config and not call.has("--approve"):
        call.mutates = False
        return _log("no changes were applied, run again with '--approve' to apply the changes")
    selected = [call.get("--name")] if not config else [
        each["name"] for key in ("managedNodeGroups", "nodeGroups") for each in config.get(key) or []
        if _is_selected(call, each["name"])]
    if call.get("--drain") is not False and not call.has("--disable-eviction"):
        _evict_coredns(call, name, selected)
    deleted = [group for group in selected if _delete_group(call, name, group, config)]
    if deleted and call.has("--wait"):
        call.wait(call.delay)
        if call.how == "delete_failed":
            raise _failed(f'failed to delete nodegroup(s): unexpected status "DELETE_FAILED" while waiting for'
                          f' CloudFormation stack "{eks.group_stack(name, deleted[0])}"')
    _log(f'deleted {len(selected)} nodegroup(s) from cluster "{name}"')
    return 0


def _evict_coredns(call, cluster, selected):
    """Fail if CoreDNS cannot move to another node: its PodDisruptionBudget prevents its eviction (eksctl#7719)."""
    others = [name for kind in eks.GROUPS for name, group in call.data["eks"][kind].items()
              if group["clusterName"] == cluster and name not in selected]
    found = any(eks.find_group(call, cluster, name)[1] for name in selected)
    if found and not others and "coredns" in call.data["eks"].get("addons", {}).get(cluster, {}):
        raise CommandError(1, "Error: timed out (after 25m0s) waiting for the drain: Cannot evict pod as it would violate"
                              " the pod's disruption budget: kube-system/coredns")


def _delete_group(call, cluster, name, config):
    """Begin to delete a node group. Return False if there is nothing to do."""
    stack = eks.stacks(call).get(eks.group_stack(cluster, name))
    found = eks.find_group(call, cluster, name)[1]
    if not found and not stack and not config:
        raise _command_error(f'nodegroup "{name}" not found')
    # eksctl has no task for a stack whose deletion failed (eksctl#5860), or after a rollback (eksctl#8865).
    status = (stack or {}).get("StackStatus")
    if status == "DELETE_FAILED" or (status == "ROLLBACK_COMPLETE" and not found) or not (found or stack):
        return False
    eks.delete_group(call, cluster, name, eks.group_stack(cluster, name))
    return True


def delete_cluster(call):
    name, region, _ = _name(call)
    if eks.cluster_stack(name) not in eks.stacks(call):
        _cluster(call, name, region)
    if (call.data["eks"]["clusters"].get(name) or {}).get("deletionProtection"):
        # eksctl deletes the node groups first (pkg/actions/cluster/delete.go), and EKS then refuses.
        for kind in eks.GROUPS:
            for group in [key for key, each in call.data["eks"][kind].items() if each["clusterName"] == name]:
                eks.delete_group(call, name, group)
        raise _failed("operation error EKS: DeleteCluster, https response error StatusCode: 400, InvalidRequestException:"
                      " Cluster deletion is not allowed because deletion protection is enabled")
    eks.delete_cluster(call, name)
    if call.has("--wait"):
        call.wait(call.delay)


# Add-ons with a role, for which pkg/actions/addon/create.go requires the agent.
_WITH_ROLE = ("aws-ebs-csi-driver", "aws-efs-csi-driver")
_ADDONS = (*_WITH_ROLE, *eks.DEFAULT_ADDONS, "eks-pod-identity-agent", "eks-node-monitoring-agent")


def create_addon(call):
    cluster, region, _ = _require_cluster(call)
    name = call.get("--name")
    if name not in _ADDONS:
        raise Unsupported(f"eksctl create addon --name={name}")
    stored = call.data["eks"].setdefault("addons", {}).setdefault(cluster, {})
    if name in stored and stored[name]["status"] != "CREATE_FAILED":
        return _log(f"addon {name} is already present in the cluster, skipping creation")
    roles = []
    if name in _WITH_ROLE and call.get("--auto-apply-pod-identity-associations"):
        if "eks-pod-identity-agent" not in stored:
            raise _command_error(
                "the eks-pod-identity-agent addon must be installed to create pod identity associations")
        roles.append(f"arn:aws:eks:{region}:{ACCOUNT}:podidentityassociation/{cluster}/a-{name}")
    stored[name] = eks.addon(call, cluster, name, roles) | {"status": "CREATING"}
    status = "CREATE_FAILED" if call.how == "create_failed" else "ACTIVE"
    call.data.later(call.delay, ["set", ["eks", "addons", cluster, name, "status"], status])
    call.wait(call.delay)
    if call.how:
        raise _failed(f'addon status transitioned to "{status}"')
    return 0


def associate_provider(call):
    _, _, cluster = _require_cluster(call)
    if not call.has("--approve"):
        call.mutates = False
        return _log("(plan) would create IAM Open ID Connect provider, run again with '--approve' to apply the changes")
    return eks.add_issuer(call, cluster)


def _require_cluster(call):
    """Return (cluster name, region, cluster) of a call without -f in which --name is not the cluster's name."""
    if not call.has("--cluster"):
        raise _command_error("--cluster must be set")
    cluster, region = call.get("--cluster"), call.get("--region")
    return cluster, region, _cluster(call, cluster, region)


def _role_stack(call):
    cluster, _, _ = _require_cluster(call)
    for flag in ("--namespace", "--service-account-name"):
        if not call.has(flag):
            raise _command_error(f"{flag} must be set")
    service_account = f"{call.get('--namespace')}-{call.get('--service-account-name')}"
    return cluster, f"eksctl-{cluster}-podidentityrole-{service_account}"


def create_pod_identity(call):
    cluster, stack = _role_stack(call)
    if not call.has("--well-known-policies"):
        raise _command_error("at least one of the following flags must be specified: --role-arn,"
                             " --permission-policy-arns, --well-known-policies")
    if "eks-pod-identity-agent" not in call.data["eks"].get("addons", {}).get(cluster, {}):
        raise _command_error("the eks-pod-identity-agent addon must be installed to create pod identity associations")
    stacks = call.data["eks"].setdefault("stacks", {})
    if stack in stacks:
        raise _command_error(f"creating CloudFormation stack \"{stack}\": AlreadyExistsException")
    tags = [each.partition("=") for each in call.get("--tags", "").split(",") if each]
    stacks[stack] = {"StackName": stack, "StackStatus": "CREATE_COMPLETE",
                     "Tags": [{"Key": key, "Value": value} for key, _, value in tags],
                     "_cluster": cluster, "_policies": call.get("--well-known-policies")}
    return 0


def delete_pod_identity(call):
    _, stack = _role_stack(call)
    if call.data["eks"].get("stacks", {}).pop(stack, None) is None:
        raise _command_error(f'pod identity association "{stack}" not found')
    return 0


def scale_nodegroup(call):
    name, region, _ = _name(call)
    _cluster(call, name, region)
    group = call.data["eks"]["nodegroups"].get(call.get("--name") or (call.words or [""])[0])
    if not group or group["clusterName"] != name:
        raise _command_error(f"nodegroup {call.get('--name')} not found: ResourceNotFoundException")
    sizes = dict(group["scalingConfig"])
    for flag, key in (("--nodes", "desiredSize"), ("--nodes-min", "minSize"), ("--nodes-max", "maxSize")):
        if call.has(flag):
            sizes[key] = int(call.get(flag))
    if not sizes["minSize"] <= sizes["desiredSize"] <= sizes["maxSize"]:
        raise _command_error(f"failed to scale nodegroup: minimum, desired and maximum do not fit: {sizes}")
    group["scalingConfig"] = sizes


def get_cluster(call):
    region, name = call.get("--region"), call.get("--name") or (call.words or [None])[0]
    stored = [each for each in call.data["eks"]["clusters"].values() if not region or each["_region"] == region]
    if name:
        _cluster(call, name, region)
        stored = [each for each in stored if each["name"] == name]
    _print_rows(call, [{"Name": each["name"], "Region": each["_region"], "Owned": "True"} for each in stored])


def get_nodegroup(call):
    name, region, _ = _name(call)
    _cluster(call, name, region)
    groups = [each for kind in ("nodegroups", "unmanaged")
              for each in call.data["eks"][kind].values() if each["clusterName"] == name]
    desired = call.get("--name")
    if desired and not any(each["nodegroupName"] == desired for each in groups):
        raise _command_error(f'no nodegroups found with name "{desired}"')
    _print_rows(call, [_summary(each) for each in groups if desired in (None, each["nodegroupName"])])


def _summary(group):
    sizes = group["scalingConfig"]
    return {
        "StackName": f"eksctl-{group['clusterName']}-nodegroup-{group['nodegroupName']}",
        "Cluster": group["clusterName"], "Name": group["nodegroupName"], "Status": group["status"],
        "MaxSize": sizes["maxSize"], "MinSize": sizes["minSize"],
        "DesiredCapacity": sizes["desiredSize"], "InstanceType": ",".join(group["instanceTypes"]),
        "ImageID": group["amiType"], "Type": "managed", "Version": group["version"],
        "AutoScalingGroupName": group["resources"]["autoScalingGroups"][0]["name"],
    }


def _print_rows(call, rows):
    if call.get("--output", "table") == "json":
        # Go prints a list that was never filled as null.
        return print_json(rows or None)
    if call.get("--output", "table") != "table":
        raise Unsupported(f"eksctl -o {call.get('--output')}")
    for row in rows:
        print("\t".join(str(each) for each in row.values()))
    return 0


def upgrade_cluster(call):
    name, region, config = _name(call)
    cluster = _cluster(call, name, region)
    desired = (config or {}).get("metadata", {}).get("version") or call.get("--version")
    if not call.has("--approve"):
        call.mutates = False
        return _log("no changes were applied, run again with '--approve' to apply the changes")
    keys = ["eks", "clusters", name]
    call.data.later(0, ["set", [*keys, "status"], "UPDATING"])
    call.data.later(call.delay, ["set", [*keys, "status"], "ACTIVE"],
                    ["set", [*keys, "version"], str(desired or cluster["version"])])
    call.wait(call.delay)
    return 0


def write_kubeconfig(call):
    name, region, _ = _name(call)
    cluster = _cluster(call, name, region)
    context = f"stand-in@{name}.{cluster['_region']}.eksctl.io"
    call.data["contexts"][context] = {"server": cluster["endpoint"]}
    call.data["currentContext"] = context


def _tables(name, command):
    """Return the flags of a command that are also in eksctl's table, which does not list them by command."""
    stored = flag_table("eksctl_flags.json")
    # The table has only the flags for the creation of clusters and node groups. Those of `delete` are in
    # pkg/ctl/delete/nodegroup.go @00617d06.
    if stored is None or name.startswith("delete ") or name.endswith((" addon", " podidentityassociation", " associate-iam-oidc-provider")):
        return None
    real = {"--" + name for key in ("nodegroup_flags", "create_nodegroup_extra", "create_cluster_extra",
            "common") for name in stored[key]}
    return {flag: kind for flag, kind in command.flags.items() if flag in real}, command.aliases


def _unknown(_name, arguments):
    return CommandError(1, f"Error: unknown flag: {arguments[0].partition('=')[0]}")


_ALIASES = {"-f": "--config-file", "-c": "--cluster", "-n": "--name", "-r": "--region",
            "-o": "--output", "-p": "--profile", "-w": "--wait", "-N": "--nodes", "-m": "--nodes-min",
            "-M": "--nodes-max"}
_GLOBAL = flags("", "verbose color")
_COMMON = flags("wait approve", "config-file cluster name region profile timeout cfn-role-arn")
_CREATE = _COMMON | flags(
    "dry-run install-nvidia-plugin install-neuron-plugin skip-outdated-addons-check"
    " update-auth-configmap managed spot",
    "include exclude only nodegroup-parallelism tags nodes nodes-min nodes-max node-type node-labels"
    " node-zones version")
_GET = _COMMON | flags("", "output chunk-size")
_COMMANDS = {
    "version": (version_command("eksctl", "{}", "0.231.0"), False, _GET),
    "create cluster": (create_cluster, True, _CREATE | flags(
        "without-nodegroup write-kubeconfig set-kubeconfig-context auto-kubeconfig",
        "kubeconfig zones")),
    "create nodegroup": (create_nodegroup, True, _CREATE),
    "delete nodegroup": (delete_nodegroup, True, _COMMON | flags("disable-eviction drain", "include exclude only")),
    "delete cluster": (delete_cluster, True, _COMMON | flags("disable-nodegroup-eviction")),
    "create addon": (create_addon, True, _COMMON | flags(
        "auto-apply-pod-identity-associations force", "version attach-policy-arn service-account-role-arn")),
    "create podidentityassociation": (create_pod_identity, True, _COMMON | flags(
        "create-service-account", "namespace service-account-name well-known-policies role-arn role-name"
        " permission-policy-arns permission-boundary-arn tags")),
    "delete podidentityassociation": (delete_pod_identity, True, _COMMON | flags(
        "", "namespace service-account-name")),
    "scale nodegroup": (scale_nodegroup, True, _COMMON | flags("", "nodes nodes-min nodes-max")),
    "get cluster": (get_cluster, False, _GET),
    "get nodegroup": (get_nodegroup, False, _GET),
    "upgrade cluster": (upgrade_cluster, True, _COMMON | flags("", "version")),
    "utils associate-iam-oidc-provider": (associate_provider, True, _COMMON),
    "utils write-kubeconfig": (write_kubeconfig, False, _COMMON | flags(
        "set-kubeconfig-context auto-kubeconfig", "kubeconfig")),
}
_COMMANDS["get clusters"] = _COMMANDS["get cluster"]
_COMMANDS["get nodegroups"] = _COMMANDS["get nodegroup"]

_EXPIRED = ("Error: checking AWS STS access – cannot get role ARN for current session: operation error STS:"
            " GetCallerIdentity, StatusCode: 403, ExpiredToken: The security token included in the request is expired")


def _throttled(_call):
    return _command_error("operation error EKS: DescribeCluster, exceeded maximum number of attempts, 3, https response"
                          " error StatusCode: 429, api error ThrottlingException: Rate exceeded")


def _quota(_call):
    return _command_error("operation error EKS, https response error StatusCode: 400, ResourceLimitExceededException:"
                          " The limit of resources in this account is exceeded")


TOOL = Tool(
    name="eksctl",
    commands={name: Command(*definition) for name, definition in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases=_ALIASES,
    unknown=_unknown,
    outage=_EXPIRED,
    tables=_tables,
    errors={"throttled": _throttled, "expired": lambda _: CommandError(1, _EXPIRED), "quota": _quota},
    outcomes={
        "create cluster": "rollback quota timeout no_addons",
        "create nodegroup": "rollback quota create_failed degraded timeout",
        "create addon": "create_failed",
        "delete nodegroup": "delete_failed",
    },
)
