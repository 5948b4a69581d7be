// The page: the two pictures in step, the flows, and what was asked for.
const ROWS = 400_000;
const MOST_HOPS = 40e6; // of a run: some ten seconds
/** A longer list holds the page up, and is not read. */
const MOST_LISTED = 500;
const HOPS_A_SECOND = { here: 5e6, command: 25e6 };
/** From here on the queue of the enlarged port is seen to grow, in us. */
const BEFORE_FULLEST = 400;

const $ = (id) => document.getElementById(id);
let sides = [];
let [now, playing, followed] = [0, false, null];
let asked = 0;
/** Whether what is shown is a text of one's own, and whether that has been changed since it was shown. */
let [isOwn, isEdited] = [false, false];

/** In a text of one's own names are the text's, whatever they are here. */
const nameOf = ({ scheme, label }) => (isOwn ? label : SCHEMES[scheme].name);
const last = () => Math.max(...sides.map((side) => side.trace.last), 1);
/** In us of the run for a second of the reader's. */
const speed = () => 10 ** (Number($("speed").value) / 25);

/** Says why nothing is shown, and shows nothing. */
function refuse(words) {
    asked++;
    play(false);
    $("answer").textContent = words;
    sides = [];
    for (const at of [0, 1]) {
        paper($(`canvas-${at}`));
        $(`name-${at}`).textContent = $(`said-${at}`).textContent = "";
    }
    for (const of of ["flows", "warnings", "table", "port"]) $(of).replaceChildren();
}

/** Why a plan is not run here; empty if it is. */
function tooLarge(plan) {
    const hops = plan.packet_hops / Math.max(plan.runs.length, 1);
    const seconds = (of) => Math.max(1, Math.round(hops / of));
    return hops <= MOST_HOPS ? "" : `A run of it has ${Math.round(hops / 1e6)} million packet-hops: about ${seconds(HOPS_A_SECOND.here)} s in a browser, and ${seconds(HOPS_A_SECOND.command)} s at home: flowsieve run mine.toml`;
}

/** Plans a text, or what is chosen, traces its first two points, and computes the answer beside. */
async function show(given) {
    const mine = ++asked;
    play(false);
    $("answer").textContent = "Simulating …";
    $("table").replaceChildren();
    [$("dots").hidden, $("dots-said").textContent, $("seeds").textContent] = [true, "", ""];
    isOwn = given !== undefined;
    const text = given ?? experiment(false);
    if (isOwn || !isEdited || confirm("Replace your text by what is chosen?")) [$("toml").value, isEdited] = [given ?? experiment(true), false];
    await pictures.free();
    if (mine !== asked) return;
    if (pictures.broken) return refuse(`The simulator does not start here: ${pictures.broken}`);
    const plan = await pictures.ask("plan", { text });
    if (mine !== asked) return;
    if (plan.error) return refuse(`This does not run: ${plan.error}`);
    if (tooLarge(plan)) return refuse(tooLarge(plan));
    const seconds = Math.round((2 * plan.packet_hops) / plan.runs.length / HOPS_A_SECOND.here);
    if (seconds > 1) $("answer").textContent = `Simulating … about ${seconds} s`;
    const traces = [];
    for (const point of [0, Math.min(1, plan.points.length - 1)]) {
        const found = await pictures.ask("trace", { point, seed: plan.runs[0][1], rows: ROWS });
        if (mine !== asked) return;
        if (found.error) return refuse(`This does not run: ${found.error}`);
        traces.push({ ...read(found), isCut: found.rows === ROWS, label: nameOf(plan.points[point]) });
    }
    const note = (words) => Object.assign(document.createElement("p"), { textContent: `Note: ${words}` });
    const left = plan.points.length - 2;
    const more = left > 0 ? [`The first two of ${plan.points.length} points are shown and compared: ${plan.points.slice(0, 2).map(nameOf).join(", and ")}.`] : [];
    $("warnings").replaceChildren(...[...more, ...plan.warnings].map(note));
    const isCut = traces.some((trace) => trace.isCut) ? ` The pictures show the first ${ROWS.toLocaleString("en")} packets on links alone.` : "";
    $("answer").textContent = `Play, or choose a flow to follow it.${isCut}`;
    open(traces);
    answer(mine, given ?? experiment(true), plan);
}

/** Shows two traces from where the port of the left one fills most. */
function open(traces) {
    sides = traces.map((trace, at) => new Side(at, trace));
    const { links, nodes, waits } = traces[0];
    const name = ([from, to]) => `${nodes[from]} to ${nodes[to]}`;
    $("port").replaceChildren(...waits.map(([link]) => new Option(name(links[link]), link)));
    choosePort(waits[0]?.[0] ?? 0);
    now = Math.max(0, fullest(traces[0], sides[0].port) - BEFORE_FULLEST);
    listFlows();
    follow(null);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
}

