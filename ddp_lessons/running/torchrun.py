"""What `torchrun` is told, and what it tells each rank: on one machine, or on each of many."""

import os

ADDRESS, PORT = "ADDRESS_OF_MACHINE_0", 29500  # the port is PyTorch's own choice, where several machines meet


def torchrun_command(
    cards: int, machines: int = 1, machine: int = 0, address: str = ADDRESS, port: int = PORT
) -> list[str]:
    """Return the command that starts one of the machines, a rank for each card; the script comes after it."""
    if machines == 1:
        return f"torchrun --standalone --nproc-per-node {cards}".split()
    meet = f"--master-addr {address} --master-port {port}"
    return f"torchrun --nnodes {machines} --node-rank {machine} --nproc-per-node {cards} {meet}".split()


def torchrun_environment(
    rank: int, cards: int, port: int | str, machines: int = 1, address: str = "127.0.0.1"
) -> dict[str, str]:
    """Return the variables that torchrun would set for this rank, on machines that have so many cards each."""
    machine, local_rank = divmod(rank, cards)
    ours = {"RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": machines * cards, "LOCAL_WORLD_SIZE": cards}
    ours |= {"GROUP_RANK": machine, "GROUP_WORLD_SIZE": machines, "MASTER_ADDR": address, "MASTER_PORT": port}
    if cards > 1 and "OMP_NUM_THREADS" not in os.environ:
        ours["OMP_NUM_THREADS"] = 1  # or the ranks' threads fight over the cores
    return {name: str(value) for name, value in ours.items()}
