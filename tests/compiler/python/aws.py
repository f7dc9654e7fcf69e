"""Runs AWS CLI commands in one process against an endpoint without a server: a valid command fails to connect.

In: a list of commands. Out: for each {"code", "output"}.
"""

import contextlib
import io
import json
import os
import sys

given = json.load(sys.stdin)
os.environ.update(
    AWS_ACCESS_KEY_ID="x",
    AWS_SECRET_ACCESS_KEY="y",
    AWS_EC2_METADATA_DISABLED="true",
    AWS_MAX_ATTEMPTS="1",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_ENDPOINT_URL="http://127.0.0.1:9",
    KUBECONFIG=os.devnull,
    AWS_PAGER="",
)

from awscli.clidriver import create_clidriver  # noqa: E402

driver = create_clidriver()
answers = []
for argv in given:
    output = io.StringIO()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
        try:
            code = driver.main(argv[1:])
        except SystemExit as end:
            code = end.code
    answers.append({"code": code, "output": output.getvalue()})
json.dump(answers, sys.stdout)
