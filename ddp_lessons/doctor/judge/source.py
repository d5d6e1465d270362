"""Where lines stand in the reader's files: in which loops, under which conditions. It tells where to point, no more."""

import ast
import functools
from collections.abc import Iterator

JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)
LOOPS = (ast.For, ast.While, ast.AsyncFor)
Mark = tuple  # (kind, file, first line, branch); kind is "loop", "if" or "guard"


@functools.cache
def tree(file: str) -> ast.Module:
    """Return a file's syntax tree; an empty one, if it cannot be read."""
    try:
        with open(file, "rb") as source:
            return ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@functools.cache
def marks(file: str, line: int) -> frozenset[Mark]:
    """Return the loops and branches around a line, and the conditions before it that jump away from it."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, LOOPS) and covers(node.body, line):
            found.add(("loop", file, node.lineno, 0))
        for branch, body in branches(node):
            if covers(body, line):
                found.add(("if", file, node.lineno, branch))
        for body in bodies(node):
            if covers(body, line):
                found |= {("guard", file, one.lineno, 0) for one in body if is_guard(one) and one.end_lineno < line}
    return frozenset(found)


def around(trail: tuple) -> frozenset[Mark]:
    """Return the marks of all lines of a trail."""
    return frozenset().union(*(marks(file, line) for file, line in trail))


def loops(found: frozenset[Mark]) -> frozenset[Mark]:
    """Return those marks that are loops."""
    return frozenset(mark for mark in found if mark[0] == "loop")


def alternatives(one: frozenset[Mark], other: frozenset[Mark]) -> bool:
    """Tell whether two places are in different branches of one condition, so that a rank comes to one of them."""
    ifs, others = ({mark[1:3]: mark[3] for mark in marks if mark[0] == "if"} for marks in (one, other))
    guards = {mark[1:3] for mark in one ^ other if mark[0] == "guard"}  # one has jumped away, or has it yet to do
    return any(ifs[key] != others[key] for key in ifs.keys() & others.keys()) or bool(guards & (ifs | others).keys())


def conditional(one: frozenset[Mark], other: frozenset[Mark]) -> bool:
    """Tell whether the first place is under a condition that the second is not under."""
    return any(mark[0] != "loop" for mark in one - other)


def exits(left: frozenset[Mark], kinds: tuple = (ast.Break, ast.Return)) -> list[tuple[str, int]]:
    """Return the lines of the statements that leave loops before their end."""
    found = set()
    for _, file, first, _ in left:
        for node in ast.walk(tree(file)):
            if isinstance(node, LOOPS) and node.lineno == first:
                found |= {(file, one.lineno) for one in jumps(node.body) if isinstance(one, kinds)}
    return sorted(found)


def jumps(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the jumps of one loop: not the breaks of loops within it, nor what functions within it return."""
    for node in body:
        if isinstance(node, JUMPS):
            yield node
        for inner in bodies(node) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ():
            yield from (one for one in jumps(inner) if not isinstance(node, LOOPS) or isinstance(one, ast.Return))


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for one in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield one.body


def branches(node: ast.AST) -> Iterator[tuple[int, list[ast.AST]]]:
    """Yield the branches of a condition, numbered; what follows upon an `and` or `or` is one, too."""
    if isinstance(node, ast.BoolOp):
        yield 0, node.values[1:]
    elif isinstance(node, ast.IfExp):
        yield from enumerate([[node.body], [node.orelse]])
    elif isinstance(node, (ast.If, ast.Match, ast.Try)):
        yield from enumerate(block for block in bodies(node) if block)


def is_guard(node: ast.stmt) -> bool:
    """Tell a condition that may jump away from what follows."""
    return isinstance(node, ast.If) and any(isinstance(block[-1], JUMPS) for block in bodies(node))


def covers(body: list[ast.AST], line: int) -> bool:
    """Tell whether a line is within some statements."""
    return body[0].lineno <= line <= body[-1].end_lineno


def is_while(file: str, line: int) -> bool:
    """Tell whether a `while` begins at a line: its condition is what ends it."""
    return any(isinstance(node, ast.While) and node.lineno == line for node in ast.walk(tree(file)))
