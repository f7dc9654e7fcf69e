"""A fake of `kubelogin`, which changes how the users of a kubeconfig log in."""

from .cli import Command, CommandError, Tool, flags


def convert(call):
    """Change the login of every context of a cluster with Entra ID."""
    login = call.get("--login", "devicecode")
    if login not in ("devicecode", "interactive", "azurecli", "spn", "msi", "workloadidentity"):
        raise CommandError(1, f"Error: '{login}' is not a supported login method")
    for context in call.data["contexts"].values():
        if isinstance(context, dict) and "login" in context:
            context["login"] = login


TOOL = Tool(
    name="kubelogin",
    commands={"convert-kubeconfig": Command(convert, False, flags("", "login kubeconfig context"))},
    flags={},
    aliases={"-l": "--login"},
    unknown=lambda _name, arguments: CommandError(1, f"Error: unknown flag: {arguments[0]}"),
    outage="Error: dial tcp: i/o timeout",
)
