#!/usr/bin/python3
"""How long would a fit take on so many nodes? A model on paper: nothing of it was measured beyond one machine. docs/appendix/scaling_model.md prints its tables.

    bench/nodes.py                      the tables, as markdown
    bench/nodes.py --set flops=1e12     with another input
    bench/nodes.py --check docs/appendix/scaling_model.md     whether the page has what this prints

Every stage is the work of a node, or what the network or the file system can carry, at the rates of INPUTS; stages follow each other.
"""
import sys

# name: value, unit, measured (and where) or assumed, what it is
INPUTS = {
    "flops": (2.5e12, "flop/s", "assumed", "of a node of 64 cores in float32 products with k = P + 10 columns, 40 % of its peak; half of it in double"),
    "network": (8e9, "B/s", "assumed", "that a node sends and receives, all nodes at once"),
    "files": (100e9, "B/s", "assumed", "of the file system, all nodes together"),
    "node_read": (2e9, "B/s", "assumed", "that a node reads and unpacks"),
    "opens": (20000, "1/s", "assumed", "files opened by all nodes together"),
    "write": (0.9e9, "B/s", "assumed", "of one process that writes the model"),
    "latency": (2e-5, "s", "assumed", "of a message, log2 R of which a meeting takes"),
    "calls": (210, "", "measured", "operations between ranks: 208 at 6000 x 8192 from an array, 4 ranks (bench/ranks.py)"),
    "eigen": (5.9, "s", "measured, prototype", "the 12 eigenproblems of the deviance on one thread, N = 10,000; dealt to ranks"),
    "search": (2.1e-4, "s per participant", "measured, prototype", "search on one thread, 1.1 to 1.4 s at N = 6000, P = 20; the first rank's alone"),
    "search_gain": (8, "", "assumed", "what 64 cores bring in it"),
    "P": (100, "", "assumed", "components"),
    "S": (2000, "", "of the program", "participants of the reference"),
    "K": (128, "", "of the program", "directions of the deviance"),
    "m": (157, "", "measured, prototype", "rank of R0 that gives 1e-12 for a smooth effect of age and sites"),
}
SHAPES = ((50_000, 230_000), (500_000, 230_000), (50_000, 2_000_000), (500_000, 2_000_000))
NODES = (1, 8, 32, 64, 128, 1000)
STAGES = ("read", "exchange", "basis", "sums", "search", "reference", "write")


def model_bytes(v, T):
    return 8 * T * (v["P"] + 2 * v["K"] + 6)


def evaluation(v, P):
    """Flops of an evaluation for each person, but for a factor."""
    return 2 * v["m"] ** 2 + 8 * v["m"] * P


def stages(v, N, T, R):
    k, others = v["P"] + 10, 1 - 1 / R
    bytes_y = 4 * N * T
    passes = 2 * (2 + 4 + 4)  # two bases; sketch, power, last
    deviance = 8 * v["S"] * v["P"] * T + 40 * v["S"] * T + 2 * 2 * v["S"] ** 2 * T + 7.4e6 * T
    return {
        "read": max(bytes_y / (R * v["node_read"]), bytes_y / v["files"], N / v["opens"]),
        "exchange": 2 * bytes_y / R * others / v["network"],
        "basis": passes * N * T * k / (R * v["flops"]) + 2 * 12 * N * k**2 / (v["flops"] / 2),
        "sums": (6 * 8 * N * k + 2 * 2 * 8 * v["S"] ** 2 + model_bytes(v, T)) * 2 * others / v["network"]
        + v["calls"] * v["latency"] * (R - 1).bit_length(),
        "search": v["search"] * N * evaluation(v, v["P"]) / evaluation(v, 20) / v["search_gain"],
        "reference": deviance / (R * v["flops"] / 2) + v["eigen"] / min(12, R),
        "write": model_bytes(v, T) / v["write"],
    }


def held(v, N, T, R):
    """Bytes of a rank: its responses, three N x k, R0's factor, and what every rank has for every response."""
    return 4 * N * T / R + 24 * N * (v["P"] + 10) + 8 * v["m"] * N + model_bytes(v, T) + 8 * v["S"] * T / R


def rounded(x):
    return f"{x:.0f}" if x >= 9.5 else f"{x:.1f}"


def page(v):
    lines = ["| input | value | | what |", "|---|--:|---|---|"]
    for name, (_, unit, how, what) in INPUTS.items():
        value = f"{v[name]:g} {unit}".strip()
        lines.append(f"| `{name}` | {value} | {how} | {what} |")
    shapes = " | ".join(f"{N:,} x {T:,}" for N, T in SHAPES)
    lines += ["", "Seconds of a fit:", "", f"| nodes | {shapes} | of the last: {', '.join(STAGES)} | GB a rank |", "|--:|" + "--:|" * len(SHAPES) + "---|--:|"]
    for R in NODES:
        each = [stages(v, N, T, R) for N, T in SHAPES]
        parts = ", ".join(rounded(x) for x in each[-1].values())
        totals = " | ".join(rounded(sum(e.values())) for e in each)
        lines.append(f"| {R} | {totals} | {parts} | {rounded(held(v, *SHAPES[-1], R) / 1e9)} |")
    return "\n".join(lines) + "\n"


def main():
    v = {name: row[0] for name, row in INPUTS.items()}
    words = sys.argv[1:]
    while len(words) >= 2 and words[0] == "--set":
        name, _, value = words[1].partition("=")
        if name not in v:
            sys.exit(f"nodes.py: there is no input {name}, expected one of {', '.join(v)}")
        v[name] = float(value)
        words = words[2:]
    text = page(v)
    if len(words) == 2 and words[0] == "--check":
        with open(words[1], encoding="utf-8") as f:
            if text not in f.read():
                sys.exit(f"{words[1]}: its tables are not what bench/nodes.py prints")
    elif words:
        sys.exit(__doc__)
    else:
        print(text, end="")


main()
