// The answer: FCT by size over several seeds, as a table, a picture and a sentence.
const MOST_DOTS = 6000;
/** Student's t for 95 %, by degrees of freedom. */
const T95 = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
const CLASSES = [["up to 100 KB", 0, 1e5], ["100 KB to 10 MB", 1e5, 1e7], ["above 10 MB", 1e7, Infinity], ["all", 0, Infinity]];

const sum = (of) => of.reduce((one, other) => one + other, 0);
const mean = (of) => (of.length > 0 ? sum(of) / of.length : NaN);
const size = (bytes) => (bytes >= 1e6 ? `${+(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e3 ? `${+(bytes / 1e3).toFixed(1)} KB` : `${bytes} B`);
const inUs = (time) => (Number.isFinite(time) ? `${time.toFixed(time >= 100 ? 0 : 1).replace(/\B(?=(\d{3})+(?!\d))/g, ",")}` : "–");

/** Size and completion time, in us, of each flow that has finished. */
const ofFlows = (flows) => flows.filter((flow) => flow[2] !== null).map(([bytes, , fct]) => [bytes, fct / 1e6]);

/** The same of coflows, which end with their last flow. */
function ofCoflows(flows) {
    const by = new Map();
    for (const [bytes, start, fct, coflow] of flows) {
        if (coflow === null) continue;
        const one = by.get(coflow) ?? { bytes: 0, start: Infinity, end: 0 };
        by.set(coflow, { bytes: one.bytes + bytes, start: Math.min(one.start, start), end: fct === null ? NaN : Math.max(one.end, start + fct) });
    }
    return [...by.values()].filter(({ end }) => !Number.isNaN(end)).map(({ bytes, start, end }) => [bytes, (end - start) / 1e6]);
}

/** A row of the table for each part of the flows: means of both schemes, their ratio, and its interval over seeds. */
function compared(name, found, ofOne) {
    const by = found.map((seeds) => seeds.map((flows) => mean(ofOne(flows))));
    const pairs = by[1].map((time, seed) => Math.log(time / by[0][seed])).filter(Number.isFinite);
    const middle = mean(pairs);
    const square = sum(pairs.map((of) => (of - middle) ** 2)) / (pairs.length - 1);
    const half = (T95[pairs.length - 1] ?? 2.26) * Math.sqrt(square / pairs.length);
    const ends = pairs.length > 1 ? [Math.exp(middle - half), Math.exp(middle + half)] : null;
    return { name, times: by.map((times) => mean(times.filter(Number.isFinite))), ratio: Math.exp(middle), ends };
}

/** What is compared: each of a few flows of one seed, coflows, or flows by size. */
function parts(first, hasCoflows, areFew) {
    if (areFew) return first.map(([bytes], at) => [size(bytes), (flows) => (flows[at][2] === null ? [] : [flows[at][2] / 1e6])]);
    if (hasCoflows) return [["all coflows", (flows) => ofCoflows(flows).map((of) => of[1])]];
    return CLASSES.map(([name, from, to]) => [name, (flows) => ofFlows(flows).filter(([bytes]) => bytes > from && bytes <= to).map((of) => of[1])]);
}

/** Draws the dots of the last answer again. */
let redraw = () => {};

/** Writes what is known after some seeds of all. */
function tell(names, found, all) {
    const hasCoflows = found[0][0].some((flow) => flow[3] !== null);
    const areFew = all === 1 && !hasCoflows && found[0][0].length <= 6;
    const rows = parts(found[0][0], hasCoflows, areFew).map(([name, ofOne]) => compared(name, found, ofOne));
    const what = hasCoflows ? "CCT" : "FCT";
    const seeds = found[1].length;
    $("seeds").textContent = `${what} by size: ${seeds} of ${all} ${all === 1 ? "seed" : "seeds"}`;
    const ratio = (of) => (Number.isFinite(of) ? of.toFixed(2) : "–");
    const cells = rows.map(({ name, times, ratio: of, ends }) => [name, ...times.map(inUs), ratio(of), ends ? ends.map(ratio).join(" to ") : "–"]);
    fill($("table"), [`mean ${what} in us`, names[0], names[1], "ratio", "95 %"], cells);
    redraw = () => dots(found, hasCoflows ? ofCoflows : ofFlows, names, what);
    redraw();
    const row = areFew ? rows.at(-1) : rows.find((row) => Number.isFinite(row.ratio));
    if (row && Number.isFinite(row.ratio)) $("answer").textContent = sentence(row, names, { what, seeds, areFew });
}

function sentence({ name, times, ratio, ends }, names, { what, seeds, areFew }) {
    const share = `${Math.abs(100 * (1 - ratio)).toFixed(0)} % ${ratio < 1 ? "below" : "above"}`;
    if (areFew) return `The flow of ${name} takes ${inUs(times[1])} us under ${names[1]} and ${inUs(times[0])} us under ${names[0]}.`;
    const of = what === "CCT" ? "" : name === "all" ? " of all flows" : ` of flows ${name}`;
    const isTold = ends && (ends[1] < 1 || ends[0] > 1);
    const interval = ends ? `${ends.map((end) => `${(100 * (end - 1)).toFixed(0)} %`).join(" to ")}, ${seeds} seeds` : "one seed, so no interval";
    if (ends && !isTold) return `The mean ${what}${of} under ${names[1]} is not told from that under ${names[0]} (${interval}).`;
    return `The mean ${what}${of} under ${names[1]} is ${share} that under ${names[0]} (${interval}).`;
}

/** A dot for each flow or coflow: its size and its time, both logarithmic; the right scheme's are hollow. */
function dots(found, ofRun, names, what) {
    const canvas = $("dots");
    canvas.hidden = false;
    const { to, width, height, ink, line, accent } = paper(canvas);
    const all = found.map((seeds) => seeds.flatMap(ofRun).slice(0, MOST_DOTS / 2));
    const points = all.flat();
    const range = (at) => points.reduce(([least, most], of) => [Math.min(least, of[at]), Math.max(most, of[at])], [Infinity, 0]).map(Math.log10);
    const [[left, right], [low, high]] = [range(0), range(1)];
    const place = (value, from, until, begin, end) => begin + ((Math.log10(value) - from) / (until - from || 1)) * (end - begin);
    to.font = "12px system-ui, sans-serif";
    to.strokeStyle = line;
    to.lineWidth = 1;
    for (let decade = Math.ceil(low); decade <= high; decade++) {
        const y = place(10 ** decade, low, high, height - 24, 10);
        to.strokeRect(60, y, width - 66, 0);
        to.fillStyle = ink;
        to.textAlign = "right";
        to.fillText(decade < 3 ? `${10 ** decade} us` : `${(10 ** (decade - 3)).toLocaleString("en")} ms`, 56, y + 4);
    }
    to.textAlign = "center";
    for (let decade = Math.ceil(left); decade <= right; decade++) to.fillText(size(10 ** decade), Math.min(width - 24, place(10 ** decade, left, right, 66, width - 10)), height - 6);
    all.forEach((side, at) => {
        [to.fillStyle, to.strokeStyle, to.globalAlpha] = [ink, accent, 0.6];
        for (const [bytes, time] of side) {
            to.beginPath();
            to.arc(place(bytes, left, right, 66, width - 10), place(time, low, high, height - 24, 10), at === 0 ? 1.6 : 2.6, 0, 7);
            if (at === 0) to.fill();
            else to.stroke();
        }
    });
    to.globalAlpha = 1;
    canvas.setAttribute("aria-label", `${what} against size, a dot each: ${names[0]} filled, ${names[1]} as rings`);
    $("dots-said").textContent = `${what} against size: ${names[0]} filled, ${names[1]} as rings.`;
}

/** A canvas as large as it is shown, empty, with the colours of the page. */
function paper(canvas) {
    const scale = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    const to = canvas.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const [ink, line, soft, accent, mark] = ["ink", "line", "soft", "accent", "mark"].map((name) => style.getPropertyValue(`--${name}`));
    return { to, width, height, ink, line, soft, accent, mark };
}

/** A table of these rows; a cell is a text or an element. */
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
