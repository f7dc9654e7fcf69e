# The access policies of an entry. gpuc manages the policies for people, and keeps all others.

def policies: [.associatedAccessPolicies[]? | {arn: .policyArn, policy: (.policyArn | split("/") | last), accessScope}];

def is_ours: .policy | test("^AmazonEKS(ClusterAdmin|Admin|AdminView|Edit|View)Policy$");

def scope: if .type == "namespace" then {type, namespaces: (.namespaces // [] | sort)} else {type} end;

def our_policies:
  [policies[] | select(is_ours) | {policy, scope: (.accessScope | scope)}] | sort_by(.policy);

def their_policies: [policies[] | select(is_ours | not) | .policy];

# The ARN of a policy that is associated; null if it is not.
def associated($policy): [policies[] | select(.policy == $policy) | .arn][0];
