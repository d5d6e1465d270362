"""Kind 6: how ranks are launched, what they are told, what all of them print, and how they end."""

from collections.abc import Iterator

from ddp_lessons.doctor.finding import Code, Finding, place_of
from ddp_lessons.doctor.journal import Run
from ddp_lessons.doctor.judge import printing

RANKS, DDP = "lesson2_ranks", "lesson4_ddp"
CODES = {
    "DDP601": Code("fault", "the group is not destroyed", "end with dist.destroy_process_group()", RANKS),
    "DDP602": Code(
        "fault", "address or port are in the script", "leave them to torchrun, which picks a free port", RANKS
    ),
    "DDP603": Code("fault", "a text is compared with a number", 'compare a number: int(os.environ["RANK"])', RANKS),
    "DDP605": Code(
        "fault", "an old launcher's option", 'read int(os.environ["LOCAL_RANK"]) and use torchrun', "article_revisited"
    ),
    "DDP606": Code("fault", "nothing joins the ranks", "call init_process_group, and wrap the model with DDP", RANKS),
} | printing.CODES
NEAR = 16  # ports next to the launcher's, as in int(os.environ["MASTER_PORT"]) + 1, are not made up


def judge(run: Run) -> Iterator[Finding]:
    """Yield what is found."""
    if unfit(run):
        return
    texts = list(compared(run))
    alone = [] if texts else list(never_joined(run))
    yield from [*texts, *addresses(run), *local_rank(run), *alone, *not_destroyed(run)]
    if not alone:
        yield from printing.judge(run)


def unfit(run: Run) -> str:
    """Say why a script cannot be looked at, if it ended for that; it may have found another way."""
    ended = {rank for rank, end in run.all("end") if str(end.get("error")).startswith("Unfit")}
    return next((event["why"] for rank, event in run.all("unfit") if rank in ended or "pid" in event), "")



def compared(run: Run) -> Iterator[Finding]:
    """Yield a finding for each line on which a rank's text is compared with the number that it stands for."""
    seen = set()
    for rank, event in run.all("compared"):
        if place_of(event) not in seen:
            seen.add(place_of(event))
            text = f'on rank {rank}, {event["name"]} is the text "{event["value"]}"'
            text += f", which does not equal the number {event['other']}"
            yield Finding("DDP603", text, place_of(event))


def addresses(run: Run) -> Iterator[Finding]:
    """Yield a finding where the script says itself where ranks meet: at the port rather than at the host."""
    given = dict(run.all("launch"))
    found = {}
    for rank, event in run.all("overwritten", "init", "address"):
        written, place = own_address(event, given.get(rank, {})), place_of(event)
        if written and (place not in found or (found[place][1] and not written[1])):  # a line may do both: the worse
            found[place] = written
    if list(run.all("chosen")):
        return
    if ports := {place: text for place, (text, grade) in found.items() if not grade}:
        place, text = next(iter(ports.items()))
        text += ": a second run on this machine, or another launcher, fails or hangs"
        yield Finding("DDP602", text + ("; for this the ranks never met" if never_met(run) else ""), place)
    elif found:
        place, (text, grade) = next(iter(found.items()))
        yield Finding("DDP602", f"{text}: on several machines it is another's", place, grade)


def never_met(run: Run) -> bool:
    """Tell whether no rank came out of `init_process_group`: it hung, or failed for the network."""
    calls = [(rank, event["number"]) for rank, event in run.all("call") if event["name"] == "init_process_group"]
    errors = {(rank, event["number"]): event.get("error", "") for rank, event in run.all("done")}
    late = [errors[call].startswith("Dist") if call in errors else bool(run.hang) for call in calls]
    return any(late) and not list(run.all("initialized"))


def own_address(event: dict, launch: dict) -> tuple[str, str] | None:
    """Return what an event says of an address that the script makes up, and the grade; None if it makes up none."""
    port = launch.get("port", "")
    if event["what"] == "overwritten":
        if event["name"] == "MASTER_ADDR":
            return f'MASTER_ADDR is set to "{event["value"]}", over the launcher\'s', "suspect"
        made_up, what = event["value"], "MASTER_PORT is set to"
    elif event["what"] == "init":
        if not str(event["method"]).startswith("tcp://"):
            return None
        made_up, what = event["method"].rpartition(":")[2].split("?")[0].strip("/"), "init_method has the port"
    else:
        made_up, what = str(event["port"]), "a store is made on port"
    near = made_up.isdecimal() and port.isdecimal() and abs(int(made_up) - int(port)) <= NEAR
    if near or made_up == "0" or made_up in launch.get("numbers", ()):
        return None
    return f"{what} {made_up}, and the launcher chose {port}", ""


def local_rank(run: Run) -> Iterator[Finding]:
    """Yield a finding where a script is told its number by an old launcher's option only."""
    options = [event for _, event in run.all("option")]
    spellings = {spelling for event in options for spelling in event["spellings"]}
    if len(spellings) != 1 or list(run.all("told")) or all(event["default"] == event["rank"] for event in options):
        return
    old = spellings == {"--local_rank"}
    torchrun = "torchrun passes no such option, only LOCAL_RANK in the environment"
    now = " and torch.distributed.launch passes --local-rank, which is not understood" if old else ""
    text = f"the script reads its number from {spellings.pop()}: {torchrun}{now} (it was supplied here)"
    yield Finding("DDP605", text, place_of(options[0]), "" if old else "suspect")


def never_joined(run: Run) -> Iterator[Finding]:
    """Yield a finding if no rank ever calls torch.distributed, and yet each trains."""
    if list(run.all("init", "wrap", "call")) or not all(run.ranks.values()):
        return
    trained = next((event for what in ("step", "backward") for _, event in run.all(what)), None)
    if trained:
        text = "each rank trained alone on everything: the script never joins them"
        yield Finding("DDP606", text, place_of(trained))
    elif all(ended_well(end) for _, end in run.all("end")):
        yield Finding("DDP606", "the script never calls torch.distributed: there was nothing to look at", None, "note")


def ended_well(end: dict) -> bool:
    """Tell whether a rank came to the end of the script, without an error."""
    return end["how"] == "done" or (end["how"] == "exit" and not end["code"])


def not_destroyed(run: Run) -> Iterator[Finding]:
    """Yield a finding if ranks that came to the end of the script left the group open."""
    ends = [event for _, event in run.all("end")]
    good = all(map(ended_well, ends))
    ranks = [rank for rank, event in run.all("left") if event["joined"]]
    if run.hang or not good or len(ends) < len(run.ranks) or not ranks:
        return
    init = next((event for _, event in run.all("init")), {})
    who = "every rank" if len(ranks) == len(run.ranks) else f"rank {', '.join(map(str, ranks))}"
    text = f"{who} ended without leaving the process group: a rank that ends later may then fail"
    yield Finding("DDP601", text, place_of(init))
