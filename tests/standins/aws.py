"""A fake of `aws eks`, and of the parts of `sts`, `cloudformation`, `ec2` and `autoscaling` that scripts use."""

import json
import os

import yaml

from .cli import Command, CommandError, Tool, Unsupported, flags
from .cli import print_json, query, without_internal_keys
from .eksctl import ACCOUNT


def _command_error(text, rc=252):
    return CommandError(rc, f"\naws: error: {text}\n" if rc == 252 else f"\n{text}\n")


def _api_error(call, kind, text):
    operation = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    return _command_error(f"An error occurred ({kind}) when calling the {operation} operation: {text}", 254)


def _require(call, *names):
    missing = [name for name in names if not call.has(name)]
    if missing:
        raise _command_error(f"the following arguments are required: {', '.join(missing)}")
    return [call.get(name) for name in names]


def _region(call):
    stored = call.data["eks"].get("region")
    found = call.get("--region") or os.environ.get("AWS_REGION")
    found = found or os.environ.get("AWS_DEFAULT_REGION") or stored
    if not found:
        raise _command_error('You must specify a region. You can also configure your region by running "aws'
                             ' configure".', 253)
    return found


def _print_result(call, value):
    value = without_internal_keys(value)
    if call.has("--query"):
        value = query(value, call.get("--query"))
    output = call.get("--output", "json")
    if output == "json":
        print_json(value)
    elif output == "text":
        items = value if isinstance(value, list) else [value]
        if any(isinstance(each, (dict, list)) for each in items):
            raise Unsupported("aws --output text of an object: name one field with --query")
        print("\t".join(str(each) for each in items))
    else:
        raise Unsupported(f"aws --output {output}")


def _structure(flag, items, numbers=()):
    """Parse a structure argument: JSON, file://, or the shorthand `a=1,b=2`."""
    text = items if isinstance(items, str) else " ".join(items)
    if text.startswith("file://"):
        with open(text.removeprefix("file://"), encoding="utf-8") as file:
            text = file.read()
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise _command_error(f"Error parsing parameter '{flag}': Invalid JSON: {error}\nJSON received:"
                                 f" {text}") from error
    if any(each in text for each in "{}[]"):
        raise Unsupported(f"the nested shorthand of {flag}: write JSON")
    found = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise _command_error(f"Error parsing parameter '{flag}': Expected: '=', received: 'EOF' for"
                                 f" input: {text}")
        found[key] = value
    for key in numbers:
        if key in found:
            try:
                found[key] = int(found[key])
            except ValueError as error:
                raise _command_error(f"invalid literal for int() with base 10: '{found[key]}'") from error
    return found


def _check_keys(flag, found, keys):
    for key in found:
        if key not in keys:
            raise _command_error(f'Parameter validation failed:\nUnknown parameter in {flag[2:]}: "{key}",'
                                 f" must be one of: {', '.join(keys)}")
    return found


def identity(call):
    stored = call.data["eks"].get("account", ACCOUNT)
    _print_result(call, {"UserId": "AIDASTANDIN", "Account": stored, "Arn": f"arn:aws:iam::{stored}:user/stand-in"})


def _cluster(call, name):
    found = call.data["eks"]["clusters"].get(name)
    if not found or found["_region"] != _region(call):
        raise _api_error(call, "ResourceNotFoundException", f"No cluster found for name: {name}.")
    return found


def _nodegroup(call):
    cluster, name = _require(call, "--cluster-name", "--nodegroup-name")
    _cluster(call, cluster)
    found = call.data["eks"]["nodegroups"].get(name)
    if not found or found["clusterName"] != cluster:
        raise _api_error(call, "ResourceNotFoundException", f"No node group found for name: {name}.")
    return found


def describe_cluster(call):
    _print_result(call, {"cluster": _cluster(call, *_require(call, "--name"))})


def describe_nodegroup(call):
    _print_result(call, {"nodegroup": _nodegroup(call)})


