// What may be chosen, and the experiment that it makes: the command runs the same text.

/** By name: what the page calls it, which settings it reads, and what its table says. */
const SCHEMES = {
    fifo: { name: "TCP, one queue", reads: ["buffer"], table: 'base = "dctcp"\ntransport = "tcp"\nmarking = "none"' },
    dctcp: { name: "DCTCP", reads: ["buffer", "k"] },
    pias: { name: "PIAS", reads: ["buffer", "k", "queues", "first"] },
    pfabric: { name: "pFabric", reads: [] }, // with a pool of its own
    qclimb: { name: "QCLIMB", reads: ["buffer", "k", "queues", "first"], bounds: true },
    "qc-las": { name: "QCluster (LAS)", reads: ["buffer", "k", "queues"] },
    "qc-srpt": { name: "QCluster (SRPT)", reads: ["buffer", "k", "queues"] },
    awafs: { name: "AWAFS", reads: ["buffer", "k", "queues", "first"] },
    nos2: { name: "NOS2", reads: ["buffer", "k"] },
    homa: { name: "Homa", reads: ["buffer", "queues"] },
    sieve: { name: "Sieve", reads: ["k", "queues", "first"] },
    "fair-queueing": { name: "fair queueing", reads: ["buffer", "k"] },
    "pcoflow-ecn": { name: "pCoflow", reads: ["buffer", "k", "queues"], coflows: true },
    sincronia: { name: "Sincronia", reads: ["buffer", "queues"], coflows: true },
    aalo: { name: "Aalo", reads: ["buffer"], coflows: true },
};

/** What is sent: the flows of a picture, those of each seed of the table, and the lines of [workload]. */
const drawn = (name, sizes) => ({ name, flows: 30, many: 400, lines: (flows) => `sizes = "${sizes}"\nload = ${state.load}\nflows = ${flows}` });
const TRAFFIC = {
    "web-search": drawn("web search", "web-search"),
    "data-mining": drawn("data mining", "data-mining"),
    "fb-hadoop": drawn("Hadoop", "fb-hadoop"),
    "fb-cache-follower": drawn("cache", "fb-cache-follower"),
    fixed: drawn("200 KB each", "fixed(200KB)"),
    three: { name: "three flows", lines: () => 'list = "built-in:/three-flows.csv"', isListed: true },
    shuffles: {
        name: "shuffles (coflows)", flows: 12, many: 80, coflows: true,
        lines: (coflows) => `coflows = "built-in:/shuffles.txt"\ncoflow_hosts = "random"\ngenerated_coflows = ${coflows}\nmost_flows = 12\nflow_cap = "1MB"\nload = ${state.load}`,
    },
};

