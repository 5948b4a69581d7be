// One picture: the fabric with its packets, and the port that matters.
const MARGIN = 10;
/** Where the port's queues begin, in pixels from the top of the picture. */
const TOP = 235;
const WIDEST_QUEUE = 34;
/** For how long what was dropped is seen, as a share of a second of the reader's. */
const SEEN = 0.4;

/** Not red at first, which is the colour of marks. */
const colour = (flow) => `hsl(${(205 + flow * 137.5) % 360} 70% 50%)`;

class Side {
    constructor(at, trace) {
        [this.at, this.trace] = [at, trace];
        this.canvas = $(`canvas-${at}`);
        $(`name-${at}`).textContent = trace.label;
        this.flights = new Window(trace.flights);
        // What is drawn at the moment: its middle, how near a click has to be, and whose it is.
        this.drawn = [];
        this.canvas.onclick = ({ offsetX, offsetY }) => {
            const hit = this.drawn.find(([x, y, near]) => Math.abs(x - offsetX) < near && Math.abs(y - offsetY) < near + 8);
            if (hit) follow(hit[3]);
        };
    }

    /** Enlarges the port of a link. */
    choose(port) {
        const stays = this.trace.stays.filter((stay) => stay.link === port);
        [this.port, this.waiting] = [port, new Window(stays)];
        this.queues = Math.max(1, ...new Set(stays.map((stay) => stay.queue + 1)));
        this.dropped = this.trace.lost.filter((one) => one.link === port);
    }

    /** Follows a flow, or none. */
    follow(flow) {
        this.followed = flow;
        this.own = flow === null || !this.trace.flows[flow] ? null : ofFlow(this.trace, flow);
    }

    /** Hosts below, leaves or the switch above them, spines on top; each at a share of the picture. */
    places(width) {
        if (this.width === width) return this.placed;
        const { nodes, hosts, links } = this.trace;
        const isHost = (node) => node < hosts;
        const isLeaf = (node) => !isHost(node) && links.some(([from, to]) => from === node && isHost(to));
        const all = nodes.map((_, node) => node);
        const rows = [all.filter(isHost), all.filter(isLeaf), all.filter((node) => !isHost(node) && !isLeaf(node))];
        const height = rows[2].length > 0 ? [190, 110, 30] : [190, 60, 30];
        const places = [];
        rows.forEach((row, level) => row.forEach((node, nth) => (places[node] = [(width * (nth + 0.5)) / row.length, height[level]])));
        [this.width, this.placed] = [width, places];
        return places;
    }

    /** Draws an instant; `speed` is in us of the run for a second of the reader's. */
    draw(now, speed) {
        const on = paper(this.canvas);
        const { to, ink, line, soft } = on;
        this.drawn = [];
        const places = this.places(on.width);
        const waiting = this.waiting.at(now);
        to.font = "12px system-ui, sans-serif";
        to.textAlign = "center";
        this.trace.links.forEach(([from, end], link) => {
            [to.strokeStyle, to.lineWidth] = link === this.port ? [ink, 3] : [line, 1];
            to.beginPath();
            to.moveTo(...places[from]);
            to.lineTo(...places[end]);
            to.stroke();
        });
        [to.strokeStyle, to.lineWidth] = [line, 1];
        const most = Math.min(36, on.width / this.trace.hosts - 4);
        places.forEach(([x, y], node) => {
            to.fillStyle = soft;
            to.beginPath();
            to.roundRect(x - most / 2, y - 11, most, 22, 4);
            to.fill();
            to.stroke();
            to.fillStyle = ink;
            to.fillText(short(this.trace.nodes[node]), x, y + 4);
        });
        this.drawFlights(on, places, now);
        const recent = this.dropped.filter(({ time }) => time <= now && time > now - SEEN * speed);
        this.drawPort(on, waiting, recent);
        this.say(now, waiting);
    }

    shade(flow) {
        return this.followed === null || this.followed === flow ? 1 : 0.2;
    }

    /** Packets less than a pixel apart on a link are drawn as one, so that a frame's cost does not grow with theirs. */
    drawFlights({ to, mark }, places, now) {
        const taken = new Set();
        for (const { begin, end, from, to: there, flow, kind, marked, length, link } of this.flights.at(now)) {
            const share = (now - begin) / (end - begin);
            const [[x, y], [u, v]] = [places[from], places[there]];
            const pixel = link * 10_000 + Math.round(share * Math.hypot(u - x, v - y));
            if (taken.has(pixel) && flow !== this.followed) continue;
            taken.add(pixel);
            // Both directions of a cable side by side.
            const at = [x + (u - x) * share + (from < there ? 4 : -4), y + (v - y) * share];
            to.globalAlpha = this.shade(flow);
            to.fillStyle = colour(flow);
            to.beginPath();
            to.arc(...at, kind === ACK || length < 200 ? 2.5 : 5, 0, 7);
            to.fill();
            if (marked) {
                [to.strokeStyle, to.lineWidth] = [mark, 2];
                to.stroke();
            }
            this.drawn.push([...at, 8, flow]);
        }
        to.globalAlpha = 1;
    }

