"""`eksctl`: reads a ClusterConfig and makes what is missing in the EKS part of the state."""

import fnmatch
import re

import yaml

from .cli import Command, Refused, Tool, Unsupported, flags, show, table

ACCOUNT = "123456789012"
DEFAULT_VERSION = "1.34"
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE",
            "NoExecute": "NO_EXECUTE"}
# Flags that eksctl refuses next to --config-file (pkg/ctl/cmdutils, 0.231.0-dev).
_WITHOUT_FILE = ("name cluster region version tags zones nodes nodes-min nodes-max node-type managed"
                 " spot node-labels node-zones").split()


def _refuse(text):
    return Refused(1, f"Error: {text}")


def _note(text):
    print(f"[ℹ]  {text}")


def _config(call):
    """The ClusterConfig of -f, with metadata.name and metadata.region."""
    for name in _WITHOUT_FILE:
        if call.has("--" + name):
            raise _refuse(f"cannot use --{name} when --config-file/-f is set")
    try:
        with open(call.get("--config-file"), encoding="utf-8") as file:
            config = yaml.safe_load(file)
    except (OSError, yaml.YAMLError) as error:
        raise _refuse(f'reading config file "{call.get("--config-file")}": {error}') from error
    schema = table("eksctl_schema.json")
    if schema:
        _check(config, schema, schema, "")
    if config.get("apiVersion") != "eksctl.io/v1alpha5" or config.get("kind") != "ClusterConfig":
        raise _refuse("the config file is not an eksctl.io/v1alpha5 ClusterConfig")
    for key in ("name", "region"):
        if not config.get("metadata", {}).get(key):
            raise _refuse(f"metadata.{key} must be set")
    return config


def _check(value, schema, root, path):
    """Refuse the unknown fields that eksctl's own JSON schema does not name."""
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
                raise _refuse(f'couldn\'t load config file: unknown field "{path}{key}"')
            _check(each, known.get(key, {}), root, f"{path}{key}.")


def _name(call):
    """(cluster name, region, config or None) of a call with -f or with flags."""
    if call.has("--config-file"):
        config = _config(call)
        return config["metadata"]["name"], config["metadata"]["region"], config
    name = call.get("--cluster") or call.get("--name") or (call.words or [None])[0]
    if not name:
        raise _refuse("--cluster must be set")
    return name, call.get("--region"), None


def _cluster(call, name, region):
    found = call.data["eks"]["clusters"].get(name)
    if not found or (region and found["_region"] != region):
        raise _refuse(f'unable to describe cluster control plane: operation error EKS:'
                      f" DescribeCluster, https response error StatusCode: 404,"
                      f" ResourceNotFoundException: No cluster found for name: {name}.")
    return found


def _arn(region, what):
    return f"arn:aws:eks:{region}:{ACCOUNT}:{what}"


def create_cluster(call):
    if not call.has("--config-file"):
        raise Unsupported("eksctl create cluster without --config-file")
    name, region, config = _name(call)
    if call.has("--dry-run"):
        return _dry_run(call, config)
    held = call.data["eks"]["clusters"]
    if name in held:
        raise _refuse(f'creating CloudFormation stack "eksctl-{name}-cluster": operation error'
                      f" CloudFormation: CreateStack, AlreadyExistsException: Stack"
                      f" [eksctl-{name}-cluster] already exists")
    network = config.get("vpc") or {}
    vpc = network.get("id", "vpc-0a0a0a0a0a0a0a0a0")
    subnets = _network(config, region, vpc)
    endpoints = network.get("clusterEndpoints") or {}
    call.data["eks"]["subnets"] |= subnets
    owned = {"alpha.eksctl.io/cluster-name": name, "alpha.eksctl.io/eksctl-version": "0.231.0",
             "eksctl.cluster.k8s.io/v1alpha1/cluster-name": name}
    held[name] = {
        "_region": region, "_config": {k: v for k, v in config.items() if not k.endswith("Groups")},
        "arn": _arn(region, f"cluster/{name}"), "name": name, "status": "ACTIVE",
        "version": str(config["metadata"].get("version", DEFAULT_VERSION)),
        "endpoint": f"https://{name}.gr7.{region}.eks.amazonaws.com", "platformVersion": "eks.9",
        "resourcesVpcConfig": {
            "vpcId": vpc, "subnetIds": sorted(subnets),
            "securityGroupIds": [network.get("securityGroup", "sg-0a0a0a0a0a0a0a0a0")],
            "endpointPublicAccess": endpoints.get("publicAccess", True),
            "endpointPrivateAccess": endpoints.get("privateAccess", False),
            "publicAccessCidrs": network.get("publicAccessCIDRs", ["0.0.0.0/0"]),
        },
        "roleArn": f"arn:aws:iam::{ACCOUNT}:role/eksctl-{name}-cluster-ServiceRole",
        "identity": {"oidc": {"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/STANDIN"}},
        "tags": {"Name": f"eksctl-{name}-cluster/ControlPlane"} | owned
        | (config["metadata"].get("tags") or {}),
    }
    _note(f'EKS cluster "{name}" in "{region}" region is ready')
    context = f"stand-in@{name}.{region}.eksctl.io"
    if call.get("--write-kubeconfig", True):
        call.data["contexts"][context] = {"server": held[name]["endpoint"]}
        call.data["currentContext"] = context
    if not call.has("--without-nodegroup"):
        _groups(call, name, region, config)
    return 0


