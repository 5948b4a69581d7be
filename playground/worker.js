// The engine in a worker: one plan at a time, and runs of its points.
let engine = null;

function text(length) {
    return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.output(), length));
}

onmessage = async ({ data }) => {
    const { id, what } = data;
    try {
        if (what === "open") {
            let module = data.module;
            if (module instanceof Uint8Array) {
                const stream = new Blob([module]).stream().pipeThrough(new DecompressionStream("gzip"));
                module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
            }
            engine = (await WebAssembly.instantiate(module, {})).exports;
            return postMessage({ id, compiled: module });
        }
        if (what === "plan") {
            const bytes = new TextEncoder().encode(data.text);
            const at = engine.input(bytes.length);
            if (at === 0) return postMessage({ id, error: "The text is too long: at most a megabyte." });
            new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
            return postMessage({ id, ...JSON.parse(text(engine.plan())) });
        }
        if (what === "run") return postMessage({ id, ...JSON.parse(text(engine.run(data.point, data.seed))) });
        const length = engine.trace(data.point, data.seed, data.rows);
        const at = engine.output();
        const head = new DataView(engine.memory.buffer).getUint32(at, true);
        const of = JSON.parse(new TextDecoder().decode(new Uint8Array(engine.memory.buffer, at + 4, head)));
        const rows = engine.memory.buffer.slice(at + 4 + head, at + length);
        postMessage({ id, ...of, packets: rows }, [rows]);
    } catch (error) {
        postMessage({ id, stopped: true, error: `The simulator stopped: ${error.message ?? error}` });
    }
};