def describe_addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    found = call.data["eks"].get("addons", {}).get(cluster, {}).get(name)
    if not found:
        raise _api_error(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")
    _print_result(call, {"addon": found})


def create_addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    stored = call.data["eks"].setdefault("addons", {}).setdefault(cluster, {})
    if name in stored:
        raise _api_error(call, "ResourceInUseException", "Addon already exists.")
    stored[name] = {"addonName": name, "clusterName": cluster, "status": "ACTIVE",
                    "addonVersion": "v1.0.0-eksbuild.1"}
    _configure(call, stored[name])
    _print_result(call, {"addon": stored[name]})


def update_addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    stored = call.data["eks"].get("addons", {}).get(cluster, {})
    if name not in stored:
        raise _api_error(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")
    _configure(call, stored[name])
    _print_result(call, {"update": {"id": "u-1", "status": "InProgress"}})


def _configure(call, addon):
    """Set the configuration and the role. The API removes values that a call omits."""
    for flag, key in (("--configuration-values", "configurationValues"),
                      ("--service-account-role-arn", "serviceAccountRoleArn")):
        addon.pop(key, None)
        if call.has(flag):
            addon[key] = call.get(flag)
    if "configurationValues" in addon:
        json.loads(addon["configurationValues"])


def wait_for_addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    if name not in call.data["eks"].get("addons", {}).get(cluster, {}):
        raise _api_error(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")


def describe_stacks(call):
    (name,) = _require(call, "--stack-name")
    _region(call)
    found = call.data["eks"].get("stacks", {}).get(name)
    if not found:
        raise _api_error(call, "ValidationError", f"Stack with id {name} does not exist")
    _print_result(call, {"Stacks": [found]})


def deploy_stack(call):
    """Create or update a stack. Invalid templates are errors as in CloudFormation."""
    name, path = _require(call, "--stack-name", "--template-file")
    with open(path, encoding="utf-8") as file:
        template = yaml.safe_load(file)
    resources = template.get("Resources")
    if not resources:
        raise _api_error(call, "ValidationError",
                         "Template format error: At least one Resources member must be defined.")
    named = any("InstanceProfileName" in each.get("Properties", {}) for each in resources.values())
    if named and "CAPABILITY_NAMED_IAM" not in call.get("--capabilities", []):
        raise _api_error(call, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]")
    cluster = resources.get("NodeAccess", {}).get("Properties", {}).get("ClusterName")
    if cluster:
        _cluster(call, cluster)
    tags = [dict(zip(("Key", "Value"), each.split("=", 1))) for each in call.get("--tags", [])]
    call.data["eks"].setdefault("stacks", {})[name] = {
        "StackName": name, "StackStatus": "CREATE_COMPLETE", "Tags": tags, "_cluster": cluster,
        "_template": template}
    print(f"Successfully created/updated stack - {name}")


def delete_stack(call):
    (name,) = _require(call, "--stack-name")
    call.data["eks"].get("stacks", {}).pop(name, None)


def wait_for_stack(call):
    (name,) = _require(call, "--stack-name")
    if name in call.data["eks"].get("stacks", {}):
        raise _command_error("Waiter StackDeleteComplete failed: Max attempts exceeded", 255)


def describe_instances(call):
    """List instances outside of node groups, filtered by tags and state."""
    stored = call.data["eks"].get("instances", {})
    for each in call.get("--filters", []):
        name, equals, values = each.removeprefix("Name=").partition(",Values=")
        if not equals:
            raise Unsupported(f"aws ec2 --filters {each}")
        values = values.split(",")
        if name.startswith("tag:"):
            stored = {key: it for key, it in stored.items() if it["tags"].get(name[4:]) in values}
        elif name == "instance-state-name":
            stored = {key: it for key, it in stored.items() if it["state"] in values}
        else:
            raise Unsupported(f"aws ec2 --filters {each}")
    _print_result(call, {"Reservations": [{"Instances": [{"InstanceId": key}]} for key in sorted(stored)]})


def terminate_instances(call):
    (names,) = _require(call, "--instance-ids")
    for name in names:
        found = call.data["eks"].get("instances", {}).get(name)
        if found is None:
            raise _api_error(call, "InvalidInstanceID.NotFound", f"The instance ID '{name}' does not exist")
        found["state"] = "terminated"
    _print_result(call, {"TerminatingInstances": [{"InstanceId": name} for name in names]})


def wait_for_instances(call):
    (names,) = _require(call, "--instance-ids")
    if any(call.data["eks"]["instances"][name]["state"] != "terminated" for name in names):
        raise _command_error("Waiter InstanceTerminated failed: Max attempts exceeded", 255)


def list_nodegroups(call):
    (name,) = _require(call, "--cluster-name")
    _cluster(call, name)
    stored = call.data["eks"]["nodegroups"].values()
    _print_result(call, {"nodegroups": [each["nodegroupName"] for each in stored if each["clusterName"] == name]})


def list_clusters(call):
    stored = call.data["eks"]["clusters"].values()
    _print_result(call, {"clusters": [each["name"] for each in stored if each["_region"] == _region(call)]})


def _print_update(call, kind, changes):
    params = [{"type": key, "value": json.dumps(value)} for key, value in changes.items()]
    _print_result(call, {"update": {"id": "00000000-0000-0000-0000-000000000002", "status": "InProgress",
                                    "type": kind, "params": params, "errors": []}})


def update_nodegroup(call):
    group = _nodegroup(call)
    changes = {}
    if call.has("--scaling-config"):
        names = ("minSize", "maxSize", "desiredSize")
        given = _structure("--scaling-config", call.get("--scaling-config"), names)
        sizes = group["scalingConfig"] | _check_keys("--scaling-config", given, names)
        for low, high, text in (("minSize", "desiredSize", "Minimum capacity {} can't be greater than"
                                 " desired size {}"), ("desiredSize", "maxSize", "desired capacity {}"
                                 " can't be greater than max size {}")):
            if sizes[low] > sizes[high]:
                raise _api_error(call, "InvalidParameterException", text.format(sizes[low], sizes[high]))
        group["scalingConfig"] = changes["ScalingConfig"] = sizes
    if call.has("--labels"):
        names = ("addOrUpdateLabels", "removeLabels")
        given = _check_keys("--labels", _structure("--labels", call.get("--labels")), names)
        labels = group.get("labels", {}) | given.get("addOrUpdateLabels", {})
        removed = given.get("removeLabels", [])
        group["labels"] = {key: value for key, value in labels.items() if key not in removed}
        changes["LabelsToAdd"] = given
    if call.has("--taints"):
        names = ("addOrUpdateTaints", "removeTaints")
        given = _check_keys("--taints", _structure("--taints", call.get("--taints")), names)
        _taints(call, group, given)
        changes["TaintsToAdd"] = given
    if call.has("--update-config"):
        names = ("maxUnavailable", "maxUnavailablePercentage", "updateStrategy")
        given = _structure("--update-config", call.get("--update-config"), names[:2])
        group["updateConfig"] = changes["MaxUnavailable"] = _check_keys("--update-config", given, names)
    if call.has("--node-repair-config"):
        text = _structure("--node-repair-config", call.get("--node-repair-config"))
        group["nodeRepairConfig"] = changes["NodeRepairEnabled"] = text
    _print_update(call, "ConfigUpdate", changes)


def _taints(call, group, given):
    """Apply a delta. A taint is identified by its key and effect."""
    stored = {(each["key"], each["effect"]): each for each in group.get("taints", [])}
    for each in [*given.get("removeTaints", []), *given.get("addOrUpdateTaints", [])]:
        if each.get("effect") not in ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"):
            raise _api_error(call, "InvalidParameterException", f"Unknown taint effect: {each.get('effect')}")
    for each in given.get("removeTaints", []):
        stored.pop((each["key"], each["effect"]), None)
    for each in given.get("addOrUpdateTaints", []):
        stored[each["key"], each["effect"]] = each
    group["taints"] = list(stored.values())
    if not stored:
        del group["taints"]


def update_nodegroup_version(call):
    group = _nodegroup(call)
    cluster = call.data["eks"]["clusters"][group["clusterName"]]
    group["version"] = call.get("--kubernetes-version", cluster["version"])
    group["releaseVersion"] = call.get("--release-version", f"{group['version']}.1-20261101")
    _print_update(call, "VersionUpdate", {"Version": group["version"]})


def update_cluster_version(call):
    name, version = _require(call, "--name", "--kubernetes-version")
    cluster = _cluster(call, name)
    if version == cluster["version"]:
        raise _api_error(call, "InvalidParameterException", f"Cluster is already at version {version}")
    cluster["version"] = version
    _print_update(call, "VersionUpdate", {"Version": version})


def update_cluster_config(call):
    cluster = _cluster(call, *_require(call, "--name"))
    if not call.has("--resources-vpc-config"):
        raise Unsupported("aws eks update-cluster-config without --resources-vpc-config")
    given = _structure("--resources-vpc-config", call.get("--resources-vpc-config"))
    for key in ("endpointPublicAccess", "endpointPrivateAccess"):
        if isinstance(given.get(key), str):
            given[key] = given[key] == "true"
    if isinstance(given.get("publicAccessCidrs"), str):
        given["publicAccessCidrs"] = given["publicAccessCidrs"].split(",")
    cluster["resourcesVpcConfig"] |= given
    _print_update(call, "EndpointAccessUpdate", given)


def delete_nodegroup(call):
    group = _nodegroup(call)
    del call.data["eks"]["nodegroups"][group["nodegroupName"]]
    for asg in group["resources"]["autoScalingGroups"]:
        call.data["eks"]["autoScalingGroups"].pop(asg["name"], None)
    _print_result(call, {"nodegroup": group | {"status": "DELETING"}})


def _tagged_resource(call):
    (arn,) = _require(call, "--resource-arn")
    stored = call.data["eks"]
    for found in [*stored["clusters"].values(), *stored["nodegroups"].values()]:
        if arn in (found.get("arn"), found.get("nodegroupArn")):
            return found
    raise _api_error(call, "NotFoundException", f"Resource was not found: {arn}")


def tag(call):
    found = _tagged_resource(call)
    (items,) = _require(call, "--tags")
    found["tags"] = found.get("tags", {}) | _structure("--tags", ",".join(items))


def untag(call):
    found = _tagged_resource(call)
    (keys,) = _require(call, "--tag-keys")
    # A list can be one JSON array instead of several arguments (awscli/argprocess.py).
    if len(keys) == 1 and keys[0].lstrip().startswith("["):
        keys = json.loads(keys[0])
    for key in keys:
        found["tags"].pop(key, None)


def list_tags(call):
    _print_result(call, {"tags": _tagged_resource(call)["tags"]})


def update_kubeconfig(call):
    (name,) = _require(call, "--name")
    cluster = _cluster(call, name)
    context = call.get("--alias", cluster["arn"])
    call.data["contexts"][context] = {"server": cluster["endpoint"]}
    call.data["currentContext"] = context
    print(f"Updated context {context} in {os.environ.get('KUBECONFIG', '~/.kube/config')}")


def wait(call):
    """Return immediately, because every existing resource is active."""
    waiter = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    try:
        if waiter == "ClusterActive":
            found = _cluster(call, *_require(call, "--name"))
        else:
            found = _nodegroup(call)
    except CommandError as failure:
        if failure.rc == 254 and waiter == "NodegroupDeleted":
            return
        if failure.rc == 254:
            raise _command_error(f"Waiter {waiter} failed: An error occurred (ResourceNotFoundException):"
                                 f" {failure.text.strip()}", 255) from failure
        raise
    if waiter == "NodegroupDeleted" or found["status"] != "ACTIVE":
        raise _command_error(f"Waiter {waiter} failed: Max attempts exceeded", 255)


def _describe_ec2(call, flag, section, result_key, kind):
    stored = call.data["eks"][section]
    ids = call.get(flag)
    for each in ids or []:
        if each not in stored:
            raise _api_error(call, kind, f"The ID '{each}' does not exist")
    found = [stored[each] for each in ids or stored]
    for each in call.get("--filters", []):
        given = _structure("--filters", each)
        if given.get("Name") != "vpc-id":
            raise Unsupported(f"aws ec2 --filters {each}")
        found = [subnet for subnet in found if subnet["VpcId"] == given["Values"]]
    _print_result(call, {result_key: found})


def describe_subnets(call):
    _describe_ec2(call, "--subnet-ids", "subnets", "Subnets", "InvalidSubnetID.NotFound")


def describe_reservations(call):
    _describe_ec2(call, "--capacity-reservation-ids", "capacityReservations", "CapacityReservations",
                  "InvalidCapacityReservationId.NotFound")


def describe_groups(call):
    stored, found = call.data["eks"], []
    for name in call.get("--auto-scaling-group-names", list(stored["autoScalingGroups"])):
        group = stored["autoScalingGroups"].get(name)
        if group is None:
            continue
        owner = stored["nodegroups"].get(group["_nodegroup"]) or stored["unmanaged"][group["_nodegroup"]]
        sizes = owner["scalingConfig"]
        tags = [{"ResourceId": name, "ResourceType": "auto-scaling-group", "Key": key, "Value": value,
                 "PropagateAtLaunch": True} for key, value in sorted(group["_tags"].items())]
        found.append({"AutoScalingGroupName": name, "MinSize": sizes["minSize"],
                      "MaxSize": sizes["maxSize"], "DesiredCapacity": sizes["desiredSize"], "Tags": tags})
    _print_result(call, {"AutoScalingGroups": found})


def tag_groups(call):
    (items,) = _require(call, "--tags")
    joined = " ".join(items)
    tags = json.loads(joined) if joined.startswith("[") else [_structure("--tags", each) for each in items]
    for each in tags:
        group = call.data["eks"]["autoScalingGroups"].get(each.get("ResourceId"))
        if group is None:
            raise _api_error(call, "ValidationError", "AutoScalingGroup name not found -"
                             f" AutoScalingGroup '{each.get('ResourceId')}' not found")
        if call.command.endswith("delete-tags"):
            group["_tags"].pop(each["Key"], None)
        else:
            group["_tags"][each["Key"]] = each.get("Value", "")


def _unknown(_name, arguments):
    return _command_error(f"Unknown options: {', '.join(arguments)}")


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
    "ec2 describe-instances": (describe_instances, False, flags("", "", "filters")),
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
    "ec2 describe-subnets": (describe_subnets, False, flags("", "", "subnet-ids filters")),
    "ec2 describe-capacity-reservations": (describe_reservations, False, flags(
        "", "", "capacity-reservation-ids")),
    "autoscaling describe-auto-scaling-groups": (describe_groups, False, flags(
        "", "", "auto-scaling-group-names")),
    "autoscaling create-or-update-tags": (tag_groups, True, _ASG),
    "autoscaling delete-tags": (tag_groups, True, _ASG),
}

TOOL = Tool(
    name="aws",
    commands={name: Command(*definition) for name, definition in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={},
    unknown=_unknown,
    outage="\nError when retrieving token from sso: Token has expired and refresh failed",
    style="aws",
)