def _network(config, region, vpc):
    """The subnets of a VPC that is there, or of one that eksctl makes: a public and a private one in each zone."""
    found = {}
    for visibility, digit in (("public", "1"), ("private", "2")):
        given = (config.get("vpc") or {}).get("subnets")
        zones = config.get("availabilityZones") or [f"{region}{zone}" for zone in "abc"]
        made = {zone: {"id": f"subnet-{digit}{number:016x}"} for number, zone in enumerate(zones)}
        for key, about in (made if given is None else given.get(visibility) or {}).items():
            found[about["id"]] = {
                "SubnetId": about["id"], "AvailabilityZone": about.get("az", key), "VpcId": vpc,
                "MapPublicIpOnLaunch": visibility == "public", "State": "available"}
    return found


def _dry_run(call, config):
    for name in ("install-nvidia-plugin", "install-neuron-plugin", "timeout", "cfn-role-arn", "profile"):
        if call.has("--" + name):
            raise _refuse(f"cannot use --{name} with --dry-run")
    call.mutates = False
    print(yaml.safe_dump(config, sort_keys=True), end="")
    return 0


def create_nodegroup(call):
    if not call.has("--config-file"):
        raise Unsupported("eksctl create nodegroup without --config-file")
    name, region, config = _name(call)
    if call.has("--dry-run"):
        return _dry_run(call, config)
    _cluster(call, name, region)
    return _groups(call, name, region, config)


def _chosen(call, name):
    include = [each for each in call.get("--include", call.get("--only", "")).split(",") if each]
    exclude = [each for each in call.get("--exclude", "").split(",") if each]
    matched = any(fnmatch.fnmatch(name, each) for each in include) or not include
    return matched and not any(fnmatch.fnmatch(name, each) for each in exclude)


def _groups(call, name, region, config):
    held, plain = call.data["eks"]["nodegroups"], call.data["eks"]["unmanaged"]
    made = []
    for kind, target in (("managedNodeGroups", held), ("nodeGroups", plain)):
        for group in config.get(kind) or []:
            if not re.fullmatch(r"[a-zA-Z][-a-zA-Z0-9]*", group["name"]):
                raise _refuse(f"validation for {group['name']} failed, name must satisfy regular"
                              " expression pattern: [a-zA-Z][-a-zA-Z0-9]*")
            if not _chosen(call, group["name"]):
                continue
            if group["name"] in target:
                if target[group["name"]]["clusterName"] != name:
                    raise Unsupported(f"two EKS nodegroups named {group['name']}")
                _note(f'nodegroup "{group["name"]}" already exists and will be skipped')
                continue
            target[group["name"]] = _nodegroup(call, name, region, group)
            made.append(group)
    _note(f"created {len(made)} nodegroup(s) in cluster \"{name}\"")
    if call.get("--install-nvidia-plugin", True) and any(map(_plugged, made)):
        call.data["objects"]["daemonset/kube-system/nvidia-device-plugin-daemonset"] = {
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [
                {"name": "nvidia-device-plugin-ctr", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}
            ]}}},
        }
    return 0


