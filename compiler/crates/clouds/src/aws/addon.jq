# The numbers of a version such as v1.20.4-eksbuild.2. Lists of numbers are compared number by number.
def numbers: [scan("[0-9]+") | tonumber];

# The flags of an update that keep what users changed in the cluster, the role and the configuration. EKS removes the
# last two if an update omits them.
def preserved:
  ["--resolve-conflicts", "PRESERVE"]
  + (.addon.serviceAccountRoleArn | if . then ["--service-account-role-arn", .] else [] end)
  + (.addon.configurationValues // "" | if . == "" then [] else ["--configuration-values", .] end);
