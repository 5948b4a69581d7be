// One picture: the fabric with its packets, and the port that matters.
class Side {
    constructor(at, trace, port) {
        [this.at, this.trace, this.port] = [at, trace, port];
        this.canvas = document.getElementById(`canvas-${at}`);
        document.getElementById(`name-${at}`).textContent = trace.label;
        this.flights = new Window(trace.flights);
        this.waiting = new Window(trace.stays.filter((stay) => stay.link === port));
        // What is drawn at the moment: its middle, and how near a click has to be.
        this.drawn = [];
        this.canvas.onclick = ({ offsetX, offsetY }) => {
            const hit = this.drawn.find(([x, y, near]) => Math.abs(x - offsetX) < near && Math.abs(y - offsetY) < near + 8);
            if (hit) follow(hit[3]);
        };
        this.queues = Math.max(1, ...trace.stays.filter((stay) => stay.link === port).map((stay) => stay.queue + 1));
    }

    /** Hosts below, leaves or the switch above them, spines on top; each at a share of the picture. */
    places(width) {
        if (this.width === width) return this.placed;
        const { nodes, hosts, links } = this.trace;
        const isHost = (node) => node < hosts;
        const above = nodes.map((_, node) => !isHost(node) && links.some(([from, to]) => from === node && isHost(to)));
        const rows = [nodes.flatMap((_, node) => (isHost(node) ? [node] : [])), nodes.flatMap((_, node) => (above[node] ? [node] : [])), nodes.flatMap((_, node) => (!isHost(node) && !above[node] ? [node] : []))];
        const height = rows[2].length > 0 ? [190, 110, 30] : [190, 60, 30];
        const places = [];
        rows.forEach((row, level) => row.forEach((node, nth) => (places[node] = [(width * (nth + 0.5)) / row.length, height[level]])));
        [this.width, this.placed] = [width, places];
        return places;
    }