def _types(group):
    return group.get("instanceTypes") or [group.get("instanceType", "m5.large")]


def _gpu(kind):
    """Whether eksctl's instance map calls this type NVIDIA: not p3.* and not bare metal."""
    return bool(re.match(r"(g\d|gr\d|p\d)", kind)) and not re.match(r"p3\.|.*\.metal", kind)


def _plugged(group):
    family = group.get("amiFamily", "AmazonLinux2023")
    return family in ("AmazonLinux2023", "AmazonLinux2") and any(map(_gpu, _types(group)))


def _image(group):
    gpu, arm = any(map(_gpu, _types(group))), any(re.match(r"\w+g[dn]*\.|p6e-gb", t) for t in _types(group))
    family = group.get("amiFamily", "AmazonLinux2023")
    arch = "ARM_64" if arm else "x86_64"
    if family == "AmazonLinux2023":
        return f"AL2023_{arch}_{'NVIDIA' if gpu else 'STANDARD'}"
    if family == "Bottlerocket":
        return f"BOTTLEROCKET_{arch}" + ("_NVIDIA" if gpu else "")
    return "CUSTOM"


def _scaling(group):
    least, wanted, most = (group.get(key) for key in ("minSize", "desiredCapacity", "maxSize"))
    wanted = wanted if wanted is not None else (least if least is not None else 2)
    least = least if least is not None else wanted
    most = most if most is not None else max(wanted, 1)
    if not least <= wanted <= most or most < 1:
        raise _refuse(f"nodegroup {group['name']}: minSize <= desiredCapacity <= maxSize must hold"
                      f" ({least}, {wanted}, {most})")
    return {"minSize": least, "maxSize": most, "desiredSize": wanted}


def _taint(given):
    if given.get("effect") not in _EFFECTS:
        raise _refuse(f"taint effect {given.get('effect')} is not one of {sorted(_EFFECTS)}")
    shown = {"effect": _EFFECTS[given["effect"]], "key": given["key"]}
    return shown | ({"value": given["value"]} if given.get("value") else {})


def _subnets(call, name, group):
    cluster = call.data["eks"]["clusters"][name]["resourcesVpcConfig"]["subnetIds"]
    if group.get("subnets"):
        return group["subnets"]
    zones, held = group.get("availabilityZones"), call.data["eks"]["subnets"]
    public = not group.get("privateNetworking")
    return [each for each in cluster if held[each]["MapPublicIpOnLaunch"] == public
            and (not zones or held[each]["AvailabilityZone"] in zones)]


def _nodegroup(call, name, region, group):
    """The group as the EKS API describes it. eksctl puts disk and placement in a launch template."""
    if group.get("efaEnabled") and len(group.get("availabilityZones") or group.get("subnets") or []) != 1:
        raise _refuse(f"nodegroup {group['name']}: efaEnabled needs exactly one zone or subnet")
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
        "capacityType": "SPOT" if group.get("spot") else capacity, "health": {"issues": []},
        "instanceTypes": _types(group), "labels": own | (group.get("labels") or {}),
        "launchTemplate": {"id": "lt-0" + (group["name"].encode().hex() + "0" * 16)[:16],
                           "name": f"eksctl-{name}-nodegroup-{group['name']}", "version": "1"},
        "nodegroupArn": _arn(region, f"nodegroup/{name}/{group['name']}/5ec0ffee"),
        "nodegroupName": group["name"], "releaseVersion": f"{version}.1-20261101",
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
    _cluster(call, name, region)
    if config and not call.has("--approve"):
        call.mutates = False
        return _note("no changes were applied, run again with '--approve' to apply the changes")
    chosen = [call.get("--name")] if not config else [
        each["name"] for key in ("managedNodeGroups", "nodeGroups") for each in config.get(key) or []
        if _chosen(call, each["name"])]
    for group in chosen:
        gone = False
        for kind in ("nodegroups", "unmanaged"):
            held = call.data["eks"][kind].get(group)
            if held and held["clusterName"] == name:
                gone = call.data["eks"][kind].pop(group)
                for asg in gone.get("resources", {}).get("autoScalingGroups", []):
                    call.data["eks"]["autoScalingGroups"].pop(asg["name"], None)
        if not gone and not config:
            raise _refuse(f'nodegroup "{group}" not found')
    return 0


