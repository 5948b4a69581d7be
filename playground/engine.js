// A worker with the engine in it.
class Engine {
    /** The compiled module is that of another worker, where one has compiled it. */
    constructor(other) {
        this.other = other;
        this.waiting = new Map();
        this.number = 0;
        this.open();
    }

    /** Gives up what the worker is busy with, and waits until it takes questions. */
    async free() {
        if ([...this.waiting.values()].some(({ what }) => what !== "open")) this.open();
        return this.ready;
    }

    open() {
        this.worker?.terminate();
        this.waiting.clear();
        this.address ??= URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
        this.worker = new Worker(this.address);
        this.worker.onmessage = ({ data }) => {
            const asked = this.waiting.get(data.id);
            this.waiting.delete(data.id);
            asked?.done(data);
            // A module that stopped stays as it was then: the next question gets a new one.
            if (data.stopped && this.compiled) this.open();
        };
        this.ready = this.begin();
    }

    async begin() {
        this.compiled ??= (await this.other?.ready)?.compiled;
        const module = this.compiled ?? Uint8Array.from(atob($("module").textContent.trim()), (of) => of.charCodeAt(0));
        const { compiled, error } = await this.ask("open", { module });
        [this.compiled, this.broken] = [compiled, error];
        return this;
    }

    /** Waits for the answer to a question. */
    ask(what, more) {
        const id = ++this.number;
        return new Promise((done) => {
            this.waiting.set(id, { what, done });
            this.worker.postMessage({ id, what, ...more });
        });
    }
}