    draw(now, followed) {
        const { canvas, trace } = this;
        const scale = devicePixelRatio || 1;
        const [width, height] = [canvas.clientWidth, canvas.clientHeight];
        if (canvas.width !== Math.round(width * scale)) [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
        const to = canvas.getContext("2d");
        const style = getComputedStyle(document.documentElement);
        const [ink, line, soft] = ["--ink", "--line", "--soft"].map((name) => style.getPropertyValue(name));
        to.setTransform(scale, 0, 0, scale, 0, 0);
        to.clearRect(0, 0, width, height);
        this.drawn = [];
        const places = this.places(width);
        const inFlight = this.flights.at(now);
        const waiting = this.waiting.at(now);
        trace.links.forEach(([from, end], link) => {
            to.strokeStyle = link === this.port ? ink : line;
            to.lineWidth = link === this.port ? 3 : 1;
            to.beginPath();
            to.moveTo(...places[from]);
            to.lineTo(...places[end]);
            to.stroke();
        });
        to.font = "12px system-ui, sans-serif";
        to.textAlign = "center";
        places.forEach(([x, y], node) => {
            to.fillStyle = soft;
            to.strokeStyle = line;
            to.lineWidth = 1;
            to.beginPath();
            to.roundRect(x - 18, y - 11, 36, 22, 4);
            to.fill();
            to.stroke();
            to.fillStyle = ink;
            to.fillText(trace.nodes[node].replace("host", "h").replace("switch", "sw").slice(0, 6), x, y + 4);
        });
        for (const { begin, end, from, to: there, flow, kind, marked, length } of inFlight) {
            const share = (now - begin) / (end - begin);
            const [[x, y], [u, v]] = [places[from], places[there]];
            // Both directions of a cable side by side.
            const off = from < there ? 4 : -4;
            to.globalAlpha = followed === null || followed === flow ? 1 : 0.2;
            to.fillStyle = colour(flow);
            to.beginPath();
            to.arc(x + (u - x) * share + off, y + (v - y) * share, kind === 2 || length < 200 ? 2.5 : 5, 0, 7);
            to.fill();
            this.drawn.push([x + (u - x) * share + off, y + (v - y) * share, 8, flow]);
            if (marked) {
                to.strokeStyle = "#d22";
                to.lineWidth = 2;
                to.stroke();
            }
        }
        to.globalAlpha = 1;
        this.drawPort(to, { width, height, waiting, followed, ink, line });
        this.say(now, followed, waiting);
    }

    /** The queues of the port, the one that is served first on top; the packet that is taken next has a frame. */
    drawPort(to, { width, height, waiting, followed, ink, line }) {
        const { trace, port, queues } = this;
        const [from, end] = trace.links[port];
        const top = 235;
        to.textAlign = "left";
        to.fillStyle = ink;
        to.fillText(`port of ${trace.nodes[from]} to ${trace.nodes[end]}: what waits, first out at the right`, 8, top - 8);
        const each = Math.min(34, (height - top - 8) / queues);
        const following = waiting.filter((stay) => !stay.lost).reduce((one, other) => (one === null || other.end < one.end ? other : one), null);
        for (let queue = 0; queue < queues; queue++) {
            const y = top + queue * each;
            to.strokeStyle = line;
            to.strokeRect(44, y, width - 52, each - 4);
            to.fillStyle = ink;
            to.fillText(`Q${queue}`, 8, y + each / 2 + 2);
            const own = waiting.filter((stay) => stay.queue === queue).sort((one, other) => one.end - other.end);
            // As wide as they are long, or as narrow as it takes for all to be seen.
            const bytes = own.reduce((sum, stay) => sum + stay.length, 0);
            const each_byte = Math.min(1 / 100, (width - 60 - own.length) / Math.max(bytes, 1));
            let x = width - 10;
            for (const stay of own) {
                const wide = Math.max(1, stay.length * each_byte);
                x -= wide + 1;
                if (x < 46) break;
                to.globalAlpha = followed === null || followed === stay.flow ? 1 : 0.2;
                to.fillStyle = colour(stay.flow);
                to.fillRect(x, y + 3, wide, each - 10);
                if (stay.marked && wide <= 5) {
                    to.fillStyle = "#d22";
                    to.fillRect(x, y + 1, wide, 3);
                }
                this.drawn.push([x + wide / 2, y + each / 2, wide / 2 + 1, stay.flow]);
                if ((stay.marked || stay.lost) && wide > 5) {
                    to.strokeStyle = stay.lost ? ink : "#d22";
                    to.lineWidth = 2;
                    to.strokeRect(x, y + 3, wide, each - 10);
                }
                if (stay === following) {
                    to.strokeStyle = ink;
                    to.lineWidth = 2;
                    to.strokeRect(x - 2, y + 1, wide + 4, each - 6);
                }
                to.globalAlpha = 1;
            }
        }
    }

    /** In words what the picture shows, and where the time of a followed flow went. */
    say(now, followed, waiting) {
        const { trace } = this;
        const bytes = waiting.reduce((sum, stay) => sum + stay.length, 0);
        let words = `${waiting.length} packets wait at this port, ${size(bytes)}; ${waiting.filter((stay) => stay.marked).length} have a mark.`;
        if (followed !== null && trace.flows[followed]) {
            const [all, start, fct] = trace.flows[followed];
            const own = trace.stays.filter((stay) => stay.flow === followed && stay.kind < 2 && stay.begin <= now);
            const by = new Map();
            for (const stay of own) by.set(stay.queue, (by.get(stay.queue) ?? 0) + Math.min(stay.end, now) - stay.begin);
            const sent = new Set(trace.flights.filter((one) => one.flow === followed && one.kind < 2 && one.begin <= now && one.from === trace.ends[followed][0]).map((one) => one.byte)).size;
            const again = trace.flights.filter((one) => one.flow === followed && one.kind === 1 && one.begin <= now && one.from === trace.ends[followed][0]).length;
            const lost = trace.lost.filter((one) => one.flow === followed && one.kind < 2 && one.time <= now).length;
            const queues = [...by].sort((one, other) => one[0] - other[0]).map(([queue, time]) => `${time.toFixed(0)} us in Q${queue}`);
            const since = start / 1e6 <= now ? `${(Math.min(now, fct === null ? now : (start + fct) / 1e6) - start / 1e6).toFixed(0)} us so far` : "has not begun";
            words = `Flow ${followed}, ${size(all)}: ${since}; ${sent} packets sent, ${again} again, ${lost} lost; its packets waited ${queues.join(", ") || "nowhere"}, summed over packets.`;
        }
        const into = document.getElementById(`said-${this.at}`);
        if (into.textContent !== words) into.textContent = words;
        this.canvas.setAttribute("aria-label", `${trace.label}: ${words}`);
    }
}