def delete_cluster(call):
    name, region, _ = _name(call)
    _cluster(call, name, region)
    held = call.data["eks"]
    for kind in ("nodegroups", "unmanaged"):
        held[kind] = {k: v for k, v in held[kind].items() if v["clusterName"] != name}
    left = held["nodegroups"]
    held["autoScalingGroups"] = {
        k: v for k, v in held["autoScalingGroups"].items() if v["_nodegroup"] in left}
    held.get("addons", {}).pop(name, None)
    held["stacks"] = {k: v for k, v in held.get("stacks", {}).items() if v["_cluster"] != name}
    del held["clusters"][name]


# What each add-on needs before: pkg/actions/addon/create.go asks for the agent before it makes a role.
_WITH_ROLE = ("aws-ebs-csi-driver", "aws-efs-csi-driver")
_ADDONS = (*_WITH_ROLE, "eks-pod-identity-agent", "eks-node-monitoring-agent")


def create_addon(call):
    cluster, region, _ = _name_of_cluster(call)
    name = call.get("--name")
    if name not in _ADDONS:
        raise Unsupported(f"eksctl create addon --name={name}")
    held = call.data["eks"].setdefault("addons", {}).setdefault(cluster, {})
    if name in held:
        return _note(f"addon {name} is already present, no action needed")
    roles = []
    if name in _WITH_ROLE and call.get("--auto-apply-pod-identity-associations"):
        if "eks-pod-identity-agent" not in held:
            raise _refuse("the eks-pod-identity-agent addon must be installed to create pod identity associations")
        roles.append(f"arn:aws:eks:{region}:{ACCOUNT}:podidentityassociation/{cluster}/a-{name}")
    held[name] = {"addonName": name, "clusterName": cluster, "status": "ACTIVE",
                  "addonVersion": "v1.0.0-eksbuild.1", "podIdentityAssociations": roles}
    return 0


def _name_of_cluster(call):
    """(cluster name, region, cluster) of a call without a file, in which --name is something else's."""
    if not call.has("--cluster"):
        raise _refuse("--cluster must be set")
    cluster, region = call.get("--cluster"), call.get("--region")
    return cluster, region, _cluster(call, cluster, region)


def _stack_of_role(call):
    cluster, _, _ = _name_of_cluster(call)
    for flag in ("--namespace", "--service-account-name"):
        if not call.has(flag):
            raise _refuse(f"{flag} must be set")
    where = f"{call.get('--namespace')}-{call.get('--service-account-name')}"
    return cluster, f"eksctl-{cluster}-podidentityrole-{where}"


def create_pod_identity(call):
    cluster, stack = _stack_of_role(call)
    if not call.has("--well-known-policies"):
        raise _refuse("at least one of the following flags must be specified: --role-arn,"
                      " --permission-policy-arns, --well-known-policies")
    if "eks-pod-identity-agent" not in call.data["eks"].get("addons", {}).get(cluster, {}):
        raise _refuse("the eks-pod-identity-agent addon must be installed to create pod identity associations")
    stacks = call.data["eks"].setdefault("stacks", {})
    if stack in stacks:
        raise _refuse(f"creating CloudFormation stack \"{stack}\": AlreadyExistsException")
    stacks[stack] = {"StackName": stack, "StackStatus": "CREATE_COMPLETE",
                     "_cluster": cluster, "_policies": call.get("--well-known-policies")}
    return 0


def delete_pod_identity(call):
    _, stack = _stack_of_role(call)
    if call.data["eks"].get("stacks", {}).pop(stack, None) is None:
        raise _refuse(f'pod identity association "{stack}" not found')
    return 0


