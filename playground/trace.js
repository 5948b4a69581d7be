// What a trace says of each packet: its stays at ports, and its flights on lines. Nothing is simulated here: a packet waits from
// the end of its last flight until the engine's row says that the next one began.
const ROW = 24;
const [SENT, LOST_ON_LINE] = [0, 3];
const NO_QUEUE = 255;
/** Kinds of packets: below this they carry data. */
const ACK = 2;

function read({ packets, rows, links, flows: counted, nodes, hosts, simulated_ps }) {
    // By number: not all flows are counted, where a window says which.
    const flows = [];
    for (const flow of counted) flows[flow[6]] = flow;
    const view = new DataView(packets);
    const flights = [];
    const stays = [];
    const lost = [];
    // By flow, kind, byte and node: when it arrived there.
    const there = new Map();
    for (let nth = 0; nth < rows; nth++) {
        const at = nth * ROW;
        const time = Number(view.getBigUint64(at, true)) / 1e6; // in us
        const [flow, byte] = [view.getUint32(at + 8, true), view.getUint32(at + 12, true)];
        const [link, length] = [view.getUint16(at + 16, true), view.getUint16(at + 18, true)];
        const [event, kind, queue, ecn] = [20, 21, 22, 23].map((of) => view.getUint8(at + of));
        const [from, to, rate, delay] = links[link];
        const packet = { flow, byte, link, length, kind, queue: queue === NO_QUEUE ? 0 : queue, marked: ecn === 3 };
        const next = `${flow} ${kind} ${byte} ${to}`;
        if (event === LOST_ON_LINE) {
            // It had been sent: it does not arrive.
            there.get(next)?.pop();
            lost.push({ ...packet, time });
            continue;
        }
        const key = `${flow} ${kind} ${byte} ${from}`;
        const arrivals = there.get(key);
        const came = arrivals?.shift();
        if (arrivals?.length === 0) there.delete(key);
        if (came !== undefined) stays.push({ ...packet, begin: came, end: time, lost: event !== SENT });
        if (event !== SENT) {
            lost.push({ ...packet, time });
            continue;
        }
        const end = time + (length * 8e6) / rate + delay / 1e6;
        flights.push({ ...packet, begin: time, end, from, to });
        if (there.has(next)) there.get(next).push(end);
        else there.set(next, [end]);
    }
    const by = (one, other) => one.begin - other.begin;
    flights.sort(by);
    stays.sort(by);
    const last = flights.reduce((most, { end }) => Math.max(most, end), 0);
    const times = Float64Array.from(flights.flatMap(({ begin, end }) => [begin, end])).sort();
    const ofData = Float64Array.from(flights.filter(({ kind }) => kind < ACK).map(({ end }) => end)).sort();
    return { flights, stays, lost, flows, nodes, hosts, links, times, ofData, last: Math.min(last, simulated_ps / 1e6), waits: waits(stays) };
}

/** The first of a sorted list that is later than a time; undefined if none is. */
function later(times, now) {
    let [low, high] = [0, times.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] > now + 1e-9) high = middle;
        else low = middle + 1;
    }
    return times[low];
}

/** How long packets wait at each link's port in all, the longest first. */
function waits(stays) {
    const by = new Map();
    for (const { link, begin, end } of stays) by.set(link, (by.get(link) ?? 0) + end - begin);
    return [...by].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
}

/** When most bytes wait at a port. */
function fullest({ stays }, port) {
    const steps = stays.filter(({ link }) => link === port).flatMap(({ begin, end, length }) => [[begin, length], [end, -length]]);
    steps.sort((one, other) => one[0] - other[0]);
    let [bytes, most, when] = [0, 0, 0];
    for (const [time, change] of steps) {
        bytes += change;
        if (bytes > most) [most, when] = [bytes, time];
    }
    return when;
}

/** What concerns a flow: its packets from its host, its waits, losses, and when nothing of it was under way. */
function ofFlow(trace, flow) {
    const own = (of) => of.filter((one) => one.flow === flow);
    const [flights, stays, lost] = [own(trace.flights), own(trace.stays), own(trace.lost)];
    const idle = [];
    let until = trace.flows[flow][1] / 1e6;
    for (const { begin, end } of [...flights, ...stays].sort((one, other) => one.begin - other.begin)) {
        if (begin > until + 1e-6) idle.push([until, begin]);
        until = Math.max(until, end);
    }
    const source = trace.flows[flow][7];
    return { sent: flights.filter(({ kind, from }) => kind < ACK && from === source), stays: stays.filter(({ kind }) => kind < ACK), lost: lost.filter(({ kind }) => kind < ACK), idle };
}

/** Those of a sorted list that a time lies in; it moves forward cheaply, and backward by beginning anew. */
class Window {
    constructor(list) {
        this.list = list;
        this.reset();
    }
    reset() {
        this.next = 0;
        this.now = -1;
        this.inside = [];
    }
    at(time) {
        if (time < this.now) this.reset();
        this.now = time;
        while (this.next < this.list.length && this.list[this.next].begin <= time) {
            // What has ended meanwhile is left out at once: a long step costs no memory.
            if (this.list[this.next].end > time) this.inside.push(this.list[this.next]);
            this.next++;
        }
        this.inside = this.inside.filter((one) => one.end > time);
        return this.inside;
    }
}
