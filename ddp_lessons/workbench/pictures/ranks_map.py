"""Who is who on many machines, and how each is started."""

import textwrap

from ddp_lessons.running.torchrun import ADDRESS, PORT, torchrun_command, torchrun_environment
from ddp_lessons.workbench.pictures.picture import INK, PAPER, Picture, box, color_of, slider, text

CARD, MACHINE, LEFT = 80, 46, 96  # pixels: from card to card, from machine to machine, where cards begin
BELOW = 4 * MACHINE + 26  # where the words about the picked rank begin, however many machines there are
SCRIPT = "scripts/lesson2_ranks.py"
SHOWN = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"]
SHOWN += ["GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]


class RanksMap(Picture):
    """All ranks on their machines; pick one to see its environment, and the command that starts its machine."""

    def __init__(self, machines: int = 2, cards: int = 4, rank: int = 0):
        super().__init__(
            machines=slider("machines", 1, 4, machines),
            cards=slider("cards", 1, 8, cards),
            rank=slider("rank", 0, machines * cards - 1, rank),
        )

    def limits(self, machines: int, cards: int, rank: int) -> dict[str, int]:
        """Return the highest rank there is."""
        return {"rank": machines * cards - 1}

    def draw(self, machines: int, cards: int, rank: int) -> tuple[list[str], str]:
        """Ask what torchrun would set and be told; return the map with that below it, and the same in words."""
        ranks = range(machines * cards)
        environments = [environment_of(r, machines, cards) for r in ranks]
        machine = int(environments[rank]["GROUP_RANK"])
        command = " ".join([*torchrun_command(cards, machines, machine), SCRIPT])
        shapes = [box(4, 4 + m * MACHINE, LEFT + cards * CARD, MACHINE - 6, line=INK) for m in range(machines)]
        shapes += [text(14, 28 + m * MACHINE, f"machine {m}") for m in range(machines)]
        shapes += [shape for r in ranks for shape in draw_card(environments[r], picked=r == rank)]
        shapes += draw_environment(environments[rank]) + draw_command(machine, command)
        named = ", ".join(f"{name}={value}" for name, value in environments[rank].items())
        said = f"Rank {rank} of {len(ranks)}: machine {machine}, local rank {environments[rank]['LOCAL_RANK']}. "
        return shapes, f"{said}Its environment: {named}. The command on machine {machine}: {command}"


def environment_of(rank: int, machines: int, cards: int) -> dict[str, str]:
    """Return the variables of a rank that the map shows."""
    address, port = (ADDRESS, PORT) if machines > 1 else ("localhost", "a free one")  # torchrun takes it by itself
    environment = torchrun_environment(rank, cards, port, machines, address)
    return {name: environment[name] for name in SHOWN}


def draw_card(environment: dict[str, str], picked: bool) -> list[str]:
    """Return a card with its rank and local rank; the picked one has a thick frame and a pointer."""
    x = LEFT + int(environment["LOCAL_RANK"]) * CARD
    y = 8 + int(environment["GROUP_RANK"]) * MACHINE
    color, ink = color_of(int(environment["RANK"]))
    name = f"{'▶ ' * picked}rank {environment['RANK']}"
    shapes = [box(x, y, CARD - 6, MACHINE - 14, color, PAPER, thick=picked)]
    shapes.append(text(x + CARD / 2 - 3, y + 14, name, ink, "middle"))
    return [*shapes, text(x + CARD / 2 - 3, y + 27, f"local rank {environment['LOCAL_RANK']}", ink, "middle", 11)]


def draw_environment(environment: dict[str, str]) -> list[str]:
    """Return the variables, in two columns."""
    shapes = [text(8, BELOW, f"▶ rank {environment['RANK']} finds in its environment")]
    for place, (name, value) in enumerate(environment.items()):
        x, y = 24 + 300 * (place // 4), BELOW + 18 + 16 * (place % 4)
        shapes += [text(x, y, name), text(x + 145, y, f"= {value}")]
    return shapes


def draw_command(machine: int, command: str) -> list[str]:
    """Return the command, in lines that fit."""
    shapes = [text(8, BELOW + 88, f"machine {machine} is started with")]
    return shapes + [text(24, BELOW + 104 + 16 * place, line) for place, line in enumerate(textwrap.wrap(command, 110))]