def scale_nodegroup(call):
    name, region, _ = _name(call)
    _cluster(call, name, region)
    group = call.data["eks"]["nodegroups"].get(call.get("--name") or (call.words or [""])[0])
    if not group or group["clusterName"] != name:
        raise _refuse(f"nodegroup {call.get('--name')} not found: ResourceNotFoundException")
    sizes = dict(group["scalingConfig"])
    for flag, key in (("--nodes", "desiredSize"), ("--nodes-min", "minSize"), ("--nodes-max", "maxSize")):
        if call.has(flag):
            sizes[key] = int(call.get(flag))
    if not sizes["minSize"] <= sizes["desiredSize"] <= sizes["maxSize"]:
        raise _refuse(f"failed to scale nodegroup: minimum, desired and maximum do not fit: {sizes}")
    group["scalingConfig"] = sizes


def get_cluster(call):
    region, name = call.get("--region"), call.get("--name") or (call.words or [None])[0]
    held = [each for each in call.data["eks"]["clusters"].values() if not region or each["_region"] == region]
    if name:
        _cluster(call, name, region)
        held = [each for each in held if each["name"] == name]
    _listed(call, [{"Name": each["name"], "Region": each["_region"], "Owned": "True"} for each in held])


def get_nodegroup(call):
    name, region, _ = _name(call)
    _cluster(call, name, region)
    groups = [each for kind in ("nodegroups", "unmanaged")
              for each in call.data["eks"][kind].values() if each["clusterName"] == name]
    wanted = call.get("--name")
    if wanted and not any(each["nodegroupName"] == wanted for each in groups):
        raise _refuse(f'no nodegroups found with name "{wanted}"')
    _listed(call, [_summary(each) for each in groups if wanted in (None, each["nodegroupName"])])


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


def _listed(call, rows):
    if call.get("--output", "table") == "json":
        return show(rows)
    if call.get("--output", "table") != "table":
        raise Unsupported(f"eksctl -o {call.get('--output')}")
    for row in rows:
        print("\t".join(str(each) for each in row.values()))
    return 0


def upgrade_cluster(call):
    name, region, config = _name(call)
    cluster = _cluster(call, name, region)
    wanted = (config or {}).get("metadata", {}).get("version") or call.get("--version")
    if not call.has("--approve"):
        call.mutates = False
        return _note("no changes were applied, run again with '--approve' to apply the changes")
    cluster["version"] = str(wanted or cluster["version"])
    return 0


def write_kubeconfig(call):
    name, region, _ = _name(call)
    cluster = _cluster(call, name, region)
    context = f"stand-in@{name}.{cluster['_region']}.eksctl.io"
    call.data["contexts"][context] = {"server": cluster["endpoint"]}
    call.data["currentContext"] = context


def version(_call):
    print("0.231.0")


def _tables(name, command):
    """eksctl's flag table adds kinds; which command takes which flag is the list here."""
    held = table("eksctl_flags.json")
    # The table has the flags of clusters and node groups alone.
    if held is None or name.endswith((" addon", " podidentityassociation")):
        return None
    real = {"--" + name for key in ("nodegroup_flags", "create_nodegroup_extra", "create_cluster_extra",
            "common") for name in held[key]}
    return {flag: kind for flag, kind in command.flags.items() if flag in real}, command.aliases


def _unknown(_name, arguments):
    return Refused(1, f"Error: unknown flag: {arguments[0].partition('=')[0]}")


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
    "version": (version, False, _GET),
    "create cluster": (create_cluster, True, _CREATE | flags(
        "without-nodegroup write-kubeconfig set-kubeconfig-context auto-kubeconfig",
        "kubeconfig zones")),
    "create nodegroup": (create_nodegroup, True, _CREATE),
    "delete nodegroup": (delete_nodegroup, True, _COMMON | flags("", "include exclude only")),
    "delete cluster": (delete_cluster, True, _COMMON),
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
    "utils write-kubeconfig": (write_kubeconfig, False, _COMMON | flags(
        "set-kubeconfig-context auto-kubeconfig", "kubeconfig")),
}
_COMMANDS["get clusters"] = _COMMANDS["get cluster"]
_COMMANDS["get nodegroups"] = _COMMANDS["get nodegroup"]

TOOL = Tool(
    name="eksctl",
    commands={name: Command(*about) for name, about in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases=_ALIASES,
    unknown=_unknown,
    outage="Error: checking AWS STS access – cannot get role ARN for current session: operation"
    " error STS: GetCallerIdentity, StatusCode: 403, ExpiredToken: The security token included in"
    " the request is expired",
    tables=_tables,
)
