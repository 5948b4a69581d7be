// A worker with the engine in it.
class Engine {
    /** The compiled module is that of another worker, where one has compiled it. */
    constructor(other) {
        this.other = other;
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
        this.ready = this.begin();
    }

    async begin() {
        this.compiled ??= (await this.other?.ready)?.compiled;
        const module = this.compiled ?? Uint8Array.from(atob($("module").textContent.trim()), (of) => of.charCodeAt(0));
        const { compiled } = await this.ask("open", { module });
        this.compiled = compiled;
        return this;
    }

    /** Waits for the answer to a question. */
    ask(what, more) {
        const id = ++this.number;
        return new Promise((done) => {
            this.waiting.set(id, done);
            this.worker.postMessage({ id, what, ...more });
        });
    }
}
