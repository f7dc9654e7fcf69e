#!/usr/bin/env python3
"""Runs a command; prints its wall and processor milliseconds and its peak memory in KiB."""

import os
import subprocess
import sys
import time

begin = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
wall = time.monotonic() - begin
if status != 0:
    sys.exit(f"{sys.argv[1:]} ends with {os.waitstatus_to_exitcode(status)}")
print(f"{wall * 1000:.1f} {(used.ru_utime + used.ru_stime) * 1000:.1f} {used.ru_maxrss}")
