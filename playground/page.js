// The page: choices, the two pictures in step, flows and the answer.
const SCHEMES = {
    dctcp: "DCTCP", pias: "PIAS", pfabric: "pFabric", "qc-las": "QCluster (LAS)", "qc-srpt": "QCluster (SRPT)",
    awafs: "AWAFS", nos2: "NOS2", homa: "Homa", sieve: "Sieve", las: "LAS", "fair-queueing": "Fair queueing",
};
const SIZES = { "web-search": "web search", "data-mining": "data mining", "fb-hadoop": "Hadoop", "fb-cache-follower": "cache", "fixed(200KB)": "200 KB each" };
const FABRICS = {
    switch: ["8 hosts, one switch", 'kind = "single-switch"\nhosts = 8\nhost_link = "10Gbps"'],
    leaves: ["two leaves, two spines", 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_link = "10Gbps"\nfabric_link = "20Gbps"'],
};
const CHOICES = [
    ["a", "Left", Object.entries(SCHEMES), "dctcp"],
    ["b", "Right", Object.entries(SCHEMES), "pias"],
    ["fabric", "Fabric", Object.entries(FABRICS).map(([name, [words]]) => [name, words]), "switch"],
    ["sizes", "Sizes", Object.entries(SIZES), "web-search"],
    ["load", "Load", [0.1, 0.95, 0.05], "0.7"],
    ["k", "K in KB", [15, 300, 7.5], "97.5"],
    ["buffer", "Buffer in KB", [60, 1200, 60], "360"],
    ["seed", "Seed", [1, 50, 1], "1"],
];
const FLOWS = 30; // of the pictures
const MANY = 400; // of the answer, for each of its seeds
const SEEDS = 5;
const ROWS = 400_000;
const MOST_HOPS = 40e6; // of a text: some ten seconds
const T95 = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

const $ = (id) => document.getElementById(id);
const state = {};
let sides = [];
let [now, playing, followed] = [0, false, null];
let asked = 0;

/** A worker with the engine in it; `ask` waits for its answer. */
class Engine {
    constructor() {
        this.waiting = new Map();
        this.number = 0;
        this.open();
    }
    open() {
        const source = $("worker").textContent;
        this.worker?.terminate();
        this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
        this.worker.onmessage = ({ data }) => {
            this.waiting.get(data.id)?.(data);
            this.waiting.delete(data.id);
            // A module that stopped stays as it was then: the next question gets a new one.
            if (data.stopped) this.open();
        };
        this.ready = this.ask("open", { module: Uint8Array.from(atob($("module").textContent.trim()), (of) => of.charCodeAt(0)) });
    }
    ask(what, more) {
        const id = ++this.number;
        return new Promise((done) => {
            this.waiting.set(id, done);
            this.worker.postMessage({ id, what, ...more });
        });
    }
}

function experiment(flows, seeds) {
    const { a, b, fabric, sizes, load, k, buffer, seed } = state;
    const schemes = a === b ? [a] : [a, b];
    return `title = "${SCHEMES[a]} and ${SCHEMES[b]}"

[topology]
${FABRICS[fabric][1]}

[workload]
sizes = "${sizes}"
load = ${load}
flows = ${flows}

[network]
buffer = "${buffer}KB"
ecn_threshold = "${k}KB"

[sweep]
scheme = ${JSON.stringify(schemes)}

[run]
seed = ${seed}
seeds = ${seeds}
`;
}

function choices() {
    const form = $("choices");
    const given = new URLSearchParams(location.hash.slice(1));
    for (const [name, words, of, usual] of CHOICES) {
        const label = document.createElement("label");
        const isList = Array.isArray(of[0]);
        const input = document.createElement(isList ? "select" : "input");
        if (isList) for (const [value, text] of of) input.add(new Option(text, value));
        else [input.type, input.min, input.max, input.step] = ["range", ...of];
        const wanted = given.get(name);
        input.value = wanted !== null && (!isList || of.some(([value]) => value === wanted)) ? wanted : usual;
        const value = document.createElement("output");
        const say = () => (value.textContent = isList ? "" : ` ${input.value}`);
        const title = document.createElement("span");
        title.append(words, value);
        label.append(title, input);
        form.append(label);
        state[name] = input.value;
        say();
        input.addEventListener("input", say);
        input.addEventListener("change", () => {
            state[name] = input.value;
            history.replaceState(null, "", `#${new URLSearchParams(state)}`);
            show(experiment(FLOWS, 1));
        });
    }
}

function refuse(words) {
    $("answer").textContent = words;
    pause();
}

/** Plans a text, traces its first two points, and computes the answer beside. */
async function show(text) {
    const mine = ++asked;
    pause();
    $("answer").textContent = "Simulating …";
    $("table").replaceChildren();
    await pictures.ready;
    const plan = await pictures.ask("plan", { text });
    if (mine !== asked) return;
    if (plan.error) return refuse(`This does not run: ${plan.error}`);
    const each = plan.packet_hops / Math.max(plan.runs.length, 1);
    if (each > MOST_HOPS) return refuse(`A run of it has ${Math.round(each / 1e6)} million packet-hops: about ${Math.round(each / 5e6)} s in a browser, and ${Math.max(1, Math.round(each / 25e6))} s at home: flowsieve run mine.toml`);
    const seed = plan.runs[0][1];
    const two = [0, Math.min(1, plan.points.length - 1)];
    const traces = [];
    for (const point of two) {
        const found = await pictures.ask("trace", { point, seed, rows: ROWS });
        if (mine !== asked) return;
        if (found.error) return refuse(`This does not run: ${found.error}`);
        traces.push({ ...read(found), isCut: found.rows === ROWS, label: SCHEMES[plan.points[point].scheme] ?? plan.points[point].label });
    }
    const own = text === experiment(FLOWS, 1);
    $("toml").value = own ? experiment(MANY, SEEDS) : text;
    $("warnings").replaceChildren(...plan.warnings.map((words) => Object.assign(document.createElement("p"), { textContent: `Note: ${words}` })));
    // The port where packets of the left side wait longest is enlarged on both.
    sides = traces.map((trace, at) => new Side(at, trace, traces[0].busiest));
    [now, followed] = [Math.max(0, fullest(traces[0]) - 400), null];
    listFlows();
    draw();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
    const isCut = traces.some((trace) => trace.isCut) ? ` The pictures show the first ${ROWS.toLocaleString("en")} packets on links alone.` : "";
    $("answer").textContent = `Play, or choose a flow to follow it.${isCut}`;
    answer(mine, text, plan);
}

async function answer(mine, text, plan) {
    const names = plan.points.map((point) => SCHEMES[point.scheme] ?? point.label);
    if (plan.points.length < 2) return ($("table").textContent = "One scheme: nothing to compare.");
    const own = text === experiment(FLOWS, 1);
    await answers.ready;
    const many = await answers.ask("plan", { text: own ? experiment(MANY, SEEDS) : text });
    if (mine !== asked) return;
    if (many.error) return ($("table").textContent = `No answer: ${many.error}`);
    const found = [[], []];
    const seeds = own ? Array.from({ length: SEEDS }, (_, at) => Number(state.seed) + at) : [...new Set(many.runs.map((run) => run[1]))];
    for (const seed of seeds) {
        for (const point of [0, 1]) {
            const run = await answers.ask("run", { point, seed });
            if (mine !== asked) return;
            if (run.error) return ($("table").textContent = `No answer: ${run.error}`);
            found[point].push(run.flows);
        }
        tell(names, found, seeds.length);
    }
}

const CLASSES = [["up to 100 KB", 0, 1e5], ["100 KB to 10 MB", 1e5, 1e7], ["above 10 MB", 1e7, Infinity], ["all", 0, Infinity]];

function tell(names, found, all) {
    const mean = (flows, from, to) => {
        const times = flows.filter(([bytes, , fct]) => bytes > from && bytes <= to && fct !== null).map((flow) => flow[2] / 1e6);
        return times.length > 0 ? times.reduce((one, other) => one + other, 0) / times.length : NaN;
    };
    const rows = CLASSES.map(([name, from, to]) => {
        const by = found.map((seeds) => seeds.map((flows) => mean(flows, from, to)));
        const pairs = by[1].map((time, seed) => Math.log(time / by[0][seed])).filter(Number.isFinite);
        const middle = pairs.reduce((one, other) => one + other, 0) / pairs.length;
        const square = pairs.reduce((sum, of) => sum + (of - middle) ** 2, 0) / (pairs.length - 1);
        const half = (T95[Math.min(pairs.length - 1, 9)] ?? 2) * Math.sqrt(square / pairs.length);
        const average = (of) => of.filter(Number.isFinite).reduce((one, other) => one + other, 0) / of.filter(Number.isFinite).length;
        return { name, times: by.map(average), ratio: Math.exp(middle), ends: pairs.length > 1 ? [Math.exp(middle - half), Math.exp(middle + half)] : null };
    });
    const number = (of) => (Number.isFinite(of) ? (of >= 100 ? of.toFixed(0) : of.toFixed(1)) : "–");
    const cells = rows.map(({ name, times, ratio, ends }) => [name, number(times[0]), number(times[1]), Number.isFinite(ratio) ? ratio.toFixed(2) : "–", ends ? `${ends[0].toFixed(2)} to ${ends[1].toFixed(2)}` : "–"]);
    $("seeds").textContent = `FCT by size: ${found[1].length} of ${all} seeds`;
    fill($("table"), ["mean FCT in us", names[0], names[1], "ratio", "95 %"], cells);
    const { ratio, ends } = rows[0];
    const per = (of) => `${Math.abs(100 * (1 - of)).toFixed(0)} %`;
    const seeds = found[1].length;
    if (!Number.isFinite(ratio)) return;
    const side = ratio < 1 ? "below" : "above";
    const told = ends && (ends[1] < 1 || ends[0] > 1);
    $("answer").textContent = `The mean FCT of flows up to 100 KB under ${names[1]} is ${per(ratio)} ${side} that under ${names[0]}` +
        (ends ? ` (${ends.map((of) => `${(100 * (of - 1)).toFixed(0)} %`).join(" to ")}, ${seeds} seeds)` : " (one seed)") + (ends && !told ? ": not told from none." : ".");
}

function fill(into, heads, rows) {
    const table = document.createElement("table");
    const row = (cells, of) => {
        const line = table.insertRow();
        for (const cell of cells) {
            const at = document.createElement(of);
            if (of === "th") at.scope = "col";
            at.append(cell);
            line.append(at);
        }
    };
    row(heads, "th");
    rows.forEach((cells) => row(cells, "td"));
    into.replaceChildren(table);
}

const size = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} KB` : `${bytes} B`);
const colour = (flow) => `hsl(${(flow * 137.5) % 360} 70% 50%)`;

function listFlows() {
    const [left, right] = sides.map((side) => side.trace.flows);
    const rows = left.map(([bytes, start, fct], flow) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = `flow ${flow}`;
        button.style.borderLeft = `12px solid ${colour(flow)}`;
        button.setAttribute("aria-pressed", "false");
        button.dataset.flow = flow;
        button.addEventListener("click", () => {
            if (followed !== flow) now = start / 1e6;
            follow(flow);
        });
        const us = (time) => (time === null || time === undefined ? "–" : `${(time / 1e6).toFixed(0)} us`);
        return [button, size(bytes), us(fct), us(right[flow]?.[2])];
    });
    fill($("flows"), ["flow", "size", "FCT left", "FCT right"], rows);
}

function play(on) {
    playing = on;
    $("play").textContent = on ? "Pause" : "Play";
}

const pause = () => play(false);

function follow(flow) {
    followed = followed === flow ? null : flow;
    for (const button of $("flows").querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.dataset.flow) === followed));
    draw();
}

const last = () => Math.max(...sides.map((side) => side.trace.last), 1);

function draw() {
    for (const side of sides) side.draw(now, followed);
    $("clock").textContent = `${now.toFixed(2)} us`;
    $("time").value = String((1000 * now) / last());
}

let before = 0;
function frame(at) {
    // A tab in the background gets no frames: the time stands still with it.
    const passed = Math.min(at - before, 100);
    before = at;
    if (playing && sides.length > 0) {
        now += (passed / 1000) * 10 ** (Number($("speed").value) / 25);
        if (now >= last()) pause();
        draw();
    }
    requestAnimationFrame(frame);
}

/** The next instant at which something happens, on either side: of any packet, or of the last byte of one. */
function next(of) {
    const times = sides.flatMap(({ trace }) => [trace.flights.map((one) => one.begin), trace.flights.map((one) => one.end)].flat());
    const later = (of === "packet" ? sides.flatMap(({ trace }) => trace.flights.filter((one) => one.kind < 2).map((one) => one.end)) : times).filter((time) => time > now + 1e-9);
    return later.length > 0 ? later.reduce((one, other) => Math.min(one, other)) : now;
}

function begin() {
    choices();
    $("play").addEventListener("click", () => {
        if (sides.length === 0) return;
        if (now >= last()) now = 0;
        play(!playing);
    });
    for (const of of ["event", "packet"]) {
        $(of).addEventListener("click", () => {
            pause();
            if (sides.length > 0) [now] = [next(of)];
            draw();
        });
    }
    $("time").addEventListener("input", () => {
        pause();
        now = (Number($("time").value) / 1000) * last();
        draw();
    });
    $("use").addEventListener("click", () => show($("toml").value));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", async (event) => {
        event.preventDefault();
        const file = event.dataTransfer.files[0];
        if (!file) return;
        if (file.size > 1e6) return refuse("The file is too large: at most a megabyte of an experiment's text.");
        show(await file.text());
    });
    addEventListener("resize", () => sides.length > 0 && draw());
    requestAnimationFrame(frame);
    show(experiment(FLOWS, 1));
}

let [pictures, answers] = [];
if (typeof WebAssembly === "undefined" || typeof Worker === "undefined" || typeof DecompressionStream === "undefined") {
    refuse("This browser has no WebAssembly, no workers or no DecompressionStream: the simulator cannot run in it.");
} else {
    [pictures, answers] = [new Engine(), new Engine()];
    begin();
}
