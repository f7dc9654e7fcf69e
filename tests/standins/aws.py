"""`aws eks`, and the little of `sts`, `ec2` and `autoscaling` that scripts need, over the EKS state."""

import json
import os

import yaml

from .cli import Command, Refused, Tool, Unsupported, flags
from .cli import public, query, show
from .eksctl import ACCOUNT


def _refuse(text, rc=252):
    return Refused(rc, f"\naws: error: {text}\n" if rc == 252 else f"\n{text}\n")


def _failed(call, kind, text):
    operation = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    return _refuse(f"An error occurred ({kind}) when calling the {operation} operation: {text}", 254)


def _need(call, *names):
    absent = [name for name in names if not call.has(name)]
    if absent:
        raise _refuse(f"the following arguments are required: {', '.join(absent)}")
    return [call.get(name) for name in names]


def _region(call):
    held = call.data["eks"].get("region")
    found = call.get("--region") or os.environ.get("AWS_REGION")
    found = found or os.environ.get("AWS_DEFAULT_REGION") or held
    if not found:
        raise _refuse('You must specify a region. You can also configure your region by running "aws'
                      ' configure".', 253)
    return found


def _answer(call, value):
    value = public(value)
    if call.has("--query"):
        value = query(value, call.get("--query"))
    form = call.get("--output", "json")
    if form == "json":
        show(value)
    elif form == "text":
        items = value if isinstance(value, list) else [value]
        if any(isinstance(each, (dict, list)) for each in items):
            raise Unsupported("aws --output text of an object: name one field with --query")
        print("\t".join(str(each) for each in items))
    else:
        raise Unsupported(f"aws --output {form}")


def _structure(flag, items, numbers=()):
    """A structure argument: JSON, file://, or the shorthand `a=1,b=2`."""
    text = items if isinstance(items, str) else " ".join(items)
    if text.startswith("file://"):
        with open(text.removeprefix("file://"), encoding="utf-8") as file:
            text = file.read()
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise _refuse(f"Error parsing parameter '{flag}': Invalid JSON: {error}\nJSON received:"
                          f" {text}") from error
    if any(each in text for each in "{}[]"):
        raise Unsupported(f"the nested shorthand of {flag}: write JSON")
    found = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise _refuse(f"Error parsing parameter '{flag}': Expected: '=', received: 'EOF' for"
                          f" input: {text}")
        found[key] = value
    for key in numbers:
        if key in found:
            try:
                found[key] = int(found[key])
            except ValueError as error:
                raise _refuse(f"invalid literal for int() with base 10: '{found[key]}'") from error
    return found


def _known(flag, found, keys):
    for key in found:
        if key not in keys:
            raise _refuse(f'Parameter validation failed:\nUnknown parameter in {flag[2:]}: "{key}",'
                          f" must be one of: {', '.join(keys)}")
    return found


def identity(call):
    held = call.data["eks"].get("account", ACCOUNT)
    _answer(call, {"UserId": "AIDASTANDIN", "Account": held, "Arn": f"arn:aws:iam::{held}:user/stand-in"})


def _cluster(call, name):
    found = call.data["eks"]["clusters"].get(name)
    if not found or found["_region"] != _region(call):
        raise _failed(call, "ResourceNotFoundException", f"No cluster found for name: {name}.")
    return found


def _nodegroup(call):
    cluster, name = _need(call, "--cluster-name", "--nodegroup-name")
    _cluster(call, cluster)
    found = call.data["eks"]["nodegroups"].get(name)
    if not found or found["clusterName"] != cluster:
        raise _failed(call, "ResourceNotFoundException", f"No node group found for name: {name}.")
    return found


def describe_cluster(call):
    _answer(call, {"cluster": _cluster(call, *_need(call, "--name"))})


def describe_nodegroup(call):
    _answer(call, {"nodegroup": _nodegroup(call)})


