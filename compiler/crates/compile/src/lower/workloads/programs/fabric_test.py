"""Measures an all-reduce between all GPUs of all pods, and verifies the sums.

Prints the table of nccl-tests, so that `gpuc prove` reads both. NCCL's own messages show the network that it uses.
Fails if a sum is wrong, or if the bus bandwidth of the largest message is below MIN_BUS_BANDWIDTH (in GB/s).
"""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

KIB = 1024
GIB = 1024**3
MAX_BYTES = 8 * GIB
WARMUP = 5


def sizes(free_bytes):
    """Message sizes in powers of two, from 1 KiB to 8 GiB or what fits into half of the free memory."""
    size = KIB
    while size <= min(MAX_BYTES, free_bytes // 2):
        yield size
        size *= 2


def largest_common(value, device):
    """The smallest value of all ranks, so that all ranks measure the same sizes."""
    smallest = torch.tensor([value], dtype=torch.int64, device=device)
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    return int(smallest.item())


def count_wrong(data, expected):
    """The number of elements that differ. Parts bound the memory that the comparison needs."""
    wrong = 0
    for part in data.split(64 * 1024 * 1024):
        wrong += int((part != expected).sum().item())
    return wrong


def measure(data, rank, ranks):
    """The seconds of an all-reduce of the slowest rank, and the number of wrong sums of all ranks."""
    # The sum of the ranks' numbers, from 1, is exact in float32 for thousands of ranks.
    data.fill_(rank + 1)
    dist.all_reduce(data)
    wrong = count_wrong(data, ranks * (ranks + 1) / 2)
    # Zeros stay zeros: no value overflows, however often they are added.
    data.zero_()
    for _ in range(WARMUP):
        dist.all_reduce(data)
    repeats = 20 if data.numel() < 256 * 1024 * 1024 else 5
    torch.cuda.synchronize()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / repeats
    slowest = torch.tensor([seconds], dtype=torch.float64, device=data.device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    total = torch.tensor([wrong], dtype=torch.int64, device=data.device)
    dist.all_reduce(total)
    return float(slowest.item()), int(total.item())


def main():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    floor = float(os.environ.get("MIN_BUS_BANDWIDTH") or 0)
    floor_bytes = int(os.environ.get("MIN_BYTES") or 0)
    # NCCL takes the number of the device for its messages from the current device.
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=timedelta(minutes=10), device_id=device)
    free, _ = torch.cuda.mem_get_info(device)
    all_sizes = list(sizes(largest_common(free, device)))
    buffer = torch.empty(all_sizes[-1] // 4, dtype=torch.float32, device=device)

    def show(text):
        if rank == 0:
            print(text, flush=True)

    show("# Collective test starting: all_reduce with torch.distributed")
    show("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong (out of place, in place)")
    wrong, bandwidth = 0, 0.0
    for size in all_sizes:
        seconds, errors = measure(buffer[: size // 4], rank, ranks)
        algorithm = size / seconds / 1e9
        # Each byte passes a link 2(n-1)/n times, whatever the algorithm is.
        bandwidth = algorithm * 2 * (ranks - 1) / ranks
        wrong += errors
        show(
            f"{size:12} {size // 4:12} float sum -1 N/A N/A N/A N/A "
            f"{seconds * 1e6:.2f} {algorithm:.2f} {bandwidth:.2f} {errors}"
        )
    show(f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
    dist.destroy_process_group()
    if wrong:
        show(f"# {wrong} sums are wrong")
        sys.exit(1)
    if floor and all_sizes[-1] < floor_bytes:
        show(f"# the largest message is {all_sizes[-1]} bytes, and the floor is valid from {floor_bytes} bytes")
        sys.exit(1)
    if bandwidth < floor:
        show(f"# the bus bandwidth is {bandwidth:.2f} GB/s, below {floor} GB/s")
        sys.exit(1)


if __name__ == "__main__":
    main()