    /** The queues of the port, the one that is served first on top; the packet that is taken next has a frame. */
    drawPort(on, waiting, recent) {
        const { to, width, height, ink, line, mark } = on;
        const [from, end] = this.trace.links[this.port];
        to.textAlign = "left";
        to.fillStyle = ink;
        to.fillText(`${this.trace.nodes[from]} to ${this.trace.nodes[end]}: first out at the right`, 8, TOP - 8);
        const each = Math.min(WIDEST_QUEUE, (height - TOP - 8) / this.queues);
        const next = waiting.filter((stay) => !stay.lost).reduce((one, other) => (one === null || other.end < one.end ? other : one), null);
        const by = Array.from({ length: this.queues }, () => []);
        for (const stay of waiting) by[stay.queue].push(stay);
        by.forEach((own, queue) => {
            const y = TOP + queue * each;
            to.strokeStyle = line;
            to.lineWidth = 1;
            to.strokeRect(44, y, width - 52, each - 4);
            to.fillStyle = ink;
            to.fillText(`Q${queue}`, 8, y + each / 2 + 2);
            this.drawQueue(on, own.sort((one, other) => one.lost - other.lost || one.end - other.end), { y, each, next });
            recent.filter((one) => one.queue === queue).slice(-3).forEach(({ flow }, nth) => {
                const x = 50 + 12 * nth;
                [to.strokeStyle, to.lineWidth] = [mark, 5];
                cross(to, x, y + each / 2 - 2, 4);
                [to.strokeStyle, to.lineWidth] = [colour(flow), 2];
                cross(to, x, y + each / 2 - 2, 4);
            });
        });
    }

    /** Packets as wide as they are long, or as narrow as it takes for all to be seen; those that are pushed out later are pale, and last. */
    drawQueue({ to, width, ink, mark }, own, { y, each, next }) {
        const bytes = sum(own.map((stay) => stay.length));
        const ofByte = Math.min(1 / 100, (width - 60 - own.length) / Math.max(bytes, 1));
        let x = width - MARGIN;
        for (const stay of own) {
            const wide = Math.max(1, stay.length * ofByte);
            x -= wide + 1;
            if (x < 46) break;
            to.globalAlpha = this.shade(stay.flow) * (stay.lost ? 0.4 : 1);
            to.fillStyle = colour(stay.flow);
            to.fillRect(x, y + 3, wide, each - MARGIN);
            if (stay.marked && wide <= 5) {
                to.fillStyle = mark;
                to.fillRect(x, y + 1, wide, 3);
            } else if (stay.marked) {
                [to.strokeStyle, to.lineWidth] = [mark, 2];
                to.strokeRect(x, y + 3, wide, each - MARGIN);
            }
            if (stay === next) {
                [to.strokeStyle, to.lineWidth] = [ink, 2];
                to.strokeRect(x - 2, y + 1, wide + 4, each - 6);
            }
            this.drawn.push([x + wide / 2, y + each / 2, wide / 2 + 1, stay.flow]);
        }
        to.globalAlpha = 1;
    }

    /** In words what the picture shows, and where the time of a followed flow went. */
    say(now, waiting) {
        const words = this.own ? this.soFar(now) : this.ofPort(now, waiting);
        const into = $(`said-${this.at}`);
        if (into.textContent !== words) into.textContent = words;
        this.canvas.setAttribute("aria-label", `${this.trace.label}: ${words}`);
    }

    ofPort(now, waiting) {
        const until = this.dropped.filter(({ time }) => time <= now).length;
        const marks = waiting.filter((stay) => stay.marked).length;
        return `${waiting.length} packets wait at this port, ${size(sum(waiting.map((stay) => stay.length)))}; ${marks} have a mark. ${until} were dropped here until now.`;
    }

    soFar(now) {
        const { trace, own, followed } = this;
        const [bytes, start, fct, , timeouts, timers] = trace.flows[followed];
        const begin = start / 1e6;
        if (begin > now) return `Flow ${followed}, ${size(bytes)}: has not begun.`;
        const end = fct === null ? now : Math.min(now, begin + fct / 1e6);
        const sent = own.sent.filter((one) => one.begin <= now);
        const by = new Map();
        for (const stay of own.stays) if (stay.begin <= now) by.set(stay.queue, (by.get(stay.queue) ?? 0) + Math.min(stay.end, now) - stay.begin);
        const queues = [...by].filter(([, time]) => time > 0).sort((one, other) => one[0] - other[0]).map(([queue, time]) => `${inUs(time)} us in Q${queue}`);
        const idle = sum(own.idle.filter(([from]) => from < end).map(([from, until]) => Math.min(until, end) - from));
        const lost = own.lost.filter(({ time }) => time <= now).length;
        const timer = timeouts > 0 ? ` In all it waits for a timer ${timeouts === 1 ? "once" : `${timeouts} times`}, ${inUs(timers)} us.` : "";
        return `Flow ${followed}, ${size(bytes)}: ${inUs(end - begin)} us${fct !== null && now >= begin + fct / 1e6 ? "" : " so far"}; ${sent.length} packets sent, ${sent.filter(({ kind }) => kind === 1).length} of them again, ${lost} lost. ` +
            `Its packets waited ${queues.join(", ") || "in no queue"}, summed over packets. For ${inUs(idle)} us nothing of it was on a line or in a switch.${timer}`;
    }
}

const short = (name) => name.replace("host", "h").replace("switch", "sw").slice(0, 6);

function cross(to, x, y, half) {
    to.beginPath();
    to.moveTo(x - half, y - half);
    to.lineTo(x + half, y + half);
    to.moveTo(x - half, y + half);
    to.lineTo(x + half, y - half);
    to.stroke();
}