const FABRICS = {
    switch: ["8 hosts, one switch", 'kind = "single-switch"\nhosts = 8\nhost_link = "10Gbps"'],
    leaves: ["two leaves, two spines", 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_link = "10Gbps"\nfabric_link = "20Gbps"'],
};
/** The three flows have their own: senders that are four times as quick as the port. */
const QUICK_SENDERS = 'kind = "single-switch"\nhosts = 4\nhost_link = "40Gbps"\n\n[[topology.link]]\nbetween = ["host0", "switch0"]\nrate = "10Gbps"';

const SEEDS = 5;

/** What is chosen: its name, the words for it, the values or the range, and the value at first. */
const CHOICES = [
    ["a", "Left", Object.entries(SCHEMES).map(([of, { name }]) => [of, name]), "dctcp"],
    ["b", "Right", Object.entries(SCHEMES).map(([of, { name }]) => [of, name]), "pias"],
    ["traffic", "Traffic", Object.entries(TRAFFIC).map(([of, { name }]) => [of, name]), "web-search"],
    ["fabric", "Fabric", Object.entries(FABRICS).map(([of, [words]]) => [of, words]), "switch"],
    ["load", "Load", [0.1, 0.99, 0.01], "0.7"],
    ["queues", "Queues", [2, 8, 1], "8"],
    ["first", "First threshold", [["own", "the scheme's"], ["5KB", "5 KB"], ["10KB", "10 KB"], ["20KB", "20 KB"], ["50KB", "50 KB"], ["100KB", "100 KB"], ["500KB", "500 KB"]], "own"],
    ["k", "K in KB", [7.5, 300, 7.5], "97.5"],
    ["buffer", "Buffer in KB", [60, 1200, 60], "360"],
    ["seed", "Seed", [1, 50, 1], "1"],
];
const state = {};

/** The schemes that are shown; one, where both sides have the same. */
const chosen = () => (state.a === state.b ? [state.a] : [state.a, state.b]);

/** Why a choice has no effect now; empty if it has one. */
function idle(choice) {
    const { isListed } = TRAFFIC[state.traffic];
    if (isListed && ["fabric", "load", "seed"].includes(choice)) return "The three flows have a fabric and times of their own.";
    if (["queues", "first", "k", "buffer"].includes(choice) && !chosen().some((of) => SCHEMES[of].reads.includes(choice))) {
        return `${chosen().map((of) => SCHEMES[of].name).join(" and ")}: nothing reads this.`;
    }
    return "";
}

/** Thresholds from the first, each four times the one before. */
function thresholds() {
    const first = Number.parseInt(state.first, 10);
    return Array.from({ length: state.queues - 1 }, (_, at) => `"${first * 4 ** at}KB"`).join(", ");
}

/** A scheme with the settings that it reads, so that each keeps its own where it reads none. */
function table(of) {
    const { reads, table, bounds } = SCHEMES[of];
    const { buffer, k, queues, first } = state;
    const lines = table ? [table] : [];
    if (reads.includes("buffer")) lines.push(`buffer = "${buffer}KB"`);
    if (reads.includes("k")) lines.push(`ecn_threshold = "${k}KB"`);
    if (reads.includes("queues")) lines.push(`queues = ${queues}`);
    if (reads.includes("first") && first !== "own") lines.push(`thresholds = [${thresholds()}]`);
    if (bounds && !TRAFFIC[state.traffic].isListed) lines.push('bounds = "law"');
    return lines.length > 0 ? `\n[schemes.${of}]\n${lines.join("\n")}\n` : "";
}

/** The text for the pictures, or with `many` flows and several seeds for the table. */
function experiment(many) {
    const { a, b, traffic, fabric, seed } = state;
    const { flows, many: all, lines, isListed } = TRAFFIC[traffic];
    return `title = "${SCHEMES[a].name} and ${SCHEMES[b].name}"

[topology]
${isListed ? QUICK_SENDERS : FABRICS[fabric][1]}

[workload]
${lines(many ? all : flows)}

[sweep]
scheme = ${JSON.stringify(chosen())}
${chosen().map(table).join("")}
[run]
seed = ${isListed ? 1 : seed}
seeds = ${many && !isListed ? SEEDS : 1}
${isListed ? 'fct_end = "arrival"\n' : ""}`;
}

/** The settings as controls; those that nothing reads are grey, and say why. */
function makeChoices(changed) {
    const form = $("choices");
    const given = new URLSearchParams(location.hash.slice(1));
    const grey = [];
    for (const [name, words, of, usual] of CHOICES) {
        const label = document.createElement("label");
        const isList = Array.isArray(of[0]);
        const input = document.createElement(isList ? "select" : "input");
        input.id = `choice-${name}`;
        if (isList) for (const [value, text] of of) input.add(new Option(text, value));
        else [input.type, input.min, input.max, input.step] = ["range", ...of];
        const wanted = given.get(name);
        const fits = isList ? of.some(([value]) => value === wanted) : wanted?.trim() && Number.isFinite(Number(wanted));
        input.value = fits ? wanted : usual;
        const value = document.createElement("output");
        const title = document.createElement("span");
        title.append(words, value);
        label.append(title, input);
        form.append(label);
        state[name] = input.value;
        const say = () => (value.textContent = isList ? "" : ` ${input.value}`);
        say();
        grey.push(() => {
            // Coflows can be ordered where there are some.
            if (SCHEMES[state[name]]?.coflows && !TRAFFIC[state.traffic].coflows) input.value = state[name] = usual;
            const why = idle(name);
            [input.disabled, label.title] = [why !== "", why];
            if (name === "a" || name === "b") for (const option of input.options) option.disabled = Boolean(SCHEMES[option.value].coflows) && !TRAFFIC[state.traffic].coflows;
        });
        input.addEventListener("input", say);
        input.addEventListener("change", () => {
            state[name] = input.value;
            grey.forEach((update) => update());
            // Only what differs from the first values: short, and an address of an older page goes on to work.
            const differs = CHOICES.filter(([of, , , usual]) => state[of] !== usual).map(([of]) => [of, state[of]]);
            history.replaceState(null, "", `#${new URLSearchParams(differs)}`);
            changed();
        });
    }
    grey.forEach((update) => update());
}