function choosePort(port) {
    for (const side of sides) side.choose(port);
    // Both pictures are as tall as the port with more queues needs.
    const queues = Math.max(...sides.map((side) => side.queues));
    $("stage").style.setProperty("--tall", `${Math.min(420, TOP + queues * WIDEST_QUEUE + MARGIN)}px`);
}

/** Runs both points with every seed in a worker of its own, and tells what is known after each. */
async function answer(mine, text, { points }) {
    if (points.length < 2) return void ($("table").textContent = "One scheme: nothing to compare.");
    // Begun when there is something to see.
    answers ??= new Engine(pictures);
    await answers.free();
    if (mine !== asked) return;
    const plan = await answers.ask("plan", { text });
    if (mine !== asked) return;
    const refused = plan.error ?? tooLarge(plan);
    if (refused) return void ($("table").textContent = `No answer: ${refused}`);
    const found = [[], []];
    const seeds = [...new Set(plan.runs.map(([, seed]) => seed))];
    for (const seed of seeds) {
        for (const point of [0, 1]) {
            const run = await answers.ask("run", { point, seed });
            if (mine !== asked) return;
            if (run.error) return void ($("table").textContent = `No answer: ${run.error}`);
            found[point].push(run.flows);
        }
        tell(points.map(nameOf), found, seeds.length);
    }
}

function listFlows() {
    const [left, right] = sides.map((side) => side.trace.flows);
    const us = (time) => (time === null || time === undefined ? "–" : `${inUs(time / 1e6)} us`);
    const listed = left.flatMap((of, flow) => (of ? [[of, flow]] : []));
    const rows = listed.slice(0, MOST_LISTED).map(([[bytes, start, fct], flow]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = `flow ${flow}`;
        button.style.borderLeft = `12px solid ${colour(flow)}`;
        button.dataset.flow = flow;
        button.addEventListener("click", () => {
            if (followed !== flow) now = start / 1e6;
            follow(flow);
        });
        return [button, size(bytes), us(fct), us(right[flow]?.[2])];
    });
    fill($("flows"), ["flow", "size", "FCT left", "FCT right"], rows);
    if (listed.length > MOST_LISTED) $("flows").append(`The first ${MOST_LISTED} of ${listed.length.toLocaleString("en")} flows.`);
}

function play(on) {
    playing = on;
    $("play").textContent = on ? "Pause" : "Play";
}

/** Follows a flow, or no longer, if it is the one that is followed. */
function follow(flow) {
    followed = followed === flow ? null : flow;
    for (const side of sides) side.follow(followed);
    for (const button of $("flows").querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.dataset.flow) === followed));
    draw();
}

function draw() {
    if (sides.length === 0) return;
    for (const side of sides) side.draw(now, speed());
    $("clock").textContent = `${now.toFixed(2)} us`;
    $("time").value = String((1000 * now) / last());
}

let before = 0;
function frame(at) {
    // A tab in the background gets no frames: the time stands still with it.
    const passed = Math.min(at - before, 100);
    before = at;
    if (playing && sides.length > 0) {
        now += (passed / 1000) * speed();
        if (now >= last()) play(false);
        draw();
    }
    requestAnimationFrame(frame);
}

/** Goes on to the next instant at which something happens on either side: `times` of any packet, `ofData` of the end of one. */
function step(of) {
    play(false);
    now = Math.min(...sides.map(({ trace }) => later(trace[of], now) ?? Infinity), last());
    draw();
}

function begin() {
    makeChoices(() => show());
    $("play").addEventListener("click", () => {
        if (sides.length === 0) return;
        if (now >= last()) now = 0;
        play(!playing);
    });
    $("event").addEventListener("click", () => step("times"));
    $("packet").addEventListener("click", () => step("ofData"));
    $("time").addEventListener("input", () => {
        play(false);
        now = (Number($("time").value) / 1000) * last();
        draw();
    });
    const saySpeed = () => ($("pace").textContent = ` ${inUs(speed())} us/s`);
    saySpeed();
    $("speed").addEventListener("input", saySpeed);
    $("port").addEventListener("change", () => {
        choosePort(Number($("port").value));
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
    $("toml").addEventListener("input", () => (isEdited = true));
    const again = () => {
        draw();
        if (!$("dots").hidden) redraw();
    };
    addEventListener("resize", again);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    // Another address, such as that of the lesson's next step.
    addEventListener("hashchange", () => location.reload());
    requestAnimationFrame(frame);
    show();
}

let [pictures, answers] = [];
if (typeof WebAssembly === "undefined" || typeof Worker === "undefined" || typeof DecompressionStream === "undefined") {
    refuse("This browser has no WebAssembly, no workers or no DecompressionStream: the simulator cannot run in it.");
} else {
    pictures = new Engine();
    begin();
}