def describe_addon(call):
    cluster, name = _need(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    found = call.data["eks"].get("addons", {}).get(cluster, {}).get(name)
    if not found:
        raise _failed(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")
    _answer(call, {"addon": found})


def create_addon(call):
    cluster, name = _need(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    held = call.data["eks"].setdefault("addons", {}).setdefault(cluster, {})
    if name in held:
        raise _failed(call, "ResourceInUseException", "Addon already exists.")
    held[name] = {"addonName": name, "clusterName": cluster, "status": "ACTIVE",
                  "addonVersion": "v1.0.0-eksbuild.1"}
    _configure(call, held[name])
    _answer(call, {"addon": held[name]})


def update_addon(call):
    cluster, name = _need(call, "--cluster-name", "--addon-name")
    held = call.data["eks"].get("addons", {}).get(cluster, {})
    if name not in held:
        raise _failed(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")
    _configure(call, held[name])
    _answer(call, {"update": {"id": "u-1", "status": "InProgress"}})


def _configure(call, addon):
    """What is not said is taken away: the role as well as the configuration."""
    for flag, key in (("--configuration-values", "configurationValues"),
                      ("--service-account-role-arn", "serviceAccountRoleArn")):
        addon.pop(key, None)
        if call.has(flag):
            addon[key] = call.get(flag)
    if "configurationValues" in addon:
        json.loads(addon["configurationValues"])


def wait_for_addon(call):
    cluster, name = _need(call, "--cluster-name", "--addon-name")
    if name not in call.data["eks"].get("addons", {}).get(cluster, {}):
        raise _failed(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")


def describe_stacks(call):
    (name,) = _need(call, "--stack-name")
    _region(call)
    found = call.data["eks"].get("stacks", {}).get(name)
    if not found:
        raise _failed(call, "ValidationError", f"Stack with id {name} does not exist")
    _answer(call, {"Stacks": [found]})


def deploy_stack(call):
    """Makes a stack or changes it; a template that is no template is refused as CloudFormation does it."""
    name, path = _need(call, "--stack-name", "--template-file")
    with open(path, encoding="utf-8") as file:
        template = yaml.safe_load(file)
    resources = template.get("Resources")
    if not resources:
        raise _failed(call, "ValidationError", "Template format error: At least one Resources member must be defined.")
    named = any("InstanceProfileName" in each.get("Properties", {}) for each in resources.values())
    if named and "CAPABILITY_NAMED_IAM" not in call.get("--capabilities", []):
        raise _failed(call, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]")
    cluster = resources.get("NodeAccess", {}).get("Properties", {}).get("ClusterName")
    if cluster:
        _cluster(call, cluster)
    tags = [dict(zip(("Key", "Value"), each.split("=", 1))) for each in call.get("--tags", [])]
    call.data["eks"].setdefault("stacks", {})[name] = {
        "StackName": name, "StackStatus": "CREATE_COMPLETE", "Tags": tags, "_cluster": cluster,
        "_template": template}
    print(f"Successfully created/updated stack - {name}")


def delete_stack(call):
    (name,) = _need(call, "--stack-name")
    call.data["eks"].get("stacks", {}).pop(name, None)


def wait_for_stack(call):
    (name,) = _need(call, "--stack-name")
    if name in call.data["eks"].get("stacks", {}):
        raise _refuse("Waiter StackDeleteComplete failed: Max attempts exceeded", 255)


def instances(call):
    """Machines that no node group made, by their tags and state."""
    held = call.data["eks"].get("instances", {})
    for each in call.get("--filters", []):
        name, equals, values = each.removeprefix("Name=").partition(",Values=")
        if not equals:
            raise Unsupported(f"aws ec2 --filters {each}")
        values = values.split(",")
        if name.startswith("tag:"):
            held = {key: it for key, it in held.items() if it["tags"].get(name[4:]) in values}
        elif name == "instance-state-name":
            held = {key: it for key, it in held.items() if it["state"] in values}
        else:
            raise Unsupported(f"aws ec2 --filters {each}")
    _answer(call, {"Reservations": [{"Instances": [{"InstanceId": key}]} for key in sorted(held)]})


def terminate_instances(call):
    (names,) = _need(call, "--instance-ids")
    for name in names:
        found = call.data["eks"].get("instances", {}).get(name)
        if found is None:
            raise _failed(call, "InvalidInstanceID.NotFound", f"The instance ID '{name}' does not exist")
        found["state"] = "terminated"
    _answer(call, {"TerminatingInstances": [{"InstanceId": name} for name in names]})


def wait_for_instances(call):
    (names,) = _need(call, "--instance-ids")
    if any(call.data["eks"]["instances"][name]["state"] != "terminated" for name in names):
        raise _refuse("Waiter InstanceTerminated failed: Max attempts exceeded", 255)


def list_nodegroups(call):
    (name,) = _need(call, "--cluster-name")
    _cluster(call, name)
    held = call.data["eks"]["nodegroups"].values()
    _answer(call, {"nodegroups": [each["nodegroupName"] for each in held if each["clusterName"] == name]})


def list_clusters(call):
    held = call.data["eks"]["clusters"].values()
    _answer(call, {"clusters": [each["name"] for each in held if each["_region"] == _region(call)]})


def _updated(call, kind, changes):
    params = [{"type": key, "value": json.dumps(value)} for key, value in changes.items()]
    _answer(call, {"update": {"id": "00000000-0000-0000-0000-000000000002", "status": "InProgress",
                              "type": kind, "params": params, "errors": []}})


def update_nodegroup(call):
    group = _nodegroup(call)
    changes = {}
    if call.has("--scaling-config"):
        names = ("minSize", "maxSize", "desiredSize")
        given = _structure("--scaling-config", call.get("--scaling-config"), names)
        sizes = group["scalingConfig"] | _known("--scaling-config", given, names)
        for low, high, text in (("minSize", "desiredSize", "Minimum capacity {} can't be greater than"
                                 " desired size {}"), ("desiredSize", "maxSize", "desired capacity {}"
                                 " can't be greater than max size {}")):
            if sizes[low] > sizes[high]:
                raise _failed(call, "InvalidParameterException", text.format(sizes[low], sizes[high]))
        group["scalingConfig"] = changes["ScalingConfig"] = sizes
    if call.has("--labels"):
        names = ("addOrUpdateLabels", "removeLabels")
        given = _known("--labels", _structure("--labels", call.get("--labels")), names)
        labels = group.get("labels", {}) | given.get("addOrUpdateLabels", {})
        gone = given.get("removeLabels", [])
        group["labels"] = {key: value for key, value in labels.items() if key not in gone}
        changes["LabelsToAdd"] = given
    if call.has("--taints"):
        names = ("addOrUpdateTaints", "removeTaints")
        given = _known("--taints", _structure("--taints", call.get("--taints")), names)
        _taints(call, group, given)
        changes["TaintsToAdd"] = given
    if call.has("--update-config"):
        names = ("maxUnavailable", "maxUnavailablePercentage", "updateStrategy")
        given = _structure("--update-config", call.get("--update-config"), names[:2])
        group["updateConfig"] = changes["MaxUnavailable"] = _known("--update-config", given, names)
    if call.has("--node-repair-config"):
        text = _structure("--node-repair-config", call.get("--node-repair-config"))
        group["nodeRepairConfig"] = changes["NodeRepairEnabled"] = text
    _updated(call, "ConfigUpdate", changes)


def _taints(call, group, given):
    """The delta: a taint is known by its key and its effect."""
    held = {(each["key"], each["effect"]): each for each in group.get("taints", [])}
    for each in [*given.get("removeTaints", []), *given.get("addOrUpdateTaints", [])]:
        if each.get("effect") not in ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"):
            raise _failed(call, "InvalidParameterException", f"Unknown taint effect: {each.get('effect')}")
    for each in given.get("removeTaints", []):
        held.pop((each["key"], each["effect"]), None)
    for each in given.get("addOrUpdateTaints", []):
        held[each["key"], each["effect"]] = each
    group["taints"] = list(held.values())
    if not held:
        del group["taints"]


def update_nodegroup_version(call):
    group = _nodegroup(call)
    cluster = call.data["eks"]["clusters"][group["clusterName"]]
    group["version"] = call.get("--kubernetes-version", cluster["version"])
    group["releaseVersion"] = call.get("--release-version", f"{group['version']}.1-20261101")
    _updated(call, "VersionUpdate", {"Version": group["version"]})


def update_cluster_version(call):
    name, version = _need(call, "--name", "--kubernetes-version")
    cluster = _cluster(call, name)
    if version == cluster["version"]:
        raise _failed(call, "InvalidParameterException", f"Cluster is already at version {version}")
    cluster["version"] = version
    _updated(call, "VersionUpdate", {"Version": version})


def update_cluster_config(call):
    cluster = _cluster(call, *_need(call, "--name"))
    if not call.has("--resources-vpc-config"):
        raise Unsupported("aws eks update-cluster-config without --resources-vpc-config")
    given = _structure("--resources-vpc-config", call.get("--resources-vpc-config"))
    for key in ("endpointPublicAccess", "endpointPrivateAccess"):
        if isinstance(given.get(key), str):
            given[key] = given[key] == "true"
    if isinstance(given.get("publicAccessCidrs"), str):
        given["publicAccessCidrs"] = given["publicAccessCidrs"].split(",")
    cluster["resourcesVpcConfig"] |= given
    _updated(call, "EndpointAccessUpdate", given)


def delete_nodegroup(call):
    group = _nodegroup(call)
    del call.data["eks"]["nodegroups"][group["nodegroupName"]]
    for asg in group["resources"]["autoScalingGroups"]:
        call.data["eks"]["autoScalingGroups"].pop(asg["name"], None)
    _answer(call, {"nodegroup": group | {"status": "DELETING"}})


def _tagged(call):
    (arn,) = _need(call, "--resource-arn")
    held = call.data["eks"]
    for found in [*held["clusters"].values(), *held["nodegroups"].values()]:
        if arn in (found.get("arn"), found.get("nodegroupArn")):
            return found
    raise _failed(call, "NotFoundException", f"Resource was not found: {arn}")


def tag(call):
    found = _tagged(call)
    (items,) = _need(call, "--tags")
    found["tags"] = found.get("tags", {}) | _structure("--tags", ",".join(items))


def untag(call):
    found = _tagged(call)
    (keys,) = _need(call, "--tag-keys")
    # A list may be one JSON array instead of many words (awscli/argprocess.py).
    if len(keys) == 1 and keys[0].lstrip().startswith("["):
        keys = json.loads(keys[0])
    for key in keys:
        found["tags"].pop(key, None)


def list_tags(call):
    _answer(call, {"tags": _tagged(call)["tags"]})


def update_kubeconfig(call):
    (name,) = _need(call, "--name")
    cluster = _cluster(call, name)
    context = call.get("--alias", cluster["arn"])
    call.data["contexts"][context] = {"server": cluster["endpoint"]}
    call.data["currentContext"] = context
    print(f"Updated context {context} in {os.environ.get('KUBECONFIG', '~/.kube/config')}")


def wait(call):
    """What is there is active at once, so a wait ends at once."""
    waiter = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    try:
        if waiter == "ClusterActive":
            found = _cluster(call, *_need(call, "--name"))
        else:
            found = _nodegroup(call)
    except Refused as refused:
        if refused.rc == 254 and waiter == "NodegroupDeleted":
            return
        if refused.rc == 254:
            raise _refuse(f"Waiter {waiter} failed: An error occurred (ResourceNotFoundException):"
                          f" {refused.text.strip()}", 255) from refused
        raise
    if waiter == "NodegroupDeleted" or found["status"] != "ACTIVE":
        raise _refuse(f"Waiter {waiter} failed: Max attempts exceeded", 255)


def _ec2(call, flag, section, shown, kind):
    held = call.data["eks"][section]
    wanted = call.get(flag)
    for each in wanted or []:
        if each not in held:
            raise _failed(call, kind, f"The ID '{each}' does not exist")
    found = [held[each] for each in wanted or held]
    for each in call.get("--filters", []):
        given = _structure("--filters", each)
        if given.get("Name") != "vpc-id":
            raise Unsupported(f"aws ec2 --filters {each}")
        found = [subnet for subnet in found if subnet["VpcId"] == given["Values"]]
    _answer(call, {shown: found})


def subnets(call):
    _ec2(call, "--subnet-ids", "subnets", "Subnets", "InvalidSubnetID.NotFound")


def reservations(call):
    _ec2(call, "--capacity-reservation-ids", "capacityReservations", "CapacityReservations",
         "InvalidCapacityReservationId.NotFound")


def describe_groups(call):
    held, found = call.data["eks"], []
    for name in call.get("--auto-scaling-group-names", list(held["autoScalingGroups"])):
        group = held["autoScalingGroups"].get(name)
        if group is None:
            continue
        owner = held["nodegroups"].get(group["_nodegroup"]) or held["unmanaged"][group["_nodegroup"]]
        sizes = owner["scalingConfig"]
        tags = [{"ResourceId": name, "ResourceType": "auto-scaling-group", "Key": key, "Value": value,
                 "PropagateAtLaunch": True} for key, value in sorted(group["_tags"].items())]
        found.append({"AutoScalingGroupName": name, "MinSize": sizes["minSize"],
                      "MaxSize": sizes["maxSize"], "DesiredCapacity": sizes["desiredSize"], "Tags": tags})
    _answer(call, {"AutoScalingGroups": found})


def tag_groups(call):
    (items,) = _need(call, "--tags")
    joined = " ".join(items)
    tags = json.loads(joined) if joined.startswith("[") else [_structure("--tags", each) for each in items]
    for each in tags:
        group = call.data["eks"]["autoScalingGroups"].get(each.get("ResourceId"))
        if group is None:
            raise _failed(call, "ValidationError", "AutoScalingGroup name not found -"
                          f" AutoScalingGroup '{each.get('ResourceId')}' not found")
        if call.command.endswith("delete-tags"):
            group["_tags"].pop(each["Key"], None)
        else:
            group["_tags"][each["Key"]] = each.get("Value", "")


def _unknown(_name, arguments):
    return _refuse(f"Unknown options: {', '.join(arguments)}")


_GLOBAL = flags("no-cli-pager no-paginate debug no-verify-ssl",
                "region profile output query endpoint-url color cli-connect-timeout cli-read-timeout")
_GROUP = flags("", "cluster-name nodegroup-name")
_NAME = flags("", "name client-request-token")
_ADDON = flags("", "cluster-name addon-name addon-version configuration-values resolve-conflicts"
                   " service-account-role-arn")
_ASG = flags("", "", "tags")
_COMMANDS = {
    "sts get-caller-identity": (identity, False, {}),
    "eks describe-cluster": (describe_cluster, False, _NAME),
    "eks list-clusters": (list_clusters, False, {}),
    "eks describe-nodegroup": (describe_nodegroup, False, _GROUP),
    "eks describe-addon": (describe_addon, False, flags("", "cluster-name addon-name")),
    "eks create-addon": (create_addon, True, _ADDON),
    "eks update-addon": (update_addon, True, _ADDON),
    "eks wait addon-active": (wait_for_addon, False, flags("", "cluster-name addon-name")),
    "cloudformation describe-stacks": (describe_stacks, False, flags("", "stack-name")),
    "cloudformation deploy": (deploy_stack, True, flags(
        "no-fail-on-empty-changeset", "stack-name template-file", "capabilities tags")),
    "cloudformation delete-stack": (delete_stack, True, flags("", "stack-name")),
    "cloudformation wait stack-delete-complete": (wait_for_stack, False, flags("", "stack-name")),
    "ec2 describe-instances": (instances, False, flags("", "", "filters")),
    "ec2 terminate-instances": (terminate_instances, True, flags("", "", "instance-ids")),
    "ec2 wait instance-terminated": (wait_for_instances, False, flags("", "", "instance-ids")),
    "eks list-nodegroups": (list_nodegroups, False, flags("", "cluster-name")),
    "eks update-nodegroup-config": (update_nodegroup, True, _GROUP | flags(
        "", "client-request-token", "labels taints scaling-config update-config node-repair-config")),
    "eks update-nodegroup-version": (update_nodegroup_version, True, _GROUP | flags(
        "force", "kubernetes-version release-version client-request-token")),
    "eks update-cluster-version": (update_cluster_version, True, _NAME | flags("", "kubernetes-version")),
    "eks update-cluster-config": (update_cluster_config, True, _NAME | flags(
        "", "", "resources-vpc-config")),
    "eks delete-nodegroup": (delete_nodegroup, True, _GROUP),
    "eks tag-resource": (tag, True, flags("", "resource-arn", "tags")),
    "eks untag-resource": (untag, True, flags("", "resource-arn", "tag-keys")),
    "eks list-tags-for-resource": (list_tags, False, flags("", "resource-arn")),
    "eks update-kubeconfig": (update_kubeconfig, False, flags("", "name alias kubeconfig role-arn")),
    "eks wait cluster-active": (wait, False, _NAME),
    "eks wait nodegroup-active": (wait, False, _GROUP),
    "eks wait nodegroup-deleted": (wait, False, _GROUP),
    "ec2 describe-subnets": (subnets, False, flags("", "", "subnet-ids filters")),
    "ec2 describe-capacity-reservations": (reservations, False, flags(
        "", "", "capacity-reservation-ids")),
    "autoscaling describe-auto-scaling-groups": (describe_groups, False, flags(
        "", "", "auto-scaling-group-names")),
    "autoscaling create-or-update-tags": (tag_groups, True, _ASG),
    "autoscaling delete-tags": (tag_groups, True, _ASG),
}

TOOL = Tool(
    name="aws",
    commands={name: Command(*about) for name, about in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={},
    unknown=_unknown,
    outage="\nError when retrieving token from sso: Token has expired and refresh failed",
    style="aws",
)
