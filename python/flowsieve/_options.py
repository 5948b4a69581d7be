"""The options of calls. `make generate` writes this file from crates/flowsieve/src/options.rs."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from flowsieve._folders import PathLike
from flowsieve._option import Option


class MakeOptions(TypedDict, total=False):
    jobs: Annotated[
        int | None,
        Option("--jobs", None, "Runs at a time [default: the machine's cores]", takes="a whole number, 1 to 1024"),
    ]
    threads: Annotated[
        int | Literal["all"] | None,
        Option("--threads", None, "Threads a run, or `all` [default: spare cores]", takes="1 to 1024, or all"),
    ]
    guard: Annotated[
        bool,
        Option("--no-guard", True, "False: do not stop runs that take ten times the expected work, or in which acknowledgements have ceased"),
    ]
    fresh: Annotated[
        bool,
        Option("--fresh", False, "Run every point again, even if its results exist"),
    ]


class RunOptions(TypedDict, total=False):
    jobs: Annotated[
        int | None,
        Option("--jobs", None, "Runs at a time [default: the machine's cores]", takes="a whole number, 1 to 1024"),
    ]
    threads: Annotated[
        int | Literal["all"] | None,
        Option("--threads", None, "Threads a run, or `all` [default: spare cores]", takes="1 to 1024, or all"),
    ]
    guard: Annotated[
        bool,
        Option("--no-guard", True, "False: do not stop runs that take ten times the expected work, or in which acknowledgements have ceased"),
    ]
    fresh: Annotated[
        bool,
        Option("--fresh", False, "Run every point again, even if its results exist"),
    ]
    replace: Annotated[
        bool,
        Option("--replace", False, "Replace a result of another experiment, scale or settings in the folder"),
    ]


class JoinOptions(TypedDict, total=False):
    partial: Annotated[
        bool,
        Option("--partial", False, "Join without the runs that are missing; the result says so"),
    ]
    run_missing: Annotated[
        bool,
        Option("--run-missing", False, "Make the missing runs here"),
    ]
    jobs: Annotated[
        int | None,
        Option("--jobs", None, "Missing runs to make at a time [default: the machine's cores]", takes="a whole number, 1 to 1024"),
    ]
    replace: Annotated[
        bool,
        Option("--replace", False, "Replace a result of another experiment, scale or settings in the folder"),
    ]


class ChangeOptions(TypedDict, total=False):
    seeds: Annotated[
        int | None,
        Option("--seeds", None, "Seeds of each point, instead of the file's", takes="a whole number"),
    ]
    scale: Annotated[
        Literal["smoke", "quick", "paper"],
        Option("--scale", "paper", "How much of the experiment"),
    ]


class ReportOptions(TypedDict, total=False):
    x: Annotated[
        str | None,
        Option("--x", None, "The swept setting on the x axis of plots and in the first column of tables [default: the one with the most values]"),
    ]


class CompareOptions(TypedDict, total=False):
    vary: Annotated[
        str | None,
        Option("--vary", None, "Compare values of this swept setting instead of schemes"),
    ]
    class_: Annotated[
        str | None,
        Option("--class", None, "Compare only these flows: one size class, coflows, or a class of coflows [default: all]"),
    ]


class ExportOptions(TypedDict, total=False):
    what: Annotated[
        Literal["table", "figure", "flows"],
        Option("--what", "table", "What to export"),
    ]
    format: Annotated[
        Literal["csv", "latex", "svg", "pdf"] | None,
        Option("--format", None, "The format [default: svg for a figure, else csv]"),
    ]
    x: Annotated[
        str | None,
        Option("--x", None, "The swept setting of the rows or of the x axis; for a figure also `size` of flows, or `time` [default: the one with the most values]"),
    ]
    y: Annotated[
        str | None,
        Option("--y", None, "One measure: mean, p50, p95, p99 or p99.9, then fct, cct (of coflows) or slowdown; for a figure also \"mean fct ratio\", utilisation or drops; over time the name of a sampled series, such as goodput [default: all; for a figure mean fct, by size p99 slowdown]"),
    ]
    class_: Annotated[
        str | None,
        Option("--class", None, "One size class, coflows, or a class of coflows [default: all]"),
    ]
    at: Annotated[
        str | Sequence[str] | None,
        Option("--at", None, "Only where a swept setting has this value, such as load=0.8; may be repeated", many=True),
    ]
    columns: Annotated[
        int | None,
        Option("--columns", None, "Width of a LaTeX table or a figure, in columns of the page [default: 1]", takes="a whole number, 1 to 2"),
    ]
    safe_csv: Annotated[
        bool,
        Option("--safe-csv", False, "CSV for a spreadsheet: put an apostrophe before texts that begin with =, +, - or @, so that they are not formulas"),
    ]


class ModelOptions(TypedDict, total=False):
    load: Annotated[
        float | Sequence[float] | None,
        Option("--load", None, "Load of the host links; by the model several make a table [default: the file's; by the model 0.8]", many=True),
    ]
    load_from: Annotated[
        PathLike | None,
        Option("--load-from", None, "Take the load of the busiest minute from the counter of an interface: rows `seconds,octets` or, under a heading `time,bytes_per_second`, rates", takes="a path"),
    ]
    load_rate: Annotated[
        str | None,
        Option("--load-rate", None, "The rate of that interface"),
    ]
    queues: Annotated[
        int | str | None,
        Option("--queues", None, "Numbers of queues to try; by the model their number [default: 2..8; by the model 8, and 2 for --method two-level]", takes="numbers such as 2..8, or one"),
    ]
    marking: Annotated[
        Literal["port", "queue"] | Sequence[Literal["port", "queue"]] | None,
        Option("--marking", None, "What ports compare with their marking threshold: a queue's length, as commodity switches do, a port's, or both [default: queue,port; with --ports or by the model queue]", many=True),
    ]
    flows: Annotated[
        int | None,
        Option("--flows", None, "Flows of a run, at least 100 in the search [default: as many as take some seconds; 2000 with --method simulate]", takes="a whole number, 1 to 10000000"),
    ]
    jobs: Annotated[
        int | None,
        Option("--jobs", None, "Runs at a time [default: the machine's cores]", takes="a whole number, 1 to 1024"),
    ]
    method: Annotated[
        Literal["equal-split", "pias", "background", "two-level", "published", "simulate"] | None,
        Option("--method", None, "How the model's thresholds are chosen [default: all methods next to each other, with a recommendation]"),
    ]
    rate: Annotated[
        str | Sequence[str] | None,
        Option("--rate", None, "Rate of the host links, then further rates that need an ECN threshold [default: 10Gbps]", many=True),
    ]
    rtt: Annotated[
        str | None,
        Option("--rtt", None, "Round trip without queues, for ECN thresholds and simulation [default: 80us]"),
    ]
    evaluations: Annotated[
        int | None,
        Option("--evaluations", None, "With --method simulate: most sets of thresholds to run, not counting the final runs with other flows [default: 100]", takes="a whole number, 1 to 100000"),
    ]


class TuneOptions(TypedDict, total=False):
    load: Annotated[
        float | Sequence[float] | None,
        Option("--load", None, "Load of the host links; by the model several make a table [default: the file's; by the model 0.8]", many=True),
    ]
    load_from: Annotated[
        PathLike | None,
        Option("--load-from", None, "Take the load of the busiest minute from the counter of an interface: rows `seconds,octets` or, under a heading `time,bytes_per_second`, rates", takes="a path"),
    ]
    load_rate: Annotated[
        str | None,
        Option("--load-rate", None, "The rate of that interface"),
    ]
    queues: Annotated[
        int | str | None,
        Option("--queues", None, "Numbers of queues to try; by the model their number [default: 2..8; by the model 8, and 2 for --method two-level]", takes="numbers such as 2..8, or one"),
    ]
    marking: Annotated[
        Literal["port", "queue"] | Sequence[Literal["port", "queue"]] | None,
        Option("--marking", None, "What ports compare with their marking threshold: a queue's length, as commodity switches do, a port's, or both [default: queue,port; with --ports or by the model queue]", many=True),
    ]
    flows: Annotated[
        int | None,
        Option("--flows", None, "Flows of a run, at least 100 in the search [default: as many as take some seconds; 2000 with --method simulate]", takes="a whole number, 1 to 10000000"),
    ]
    jobs: Annotated[
        int | None,
        Option("--jobs", None, "Runs at a time [default: the machine's cores]", takes="a whole number, 1 to 1024"),
    ]
    programmable: Annotated[
        bool,
        Option("--programmable", False, "Also try what needs programmable switches: QCluster"),
    ]
    counting: Annotated[
        bool,
        Option("--counting", False, "Also try switches that put the first packets of a connection into a higher queue by themselves, as Cisco's Dynamic Packet Prioritization does"),
    ]
    hosts_stay: Annotated[
        bool,
        Option("--hosts-stay", False, "Hosts go on sending as the file says, and ports marking: only queues are searched for"),
    ]
    unmarked: Annotated[
        str,
        Option("--unmarked", "top", "The queue of hosts that do not tag, on the way to all: top, lowest, or its number, 0 being served first"),
    ]
    at_most: Annotated[
        float | None,
        Option("--at-most", None, "Say so if the longest flows of hosts that tag may lose more than this share, such as 0.2"),
    ]
    seeds: Annotated[
        int | None,
        Option("--seeds", None, "Seeds of each candidate that is run whole, and as many others for the chosen one; instead of a budget, for the same answer every time", takes="a whole number"),
    ]
    budget: Annotated[
        str | None,
        Option("--budget", None, "Time for the whole search [default: 10m, or twice what the least answer takes if that is more]"),
    ]
    ports: Annotated[
        str | Sequence[str] | None,
        Option("--ports", None, "Write configuration for these ports, once for each system: names with speeds, or a file that the system writes: config_db.json, `show interfaces status`, or `ip -j link` as FILE=RATE", many=True),
    ]
    queues_of_port: Annotated[
        int | Sequence[int] | None,
        Option("--queues-of-port", None, "Queues of a port that may be used, by the switch's numbers [default: 0 to 7; for SONiC 0 to 6 without the lossless 3 and 4]", takes="a whole number, 0 to 255", many=True),
    ]
    keep: Annotated[
        str | Sequence[str] | None,
        Option("--keep", None, "Keep these DSCPs in this queue, above the data: lossless traffic such as 24,26=3, or UDP and tunnels by their outer DSCP [default: 46,48,56 in the highest that is free, and on SONiC 3 in 3 and 4 in 4]", many=True),
    ]
    lossless: Annotated[
        str,
        Option("--lossless", "above", "SONiC's lossless queues 3 and 4: above the data, behind it where its queues are higher, or none, as PFC is off"),
    ]
    wred: Annotated[
        bool,
        Option("--no-wred", True, "False: leave SONiC's wred_*_enable false, so that packets without ECN are not dropped at K; some chips then mark nothing"),
    ]
    replace: Annotated[
        bool,
        Option("--replace", False, "Replace what is in the folder: a recommendation for another question, or configuration"),
    ]


GROUPS: tuple[type, ...] = (MakeOptions, RunOptions, JoinOptions, ChangeOptions, ReportOptions, CompareOptions, ExportOptions, ModelOptions, TuneOptions)
