"""Runs AWS CLI commands in one process against an endpoint that nobody listens on: a command that is taken fails to
connect.

In: a list of commands. Out: for each {"code", "said"}.
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
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            code = driver.main(argv[1:])
        except SystemExit as end:
            code = end.code
    answers.append({"code": code, "said": said.getvalue()})
json.dump(answers, sys.stdout)
