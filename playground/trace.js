// What a trace says of each packet: its stays at ports, and its flights on lines. Nothing is simulated here: a packet waits from
// the end of its last flight until the engine's row says that the next one began.
const ROW = 24;
const LOST_ON_LINE = 3;

function read({ packets, rows, links, flows, ends, nodes, hosts, simulated_ps }) {
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
        const packet = { flow, byte, link, length, kind, queue: queue === 255 ? 0 : queue, marked: ecn === 3 };
        const next = `${flow} ${kind} ${byte} ${to}`;
        if (event === LOST_ON_LINE) {
            // It had been sent: it does not arrive.
            there.get(next)?.pop();
            lost.push({ flow, kind, time });
            continue;
        }
        const key = `${flow} ${kind} ${byte} ${from}`;
        const arrivals = there.get(key);
        const came = arrivals?.shift();
        if (arrivals?.length === 0) there.delete(key);
        if (came !== undefined) stays.push({ ...packet, begin: came, end: time, lost: event !== 0 });
        if (event !== 0) {
            lost.push({ flow, kind, time });
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
    const last = flights.length > 0 ? flights[flights.length - 1].end : 0;
    return { flights, stays, lost, flows, ends, nodes, hosts, links, last: Math.min(last, simulated_ps / 1e6), busiest: busiest(stays) };
}

/** The link at whose port packets wait longest in all. */
function busiest(stays) {
    const waits = new Map();
    for (const { link, begin, end } of stays) waits.set(link, (waits.get(link) ?? 0) + end - begin);
    return [...waits].reduce((one, other) => (other[1] > one[1] ? other : one), [0, -1])[0];
}

/** When most bytes wait at its port. */
function fullest({ stays, busiest }) {
    const steps = stays.filter(({ link }) => link === busiest).flatMap(({ begin, end, length }) => [[begin, length], [end, -length]]);
    steps.sort((one, other) => one[0] - other[0]);
    let [bytes, most, when] = [0, 0, 0];
    for (const [time, change] of steps) {
        bytes += change;
        if (bytes > most) [most, when] = [bytes, time];
    }
    return when;
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
        while (this.next < this.list.length && this.list[this.next].begin <= time) this.inside.push(this.list[this.next++]);
        this.inside = this.inside.filter((one) => one.end > time);
        return this.inside;
    }
}
